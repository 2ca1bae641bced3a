//! When to look for rows that readers can read by now, without a signal from those who write them; and when to stop
//! waiting.

use core::time::Duration;

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
/// row that can be read is looked for at the next step that is no pause, with these exceptions, for which the wait looks
/// within five seconds:
///
/// * a key that is not from a generator of this server,
/// * a key that was later than the clock when the clock stepped back,
/// * a key that is older than rows that were looked for before, since the clock stepped back and forth between two
///   steps.
///
/// A look begins where the look before it ended, so that each row is looked for once, but for one look at all unread rows
/// in five seconds.
///
/// Invariants between two steps, if the clock has not stepped back:
///
/// * no row with an ID below `passed` becomes readable any more;
/// * an ID that a generator had handed out when `seen` was loaded is below `passed`, or `due` is at it or before it;
/// * `look` is there only after a look, and the next call of `rest` takes it.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// How many ticks old a row has to be.
    margin: u64,
    /// When to stop waiting. This and the next three are times of a clock that is never set.
    until: Duration,
    /// When the last step began.
    time: Duration,
    /// When the look began that the last step has asked for.
    look: Option<Duration>,
    /// Until when steps only pause.
    pause: Duration,
    /// Whether the last step was expensive.
    is_expensive: bool,
    /// How many looks for new IDs were in vain in these five seconds.
    vain: u32,
    /// A hash of the words of all generators at the last step.
    seen: u64,
    /// Whether `seen` differed from that of the step before.
    is_new: bool,
    /// What the clock read at a step after the last one that saw new IDs: all of these were taken by then.
    changed: Tick,
    /// What the clock read at the last step.
    at: Tick,
    /// What the clock read at the last look at all unread rows.
    looked: Tick,
    /// All rows below this tick were looked for.
    passed: Tick,
    /// From this tick on there are IDs to look for, once rows of later ticks can be read; if it is the first tick, all
    /// unread rows at once. `None` if there are none.
    due: Option<Tick>,
    /// The latest of these IDs: if no transaction holds them back, one look is for all of them.
    latest: Tick,
}

/// What someone who waits does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Look for rows from the first tick up to the second one, exclusive. If there is one, the wait is over.
    Look(Tick, Tick),
    /// Sleep for so long.
    Sleep(Duration),
    /// Stop waiting.
    End,
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
    /// A wait for rows that are at least `margin` ticks old, which ends at the time `until` of a clock that is never set.
    /// It looks at its first step.
    pub const fn new(margin: u64, until: Duration) -> Self {
        Self {
            margin,
            until,
            time: Duration::ZERO,
            look: None,
            pause: Duration::ZERO,
            is_expensive: false,
            vain: 0,
            seen: 0,
            is_new: false,
            changed: Tick::MIN,
            at: Tick::MIN,
            looked: Tick::MIN,
            passed: Tick::MIN,
            due: Some(Tick::MIN),
            latest: Tick::MIN,
        }
    }

    /// How many ticks old a row has to be.
    pub const fn margin(&self) -> u64 {
        self.margin
    }

    /// The first part of a step that begins at `time`: whether to pause or to stop, before anything is loaded. `None`:
    /// neither, so [`step`](Self::step) is next. A pause takes at least as long as the look before it.
    pub fn rest(&mut self, time: Duration) -> Option<Step> {
        self.time = time;
        if let Some(began) = self.look.take() {
            if time >= self.until {
                return Some(Step::End);
            }
            self.pause = time + self.interval().max(time.saturating_sub(began));
        }
        let pause = self.pause.min(self.until);
        (time < pause).then(|| Step::Sleep(pause.saturating_sub(time)))
    }

    /// The second part of a step: whether to look or to sleep.
    ///
    /// `seen` changes with each ID, and `newest` is the latest tick of all IDs; both were loaded after the clock read
    /// `now`.
    ///
    /// No row is missed. If its ID was taken after `seen` was loaded, the next step sees it, and its tick is `now` or
    /// later. If it was taken earlier, its transaction had announced it: either `readable` stops at it, or the
    /// transaction has ended, and the look sees the row.
    pub fn step(&mut self, now: Tick, seen: u64, newest: Tick, readable: impl FnOnce() -> Readable) -> Step {
        assert!(self.look.is_none(), "a step without a rest after the look before it");
        let is_new = seen != self.seen || self.at == Tick::MIN;
        if is_new || self.is_new {
            // Some of the new IDs may have been taken after that clock was read.
            self.changed = now;
        }
        if now < self.at {
            // The clock has stepped back: the ticks that it read before say nothing now.
            (self.due, self.passed, self.changed) = (Some(Tick::MIN), Tick::MIN, now);
        } else if is_new {
            if self.due.is_none() {
                self.latest = if newest <= now { newest } else { self.at };
            }
            self.due = Some(self.due.map_or(self.at, |due| due.min(self.at)));
        }
        (self.seen, self.is_new, self.at) = (seen, is_new, now);
        let is_old = now.get().saturating_sub(self.looked.get()) >= FULL_LOOK;
        match self.due {
            None if !is_old => {
                self.is_expensive = false;
                self.sleep(self.interval())
            }
            due => {
                let readable = readable();
                assert!(readable.below <= now, "rows below {:?} at {now:?}", readable.below);
                self.look(if is_old { Tick::MIN } else { due.unwrap_or_default() }, newest, readable)
            }
        }
    }

    /// Looks, if that is due.
    fn look(&mut self, due: Tick, newest: Tick, readable: Readable) -> Step {
        let (is_all, below) = (due == Tick::MIN, readable.below);
        self.is_expensive = readable.is_expensive;
        let (due, latest) = (due.max(self.passed), due.max(self.latest));
        if !is_all && below <= due && (readable.is_held || readable.is_expensive) {
            if readable.is_held {
                // What holds it back can have older IDs than those that are due.
                self.due = Some(below);
            }
            return self.sleep(self.interval());
        }
        if !is_all && below <= latest && !readable.is_held {
            // It sleeps for this only once, since the clock may stand still.
            if below > due {
                self.latest = Tick::MIN;
            }
            let ticks = (latest.get().saturating_add(self.margin) + 1).saturating_sub(self.at.get());
            return self.sleep(Duration::from_micros(ticks * Tick::MICROS).clamp(PAUSES[0], PAUSES[1]));
        }
        let from = if is_all { Tick::MIN } else { self.passed };
        assert!(is_all || from < below, "a look from {from:?} to {below:?}");
        if is_all {
            (self.looked, self.vain) = (self.at, 0);
        } else {
            self.vain += 1;
        }
        self.passed = below.max(self.passed);
        self.due = (readable.is_held || newest.min(self.changed) >= below).then_some(below);
        self.latest = Tick::MIN;
        self.look = Some(self.time);
        assert!(self.passed <= self.at && self.looked <= self.at, "{self:?}");
        Step::Look(from, below)
    }

    fn sleep(&self, pause: Duration) -> Step {
        match self.until.saturating_sub(self.time) {
            Duration::ZERO => Step::End,
            left => Step::Sleep(pause.min(left)),
        }
    }

    /// The time between two steps: a tenth of the margin, but twice as long after each look in vain. Such a look was for
    /// IDs of other tables, of which many more can follow.
    fn interval(&self) -> Duration {
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

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn readable(below: u64, is_held: bool) -> Readable {
        Readable { below: tick(below), is_held, is_expensive: false }
    }

    /// A wait of an hour for rows of a second ago, on a clock of which so many ticks have passed.
    struct Wait(Watch);

    impl Wait {
        fn new() -> Self {
            Self(Watch::new(250, Duration::from_secs(3600)))
        }

        /// One that has looked at tick 1000, when nothing was there.
        fn idle() -> Self {
            let mut wait = Self::new();
            assert_eq!(wait.free(1000, 1, 500), Step::Look(Tick::MIN, tick(750)));
            wait
        }

        /// A step that is no pause.
        fn at(&mut self, now: u64, seen: u64, newest: u64, readable: Readable) -> Step {
            let time = Duration::from_micros(now * Tick::MICROS);
            match self.0.rest(time) {
                Some(Step::Sleep(_)) => {
                    self.0.pause = Duration::ZERO;
                    self.0.step(tick(now), seen, tick(newest), || readable)
                }
                Some(step) => step,
                None => self.0.step(tick(now), seen, tick(newest), || readable),
            }
        }

        /// The same, while nothing is held back.
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
        assert_eq!(wait.held(1000, 1, 500, 500), look(0, 500));
        assert_eq!([1025, 1050].map(|now| sleeps(wait.held(now, 1, 500, 500))), [100; 2]);
        assert_eq!(wait.held(1075, 1, 500, 700), look(500, 700));
        assert_eq!(wait.held(1100, 1, 500, 850), look(700, 850));
        assert_eq!(sleeps(wait.held(1125, 1, 500, 875)), 100);
    }

    /// Its ID was taken before the step at 1050, and handed out after it.
    #[test]
    fn an_id_of_before_the_last_step() {
        let mut wait = Wait(Watch::new(25, Duration::from_secs(3600)));
        let mut at = |now, seen, newest, below| wait.at(now, seen, newest, readable(below, below < now - 25));
        assert_eq!(at(1000, 1, 500, 975), Step::Look(tick(0), tick(975)));
        assert_eq!([at(1050, 1, 500, 1025), at(1060, 2, 1030, 1030)].map(sleeps), [10, 10]);
        assert_eq!(at(1061, 2, 1030, 1036), Step::Look(tick(975), tick(1036)));
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

    /// The pauses, of a tenth of the margin at first.
    #[test]
    fn looks_in_vain_slow_it_down() {
        let mut watch = Watch::new(25, Duration::from_secs(3600));
        let (mut time, mut pauses) = (millis(0), Vec::new());
        for number in 1..130 {
            let now = 1000 + time.as_millis() as u64 / 4;
            match watch
                .rest(time)
                .unwrap_or_else(|| watch.step(tick(now), number, tick(now), || readable(now - 25, false)))
            {
                Step::Sleep(pause) => {
                    time += pause;
                    pauses.push(pause.as_millis());
                }
                // A look takes a millisecond.
                Step::Look(..) => time += millis(1),
                Step::End => panic!(),
            }
        }
        assert_eq!(pauses[..6], [10, 20, 40, 80, 100, 100]);
        // After five seconds it begins anew.
        assert!(pauses[6..].iter().filter(|pause| **pause == 10).count() == 1, "{pauses:?}");
    }

    /// Neither looks that take long nor IDs that come without end make it longer.
    #[test]
    fn it_ends_in_time() {
        let mut watch = Watch::new(25, millis(1000));
        let (mut time, mut looked, mut paused) = (millis(0), millis(0), millis(0));
        for number in 1.. {
            let now = 1000 + time.as_millis() as u64 / 4;
            match watch
                .rest(time)
                .unwrap_or_else(|| watch.step(tick(now), number, tick(now), || readable(now - 25, false)))
            {
                Step::Sleep(pause) => (time, paused) = (time + pause, paused + pause),
                Step::Look(..) => (time, looked) = (time + millis(150), looked + millis(150)),
                Step::End => break,
            }
        }
        assert!(time >= millis(1000) && time <= millis(1150), "{time:?}");
        // It pauses as long as it looks.
        assert!(looked <= paused + millis(150), "{looked:?} and {paused:?}");
    }

    #[test]
    fn a_wait_of_no_time_looks_once() {
        let mut watch = Watch::new(25, millis(0));
        assert_eq!(watch.rest(millis(7)), None);
        let step = watch.step(tick(1000), 1, tick(500), || readable(975, false));
        assert_eq!(step, Step::Look(tick(0), tick(975)));
        assert_eq!(watch.rest(millis(8)), Some(Step::End));
    }

    #[test]
    fn what_is_expensive_is_asked_for_once_a_second() {
        let mut watch = Watch::new(25, Duration::from_secs(3600));
        let expensive = |below| Readable { below: tick(below), is_held: below < 975, is_expensive: true };
        for (millis, now, below) in [(0, 1000, 900), (1000, 1250, 900), (2000, 1500, 901)] {
            assert_eq!(watch.rest(Duration::from_millis(millis)), None);
            match watch.step(tick(now), 1, tick(500), || expensive(below)) {
                Step::Look(..) => {
                    assert_eq!(sleeps(watch.rest(Duration::from_millis(millis)).unwrap()), 1000)
                }
                step => assert_eq!(sleeps(step), 1000),
            }
        }
    }
}
