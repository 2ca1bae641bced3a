//! The file of the high-water marks: who writes it, and when.

use core::sync::atomic::Ordering::{Relaxed, Release};

use crate::generation::marks::Marks;
use crate::generation::partition::{Prefix, SequenceRange};
use crate::horizon::databases::{DatabaseHorizon, WithHorizons};
use crate::horizon::word;
use crate::id::tick::Tick;
use crate::id::tick_type::TickType;
use crate::server::record::{self, Lowerings, Origin, Place, Record};
use crate::server::{Disk, Error, Host, Notice, Shared, Stat, Wait};

/// The file's length in bytes: two records.
const LENGTH: u64 = 2 * record::LENGTH as u64;

/// For how long other processes leave an early renewal to the process that has leased it, in milliseconds.
const RENEWAL_LEASE_MS: u64 = 200;

/// How much later than the last commit in the log another commit can be, in microseconds: a process takes the time
/// before it writes its commit, and may be held up in between.
const COMMIT_SKEW_US: i64 = 2_000_000;

/// The first and the longest wait between attempts to lock the file, in microseconds.
const BACKOFF_MIN_US: u64 = 500;
const BACKOFF_MAX_US: u64 = 50_000;

/// The file of a scheme's high-water marks, as a process of the server uses it.
///
/// [`Marks`] explains the marks, [`record`] the file format. The file is read and written as follows:
///
/// * The first generation after a start [resumes](Self::resume): it reads the file, writes what it read once more,
///   since this may not be on disk yet, and all generators start at these marks.
/// * A process that enters a tick within a second of its tick-tock side's mark [renews](Self::renew_early) the mark,
///   two seconds ahead of the clock. So there is at most one such write a second, and the others do not wait for it.
/// * A process that may not enter a tick because of the mark [renews](Self::renew) it, or waits for the one that does.
/// * A reader of the horizon keeps [its mark](Self::secure) there. All floors start at it, and it is the only one that
///   can be [lowered](Self::lower): that IDs are unique does not depend on it.
///
/// A writer holds the file's lock, which the kernel releases when its process ends. A new mark is used only after it is
/// on disk. The file is overwritten in place, so it needs disk space only when it is created.
///
/// # Copies
///
/// A record also says [where](record::Place) it was written. If that differs after a start, the data directory was
/// promoted, restored or copied. The original server may still run, and neither server can detect that. So this one
/// draws a number that is not in the record, writes it there, and goes by it if it was given none. If it was given one,
/// which the original may have, too, a [notice](Notice::Copied) says so.
#[derive(Clone, Copy, Debug)]
pub struct MarksFile<'a, T: WithHorizons, const SLOTS: usize, H> {
    /// The server, and its disk.
    pub host: H,
    /// What its processes share.
    pub shared: &'a Shared<T, SLOTS>,
    /// The first and the last partition of the server; `None`: those of the number that it draws.
    pub partitions: Option<[u16; 2]>,
    /// Its sequence numbers.
    pub range: SequenceRange,
}

impl<T: WithHorizons, const SLOTS: usize, H: Host<T> + Disk> MarksFile<'_, T, SLOTS, H> {
    /// Reads the file and starts all generators at its marks. It does nothing if another process has done so.
    ///
    /// # Errors
    ///
    /// The generators have not started.
    pub fn resume(&self) -> Result<(), Error> {
        let Self { host, shared, .. } = self;
        if shared.is_ready() {
            return Ok(());
        }
        let file = self.lock()?;
        if shared.is_ready() {
            return Ok(());
        }
        let now = host.now().map_err(Error::OutOfEpoch)?;
        let place = self.place(&file)?;
        let found = self.read(&file, place)?;
        let raised = self.raised(&found, place, now)?;
        if found.serial > 0 {
            // It may not be on disk, if its writer died before the sync; the next record replaces the one before it.
            self.write_record(&file, &found)?;
        }
        if raised.serial > found.serial {
            self.write_record(&file, &raised)?;
        }
        self.report(&found, &raised, place, now);
        shared.start(&raised, now);
        Ok(())
    }

    /// The newest record in the file; of a file without one, marks at the first tick.
    fn read(&self, file: &H::File, place: Place) -> Result<Record<T>, Error> {
        let content = self.host.read(file, LENGTH).map_err(Error::io("read"))?;
        match Record::newest(&content) {
            Some(record) => Ok(record),
            // No record was completed, so no ID was handed out.
            None if record::is_blank(&content) => Ok(Record {
                system_identifier: self.host.system_identifier(),
                limits: [T::MIN; 2],
                serial: 0,
                current: false,
                horizon: T::MIN,
                lowerings: Lowerings::NONE,
                number: Prefix::default(),
                origin: self.origin(place, Prefix::default()),
            }),
            None => Err(Error::NoRecord),
        }
    }

    /// The record that the generators start at: the one that was found, or one with higher marks or another number. Such
    /// a record has to be written, since the next start may not find the reasons for it any more.
    fn raised(&self, found: &Record<T>, place: Place, now: T) -> Result<Record<T>, Error> {
        let system_identifier = self.host.system_identifier();
        let is_new = found.serial == 0;
        let is_unknown = is_new || found.system_identifier != system_identifier;
        // Without marks of this cluster, its IDs are not later than now.
        let floors = [is_unknown.then_some(now), self.last_of_old_primary()];
        let raise = |tick| floors.into_iter().flatten().fold(tick, T::max);
        let (limits, mut horizon) = (found.limits.map(raise), raise(found.horizon));
        let (mut number, mut lowerings) = (found.number, found.lowerings);
        if is_unknown || !found.origin.place.is_same(&place) {
            let random = self.host.random().map_err(Error::io("draw a server number for"))?;
            number = Prefix::drawn(random, (!is_new).then_some(found.number));
            // Another server may have given readers a later horizon: they go back to this one, below which this server
            // generates nothing.
            horizon = horizon.max(now);
            lowerings = lowerings.with_new_place(place.wal_timeline, now, horizon);
        } else if (limits, horizon) == (found.limits, found.horizon) {
            return Ok(found.clone());
        }
        let (serial, origin) = (found.serial + 1, self.origin(place, number));
        Ok(Record { serial, limits, horizon, lowerings, number, system_identifier, origin, ..*found })
    }

    /// Logs what is unusual about this start.
    fn report(&self, record: &Record<T>, next: &Record<T>, here: Place, now: T) {
        let (host, from) = (&self.host, record.origin.place);
        let drawn = self.partitions.is_none().then_some(next.number);
        if record.serial == 0 || record.system_identifier != host.system_identifier() {
            if drawn.is_none() {
                host.log(Notice::Created);
            }
            return;
        }
        if !from.is_same(&here) && (drawn.is_some() || record.origin.overlaps(&next.origin)) {
            host.log(Notice::Copied { from, here, drawn });
        }
        if record.lowerings.from > now {
            // This was known before: the clock had been fast, and the horizons were lowered.
            return;
        }
        // The earliest time at which the clock can have been when the mark was written.
        let last = record.limits[record.current as usize].get().saturating_sub(Marks::<T>::AHEAD);
        let micros = host.epoch().unix_micros(T::from_bits(last)) - host.epoch().unix_micros(now);
        if micros > 0 {
            host.log(Notice::ClockWentBackWhileDown(micros));
        }
    }

    /// The tick up to which the old primary's IDs were generated, after a promotion: two seconds after the last commit
    /// that recovery replayed, since the last one in the log need not be the latest one. `None` without a promotion
    /// since the server's start: after recovery from a crash there is no such time, and the marks are up to date.
    fn last_of_old_primary(&self) -> Option<T> {
        let commit = self.host.last_replayed_commit()?;
        self.host.epoch().ceil(commit + COMMIT_SKEW_US).ok()
    }

    /// Where this file is.
    fn place(&self, file: &H::File) -> Result<Place, Error> {
        let Stat { device, inode, .. } = self.host.stat(file).map_err(Error::io("stat"))?;
        Ok(Place {
            wal_timeline: self.host.wal_timeline(),
            machine: self.host.machine(),
            device,
            file: inode,
        })
    }

    /// The origin of records of a server that has drawn this number.
    fn origin(&self, place: Place, number: Prefix) -> Origin {
        let partitions = self.partitions.map_or(number.partitions(), |[first, last]| first..=last);
        Origin { place, partitions, sequences: self.range.lower()..=self.range.upper() }
    }

    /// Raises the mark of a side to at least `now`: writes it, or waits for the process that does.
    ///
    /// # Errors
    ///
    /// The mark was not raised.
    pub fn renew(&self, tick_tock: bool, now: T) -> Result<(), Error> {
        let marks = &self.shared.marks;
        self.write_while(|| marks.limit(tick_tock) < now, || self.ahead(tick_tock, now))
    }

    /// The marks that are on disk, but that of this side ahead of the clock.
    fn ahead(&self, tick_tock: bool, now: T) -> NewMarks<T> {
        NewMarks { limits: self.shared.marks.ahead(tick_tock, now), ..self.present() }
    }

    /// Makes sure that the mark of the horizons on disk is not below one that was computed in an era, if that is not
    /// over. A lower mark goes to `now`: if it went further, the first ID after a restart would wait.
    ///
    /// # Errors
    ///
    /// The mark was not raised.
    pub fn secure(&self, era: u64, horizon: T, now: T) -> Result<(), Error> {
        let is_below = || self.shared.horizon_mark.load(Relaxed) < word(era, horizon);
        self.write_while(is_below, || NewMarks { horizon_mark: word(era, now), ..self.present() })?;
        assert!(!is_below(), "the mark on disk is below the horizon {horizon:?}");
        Ok(())
    }

    /// The marks that are on disk, for the process that has the lock.
    fn present(&self) -> NewMarks<T> {
        let Shared { marks, horizon_mark, .. } = self.shared;
        NewMarks {
            limits: marks.limits(),
            horizon_mark: horizon_mark.load(Relaxed),
            lowerings: self.shared.lowerings(),
        }
    }

    /// Writes what `next` returns, or waits for the process that writes, until it is no longer needed.
    fn write_while(&self, is_needed: impl Fn() -> bool, next: impl Fn() -> NewMarks<T>) -> Result<(), Error> {
        if !is_needed() {
            return Ok(());
        }
        let file = self.open()?;
        let mut backoff = Backoff::default();
        while is_needed() {
            if !self.try_lock(&file)? {
                backoff.wait(&self.host);
            } else if is_needed() {
                self.write(&file, next())?;
            }
        }
        Ok(())
    }

    /// Raises the mark of a side before a process has to wait for it, unless another process is doing so. An error is
    /// only logged, since another attempt follows before the mark is reached.
    pub fn renew_early(&self, tick_tock: bool, now: T) {
        let Self { host, shared, .. } = self;
        let millis = host.epoch().unix_micros(now) as u64 / 1000;
        let lease = shared.renewing.load(Relaxed);
        // A lease further ahead than this is from before the clock stepped back.
        if (millis..=millis + RENEWAL_LEASE_MS).contains(&lease) {
            return;
        }
        let next = millis + RENEWAL_LEASE_MS;
        if shared.renewing.compare_exchange(lease, next, Relaxed, Relaxed).is_err() {
            return;
        }
        let marks = &shared.marks;
        let result = self.open().and_then(|file| {
            let due = self.try_lock(&file)? && marks.due(tick_tock, now);
            if due { self.write(&file, self.ahead(tick_tock, now)) } else { Ok(()) }
        });
        if let Err(error) = result {
            host.log(Notice::NotRenewed(error));
        }
    }

    /// Writes a record, waits until it is on disk, then changes the marks in shared memory. The caller holds the lock.
    fn write(&self, file: &H::File, next: NewMarks<T>) -> Result<(), Error> {
        let (shared, before) = (self.shared, self.present());
        let falls = next.limits.iter().zip(before.limits).any(|(limit, before)| *limit < before);
        assert!(!falls && next.horizon_mark >= before.horizon_mark, "{before:?} would fall to {next:?}");
        let record = Record {
            serial: shared.serial.load(Relaxed) + 1,
            limits: next.limits,
            current: shared.marks.current(),
            horizon: T::from_bits(next.horizon_mark),
            lowerings: next.lowerings,
            number: shared.number(),
            system_identifier: self.host.system_identifier(),
            origin: self.origin(self.place(file)?, shared.number()),
        };
        self.write_record(file, &record)?;
        shared.serial.store(record.serial, Relaxed);
        shared.marks.raise(record.limits);
        shared.note_horizon(next.horizon_mark, record.lowerings);
        Ok(())
    }

    /// The file, when this process has its lock.
    fn lock(&self) -> Result<H::File, Error> {
        let file = self.open()?;
        let mut backoff = Backoff::default();
        while !self.try_lock(&file)? {
            backoff.wait(&self.host);
        }
        Ok(file)
    }

    fn open(&self) -> Result<H::File, Error> {
        self.host.open().map_err(Error::io("open"))
    }

    fn try_lock(&self, file: &H::File) -> Result<bool, Error> {
        self.host.try_lock(file).map_err(Error::io("lock"))
    }

    /// Writes a record, and waits until it is on disk.
    fn write_record(&self, file: &H::File, record: &Record<T>) -> Result<(), Error> {
        let host = &self.host;
        let write = || {
            let Stat { length, .. } = host.stat(file)?;
            let is_new = length < LENGTH;
            if is_new {
                // The space for both records, so that later writes need no more. What the file holds stays.
                host.write_at(file, &[b' '; LENGTH as usize][length as usize..], length)?;
            }
            host.write_at(file, &record.encode(), record.offset())?;
            // The process that created the file may have died before the directory entry was on disk.
            if !is_new && record.serial > 2 {
                return host.sync_data(file);
            }
            host.sync_all(file)?;
            host.sync_directory()
        };
        write().map_err(Error::io("write"))
    }
}

impl<'a, const SLOTS: usize, H: Host<Tick> + Disk> MarksFile<'a, Tick, SLOTS, H> {
    /// Adds a database to those that have horizons.
    ///
    /// # Errors
    ///
    /// The file could not be locked.
    pub fn add_database(&self, database: u32) -> Result<DatabaseHorizon<'a>, Error> {
        let horizons = &self.shared.horizons;
        // Not with the lock, for which all who generate may have to wait: the look-up waits for whoever has locked the
        // catalog, as VACUUM FULL does.
        let gone: Vec<_> = horizons.gone(|other| self.host.has_database(other)).collect();
        let _lock = self.lock()?;
        Ok(horizons.add(database, &gone))
    }

    /// Lowers the horizons of all databases to the clock, if one is ahead of it, since it has been fast.
    ///
    /// # Errors
    ///
    /// Nothing was lowered. If the record could not be synced, the next start may find it nevertheless.
    pub fn lower(&self) -> Result<(), Error> {
        let file = self.lock()?;
        let now = self.host.now().map_err(Error::OutOfEpoch)?;
        let (shared, mut next) = (self.shared, self.present());
        let from = shared.horizons.highest_floor().max(Tick::from_bits(next.horizon_mark));
        if from > now {
            next.lowerings = next.lowerings.with_lowering(now, from);
            let era = (next.horizon_mark >> Tick::BITS) + 1;
            next.horizon_mark = word(era, now);
            // First on disk: else, after a crash, nobody would know of the IDs below the horizons that readers were given.
            self.write(&file, next)?;
            shared.horizons.lower(era, now);
            // Last: who loads this number reads no horizon of before.
            shared.last_lowering.store(next.lowerings.number().0, Release);
        }
        Ok(())
    }

    /// How the horizons were lowered.
    ///
    /// # Errors
    ///
    /// The file could not be locked.
    pub fn lowerings(&self) -> Result<Lowerings, Error> {
        // With the lock, so that all of them are of one call.
        let _lock = self.lock()?;
        Ok(self.shared.lowerings())
    }
}

/// The marks that the next record will hold.
#[derive(Clone, Copy, Debug)]
struct NewMarks<T> {
    limits: [T; 2],
    /// The mark of the horizons, as a word of its era.
    horizon_mark: u64,
    lowerings: Lowerings<T>,
}

/// Waits for another writer, in microseconds: briefly at first, since a write is short, then twice as long each time.
struct Backoff(u64);

impl Default for Backoff {
    fn default() -> Self {
        Self(BACKOFF_MIN_US)
    }
}

impl Backoff {
    fn wait<T: TickType>(&mut self, host: &impl Host<T>) {
        host.nap(Wait::Marks, self.0);
        self.0 = (self.0 * 2).min(BACKOFF_MAX_US);
    }
}
