//! The horizon: up to which tick all IDs are settled, although transactions are open that will commit later.
//!
//! An ID is taken before its transaction commits, so a smaller ID can become visible after a larger one. Below the
//! horizon this does not happen any more: no ID is taken there, and each transaction that has taken one there has
//! ended.
//!
//! Transactions of one database are visible to its readers only, so each database has a [horizon](Horizons::of) of its
//! own.
//!
//! # Protocol
//!
//! All transactions and readers of a database share a *floor*, which only rises. Each transaction has an
//! [`Announcement`] of the tick of its first ID. It holds the transaction's number, too, so it ends with the transaction.
//!
//! A transaction that will take its first ID [announces](Horizon::announce) it:
//!
//! 1. It stores in its announcement what the clock reads, or the floor if that is later.
//! 2. It passes a fence.
//! 3. It loads the floor again. It may take IDs from this floor on, but none from before its
//!    announcement.
//!
//! [`Slot::claim_from`](crate::Slot::claim_from) refuses all earlier ticks. If the clock steps back before them, the
//! transaction announces once more, which lowers its announcement. Its other IDs need none of this.
//!
//! A reader [advances](Horizon::advance) the horizon:
//!
//! 1. It raises the floor to what the clock reads, less a margin; or to the least announcement of all open transactions,
//!    if that is earlier.
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
//! # Generations
//!
//! A clock that was fast leaves floors in the future. [Lowering](Horizons::lower) them all voids what readers were told, and
//! begins the next *generation*. Its number stands above the tick in the words of the floor and of the highest horizon. So
//! each word still only grows, and a reader of an earlier generation changes neither of them.
//!
//! A reader loads the [generation](Horizon::generation) before it reads the clock, and once more in the end: if it has changed,
//! the reader begins again. A transaction need not know of generations: what it has announced holds in each, and if it waits
//! for a floor that is lowered, it announces once more.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::{
    Tick, TickType,
    atomic::{AtomicBool, AtomicU64, fence},
};

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

    /// Lowers the tick of this transaction. Several processes can work on one. What an earlier one has announced is
    /// replaced.
    fn lower(&self, transaction: u32, tick: Tick) {
        let new = pack(tick, transaction);
        let lowered = |old| Some(unpack(old, transaction).map_or(new, |_| new.min(old)));
        let _ = self.0.fetch_update(Release, Relaxed, lowered);
    }
}

/// What all transactions and readers of a database share. Zeros are a valid value.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Horizon {
    floor: AtomicU64,
    /// The highest that was returned.
    highest: AtomicU64,
}

impl Horizon {
    /// Starts after a restart, at a tick before which no ID will be taken. Only for a horizon that nobody uses yet.
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
    pub fn generation(&self) -> u64 {
        self.floor.load(Acquire) >> Tick::BITS
    }

    /// The highest that readers were told in this generation. Open transactions have no earlier IDs.
    pub(crate) fn highest(&self) -> Tick {
        let highest = self.highest.load(Acquire);
        if highest >> Tick::BITS == self.generation() { Tick::from_bits(highest) } else { Tick::MIN }
    }

    /// Begins a generation, with the floor at `to`: what readers were told before does not hold any more.
    pub fn lower(&self, generation: u64, to: Tick) {
        self.floor.fetch_max(word(generation, to), AcqRel);
    }

    /// Announces that a transaction takes IDs from `now` on, which its process has read from the clock. Returns the
    /// tick from which it may take them: `now`, or later if readers have been told so.
    ///
    /// `earlier` is what this has returned before to the same process for the same transaction, or [`Tick::MAX`]. From
    /// there on it may take them in any case: no reader is told a later tick before it ends.
    pub fn announce(&self, announcement: &Announcement, transaction: u32, now: Tick, earlier: Tick) -> Tick {
        // The floor counts here, too: a transaction that has to wait for the clock does not hold the horizon back.
        let tick = now.max(self.floor());
        announcement.lower(transaction, tick);
        fence(SeqCst);
        tick.max(self.floor()).min(earlier)
    }

    /// Whether a transaction holds the horizon: whether no reader is told a later tick than this one before the
    /// transaction ends. `transaction` returns its number, as for [`Announcement::of`].
    ///
    /// What [`announce`](Self::announce) has returned to a process is held without this question, which is for what
    /// others have announced for the same transaction. It is false as well if a reader has raised the floor above this
    /// tick in the moment before the announcement.
    pub fn is_held(
        &self,
        announcement: &Announcement,
        transaction: impl FnOnce() -> u32,
        tick: Tick,
    ) -> bool {
        let announced = announcement.of(transaction).is_some_and(|announced| announced <= tick);
        // As after an announcement: readers that have not seen it have raised the floor.
        fence(SeqCst);
        announced && self.floor() <= tick
    }

    /// Advances the horizon to `to` and returns it: this tick, or an earlier one if `open` or `prepared` find one, or a
    /// later one that was returned before. `to` is what the clock reads or earlier; `open` returns the least tick that
    /// open transactions have announced, and `prepared`, which is called after it, that of transactions which are
    /// prepared. Both are called twice.
    ///
    /// Every ID in an earlier tick is of a transaction that has ended before this returns, and no ID will be taken in
    /// an earlier tick, in this generation. `generation` was loaded before the clock was read; if [another
    /// one](Self::generation) has begun meanwhile, what is returned says nothing.
    pub fn advance(
        &self,
        generation: u64,
        to: Tick,
        open: impl Fn() -> Option<Tick>,
        prepared: impl Fn() -> Option<Tick>,
    ) -> Tick {
        // In this order: a transaction that is prepared in between is found twice, and not missed.
        let held = || [open(), prepared()].into_iter().flatten().min();
        // After a backward step of the clock, transactions wait for the floor. So it should not be above the horizon.
        let to = word(generation, held().map_or(to, |tick| tick.min(to)));
        // That of a later generation stays.
        let floor = self.floor.fetch_max(to, Relaxed).max(to);
        fence(SeqCst);
        let least = held().map_or(floor, |tick| floor.min(word(floor >> Tick::BITS, tick)));
        // What was returned once stays true. Who returns it here sees the same transactions ended.
        let horizon = self.highest.fetch_max(least, AcqRel).max(least);
        assert!(horizon <= self.floor.load(Relaxed), "the horizon {horizon} is above its floor");
        Tick::from_bits(horizon)
    }
}

/// A tick in a generation.
pub(crate) fn word<T: TickType>(generation: u64, tick: T) -> u64 {
    generation << T::BITS | tick.get()
}

/// How many databases have a horizon of their own. Loom and the simulator try few.
const OWN: usize = if cfg!(any(loom, simulated)) { 2 } else { 1024 };

/// The horizons of a server: that of each database, as long as there are places. All further databases share one, and hold
/// each other back. Zeros are a valid value: no database has a place.
#[derive(Debug)]
#[repr(C)]
pub struct Horizons {
    shared: Horizon,
    /// Whether databases share that one.
    is_shared: AtomicBool,
    /// A hash table: a database is in the first place from [its own](Self::places_of) on that was free when it came.
    places: [Place; OWN],
}

/// A database, which keeps its place until it is dropped or the server stops; and its horizon. Zero is no database.
#[derive(Debug, Default)]
#[repr(C)]
struct Place {
    database: AtomicU64,
    horizon: Horizon,
}

impl Default for Horizons {
    fn default() -> Self {
        let places = core::array::from_fn(|_| Place::default());
        Self { shared: Horizon::default(), is_shared: AtomicBool::new(false), places }
    }
}

impl Horizons {
    /// As [`Horizon::resume`], for those of all databases.
    pub fn resume(&self, floor: impl TickType) {
        self.shared.resume(floor);
    }

    /// Begins a generation for all databases: as [`Horizon::lower`]. Each number is used once, one after another, under a lock
    /// that excludes [`take`](Self::take), too.
    pub fn lower(&self, generation: u64, to: Tick) {
        // Those of free places as well, which does no harm.
        self.places.iter().for_each(|place| place.horizon.lower(generation, to));
        self.shared.lower(generation, to);
    }

    /// The horizon of a database, for a process that announces or advances it. `None` if the database has to
    /// [take](Self::take) a place first.
    pub fn of(&self, database: u32) -> Option<DatabaseHorizon<'_>> {
        let horizon = match self.place(database) {
            Some(place) => &place.horizon,
            None if self.is_shared.load(Acquire) => {
                // As if it had taken a place: it may be the first process of the database.
                self.shared.floor.fetch_max(self.highest_word(), Relaxed);
                &self.shared
            }
            None => return None,
        };
        Some(DatabaseHorizon { database, horizon, all: self })
    }

    /// The same, after a place was taken for the database, if it had none: a free one, or that of a database that does not exist
    /// any more. For one process at a time, after [`resume`](Self::resume).
    ///
    /// Once databases share a horizon, no place is given away: some processes of a database would find it there, and others
    /// would be in the shared one.
    pub fn take(&self, database: u32, exists: impl Fn(u32) -> bool) -> DatabaseHorizon<'_> {
        if let Some(horizon) = self.of(database) {
            return horizon;
        }
        let is_free = |place: &&Place| place.database.load(Relaxed) == 0;
        let is_left = |place: &&Place| !exists(place.database.load(Relaxed) as u32);
        let mut places = self.places_of(database);
        let Some(place) = places.find(is_free).or_else(|| self.places_of(database).find(is_left)) else {
            self.is_shared.store(true, Release);
            return self.of(database).expect("all further databases share a horizon");
        };
        // Before any process can find the place.
        place.horizon.floor.store(self.highest_word(), Relaxed);
        place.horizon.highest.store(0, Relaxed);
        place.database.store(database.into(), Release);
        DatabaseHorizon { database, horizon: &place.horizon, all: self }
    }

    /// The horizon of a database, for a process that only looks at it: without a place nobody has announced anything.
    pub fn find(&self, database: u32) -> DatabaseHorizon<'_> {
        let horizon = self.place(database).map_or(&self.shared, |place| &place.horizon);
        DatabaseHorizon { database, horizon, all: self }
    }

    /// The highest [floor](Horizon::floor) of all databases, and where a new one would begin.
    pub fn highest_floor(&self) -> Tick {
        Tick::from_bits(self.highest_word())
    }

    /// Whether a database has no place, although it may have announced something.
    fn is_shared_with(&self, database: u32) -> bool {
        self.is_shared.load(Acquire) && self.place(database).is_none()
    }

    /// Where a database is looked for, one place after another.
    fn places_of(&self, database: u32) -> impl Iterator<Item = &Place> {
        let first = database.wrapping_mul(0x9e37_79b1) as usize >> 16;
        (first..first + OWN).map(|number| &self.places[number % OWN])
    }

    fn place(&self, database: u32) -> Option<&Place> {
        let held = self.places_of(database).map(|place| (place, place.database.load(Acquire)));
        let mut held = held.take_while(|(_, holder)| *holder != 0);
        held.find(|(_, holder)| *holder == u64::from(database)).map(|(place, _)| place)
    }

    /// Where a database begins: it can be the copy of another one, whose readers have stored horizons.
    fn highest_word(&self) -> u64 {
        let own = self.places.iter().map(|place| &place.horizon);
        own.chain([&self.shared]).map(|horizon| horizon.floor.load(Relaxed)).max().unwrap_or(0)
    }
}

/// The horizon of a database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseHorizon<'a> {
    database: u32,
    horizon: &'a Horizon,
    all: &'a Horizons,
}

impl<'a> DatabaseHorizon<'a> {
    /// What transactions and readers share.
    pub fn horizon(self) -> &'a Horizon {
        self.horizon
    }

    /// Whether the transactions of a database count for this horizon. 0 is an unknown one, which counts.
    ///
    /// Whether a process is of this database is known once it has announced a transaction: a reader loads its announcement
    /// first.
    pub fn counts(&self, database: u32) -> bool {
        let shares = || core::ptr::eq(self.horizon, &self.all.shared) && self.all.is_shared_with(database);
        database == self.database || database == 0 || shares()
    }
}

impl core::ops::Deref for DatabaseHorizon<'_> {
    type Target = Horizon;

    fn deref(&self) -> &Horizon {
        self.horizon
    }
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
        for (transaction, now, announced) in [(7, 100, 100), (7, 90, 90), (7, 95, 90), (8, 95, 95)] {
            assert_eq!(horizon.announce(&announcement, transaction, tick(now), Tick::MAX), tick(now));
            assert_eq!(announcement.of(|| transaction), Some(tick(announced)));
        }
        // A transaction that has to wait for the clock does not hold the horizon back.
        horizon.advance(0, tick(110), || None, || None);
        assert_eq!(horizon.announce(&announcement, 9, tick(50), Tick::MAX), tick(110));
        assert_eq!(announcement.of(|| 9), Some(tick(110)));
    }

    #[test]
    fn a_transaction_holds_the_horizon_from_its_announcement_to_its_end() {
        let (horizon, announcement) = (Horizon::default(), Announcement::default());
        let held =
            |transaction| [99, 100, 101].map(|at| horizon.is_held(&announcement, || transaction, tick(at)));
        assert_eq!(held(7), [false; 3]);
        horizon.announce(&announcement, 7, tick(100), Tick::MAX);
        assert_eq!([held(7), held(8)], [[false, true, true], [false; 3]]);
        // A reader that looked at the announcements before this announcement.
        let (announcement, late) = (Announcement::default(), Horizon::default());
        let late_announcement = || {
            late.announce(&announcement, 7, tick(99), Tick::MAX);
            None
        };
        late.advance(0, tick(100), late_announcement, || None);
        assert_eq!([99, 100].map(|at| late.is_held(&announcement, || 7, tick(at))), [false, true]);
        announcement.clear();
        assert!(!late.is_held(&announcement, || 7, tick(100)));
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
        // One more process of the transaction knows of nothing.
        assert_eq!(announce(150, Tick::MAX), tick(200));
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

    /// The horizon of a database, which takes a place if it has none. All databases exist.
    fn taken(horizons: &Horizons, database: u32) -> DatabaseHorizon<'_> {
        horizons.take(database, |_| true)
    }

    #[test]
    fn each_database_has_a_horizon() {
        let horizons = Horizons::default();
        horizons.resume(tick(100));
        assert!(horizons.of(7).is_none());
        let (seven, eight) = (taken(&horizons, 7), taken(&horizons, 8));
        assert_eq!(seven.advance(0, tick(110), || None, || None), tick(110));
        assert_eq!(eight.advance(0, tick(90), || None, || None), tick(100));
        for again in [horizons.of(7).unwrap(), taken(&horizons, 7)] {
            assert!(core::ptr::eq(&*again, &*seven) && !core::ptr::eq(&*again, &*eight));
        }
        assert_eq!(horizons.highest_floor(), tick(110));
        assert_eq!([7, 8, 9].map(|database| taken(&horizons, database).floor()), [110, 100, 110].map(tick));
        // Of an unknown database.
        let counts = |one: DatabaseHorizon<'_>| [0, 7, 8, 9].map(|other| one.counts(other));
        assert_eq!(counts(seven), [true, true, false, false]);
        // Of one that only looks: with something prepared before a restart, but without a place yet.
        assert_eq!(counts(horizons.find(8)), [true, false, true, false]);
        assert_eq!(counts(horizons.find(10)), [true, false, false, false]);
    }

    const ALL: u32 = OWN as u32;

    #[test]
    fn databases_without_a_place_share_one() {
        let horizons = Horizons::default();
        (1..=ALL).for_each(|database| assert_eq!(taken(&horizons, database).floor(), Tick::MIN));
        assert!(horizons.of(ALL + 1).is_none() && !horizons.find(ALL + 1).counts(ALL + 2));
        let (own, [a, b]) = (taken(&horizons, ALL), [1, 2].map(|n| taken(&horizons, ALL + n)));
        assert!(core::ptr::eq(&*a, &*b) && !core::ptr::eq(&*a, &*own));
        assert_eq!(
            [0, 1, ALL, ALL + 1, ALL + 2].map(|other| a.counts(other)),
            [true, false, false, true, true]
        );
        assert!(!own.counts(ALL + 1));
        assert!(core::ptr::eq(&*horizons.find(ALL + 1), &*a) && horizons.find(ALL + 3).counts(ALL + 2));
        // From now on no place is given away.
        let c = horizons.take(ALL + 3, |database| database != 7);
        assert!(core::ptr::eq(&*a, &*c) && core::ptr::eq(&*a, &*horizons.of(ALL + 4).unwrap()));
    }

    /// Nothing of it is left, but that no floor of the server is lower.
    #[test]
    fn the_place_of_a_dropped_database() {
        let horizons = Horizons::default();
        for database in 1..=ALL {
            taken(&horizons, database);
        }
        let dropped = horizons.of(7).unwrap();
        dropped.advance(0, tick(100), || None, || None);
        horizons.of(8).unwrap().advance(0, tick(110), || None, || None);
        let exists = |database| database != 7;
        let new = horizons.take(ALL + 1, exists);
        assert!(core::ptr::eq(&*new, &*dropped) && horizons.place(7).is_none());
        assert!(core::ptr::eq(&*horizons.of(ALL + 1).unwrap(), &*new));
        // It has something that was prepared before a restart.
        assert_eq!((new.floor(), new.highest()), (tick(110), Tick::MIN));
        assert_eq!(new.advance(0, tick(120), || None, || Some(tick(90))), tick(90));
        assert!(!new.counts(7));
        assert!(core::ptr::eq(&*horizons.take(ALL + 2, exists), &horizons.shared));
    }

    /// A copy has the positions of its original, wherever its horizon is.
    #[test]
    fn a_database_begins_at_the_highest_floor() {
        let horizons = Horizons::default();
        for database in 1..ALL + 9 {
            let horizon = taken(&horizons, database);
            assert_eq!(horizon.floor().get(), u64::from(database.saturating_sub(1)));
            horizon.advance(0, tick(database.into()), || None, || None);
        }
    }

    #[test]
    fn floors_that_are_lowered() {
        let (horizons, announcement) = (Horizons::default(), Announcement::default());
        horizons.resume(tick(50));
        let (one, two) = (taken(&horizons, 7), taken(&horizons, 8));
        let (none, announce) = (|| None, |now| one.announce(&announcement, 7, tick(now), Tick::MAX));
        assert_eq!(one.advance(0, tick(1000), none, none), tick(1000));
        assert_eq!(two.advance(0, tick(90), none, none), tick(90));
        assert_eq!((one.highest(), announce(100)), (tick(1000), tick(1000)));
        horizons.lower(1, tick(100));
        // Also those of databases that come later.
        assert_eq!([7, 8, 9].map(|database| taken(&horizons, database).floor()), [tick(100); 3]);
        assert_eq!((one.generation(), one.highest(), horizons.highest_floor()), (1, Tick::MIN, tick(100)));
        // Who waits for the floor announces once more, and holds it.
        assert_eq!(announce(105), tick(105));
        let open = || announcement.of(|| 7);
        assert_eq!(one.advance(1, tick(110), open, none), tick(105));
        assert_eq!((one.highest(), one.advance(1, tick(120), none, none)), (tick(105), tick(120)));
    }

    #[test]
    fn the_floor_that_databases_share_is_lowered() {
        let horizons = Horizons::default();
        horizons.resume(tick(1000));
        for database in 1..ALL + 2 {
            taken(&horizons, database);
        }
        horizons.lower(1, tick(100));
        assert_eq!(horizons.of(ALL + 2).unwrap().floor(), tick(100));
    }

    /// A reader that was interrupted before one of its four looks. It changes nothing, and knows that it has to begin again.
    #[test]
    fn a_reader_of_an_earlier_generation() {
        for interrupted in 0..4 {
            let (horizon, looks) = (Horizon::default(), Cell::new(0));
            assert_eq!(horizon.advance(0, tick(900), || None, || None), tick(900));
            let look = || {
                if looks.replace(looks.get() + 1) == interrupted {
                    horizon.lower(1, tick(100));
                }
                None
            };
            let generation = horizon.generation();
            horizon.advance(generation, tick(1000), look, look);
            assert_eq!((generation, horizon.generation()), (0, 1));
            assert_eq!(horizon.floor(), tick(100), "{interrupted}");
            assert_eq!(horizon.advance(1, tick(120), || None, || None), tick(120));
        }
    }
}
