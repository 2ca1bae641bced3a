//! Long random lives of a server's generators, against a model that remembers everything.
//!
//! The clock leaps, stalls and steps back, slots share marks, pools change, and the server crashes, which
//! leaves nothing but what was written. The model says what is right in terms of all that was ever handed
//! out, and never looks into a slot.

use std::{cell::Cell, collections::BTreeMap};

use proptest::{prelude::*, test_runner::TestRunner};
use sno_core::{ClaimError, Clock, Marks, OutOfEpoch, SequenceRange, Slot, Stamp, Tick};

const NANOS: i128 = 1_000_000_000;
const EPOCH: i128 = 1_262_304_000 * NANOS;
/// Of a tick.
const LENGTH: i128 = 4_000_000;
const SLOTS: usize = 3;

/// The wall clock, in nanoseconds since 1970, and whether it says next that a tick is current.
struct Wall(Cell<i128>, Cell<bool>);

impl Clock for Wall {
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        let now = self.0.get();
        match u64::try_from(now / NANOS) {
            Ok(seconds) => Tick::from_unix(seconds, (now % NANOS) as u32),
            Err(_) => Err(OutOfEpoch::Before),
        }
    }

    fn is_current(&self, tick: Tick) -> bool {
        self.1.set(!self.1.get());
        self.1.get() && self.now() == Ok(tick)
    }
}

/// One thing that happens to the server.
#[derive(Clone, Debug)]
enum Event {
    /// The clock moves by so many nanoseconds.
    Pass(i128),
    /// The clock comes to where a slot's side is, or a tick before or after it: where rules meet.
    Meet { slot: usize, tick_tock: bool, beside: i128 },
    /// So many claims on a slot.
    Claim { slot: usize, count: usize },
    /// A claim on a slot; if it has to wait, it does, and then claims again.
    Insist { slot: usize },
    /// Another setting of the pool.
    Range(SequenceRange),
    /// The mark of the current side is written and raised before it has to be.
    Upkeep,
    /// The server dies and starts again, maybe between the writing and the raising of a mark.
    Crash { while_raising: bool },
}

/// A distance in time: mostly around a tick, at times up to an hour.
fn distances() -> impl Strategy<Value = i128> {
    prop_oneof![
        4 => 0..3 * LENGTH,
        2 => Just(LENGTH),
        1 => Just(1_i128),
        2 => 0..100 * LENGTH,
        2 => 0..5 * NANOS,
        1 => 0..3600 * NANOS,
    ]
}

fn ranges() -> impl Strategy<Value = SequenceRange> {
    (prop_oneof![Just(0), 0..20_u16, Just(65_520)], 3..12_u16)
        .prop_map(|(lower, more)| SequenceRange::new(lower, lower + more).unwrap())
}

/// Of a clock that goes forward `forward` times in ten.
fn events(forward: u32) -> impl Strategy<Value = Event> {
    let sign = prop_oneof![
        forward => Just(1_i128),
        10 - forward => Just(-1_i128),
    ];
    let slot = prop_oneof![3 => Just(0), 1 => 0..SLOTS];
    prop_oneof![
        8 => (distances(), sign).prop_map(|(distance, sign)| Event::Pass(sign * distance)),
        2 => (slot.clone(), any::<bool>(), -1..=1_i128)
            .prop_map(|(slot, tick_tock, beside)| Event::Meet { slot, tick_tock, beside }),
        8 => (slot.clone(), 1..6_usize).prop_map(|(slot, count)| Event::Claim { slot, count }),
        3 => slot.prop_map(|slot| Event::Insist { slot }),
        1 => ranges().prop_map(Event::Range),
        1 => Just(Event::Upkeep),
        1 => any::<bool>().prop_map(|while_raising| Event::Crash { while_raising }),
    ]
}

/// Starts in the middle of the epoch, and near its ends.
fn starts() -> impl Strategy<Value = i128> {
    let last = Tick::MAX.unix_micros() as i128 * 1000;
    prop_oneof![
        8 => Just(1_767_225_600 * NANOS),
        1 => EPOCH - 2 * LENGTH..EPOCH + 1000 * LENGTH,
        1 => last - 1000 * LENGTH..last + 2 * LENGTH,
    ]
}

fn lives(forward: u32) -> impl Strategy<Value = (i128, Vec<Event>)> {
    (starts(), prop::collection::vec(events(forward), 1..400))
}

/// What one generator has done.
#[derive(Default)]
struct Memory {
    /// All sequence numbers that were handed out, by side and tick, since the beginning of time.
    taken: BTreeMap<(bool, u64), Vec<u16>>,
    /// The last one since the start.
    last: Option<(bool, u64)>,
}

impl Memory {
    /// The latest tick of a side that had a number taken.
    fn latest(&self, tick_tock: bool) -> Option<u64> {
        let all = (tick_tock, 0)..=(tick_tock, u64::MAX);
        self.taken.range(all).next_back().map(|((_, tick), _)| *tick)
    }
}

/// A server, and what its file system keeps.
struct Server {
    clock: Wall,
    range: SequenceRange,
    slots: Vec<Slot>,
    marks: Marks,
    memories: Vec<Memory>,
    /// Survives.
    written: ([Tick; 2], bool),
    /// What the marks were when the server started.
    inherited: ([Tick; 2], bool),
    crash_while_raising: bool,
    waits: usize,
    backward_steps: usize,
}

impl Server {
    /// Without a file: both marks are now.
    fn new(now: i128) -> Self {
        let clock = Wall(Cell::new(now), Cell::new(false));
        let written = ([clock.now().unwrap_or(Tick::MIN); 2], false);
        let mut server = Self {
            clock,
            range: SequenceRange::new(0, 7).unwrap(),
            slots: Vec::new(),
            marks: Marks::unlimited(),
            memories: (0..SLOTS).map(|_| Memory::default()).collect(),
            written,
            inherited: written,
            crash_while_raising: false,
            waits: 0,
            backward_steps: 0,
        };
        server.start();
        server
    }

    fn start(&mut self) {
        self.inherited = self.written;
        let (limits, current) = self.written;
        self.marks = Marks::new(limits, current);
        self.slots = (0..SLOTS).map(|_| Slot::default()).collect();
        for (slot, memory) in self.slots.iter().zip(&mut self.memories) {
            slot.resume(&self.marks);
            memory.last = None;
        }
    }

    /// The model's own way from nanoseconds to ticks.
    fn tick(&self) -> Result<u64, OutOfEpoch> {
        match (self.clock.0.get() - EPOCH).div_euclid(LENGTH) {
            ..0 => Err(OutOfEpoch::Before),
            tick if tick >= 1 << 39 => Err(OutOfEpoch::After),
            tick => Ok(tick as u64),
        }
    }

    fn set(&self, tick: Tick) {
        self.clock.0.set(EPOCH + tick.get() as i128 * LENGTH);
    }

    /// The tick and side that a slot is at.
    fn place(&self, slot: usize) -> (bool, u64) {
        let (limits, current) = self.inherited;
        self.memories[slot].last.unwrap_or((current, limits[current as usize].get()))
    }

    /// Whether a slot may enter this tick on a side: nothing there is as late, and nothing can have
    /// been before the start.
    fn free(&self, slot: usize, tick_tock: bool, tick: u64) -> bool {
        tick > self.inherited.0[tick_tock as usize].get()
            && self.memories[slot].latest(tick_tock).is_none_or(|latest| tick > latest)
    }

    /// A claim, held against the model.
    fn claim(&mut self, slot: usize) -> Result<Result<Stamp, ClaimError>, TestCaseError> {
        let current = self.marks.current();
        let outcome = self.slots[slot].claim(&self.clock, self.range, &self.marks);
        let reading = self.tick();
        let (this, tick) = self.place(slot);
        let taken_here = self.memories[slot].taken.get(&(this, tick));
        let highest = match self.memories[slot].last {
            Some(_) => *taken_here.and_then(|taken| taken.last()).unwrap(),
            // No one knows what was taken of the tick of a mark.
            None => u16::MAX,
        };
        match outcome {
            Ok(stamp) => {
                let now = reading.expect("a clock within the epoch");
                prop_assert_eq!(stamp.tick().get(), now);
                prop_assert!(stamp.tick() <= self.written.0[stamp.tick_tock() as usize], "above its mark");
                prop_assert!((self.range.lower()..=self.range.upper()).contains(&stamp.sequence()));
                if stamp.entered {
                    prop_assert!(self.free(slot, stamp.tick_tock(), now), "entered again");
                    prop_assert_eq!(stamp.sequence(), self.range.lower());
                    if now < tick {
                        prop_assert_ne!(stamp.tick_tock(), this);
                        prop_assert_eq!(self.marks.current(), stamp.tick_tock(), "others would not follow");
                        self.backward_steps += 1;
                    } else {
                        let follows = current != this && self.free(slot, current, now);
                        prop_assert_eq!(stamp.tick_tock(), this ^ follows);
                    }
                } else {
                    prop_assert_eq!((stamp.tick_tock(), now), (this, tick));
                }
                let memory = &mut self.memories[slot];
                let taken = memory.taken.entry((stamp.tick_tock(), now)).or_default();
                prop_assert!(!taken.contains(&stamp.sequence()), "handed out twice");
                prop_assert!(taken.iter().all(|earlier| *earlier < stamp.sequence()));
                taken.push(stamp.sequence());
                prop_assert_eq!(memory.latest(stamp.tick_tock()), Some(now), "a side went back");
                memory.last = Some((stamp.tick_tock(), now));
            }
            Err(ClaimError::SequenceExhausted { until }) => {
                prop_assert_eq!(reading, Ok(tick));
                prop_assert!(highest >= self.range.upper(), "there were numbers left");
                prop_assert_eq!(until.get(), tick + 1);
            }
            Err(ClaimError::ClockWentBack { now, until }) => {
                prop_assert_eq!(reading, Ok(now.get()));
                prop_assert!(now.get() < tick, "the clock did not go back");
                prop_assert!(!self.free(slot, !this, now.get()), "the other side was free");
                prop_assert!(until > now);
                self.waits += 1;
            }
            Err(ClaimError::MarkReached { tick_tock, tick: wanted }) => {
                prop_assert_eq!(reading, Ok(wanted.get()));
                prop_assert!(self.free(slot, tick_tock, wanted.get()));
                prop_assert!(wanted > self.marks.limit(tick_tock));
            }
            Err(ClaimError::TooEarly { .. }) => prop_assert!(false, "no tick is too early"),
            Err(ClaimError::OutOfEpoch(error)) => {
                let last_used_up = reading == Ok(Tick::MAX.get()) && highest >= self.range.upper();
                prop_assert!(reading == Err(error) || last_used_up && error == OutOfEpoch::After);
            }
        }
        Ok(outcome)
    }

    /// Raises a mark as it has to be done: written first.
    fn raise(&mut self, tick_tock: bool, now: Tick) {
        let limits = self.marks.ahead(tick_tock, now);
        self.written = (limits, self.marks.current());
        if self.crash_while_raising {
            self.crash_while_raising = false;
            self.start();
        } else {
            self.marks.raise(limits);
        }
    }

    /// A claim as a backend makes it: it raises the marks when they are in the way, or soon will be.
    fn claim_with_marks(&mut self, slot: usize) -> Result<Result<Stamp, ClaimError>, TestCaseError> {
        let outcome = self.claim(slot)?;
        match outcome {
            Ok(stamp) if stamp.entered && self.marks.due(stamp.tick_tock(), stamp.tick()) => {
                self.raise(stamp.tick_tock(), stamp.tick());
            }
            Err(ClaimError::MarkReached { tick_tock, tick }) => {
                self.raise(tick_tock, tick);
                return self.claim(slot);
            }
            _ => (),
        }
        Ok(outcome)
    }

    /// Waits as an error says: no longer than needed, and not in vain.
    fn wait(&mut self, slot: usize, error: ClaimError) -> Result<(), TestCaseError> {
        let (ClaimError::SequenceExhausted { until } | ClaimError::ClockWentBack { until, .. }) = error
        else {
            return Ok(());
        };
        if let ClaimError::ClockWentBack { .. } = error {
            self.set(Tick::new(until.get() - 1).unwrap());
            let Err(ClaimError::ClockWentBack { until: same, .. }) = self.claim(slot)? else {
                return Err(TestCaseError::fail("the wait was too long"));
            };
            prop_assert_eq!(same, until);
        }
        self.set(until);
        let after = self.claim(slot)?;
        let in_vain = matches!(after, Err(ClaimError::ClockWentBack { .. }));
        prop_assert!(!in_vain, "waited as {:?} says, and then {:?}", error, after);
        Ok(())
    }

    fn live(&mut self, events: Vec<Event>) -> Result<(), TestCaseError> {
        events.into_iter().try_for_each(|event| self.go_through(event))
    }

    fn go_through(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Pass(nanos) => self.clock.0.set(self.clock.0.get() + nanos),
            Event::Meet { slot, tick_tock, beside } => {
                let mark = self.inherited.0[tick_tock as usize].get();
                let latest = self.memories[slot].latest(tick_tock).map_or(mark, |latest| latest.max(mark));
                self.clock.0.set(EPOCH + (latest as i128 + beside) * LENGTH);
            }
            Event::Range(range) => self.range = range,
            Event::Claim { slot, count } => {
                for _ in 0..count {
                    let _ = self.claim_with_marks(slot)?;
                }
            }
            Event::Insist { slot } => {
                if let Err(error) = self.claim_with_marks(slot)? {
                    self.wait(slot, error)?;
                }
            }
            Event::Upkeep => {
                if let Ok(now) = self.clock.now() {
                    self.raise(self.marks.current(), now);
                }
            }
            Event::Crash { while_raising: true } => self.crash_while_raising = true,
            Event::Crash { while_raising: false } => self.start(),
        }
        Ok(())
    }
}

/// Tries a law on random lives; returns how often their claims had to wait for the clock, and followed a backward step.
fn try_on<S: Strategy>(lives: S, law: impl Fn(S::Value) -> Result<Server, TestCaseError>) -> (usize, usize) {
    // A life takes long. `make test-faults` tries four times as many.
    let default = ProptestConfig::default();
    let config = ProptestConfig { cases: default.cases / 4, source_file: Some(file!()), ..default };
    let totals = Cell::new((0, 0));
    let result = TestRunner::new(config).run(&lives, |life| {
        let Server { waits, backward_steps, .. } = law(life)?;
        let (all_waits, all_backward_steps) = totals.get();
        totals.set((all_waits + waits, all_backward_steps + backward_steps));
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    totals.get()
}

/// Without what brings the clock back, or the server down.
fn quiet(events: Vec<Event>) -> Vec<Event> {
    let disturbs = |event: &Event| matches!(event, Event::Crash { .. } | Event::Meet { .. });
    events.into_iter().filter(|event| !disturbs(event)).collect()
}

#[test]
fn no_life_brings_an_id_twice_or_a_needless_wait() {
    let (waits, backward_steps) = try_on(lives(7), |(start, events)| {
        let mut server = Server::new(start);
        server.live(events)?;
        Ok(server)
    });
    // Lives without them would prove nothing.
    assert!(waits > 25 && backward_steps > 25, "{waits} waits, {backward_steps} backward_steps");
}

#[test]
fn a_clock_that_goes_forward_is_never_waited_for_and_keeps_to_one_side() {
    let totals = try_on(lives(10), |(start, events)| {
        let mut server = Server::new(start);
        server.live(quiet(events))?;
        prop_assert!(server.memories.iter().all(|memory| memory.latest(true).is_none()));
        Ok(server)
    });
    assert_eq!(totals, (0, 0));
}

#[test]
fn the_first_step_back_is_never_waited_for() {
    let start = 1_767_225_600 * NANOS;
    let halves = [(); 2].map(|()| prop::collection::vec(events(10), 1..100).prop_map(quiet));
    let (waits, backward_steps) = try_on((halves, 0.0..1.0), |([before, after], part)| {
        let mut server = Server::new(start);
        server.live(before)?;
        // Anywhere between the start and now; the tick of the start is below the marks.
        let ran = server.clock.0.get() - start;
        server.clock.0.set(start + ((ran as f64 * part) as i128).max(LENGTH));
        server.live(after)?;
        Ok(server)
    });
    assert!(waits == 0 && backward_steps > 25, "{waits} waits, {backward_steps} backward_steps");
}

#[test]
fn a_server_that_restarts_once_needs_no_wait() {
    let start = 1_767_225_600 * NANOS;
    let halves = [(); 2].map(|()| prop::collection::vec(events(10), 1..100).prop_map(quiet));
    let (waits, backward_steps) = try_on((halves, any::<bool>()), |([before, after], while_raising)| {
        let mut server = Server::new(start);
        server.live(before)?;
        server.clock.0.set(server.clock.0.get() + LENGTH);
        server.go_through(Event::Crash { while_raising })?;
        server.live(after)?;
        Ok(server)
    });
    assert!(waits == 0 && backward_steps > 25, "{waits} waits, {backward_steps} backward_steps");
}
