//! The file of the marks, on a disk in memory: what a start makes of it, and what its writers leave to each other. Under
//! loom also processes that start at the same time, in the orders that loom tries, weak memory included:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p sno-core --features marks --release --test marks_file
//! ```
#![cfg(feature = "marks")]

use std::{
    cell::Cell,
    io,
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
    record::{LENGTH, Origin, Record},
    server::{Disk, Host, MarksFile, Notice, Session, Shared, Wait},
};

#[cfg(not(loom))]
use std::sync::atomic::AtomicBool as Lock;
#[cfg(loom)]
use {loom::sync::atomic::AtomicBool as Lock, sno_core::Marks, std::sync::Arc};

/// A server, its disk and its clock.
struct Server {
    shared: Shared<Tick, 1>,
    file: Mutex<Vec<u8>>,
    /// The serials of the records that were written, in this order.
    serials: Mutex<Vec<u64>>,
    lock: Lock,
    now: AtomicU64,
    syncs_fail: AtomicBool,
    /// The tick of the last commit that was replayed before a promotion.
    replayed: Option<u64>,
    /// What others do before a process gets the lock.
    meanwhile: fn(&Self),
}

const RANGE: SequenceRange = match SequenceRange::new(0, 3) {
    Ok(range) => range,
    Err(_) => unreachable!(),
};

fn tick(number: u64) -> Tick {
    Tick::new(number).unwrap()
}

impl Server {
    /// Whose clock reads `now`, with a file that has this record.
    fn new(now: u64, serial: u64, limits: [u64; 2]) -> Self {
        let origin = Origin::new(1, 7, Prefix::default(), RANGE);
        let record =
            Record { serial, limits: limits.map(tick), current: false, system_identifier: 1, origin };
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
            replayed: None,
            meanwhile: |_| (),
        }
    }

    fn marks_file(&self) -> MarksFile<'_, Tick, 1, Process<'_>> {
        let partitions = Prefix::default().partitions();
        let partitions = [*partitions.start(), *partitions.end()];
        MarksFile { host: Process(self), shared: &self.shared, partitions, range: RANGE }
    }

    fn start(&self) -> Session<'_, Tick, 1, Process<'_>> {
        Session::start(self.marks_file(), 7).unwrap()
    }

    fn record(&self) -> Record {
        Record::newest(&self.file.lock().unwrap()).unwrap()
    }

    fn marks(&self) -> [u64; 2] {
        let marks = [false, true].map(|side| self.shared.marks.limit(side).get());
        assert_eq!(self.record().limits.map(Tick::get), marks);
        marks
    }
}

#[derive(Clone, Copy)]
struct Process<'a>(&'a Server);

/// An open file, and whether its process has locked it.
struct File<'a>(&'a Lock, Cell<bool>);

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
        tick(self.0.now.load(Relaxed)).unix_micros()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn max_clock_wait(&self) -> u64 {
        0
    }

    fn nap(&self, wait: Wait, _: u64) {
        assert_eq!(wait, Wait::Marks);
        #[cfg(loom)]
        loom::thread::yield_now();
    }

    fn system_identifier(&self) -> u64 {
        1
    }

    fn wal_timeline(&self) -> u32 {
        1
    }

    fn last_replayed_commit(&self) -> Option<i64> {
        self.0.replayed.map(|replayed| tick(replayed).unix_micros())
    }

    fn log(&self, _: Notice<Tick>) {}
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

    fn stat(&self, _: &File<'a>) -> io::Result<(u64, u64)> {
        Ok((7, self.0.file.lock().unwrap().len() as u64))
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

/// Processes that start while nothing is ready: one of them reads the file, and the others find all that it has set.
#[cfg(loom)]
#[test]
fn processes_start_at_the_same_time() {
    let start = |now| {
        let server = Arc::new(Server::new(now, 8, [900, 950]));
        let live = |server: &Server| {
            let session = server.start();
            assert!(server.shared.horizons.floor(1) == tick(900), "the floor is not set");
            session.next().ok().map(|stamp| (stamp.tick().get(), stamp.sequence()))
        };
        let other = loom::thread::spawn({
            let server = server.clone();
            move || live(&server)
        });
        let mut stamps = [live(&server), other.join().unwrap()];
        stamps.sort_unstable();
        // What was read is written once more. Then one mark is raised; or the clock is before both.
        let is_after = now == 1000;
        assert_eq!(stamps, if is_after { [Some((1000, 0)), Some((1000, 1))] } else { [None; 2] });
        assert_eq!(*server.serials.lock().unwrap(), if is_after { vec![8, 9] } else { vec![8] });
        assert_eq!(server.marks(), [if is_after { 1000 + <Marks>::AHEAD } else { 900 }, 950]);
    };
    for now in [1000, 800] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(3));
        builder.check(move || start(now));
    }
}

#[cfg(not(loom))]
mod one_process {
    use proptest::prelude::*;
    use sno_core::server::Error;

    use super::*;

    proptest! {
        /// A line that is damaged in one place, with the checksum that no damage would have; and any bytes.
        #[test]
        fn a_record_that_is_read_would_be_written_so(
            at in 0..200_usize, less in 0..20_usize, more in "[0-9=+ -]{0,3}|.{0,9}", bytes: Vec<u8>,
        ) {
            let mut line: Vec<u8> = Server::new(1000, 8, [900; 2]).record().to_string().into();
            let at = at.min(line.len());
            line.splice(at..(at + less).min(line.len()), more.bytes());
            let checksum = format!(" crc32={:08x}", crc32fast::hash(&line));
            for page in [[&line, checksum.as_bytes(), &bytes].concat(), bytes] {
                if let Some(record) = <Record>::decode(&page) {
                    prop_assert!(record.encode().starts_with(&page[..record.to_string().len() + checksum.len()]));
                }
            }
        }
    }

    /// What is on the disk then is not known: the next record takes its place, and not that of the record before.
    #[test]
    fn a_record_that_is_not_synced_does_not_count() {
        let server = Server::new(1000, 8, [900; 2]);
        let session = server.start();
        server.syncs_fail.store(true, Relaxed);
        assert!(matches!(session.next(), Err(Error::Io { doing: "write", .. })));
        assert_eq!(server.shared.marks.limit(false), tick(900));
        server.syncs_fail.store(false, Relaxed);
        session.next().unwrap();
        assert_eq!(*server.serials.lock().unwrap(), [8, 9, 9]);
        assert_eq!(server.marks(), [1500, 900]);
    }

    /// Whether the file has a record or none, the old primary's IDs reach to two seconds after the last commit in the log.
    #[test]
    fn a_promotion_raises_what_is_lower() {
        for (serial, found, raised) in
            [(0, [0, 0], [2500, 2500]), (8, [900, 3000], [2500, 3000]), (8, [3000, 4000], [3000, 4000])]
        {
            let server = Server { replayed: Some(2000), ..Server::new(1990, serial, found) };
            server.start();
            assert_eq!(server.marks(), raised);
            assert_eq!(server.shared.horizons.floor(1), tick(raised[0]));
            assert!(server.shared.slots[0].state().tick >= tick(raised[0]));
        }
    }

    #[test]
    fn without_marks_of_this_cluster_they_are_now() {
        let server = Server::new(1000, 0, [0; 2]);
        server.start();
        assert_eq!((server.marks(), &*server.serials.lock().unwrap()), ([1000; 2], &vec![1]));
    }

    #[test]
    fn a_mark_is_renewed_early_after_a_step_back() {
        let server = Server::new(10_300, 8, [10_500, 9000]);
        server.start();
        let renew = |fails, side, now| {
            server.syncs_fail.store(fails, Relaxed);
            server.marks_file().renew_early(side, tick(now));
            [false, true].map(|side| server.shared.marks.limit(side).get())
        };
        assert_eq!(renew(true, false, 10_300), [10_500, 9000]);
        // For 200 ms, others leave it to the process that has tried.
        assert_eq!(renew(false, false, 10_349), [10_500, 9000]);
        server.lock.store(true, Relaxed);
        assert_eq!(renew(false, false, 10_400), [10_500, 9000]);
        server.lock.store(false, Relaxed);
        assert_eq!(renew(false, true, 9000), [10_500, 9500]);
        assert_eq!(renew(false, false, 10_301), [10_801, 9500]);
    }

    #[test]
    fn the_current_side_is_in_the_file() {
        let server = Server::new(1000, 8, [900, 100]);
        let session = server.start();
        // After the step back, the mark is raised before the other side is entered.
        for (now, side, in_file) in [(1000, false, false), (600, true, false), (900, true, true)] {
            server.now.store(now, Relaxed);
            assert_eq!((session.next().unwrap().tick_tock(), server.record().current), (side, in_file));
        }
    }

    /// A mark that another process writes before this one has the lock.
    #[test]
    fn marks_are_computed_under_the_lock() {
        for early in [true, false] {
            let mut server = Server::new(1000, 8, [900; 2]);
            server.start();
            server.meanwhile = |server| server.shared.marks.raise([tick(900), tick(3000)]);
            if early {
                server.marks_file().renew_early(false, tick(1000));
            } else {
                server.marks_file().secure(tick(1000), tick(1000)).unwrap();
            }
            assert_eq!(server.marks(), [if early { 1500 } else { 1000 }, 3000]);
        }
    }
}
