//! The horizon, in the orders of transactions and readers that loom tries, weak memory included (`dev/test-loom`).
//!
//! A reader asks for the horizon and then looks at what is visible. In the end, each row with a key below that horizon
//! has to be among what it saw.
#![cfg(loom)]

mod scene;

// Not loom's, as in the scenes.
use std::sync::Arc;

use loom::{
    sync::atomic::{
        AtomicU64,
        Ordering::{Acquire, Release},
    },
    thread,
};
use sno_core::{DatabaseHorizon, Horizons, Tick};

use scene::{PLAIN, Process, Scene, World, step_and_read};

/// A transaction of one row that is prepared.
fn prepare(process: &Process) {
    process.begin(1);
    process.insert(0);
    let tick = process.own.prepare();
    process.world.lock.store(tick.map_or(0, Tick::get), Release);
    process.end();
}

/// The same, and it is committed then.
fn two_phases(process: &Process) {
    prepare(process);
    process.show();
    process.world.lock.store(0, Release);
}

/// A transaction of one row, which has the number of the process.
fn one_row(process: &Process) {
    process.begin(1);
    process.insert(process.number as u32);
    process.commit();
}

/// A transaction of two rows, between which the clock steps.
fn two_rows(process: &Process) {
    process.begin(1);
    process.insert(2);
    process.world.step();
    process.insert(3);
    process.commit();
}

#[test]
fn the_clock_goes_forward() {
    Scene { processes: &[one_row, one_row], interruptions: Some(2), ..PLAIN }.play();
}

#[test]
fn the_clock_steps_back_between_two_rows() {
    Scene {
        script: &[100, 99],
        processes: &[one_row, two_rows],
        readers: &[World::read],
        interruptions: Some(1),
        ..PLAIN
    }
    .play();
}

#[test]
fn the_clock_steps_back_within_the_margin() {
    Scene { script: &[100, 99, 102], margin: 1, processes: &[two_rows], interruptions: Some(4), ..PLAIN }
        .play();
}

#[test]
fn the_clock_leaps_and_steps_back() {
    Scene { script: &[100, 105, 95], processes: &[two_rows], interruptions: Some(4), ..PLAIN }.play();
}

/// The reader's floor is later than what the transaction was allowed before.
#[test]
fn the_clock_steps_back_and_then_forward() {
    fn rows(process: &Process) {
        process.begin(1);
        for row in 0..3 {
            process.insert(row);
            process.world.step();
        }
        process.commit();
    }
    let script = &[100, 105, 95, 101, 106];
    Scene { script, processes: &[rows], interruptions: Some(4), ..PLAIN }.play();
}

/// A reader was told of the future, and the clock is corrected while a transaction of before is open. What readers are
/// told then counts.
#[test]
fn the_floor_is_lowered() {
    fn rows(process: &Process) {
        process.begin(1);
        process.insert(0);
        process.insert(1);
        process.commit();
    }
    fn read_and_lower(world: &World) {
        world.read();
        world.lower();
    }
    let readers = &[read_and_lower, step_and_read];
    Scene { script: &[200, 101, 102], processes: &[rows], readers, interruptions: Some(2), ..PLAIN }.play();
}

#[test]
fn one_transaction_after_another() {
    fn two(process: &Process) {
        for row in 0..2 {
            process.begin(row + 1);
            process.insert(row);
            process.commit();
        }
    }
    Scene { processes: &[two], interruptions: Some(3), ..PLAIN }.play();
}

#[test]
fn a_prepared_transaction() {
    Scene { processes: &[two_phases], interruptions: Some(4), ..PLAIN }.play();
}

/// It is still prepared in the end, which a restart may be.
#[test]
fn a_transaction_that_stays_prepared() {
    fn two(process: &Process) {
        process.begin(2);
        process.insert(1);
        process.commit();
        prepare(process);
    }
    Scene { processes: &[two], interruptions: Some(3), ..PLAIN }.play();
}

#[test]
fn two_readers() {
    Scene { processes: &[one_row], readers: &[World::read, step_and_read], interruptions: Some(2), ..PLAIN }
        .play();
}

/// A transaction that asks whether it may insert a row with a key of an earlier time.
#[test]
fn a_key_of_an_earlier_time() {
    fn rows(process: &Process) {
        process.begin(1);
        process.insert(0);
        if process.own.holds(Tick::new(100).unwrap()) {
            process.rows.borrow_mut().push((1, 100));
        }
        process.commit();
    }
    Scene { processes: &[rows], ..PLAIN }.play();
}

/// Databases whose first processes come at the same time; one of them is a copy, with the horizon that a reader of
/// another one was told before. Of three databases, two have an entry, unless one is dropped.
#[test]
fn databases_are_added() {
    for is_dropped in [false, true] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let tick = |number| Tick::new(number).unwrap();
            let all = Arc::new((Horizons::default(), loom::sync::Mutex::new(()), AtomicU64::new(0)));
            all.0.resume(tick(100));
            // As a process does: it looks for the entry of its database, and adds one under a lock.
            fn of(
                (horizons, lock, _): &(Horizons, loom::sync::Mutex<()>, AtomicU64),
                database: u32,
                dropped: Option<u32>,
            ) -> DatabaseHorizon<'_> {
                horizons.join(database).unwrap_or_else(|| {
                    let gone: Vec<_> = horizons.gone(|other| dropped != Some(other)).collect();
                    let _lock = lock.lock().unwrap();
                    horizons.add(database, &gone)
                })
            }
            let address = |horizon: DatabaseHorizon<'_>| std::ptr::from_ref(horizon.horizon()).addr();
            let other = thread::spawn({
                let all = all.clone();
                move || {
                    let told = of(&all, 1, None).advance(0, tick(110), || None, || None);
                    all.2.store(told.get(), Release);
                    [1, 2].map(|database| address(of(&all, database, None)))
                }
            });
            let position = all.2.load(Acquire);
            let copy = of(&all, 2, None);
            assert!(copy.floor().get() >= position.max(100));
            assert!(copy.advance(0, tick(50), || None, || None).get() >= position.max(100));
            let mine = [1, 2].map(|database| address(of(&all, database, None)));
            assert_eq!(other.join().unwrap(), mine);
            assert_ne!(mine[0], mine[1]);
            // All at the same time, and after the first database was dropped.
            let dropped = is_dropped.then_some(1);
            let third = thread::spawn({
                let all = all.clone();
                move || address(of(&all, 3, dropped))
            });
            let fourth = address(of(&all, 3, dropped));
            assert_eq!(third.join().unwrap(), fourth);
            assert_eq!(fourth == mine[0], is_dropped);
            assert_eq!(of(&all, 4, None).counts(3), !is_dropped);
        });
    }
}
