//! The transaction of a process, from its announcement to its end.

use core::cell::Cell;

use crate::horizon::{Announcement, Horizon};
use crate::id::tick::Tick;

/// How a process announces its present transaction to the readers of its database.
#[derive(Clone, Copy, Debug)]
pub struct Announcer<'a> {
    /// The horizon of its database.
    pub horizon: &'a Horizon,
    /// Its own announcement, or that of its leader if it is a parallel worker.
    pub announcement: &'a Announcement,
    /// What distinguishes the top-level transaction from others of the same process.
    pub number: u32,
    /// Whether other processes announce in the same place, for the same transaction: a leader and its parallel workers.
    pub is_shared: bool,
}

/// What a process knows of its present transaction.
#[derive(Debug)]
pub struct Transaction {
    /// The tick from which on it may take IDs; [`Tick::MAX`] before it has announced one.
    announced: Cell<Tick>,
}

impl Default for Transaction {
    fn default() -> Self {
        Self::new()
    }
}

impl Transaction {
    /// A transaction that has announced nothing.
    pub const fn new() -> Self {
        Self { announced: Cell::new(Tick::MAX) }
    }

    /// The tick from which on it may take IDs: [`Tick::MAX`] if it has to announce one first.
    ///
    /// A subtransaction changes nothing about that, even if it is rolled back.
    #[inline(always)]
    pub fn announced(&self) -> Tick {
        self.announced.get()
    }

    /// Announces that it takes IDs from `now` on. Returns the tick from which on it may.
    pub fn announce(&self, announcer: &Announcer<'_>, now: Tick) -> Tick {
        let Announcer { horizon, announcement, number, .. } = announcer;
        let before = self.announced();
        let announced = horizon.announce(announcement, *number, now, before);
        assert!(announced <= before, "a transaction may not take IDs at {before:?} any more");
        self.announced.set(announced);
        announced
    }

    /// Whether no reader is given a later horizon than this tick before the transaction ends.
    pub fn holds(&self, announcer: &Announcer<'_>, tick: Tick) -> bool {
        let Announcer { horizon, announcement, number, is_shared } = announcer;
        self.announced() <= tick || *is_shared && horizon.is_held(announcement, || *number, tick)
    }

    /// Called before the transaction is prepared: the tick from which on it holds the horizon, without its process and
    /// over restarts. `None` if it has taken no IDs.
    pub fn prepare(&self, announcer: &Announcer<'_>) -> Option<Tick> {
        let Announcer { horizon, announcement, number, is_shared } = announcer;
        if *is_shared {
            // Parallel workers share the announcement, so it may be earlier than the tick of this process, or be theirs
            // only. A reader that raised the floor during the announcement may have returned a later horizon: the
            // transaction must not claim to hold an earlier one.
            return announcement.of(|| *number).map(|tick| tick.max(horizon.highest()));
        }
        // Not the tick in the announcement, but the one that the announcement has returned: readers may have raised the
        // floor in between.
        Some(self.announced()).filter(|tick| *tick != Tick::MAX)
    }

    /// Called when other processes see that the transaction has ended, and all that it has changed; or when something
    /// else holds the horizon for it. Forgets its tick, and clears the announcement. `leads` says whether this process has led parallel
    /// workers, which may have announced without it; false in a worker, which ends before its leader's transaction
    /// does.
    pub fn end<'a>(&self, leads: bool, announcement: impl FnOnce() -> Option<&'a Announcement>) {
        let has_announced = self.announced.replace(Tick::MAX) != Tick::MAX;
        if (has_announced || leads)
            && let Some(announcement) = announcement()
        {
            announcement.clear();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn tick(number: u64) -> Tick {
        Tick::new(number).unwrap()
    }

    #[test]
    fn what_a_prepared_transaction_holds() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        let announcer =
            |is_shared| Announcer { horizon: &horizon, announcement: &announcement, number: 7, is_shared };
        let (leader, worker) = (Transaction::new(), Transaction::new());
        assert_eq!([false, true].map(|is_shared| leader.prepare(&announcer(is_shared))), [None; 2]);
        // A worker announces an earlier tick than its leader, or without it.
        worker.announce(&announcer(true), tick(100));
        assert_eq!(
            [false, true].map(|is_shared| leader.prepare(&announcer(is_shared))),
            [None, Some(tick(100))]
        );
        leader.announce(&announcer(true), tick(110));
        assert_eq!(leader.prepare(&announcer(true)), Some(tick(100)));
        assert_eq!(leader.prepare(&Announcer { number: 8, ..announcer(true) }), None);
        // A reader that has not seen it, and was given a later horizon: no ID is before that.
        horizon.advance(0, tick(105), || None, || None);
        assert_eq!(leader.prepare(&announcer(true)), Some(tick(105)));
        assert_eq!(leader.prepare(&announcer(false)), Some(tick(110)));
    }

    #[test]
    fn who_ends_an_announcement() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        let announcer =
            Announcer { horizon: &horizon, announcement: &announcement, number: 7, is_shared: true };
        let (leader, worker) = (Transaction::new(), Transaction::new());
        for (announces, ends, leads) in [(&worker, &leader, true), (&leader, &leader, false)] {
            announces.announce(&announcer, tick(100));
            assert!(leader.holds(&announcer, tick(100)) && worker.holds(&announcer, tick(100)));
            assert!(!leader.holds(&announcer, tick(99)));
            assert_eq!(
                leader.holds(&Announcer { is_shared: false, ..announcer }, tick(100)),
                announces.announced() == leader.announced()
            );
            ends.end(leads, || Some(&announcement));
            assert!(!leader.holds(&announcer, tick(100)));
            worker.end(false, || None);
        }
        // A transaction without IDs leaves alone what is announced.
        worker.announce(&announcer, tick(100));
        leader.end(false, || panic!("an announcement that is not needed"));
        assert_eq!(announcement.of(|| 7), Some(tick(100)));
    }
}
