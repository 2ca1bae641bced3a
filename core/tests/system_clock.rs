//! The generator with the system's clock.

#![cfg(feature = "std")]

use sno_core::{Generator, SequenceRange, Sno, Tick};

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
