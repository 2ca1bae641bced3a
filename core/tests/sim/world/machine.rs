//! A machine: its clock, its disk, and the server on it, with what its processes have in shared memory.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use sno_core::{Announcement, Prefix, SequenceRange, Tick, server::Shared};

use super::{Id, World};
use crate::disk::{Disk, newest_record};

/// Generators of a server: fewer than partitions, so that some share one.
pub(crate) const SLOTS: usize = 2;
/// Processes of a server.
pub(crate) const PLACES: usize = 4;
/// The process in the second database.
pub(crate) const SECOND: usize = 2;

/// The row of an ID.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) id: Id,
    pub(crate) tick: u64,
    /// The tick at which it was handed out, if that is later.
    pub(crate) at: u64,
    pub(crate) database: u32,
}

/// A prepared transaction.
pub(crate) struct Prepared {
    pub(crate) database: u32,
    /// In the tag of its lock.
    pub(crate) tick: Option<Tick>,
    pub(crate) rows: Vec<Row>,
    pub(crate) is_visible: bool,
}

/// What a backup or a standby has.
pub(super) struct Backup {
    pub(super) marks: Option<Vec<u8>>,
    /// The time of the last commit in it.
    pub(super) commit: Option<i64>,
}

/// A machine with a server.
#[derive(Default)]
pub(crate) struct Machine {
    pub(super) index: usize,
    /// What the clock reads until a point in time. From there on it runs, so many thousandths faster than it should.
    pub(super) reads: Cell<i64>,
    pub(super) until: Cell<i64>,
    pub(super) rate: Cell<i64>,
    /// When the clock stepped, and when it stepped back; 0 if never.
    pub(crate) stepped_at: Cell<i64>,
    pub(crate) stepped_back_at: Cell<i64>,
    /// When it stepped back, and what it read before.
    pub(crate) steps_back: RefCell<Vec<(i64, i64)>>,
    /// The clock must not be set back before this time; and whether this ends when the generators have resumed.
    pub(super) not_before: Cell<i64>,
    pub(super) is_unsettled: Cell<bool>,
    pub(crate) disk: Disk,
    /// The settings, and how often they were changed.
    pub(crate) settings: Cell<u64>,
    pub(crate) prefix: Cell<Prefix>,
    pub(crate) range: Cell<SequenceRange>,
    pub(crate) max_clock_wait: Cell<u64>,
    pub(crate) system_identifier: Cell<u64>,
    pub(crate) wal_timeline: Cell<u32>,
    /// The number that the server had drawn at its last start, with its cluster, timeline and file.
    pub(crate) drawn: Cell<Option<((u64, u32, u64), Prefix)>>,
    /// The time of the last commit in the log, and the same as a promoted standby knows it.
    pub(super) last_commit: Cell<Option<i64>>,
    pub(crate) replayed: Cell<Option<i64>>,
    /// Whether each commit was written within a second after its time.
    pub(super) commits_lag: Cell<bool>,
    pub(super) shared: RefCell<Rc<Shared<Tick, SLOTS>>>,
    pub(crate) announcements: [Announcement; PLACES],
    /// The numbers of the processes' transactions; 0 if there is none.
    pub(crate) numbers: [Cell<u32>; PLACES],
    pub(super) next_number: Cell<u32>,
    /// IDs of transactions that are not visible yet.
    pub(crate) rows: [RefCell<Vec<Row>>; PLACES],
    /// The locks of transactions that are about to be prepared.
    pub(crate) preparing: [Cell<Option<Tick>>; PLACES],
    pub(crate) prepared: RefCell<Vec<Prepared>>,
    /// Rows of transactions that have committed.
    pub(crate) visible: RefCell<Vec<Row>>,
    pub(super) wake: [Cell<i64>; PLACES],
    pub(crate) parked: [Cell<bool>; PLACES],
    pub(crate) has_restarted: Cell<bool>,
    /// Whether the file of the marks is neither a record nor blank.
    pub(super) is_damaged: Cell<bool>,
    /// The second database, which is the copy of the first one from time to time.
    pub(crate) second: Cell<u32>,
    /// The highest horizon that was returned in each database.
    pub(crate) returned: [Cell<u64>; 2],
    /// The horizon below which no ID may come any more, and the highest position of a feed in a committed transaction.
    pub(crate) told: [Cell<u64>; 2],
    pub(crate) position: Cell<u64>,
    /// How many calls that lower horizons have begun and ended, and how many run.
    pub(crate) lowerings: Cell<u64>,
    pub(crate) lowering: Cell<u64>,
    /// Whether one has failed, so that nobody knows what the next start finds.
    pub(crate) lowering_failed: Cell<bool>,
    /// The highest tick on each side since the file was replaced, and of all IDs.
    pub(super) highest: Cell<[u64; 2]>,
    /// The marks that the server found at its start: each side is used above its mark only.
    pub(super) found: Cell<[u64; 2]>,
    pub(super) last_tick: Cell<u64>,
    /// The tick of some ID.
    pub(super) some_tick: Cell<u64>,
    pub(super) backup: RefCell<Option<Backup>>,
}

impl Machine {
    /// Microseconds since 1970.
    pub(crate) fn clock(&self, world: &World) -> i64 {
        let runs = (world.time.get() - self.until.get()).max(0);
        self.reads.get() + runs + runs * self.rate.get() / 1000
    }

    /// The clock reads this from now on, at this rate.
    pub(super) fn set_clock(&self, world: &World, reads: i64, rate: i64) {
        self.reads.set(reads);
        self.until.set(world.time.get());
        self.rate.set(rate);
    }

    pub(crate) fn shared(&self) -> Rc<Shared<Tick, SLOTS>> {
        self.shared.borrow().clone()
    }

    pub(crate) fn begin(&self, place: usize) {
        self.next_number.set(self.next_number.get() + 1);
        self.numbers[place].set(self.next_number.get());
    }

    /// Notes the marks that the next start finds.
    pub(super) fn note_found(&self) {
        let record = self.disk.content().and_then(|content| newest_record(&content));
        self.found.set(record.map_or([0; 2], |(_, marks)| marks));
    }

    /// The database of a process.
    pub(crate) fn database(&self, place: usize) -> u32 {
        if place == SECOND { self.second.get() } else { 1 }
    }

    /// Rows of a database that are to become visible.
    pub(crate) fn open_rows(&self, database: u32) -> Vec<Row> {
        let prepared = self.prepared.borrow();
        let prepared =
            prepared.iter().filter(|prepared| !prepared.is_visible).flat_map(|prepared| &prepared.rows);
        let open = self.rows.iter().flat_map(|rows| rows.borrow().clone());
        open.chain(prepared.copied()).filter(|row| row.database == database).collect()
    }
}
