//! Generators of the four schemes.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use sno_core::{
    ClaimError, Marks, SequenceRange, Slot, Stamp, TickType,
    compat::{
        SnowflakeSi, Uid60, UniqueId, uid60,
        uniqueid::{Cluster, Form},
    },
};

/// A scheme without a tick-tock bit has one side: a clock that steps back is waited for, also after a restart.
#[test]
fn a_clock_that_steps_back_is_waited_for() {
    let second = |number| uid60::Seconds::new(number).unwrap();
    let now = Cell::new(0);
    let slot = Slot::<uid60::Seconds>::default();
    let claim = |at| {
        now.set(at);
        let stamp = slot.claim(&|| Ok(second(now.get())), Uid60::POOL, &Marks::unlimited());
        stamp.map(|stamp| (stamp.tick().get(), stamp.tick_tock()))
    };
    for start in [1000, 2000] {
        assert_eq!(claim(start), Ok((start, false)));
        let [now, until] = [start - 1, start].map(second);
        assert_eq!(claim(start - 1), Err(ClaimError::ClockWentBack { now, until }));
        slot.resume(&Marks::new([1500, 0].map(second), true));
        assert_eq!(slot.state().safe.get(), 1500);
    }
}

/// A stamp that was claimed with another pool.
#[test]
fn stamps_that_do_not_fit() {
    fn fits<T: TickType, I>(sequence: u16, of_stamp: impl Fn(Stamp<T>) -> I) -> bool {
        let pool = SequenceRange::new(sequence, sequence + 3).unwrap();
        let stamp = Slot::default().claim(&|| Ok(T::MAX), pool, &Marks::unlimited()).unwrap();
        catch_unwind(AssertUnwindSafe(|| of_stamp(stamp))).is_ok()
    }
    let uid60 = |sequence, worker| fits(sequence, move |stamp| Uid60::from_stamp(stamp, worker, u16::MAX));
    assert_eq!([uid60(1023, 511), uid60(1024, 511), uid60(1023, 512)], [true, false, false]);
    let uniqueid = |sequence, generator| {
        fits(sequence, move |stamp| UniqueId::from_stamp(stamp, generator, Cluster::default(), Form::Spread))
    };
    assert_eq!([uniqueid(63, 2047), uniqueid(64, 2047), uniqueid(63, 2048)], [true, false, false]);
    let snowflake_si = |sequence| fits(sequence, SnowflakeSi::from_stamp);
    assert_eq!([snowflake_si(8191), snowflake_si(8192)], [true, false]);
}

#[test]
fn workers_are_given_out_one_after_another_and_for_an_hour() {
    use std::sync::atomic::AtomicU64;
    let counter = AtomicU64::new(0);
    let second = |number| uid60::Seconds::new(number).unwrap();
    let workers: uid60::Workers = "100-103".parse().unwrap();
    let leases: Vec<_> = (0..6).map(|_| workers.lease(&counter, second(1000))).collect();
    let numbers: Vec<u16> = leases.iter().map(|lease| lease.worker()).collect();
    assert_eq!(numbers, [100, 101, 102, 103, 100, 101]);
    assert!(leases[0].holds(second(1000)) && leases[0].holds(second(4599)));
    assert!(!leases[0].holds(second(4600)) && !leases[0].holds(second(999)));
}
