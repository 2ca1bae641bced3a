//! What a backend does for the protocol of the core: the file of the marks, such as `sno.marks` in the data directory,
//! the clock and the waits.

use std::{
    ffi::c_int,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _},
    os::{
        fd::AsRawFd as _,
        unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    },
    sync::OnceLock,
    time::Duration,
};

use pgrx::pg_sys;
use sno_core::{
    Epoch,
    record::Machine,
    server::{self, Disk, Host, Notice, Stat, Wait},
};

use crate::{
    generator::{errors, max_clock_wait::max_clock_wait, scheme::Scheme},
    pg::{
        datum::Timestamp,
        server::{database_exists, host_name, monotonic, random, system_identifier},
        wait::nap,
    },
};

/// What the kernel has drawn when it started.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The file of a scheme's marks, for a backend and its settings.
pub type MarksFile<S, const SLOTS: usize> =
    server::MarksFile<'static, <S as Scheme>::Tick, SLOTS, Backend<S>>;

/// A backend that generates IDs of a scheme.
#[derive(Clone, Copy)]
pub struct Backend<S>(pub S);

impl<S: Scheme> Host<S::Tick> for Backend<S> {
    #[inline(always)]
    fn epoch(&self) -> Epoch {
        self.0.epoch()
    }

    #[inline(always)]
    fn unix_micros(&self) -> i64 {
        Timestamp::now().unix_micros()
    }

    fn monotonic(&self) -> Duration {
        monotonic()
    }

    fn max_clock_wait(&self) -> u64 {
        max_clock_wait()
    }

    fn nap(&self, wait: Wait, micros: u64) {
        let event = match wait {
            Wait::Tick => c"SnoTick",
            Wait::Clock => c"SnoClock",
            Wait::Marks => c"SnoMarks",
        };
        nap(event, micros);
    }

    fn system_identifier(&self) -> u64 {
        system_identifier()
    }

    fn wal_timeline(&self) -> u32 {
        // SAFETY: reads a number that does not change after recovery, and nothing is generated during recovery.
        unsafe { pg_sys::GetWALInsertionTimeLine() }
    }

    fn machine(&self) -> Machine {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        // Elsewhere than on Linux there is no such file, and the name has to do.
        *MACHINE.get_or_init(|| Machine::new(host_name(), &fs::read(BOOT).unwrap_or_default()))
    }

    fn random(&self) -> io::Result<u64> {
        random().map(u64::from_ne_bytes).map_err(|_| io::Error::other("no random bits"))
    }

    fn has_database(&self, database: u32) -> bool {
        database_exists(database)
    }

    fn last_replayed_commit(&self) -> Option<i64> {
        // SAFETY: reads a time from shared memory; 0 if there was no recovery.
        let time = Timestamp(unsafe { pg_sys::GetLatestXTime() });
        (time.0 != 0).then(|| time.unix_micros())
    }

    fn log(&self, notice: Notice<S::Tick>) {
        errors::notice(self.0, notice).log();
    }
}

impl<S: Scheme> Disk for Backend<S> {
    type File = File;

    fn open(&self) -> io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // As for PostgreSQL's own files. The postmaster's umask decides whether the group has access.
            .mode(0o660)
            .open(S::MARKS)?;
        // A read from a pipe would wait, and not even a shutdown could end that.
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
    }

    fn try_lock(&self, file: &File) -> io::Result<bool> {
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn stat(&self, file: &File) -> io::Result<Stat> {
        let metadata = file.metadata()?;
        Ok(Stat { device: metadata.dev(), inode: metadata.ino(), length: metadata.len() })
    }

    fn read(&self, file: &File, length: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        file.take(length).read_to_end(&mut content)?;
        Ok(content)
    }

    fn write_at(&self, file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
        file.write_all_at(bytes, position)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        sync(pg_sys::pg_fdatasync, file)
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        sync(pg_sys::pg_fsync, file)
    }

    fn sync_directory(&self) -> io::Result<()> {
        // PostgreSQL's fsync_fname() would take the whole server down if the sync fails.
        sync(pg_sys::pg_fsync, &File::open(".")?)
    }
}

/// Calls a function of PostgreSQL that syncs a file, and does nothing if the setting `fsync` is off.
fn sync(by: unsafe fn(c_int) -> c_int, file: &File) -> io::Result<()> {
    // SAFETY: a descriptor that is open.
    if unsafe { by(file.as_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
