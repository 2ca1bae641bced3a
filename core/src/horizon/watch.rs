//! When to look for rows that readers can read by now, without a signal from those who write them; and when to stop
//! waiting.

use core::{mem, time::Duration};

use crate::id::tick::Tick;

/// How often a wait looks through all unread rows, for those whose keys no generator of this server has generated.
const FULL_LOOK: u64 = 5 * Tick::PER_SECOND;

/// The shortest and the longest time between two steps.
const PAUSES: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(100)];

/// The time between two steps if each takes long.
const EXPENSIVE_PAUSE: Duration = Duration::from_secs(1);

/// A wait for rows below a [horizon](crate::horizon::Horizon), in steps. Writers do not know of it: a wait learns of new
/// IDs from the generators, and of transactions that are still open from what they have announced.
///
/// Each step decides whether to *look*: to query the table for rows of a range of IDs. A look need not find any. But a
/// row that can be read is looked for at the next step, with these exceptions, for which the wait looks within five
/// seconds:
///
/// * a key that is not from a generator of this server,
/// * a key that was later than the clock when the clock stepped back,
/// * a key that is older than rows that were looked for before, since the clock stepped back and forth between two
///   steps.
///
/// A look begins where the look before it ended, so that each row is looked for once, but for one look at all unread rows
/// in five seconds.
///
/// Invariants between two steps:
///
/// * no row with an ID below `passed` becomes readable any more, unless the clock steps back;
/// * if `ids` are settled, all IDs that the generators had handed out when `seen` was loaded are below `passed`, or were
///   later than the clock.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// How many ticks old a row has to be.
    margin: u64,
    /// What the clock read at the last step.
    at: Tick,
    /// A hash of the words of all generators at the last step.
    seen: Option<u64>,
    /// What the clock read at the second step that found this hash: all IDs in it had been taken by then.
    taken: Option<Tick>,
    /// What is known of the IDs that it is a hash of.
    ids: Ids,
    /// All rows below this tick were looked for.
    passed: Tick,
    /// What the clock read at the last look at all unread rows.
    looked: Option<Tick>,
    /// How many looks for new IDs there were since then. They were in vain, as the wait goes on.
    vain: u32,
    /// Whether what can be read took so long to find that it is to be asked for once a second.
    is_expensive: bool,
}

/// What a wait knows of the IDs that the generators have handed out.
#[derive(Clone, Copy, Debug)]
enum Ids {
    /// Rows of all of them were looked for.
    Settled,
    /// Rows of some were not. `new`: until the step before, all were settled, and one look is for all that came since, which are
    /// between these ticks.
    Open { new: Option<[Tick; 2]> },
}

/// What someone who waits does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Look for rows from the first tick up to the second one, exclusive. If there is one, the wait is over; if not, it
    /// sleeps for [`Watch::pause`], and as long as the look has taken at least.
    Look(Tick, Tick),
    /// Sleep for so long.
    Sleep(Duration),
}

/// Which rows can be read at present: those of IDs below a tick.
#[derive(Clone, Copy, Debug)]
pub struct Readable {
    /// The tick.
    pub below: Tick,
    /// Whether an open or a prepared transaction keeps this tick from being as late as the margin allows.
    pub is_held: bool,
    /// Whether the tick took so long to find that it should not be asked for often.
    pub is_expensive: bool,
}

impl Watch {
    /// A wait for rows that are at least `margin` ticks old. It looks at its first step.
    pub const fn new(margin: u64) -> Self {
        Self {
            margin,
            at: Tick::MIN,
            seen: None,
            taken: None,
            ids: Ids::Open { new: None },
            passed: Tick::MIN,
            looked: None,
            vain: 0,
            is_expensive: false,
        }
    }

    /// How many ticks old a row has to be.
    pub const fn margin(&self) -> u64 {
        self.margin
    }

    /// A step: whether to look or to sleep.
    ///
    /// `seen` changes with each ID, and `newest` is the latest tick of all IDs; both were loaded after the clock read
    /// `now`.
    ///
    /// No row is missed. If its ID was handed out after `seen` was loaded, the next step sees another hash. If it was
    /// handed out earlier, its transaction had announced it: either `readable` stops at it, or the transaction has ended,
    /// and the look sees the row.
    pub fn step(&mut self, now: Tick, seen: u64, newest: Tick, readable: impl FnOnce() -> Readable) -> Step {
        if now < self.at {
            // The clock has stepped back: the ticks that it read before say nothing now.
            *self = Self { seen: self.seen, ..Self::new(self.margin) };
        }
        let before = mem::replace(&mut self.at, now);
        if self.seen == Some(seen) {
            self.taken.get_or_insert(now);
        } else {
            if matches!(self.ids, Ids::Settled) {
                self.ids = Ids::Open { new: Some([before, newest.min(now)]) };
            }
            (self.seen, self.taken) = (Some(seen), None);
        }
        let is_all = self.looked.is_none_or(|looked| now.get() - looked.get() >= FULL_LOOK);
        let new = match self.ids {
            Ids::Settled if !is_all => {
                self.is_expensive = false;
                return Step::Sleep(self.pause());
            }
            Ids::Settled => None,
            Ids::Open { new } => new,
        };
        let Readable { below, is_held, is_expensive } = readable();
        assert!(below <= now, "rows below {below:?} at {now:?}");
        self.is_expensive = is_expensive;
        if !is_all && below <= self.passed {
            return Step::Sleep(self.pause());
        }
        if let Some([first, latest]) = new.filter(|[_, latest]| !is_all && below <= *latest && !is_held) {
            if below > first {
                // It sleeps for this only once, since the clock may stand still.
                self.ids = Ids::Open { new: None };
            }
            let ticks = (latest.get().saturating_add(self.margin) + 1).saturating_sub(now.get());
            return Step::Sleep(Duration::from_micros(ticks * Tick::MICROS).clamp(PAUSES[0], PAUSES[1]));
        }
        let from = if is_all { Tick::MIN } else { self.passed };
        if is_all {
            (self.looked, self.vain) = (Some(now), 0);
        } else {
            self.vain += 1;
        }
        self.passed = below.max(self.passed);
        let is_settled = newest < below || self.taken.is_some_and(|taken| taken < below);
        self.ids = if is_settled { Ids::Settled } else { Ids::Open { new: None } };
        Step::Look(from, below)
    }

    /// The time between two steps: a tenth of the margin, but twice as long after each look in vain. Such a look was for
    /// IDs of other tables, of which many more can follow.
    pub fn pause(&self) -> Duration {
        if self.is_expensive {
            return EXPENSIVE_PAUSE;
        }
        let tenth = Duration::from_micros(self.margin.min(1 << 32) * Tick::MICROS / 10);
        (tenth.clamp(PAUSES[0], PAUSES[1]) * (1 << self.vain.min(5))).min(PAUSES[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(number: u64) -> Tick {
        Tick::new(number).unwrap()
    }

    fn readable(below: u64, is_held: bool) -> Readable {
        Readable { below: tick(below), is_held, is_expensive: false }
    }

    /// A wait for rows of a second ago, on a clock of which so many ticks have passed.
    struct Wait(Watch);

    impl Wait {
        fn new() -> Self {
            Self(Watch::new(250))
        }

        /// One that has looked at tick 1000, when nothing was there.
        fn idle() -> Self {
            let mut wait = Self::new();
            assert_eq!(wait.free(1000, 1, 500), Step::Look(Tick::MIN, tick(750)));
            wait
        }

        fn at(&mut self, now: u64, seen: u64, newest: u64, readable: Readable) -> Step {
            self.0.step(tick(now), seen, tick(newest), || readable)
        }

        /// A step while nothing is held back.
        fn free(&mut self, now: u64, seen: u64, newest: u64) -> Step {
            self.at(now, seen, newest, readable(now - 250, false))
        }

        /// The same, if transactions hold back what can be read at a tick.
        fn held(&mut self, now: u64, seen: u64, newest: u64, below: u64) -> Step {
            self.at(now, seen, newest, readable(below, below < now - 250))
        }
    }

    fn sleeps(step: Step) -> u64 {
        match step {
            Step::Sleep(pause) => pause.as_millis() as u64,
            step => panic!("{step:?}"),
        }
    }

    #[test]
    fn it_looks_when_new_ids_can_be_read() {
        let mut wait = Wait::idle();
        assert_eq!(sleeps(wait.free(1025, 1, 500)), 100);
        // An ID of tick 1030, that is due at 1281.
        assert_eq!([1050, 1200, 1275, 1280].map(|now| sleeps(wait.free(now, 2, 1030))), [100, 100, 24, 4]);
        assert_eq!(wait.free(1281, 2, 1030), Step::Look(tick(750), tick(1031)));
        assert_eq!(sleeps(wait.free(1310, 2, 1030)), 100);
    }

    /// Each ID is looked for, however many come meanwhile, and each once.
    #[test]
    fn it_looks_for_the_first_of_many_ids() {
        let mut wait = Wait::idle();
        let looks = (1001..1300).map(|now| wait.free(now, now, now));
        let looks: Vec<_> = looks.filter(|step| matches!(step, Step::Look(..))).collect();
        let expected = [(750, 1002), (1002, 1003)].map(|(from, below)| Step::Look(tick(from), tick(below)));
        assert_eq!(looks[..2], expected);
    }

    #[test]
    fn a_transaction_that_ends_lets_it_look() {
        let mut wait = Wait::new();
        let look = |from, below| Step::Look(tick(from), tick(below));
        assert_eq!(wait.held(1000, 1, 849, 500), look(0, 500));
        assert_eq!([1025, 1050].map(|now| sleeps(wait.held(now, 1, 849, 500))), [100; 2]);
        assert_eq!(wait.held(1075, 1, 849, 700), look(500, 700));
        assert_eq!(wait.held(1100, 1, 849, 850), look(700, 850));
        assert_eq!(sleeps(wait.held(1125, 1, 849, 875)), 100);
    }

    /// Its ID was taken before the step at 1050, and handed out after it.
    #[test]
    fn an_id_of_before_the_last_step() {
        let mut wait = Wait(Watch::new(25));
        let mut at = |now, seen, newest, below| wait.at(now, seen, newest, readable(below, below < now - 25));
        assert_eq!(at(1000, 1, 500, 975), Step::Look(tick(0), tick(975)));
        assert_eq!(sleeps(at(1050, 1, 500, 1025)), 10);
        assert_eq!(at(1060, 2, 1030, 1030), Step::Look(tick(975), tick(1030)));
        assert_eq!(at(1061, 2, 1030, 1036), Step::Look(tick(1030), tick(1036)));
    }

    #[test]
    fn after_a_step_back_it_looks_at_all_rows_at_once() {
        let mut wait = Wait::idle();
        assert_eq!(sleeps(wait.free(1300, 2, 1200)), 100);
        assert_eq!(wait.free(1451, 2, 1200), Step::Look(tick(750), tick(1201)));
        assert_eq!(wait.free(1400, 2, 5000), Step::Look(tick(0), tick(1150)));
        // What was later than the clock is nothing new for as long as the clock was ahead.
        assert_eq!(wait.free(1651, 2, 5000), Step::Look(tick(1150), tick(1401)));
        assert_eq!(sleeps(wait.free(1652, 2, 5000)), 100);
    }

    #[test]
    fn keys_that_no_generator_made_are_looked_for_every_five_seconds() {
        let mut wait = Wait::idle();
        let looks = (1000..4000).filter_map(|now| match wait.free(now, 1, 500) {
            Step::Look(from, _) => Some((now, from.get())),
            _ => None,
        });
        assert_eq!(looks.collect::<Vec<_>>(), [(2250, 0), (3500, 0)]);
    }

    /// Also as long as a transaction holds back what is due.
    #[test]
    fn keys_that_no_generator_made_do_not_wait_for_transactions() {
        let mut wait = Wait::new();
        let looks = (1000..4000).filter(|&now| matches!(wait.held(now, now, now, 700), Step::Look(..)));
        assert_eq!(looks.collect::<Vec<_>>(), [1000, 2250, 3500]);
    }

    /// The pauses, of a tenth of the margin at first. After five seconds it begins anew.
    #[test]
    fn looks_in_vain_slow_it_down() {
        let mut watch = Watch::new(25);
        let (mut now, mut pauses) = (1000, Vec::new());
        for number in 1..80 {
            let pause = match watch.step(tick(now), number, tick(now), || readable(now - 25, false)) {
                Step::Sleep(pause) => pause,
                Step::Look(..) => watch.pause(),
            };
            now += pause.as_millis() as u64 / 4;
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses[..6], [10, 20, 40, 80, 100, 100]);
        assert!(pauses[6..].iter().filter(|pause| **pause == 10).count() == 1, "{pauses:?}");
    }

    #[test]
    fn what_is_expensive_is_asked_for_once_a_second() {
        let mut watch = Watch::new(25);
        let expensive = |below| Readable { below: tick(below), is_held: below < 975, is_expensive: true };
        for (now, below) in [(1000, 900), (1250, 900), (1500, 901)] {
            let step = watch.step(tick(now), 1, tick(1000), || expensive(below));
            assert!(matches!(step, Step::Look(..)) || sleeps(step) == 1000, "{step:?}");
            assert_eq!(watch.pause(), EXPENSIVE_PAUSE);
        }
    }
}
