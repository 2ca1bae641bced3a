//! The file of an ID scheme's high-water marks, such as `sno.marks`, in the data directory.
//!
//! [`sno_core::Marks`] explains the marks, [`sno_core::record`] the file format. The file is read and written as
//! follows:
//!
//! * The first generation after a start [resumes](MarksFile::resume): it reads the file, writes what it read once more,
//!   since this may not be on disk yet, and all generators start at these marks.
//! * A backend that enters a tick within a second of its tick-tock side's mark [renews](MarksFile::renew_early) the
//!   mark, two seconds ahead of the clock. So there is at most one write a second, and the other backends do not wait
//!   for it.
//! * A backend that may not enter a tick because of the mark [renews](MarksFile::renew) it, or waits for the backend
//!   that does.
//!
//! A writer holds the file's lock, which the kernel releases when its process ends. A new mark is used only after it is
//! on disk. The file is overwritten in place, so it needs disk space only when it is created.
//!
//! # Copies
//!
//! A record also says where it was written: the timeline of the write-ahead log, and the inode number of the file. If
//! one of them differs after a start, the data directory was promoted, restored or copied. The original server may
//! still run and generate the same IDs, and neither server can detect that. So a message in the server's log says what
//! to check.

use std::{
    ffi::c_int,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _},
    os::{
        fd::AsRawFd as _,
        unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    },
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

use pgrx::pg_sys;
use sno_core::{
    Marks, SequenceRange, TickType,
    record::{self, Origin, Record},
};

use crate::{
    generator::{errors, scheme::Scheme, shared::Shared},
    pg::{
        datum::Timestamp,
        errors::Error,
        server::system_identifier,
        wait::{Event, nap},
    },
};

/// The file's length in bytes: two records.
const FILE_LENGTH: u64 = 2 * record::LENGTH as u64;

/// For how long other backends leave an early renewal to the backend that has leased it, in milliseconds.
const RENEWAL_LEASE_MS: u64 = 200;

/// How much later than the last commit in the log another commit can be, in microseconds: a backend takes the time
/// before it writes its commit, and may be held up in between.
const COMMIT_SKEW_US: i64 = 2_000_000;

/// The first and the longest wait between attempts to lock the file, in microseconds.
const BACKOFF_MIN_US: u64 = 500;
const BACKOFF_MAX_US: u64 = 50_000;

/// The file of a scheme's marks, for a backend and its settings.
#[derive(Clone, Copy)]
pub(crate) struct MarksFile<S: Scheme, const SLOTS: usize> {
    pub(crate) scheme: S,
    pub(crate) shared: &'static Shared<S::Tick, SLOTS>,
    /// The first and the last partition of the server, and its sequence numbers.
    pub(crate) partitions: [u16; 2],
    pub(crate) range: SequenceRange,
}

impl<S: Scheme, const SLOTS: usize> MarksFile<S, SLOTS> {
    /// Reads the file and starts all generators at its marks. It does nothing if another backend has done so.
    pub(crate) fn resume(self) -> Result<(), Error> {
        let Self { scheme, shared, .. } = self;
        let file = open::<S>()?;
        let mut backoff = Backoff::default();
        while !try_lock::<S>(&file)? {
            backoff.wait();
        }
        if shared.ready.load(Acquire) {
            return Ok(());
        }
        let now =
            scheme.epoch().floor(Timestamp::now().unix_micros()).map_err(errors::clock_outside_epoch::<S>)?;
        let mut content = Vec::new();
        (&file)
            .take(FILE_LENGTH)
            .read_to_end(&mut content)
            .map_err(|error| errors::marks_io(S::MARKS, "read", &error))?;
        let here = self.origin(&file)?;
        let record = match Record::newest(&content) {
            Some(record) => record,
            // No record was completed, so no ID was handed out.
            None if record::is_blank(&content) => Record {
                system_identifier: system_identifier(),
                limits: [S::Tick::MIN; 2],
                serial: 0,
                current: false,
                origin: here.clone(),
            },
            None => return Err(errors::marks_corrupted(S::MARKS)),
        };
        let floor = [
            // Without marks of this cluster, its IDs are not later than now.
            (record.serial == 0 || record.system_identifier != system_identifier()).then_some(now),
            last_of_old_primary(scheme),
        ];
        let limits = record.limits.map(|limit| floor.iter().flatten().fold(limit, |a, b| a.max(*b)));
        let notice = copy_notice(scheme, &record, &here);
        let mut serial = record.serial;
        if serial > 0 {
            // It may not be on disk, if its writer died before the sync; the next record replaces the one before it.
            write_record::<S>(&file, &record)?;
        }
        if limits != record.limits {
            // What raised them is not known any more after the next start.
            serial += 1;
            let raised = Record {
                serial,
                limits,
                current: record.current,
                system_identifier: system_identifier(),
                origin: here,
            };
            write_record::<S>(&file, &raised)?;
        }
        if let Some(notice) = notice {
            notice.log();
        }
        shared.marks.restore(limits, record.current);
        shared.horizon.resume(limits[0].min(limits[1]));
        shared.serial.store(serial, Relaxed);
        shared.resumed.store(now.get(), Relaxed);
        for slot in &shared.slots {
            slot.resume(&shared.marks);
        }
        shared.ready.store(true, Release);
        // The earliest time at which the clock can have been when the mark was written.
        let last = record.limits[record.current as usize].get().saturating_sub(Marks::<S::Tick>::AHEAD);
        let micros = scheme.epoch().unix_micros(S::Tick::from_bits(last)) - scheme.epoch().unix_micros(now);
        if record.system_identifier == system_identifier() && micros > 0 {
            errors::clock_went_back_while_down::<S>(micros).log();
        }
        Ok(())
    }

    /// The origin of records that are written to this file now.
    fn origin(self, file: &File) -> Result<Origin, Error> {
        let [first, last] = self.partitions;
        Ok(Origin {
            // SAFETY: reads a number that does not change after recovery, and nothing is generated during recovery.
            wal_timeline: unsafe { pg_sys::GetWALInsertionTimeLine() },
            file: file.metadata().map_err(|error| errors::marks_io(S::MARKS, "stat", &error))?.ino(),
            partitions: first..=last,
            sequences: self.range.lower()..=self.range.upper(),
        })
    }

    /// Raises the mark of a side to at least `now`: writes it, or waits for the backend that does.
    pub(crate) fn renew(self, tick_tock: bool, now: S::Tick) -> Result<(), Error> {
        let marks = &self.shared.marks;
        self.write_while(|| (marks.limit(tick_tock) < now).then(|| marks.ahead(tick_tock, now)))
    }

    /// Raises the marks of both sides to at least `now`, unless they are at `tick` or above. No further, so that after
    /// a restart one of the sides can be entered without a wait.
    pub(crate) fn keep_above(self, tick: S::Tick, now: S::Tick) -> Result<(), Error> {
        self.write_while(|| {
            let limits = [false, true].map(|side| self.shared.marks.limit(side));
            limits.iter().any(|limit| *limit < tick).then(|| limits.map(|limit| limit.max(now)))
        })
    }

    /// Writes marks, or waits for the backend that does, as long as `needed` returns some.
    fn write_while(self, needed: impl Fn() -> Option<[S::Tick; 2]>) -> Result<(), Error> {
        if needed().is_none() {
            return Ok(());
        }
        let file = open::<S>()?;
        let mut backoff = Backoff::default();
        while needed().is_some() {
            if !try_lock::<S>(&file)? {
                backoff.wait();
            } else if let Some(limits) = needed() {
                self.write(&file, limits)?;
            }
        }
        Ok(())
    }

    /// Raises the mark of a side before a backend has to wait for it, unless another backend is doing so. An error is
    /// only logged, since another attempt follows before the mark is reached.
    pub(crate) fn renew_early(self, tick_tock: bool, now: S::Tick) {
        let millis = self.scheme.epoch().unix_micros(now) as u64 / 1000;
        let lease = self.shared.renewing.load(Relaxed);
        // A lease further ahead than this is from before the clock stepped back.
        if (millis..=millis + RENEWAL_LEASE_MS).contains(&lease) {
            return;
        }
        let next = millis + RENEWAL_LEASE_MS;
        if self.shared.renewing.compare_exchange(lease, next, Relaxed, Relaxed).is_err() {
            return;
        }
        let marks = &self.shared.marks;
        let result = open::<S>().and_then(|file| {
            let due = try_lock::<S>(&file)? && marks.due(tick_tock, now);
            if due { self.write(&file, marks.ahead(tick_tock, now)) } else { Ok(()) }
        });
        if let Err(error) = result {
            error.log();
        }
    }

    /// Writes marks, waits until they are on disk, then raises the marks in shared memory. The caller
    /// holds the lock.
    fn write(self, file: &File, limits: [S::Tick; 2]) -> Result<(), Error> {
        let shared = self.shared;
        let record = Record {
            serial: shared.serial.load(Relaxed) + 1,
            limits,
            current: shared.marks.current(),
            system_identifier: system_identifier(),
            origin: self.origin(file)?,
        };
        write_record::<S>(file, &record)?;
        shared.serial.store(record.serial, Relaxed);
        shared.marks.raise(record.limits);
        Ok(())
    }
}

/// The message for a data directory that was promoted, restored or copied after its last ID, unless its
/// settings are different now, so that it can't generate the same IDs as its original.
fn copy_notice<S: Scheme>(scheme: S, record: &Record<S::Tick>, here: &Origin) -> Option<Error> {
    if record.serial == 0 {
        // A standby from before the first ID of its primary.
        let promoted = here.wal_timeline > 1 && last_of_old_primary(scheme).is_some();
        return promoted.then(|| errors::promoted::<S>(here.wal_timeline));
    }
    let origin = &record.origin;
    let is_copy = record.system_identifier == system_identifier()
        && !origin.is_same_place(here)
        && origin.overlaps(here);
    is_copy.then(|| errors::copied::<S>(origin, here))
}

/// The tick up to which the old primary's IDs were generated, after a promotion: two seconds after the last commit that
/// recovery replayed, since the last one in the log need not be the latest one. `None` without a promotion since the
/// server's start: after recovery from a crash there is no such time, and the marks are up to date.
fn last_of_old_primary<S: Scheme>(scheme: S) -> Option<S::Tick> {
    // SAFETY: reads a time from shared memory; 0 if there was no recovery.
    let time = Timestamp(unsafe { pg_sys::GetLatestXTime() });
    if time.0 == 0 { None } else { scheme.epoch().ceil(time.unix_micros() + COMMIT_SKEW_US).ok() }
}

/// Waits for another writer, in microseconds: briefly at first, since a write is short, then twice as long each time.
struct Backoff(u64);

impl Default for Backoff {
    fn default() -> Self {
        Self(BACKOFF_MIN_US)
    }
}

impl Backoff {
    fn wait(&mut self) {
        nap(Event::Marks, self.0);
        self.0 = (self.0 * 2).min(BACKOFF_MAX_US);
    }
}

fn open<S: Scheme>() -> Result<File, Error> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        // As for PostgreSQL's own files. The postmaster's umask decides whether the group has access.
        .mode(0o660)
        .open(S::MARKS)
        .map_err(|error| errors::marks_io(S::MARKS, "open", &error))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        // A read from a pipe would wait, and not even a shutdown could end that.
        Ok(_) => Err(errors::marks_io(S::MARKS, "open", &io::Error::other("not a regular file"))),
        Err(error) => Err(errors::marks_io(S::MARKS, "stat", &error)),
    }
}

/// Closing the file releases the lock, and so does the end of the process.
fn try_lock<S: Scheme>(file: &File) -> Result<bool, Error> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(errors::marks_io(S::MARKS, "lock", &error)),
    }
}

/// Writes a record, and waits until it is on disk.
fn write_record<S: Scheme>(file: &File, record: &Record<S::Tick>) -> Result<(), Error> {
    write_and_sync(file, record).map_err(|error| errors::marks_io(S::MARKS, "write", &error))
}

fn write_and_sync(file: &File, record: &Record<impl TickType>) -> io::Result<()> {
    let length = file.metadata()?.len();
    let is_new = length < FILE_LENGTH;
    if is_new {
        // The space for both records, so that later writes need no more. What the file holds stays.
        file.write_all_at(&[b' '; FILE_LENGTH as usize][length as usize..], length)?;
    }
    // The process that created the file may have died before the directory entry was on disk.
    let is_new = is_new || record.serial <= 2;
    file.write_all_at(&record.encode(), record.offset())?;
    if !is_new {
        return sync(pg_sys::pg_fdatasync, file);
    }
    sync(pg_sys::pg_fsync, file)?;
    // Not by PostgreSQL's fsync_fname(), which takes the whole server down if this fails.
    sync(pg_sys::pg_fsync, &File::open(".")?)
}

/// Calls a function of PostgreSQL that syncs a file, and does nothing if the setting `fsync` is off.
fn sync(by: unsafe fn(c_int) -> c_int, file: &File) -> io::Result<()> {
    // SAFETY: a descriptor that is open.
    if unsafe { by(file.as_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
