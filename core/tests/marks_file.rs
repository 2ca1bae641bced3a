//! Sessions of a server, with the file of the marks on a disk in memory: what a start makes of it, what its writers leave to
//! each other, and when who waits for rows looks for them. Under loom also processes that start at the same time, and one that waits
//! beside one that writes, in the orders that loom tries, weak memory included:
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
    Epoch, Prefix, SequenceRange, Step, Tick, Watch,
    record::{LENGTH, Lowering, Origin, Record},
    server::{Disk, Host, MarksFile, Notice, Session, Shared, Wait},
};

#[cfg(loom)]
use {
    loom::sync::atomic::{AtomicBool as Lock, AtomicU32},
    sno_core::{Announcement, Marks, Member, Transaction},
    std::sync::Arc,
};
#[cfg(not(loom))]
use {sno_core::Marks, std::sync::atomic::AtomicBool as Lock};

/// A server, its disk and its clock.
struct Server {
    shared: Shared<Tick, 1>,
    file: Mutex<Vec<u8>>,
    /// The serials of the records that were written, in this order.
    serials: Mutex<Vec<u64>>,
    lock: Lock,
    now: AtomicU64,
    syncs_fail: AtomicBool,
    /// How many backward steps were noticed at a start.
    steps_while_down: AtomicU64,
    /// Microseconds that processes have waited.
    waited: AtomicU64,
    /// The tick of the last commit that was replayed before a promotion.
    replayed: Option<u64>,
    /// What others do before a process gets the lock, and before it reads the clock.
    meanwhile: fn(&Self),
    before_reading: fn(&Self),
    /// What they do after that.
    after_reading: fn(&Self),
    /// The longest that a process has waited for the lock, in microseconds.
    longest_nap: AtomicU64,
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
        let limits = limits.map(tick);
        let record = Record {
            serial,
            limits,
            current: false,
            horizon: limits[0].min(limits[1]),
            lowering: Lowering::NONE,
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
            waited: AtomicU64::new(0),
            replayed: None,
            meanwhile: |_| (),
            before_reading: |_| (),
            after_reading: |_| (),
            longest_nap: AtomicU64::new(0),
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
        1
    }

    fn wal_timeline(&self) -> u32 {
        1
    }

    fn last_replayed_commit(&self) -> Option<i64> {
        self.0.replayed.map(|replayed| tick(replayed).unix_micros())
    }

    fn has_database(&self, _: u32) -> bool {
        true
    }

    fn log(&self, notice: Notice<Tick>) {
        let is_counted = matches!(notice, Notice::ClockWentBackWhileDown(_));
        self.0.steps_while_down.fetch_add(u64::from(is_counted), Relaxed);
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
            assert!(server.shared.horizons.highest_floor() == tick(900), "the floor is not set");
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

/// A step of a wait without a margin: below which tick it looks.
fn step(
    session: &Session<'_, Tick, 1, Process<'_>>,
    watch: &mut Watch,
    held: impl FnOnce() -> Option<Tick>,
) -> Option<Tick> {
    match session.step(watch, held, || (None, false)).unwrap() {
        Step::Look(_, below) => {
            // The look takes no time.
            watch.rest(Duration::from_secs(below.get()));
            Some(below)
        }
        _ => None,
    }
}

/// A wait without a margin and an end.
const WATCH: Watch = Watch::new(0, Duration::MAX);

/// A process that waits, beside one whose row has a key of the same time: in whatever order their loads and stores are seen, it
/// has looked by the first step after the writer's end.
#[cfg(loom)]
#[test]
fn a_wait_beside_a_writer() {
    let wait = || {
        let server = Arc::new(Server::new(1000, 8, [900, 950]));
        // The writer's announcement, the number of its transaction, and whether its row is visible.
        let of_writer = Arc::new((Announcement::default(), AtomicU32::new(0), Lock::new(false)));
        let session = server.start();
        let steps = |of_writer: Arc<(Announcement, AtomicU32, Lock)>, server: Arc<Server>| {
            move |mut watch: Watch, times: &[u64]| {
                let (announcement, number, visible) = &*of_writer;
                let session = server.start();
                let look = |now: &u64| {
                    server.now.store(*now, Relaxed);
                    let held = || announcement.of(|| number.load(Acquire));
                    step(&session, &mut watch, held).map(|reach| (reach, visible.load(Acquire)))
                };
                let looks: Vec<_> = times.iter().map(look).collect();
                (watch, looks)
            }
        };
        let steps = steps(of_writer.clone(), server.clone());
        // Who only loads runs last at first: of two operations, loom tries the other order if the second is the load.
        let waiter = loom::thread::spawn({
            let steps = steps.clone();
            move || steps(WATCH, &[1000, 1001])
        });
        let (announcement, number, visible) = &*of_writer;
        let (transaction, horizon) = (Transaction::new(), session.horizon_of(1).unwrap());
        number.store(7, Release);
        let member = Member { horizon: &horizon, announcement, number: 7, is_shared: false };
        let tick = session.next_of(&transaction, &member).unwrap().tick();
        visible.store(true, Release);
        number.store(0, Release);
        let (watch, looks) = waiter.join().unwrap();
        let (_, last) = steps(watch, &[1002]);
        let looks = [looks, last].concat();
        let finds = |&(reach, visible): &(Tick, bool)| visible && tick < reach;
        assert!(looks.iter().flatten().any(finds), "a row of {tick:?}, and looks {looks:?}");
    };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(wait);
}

#[cfg(not(loom))]
mod one_process {
    use proptest::prelude::*;
    use sno_core::{Announcement, Member, Transaction, server::Error};

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
            assert_eq!(server.shared.horizons.highest_floor(), tick(raised[0]));
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
                server.marks_file().secure(0, tick(1000), tick(1000)).unwrap();
                assert_eq!(server.record().horizon, tick(1000));
            }
            assert_eq!(server.marks(), [if early { 1500 } else { 900 }, 3000]);
        }
    }

    fn step(
        session: &Session<'_, Tick, 1, Process<'_>>,
        watch: &mut Watch,
        held: Option<u64>,
    ) -> Option<u64> {
        super::step(session, watch, || held.map(tick)).map(Tick::get)
    }

    /// What has been looked for is not looked for again, as long as nobody generates or holds anything back.
    #[test]
    fn a_wait_looks_no_more_often_than_it_has_to() {
        let server = Server::new(1000, 8, [900; 2]);
        let (session, mut watch) = (server.start(), WATCH);
        let mut looks = |held: fn(u64) -> Option<u64>| -> Vec<u64> {
            let at = |now| {
                server.now.store(now, Relaxed);
                step(&session, &mut watch, held(now))
            };
            let first = server.now.load(Relaxed) + 1;
            (first..first + 1000).filter_map(at).collect()
        };
        // At all rows every 1250 ticks.
        assert_eq!(looks(|_| None), [1001]);
        session.next().unwrap();
        assert_eq!(looks(|_| None), [2001, 2251]);
        // That of a transaction which is open for a while.
        session.next().unwrap();
        assert_eq!(looks(|now| Some(3000).filter(|_| now < 3200)), [3200, 3501]);
    }

    /// An ID that another process takes while this one reads the clock.
    #[test]
    fn a_wait_misses_no_id_that_is_taken_meanwhile() {
        let mut server = Server::new(1000, 8, [900; 2]);
        server.before_reading = |server| {
            if server.now.load(Relaxed) == 1001 {
                server.now.store(1002, Relaxed);
                server.shared.slots[0]
                    .claim_from(tick(1001), &|| Ok(tick(1001)), RANGE, &Marks::unlimited())
                    .unwrap();
            }
        };
        let (session, mut watch) = (server.start(), WATCH);
        let steps = [(1000, None), (1001, Some(1001)), (1002, Some(1002))].map(|(now, held)| {
            server.now.store(now, Relaxed);
            step(&session, &mut watch, held)
        });
        // When its transaction has ended, another one is open, which may be so for long.
        assert_eq!(steps[2], Some(1002), "{steps:?}");
    }

    /// IDs of before a step back are ahead of the clock: they are looked for when it has come to them again.
    #[test]
    fn a_wait_looks_for_ids_of_the_side_that_was_left() {
        let server = Server::new(1000, 8, [900, 100]);
        let (session, mut watch) = (server.start(), WATCH);
        let at = |now| server.now.store(now, Relaxed);
        session.next().unwrap();
        at(700);
        assert!(session.next().unwrap().tick_tock());
        assert_eq!(step(&session, &mut watch, None), Some(700));
        at(800);
        assert_eq!(step(&session, &mut watch, None), Some(800));
        at(1001);
        assert_eq!(step(&session, &mut watch, None), Some(1001));
        at(1002);
        assert_eq!(step(&session, &mut watch, None), None);
    }

    /// While another process writes, which takes long.
    #[test]
    fn waits_for_a_writer_are_short() {
        let mut server = Server::new(1000, 8, [900; 2]);
        server.lock.store(true, Relaxed);
        server.meanwhile = |server| {
            if server.serials.lock().unwrap().len() > 100 {
                server.lock.store(false, Relaxed);
            }
            server.serials.lock().unwrap().push(0);
        };
        server.start();
        let longest = server.longest_nap.load(Relaxed);
        assert!((1_000..=100_000).contains(&longest), "{longest} us");
    }

    /// A server with horizons of two databases, whose clock was fast by 9000 ticks: readers were told of the future.
    fn fast() -> Server {
        let server = Server::new(1000, 8, [900, 800]);
        let session = server.start();
        server.now.store(10_000, Relaxed);
        session.next().unwrap();
        for database in [1, 2] {
            assert_eq!(horizon(&session, database, 250), tick(9750));
        }
        assert_eq!((server.marks(), server.record().horizon), ([10_500, 800], tick(10_000)));
        server
    }

    type Generator<'a> = Session<'a, Tick, 1, Process<'a>>;

    fn horizon(session: &Generator<'_>, database: u32, margin: u64) -> Tick {
        session.horizon(&session.horizon_of(database).unwrap(), margin, || None, || None).unwrap()
    }

    fn lowering(to: u64, from: u64) -> Option<Lowering> {
        Some(Lowering { to: tick(to), from: tick(from) })
    }

    /// The tick and the side of an ID of a transaction of a database, or until when it would have to wait.
    fn id(server: &Server, session: &Generator<'_>, database: u32, now: u64) -> Result<(u64, bool), u64> {
        server.now.store(now, Relaxed);
        let (transaction, announcement) = (Transaction::new(), Announcement::default());
        let horizon = session.horizon_of(database).unwrap();
        let member = Member { horizon: &horizon, announcement: &announcement, number: 7, is_shared: false };
        match session.next_of(&transaction, &member) {
            Ok(stamp) => Ok((stamp.tick().get(), stamp.tick_tock())),
            Err(Error::ClockWentBack { until, is_told, .. }) => {
                assert!(is_told);
                Err(Tick::floor(until).unwrap().get())
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The clock was fast, horizons were read, and it was corrected: one call, and all goes on, also after a restart.
    #[test]
    fn horizons_are_lowered() {
        let mut server = fast();
        let session = server.start();
        assert_eq!(id(&server, &session, 1, 1100), Err(9750));
        assert_eq!(session.lower_horizons().unwrap(), lowering(1100, 10_000));
        assert_eq!([1, 2, 3].map(|database| id(&server, &session, database, 1104)), [Ok((1104, true)); 3]);
        // The marks of both sides stay above all their IDs.
        assert_eq!((server.marks(), server.record().horizon), ([10_500, 1604], tick(1100)));
        assert_eq!([4, 0].map(|margin| horizon(&session, 1, margin)), [1100, 1104].map(tick));
        // Once is enough, but who calls it later, in another database, is told where the first call was.
        server.now.store(1200, Relaxed);
        let written = server.record().serial;
        assert_eq!(session.lower_horizons().unwrap(), lowering(1100, 10_000));
        assert_eq!(server.record().serial, written);
        // And it is known after a restart, which has nothing to say.
        server.shared = Shared::default();
        server.now.store(2000, Relaxed);
        let session = server.start();
        assert_eq!(server.steps_while_down.load(Relaxed), 0);
        assert_eq!(session.lower_horizons().unwrap(), lowering(1100, 10_000));
        assert_eq!(id(&server, &session, 1, 2000), Ok((2000, true)));
        server.now.store(10_001, Relaxed);
        assert_eq!(session.lower_horizons().unwrap(), None);
        assert_eq!(id(&server, &session, 1, 10_600), Ok((10_600, true)));
    }

    /// Nothing is lowered that is not ahead of the clock; and what could not be written is not lowered.
    #[test]
    fn horizons_that_stay() {
        let server = fast();
        let session = server.start();
        assert_eq!(session.lower_horizons().unwrap(), None);
        server.now.store(1100, Relaxed);
        server.syncs_fail.store(true, Relaxed);
        assert!(session.lower_horizons().is_err());
        server.syncs_fail.store(false, Relaxed);
        assert_eq!(id(&server, &session, 1, 1100), Err(9750));
    }

    /// The clock was slow when they were lowered, then fast once more: feeds that have not gone back go back as far as the first time.
    #[test]
    fn horizons_are_lowered_again() {
        let server = fast();
        let session = server.start();
        for (read_at, corrected_to, lowered) in [
            (None, 1100, lowering(1100, 10_000)),
            (Some(5000), 1300, lowering(1100, 10_000)),
            (Some(20_000), 1400, lowering(1100, 20_000)),
            // After the time that it was lowered from, nobody knows of it any more.
            (Some(30_000), 21_000, lowering(21_000, 30_000)),
        ] {
            if let Some(at) = read_at {
                server.now.store(at, Relaxed);
                horizon(&session, 1, 250);
            }
            server.now.store(corrected_to, Relaxed);
            assert_eq!(session.lower_horizons().unwrap(), lowered, "{corrected_to}");
            assert_eq!(session.shared().horizons.highest_floor(), tick(corrected_to));
        }
    }

    /// A reader during whose third look at transactions the horizons are lowered: it was told of the future, and begins again.
    #[test]
    fn a_horizon_of_an_earlier_generation_is_not_returned() {
        let server = fast();
        let session = server.start();
        server.now.store(12_000, Relaxed);
        let looks = Cell::new(0);
        let look = || {
            if looks.replace(looks.get() + 1) == 2 {
                server.now.store(1100, Relaxed);
                session.lower_horizons().unwrap();
            }
            None
        };
        let of_database = session.horizon_of(1).unwrap();
        assert_eq!(session.horizon(&of_database, 0, look, look).unwrap(), tick(1100));
        assert_eq!((server.record().horizon, of_database.floor()), (tick(1100), tick(1100)));
        // One that has not written its mark yet.
        server.marks_file().secure(0, tick(9000), tick(9000)).unwrap();
        assert_eq!(server.record().horizon, tick(1100));
    }

    /// After a reader has read the fast clock, that is corrected, and the horizons are lowered. What it has read does not count.
    #[test]
    fn a_reading_of_an_earlier_generation_raises_nothing() {
        let mut server = fast();
        server.start();
        server.now.store(12_000, Relaxed);
        server.after_reading = |server| {
            if server.now.swap(1100, Relaxed) > 1100 {
                server.marks_file().lower().unwrap();
            }
        };
        let session = server.start();
        assert_eq!(horizon(&session, 1, 0), tick(1100));
        assert_eq!(session.shared().horizons.highest_floor(), tick(1100));
    }

    /// The wait for a tick ends, by another clock, if this one stands still. While it moves, it may be long.
    #[test]
    fn a_clock_that_stands_still() {
        let server = Server::new(1000, 8, [900, 800]);
        let session = server.start();
        for tick in [1000, 1001] {
            server.now.store(tick, Relaxed);
            for number in 0..4 {
                assert_eq!(session.next().unwrap().sequence(), number);
            }
        }
        assert!(matches!(session.next(), Err(Error::ClockStandsStill { micros: 2_000_001..2_010_000 })));
        assert!((2_000_001..2_010_000).contains(&server.waited.load(Relaxed)));
    }
}
