//! The horizon, in the orders of transactions and readers that loom tries, weak memory included:
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p sno-core --release --test loom_horizon
//! ```
//!
//! A reader asks for the horizon and then looks at what is visible. In the end, each row with a key below that horizon
//! has to be among what it saw.
#![cfg(loom)]

use std::{
    cell::{Cell, RefCell},
    // Not loom's: it would try every order in which threads let go of the world.
    sync::{Arc, Mutex},
};

use loom::{
    sync::atomic::{
        AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    thread,
};
use sno_core::{
    Announcement, ClaimError, Clock, DatabaseHorizon, Horizon, Horizons, Marks, Member, OutOfEpoch,
    SequenceRange, Slot, Tick, Transaction,
};

struct Found {
    generation: u64,
    horizon: u64,
    visible: u32,
    /// Whether a transaction held the horizon back.
    held: bool,
}

/// What all threads of one execution share.
struct World {
    scene: Scene,
    slot: Slot,
    marks: Marks,
    horizon: Horizon,
    announcements: [Announcement; 2],
    /// The tick in the lock of a prepared transaction, or 0. Like the rows it is released, as PostgreSQL's locks are.
    lock: AtomicU64,
    /// The number of each process's transaction, or 0. PostgreSQL sets it to 0 under the lock under which it makes the
    /// rows visible, and which every snapshot takes; here this is a release.
    transactions: [AtomicU32; 2],
    /// The rows that are visible, as bits.
    visible: AtomicU32,
    /// Where in the script the clock is. To step and to read it hands on nothing else.
    place: AtomicUsize,
    /// The rows of transactions that commit, and the ticks of their keys.
    drawn: Mutex<Vec<(u32, u64)>>,
    /// What readers found: a horizon and the rows that they saw then.
    found: Mutex<Vec<Found>>,
    /// Whether processes clear their announcements. If not, one ends with the transaction's number alone.
    clears: bool,
}

impl World {
    fn step(&self) {
        self.place.fetch_add(1, Relaxed);
    }

    fn clock(&self) -> u64 {
        self.scene.script[self.place.load(Relaxed)]
    }

    fn read(&self) {
        // Before the clock.
        let generation = self.horizon.generation();
        let to = Tick::new(self.clock() - self.scene.margin).unwrap();
        let each = || self.announcements.iter().zip(&self.transactions).take(self.scene.processes.len());
        let open = || each().filter_map(|(one, transaction)| one.of(|| transaction.load(Acquire))).min();
        let prepared = || Some(self.lock.load(Acquire)).filter(|tick| *tick > 0).and_then(Tick::new);
        let horizon = self.horizon.advance(generation, to, open, prepared);
        if self.horizon.generation() != generation {
            return;
        }
        let (horizon, held) = (horizon.get(), horizon < to);
        let visible = self.visible.load(Relaxed);
        self.found.lock().unwrap().push(Found { generation, horizon, visible, held });
    }

    /// The clock is corrected, and the floor is lowered to it.
    fn lower(&self) {
        self.step();
        self.horizon.lower(1, Tick::new(self.clock()).unwrap());
    }
}

/// A process that inserts rows.
struct Process {
    world: Arc<World>,
    /// Whose announcement and number it uses.
    number: usize,
    transaction: Cell<u32>,
    own: Transaction,
    /// Whether it has had a parallel worker.
    leads: Cell<bool>,
    /// What it read last from the clock.
    last: Cell<u64>,
    rows: RefCell<Vec<(u32, u64)>>,
}

impl Clock for Process {
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        self.last.set(self.world.clock());
        Ok(Tick::new(self.last.get()).unwrap())
    }
}

impl Process {
    fn new(world: &Arc<World>, number: usize) -> Self {
        Self {
            world: world.clone(),
            number,
            transaction: Cell::new(0),
            own: Transaction::new(),
            leads: Cell::new(false),
            last: Cell::new(world.scene.script[0]),
            rows: RefCell::default(),
        }
    }

    fn begin(&self, transaction: u32) {
        self.transaction.set(transaction);
        self.world.transactions[self.number].store(transaction, Release);
    }

    fn member(&self) -> Member<'_> {
        let World { horizon, announcements, .. } = &*self.world;
        let (number, is_shared) = (self.transaction.get(), self.leads.get());
        Member { horizon, announcement: &announcements[self.number], number, is_shared }
    }

    /// Takes an ID for a row, unless it would have to wait.
    fn insert(&self, row: u32) {
        let World { slot, marks, .. } = &*self.world;
        loop {
            match slot.claim_from(self.own.announced(), self, SequenceRange::default(), marks) {
                Ok(stamp) => return self.rows.borrow_mut().push((row, stamp.tick().get())),
                Err(ClaimError::TooEarly { now }) => {
                    if self.own.announce(&self.member(), now) > now {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn commit(&self) {
        self.show();
        self.end();
    }

    fn show(&self) {
        let rows = self.rows.take();
        self.world.visible.fetch_or(rows.iter().map(|(row, _)| 1 << row).sum(), AcqRel);
        self.world.drawn.lock().unwrap().extend(rows);
    }

    fn end(&self) {
        let World { transactions, announcements, clears, .. } = &*self.world;
        transactions[self.number].store(0, Release);
        self.own.end(self.leads.get(), || clears.then_some(&announcements[self.number]));
    }
}

/// A transaction of one row that is prepared.
fn prepare(process: &Process) {
    process.begin(1);
    process.insert(0);
    let tick = process.own.prepare(&process.member());
    process.world.lock.store(tick.map_or(0, Tick::get), Release);
    process.end();
}

/// The same, and it is committed then.
fn two_phases(process: &Process) {
    prepare(process);
    process.show();
    process.world.lock.store(0, Release);
}

type Act = fn(&Process);

#[derive(Clone, Copy)]
struct Scene {
    script: &'static [u64],
    margin: u64,
    processes: &'static [Act],
    readers: &'static [fn(&World)],
    /// How often threads may be interrupted in one execution; as often as can be if `None`.
    interruptions: Option<usize>,
}

const PLAIN: Scene =
    Scene { script: &[100, 101], margin: 0, processes: &[], readers: &[step_and_read], interruptions: None };

/// What happened at all, in any execution: a test that never got where it wanted proves nothing.
#[derive(Default, Debug)]
struct Seen {
    executions: usize,
    /// Horizons that were held back by a transaction.
    held: usize,
    /// Rows below a horizon, and others.
    below: usize,
    above: usize,
}

impl Scene {
    fn play(self) {
        let mut seen = Seen::default();
        for clears in [true, false] {
            self.play_with(clears, &mut seen);
        }
        println!("{seen:?}");
        assert!(seen.held > 0 && seen.below > 0 && seen.above > 0, "{seen:?}");
    }

    fn play_with(self, clears: bool, seen: &mut Seen) {
        let counts = Arc::new(Mutex::new(std::mem::take(seen)));
        let counted = counts.clone();
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(self.interruptions);
        builder.check(move || {
            let world = Arc::new(World {
                scene: self,
                slot: Slot::default(),
                marks: Marks::unlimited(),
                horizon: Horizon::default(),
                announcements: Default::default(),
                lock: AtomicU64::new(0),
                transactions: Default::default(),
                visible: AtomicU32::new(0),
                place: AtomicUsize::new(0),
                drawn: Mutex::default(),
                found: Mutex::default(),
                clears,
            });
            // Of a process that has gone: the slot is in the first tick.
            world.slot.claim(&Process::new(&world, 0), SequenceRange::default(), &world.marks).unwrap();
            // Readers run last at first: of two operations, loom tries the other order if the second is the load.
            let acts = self.processes.iter().enumerate().skip(1).map(|(number, act)| {
                let world = world.clone();
                thread::spawn(move || act(&Process::new(&world, number)))
            });
            let mut threads: Vec<_> = acts.collect();
            for reader in self.readers {
                let world = world.clone();
                threads.push(thread::spawn(move || reader(&world)));
            }
            self.processes[0](&Process::new(&world, 0));
            threads.into_iter().for_each(|thread| thread.join().unwrap());

            let (drawn, found) = (world.drawn.lock().unwrap(), world.found.lock().unwrap());
            let mut seen = counted.lock().unwrap();
            seen.executions += 1;
            // All that is known of a prepared transaction after a restart: no reader was told more.
            let lock = Some(world.lock.load(Acquire)).filter(|tick| *tick > 0);
            let last = world.horizon.generation();
            for Found { horizon, visible, held, .. } in found.iter().filter(|found| found.generation == last)
            {
                assert!(lock.is_none_or(|lock| *horizon <= lock), "{lock:?} is below {horizon}");
                seen.held += usize::from(*held);
                for (row, tick) in drawn.iter() {
                    let (below, is_seen) = (tick < horizon, visible >> row & 1 == 1);
                    *if below { &mut seen.below } else { &mut seen.above } += 1;
                    assert!(!below || is_seen, "row {row} of {drawn:?} is missed below {horizon}");
                }
            }
        });
        *seen = std::mem::take(&mut *counts.lock().unwrap());
    }
}

fn step_and_read(world: &World) {
    world.step();
    world.read();
}

/// A transaction of one row, which has the number of the process.
fn one_row(process: &Process) {
    process.begin(1);
    process.insert(process.number as u32);
    process.commit();
}

/// A transaction of two rows, between which the clock steps.
fn two_rows(process: &Process) {
    process.begin(1);
    process.insert(2);
    process.world.step();
    process.insert(3);
    process.commit();
}

#[test]
fn the_clock_goes_forward() {
    Scene { processes: &[one_row, one_row], interruptions: Some(2), ..PLAIN }.play();
}

#[test]
fn the_clock_steps_back_between_two_rows() {
    Scene {
        script: &[100, 99],
        processes: &[one_row, two_rows],
        readers: &[World::read],
        interruptions: Some(1),
        ..PLAIN
    }
    .play();
}

#[test]
fn the_clock_steps_back_within_the_margin() {
    Scene { script: &[100, 99, 102], margin: 1, processes: &[two_rows], interruptions: Some(4), ..PLAIN }
        .play();
}

#[test]
fn the_clock_leaps_and_steps_back() {
    Scene { script: &[100, 105, 95], processes: &[two_rows], interruptions: Some(4), ..PLAIN }.play();
}

/// The reader's floor is later than what the transaction was allowed before.
#[test]
fn the_clock_steps_back_and_then_forward() {
    fn rows(process: &Process) {
        process.begin(1);
        for row in 0..3 {
            process.insert(row);
            process.world.step();
        }
        process.commit();
    }
    let script = &[100, 105, 95, 101, 106];
    Scene { script, processes: &[rows], interruptions: Some(4), ..PLAIN }.play();
}

/// A reader was told of the future, and the clock is corrected while a transaction of before is open. What readers are told then
/// counts.
#[test]
fn the_floor_is_lowered() {
    fn rows(process: &Process) {
        process.begin(1);
        process.insert(0);
        process.insert(1);
        process.commit();
    }
    fn read_and_lower(world: &World) {
        world.read();
        world.lower();
    }
    let readers = &[read_and_lower, step_and_read];
    Scene { script: &[200, 101, 102], processes: &[rows], readers, interruptions: Some(2), ..PLAIN }.play();
}

#[test]
fn one_transaction_after_another() {
    fn two(process: &Process) {
        for row in 0..2 {
            process.begin(row + 1);
            process.insert(row);
            process.commit();
        }
    }
    Scene { processes: &[two], interruptions: Some(3), ..PLAIN }.play();
}

#[test]
fn a_prepared_transaction() {
    Scene { processes: &[two_phases], interruptions: Some(4), ..PLAIN }.play();
}

/// It is still prepared in the end, which a restart may be.
#[test]
fn a_transaction_that_stays_prepared() {
    fn two(process: &Process) {
        process.begin(2);
        process.insert(1);
        process.commit();
        prepare(process);
    }
    Scene { processes: &[two], interruptions: Some(3), ..PLAIN }.play();
}

#[test]
fn two_readers() {
    Scene { processes: &[one_row], readers: &[World::read, step_and_read], interruptions: Some(2), ..PLAIN }
        .play();
}

/// A parallel worker of a process, which inserts one row for it. Joined, it returns the row.
fn parallel_worker(leader: &Process) -> thread::JoinHandle<Vec<(u32, u64)>> {
    let world = leader.world.clone();
    leader.leads.set(true);
    thread::spawn(move || {
        let worker = Process::new(&world, 0);
        worker.transaction.set(1);
        worker.insert(0);
        worker.rows.take()
    })
}

/// A leader that asks whether it may insert a row with a key of an earlier time, while its parallel worker announces.
#[test]
fn a_key_of_an_earlier_time() {
    fn leader(process: &Process) {
        process.begin(1);
        let worker = parallel_worker(process);
        if process.own.holds(&process.member(), Tick::new(100).unwrap()) {
            process.rows.borrow_mut().push((1, 100));
        }
        process.rows.borrow_mut().extend(worker.join().unwrap());
        process.commit();
    }
    Scene { processes: &[leader], interruptions: Some(2), ..PLAIN }.play();
}

/// What a parallel worker has announced counts for its leader only if no reader was told a later tick, even if the leader learns
/// of that reader in no other way.
#[test]
fn whether_an_announcement_of_another_process_holds() {
    loom::model(|| {
        let tick = |number| Tick::new(number).unwrap();
        let shared = Arc::new((Horizon::default(), Announcement::default()));
        // As in a scene, who only loads is last.
        let reader = thread::spawn({
            let shared = shared.clone();
            move || shared.0.advance(0, tick(110), || shared.1.of(|| 7), || None).get()
        });
        let leader = thread::spawn({
            let shared = shared.clone();
            move || shared.0.is_held(&shared.1, || 7, tick(100))
        });
        shared.0.announce(&shared.1, 7, tick(100), Tick::MAX);
        let (horizon, is_held) = (reader.join().unwrap(), leader.join().unwrap());
        assert!(!is_held || horizon <= 100, "held at 100, and a reader was told {horizon}");
    });
}

/// A leader whose parallel worker takes the first ID, and has ended before the leader inserts the row.
#[test]
fn a_worker_announces_for_its_leader() {
    fn leader(process: &Process) {
        process.begin(1);
        let worker = parallel_worker(process);
        process.insert(1);
        process.rows.borrow_mut().extend(worker.join().unwrap());
        process.commit();
    }
    Scene { processes: &[leader], interruptions: Some(2), ..PLAIN }.play();
}

/// Databases whose first processes come at the same time; one of them is a copy, with the horizon that a reader of another one was
/// told before. Of three databases, two have a place, unless one is dropped.
#[test]
fn databases_take_places() {
    for is_dropped in [false, true] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let tick = |number| Tick::new(number).unwrap();
            let all = Arc::new((Horizons::default(), loom::sync::Mutex::new(()), AtomicU64::new(0)));
            all.0.resume(tick(100));
            // As a process does: it looks for the place of its database, and takes one under a lock.
            fn of(
                (horizons, lock, _): &(Horizons, loom::sync::Mutex<()>, AtomicU64),
                database: u32,
                dropped: Option<u32>,
            ) -> DatabaseHorizon<'_> {
                horizons.join(database).unwrap_or_else(|| {
                    let _lock = lock.lock().unwrap();
                    horizons.take(database, |other| dropped != Some(other))
                })
            }
            let place = |horizon: DatabaseHorizon<'_>| std::ptr::from_ref(horizon.horizon()).addr();
            let other = thread::spawn({
                let all = all.clone();
                move || {
                    let told = of(&all, 1, None).advance(0, tick(110), || None, || None);
                    all.2.store(told.get(), Release);
                    [1, 2].map(|database| place(of(&all, database, None)))
                }
            });
            let position = all.2.load(Acquire);
            let copy = of(&all, 2, None);
            assert!(copy.floor().get() >= position.max(100));
            assert!(copy.advance(0, tick(50), || None, || None).get() >= position.max(100));
            let mine = [1, 2].map(|database| place(of(&all, database, None)));
            assert_eq!(other.join().unwrap(), mine);
            assert_ne!(mine[0], mine[1]);
            // All at the same time, and after the first database was dropped.
            let dropped = is_dropped.then_some(1);
            let third = thread::spawn({
                let all = all.clone();
                move || place(of(&all, 3, dropped))
            });
            let fourth = place(of(&all, 3, dropped));
            assert_eq!(third.join().unwrap(), fourth);
            assert_eq!(fourth == mine[0], is_dropped);
            assert_eq!(of(&all, 4, None).counts(3), !is_dropped);
        });
    }
}
