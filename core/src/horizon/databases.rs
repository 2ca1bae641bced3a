//! The horizon of each database.

use core::fmt::Debug;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::generation::atomic::{AtomicBool, AtomicU64};
use crate::horizon::Horizon;
use crate::id::tick::Tick;
use crate::id::tick_type::TickType;

/// How many databases have a horizon of their own. Loom and the simulator try few.
const OWN: usize = if cfg!(any(loom, simulated)) { 2 } else { 1024 };

/// The horizons of a server: one for each database, as long as there are free entries. All further databases share one,
/// and hold each other back. Zeros are a valid value: no database has an entry.
#[derive(Debug)]
#[repr(C)]
pub struct Horizons {
    shared: Horizon,
    /// Whether databases share that one.
    is_shared: AtomicBool,
    /// A hash table: a database is in the first entry [for it](Self::entries_for) that was free when it was added.
    entries: [Entry; OWN],
}

/// A database, which keeps its entry until it is dropped or the server stops; and its horizon. Zero is no database.
#[derive(Debug, Default)]
#[repr(C)]
struct Entry {
    database: AtomicU64,
    horizon: Horizon,
}

impl Default for Horizons {
    fn default() -> Self {
        let entries = core::array::from_fn(|_| Entry::default());
        Self { shared: Horizon::default(), is_shared: AtomicBool::new(false), entries }
    }
}

/// The ticks of a scheme, and what its servers keep for readers: [`Horizons`], or nothing.
pub trait WithHorizons: TickType {
    /// Zeros are a valid value.
    type Horizons: Default + Debug;

    /// As [`Horizons::resume`].
    fn resume(horizons: &Self::Horizons, floor: Self);
}

impl WithHorizons for Tick {
    type Horizons = Horizons;

    fn resume(horizons: &Horizons, floor: Self) {
        horizons.resume(floor);
    }
}

impl Horizons {
    /// As [`Horizon::resume`], for those of all databases.
    pub fn resume(&self, floor: impl TickType) {
        self.shared.resume(floor);
    }

    /// Begins an era for all databases: as [`Horizon::lower`]. Each number is used once, one after another, under a
    /// lock that excludes [`add`](Self::add), too.
    pub fn lower(&self, era: u64, to: Tick) {
        // Free entries, too: `add` overwrites them.
        self.entries.iter().for_each(|entry| entry.horizon.lower(era, to));
        self.shared.lower(era, to);
    }

    /// The horizon of a database, for a process that announces or advances it. `None` if the database has to be
    /// [added](Self::add) first.
    pub fn join(&self, database: u32) -> Option<DatabaseHorizon<'_>> {
        let horizon = match self.entry(database) {
            Some(entry) => &entry.horizon,
            None if self.is_shared.load(Acquire) => {
                // As if the database were added: this may be its first process.
                self.shared.floor.fetch_max(self.highest_word(), Relaxed);
                &self.shared
            }
            None => return None,
        };
        Some(DatabaseHorizon { database, horizon, all: self })
    }

    /// The databases that have entries and do not exist any more. At any time.
    pub fn gone(&self, exists: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let holders = self.entries.iter().map(|entry| entry.database.load(Relaxed) as u32);
        holders.filter(move |&database| database != 0 && !exists(database))
    }

    /// As [`join`](Self::join), but adds the database if it has no entry: in a free one, or in that of a database that is
    /// [gone](Self::gone). For one process at a time, after [`resume`](Self::resume).
    ///
    /// Once databases share a horizon, no entry is taken any more: some processes of a database would be in it, and others
    /// still in the shared one.
    pub fn add(&self, database: u32, gone: &[u32]) -> DatabaseHorizon<'_> {
        if let Some(horizon) = self.join(database) {
            return horizon;
        }
        let is_free = |entry: &&Entry| entry.database.load(Relaxed) == 0;
        let is_left = |entry: &&Entry| gone.contains(&(entry.database.load(Relaxed) as u32));
        let mut entries = self.entries_for(database);
        let Some(entry) = entries.find(is_free).or_else(|| self.entries_for(database).find(is_left)) else {
            self.is_shared.store(true, Release);
            return self.join(database).expect("all further databases share a horizon");
        };
        // Before any process can find the entry.
        entry.horizon.floor.store(self.highest_word(), Relaxed);
        entry.horizon.highest.store(0, Relaxed);
        entry.database.store(database.into(), Release);
        DatabaseHorizon { database, horizon: &entry.horizon, all: self }
    }

    /// The horizon of a database, for a process that only looks at it: without an entry nobody has announced anything.
    pub fn find(&self, database: u32) -> DatabaseHorizon<'_> {
        let horizon = self.entry(database).map_or(&self.shared, |entry| &entry.horizon);
        DatabaseHorizon { database, horizon, all: self }
    }

    /// The highest [floor](Horizon::floor) of all databases, and where a new one would begin.
    pub fn highest_floor(&self) -> Tick {
        Tick::from_bits(self.highest_word())
    }

    /// Whether a database has no entry, although it may have announced something.
    fn is_shared_with(&self, database: u32) -> bool {
        self.is_shared.load(Acquire) && self.entry(database).is_none()
    }

    /// The entries in which a database is looked for, one after another.
    fn entries_for(&self, database: u32) -> impl Iterator<Item = &Entry> {
        let first = database.wrapping_mul(0x9e37_79b1) as usize >> 16;
        (first..first + OWN).map(|number| &self.entries[number % OWN])
    }

    fn entry(&self, database: u32) -> Option<&Entry> {
        let held = self.entries_for(database).map(|entry| (entry, entry.database.load(Acquire)));
        let mut held = held.take_while(|(_, holder)| *holder != 0);
        held.find(|(_, holder)| *holder == u64::from(database)).map(|(entry, _)| entry)
    }

    /// Where the floor of a new database begins: it can be the copy of another one, whose readers have stored horizons.
    fn highest_word(&self) -> u64 {
        let own = self.entries.iter().map(|entry| &entry.horizon);
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
    /// Whether a process is of this database is known once it has announced a transaction: a reader loads its
    /// announcement first.
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
    use super::*;
    use crate::horizon::Announcement;

    fn tick(number: u64) -> Tick {
        Tick::new(number).unwrap()
    }

    /// The horizon of a database, which is added if it has no entry. All databases exist.
    fn added(horizons: &Horizons, database: u32) -> DatabaseHorizon<'_> {
        horizons.add(database, &[])
    }

    #[test]
    fn each_database_has_a_horizon() {
        let horizons = Horizons::default();
        horizons.resume(tick(100));
        assert!(horizons.join(7).is_none());
        let (seven, eight) = (added(&horizons, 7), added(&horizons, 8));
        assert_eq!(seven.advance(0, tick(110), || None, || None), tick(110));
        assert_eq!(eight.advance(0, tick(90), || None, || None), tick(100));
        for again in [horizons.join(7).unwrap(), added(&horizons, 7)] {
            assert!(core::ptr::eq(&*again, &*seven) && !core::ptr::eq(&*again, &*eight));
        }
        assert_eq!(horizons.highest_floor(), tick(110));
        assert_eq!([7, 8, 9].map(|database| added(&horizons, database).floor()), [110, 100, 110].map(tick));
        // Of an unknown database.
        let counts = |one: DatabaseHorizon<'_>| [0, 7, 8, 9].map(|other| one.counts(other));
        assert_eq!(counts(seven), [true, true, false, false]);
        // Of one that only looks: with something prepared before a restart, but without an entry yet.
        assert_eq!(counts(horizons.find(8)), [true, false, true, false]);
        assert_eq!(counts(horizons.find(10)), [true, false, false, false]);
    }

    const ALL: u32 = OWN as u32;

    #[test]
    fn databases_without_an_entry_share_one() {
        let horizons = Horizons::default();
        (1..=ALL).for_each(|database| assert_eq!(added(&horizons, database).floor(), Tick::MIN));
        assert!(horizons.join(ALL + 1).is_none() && !horizons.find(ALL + 1).counts(ALL + 2));
        let (own, [a, b]) = (added(&horizons, ALL), [1, 2].map(|n| added(&horizons, ALL + n)));
        assert!(core::ptr::eq(&*a, &*b) && !core::ptr::eq(&*a, &*own));
        assert_eq!(
            [0, 1, ALL, ALL + 1, ALL + 2].map(|other| a.counts(other)),
            [true, false, false, true, true]
        );
        assert!(!own.counts(ALL + 1));
        assert!(core::ptr::eq(&*horizons.find(ALL + 1), &*a) && horizons.find(ALL + 3).counts(ALL + 2));
        // From now on no entry is taken.
        let c = horizons.add(ALL + 3, &[7]);
        assert!(core::ptr::eq(&*a, &*c) && core::ptr::eq(&*a, &*horizons.join(ALL + 4).unwrap()));
    }

    /// Nothing of it is left, but that no floor of the server is lower.
    #[test]
    fn the_entry_of_a_dropped_database() {
        let horizons = Horizons::default();
        for database in 1..=ALL {
            added(&horizons, database);
        }
        let dropped = horizons.join(7).unwrap();
        dropped.advance(0, tick(100), || None, || None);
        horizons.join(8).unwrap().advance(0, tick(110), || None, || None);
        let gone: Vec<_> = horizons.gone(|database| database != 7).collect();
        assert_eq!(gone, [7]);
        let new = horizons.add(ALL + 1, &gone);
        assert!(core::ptr::eq(&*new, &*dropped) && horizons.entry(7).is_none());
        assert!(core::ptr::eq(&*horizons.join(ALL + 1).unwrap(), &*new));
        // It has something that was prepared before a restart.
        assert_eq!(new.floor(), tick(110));
        assert_eq!(new.advance(0, tick(120), || None, || Some(tick(90))), tick(90));
        assert!(!new.counts(7));
        assert!(core::ptr::eq(&*horizons.add(ALL + 2, &gone), &horizons.shared));
    }

    /// A copy has the positions of its original, wherever its horizon is.
    #[test]
    fn a_database_begins_at_the_highest_floor() {
        let horizons = Horizons::default();
        for database in 1..ALL + 9 {
            let horizon = added(&horizons, database);
            assert_eq!(horizon.floor().get(), u64::from(database.saturating_sub(1)));
            horizon.advance(0, tick(database.into()), || None, || None);
        }
    }

    #[test]
    fn floors_that_are_lowered() {
        let (horizons, announcement) = (Horizons::default(), Announcement::default());
        horizons.resume(tick(50));
        let (one, two) = (added(&horizons, 7), added(&horizons, 8));
        let (none, announce) = (|| None, |now| one.announce(&announcement, 7, tick(now), Tick::MAX));
        assert_eq!(one.advance(0, tick(1000), none, none), tick(1000));
        assert_eq!(two.advance(0, tick(90), none, none), tick(90));
        assert_eq!(announce(100), tick(1000));
        horizons.lower(1, tick(100));
        // Also those of databases that come later.
        assert_eq!([7, 8, 9].map(|database| added(&horizons, database).floor()), [tick(100); 3]);
        assert_eq!((one.era(), horizons.highest_floor()), (1, tick(100)));
        // Who waits for the floor announces once more, and holds it.
        assert_eq!(announce(105), tick(105));
        let open = || announcement.of(|| 7);
        assert_eq!(one.advance(1, tick(110), open, none), tick(105));
        assert_eq!(one.advance(1, tick(120), none, none), tick(120));
    }

    #[test]
    fn the_floor_that_databases_share_is_lowered() {
        let horizons = Horizons::default();
        horizons.resume(tick(1000));
        for database in 1..ALL + 2 {
            added(&horizons, database);
        }
        horizons.lower(1, tick(100));
        assert_eq!(horizons.join(ALL + 2).unwrap().floor(), tick(100));
    }
}
