//! Scenes: transactions and readers of the horizon at the same time, on a clock that reads the ticks of a script. Each
//! is played in all orders, and what the readers saw is held against what was inserted.

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
    Announcement, Announcer, ClaimError, Clock, Horizon, Marks, OutOfEpoch, SequenceRange, Slot, Tick,
    Transaction,
};

struct Found {
    era: u64,
    horizon: u64,
    visible: u32,
    /// Whether a transaction held the horizon back.
    held: bool,
}

/// What all threads of one execution share.
pub(crate) struct World {
    scene: Scene,
    slot: Slot,
    marks: Marks,
    horizon: Horizon,
    announcements: [Announcement; 2],
    /// The tick in the lock of a prepared transaction, or 0. Like the rows it is released, as PostgreSQL's locks are.
    pub(crate) lock: AtomicU64,
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
    pub(crate) fn step(&self) {
        self.place.fetch_add(1, Relaxed);
    }

    fn clock(&self) -> u64 {
        self.scene.script[self.place.load(Relaxed)]
    }

    pub(crate) fn read(&self) {
        // Before the clock.
        let era = self.horizon.era();
        let to = Tick::new(self.clock() - self.scene.margin).unwrap();
        let each = || self.announcements.iter().zip(&self.transactions).take(self.scene.processes.len());
        let open = || each().filter_map(|(one, transaction)| one.of(|| transaction.load(Acquire))).min();
        let prepared = || Some(self.lock.load(Acquire)).filter(|tick| *tick > 0).and_then(Tick::new);
        let horizon = self.horizon.advance(era, to, open, prepared);
        if self.horizon.era() != era {
            return;
        }
        let (horizon, held) = (horizon.get(), horizon < to);
        let visible = self.visible.load(Relaxed);
        self.found.lock().unwrap().push(Found { era, horizon, visible, held });
    }

    /// The clock is corrected, and the floor is lowered to it.
    pub(crate) fn lower(&self) {
        self.step();
        self.horizon.lower(1, Tick::new(self.clock()).unwrap());
    }
}

/// A process that inserts rows.
pub(crate) struct Process {
    pub(crate) world: Arc<World>,
    pub(crate) number: usize,
    transaction: Cell<u32>,
    pub(crate) own: Transaction,
    /// What it read last from the clock.
    last: Cell<u64>,
    pub(crate) rows: RefCell<Vec<(u32, u64)>>,
}

impl Clock for Process {
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        self.last.set(self.world.clock());
        Ok(Tick::new(self.last.get()).unwrap())
    }
}

impl Process {
    pub(crate) fn new(world: &Arc<World>, number: usize) -> Self {
        Self {
            world: world.clone(),
            number,
            transaction: Cell::new(0),
            own: Transaction::new(),
            last: Cell::new(world.scene.script[0]),
            rows: RefCell::default(),
        }
    }

    pub(crate) fn begin(&self, transaction: u32) {
        self.transaction.set(transaction);
        self.world.transactions[self.number].store(transaction, Release);
    }

    /// Takes an ID for a row, unless it would have to wait.
    pub(crate) fn insert(&self, row: u32) {
        let World { slot, marks, horizon, announcements, .. } = &*self.world;
        let (announcement, number) = (&announcements[self.number], self.transaction.get());
        let announcer = Announcer { horizon, announcement, number };
        loop {
            match slot.claim_from(self.own.announced(), self, SequenceRange::default(), marks) {
                Ok(stamp) => return self.rows.borrow_mut().push((row, stamp.tick().get())),
                Err(ClaimError::TooEarly { now }) => {
                    if self.own.announce(&announcer, now) > now {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }

    pub(crate) fn commit(&self) {
        self.show();
        self.end();
    }

    pub(crate) fn show(&self) {
        let rows = self.rows.take();
        self.world.visible.fetch_or(rows.iter().map(|(row, _)| 1 << row).sum(), AcqRel);
        self.world.drawn.lock().unwrap().extend(rows);
    }

    pub(crate) fn end(&self) {
        let World { transactions, announcements, clears, .. } = &*self.world;
        transactions[self.number].store(0, Release);
        self.own.end(|| clears.then_some(&announcements[self.number]));
    }
}

pub(crate) type Act = fn(&Process);

#[derive(Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) script: &'static [u64],
    pub(crate) margin: u64,
    pub(crate) processes: &'static [Act],
    pub(crate) readers: &'static [fn(&World)],
    /// How often threads may be interrupted in one execution; as often as can be if `None`.
    pub(crate) interruptions: Option<usize>,
}

pub(crate) const PLAIN: Scene =
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
    pub(crate) fn play(self) {
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
            let last = world.horizon.era();
            for Found { horizon, visible, held, .. } in found.iter().filter(|found| found.era == last) {
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

pub(crate) fn step_and_read(world: &World) {
    world.step();
    world.read();
}
