//! The transaction of a process, from its announcement to its end.

use core::cell::Cell;

use crate::horizon::{Announcement, Horizon};
use crate::id::tick::Tick;

/// How a process announces its present transaction to the readers of its database.
#[derive(Clone, Copy, Debug)]
pub struct Announcer<'a> {
    /// The horizon of its database.
    pub horizon: &'a Horizon,
    /// Its own announcement.
    pub announcement: &'a Announcement,
    /// What distinguishes the top-level transaction from others of the same process.
    pub number: u32,
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
        let Announcer { horizon, announcement, number } = announcer;
        let before = self.announced();
        let announced = horizon.announce(announcement, *number, now, before);
        assert!(announced <= before, "a transaction may not take IDs at {before:?} any more");
        self.announced.set(announced);
        announced
    }

    /// Whether no reader is given a later horizon than this tick before the transaction ends.
    pub fn holds(&self, tick: Tick) -> bool {
        self.announced() <= tick
    }

    /// Called before the transaction is prepared: the tick from which on it holds the horizon, without its process and
    /// over restarts. `None` if it has taken no IDs.
    pub fn prepare(&self) -> Option<Tick> {
        // Not the tick in the announcement, but the one that the announcement has returned: readers may have raised the
        // floor in between.
        Some(self.announced()).filter(|tick| *tick != Tick::MAX)
    }

    /// Called when other processes see that the transaction has ended, and all that it has changed; or when something
    /// else holds the horizon for it. Forgets its tick, and clears the announcement if there is one.
    pub fn end<'a>(&self, announcement: impl FnOnce() -> Option<&'a Announcement>) {
        let has_announced = self.announced.replace(Tick::MAX) != Tick::MAX;
        if has_announced && let Some(announcement) = announcement() {
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
    fn from_the_announcement_to_the_end() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        let announcer = Announcer { horizon: &horizon, announcement: &announcement, number: 7 };
        let transaction = Transaction::new();
        for number in [100, 200] {
            assert_eq!(transaction.prepare(), None);
            assert!(!transaction.holds(tick(number)));
            transaction.announce(&announcer, tick(number));
            assert_eq!(transaction.prepare(), Some(tick(number)));
            assert_eq!([number - 1, number].map(|at| transaction.holds(tick(at))), [false, true]);
            // A reader that had looked before; and a clock that steps back.
            horizon.advance(0, tick(number + 50), || None, || None);
            transaction.announce(&announcer, tick(number - 10));
            assert_eq!([announcement.of(|| 7), transaction.prepare()], [Some(tick(number)); 2]);
            transaction.end(|| Some(&announcement));
            assert_eq!(announcement.of(|| 7), None);
        }
        transaction.end(|| panic!("there is no announcement to clear"));
    }
}
