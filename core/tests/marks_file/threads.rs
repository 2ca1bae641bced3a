//! Processes that start at the same time, and one that waits beside one that writes, in the orders that loom tries.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Relaxed, Release},
};

use loom::sync::atomic::{AtomicBool, AtomicU32};
use sno_core::{Announcement, Announcer, Marks, Tick, Transaction, Watch};

use crate::{
    WATCH,
    server::{Server, tick},
    step,
};

/// Processes that start while nothing is ready: one of them reads the file, and the others find all that it has set.
#[test]
fn processes_start_at_the_same_time() {
    let start = |now| {
        let server = Arc::new(Server::new(now, 8, [900, 950]));
        let live = |server: &Server| {
            let session = server.start();
            assert!(server.shared.horizons.highest_floor() == tick(900), "the floor is not set");
            session.next().ok().map(|stamp| (stamp.tick().get(), stamp.sequence()))
        };
        let other = loom::thread::spawn({
            let server = server.clone();
            move || live(&server)
        });
        let mut stamps = [live(&server), other.join().unwrap()];
        stamps.sort_unstable();
        // What was read is written once more. Then one mark is raised; or the clock is before both.
        let is_after = now == 1000;
        assert_eq!(stamps, if is_after { [Some((1000, 0)), Some((1000, 1))] } else { [None; 2] });
        assert_eq!(*server.serials.lock().unwrap(), if is_after { vec![8, 9] } else { vec![8] });
        assert_eq!(server.marks(), [if is_after { 1000 + <Marks>::AHEAD } else { 900 }, 950]);
    };
    for now in [1000, 800] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(3));
        builder.check(move || start(now));
    }
}

/// A process that waits, beside one whose row has a key of the same time: in whatever order their loads and stores are
/// seen, it has looked by the first step after the writer's end.
#[test]
fn a_wait_beside_a_writer() {
    let wait = || {
        let server = Arc::new(Server::new(1000, 8, [900, 950]));
        // The writer's announcement, the number of its transaction, and whether its row is visible.
        let of_writer = Arc::new((Announcement::default(), AtomicU32::new(0), AtomicBool::new(false)));
        let session = server.start();
        let steps = |of_writer: Arc<(Announcement, AtomicU32, AtomicBool)>, server: Arc<Server>| {
            move |mut watch: Watch, times: &[u64]| {
                let (announcement, number, visible) = &*of_writer;
                let session = server.start();
                let look = |now: &u64| {
                    server.now.store(*now, Relaxed);
                    let held = || announcement.of(|| number.load(Acquire));
                    step(&session, &mut watch, held).map(|reach| (reach, visible.load(Acquire)))
                };
                let looks: Vec<_> = times.iter().map(look).collect();
                (watch, looks)
            }
        };
        let steps = steps(of_writer.clone(), server.clone());
        // Who only loads runs last at first: of two operations, loom tries the other order if the second is the load.
        let waiter = loom::thread::spawn({
            let steps = steps.clone();
            move || steps(WATCH, &[1000, 1001])
        });
        let (announcement, number, visible) = &*of_writer;
        let (transaction, horizon) = (Transaction::new(), session.horizon_of(1).unwrap());
        number.store(7, Release);
        let announcer = Announcer { horizon: &horizon, announcement, number: 7 };
        let tick = session.next_of(&transaction, &announcer).unwrap().tick();
        visible.store(true, Release);
        number.store(0, Release);
        let (watch, looks) = waiter.join().unwrap();
        let (_, last) = steps(watch, &[1002]);
        let looks = [looks, last].concat();
        let finds = |&(reach, visible): &(Tick, bool)| visible && tick < reach;
        assert!(looks.iter().flatten().any(finds), "a row of {tick:?}, and looks {looks:?}");
    };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(wait);
}
