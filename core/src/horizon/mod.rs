//! The horizon: the tick below which all IDs are settled, although transactions are open that will commit later.
//!
//! An ID is taken before its transaction commits, so a smaller ID can become visible after a larger one. Below the
//! horizon this does not happen any more: no ID is taken there, and each transaction that has taken one there has
//! ended.
//!
//! Transactions of one database are visible to its readers only, so each database has a
//! [horizon](databases::Horizons::join) of its own.
//!
//! # Protocol
//!
//! All transactions and readers of a database share a *floor*, which only rises. Each transaction has an
//! [`Announcement`] of the tick of its first ID. It holds the transaction's number, too, so it ends with the
//! transaction: when readers see its commit, and know all that they need to find its rows.
//!
//! A transaction that will take its first ID [announces](Horizon::announce) it:
//!
//! 1. It stores in its announcement what the clock reads, or the floor if that is later.
//! 2. It passes a fence.
//! 3. It loads the floor again. It may take IDs from this floor on, but none from before its
//!    announcement.
//!
//! [`Slot::claim_from`](crate::generation::slot::Slot::claim_from) refuses all earlier ticks. If the clock steps back before them, the
//! transaction announces once more, which lowers its announcement. Its other IDs need none of this.
//!
//! A reader [advances](Horizon::advance) the horizon:
//!
//! 1. It raises the floor to what the clock reads, less a margin; or to the least announcement of all open
//!    transactions, if that is earlier.
//! 2. It passes a fence.
//! 3. It loads the announcements of all open transactions of the database. The horizon is the least of them and of the
//!    floor.
//!
//! A transaction that is *prepared* is announced elsewhere, before its own announcement ends. So the reader loads the
//! announcements of prepared transactions after all others.
//!
//! One of any two fences is first. If it is the reader's, the transaction finds the new floor, and takes no ID before
//! it. If it is the transaction's, the reader finds its announcement, which is not after any of its IDs.
//!
//! The margin is not for correctness: while the clock steps back by less than the margin, no transaction has to wait
//! for it.
//!
//! # Eras
//!
//! A clock that was fast leaves floors in the future. [Lowering](databases::Horizons::lower) them all voids the
//! horizons that readers were given, and begins the next *era*. Its number stands above the tick in the words of the floor and of the
//! highest horizon. So each word still only grows, and a reader of an earlier era changes neither of them.
//!
//! A reader loads the [era](Horizon::era) before it reads the clock, and once more in the end: if it has changed, the
//! reader begins again. A transaction need not know of eras: what it has announced holds in each, and if it
//! waits for a floor that is lowered, it announces once more.

pub(crate) mod databases;
pub(crate) mod transaction;
pub(crate) mod watch;

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::generation::atomic::{AtomicU64, fence};
use crate::id::tick::Tick;
use crate::id::tick_type::TickType;

/// The bits of an announcement that are left for the transaction's number.
const NUMBER: u32 = u64::BITS - Tick::BITS;

fn pack(tick: Tick, transaction: u32) -> u64 {
    tick.get() << NUMBER | u64::from(transaction) & ((1 << NUMBER) - 1)
}

/// The tick of an announcement, if it is this transaction's. Zeros are nobody's: neither an announcement nor the number
/// of a transaction.
fn unpack(announced: u64, transaction: u32) -> Option<Tick> {
    let tick = Tick::from_bits(announced >> NUMBER);
    (announced != 0 && transaction != 0 && announced == pack(tick, transaction)).then_some(tick)
}

/// The tick from which on a transaction takes IDs, in memory that all processes share. Each process has one, for one
/// transaction after another. Zeros are a valid value: nothing is announced.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Announcement(AtomicU64);

impl Announcement {
    /// What the transaction has announced whose number `transaction` returns; 0 is no transaction.
    ///
    /// Only the low 25 bits of the number are kept. If another transaction of the same process agrees in them, it
    /// counts as the one that announced. This can hold the horizon back and do no other harm.
    #[inline]
    pub fn of(&self, transaction: impl FnOnce() -> u32) -> Option<Tick> {
        // Most are zeros, so that numbers, which are in many places, need not be loaded.
        let announced = self.0.load(Acquire);
        if announced == 0 { None } else { unpack(announced, transaction()) }
    }

    /// Forgets what was announced by a transaction that has ended.
    pub fn clear(&self) {
        self.0.store(0, Release);
    }
}

/// What all transactions and readers of a database share. Zeros are a valid value.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Horizon {
    floor: AtomicU64,
    /// The highest horizon that was returned.
    highest: AtomicU64,
}

impl Horizon {
    /// Starts the floor after a restart, at a tick before which no ID will be taken. Only for a horizon that nobody uses yet.
    ///
    /// This is a floor and not yet the horizon: prepared transactions may have announced earlier ticks.
    pub fn resume(&self, floor: impl TickType) {
        self.floor.store(floor.get(), Relaxed);
    }

    /// The tick before which no transaction takes IDs that has not announced one yet.
    pub fn floor(&self) -> Tick {
        Tick::from_bits(self.floor.load(Relaxed))
    }

    /// How often the floor was lowered since the start.
    pub fn era(&self) -> u64 {
        self.floor.load(Acquire) >> Tick::BITS
    }

    /// Begins an era, with the floor at `to`: the horizons that readers were given before hold no more.
    pub fn lower(&self, era: u64, to: Tick) {
        self.floor.fetch_max(word(era, to), AcqRel);
    }

    /// Announces that a transaction takes IDs from `now` on, which its process has read from the clock. Returns the
    /// tick from which it may take them: `now`, or later if readers were given a later horizon.
    ///
    /// `earlier` is the result of the last call for this transaction, or [`Tick::MAX`] if there was none. The transaction
    /// keeps that permission even if the floor has risen since, because its announcement stops readers there.
    pub fn announce(&self, announcement: &Announcement, transaction: u32, now: Tick, earlier: Tick) -> Tick {
        // The floor counts here, too: a transaction that has to wait for the clock does not hold the horizon back.
        let tick = now.max(self.floor());
        // Nor does it let go of a tick that it was allowed before.
        announcement.0.store(pack(tick.min(earlier), transaction), Release);
        fence(SeqCst);
        tick.max(self.floor()).min(earlier)
    }

    /// Advances the horizon to `to` and returns it: this tick, or an earlier one if `open` or `prepared` find one, or a
    /// later one that was returned before. `to` is what the clock reads or earlier; `open` returns the least tick that
    /// open transactions have announced, and `prepared`, which is called after it, that of transactions which are
    /// prepared. Both are called twice.
    ///
    /// Every ID in an earlier tick is of a transaction that has ended before this returns, and no ID will be taken in
    /// an earlier tick, in this era. `era` was loaded before the clock was read; if [another
    /// one](Self::era) has begun meanwhile, what is returned says nothing.
    pub fn advance(
        &self,
        era: u64,
        to: Tick,
        open: impl Fn() -> Option<Tick>,
        prepared: impl Fn() -> Option<Tick>,
    ) -> Tick {
        // In this order: a transaction that is prepared in between is found twice, and not missed.
        let held = || [open(), prepared()].into_iter().flatten().min();
        // After a backward step of the clock, transactions wait for the floor. So it should not be above the horizon.
        let to = word(era, held().map_or(to, |tick| tick.min(to)));
        // That of a later era stays.
        let floor = self.floor.fetch_max(to, Relaxed).max(to);
        fence(SeqCst);
        let least = held().map_or(floor, |tick| floor.min(word(floor >> Tick::BITS, tick)));
        // What was returned once stays true. Who returns it here sees the same transactions ended.
        let horizon = self.highest.fetch_max(least, AcqRel).max(least);
        assert!(horizon <= self.floor.load(Relaxed), "the horizon {horizon} is above its floor");
        Tick::from_bits(horizon)
    }
}

/// A tick in an era.
pub(crate) fn word<T: TickType>(era: u64, tick: T) -> u64 {
    era << T::BITS | tick.get()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::Cell;

    use super::*;

    fn tick(number: u64) -> Tick {
        Tick::new(number).unwrap()
    }

    #[test]
    fn an_announcement_ends_with_its_transaction() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        assert_eq!([0, 7, 1 << 25].map(|number| announcement.of(|| number)), [None; 3]);
        assert_eq!(horizon.announce(&announcement, 7, Tick::MAX, Tick::MAX), Tick::MAX);
        assert_eq!(announcement.of(|| 7), Some(Tick::MAX));
        assert_eq!([0, 6, 8].map(|number| announcement.of(|| number)), [None; 3]);
        // Of the number, 25 bits are kept.
        assert_eq!(
            [7 + (1 << 24), 7 + (1 << 25)].map(|number| announcement.of(|| number)),
            [None, Some(Tick::MAX)]
        );
        announcement.clear();
        assert_eq!(announcement.of(|| 7), None);
        horizon.announce(&announcement, 1 << 25, tick(100), Tick::MAX);
        assert_eq!([0, 1 << 25].map(|number| announcement.of(|| number)), [None, Some(tick(100))]);
    }

    #[test]
    fn a_transaction_announces_its_earliest_tick() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        let mut earlier = Tick::MAX;
        for (now, announced) in [(100, 100), (90, 90), (95, 90)] {
            earlier = horizon.announce(&announcement, 7, tick(now), earlier);
            assert_eq!([Some(earlier), announcement.of(|| 7)], [Some(tick(announced)); 2]);
        }
        // The next transaction.
        assert_eq!(horizon.announce(&announcement, 8, tick(95), Tick::MAX), tick(95));
        assert_eq!(announcement.of(|| 8), Some(tick(95)));
        // A transaction that has to wait for the clock does not hold the horizon back.
        horizon.advance(0, tick(110), || None, || None);
        assert_eq!(horizon.announce(&announcement, 9, tick(50), Tick::MAX), tick(110));
        assert_eq!(announcement.of(|| 9), Some(tick(110)));
    }

    #[test]
    fn the_horizon_is_the_least_and_never_goes_back() {
        let horizon = Horizon::default();
        for (to, open, found) in [
            (100, None, 100),
            (110, Some(105), 105),
            (110, Some(102), 105),
            (90, None, 105),
            (110, None, 110),
            (120, Some(130), 120),
        ] {
            assert_eq!(
                horizon.advance(0, tick(to), || open.map(tick), || None),
                tick(found),
                "{to} {open:?}"
            );
        }
    }

    #[test]
    fn after_a_restart_it_goes_on() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        horizon.resume(tick(100));
        assert_eq!(horizon.announce(&announcement, 7, tick(50), Tick::MAX), tick(100));
        assert_eq!(horizon.advance(0, tick(50), || None, || Some(tick(90))), tick(90));
        assert_eq!(horizon.advance(0, tick(50), || None, || None), tick(100));
    }

    #[test]
    fn nobody_waits_for_more_than_the_horizon() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        for open in [true, false] {
            let held = |is_open| (is_open == open).then(|| tick(100));
            assert_eq!(horizon.advance(0, tick(110), || held(true), || held(false)), tick(100));
            assert_eq!(horizon.announce(&announcement, 7, tick(104), Tick::MAX), tick(104));
        }
    }

    /// A reader that has looked at all announcements before this one, and raises the floor after it.
    #[test]
    fn what_a_transaction_was_allowed_it_stays_allowed() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        let announce = |now, earlier| horizon.announce(&announcement, 7, tick(now), earlier);
        let looks = Cell::new(0);
        let open = || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                announce(100, Tick::MAX)
            } else {
                return announcement.of(|| 7);
            };
            None
        };
        assert_eq!(horizon.advance(0, tick(200), open, || None), tick(100));
        assert_eq!((horizon.floor(), announce(50, tick(100))), (tick(200), tick(100)));
        assert_eq!(announcement.of(|| 7), Some(tick(100)));
    }

    #[test]
    fn a_transaction_is_found_whenever_it_is_prepared() {
        // After so many looks it announces, and after so many it is prepared. From the third look on it would have to
        // announce a later tick.
        for (announced, prepared) in [0, 1, 2].iter().flat_map(|a| (*a..6).map(move |b| (*a, b))) {
            let (horizon, looks) = (Horizon::default(), Cell::new(0));
            let look = |is_open| {
                let now = looks.replace(looks.get() + 1);
                (now >= announced && is_open == (now < prepared)).then(|| tick(90))
            };
            let found = horizon.advance(0, tick(100), || look(true), || look(false));
            assert_eq!(found, tick(90), "{announced} {prepared}");
        }
    }

    /// A reader that was interrupted before one of its four looks. It changes nothing, and knows that it has to begin
    /// again.
    #[test]
    fn a_reader_of_an_earlier_era() {
        for interrupted in 0..4 {
            let (horizon, looks) = (Horizon::default(), Cell::new(0));
            assert_eq!(horizon.advance(0, tick(900), || None, || None), tick(900));
            let look = || {
                if looks.replace(looks.get() + 1) == interrupted {
                    horizon.lower(1, tick(100));
                }
                None
            };
            let era = horizon.era();
            horizon.advance(era, tick(1000), look, look);
            assert_eq!((era, horizon.era()), (0, 1));
            assert_eq!(horizon.floor(), tick(100), "{interrupted}");
            assert_eq!(horizon.advance(1, tick(120), || None, || None), tick(120));
        }
    }
}
