//! When to look for rows that readers can read by now, without a signal from those who write them.

use crate::Tick;

/// How often it is looked for rows whose keys no generator of this server has made: 5 seconds.
const UNSEEN: u64 = 5 * Tick::PER_SECOND;

/// Someone who waits for rows below a [horizon](crate::Horizon), in steps. Writers do not know of it: it knows of new IDs by the
/// generators, and of those that are not settled by what transactions have announced.
///
/// A step tells whether to look at the table. It only says that rows may be there, and promises nothing; but a row that can be
/// read is looked for at the next step, except if its key is not from a generator of this server.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// The generators at the last step.
    seen: u64,
    /// The clock at the last step.
    at: Tick,
    /// The clock at the last look.
    looked: Tick,
    /// There is something to look for when rows can be read beyond this tick.
    due: Option<Tick>,
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watch {
    /// One that looks at the first step.
    pub const fn new() -> Self {
        Self { seen: 0, at: Tick::MIN, looked: Tick::MIN, due: Some(Tick::MIN) }
    }

    /// Whether to look now, and below which tick.
    ///
    /// `seen` changes with each ID, and `newest` is the latest tick of all IDs; both were loaded after the clock read `now`.
    /// `reach` returns below which tick rows can be read, and whether a transaction holds that back.
    ///
    /// An ID that is taken after these loads is seen at the next step, and is not before `now`. One that was taken before was announced before: either
    /// its transaction holds the reach back, or it has ended, and its rows are visible to the look.
    pub fn step(
        &mut self,
        now: Tick,
        seen: u64,
        newest: Tick,
        reach: impl FnOnce() -> (Tick, bool),
    ) -> Option<Tick> {
        if now < self.at {
            // What the clock said before says nothing now.
            self.due = Some(Tick::MIN);
        } else if seen != self.seen {
            self.due = Some(self.due.map_or(self.at, |due| due.min(self.at)));
        }
        (self.seen, self.at) = (seen, now);
        let is_old = now.get().saturating_sub(self.looked.get()) >= UNSEEN;
        let due = match self.due {
            _ if is_old => Tick::MIN,
            Some(due) => due,
            None => return None,
        };
        let (reach, is_held) = reach();
        if reach <= due && due > Tick::MIN {
            if is_held {
                // What holds it back can have older IDs than those that are due.
                self.due = Some(reach);
            }
            return None;
        }
        self.looked = now;
        self.due = (is_held || newest >= reach).then_some(reach);
        Some(reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(number: u64) -> Tick {
        Tick::new(number).unwrap()
    }

    /// A watch that has looked at tick 1000, when nothing was there.
    fn idle() -> Watch {
        let mut watch = Watch::new();
        assert_eq!(watch.step(tick(1000), 1, tick(500), || (tick(750), false)), Some(tick(750)));
        watch
    }

    #[test]
    fn it_looks_when_new_ids_come_within_reach() {
        let mut watch = idle();
        let mut step =
            |now, seen, newest| watch.step(tick(now), seen, tick(newest), || (tick(now - 250), false));
        assert_eq!(step(1025, 1, 500), None);
        // An ID of tick 1030.
        assert_eq!([1050, 1200, 1275].map(|now| step(now, 2, 1030)), [None; 3]);
        assert_eq!(step(1276, 2, 1030), Some(tick(1026)));
        assert_eq!(step(1280, 2, 1030), Some(tick(1030)));
        assert_eq!(step(1281, 2, 1030), Some(tick(1031)));
        assert_eq!(step(1282, 2, 1030), None);
    }

    /// Each ID is looked for, however many come meanwhile.
    #[test]
    fn it_looks_for_the_first_of_many_ids() {
        let mut watch = idle();
        let mut looks = Vec::new();
        for now in 1001..1300 {
            looks.extend(watch.step(tick(now), now, tick(now), || (tick(now - 250), false)));
        }
        assert_eq!(looks[..2], [1001, 1002].map(tick));
    }

    #[test]
    fn a_transaction_that_ends_lets_it_look() {
        let mut watch = Watch::new();
        let mut step = |now, reach| watch.step(tick(now), 1, tick(500), || (tick(reach), reach < now - 250));
        assert_eq!(step(1000, 500), Some(tick(500)));
        assert_eq!([1025, 1050].map(|now| step(now, 500)), [None; 2]);
        assert_eq!(step(1075, 700), Some(tick(700)));
        assert_eq!(step(1100, 850), Some(tick(850)));
        assert_eq!(step(1125, 875), None);
    }

    /// Its ID was taken before the step at 1050, and handed out after it.
    #[test]
    fn an_id_of_before_the_last_step() {
        let mut watch = idle();
        let mut step =
            |now, seen, reach| watch.step(tick(now), seen, tick(1030), || (tick(reach), reach < now - 25));
        assert_eq!([step(1050, 1, 1025), step(1060, 2, 1030)], [None; 2]);
        assert_eq!(step(1061, 2, 1036), Some(tick(1036)));
    }

    #[test]
    fn after_a_step_back_it_looks_at_once() {
        let mut watch = idle();
        let mut step = |now, reach| watch.step(tick(now), 1, tick(500), || (tick(reach), false));
        assert_eq!(step(900, 750), Some(tick(750)));
        assert_eq!(step(901, 750), None);
    }

    /// Also as long as a transaction holds back what is due.
    #[test]
    fn keys_that_no_generator_made_do_not_wait_for_transactions() {
        let mut watch = Watch::new();
        let looks = (1000..4000)
            .filter(|now| watch.step(tick(*now), *now, tick(*now), || (tick(900), true)).is_some());
        assert_eq!(looks.collect::<Vec<_>>(), [1000, 2250, 3500]);
    }

    #[test]
    fn keys_that_no_generator_made_are_looked_for_every_five_seconds() {
        let mut watch = idle();
        let looks = (1000..4000)
            .filter(|now| watch.step(tick(*now), 1, tick(500), || (tick(now - 250), false)).is_some());
        assert_eq!(looks.collect::<Vec<_>>(), [2250, 3500]);
    }
}
