//! The generator's rules, one by one, with a clock that the test owns.

use std::cell::Cell;

use sno_core::{ClaimError, Clock, Marks, OutOfEpoch, SequenceRange, Slot, Tick};

/// A clock that reads what it was set to.
struct Hand(Cell<u64>);

impl Hand {
    fn at(tick: u64) -> Self {
        Self(Cell::new(tick))
    }
}

impl Clock for Hand {
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        Tick::new(self.0.get()).ok_or(OutOfEpoch::After)
    }
}

struct Bench {
    slot: Slot,
    marks: Marks,
    clock: Hand,
    range: SequenceRange,
}

impl Bench {
    fn new(tick: u64, range: &str) -> Self {
        Self {
            slot: Slot::default(),
            marks: Marks::unlimited(),
            clock: Hand::at(tick),
            range: range.parse().unwrap(),
        }
    }

    fn claim(&self) -> Result<(u64, bool, u16), ClaimError> {
        self.slot
            .claim(&self.clock, self.range, &self.marks)
            .map(|stamp| (stamp.tick().get(), stamp.tick_tock(), stamp.sequence()))
    }

    fn claim_at(&self, tick: u64) -> Result<(u64, bool, u16), ClaimError> {
        self.clock.0.set(tick);
        self.claim()
    }
}

fn tick(number: u64) -> Tick {
    Tick::new(number).unwrap()
}

#[test]
fn the_sequence_counts_within_a_tick_and_restarts_with_the_next() {
    let bench = Bench::new(100, "7-65535");
    assert_eq!(bench.claim(), Ok((100, false, 7)));
    assert_eq!(bench.claim(), Ok((100, false, 8)));
    assert_eq!(bench.claim_at(101), Ok((101, false, 7)));
    assert_eq!(bench.claim_at(5_000_000), Ok((5_000_000, false, 7)));
}

#[test]
fn a_used_up_pool_waits_for_the_next_tick() {
    let bench = Bench::new(100, "65532-65535");
    for sequence in 65532..=65535 {
        assert_eq!(bench.claim(), Ok((100, false, sequence)));
    }
    assert_eq!(bench.claim(), Err(ClaimError::SequenceExhausted { until: tick(101) }));
    assert_eq!(bench.claim_at(101), Ok((101, false, 65532)));
}

#[test]
fn a_step_back_switches_sides_without_a_wait() {
    let bench = Bench::new(1000, "0-65535");
    assert_eq!(bench.claim(), Ok((1000, false, 0)));
    assert_eq!(bench.claim_at(900), Ok((900, true, 0)));
    assert_eq!(bench.claim(), Ok((900, true, 1)));
    // The other side goes on through the tick at which the first was left.
    assert_eq!(bench.claim_at(1000), Ok((1000, true, 0)));
    assert_eq!(bench.slot.state().backward_steps, 1);
}

#[test]
fn a_second_step_back_waits_for_the_nearer_of_two_ends() {
    let bench = Bench::new(1000, "0-65535");
    bench.claim().unwrap();
    bench.claim_at(900).unwrap();
    bench.claim_at(950).unwrap();
    // Side 0 was left at 1000, side 1 is at 950.
    assert_eq!(bench.claim_at(940), Err(ClaimError::ClockWentBack { now: tick(940), until: tick(950) }));
    assert_eq!(bench.claim_at(950), Ok((950, true, 1)));
    // Past 1000, the first side is free again.
    bench.claim_at(2000).unwrap();
    assert_eq!(bench.claim_at(1001), Ok((1001, false, 0)));
    // Side 1 was left at 2000, side 0 is at 1001.
    assert_eq!(bench.claim_at(1000), Err(ClaimError::ClockWentBack { now: tick(1000), until: tick(1001) }));
    assert_eq!(bench.slot.state().safe, tick(1001));
}

#[test]
fn a_leap_forward_and_back_costs_the_second_step_only() {
    let bench = Bench::new(1000, "0-65535");
    bench.claim().unwrap();
    bench.claim_at(1_000_000).unwrap();
    assert_eq!(bench.claim_at(1250), Ok((1250, true, 0)));
    assert_eq!(bench.claim_at(1000), Err(ClaimError::ClockWentBack { now: tick(1000), until: tick(1250) }));
}

#[test]
fn a_change_of_the_pool_never_repeats_a_number() {
    let mut bench = Bench::new(100, "0-99");
    bench.claim().unwrap();
    bench.range = "50-53".parse().unwrap();
    assert_eq!(bench.claim(), Ok((100, false, 50)));
    bench.range = "0-99".parse().unwrap();
    assert_eq!(bench.claim(), Ok((100, false, 51)));
    bench.range = "10-20".parse().unwrap();
    assert_eq!(bench.claim(), Err(ClaimError::SequenceExhausted { until: tick(101) }));
}

#[test]
fn a_clock_outside_the_epoch_is_an_error() {
    let bench = Bench::new(Tick::MAX.get(), "0-3");
    assert_eq!(bench.claim(), Ok((Tick::MAX.get(), false, 0)));
    assert_eq!(bench.claim_at(Tick::MAX.get() + 1), Err(ClaimError::OutOfEpoch(OutOfEpoch::After)));
}

#[test]
fn after_the_last_tick_there_is_nothing_to_wait_for() {
    let bench = Bench::new(Tick::MAX.get(), "0-3");
    for sequence in 0..=3 {
        assert_eq!(bench.claim(), Ok((Tick::MAX.get(), false, sequence)));
    }
    assert_eq!(bench.claim(), Err(ClaimError::OutOfEpoch(OutOfEpoch::After)));
}

#[test]
fn no_tick_above_its_mark() {
    let mut bench = Bench::new(100, "0-65535");
    bench.marks = Marks::new([tick(101), tick(50)], false);
    assert_eq!(bench.claim(), Ok((100, false, 0)));
    assert_eq!(bench.claim_at(101), Ok((101, false, 0)));
    assert_eq!(bench.claim_at(102), Err(ClaimError::MarkReached { tick_tock: false, tick: tick(102) }));
    // The other side has a mark of its own.
    assert_eq!(bench.claim_at(51), Err(ClaimError::MarkReached { tick_tock: true, tick: tick(51) }));
    assert_eq!(bench.claim_at(50), Ok((50, true, 0)));

    assert!(bench.marks.due(true, tick(50)));
    let limits = bench.marks.ahead(true, tick(51));
    assert_eq!(limits, [tick(101), tick(51 + <Marks>::AHEAD)]);
    bench.marks.raise(limits);
    assert!(!bench.marks.due(true, tick(51)));
    assert_eq!(bench.claim_at(51), Ok((51, true, 0)));
}

#[test]
fn after_a_restart_everything_is_above_the_marks() {
    let mut bench = Bench::new(0, "0-65535");
    bench.marks = Marks::new([tick(500), tick(300)], false);
    bench.slot.resume(&bench.marks);
    bench.marks.raise([Tick::MAX; 2]);
    // A quick restart finds the clock below the current side's mark, and takes the other.
    assert_eq!(bench.claim_at(300), Err(ClaimError::ClockWentBack { now: tick(300), until: tick(301) }));
    assert_eq!(bench.claim_at(301), Ok((301, true, 0)));

    // A slow one goes on where it was, but not within the tick of the mark.
    bench.marks = Marks::new([tick(500), tick(300)], false);
    bench.slot.resume(&bench.marks);
    bench.marks.raise([Tick::MAX; 2]);
    assert_eq!(bench.claim_at(500), Err(ClaimError::SequenceExhausted { until: tick(501) }));
    assert_eq!(bench.claim_at(501), Ok((501, false, 0)));
    assert_eq!(bench.slot.state().backward_steps, 0);
}

#[test]
fn an_idle_slot_follows_to_the_current_side() {
    let Bench { slot, marks, clock, range } = Bench::new(1000, "0-65535");
    let idle = Slot::default();
    let claim = |slot: &Slot, at: u64| {
        clock.0.set(at);
        slot.claim(&clock, range, &marks).map(|stamp| (stamp.tick().get(), stamp.tick_tock()))
    };
    claim(&idle, 500).unwrap();
    claim(&slot, 1000).unwrap();
    assert_eq!(claim(&slot, 900), Ok((900, true)));
    assert_eq!(claim(&idle, 901), Ok((901, true)));
    // What it left behind is safe: back to where both have been, it waits.
    let until = tick(501);
    assert_eq!(claim(&idle, 500), Err(ClaimError::ClockWentBack { now: tick(500), until }));
    assert_eq!(claim(&idle, 501), Ok((501, false)));
    // The busy slot was on side 0 up to 1000, and goes back to it only past that.
    for at in [950, 1000] {
        assert_eq!(claim(&slot, at), Ok((at, true)));
    }
    assert_eq!(claim(&slot, 1001), Ok((1001, false)));
}

#[test]
fn no_tick_before_the_first_of_the_caller() {
    let Bench { slot, marks, clock, range } = Bench::new(1000, "0-65535");
    let claim = |low| slot.claim_from(tick(low), &clock, range, &marks).map(|stamp| stamp.sequence());
    let too_early = Err(ClaimError::TooEarly { now: tick(1000) });
    assert_eq!(claim(1001), too_early);
    assert_eq!(claim(1000), Ok(0));
    assert_eq!(claim(1001), too_early);
    let in_tick = |low| slot.claim_in_tick(tick(low), &clock, range).map(|stamp| stamp.sequence());
    assert_eq!([1001, 1000].map(in_tick), [None, Some(1)]);
}

#[test]
fn the_first_of_all_slots_tells_that_the_clock_went_back() {
    let (clock, range, marks) = (Hand::at(1000), SequenceRange::default(), Marks::unlimited());
    let slots: [Slot; 3] = Default::default();
    let claim = |slot: usize, tick: u64| {
        clock.0.set(tick);
        let stamp = slots[slot].claim(&clock, range, &marks).unwrap();
        (stamp.tick_tock(), stamp.stepped_back)
    };
    assert_eq!([0, 1, 2].map(|slot| claim(slot, 1000)), [(false, false); 3]);
    assert_eq!(claim(1, 900), (true, true));
    assert_eq!(slots[1].departed(false), tick(1000));
    assert_eq!([0, 2].map(|slot| claim(slot, 901)), [(true, false); 2]);
    // Within the tick, in the next, and past the one that was left.
    assert_eq!([901, 902, 1001].map(|tick| claim(0, tick)), [(true, false); 3]);
    assert_eq!([claim(2, 1002), claim(1, 1002)], [(true, false); 2]);
    // The second step.
    assert_eq!(claim(2, 1001), (false, true));
    assert_eq!([0, 1].map(|slot| claim(slot, 1001).1), [false; 2]);
}

#[test]
fn marks_are_two_seconds_ahead_and_due_when_less_than_one_is_left() {
    assert_eq!((<Marks>::AHEAD, <Marks>::DUE), (500, 250));
    let marks = Marks::new([tick(1000), tick(2000)], false);
    assert_eq!([750, 751].map(|now| marks.due(false, tick(now))), [false, true]);
    assert_eq!(marks.ahead(true, tick(1700)), [tick(1000), tick(2200)]);
    // Never lower.
    assert_eq!(marks.ahead(true, tick(1000)), [tick(1000), tick(2000)]);
    marks.restore([tick(3), tick(4)], true);
    assert_eq!((marks.limit(false), marks.limit(true), marks.current()), (tick(3), tick(4), true));
}

#[test]
fn what_a_slot_shows() {
    let slot = <Slot>::default();
    let counts = || {
        let state = slot.state();
        (state.partition, state.overflows, state.waited_micros)
    };
    assert_eq!((slot.is_used(), counts()), (false, (None, 0, 0)));
    slot.note_partition(65535);
    slot.note_overflow();
    slot.note_overflow();
    slot.note_wait(5);
    slot.note_wait(6);
    assert_eq!((slot.is_used(), counts()), (true, (Some(65535), 2, 11)));
    slot.resume(&Marks::new([tick(100), tick(200)], true));
    assert_eq!((slot.is_used(), counts()), (false, (None, 0, 0)));
    let state = slot.state();
    assert_eq!((state.tick, state.tick_tock, state.sequence), (tick(200), true, 65535));
    assert_eq!((slot.departed(false), slot.departed(true)), (tick(100), tick(200)));
    // The other side can be entered after its mark.
    assert_eq!(state.safe, tick(101));
}
