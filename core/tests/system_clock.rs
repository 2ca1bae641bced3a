//! The generator with the system's clock.

#![cfg(feature = "std")]

use std::{collections::HashSet, thread};

use sno_core::{Generator, SequenceRange, Sno};

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

#[test]
fn a_small_pool_gives_what_it_holds() {
    let generator = Generator::new(7, "0-3".parse().unwrap());
    let ids: Vec<_> = (0..100).map(|_| generator.generate(1).unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ids.iter().all(|id| id.sequence() < 4 && id.partition() == 7 && id.metabyte() == 1));
    // 25 ticks of four.
    assert!(ids[99].tick().get() - ids[0].tick().get() >= 24);
}
