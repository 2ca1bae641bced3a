//! Callers that share generators, in the orders that loom tries, weak memory included:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p sno-core --release --test loom
//! ```
//!
//! Scenes with too many interleavings limit how often a thread is interrupted without need; a limit for all
//! of them, where a large one is as good as none, is `LOOM_MAX_PREEMPTIONS`. `--ignored` takes much longer.
//!
//! There is one system clock. It reads the ticks of a script, one after another, and threads step it from
//! each to the next at any moment. What the callers got is then held against [`Rules`]: there has to be an
//! order, one caller after another, in which each outcome is what the rules allow at that point. So a
//! stamp never comes twice, and a caller waits only if it has to.
//!
//! A caller's place in that order is open only as far as it could not have known better. What a thread did
//! before it stepped the clock comes before whatever others do with a later reading. To tell whether the
//! state machine needs help from that, each test runs again with a clock that carries no news from thread to
//! thread beyond what it reads; and a third time with callers that first try a claim within the tick, as the
//! extension does.
#![cfg(loom)]

use std::{
    cell::Cell,
    collections::HashSet,
    // Not loom's: it would try every order in which threads let go of the world.
    sync::{Arc, Mutex},
};

use loom::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use sno_core::{ClaimError, Clock, Marks, OutOfEpoch, SequenceRange, Slot, Stamp, Tick};

/// What a claim may do, as plain as it can be said.
#[derive(Clone, Debug)]
struct Rules {
    limits: [u64; 2],
    slots: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    tick: u64,
    tick_tock: bool,
    /// As a wide number, so that a used-up pool needs no case of its own.
    sequence: u32,
    /// The highest tick that each side has ever been at.
    reached: [u64; 2],
}

impl Rules {
    /// The state after an event; `None` if it may not happen now.
    fn after(&self, event: &Event) -> Option<Self> {
        let mut next = self.clone();
        match event.what {
            What::Raise { tick_tock, to } => {
                let limit = &mut next.limits[tick_tock as usize];
                *limit = to.max(*limit);
            }
            What::Claim { slot, range, now, outcome } => {
                let State { tick, tick_tock: this, sequence, reached } = self.slots[slot];
                let free = |tick_tock: bool| now > reached[tick_tock as usize];
                match outcome {
                    Ok(stamp) => {
                        if stamp.tick().get() != now {
                            return None;
                        }
                        let tick_tock = stamp.tick_tock();
                        let (number, lower) = (stamp.sequence() as u32, range.lower() as u32);
                        let as_it_should = if now == tick {
                            tick_tock == this && number == lower.max(sequence + 1)
                        } else {
                            free(tick_tock)
                                && number == lower
                                && now <= self.limits[tick_tock as usize]
                                // Whoever can stay may leave too, for the side that others are on.
                                && (now > tick || tick_tock != this)
                        };
                        if !as_it_should || number > range.upper() as u32 {
                            return None;
                        }
                        let state = &mut next.slots[slot];
                        (state.tick, state.tick_tock, state.sequence) = (now, tick_tock, number);
                        let reached = &mut state.reached[tick_tock as usize];
                        *reached = now.max(*reached);
                    }
                    Err(ClaimError::SequenceExhausted { until }) => {
                        let used_up = now == tick && sequence >= range.upper() as u32;
                        if !used_up || until.get() != now + 1 {
                            return None;
                        }
                    }
                    Err(ClaimError::ClockWentBack { now: read, until }) => {
                        let past = now < tick && !free(!this);
                        let end = tick.min(reached[!this as usize] + 1);
                        if !past || read.get() != now || until.get() != end {
                            return None;
                        }
                    }
                    Err(ClaimError::MarkReached { tick_tock, tick: wanted }) => {
                        let barred = now != tick && free(tick_tock) && now > self.limits[tick_tock as usize];
                        if !barred || wanted.get() != now {
                            return None;
                        }
                    }
                    Err(ClaimError::TooEarly { .. } | ClaimError::OutOfEpoch(_)) => return None,
                }
            }
        }
        Some(next)
    }

    /// Whether the events that are left can happen one after another.
    fn explain(&self, events: &[Event], done: u32) -> bool {
        done.count_ones() as usize == events.len()
            || events.iter().enumerate().any(|(id, event)| {
                done & 1 << id == 0
                    && event.before & !done == 0
                    && self.after(event).is_some_and(|next| next.explain(events, done | 1 << id))
            })
    }
}

#[derive(Clone, Copy, Debug)]
struct Event {
    what: What,
    /// The events, as bits, that surely come before this one.
    before: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Claim { slot: usize, range: SequenceRange, now: u64, outcome: Result<Stamp, ClaimError> },
    Raise { tick_tock: bool, to: u64 },
}

/// What all threads of one execution share.
struct World {
    slots: Vec<Slot>,
    marks: Marks,
    script: &'static [u64],
    /// Where in the script the clock is.
    place: AtomicUsize,
    /// Whether to step and read the clock is to hand on and take up all that was seen before.
    news: bool,
    /// Whether callers first try a claim within the tick.
    tries: bool,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    /// For each place of the script the events that its readers know of.
    known: Vec<u32>,
}

/// One thread's view of the world.
struct Caller {
    world: Arc<World>,
    /// The events that came before whatever this thread does next.
    known: Cell<u32>,
}

/// The clock, as one claim looks at it.
struct Look<'a> {
    caller: &'a Caller,
    /// The reading that counts, which is the last, and what was known then.
    reading: Cell<(u64, u32)>,
}

impl Clock for Look<'_> {
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        let now = self.caller.read();
        self.reading.set((now, self.caller.known.get()));
        Ok(Tick::new(now).unwrap())
    }
}

impl Caller {
    fn learn(&self, events: u32) {
        self.known.set(self.known.get() | events);
    }

    fn log(&self, event: Event) {
        let mut log = self.world.log.lock().unwrap();
        self.learn(1 << log.events.len());
        log.events.push(event);
    }

    /// Lets the clock go on to the next tick of the script. Who does so knows that the last tick is over.
    fn step(&self) {
        let World { place, news, log, .. } = &*self.world;
        let from = place.fetch_add(1, if *news { Ordering::AcqRel } else { Ordering::Relaxed });
        self.news(from, &mut log.lock().unwrap(), *news);
    }

    /// The same, but only from this place.
    fn step_from(&self, from: usize) {
        let World { place, news, log, .. } = &*self.world;
        let order = if *news { Ordering::AcqRel } else { Ordering::Relaxed };
        if place.compare_exchange(from, from + 1, order, Ordering::Relaxed).is_ok() {
            self.news(from, &mut log.lock().unwrap(), *news);
        }
    }

    fn news(&self, from: usize, log: &mut Log, news: bool) {
        if news {
            self.learn(log.known[from]);
            log.known[from + 1] = self.known.get();
        }
    }

    fn read(&self) -> u64 {
        let World { place, script, news, log, .. } = &*self.world;
        let place = place.load(if *news { Ordering::Acquire } else { Ordering::Relaxed });
        if *news {
            self.learn(log.lock().unwrap().known[place]);
        }
        script[place]
    }

    fn claim_from(&self, slot: usize, range: SequenceRange) -> Result<Stamp, ClaimError> {
        let World { slots, marks, tries, .. } = &*self.world;
        let clock = Look { caller: self, reading: Cell::new((0, 0)) };
        let taken = tries.then(|| slots[slot].claim_in_tick(Tick::MIN, &clock, range)).flatten();
        let outcome = taken.map_or_else(|| slots[slot].claim(&clock, range, marks), Ok);
        let (now, before) = clock.reading.get();
        self.log(Event { what: What::Claim { slot, range, now, outcome }, before });
        outcome
    }

    fn claim(&self) -> Result<Stamp, ClaimError> {
        self.claim_from(0, POOL)
    }

    /// Claims; if a mark is in the way, raises it and claims again.
    fn claim_with_marks(&self) -> Result<Stamp, ClaimError> {
        let outcome = self.claim();
        if let Err(ClaimError::MarkReached { tick_tock, tick }) = outcome {
            let World { marks, .. } = &*self.world;
            let limits = marks.ahead(tick_tock, tick);
            marks.raise(limits);
            let to = limits[tick_tock as usize].get();
            self.log(Event { what: What::Raise { tick_tock, to }, before: self.known.get() });
            return self.claim();
        }
        outcome
    }
}

/// Four numbers a tick: soon used up.
const POOL: SequenceRange = match SequenceRange::new(0, 3) {
    Ok(range) => range,
    Err(_) => unreachable!(),
};

/// Numbers of their own.
const OTHER_POOL: SequenceRange = match SequenceRange::new(2, 5) {
    Ok(range) => range,
    Err(_) => unreachable!(),
};

type Act = fn(&Caller);

/// Who does what at the same time.
struct Scene {
    slots: usize,
    limits: [u64; 2],
    /// Whether the slots resume at the marks.
    resume: bool,
    script: &'static [u64],
    /// Before the threads start.
    first: Act,
    threads: &'static [Act],
    /// After all threads have ended.
    last: Act,
    /// How often threads may be interrupted in one execution; as often as can be if `None`.
    interruptions: Option<usize>,
}

/// One slot without limits, and a clock that stands still.
const PLAIN: Scene = Scene {
    slots: 1,
    limits: [Tick::MAX.get(); 2],
    resume: false,
    script: &[100],
    first: |_| (),
    threads: &[],
    last: |_| (),
    interruptions: None,
};

/// What happened at all, in any execution: a test that never got where it wanted proves nothing.
#[derive(Default, Debug)]
struct Seen {
    executions: usize,
    overflows: usize,
    regressions: usize,
    marks: usize,
    /// Stamps on the second side.
    second: usize,
}

impl Scene {
    /// Plays the scene in every order.
    fn play(self) -> Seen {
        let mut seen = Seen::default();
        for (news, tries) in [(true, false), (false, false), (true, true)] {
            self.play_with(news, tries, &mut seen);
        }
        println!("{seen:?}");
        seen
    }

    fn play_with(&self, news: bool, tries: bool, seen: &mut Seen) {
        let Self { slots, limits, resume, script, first, threads, last, interruptions } = *self;
        let counts = Arc::new(Mutex::new(std::mem::take(seen)));
        let counted = counts.clone();
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(interruptions);
        builder.check(move || {
            let ticks = limits.map(|limit| Tick::new(limit).unwrap());
            let world = Arc::new(World {
                slots: (0..slots).map(|_| Slot::default()).collect(),
                marks: Marks::new(ticks, false),
                script,
                place: AtomicUsize::new(0),
                news,
                tries,
                log: Mutex::new(Log { events: Vec::new(), known: vec![0; script.len()] }),
            });
            let mut state = State { tick: 0, tick_tock: false, sequence: u16::MAX.into(), reached: [0; 2] };
            if resume {
                world.slots.iter().for_each(|slot| slot.resume(&world.marks));
                (state.tick, state.reached) = (limits[0], limits);
            }
            let main = Caller { world: world.clone(), known: Cell::new(0) };
            first(&main);
            let started: Vec<_> = threads[1..]
                .iter()
                .map(|act| {
                    let caller = Caller { world: world.clone(), known: main.known.clone() };
                    thread::spawn(move || {
                        act(&caller);
                        caller.known.get()
                    })
                })
                .collect();
            threads[0](&main);
            for thread in started {
                main.learn(thread.join().unwrap());
            }
            last(&main);

            let log = world.log.lock().unwrap();
            let rules = Rules { limits, slots: vec![state; slots] };
            assert!(rules.explain(&log.events, 0), "no order explains {:#?}", log.events);
            assert_unique(&log.events);
            count(&log.events, &mut counted.lock().unwrap());
        });
        *seen = std::mem::take(&mut *counts.lock().unwrap());
    }
}

/// Follows from the rules, and is worth a check that shares nothing with them.
fn assert_unique(events: &[Event]) {
    let mut stamps = HashSet::new();
    for event in events {
        if let What::Claim { slot, outcome: Ok(stamp), .. } = event.what {
            let fresh = stamps.insert((slot, stamp.tick(), stamp.tick_tock(), stamp.sequence()));
            assert!(fresh, "{stamp:?} twice in {events:#?}");
        }
    }
}

fn count(events: &[Event], seen: &mut Seen) {
    seen.executions += 1;
    for event in events {
        let What::Claim { outcome, .. } = event.what else { continue };
        match outcome {
            Ok(stamp) => seen.second += stamp.tick_tock() as usize,
            Err(ClaimError::SequenceExhausted { .. }) => seen.overflows += 1,
            Err(ClaimError::ClockWentBack { .. }) => seen.regressions += 1,
            Err(ClaimError::MarkReached { .. }) => seen.marks += 1,
            Err(ClaimError::TooEarly { .. } | ClaimError::OutOfEpoch(_)) => (),
        }
    }
}

/// Claims, and has to get a stamp.
fn take(caller: &Caller) {
    caller.claim().unwrap();
}

/// Claims, and has to get a stamp or to be told to wait.
fn ask(caller: &Caller) {
    let _ = caller.claim();
}

fn ask_twice(caller: &Caller) {
    ask(caller);
    ask(caller);
}

fn step_and_take(caller: &Caller) {
    caller.step();
    take(caller);
}

fn step_and_ask(caller: &Caller) {
    caller.step();
    ask(caller);
}

#[test]
fn callers_in_one_tick_take_one_number_each() {
    let seen = Scene { first: take, threads: &[take, take, take], ..PLAIN }.play();
    assert_eq!((seen.overflows, seen.regressions, seen.second), (0, 0, 0));
}

#[test]
fn callers_with_different_pools_take_one_number_each() {
    fn other(caller: &Caller) {
        caller.claim_from(0, OTHER_POOL).unwrap();
    }
    Scene {
        threads: &[
            |caller| {
                other(caller);
                other(caller);
            },
            ask_twice,
        ],
        ..PLAIN
    }
    .play();
}

#[test]
fn three_callers_enter_a_tick_one_by_one() {
    let seen = Scene {
        script: &[100, 101],
        first: take,
        threads: &[take, take, step_and_take],
        interruptions: Some(4),
        ..PLAIN
    }
    .play();
    assert_eq!((seen.overflows, seen.regressions, seen.second), (0, 0, 0));
}

#[test]
fn a_used_up_pool_holds_those_who_come_late_until_the_next_tick() {
    let seen = Scene {
        script: &[100, 101],
        first: |caller| (0..3).for_each(|_| take(caller)),
        threads: &[ask, ask, ask],
        last: step_and_take,
        ..PLAIN
    }
    .play();
    assert_eq!((seen.overflows, seen.regressions), (2 * seen.executions, 0));
}

#[test]
fn three_callers_meet_the_first_step_back() {
    let seen = Scene {
        script: &[1000, 900],
        first: take,
        threads: &[take, take, step_and_take],
        interruptions: Some(3),
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.overflows + seen.regressions == 0);
}

#[test]
fn a_side_is_entered_again_only_past_where_it_was_left() {
    // The second thread may have judged by the state of the first tick all along.
    let seen = Scene {
        script: &[1000, 900, 1100, 1050, 1000],
        first: take,
        threads: &[
            |caller| {
                for _ in 0..4 {
                    step_and_ask(caller);
                }
            },
            ask,
        ],
        interruptions: Some(3),
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.regressions > 0);
}

#[test]
fn callers_follow_to_the_side_that_others_are_on() {
    let seen = Scene {
        slots: 2,
        script: &[1000, 900, 901, 902],
        first: take,
        threads: &[
            |caller| {
                step_and_take(caller);
                caller.step();
            },
            |caller| {
                caller.claim_from(1, POOL).unwrap();
                caller.claim_from(1, POOL).unwrap();
            },
        ],
        last: |caller| {
            caller.step();
            // Past where the first side was left nowhere but on slot 1, and never back.
            let stamp = caller.claim().unwrap();
            assert!(stamp.tick_tock());
            caller.claim_from(1, POOL).unwrap();
        },
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.overflows + seen.regressions == 0);
}

#[test]
fn two_callers_follow_at_once() {
    let seen = Scene {
        slots: 2,
        script: &[500, 1000, 900, 901],
        first: |caller| {
            caller.claim_from(1, POOL).unwrap();
            step_and_take(caller);
            step_and_take(caller);
        },
        threads: &[
            |caller| {
                caller.step();
                caller.claim_from(1, POOL).unwrap();
            },
            |caller| {
                caller.claim_from(1, POOL).unwrap();
                caller.claim_from(1, POOL).unwrap();
            },
        ],
        last: |caller| assert!(caller.claim_from(1, POOL).unwrap().tick_tock()),
        ..PLAIN
    }
    .play();
    assert!(seen.second > 0 && seen.overflows + seen.regressions == 0);
}

#[test]
fn marks_that_are_raised_while_others_claim() {
    let seen = Scene {
        limits: [100, 50],
        script: &[100, 101, 60],
        first: take,
        threads: &[
            |caller| {
                caller.step();
                caller.claim_with_marks().unwrap();
                caller.step();
                let _ = caller.claim_with_marks();
            },
            |caller| {
                let _ = caller.claim_with_marks();
            },
        ],
        interruptions: Some(2),
        ..PLAIN
    }
    .play();
    assert!(seen.marks > 0 && seen.second > 0 && seen.regressions == 0);
}

#[test]
fn marks_never_fall() {
    let tick = |number| Tick::new(number).unwrap();
    loom::model(move || {
        let marks = Arc::new(Marks::new([tick(100); 2], false));
        let raises = [[tick(300), tick(100)], [tick(200), tick(400)]].map(|limits| {
            let marks = marks.clone();
            thread::spawn(move || {
                marks.raise(limits);
                assert!(marks.limit(false) >= limits[0] && marks.limit(true) >= limits[1]);
            })
        });
        for raise in raises {
            raise.join().unwrap();
        }
        assert_eq!([marks.limit(false), marks.limit(true)], [tick(300), tick(400)]);
    });
}

#[test]
fn after_a_restart_callers_start_above_the_marks() {
    let seen = Scene {
        limits: [500, 300],
        resume: true,
        script: &[300, 301, 500],
        threads: &[
            |caller| {
                let _ = caller.claim_with_marks();
                caller.step();
                let _ = caller.claim_with_marks();
            },
            |caller| {
                let _ = caller.claim_with_marks();
                caller.step();
                let _ = caller.claim_with_marks();
            },
        ],
        interruptions: Some(3),
        ..PLAIN
    }
    .play();
    assert!(seen.marks > 0 && seen.second > 0 && seen.regressions > 0 && seen.overflows > 0);
}

/// All histories of a clock that reads one of these ticks at a time.
fn histories(ticks: &[u64], length: u32) -> impl Iterator<Item = &'static [u64]> {
    (0..ticks.len().pow(length)).map(move |mut number| {
        let script: Vec<u64> = (0..length)
            .map(|_| {
                let tick = ticks[number % ticks.len()];
                number /= ticks.len();
                tick
            })
            .collect();
        &*script.leak()
    })
}

fn two_callers_in_every_history(length: u32, interruptions: usize) {
    for script in histories(&[100, 101, 102], length) {
        let threads: &[Act] =
            &[|caller| (1..caller.world.script.len()).for_each(|_| step_and_ask(caller)), ask_twice];
        Scene { script, first: ask, threads, interruptions: Some(interruptions), ..PLAIN }.play();
    }
}

#[test]
fn two_callers_in_every_short_history() {
    two_callers_in_every_history(4, 2);
}

/// What a scheme without a second side resumes at: the other was left at the largest tick there is.
const ONE_SIDE: Scene = Scene { limits: [99, Tick::MAX.get()], resume: true, ..PLAIN };

#[test]
fn with_one_side_a_clock_that_goes_back_is_waited_for() {
    let seen = Scene {
        script: &[105, 101, 102, 106],
        first: |caller| _ = caller.claim_with_marks(),
        threads: &[
            |caller| {
                step_and_ask(caller);
                caller.step();
                step_and_ask(caller);
            },
            ask_twice,
        ],
        interruptions: Some(3),
        ..ONE_SIDE
    }
    .play();
    assert!(seen.regressions > 0 && seen.second == 0, "{seen:?}");
}

#[test]
fn with_one_side_a_used_up_tick_is_not_entered_again_after_a_step_back() {
    let seen = Scene {
        script: &[100, 101, 100, 101],
        first: |caller| {
            let _ = caller.claim_with_marks();
            take(caller);
            take(caller);
        },
        threads: &[
            |caller| {
                step_and_ask(caller);
                step_and_ask(caller);
            },
            |caller| {
                ask(caller);
                caller.step_from(2);
                ask(caller);
            },
        ],
        last: ask,
        interruptions: Some(3),
        ..ONE_SIDE
    }
    .play();
    assert!(seen.regressions > 0 && seen.second == 0, "{seen:?}");
}
