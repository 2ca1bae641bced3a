//! Scenes: threads that call generators at the same time, on a clock that reads the ticks of a script. Each is played
//! in all orders, and what the callers got is held against the rules.

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

use crate::rules::{Event, Rules, State, What};

/// What all threads of one execution share.
pub(crate) struct World {
    slots: Vec<Slot>,
    marks: Marks,
    pub(crate) script: &'static [u64],
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
pub(crate) struct Caller {
    pub(crate) world: Arc<World>,
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
    pub(crate) fn step(&self) {
        let World { place, news, log, .. } = &*self.world;
        let from = place.fetch_add(1, if *news { Ordering::AcqRel } else { Ordering::Relaxed });
        self.news(from, &mut log.lock().unwrap(), *news);
    }

    /// The same, but only from this place.
    pub(crate) fn step_from(&self, from: usize) {
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

    pub(crate) fn claim_from(&self, slot: usize, range: SequenceRange) -> Result<Stamp, ClaimError> {
        let World { slots, marks, tries, .. } = &*self.world;
        let clock = Look { caller: self, reading: Cell::new((0, 0)) };
        let taken = tries.then(|| slots[slot].claim_in_tick(Tick::MIN, &clock, range)).flatten();
        let outcome = taken.map_or_else(|| slots[slot].claim(&clock, range, marks), Ok);
        let (now, before) = clock.reading.get();
        self.log(Event { what: What::Claim { slot, range, now, outcome }, before });
        outcome
    }

    pub(crate) fn claim(&self) -> Result<Stamp, ClaimError> {
        self.claim_from(0, POOL)
    }

    /// Claims; if a mark is in the way, raises it and claims again.
    pub(crate) fn claim_with_marks(&self) -> Result<Stamp, ClaimError> {
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
pub(crate) const POOL: SequenceRange = match SequenceRange::new(0, 3) {
    Ok(range) => range,
    Err(_) => unreachable!(),
};

pub(crate) type Act = fn(&Caller);

/// Who does what at the same time.
pub(crate) struct Scene {
    pub(crate) slots: usize,
    pub(crate) limits: [u64; 2],
    /// Whether the slots resume at the marks.
    pub(crate) resume: bool,
    pub(crate) script: &'static [u64],
    /// Before the threads start.
    pub(crate) first: Act,
    pub(crate) threads: &'static [Act],
    /// After all threads have ended.
    pub(crate) last: Act,
    /// How often threads may be interrupted in one execution; as often as can be if `None`.
    pub(crate) interruptions: Option<usize>,
}

/// One slot without limits, and a clock that stands still.
pub(crate) const PLAIN: Scene = Scene {
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
pub(crate) struct Seen {
    pub(crate) executions: usize,
    pub(crate) overflows: usize,
    pub(crate) regressions: usize,
    pub(crate) marks: usize,
    /// Stamps on the second side.
    pub(crate) second: usize,
}

impl Scene {
    /// Plays the scene in every order.
    pub(crate) fn play(self) -> Seen {
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
