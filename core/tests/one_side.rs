//! Random lives of generators that have one tick-tock side, against a model that remembers everything: the machine
//! of `sno` with the ticks of other schemes.
#![cfg(feature = "compat")]

use std::{cell::Cell, collections::BTreeMap};

use proptest::prelude::*;
use sno_core::{
    ClaimError, Marks, SequenceRange, Slot, TickType,
    compat::{Uid60, UniqueId, snowflake_si, snowflake_si::Machine, uid60, uniqueid},
};

#[derive(Clone, Debug)]
enum Event {
    /// The clock moves by so many ticks.
    Pass(i64),
    /// So many claims.
    Claim(usize),
    /// More claims than a tick has numbers.
    Exhaust,
    /// The server dies, and starts at the marks that were written.
    Crash,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (-5..20_i64).prop_map(Event::Pass),
        1 => (-5000..5000_i64).prop_map(Event::Pass),
        4 => (1..5_usize).prop_map(Event::Claim),
        1 => Just(Event::Exhaust),
        1 => Just(Event::Crash),
    ];
    prop::collection::vec(event, 1..200)
}

/// Lives through the events; returns how often it had to wait for the clock.
fn live<T: TickType>(pool: SequenceRange, start: u64, events: &[Event]) -> Result<usize, TestCaseError> {
    let tick = |number: u64| T::new(number).unwrap();
    let clock = Cell::new(start);
    let read = || Ok(tick(clock.get()));
    let mut slot = Slot::<T>::default();
    // Without a file: the mark is now.
    let mut written = [tick(start), T::MIN];
    let mut marks = Marks::new(written, false);
    slot.resume(&marks);
    let mut taken = BTreeMap::<u64, Vec<u16>>::new();
    let mut started_at = start;
    let mut waits = 0;
    for event in events {
        let claims = match event {
            Event::Pass(ticks) => {
                clock.set(clock.get().saturating_add_signed(*ticks).clamp(1, T::MAX.get() - 1));
                0
            }
            Event::Claim(count) => *count,
            Event::Exhaust => pool.size() as usize + 1,
            Event::Crash => {
                slot = Slot::default();
                marks = Marks::new(written, false);
                slot.resume(&marks);
                started_at = written[0].get();
                0
            }
        };
        for _ in 0..claims {
            let now = clock.get();
            let latest = taken.last_key_value().map_or(0, |(tick, _)| *tick).max(started_at);
            let used = taken.get(&now).map_or(0, Vec::len);
            match slot.claim(&read, pool, &marks) {
                Ok(stamp) => {
                    prop_assert!(!stamp.tick_tock());
                    prop_assert_eq!(stamp.tick().get(), now);
                    prop_assert!(now >= latest && now > started_at, "the past was entered again");
                    prop_assert!(stamp.tick() <= written[0], "above its mark");
                    prop_assert!((pool.lower()..=pool.upper()).contains(&stamp.sequence()));
                    let numbers = taken.entry(now).or_default();
                    prop_assert!(!numbers.contains(&stamp.sequence()), "handed out twice");
                    prop_assert_eq!(stamp.entered, numbers.is_empty());
                    numbers.push(stamp.sequence());
                }
                Err(ClaimError::SequenceExhausted { until }) => {
                    prop_assert_eq!(until.get(), now + 1);
                    prop_assert!(now == started_at || used as u32 == pool.size(), "there were numbers left");
                }
                Err(ClaimError::ClockWentBack { now: read, until }) => {
                    prop_assert!(now < latest, "the clock did not go back");
                    // As short as can be: in that tick there may be numbers left.
                    prop_assert_eq!((read.get(), until.get()), (now, latest));
                    prop_assert_eq!(slot.state().safe.get(), latest);
                    waits += 1;
                }
                Err(ClaimError::MarkReached { tick_tock, tick: wanted }) => {
                    prop_assert!(!tick_tock && wanted.get() == now && now > marks.limit(false).get());
                    written = marks.ahead(tick_tock, wanted);
                    marks.raise(written);
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
    }
    prop_assert_eq!(slot.state().backward_steps, 0);
    Ok(waits)
}

fn try_on<T: TickType>(pool: SequenceRange, start: u64) {
    let waits = Cell::new(0);
    // A life takes long. `make test-faults` tries four times as many.
    let default = ProptestConfig::default();
    let config = ProptestConfig { cases: default.cases / 4, source_file: Some(file!()), ..default };
    proptest!(config, |(events in events())| {
        waits.set(waits.get() + live::<T>(pool, start, &events)?);
    });
    // Lives without them would prove nothing.
    assert!(waits.get() > 25, "{} waits", waits.get());
}

#[test]
fn uid60_never_repeats() {
    try_on::<uid60::Seconds>(Uid60::POOL, 275_000_000);
}

#[test]
fn uniqueid_never_repeats() {
    try_on::<uniqueid::Millis>(UniqueId::POOL, 1_795_000_000_000);
}

#[test]
fn snowflake_si_never_repeats_with_pools_of_two_to_8192() {
    for machine in ["4095/12", "12/4", "31/5", "0/0"] {
        try_on::<snowflake_si::Millis>(machine.parse::<Machine>().unwrap().pool(), 200_000_000_000);
    }
}

#[test]
fn a_pool_that_changes_repeats_nothing() {
    // Whatever becomes of its machine, a generator takes a number of 13 bits once in a millisecond.
    let slot = Slot::<snowflake_si::Millis>::default();
    let marks = Marks::unlimited();
    let read = || Ok(snowflake_si::Millis::from_bits(77));
    let mut all = Vec::new();
    for machine in ["1/5", "0/4", "3/5", "1/5", "9/5", "31/5"] {
        let pool = machine.parse::<Machine>().unwrap().pool();
        for _ in 0..pool.size() {
            if let Ok(stamp) = slot.claim(&read, pool, &marks) {
                all.push(stamp.sequence());
            }
        }
    }
    assert!(all.len() >= 4 * 256);
    assert!(all.is_sorted_by(|a, b| a < b), "a number came twice");
}
