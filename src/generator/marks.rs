//! The marks that outlive a restart: a file of each system's, such as `sno.marks`, in the data directory.
//!
//! [`sno_core`] says what marks are, and what a record of them looks like. Here is who writes them when:
//!
//! * The first generation after a start [resumes](resume): all generators take up where the file says
//!   that an earlier run may have ended.
//! * A backend that enters a tick within a second of its timeline's mark [renews](renew_early) it, two
//!   seconds ahead of the clock, so there is one short write a second at most. The others go on meanwhile.
//! * A backend that may not enter a tick because of its mark [renews](renew) it or waits for the one that
//!   does.
//!
//! Whoever writes holds the file's lock, which the kernel releases when its holder dies. The new mark
//! counts only when it is on disk. The file is written in place, so that a full disk is met when it is
//! created and not later.
//!
//! # Copies
//!
//! A record also says where it was written: on which timeline of the write-ahead log, and in which file.
//! If one of them is another at a start, the data directory was promoted, restored or copied. Its original may
//! still run, and nothing tells either of the other; so the log says what has to be seen to.

use std::{
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
    Marks, Time,
    record::{self, Origin, Record},
};

use crate::{
    generator::{shared::Shared, system::System},
    pg::{
        datum::Timestamp,
        errors::Error,
        wait::{Event, nap},
    },
};

/// The file's length: two records.
const WHOLE: u64 = 2 * record::LENGTH as u64;

/// How long a backend that renews early keeps the others from trying, in milliseconds.
const CLAIM: u64 = 200;

/// How long to wait for another writer before looking again, in microseconds: at first, and at most.
const BUSY: [u64; 2] = [500, 50_000];

/// Takes up where an earlier run ended. Does nothing if another backend has done so.
pub(crate) fn resume<S: System, const N: usize>(system: S, shared: &Shared<S::Time, N>) -> Result<(), Error> {
    let file = open::<S>()?;
    let mut busy = Busy::default();
    while !try_lock::<S>(&file)? {
        busy.wait();
    }
    if shared.ready.load(Acquire) {
        return Ok(());
    }
    let now = system.now().map_err(Error::clock_outside_epoch::<S>)?;
    let mut content = Vec::new();
    // What follows is none of ours, nor need it have an end.
    (&file)
        .take(WHOLE)
        .read_to_end(&mut content)
        .map_err(|error| Error::marks_io(S::MARKS, "read", &error))?;
    let record = match Record::newest(&content) {
        Some(record) => record,
        // No ID was handed out before the first record was complete: who was to write it died, or met a
        // full disk, and a crash of the machine may leave zeros.
        None if content.iter().all(|byte| matches!(byte, 0 | b' ')) => {
            Record { system: identifier(), limits: [now; 2], serial: 0, current: false, origin: None }
        }
        None => return Err(Error::marks_corrupted(S::MARKS)),
    };
    let here = origin(system, &file)?;
    let floor = [
        // Another system's marks say nothing of this one's IDs, which end now at the latest.
        (record.system != identifier()).then_some(now),
        last_replayed_commit(system),
    ];
    let limits = record.limits.map(|limit| floor.iter().flatten().fold(limit, |a, b| a.max(*b)));
    shared.marks.restore(limits, record.current);
    shared.serial.store(record.serial, Relaxed);
    shared.resumed.store(now.get(), Relaxed);
    for slot in &shared.slots {
        slot.resume(&shared.marks);
    }
    shared.ready.store(true, Release);
    if let Some(notice) = copy_notice(system, &record, &here) {
        notice.log();
    }
    // The clock was no further behind the mark than that when it was written.
    let last = record.limits[record.current as usize].get().saturating_sub(Marks::<S::Time>::AHEAD);
    let micros = system.unix_micros(S::Time::from_bits(last)) - system.unix_micros(now);
    if record.system == identifier() && micros > 0 {
        Error::clock_went_back_while_down::<S>(micros).log();
    }
    Ok(())
}

/// What to say of a data directory that is no longer where, or what, it was when it made its last ID, unless
/// its settings have changed so that it can't repeat one.
fn copy_notice<S: System>(system: S, record: &Record<S::Time>, here: &Origin) -> Option<Error> {
    match &record.origin {
        Some(_) if record.system != identifier() => None,
        Some(origin) if origin.is_same_place(here) || !origin.overlaps(here) => None,
        Some(origin) => Some(Error::copied::<S>(origin, here)),
        // A standby from before the first ID, which its primary has made since.
        None if record.serial == 0 && here.wal_timeline > 1 && last_replayed_commit(system).is_some() => {
            Some(Error::promoted::<S>(here.wal_timeline))
        }
        None => None,
    }
}

/// What a record says of this file, in this server.
fn origin<S: System>(system: S, file: &File) -> Result<Origin, Error> {
    let number = file.metadata().map_err(|error| Error::marks_io(S::MARKS, "stat", &error))?.ino();
    // SAFETY: reads a number that does not change after recovery, during which nobody generates.
    let wal_timeline = unsafe { pg_sys::GetWALInsertionTimeLine() };
    system.origin(wal_timeline, number)
}

/// The tick of the last commit that recovery replayed: after a promotion, the old primary's IDs reach up
/// to there, whatever the marks of an old backup say. PostgreSQL keeps no such time when it recovers from a
/// crash, where the marks are the server's own.
fn last_replayed_commit<S: System>(system: S) -> Option<S::Time> {
    // SAFETY: reads a time from shared memory; 0 if there was no recovery.
    let time = Timestamp(unsafe { pg_sys::GetLatestXTime() });
    if time.0 == 0 { None } else { system.ceil(time.unix_micros()).ok() }
}

fn identifier() -> u64 {
    // SAFETY: reads a number that never changes.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// Raises the mark of a timeline to `now` and beyond: by writing it, or by waiting for who does.
pub(crate) fn renew<S: System, const N: usize>(
    system: S,
    shared: &Shared<S::Time, N>,
    tick_tock: bool,
    now: S::Time,
) -> Result<(), Error> {
    let file = open::<S>()?;
    let mut busy = Busy::default();
    while shared.marks.limit(tick_tock) < now {
        if try_lock::<S>(&file)? {
            write(system, shared, &file, tick_tock, now)?;
        } else {
            busy.wait();
        }
    }
    Ok(())
}

/// Waits for another writer: briefly at first, since a write is short, then longer, since its disk has
/// stopped.
struct Busy(u64);

impl Default for Busy {
    fn default() -> Self {
        Self(BUSY[0])
    }
}

impl Busy {
    fn wait(&mut self) {
        nap(Event::Marks, self.0);
        self.0 = (self.0 * 2).min(BUSY[1]);
    }
}

/// Raises the mark of a timeline before anyone has to wait for it, unless another backend is at it. A
/// failure is logged only: there is still time, and the next one tries again.
pub(crate) fn renew_early<S: System, const N: usize>(
    system: S,
    shared: &Shared<S::Time, N>,
    tick_tock: bool,
    now: S::Time,
) {
    let millis = system.unix_micros(now) as u64 / 1000;
    let claim = shared.renewing.load(Relaxed);
    // A claim from far ahead is one from before the clock went back.
    if (millis..=millis + CLAIM).contains(&claim) {
        return;
    }
    if shared.renewing.compare_exchange(claim, millis + CLAIM, Relaxed, Relaxed).is_err() {
        return;
    }
    let result = open::<S>().and_then(|file| {
        if try_lock::<S>(&file)? { write(system, shared, &file, tick_tock, now) } else { Ok(()) }
    });
    if let Err(error) = result {
        error.log();
    }
}

fn open<S: System>() -> Result<File, Error> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        // As PostgreSQL's own files; the postmaster has set the mask for the group.
        .mode(0o660)
        .open(S::MARKS)
        .map_err(|error| Error::marks_io(S::MARKS, "open", &error))
}

/// Closing the file releases the lock, and so does the end of the process.
fn try_lock<S: System>(file: &File) -> Result<bool, Error> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(Error::marks_io(S::MARKS, "lock", &error)),
    }
}

/// Writes marks further ahead, makes sure that they are on disk, then lets them count. For a holder of
/// the lock.
fn write<S: System, const N: usize>(
    system: S,
    shared: &Shared<S::Time, N>,
    file: &File,
    tick_tock: bool,
    now: S::Time,
) -> Result<(), Error> {
    if !shared.marks.due(tick_tock, now) {
        return Ok(());
    }
    let record = Record {
        serial: shared.serial.load(Relaxed) + 1,
        limits: shared.marks.ahead(tick_tock, now),
        current: shared.marks.current(),
        system: identifier(),
        origin: Some(origin(system, file)?),
    };
    put(file, &record).map_err(|error| Error::marks_io(S::MARKS, "write", &error))?;
    shared.serial.store(record.serial, Relaxed);
    shared.marks.raise(record.limits);
    Ok(())
}

fn put(file: &File, record: &Record<impl Time>) -> io::Result<()> {
    let length = file.metadata()?.len();
    let is_new = length < WHOLE;
    if is_new {
        // Both places at once, so that later writes need no more room; what there is stays.
        file.write_all_at(&[b' '; WHOLE as usize][length as usize..], length)?;
    }
    // Who made the file may have died before its name was on disk.
    let is_new = is_new || record.serial <= 2;
    file.write_all_at(&record.encode(), record.offset())?;
    // SAFETY: plain calls, which honour the setting fsync.
    let synced = unsafe {
        if is_new {
            pg_sys::fsync_fname(c".".as_ptr(), true);
            pg_sys::pg_fsync(file.as_raw_fd())
        } else {
            pg_sys::pg_fdatasync(file.as_raw_fd())
        }
    };
    if synced == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
