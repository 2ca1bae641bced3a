//! The generator with the system's clock.

#![cfg(feature = "std")]

use std::{cell::Cell, collections::HashSet, thread};

use sno_core::{Clock, Generator, OutOfEpoch, SequenceRange, Sno, Tick};

#[test]
fn threads_never_get_the_same_id() {
    const THREADS: usize = 4;
    const EACH: usize = 200_000;

    let generator = Generator::new(7, SequenceRange::default());
    let mut all = HashSet::with_capacity(THREADS * EACH);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| (0..EACH).map(|_| generator.generate(1).unwrap()).collect::<Vec<Sno>>()))
            .collect();
        for worker in workers {
            let ids = worker.join().unwrap();
            assert!(ids.is_sorted_by(|a, b| a < b));
            all.extend(ids);
        }
    });
    assert_eq!(all.len(), THREADS * EACH);
}

/// One after the other, within one tick.
#[test]
fn generators_of_one_partition_that_follow_one_another() {
    let ids: Vec<Sno> =
        (0..50).map(|_| Generator::new(7, SequenceRange::default()).generate(1).unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    let last = ids[49].tick();
    let next = Generator::after(7, SequenceRange::default(), last);
    assert!(next.generate(1).unwrap().tick() > last);
    // Also if the clock has stepped back meanwhile: it waits.
    let ahead = Tick::new(last.get() + 50).unwrap();
    assert!(Generator::after(7, SequenceRange::default(), ahead).generate(1).unwrap().tick() > ahead);
}

#[test]
fn a_small_pool_gives_what_it_holds() {
    let generator = Generator::new(7, "0-3".parse().unwrap());
    let ids: Vec<_> = (0..100).map(|_| generator.generate(1).unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ids.iter().all(|id| id.sequence() < 4 && id.partition() == 7 && id.metabyte() == 1));
    // 25 ticks of four.
    assert!(ids[99].tick().get() - ids[0].tick().get() >= 24);
}

/// Whoever waits for the next tick sleeps.
#[cfg(target_os = "linux")]
#[test]
fn a_wait_takes_no_processor_time() {
    // In hundredths of a second, of this thread.
    let used = || {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let generator = Generator::new(7, "0-3".parse().unwrap());
    let before = used();
    let ids: Vec<_> = (0..800).map(|_| generator.generate(1).unwrap()).collect();
    let waited = (ids[799].tick().get() - ids[0].tick().get()) * 4 / 10;
    assert!(waited >= 79, "{waited}");
    assert!(used() - before < waited / 2, "{} of {waited} hundredths of a second", used() - before);
}

/// A clock that can't tell whether a tick is current is read for each ID.
#[test]
fn a_clock_that_only_tells_the_time() {
    struct Ticking(Cell<u64>);
    impl Clock for Ticking {
        fn now(&self) -> Result<Tick, OutOfEpoch> {
            self.0.set(self.0.get() + 1);
            Ok(Tick::new(self.0.get()).unwrap())
        }
    }

    let (clock, generator) =
        (Ticking(Cell::new(1000)), Generator::after(7, SequenceRange::default(), Tick::MIN));
    for tick in 1001..1010 {
        assert_eq!(generator.try_generate(&clock, 1).unwrap().tick().get(), tick);
    }
}
