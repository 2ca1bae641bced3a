//! A server of the tests: its disk, its clock, its processes.

use std::{
    cell::Cell,
    io,
    num::NonZeroU32,
    // Not loom's: it would try every order in which threads let go of the disk.
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use sno_core::{
    Epoch, Prefix, SequenceRange, Tick,
    record::{LENGTH, Lowerings, Machine, Origin, Place, Record},
    server::{Disk, Host, MarksFile, Notice, Session, Shared, Stat, Wait},
};

#[cfg(loom)]
use loom::sync::atomic::AtomicBool as Lock;
#[cfg(not(loom))]
use std::sync::atomic::AtomicBool as Lock;

/// A server, its disk and its clock.
pub(crate) struct Server {
    pub(crate) shared: Shared<Tick, 1>,
    pub(crate) file: Mutex<Vec<u8>>,
    /// The serials of the records that were written, in this order.
    pub(crate) serials: Mutex<Vec<u64>>,
    pub(crate) lock: Lock,
    pub(crate) now: AtomicU64,
    pub(crate) syncs_fail: AtomicBool,
    /// How many backward steps were noticed at a start.
    pub(crate) steps_while_down: AtomicU64,
    /// How many copies.
    pub(crate) copies: AtomicU64,
    /// Microseconds that processes have waited.
    pub(crate) waited: AtomicU64,
    /// The tick of the last commit that was replayed before a promotion.
    pub(crate) replayed: Option<u64>,
    /// Where it runs, the random bits that it gets, and whether it was given a number.
    pub(crate) place: Place,
    pub(crate) random: u64,
    pub(crate) is_given: bool,
    pub(crate) system_identifier: u64,
    /// What others do before a process gets the lock, and before it reads the clock.
    pub(crate) meanwhile: fn(&Self),
    pub(crate) before_reading: fn(&Self),
    /// What they do after that.
    pub(crate) after_reading: fn(&Self),
    /// The longest that a process has waited for the lock, in microseconds.
    pub(crate) longest_nap: AtomicU64,
}

pub(crate) const RANGE: SequenceRange = match SequenceRange::new(0, 3) {
    Ok(range) => range,
    Err(_) => unreachable!(),
};

pub(crate) const PLACE: Place =
    Place { wal_timeline: 1, machine: Machine { host: 3, boot: NonZeroU32::new(4) }, device: 5, file: 7 };

/// The number in the file.
pub(crate) const NUMBER: Prefix = Prefix::drawn(1234, None);

pub(crate) fn tick(number: u64) -> Tick {
    Tick::new(number).unwrap()
}

impl Server {
    /// Whose clock reads `now`, with a file that has this record.
    pub(crate) fn new(now: u64, serial: u64, limits: [u64; 2]) -> Self {
        let origin = Origin::new(PLACE, Prefix::default(), RANGE);
        let limits = limits.map(tick);
        let record = Record {
            serial,
            limits,
            current: false,
            horizon: limits[0].min(limits[1]),
            lowerings: Lowerings::NONE,
            number: NUMBER,
            system_identifier: 1,
            origin,
        };
        let mut file = vec![b' '; 2 * LENGTH];
        if serial > 0 {
            file[record.offset() as usize..][..LENGTH].copy_from_slice(&record.encode());
        }
        Self {
            shared: Shared::default(),
            file: Mutex::new(file),
            serials: Mutex::default(),
            lock: Lock::new(false),
            now: AtomicU64::new(now),
            syncs_fail: AtomicBool::new(false),
            steps_while_down: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            replayed: None,
            place: PLACE,
            random: NUMBER.value().into(),
            is_given: true,
            system_identifier: 1,
            meanwhile: |_| (),
            before_reading: |_| (),
            after_reading: |_| (),
            longest_nap: AtomicU64::new(0),
        }
    }

    pub(crate) fn marks_file(&self) -> MarksFile<'_, Tick, 1, Process<'_>> {
        let partitions = Prefix::default().partitions();
        let partitions = [*partitions.start(), *partitions.end()];
        let partitions = self.is_given.then_some(partitions);
        MarksFile { host: Process(self), shared: &self.shared, partitions, range: RANGE }
    }

    pub(crate) fn start(&self) -> Session<'_, Tick, 1, Process<'_>> {
        Session::start(self.marks_file(), 7).unwrap()
    }

    pub(crate) fn record(&self) -> Record {
        Record::newest(&self.file.lock().unwrap()).unwrap()
    }

    pub(crate) fn marks(&self) -> [u64; 2] {
        let marks = [false, true].map(|side| self.shared.marks.limit(side).get());
        assert_eq!(self.record().limits.map(Tick::get), marks);
        marks
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Process<'a>(&'a Server);

/// An open file, and whether its process has locked it.
pub(crate) struct File<'a>(&'a Lock, Cell<bool>);

impl Drop for File<'_> {
    fn drop(&mut self) {
        if self.1.get() {
            self.0.store(false, Release);
        }
    }
}

impl Host<Tick> for Process<'_> {
    fn epoch(&self) -> Epoch {
        Epoch::SNO
    }

    fn unix_micros(&self) -> i64 {
        (self.0.before_reading)(self.0);
        let now = tick(self.0.now.load(Relaxed)).unix_micros();
        (self.0.after_reading)(self.0);
        now
    }

    /// A tick is a second, so that each pause of a wait is over at the next one.
    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.now.load(Relaxed)) + Duration::from_micros(self.0.waited.load(Relaxed))
    }

    fn max_clock_wait(&self) -> u64 {
        0
    }

    fn nap(&self, wait: Wait, micros: u64) {
        self.0.waited.fetch_add(micros, Relaxed);
        assert_ne!(wait, Wait::Clock);
        self.0.longest_nap.fetch_max(micros, Relaxed);
        #[cfg(loom)]
        loom::thread::yield_now();
    }

    fn system_identifier(&self) -> u64 {
        self.0.system_identifier
    }

    fn wal_timeline(&self) -> u32 {
        self.0.place.wal_timeline
    }

    fn machine(&self) -> Machine {
        self.0.place.machine
    }

    fn random(&self) -> io::Result<u64> {
        Ok(self.0.random)
    }

    fn last_replayed_commit(&self) -> Option<i64> {
        self.0.replayed.map(|replayed| tick(replayed).unix_micros())
    }

    fn has_database(&self, _: u32) -> bool {
        // It can wait for others, as nobody may who has the lock.
        assert!(cfg!(loom) || !self.0.lock.load(Relaxed));
        true
    }

    fn log(&self, notice: Notice<Tick>) {
        let is_counted = matches!(notice, Notice::ClockWentBackWhileDown(_));
        self.0.steps_while_down.fetch_add(u64::from(is_counted), Relaxed);
        let is_copy = matches!(notice, Notice::Copied { .. });
        self.0.copies.fetch_add(u64::from(is_copy), Relaxed);
    }
}

impl<'a> Disk for Process<'a> {
    type File = File<'a>;

    fn open(&self) -> io::Result<File<'a>> {
        Ok(File(&self.0.lock, Cell::new(false)))
    }

    fn try_lock(&self, file: &File<'a>) -> io::Result<bool> {
        (self.0.meanwhile)(self.0);
        file.1.set(file.1.get() || file.0.compare_exchange(false, true, Acquire, Relaxed).is_ok());
        Ok(file.1.get())
    }

    fn stat(&self, _: &File<'a>) -> io::Result<Stat> {
        let Place { device, file: inode, .. } = self.0.place;
        Ok(Stat { device, inode, length: self.0.file.lock().unwrap().len() as u64 })
    }

    fn read(&self, _: &File<'a>, _: u64) -> io::Result<Vec<u8>> {
        Ok(self.0.file.lock().unwrap().clone())
    }

    fn write_at(&self, _: &File<'a>, bytes: &[u8], position: u64) -> io::Result<()> {
        self.0.serials.lock().unwrap().push(<Record>::decode(bytes).unwrap().serial);
        self.0.file.lock().unwrap()[position as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync_data(&self, _: &File<'a>) -> io::Result<()> {
        if self.0.syncs_fail.load(Relaxed) { Err(io::Error::other("EIO")) } else { Ok(()) }
    }

    fn sync_all(&self, file: &File<'a>) -> io::Result<()> {
        self.sync_data(file)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}
