//! The world of one seed: machines with clocks and disks, time, and what nobody in it can see: all IDs that were ever
//! handed out.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    ptr,
    rc::Rc,
    time::Duration,
};

use corosensei::{Coroutine, Yielder, stack::DefaultStack};
use sno_core::{
    Announcement, Prefix, SequenceRange, Stamp, Tick,
    record::{LENGTH, Record},
    server::Shared,
    simulated,
};

use crate::{disk::Disk, process};

/// Generators of a server: fewer than partitions, so that some share one.
pub(crate) const SLOTS: usize = 2;
/// Processes of a server. Those from `WORKERS` on are parallel workers.
pub(crate) const PLACES: usize = 4;
pub(crate) const WORKERS: usize = 3;

const START: i64 = 1_767_225_600_000_000;

/// A condition of `docs/guarantee.md`. A run without it has to be able to show an ID twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// Servers have different numbers, or sequence ranges that do not overlap.
    DifferentNumbers,
    /// A copy does not run alongside its original with the same number.
    NoCopyAlongside,
    /// After a failover within one number, the clock is past the last ID.
    FailoverWithRightClock,
    /// The clock is not set back when the file of the marks was removed.
    MarksOrClock,
    /// The disk has written what it says it has.
    HonestDisk,
}

/// Which faults there are in this run at all.
#[derive(Debug)]
pub(crate) struct Faults {
    clock_steps: bool,
    long_steps: bool,
    rates: bool,
    pub(crate) freezes: bool,
    pub(crate) counter_jumps: bool,
    crashes: bool,
    power_failures: bool,
    failovers: bool,
    replaced_files: bool,
    clones: bool,
    reloads: bool,
    pub(crate) disk_errors: bool,
    pub(crate) short_writes: bool,
    pub(crate) cancels: bool,
    /// Servers share a number, with sequence ranges that do not overlap.
    shared_number: bool,
    /// The longest time in microseconds that a step takes.
    pace: u64,
    /// One step in so many hands on to another process, and one in so many brings a fault.
    switch: u64,
    events: u64,
}

/// An ID: its partition, and the rest.
type Id = (u16, u64);

/// The row of an ID.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    id: Id,
    pub(crate) tick: u64,
}

/// A prepared transaction.
pub(crate) struct Prepared {
    /// In the tag of its lock.
    pub(crate) tick: Option<Tick>,
    pub(crate) rows: Vec<Row>,
    pub(crate) is_visible: bool,
}

/// A machine with a server.
#[derive(Default)]
pub(crate) struct Machine {
    index: usize,
    /// The clock less the true time, and its rate less the true one, in thousandths.
    offset: Cell<i64>,
    rate: Cell<i64>,
    /// What a clock that is frozen reads, and until when.
    frozen: Cell<Option<(i64, i64)>>,
    counter: Cell<u64>,
    /// When the clock stepped back; 0 if never.
    pub(crate) stepped_back_at: Cell<i64>,
    pub(crate) disk: Disk,
    /// The settings, and how often they were changed.
    pub(crate) settings: Cell<u64>,
    pub(crate) prefix: Cell<Prefix>,
    pub(crate) range: Cell<SequenceRange>,
    pub(crate) max_clock_wait: Cell<u64>,
    pub(crate) system_identifier: Cell<u64>,
    pub(crate) wal_timeline: Cell<u32>,
    /// The time of the last commit in the log, and the same as a promoted standby knows it.
    last_commit: Cell<Option<i64>>,
    pub(crate) replayed: Cell<Option<i64>>,
    /// Whether each commit was written within a second after its time.
    commits_lag: Cell<bool>,
    shared: RefCell<Rc<Shared<Tick, SLOTS>>>,
    pub(crate) words: [Announcement; PLACES],
    /// The numbers of the processes' transactions; 0 if there is none.
    pub(crate) numbers: [Cell<u32>; PLACES],
    next_number: Cell<u32>,
    /// IDs of transactions that are not visible yet.
    pub(crate) rows: [RefCell<Vec<Row>>; PLACES],
    /// The locks of transactions that are about to be prepared.
    pub(crate) preparing: [Cell<Option<Tick>>; PLACES],
    pub(crate) prepared: RefCell<Vec<Prepared>>,
    pub(crate) wants_workers: [Cell<bool>; PLACES],
    pub(crate) workers: [Cell<u32>; PLACES],
    wake: [Cell<i64>; PLACES],
    pub(crate) parked: [Cell<bool>; PLACES],
    /// The marks are not known, so the clock must not be set back before the first ID.
    is_unsettled: Cell<bool>,
    pub(crate) has_restarted: Cell<bool>,
    /// The highest horizon that was returned.
    pub(crate) returned: Cell<u64>,
    /// The highest tick on each side since the file was replaced, and of all IDs.
    highest: Cell<[u64; 2]>,
    last_tick: Cell<u64>,
    /// The file as a standby or a backup has it.
    backup: RefCell<Option<Vec<u8>>>,
}

impl Machine {
    /// Microseconds since 1970.
    pub(crate) fn clock(&self, world: &World) -> i64 {
        self.frozen.get().map_or(world.time.get() + self.offset.get(), |(reads, _)| reads)
    }

    pub(crate) fn shared(&self) -> Rc<Shared<Tick, SLOTS>> {
        self.shared.borrow().clone()
    }

    pub(crate) fn begin(&self, place: usize) {
        self.next_number.set(self.next_number.get() + 1);
        self.numbers[place].set(self.next_number.get());
    }

    /// Rows that are to become visible.
    pub(crate) fn open_rows(&self) -> Vec<Row> {
        let prepared = self.prepared.borrow();
        let prepared =
            prepared.iter().filter(|prepared| !prepared.is_visible).flat_map(|prepared| &prepared.rows);
        let open = self.rows.iter().flat_map(|rows| rows.borrow().clone());
        open.chain(prepared.copied()).collect()
    }
}

pub(crate) struct World {
    random: Cell<u64>,
    /// Microseconds since 1970.
    pub(crate) time: Cell<i64>,
    pub(crate) steps: Cell<u64>,
    pub(crate) faults: Faults,
    /// The condition that does not hold in this run.
    without: Option<Condition>,
    pub(crate) machines: Vec<Machine>,
    running: Cell<Option<usize>>,
    server: Cell<usize>,
    /// Faults have ended, and processes finish what they do.
    pub(crate) ending: Cell<bool>,
    /// All IDs, and whether their transactions have committed.
    taken: RefCell<HashMap<Id, bool>>,
    next_prefix: Cell<u16>,
    pub(crate) counts: RefCell<BTreeMap<&'static str, u64>>,
    failure: RefCell<Option<String>>,
    trace: Option<RefCell<Vec<(usize, String)>>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(ptr::null()) };
    /// Of the process that runs.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(ptr::null()) };
}

/// The world of this thread, and the machine of the process that runs.
fn here<R>(run: impl FnOnce(&World, &Machine) -> R) -> Option<R> {
    // SAFETY: `run` sets it to a world that lives as long as its processes.
    let world = unsafe { WORLD.get().as_ref() }?;
    world.running.get().map(|machine| run(world, &world.machines[machine]))
}

const SIMULATED: simulated::World = simulated::World {
    pause: || here(|world, _| world.pause()).unwrap_or(()),
    counter: || here(|_, machine| machine.counter.get()).unwrap_or(0),
    real_time: || {
        let micros = here(|world, machine| machine.clock(world));
        Duration::from_micros(micros.unwrap_or(START) as u64)
    },
    monotonic: || Duration::from_micros(here(|world, _| world.time.get()).unwrap_or(START) as u64),
};

impl World {
    fn new(seed: u64, without: Option<Condition>, trace: bool) -> Self {
        let random = Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        let below = |n| below(&random, n);
        let some = |n| below(n) == 0;
        let faults = Faults {
            clock_steps: some(2) || without.is_some(),
            long_steps: some(3),
            rates: some(3),
            freezes: some(4),
            counter_jumps: some(4),
            crashes: !some(3) || without.is_some(),
            power_failures: some(2) || without == Some(Condition::HonestDisk),
            failovers: some(3) || without == Some(Condition::FailoverWithRightClock),
            replaced_files: some(4) || without == Some(Condition::MarksOrClock),
            clones: some(4) || without == Some(Condition::NoCopyAlongside),
            reloads: some(2),
            disk_errors: some(4),
            short_writes: some(3),
            cancels: some(3),
            shared_number: some(4) || without == Some(Condition::DifferentNumbers),
            pace: [3, 30, 300, 3000][below(4) as usize],
            switch: 1 + below(8),
            events: [100, 400, 2000][below(3) as usize],
        };
        let machines = (0..2 + below(2)).map(|_| Machine::default()).collect();
        let world = Self {
            random,
            time: Cell::new(START),
            steps: Cell::new(0),
            faults,
            without,
            machines,
            running: Cell::new(None),
            server: Cell::new(0),
            ending: Cell::new(false),
            taken: RefCell::default(),
            next_prefix: Cell::new(0),
            counts: RefCell::default(),
            failure: RefCell::new(None),
            trace: trace.then(RefCell::default),
        };
        let mut world = world;
        (0..).zip(&mut world.machines).for_each(|(index, machine)| machine.index = index);
        for machine in &world.machines {
            machine.offset.set(world.below(10_000) as i64);
            machine.system_identifier.set(machine.index as u64 + 1);
            machine.wal_timeline.set(1);
            machine.max_clock_wait.set([0, 100_000, 2_000_000][world.below(3) as usize]);
            machine.prefix.set(if world.faults.shared_number { prefix(9) } else { world.new_prefix() });
            machine.range.set(world.new_range(machine));
            machine.disk.lies.set(without == Some(Condition::HonestDisk));
        }
        world
    }

    pub(crate) fn below(&self, n: u64) -> u64 {
        below(&self.random, n)
    }

    pub(crate) fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn count(&self, event: &'static str) {
        *self.counts.borrow_mut().entry(event).or_default() += 1;
    }

    pub(crate) fn say(&self, machine: &Machine, text: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            let clock = machine.clock(self) - START;
            let at = self.time.get() - START;
            trace.borrow_mut().push((machine.index, format!("{at:>12} us, clock {clock:>12}: {}", text())));
        }
    }

    pub(crate) fn fail(&self, text: String) {
        self.failure.borrow_mut().get_or_insert(text);
    }

    fn new_prefix(&self) -> Prefix {
        self.next_prefix.set(self.next_prefix.get() + 1);
        prefix(100 + self.next_prefix.get())
    }

    /// Of 4 to 8 numbers, so that they are used up.
    fn new_range(&self, machine: &Machine) -> SequenceRange {
        let apart = self.faults.shared_number && self.without != Some(Condition::DifferentNumbers);
        let lower = if apart { 16 * machine.index as u16 } else { 0 } + self.below(5) as u16;
        SequenceRange::new(lower, lower + 3 + self.below(5) as u16).unwrap()
    }

    /// Time passes, and another process may run.
    pub(crate) fn pause(&self) {
        if self.running.get().is_none() {
            return;
        }
        self.steps.set(self.steps.get() + 1);
        self.pass(self.below(self.faults.pace) as i64);
        if self.one_in(self.faults.switch) {
            self.hand_on();
        }
    }

    fn hand_on(&self) {
        let (yielder, running) = (YIELDER.get(), self.running.get());
        // SAFETY: of the process that runs, which has not ended.
        unsafe { (*yielder).suspend(()) };
        YIELDER.set(yielder);
        self.running.set(running);
    }

    /// The process runs again after so many microseconds.
    pub(crate) fn nap(&self, machine: &Machine, place: usize, micros: i64) {
        machine.wake[place].set(self.time.get() + micros);
        self.hand_on();
    }

    fn pass(&self, micros: i64) {
        self.time.set(self.time.get() + micros);
        for machine in &self.machines {
            machine.counter.set(machine.counter.get() + 3000 * micros as u64);
            if machine.rate.get() != 0 {
                machine.offset.set(machine.offset.get() + micros * machine.rate.get() / 1000);
            }
            if let Some((reads, until)) = machine.frozen.get()
                && until <= self.time.get()
            {
                // It goes on from where it stood.
                machine.offset.set(reads - self.time.get());
                machine.frozen.set(None);
            }
        }
    }

    /// An ID is handed out.
    pub(crate) fn own(&self, machine: &Machine, leader: usize, partition: u16, stamp: Stamp) {
        let (tick, side) = (stamp.tick().get(), stamp.tick_tock() as usize);
        let id = (partition, tick << 17 | (side as u64) << 16 | u64::from(stamp.sequence()));
        self.say(machine, || {
            format!("partition {partition} gets {tick}, side {side}, number {}", stamp.sequence())
        });
        self.count("IDs");
        if stamp.stepped_back {
            self.count("changes of the side");
        }
        if side == 1 {
            self.count("IDs of the second side");
        }
        if self.taken.borrow_mut().insert(id, false).is_some() {
            self.fail(format!("twice: partition {partition}, {stamp:?}"));
        }
        if tick < machine.returned.get() {
            self.fail(format!("{stamp:?} is below a horizon that was returned, {}", machine.returned.get()));
        }
        let durable = machine.disk.durable();
        if tick > durable[side] && !machine.disk.lies.get() {
            self.fail(format!("{stamp:?} is above its mark on disk, {durable:?}"));
        }
        let mut highest = machine.highest.get();
        highest[side] = highest[side].max(tick);
        machine.highest.set(highest);
        machine.last_tick.set(machine.last_tick.get().max(tick));
        machine.rows[leader].borrow_mut().push(Row { id, tick });
    }

    /// A commit is in the log; its time is from a moment before.
    pub(crate) fn committed(&self, machine: &Machine, rows: &[Row], time: i64) {
        let mut taken = self.taken.borrow_mut();
        taken.extend(rows.iter().map(|row| (row.id, true)));
        machine.commits_lag.set(machine.commits_lag.get() || machine.clock(self) - time > 1_000_000);
        machine.last_commit.set(Some(time));
    }

    /// Moves the clock of a machine.
    fn step(&self, machine: &Machine, micros: i64) {
        if micros < 0 {
            if machine.is_unsettled.get() && !machine.shared().is_ready() && self.without.is_none() {
                return;
            }
            machine.stepped_back_at.set(self.time.get());
            self.count("backward steps of a clock");
        }
        machine.frozen.set(None);
        machine.offset.set(machine.offset.get() + micros);
        self.say(machine, || format!("the clock steps by {micros} us"));
    }

    /// Sets the clock to a time after all IDs of the machine, if it is not.
    fn pass_all_ids(&self, machine: &Machine) {
        let missing = Tick::new(machine.last_tick.get() + 2).unwrap().unix_micros() - machine.clock(self);
        if missing > 0 {
            self.step(machine, missing);
        }
        machine.is_unsettled.set(true);
    }

    /// Where rules meet: a tick that matters to a generator.
    fn meet(&self, machine: &Machine) {
        let shared = machine.shared();
        let slot = &shared.slots[self.below(SLOTS as u64) as usize];
        let tick = match self.below(6) {
            0 => slot.state().tick,
            1 => slot.departed(false),
            2 => slot.departed(true),
            3 => shared.marks.limit(false),
            4 => shared.marks.limit(true),
            _ => shared.horizon.floor(),
        };
        let micros = tick.unix_micros() + (self.below(3) as i64 - 1) * 4000 - machine.clock(self);
        if micros.abs() < 3_600_000_000 {
            self.step(machine, micros);
        }
    }

    /// Whatever a fault does to a machine; its processes have ended if it says so.
    fn fault(&self, machine: &Machine) -> Option<Down> {
        let faults = &self.faults;
        let below = |n: u64| self.below(n) as i64;
        match self.below(16) {
            0..=2 if faults.clock_steps => {
                let long = if faults.long_steps { 3_600_000_000 } else { 3_000_000 };
                let by = [8000, 200_000, 4_000_000, long][self.below(4) as usize];
                self.step(machine, if self.one_in(3) { below(by) } else { -below(by) });
            }
            3 if faults.clock_steps => self.meet(machine),
            4 if faults.rates => machine.rate.set([0, -500, -50, 80, 9000][self.below(5) as usize]),
            5 if faults.freezes => {
                machine.frozen.set(Some((machine.clock(self), self.time.get() + below(2_000_000))));
                self.count("clocks that stood still");
            }
            6 if faults.counter_jumps => machine.counter.set(self.below(1 << 40)),
            7 if faults.reloads => {
                match self.below(3) {
                    0 => machine.range.set(self.new_range(machine)),
                    1 if !faults.shared_number => machine.prefix.set(self.new_prefix()),
                    _ => machine.max_clock_wait.set([0, 100_000, 2_000_000][self.below(3) as usize]),
                }
                machine.settings.set(machine.settings.get() + 1);
                self.count("settings that changed");
            }
            8 => *machine.backup.borrow_mut() = machine.disk.content(),
            9 | 10 if faults.crashes => return Some(Down::Crash),
            11 if faults.power_failures => return Some(Down::Power),
            12 if faults.failovers => return Some(Down::Failover),
            13 if faults.replaced_files => return Some(Down::Replaced),
            14 if faults.clones => return Some(Down::Clone),
            _ => {}
        }
        None
    }

    /// What is lost when a server goes down. Its processes have ended.
    fn go_down(&self, machine: &Machine, down: Down) {
        self.server.set(machine.index);
        self.say(machine, || format!("{down:?}"));
        self.count(down.name());
        if machine.shared().is_ready() {
            machine.replayed.set(None);
            machine.is_unsettled.set(false);
        }
        machine.has_restarted.set(true);
        *machine.shared.borrow_mut() = Rc::default();
        machine.words.iter().for_each(Announcement::clear);
        machine.prepared.borrow_mut().retain(|prepared| !prepared.is_visible);
        for place in 0..PLACES {
            machine.numbers[place].set(0);
            machine.rows[place].borrow_mut().clear();
            machine.preparing[place].set(None);
            machine.wants_workers[place].set(false);
            machine.workers[place].set(0);
            machine.parked[place].set(false);
        }
        let kept = || self.one_in(2);
        match down {
            Down::Crash => {}
            Down::Power => {
                machine.disk.lose_power(&kept);
                let durable = machine.disk.durable();
                let above = (0..2).any(|side| machine.highest.get()[side] > durable[side]);
                if above && !machine.disk.lies.get() {
                    self.fail(format!(
                        "IDs up to {:?}, and the marks on disk are {durable:?}",
                        machine.highest.get()
                    ));
                }
            }
            Down::Failover => self.fail_over(machine),
            Down::Replaced => self.replace_marks(machine),
            Down::Clone => self.clone(machine),
        }
        // A start takes some time, or the clock steps meanwhile, often to where rules meet.
        let downtime = 10_000 + self.below(3_000_000) as i64;
        machine.wake.iter().for_each(|wake| wake.set(self.time.get() + downtime));
        if self.faults.clock_steps && self.one_in(2) {
            let micros =
                Tick::new(machine.last_tick.get()).unwrap().unix_micros() - machine.clock(self) - downtime;
            if micros.abs() < 3_600_000_000 && !matches!(down, Down::Failover | Down::Replaced | Down::Clone)
            {
                self.step(machine, micros + self.below(3) as i64 * 4000);
            }
        }
    }

    /// A standby is promoted, on a machine with another clock.
    fn fail_over(&self, machine: &Machine) {
        machine.wal_timeline.set(machine.wal_timeline.get() + 1);
        machine.disk.replace(machine.backup.take());
        machine.returned.set(0);
        machine.highest.set([0; 2]);
        machine.frozen.set(None);
        let slow =
            machine.stepped_back_at.get() == 0 && !machine.commits_lag.get() && !self.faults.shared_number;
        if self.without == Some(Condition::FailoverWithRightClock) {
            // It has not replayed the last transactions, and its clock is slow.
            machine.prepared.borrow_mut().clear();
            self.step(machine, -(self.below(3_000_000) as i64));
        } else if slow && self.one_in(2) {
            // It has replayed all that was committed, and repeats none of it although its clock is slow.
            self.count("failovers with a slow clock");
            machine.replayed.set(machine.last_commit.get());
            machine.prepared.borrow_mut().clear();
            let own = machine.prefix.get().partitions();
            self.taken.borrow_mut().retain(|id, committed| *committed || !own.contains(&id.0));
            self.step(machine, -(self.below(10_000_000) as i64));
            machine.settings.set(machine.settings.get() + 1);
        } else {
            machine.replayed.set(machine.last_commit.get());
            self.pass_all_ids(machine);
        }
    }

    /// The file is removed, emptied, moved or another cluster's.
    fn replace_marks(&self, machine: &Machine) {
        let Some(content) = machine.disk.content() else { return };
        let back = self.without == Some(Condition::MarksOrClock);
        let kind = if back { 0 } else { self.below(4) };
        match (kind, Record::<Tick>::newest(&content)) {
            (1, Some(record)) => {
                self.count("files of another cluster");
                let limits = record
                    .limits
                    .map(|limit| Tick::new(limit.get().saturating_sub(self.below(30_000))).unwrap());
                let theirs = Record { system_identifier: 99, serial: 7, limits, ..record };
                machine.disk.replace(Some([vec![b' '; LENGTH], theirs.encode().to_vec()].concat()));
            }
            // A copy in another place, with nothing lost.
            (2, Some(_)) => return machine.disk.replace(Some(content)),
            (3, _) => machine.disk.replace(Some(vec![0; LENGTH])),
            _ => machine.disk.replace(None),
        }
        machine.returned.set(0);
        machine.highest.set([0; 2]);
        if back {
            self.step(machine, -(self.below(3_000_000) as i64));
        } else {
            self.pass_all_ids(machine);
        }
    }

    /// The machine gets a copy of another one's data directory, and another number.
    fn clone(&self, machine: &Machine) {
        let original = &self.machines[(machine.index + 1) % self.machines.len()];
        machine
            .disk
            .replace(original.disk.content().filter(|content| Record::<Tick>::newest(content).is_some()));
        machine.system_identifier.set(original.system_identifier.get());
        machine.prepared.borrow_mut().clear();
        machine.returned.set(0);
        machine.highest.set([0; 2]);
        machine.last_commit.set(None);
        machine.replayed.set(None);
        machine.settings.set(machine.settings.get() + 1);
        if self.without == Some(Condition::NoCopyAlongside) {
            machine.prefix.set(original.prefix.get());
            machine.offset.set(original.offset.get());
        } else {
            machine.prefix.set(self.new_prefix());
        }
    }
}

/// How a server goes down.
#[derive(Clone, Copy, Debug)]
enum Down {
    Crash,
    Power,
    Failover,
    Replaced,
    Clone,
}

impl Down {
    fn name(self) -> &'static str {
        match self {
            Self::Crash => "crashes of a server",
            Self::Power => "power failures",
            Self::Failover => "failovers",
            Self::Replaced => "files of the marks that were replaced",
            Self::Clone => "clones",
        }
    }
}

/// Number `value` of 14 bits: three partitions for processes.
fn prefix(value: u16) -> Prefix {
    Prefix::new(value, 14).unwrap()
}

/// A random number below `n`, by splitmix64.
fn below(state: &Cell<u64>, n: u64) -> u64 {
    state.set(state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
    let mut z = state.get();
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ z >> 31) % n
}

type Fiber = Coroutine<(), (), (), DefaultStack>;

/// A process that runs whenever it is resumed.
fn fiber(world: &Rc<World>, machine: usize, place: usize, life: fn(&World, &Machine, usize)) -> Fiber {
    let world = world.clone();
    Coroutine::with_stack(DefaultStack::new(256 << 10).unwrap(), move |yielder: &Yielder<(), ()>, ()| {
        YIELDER.set(yielder);
        life(&world, &world.machines[machine], place);
    })
}

/// What a run found.
pub(crate) struct Outcome {
    pub(crate) failure: Option<String>,
    pub(crate) steps: u64,
    pub(crate) micros: u64,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) trace: Vec<(usize, String)>,
    /// The server that ran last.
    pub(crate) server: usize,
    pub(crate) faults: String,
}

/// Lives through a seed.
pub(crate) fn run(seed: u64, steps: u64, without: Option<Condition>, trace: bool) -> Outcome {
    let world = Rc::new(World::new(seed, without, trace));
    WORLD.set(&*world);
    simulated::enter(SIMULATED);
    let start = |machine: usize| -> Vec<Fiber> {
        (0..PLACES).map(|place| fiber(&world, machine, place, process::live)).collect()
    };
    let mut fibers: Vec<Vec<Fiber>> = (0..world.machines.len()).map(start).collect();
    while world.steps.get() < steps && world.failure.borrow().is_none() {
        if world.one_in(world.faults.events / world.faults.switch.min(4)) {
            let machine = world.below(world.machines.len() as u64) as usize;
            if let Some(down) = world.fault(&world.machines[machine]) {
                fibers[machine].clear();
                world.go_down(&world.machines[machine], down);
                fibers[machine] = start(machine);
            }
        }
        resume_one(&world, &mut fibers);
    }
    if world.failure.borrow().is_none() && without.is_none() {
        end(&world, &mut fibers);
    }
    drop(fibers);
    WORLD.set(ptr::null());
    Outcome {
        failure: world.failure.borrow().clone(),
        steps: world.steps.get(),
        micros: (world.time.get() - START) as u64,
        counts: world.counts.take(),
        trace: world.trace.as_ref().map(RefCell::take).unwrap_or_default(),
        server: world.server.get(),
        faults: format!("{:?}", world.faults),
    }
}

/// Lets one process run, or time pass until one can.
fn resume_one(world: &World, fibers: &mut [Vec<Fiber>]) {
    let (machine, place) = (world.below(fibers.len() as u64) as usize, world.below(PLACES as u64) as usize);
    let mut next = (machine, place);
    let wake = |(machine, place): (usize, usize)| world.machines[machine].wake[place].get();
    if wake(next) > world.time.get() {
        let all = (0..fibers.len()).flat_map(|machine| (0..PLACES).map(move |place| (machine, place)));
        let all =
            all.filter(|&(machine, place)| fibers[machine].get(place).is_some_and(|fiber| !fiber.done()));
        let first = all.min_by_key(|process| wake(*process)).unwrap();
        if wake(first) > world.time.get() {
            world.pass(wake(first) - world.time.get());
        }
        next = first;
    }
    let Some(fiber) = fibers[next.0].get_mut(next.1).filter(|fiber| !fiber.done()) else { return };
    world.running.set(Some(next.0));
    world.server.set(next.0);
    fiber.resume(());
    world.running.set(None);
}

/// Faults end: every call returns or fails, and then an ID can be generated and the horizon comes to the present.
fn end(world: &Rc<World>, fibers: &mut [Vec<Fiber>]) {
    world.ending.set(true);
    for machine in &world.machines {
        machine.frozen.set(None);
        machine.rate.set(0);
        machine
            .range
            .set(SequenceRange::new(machine.range.get().lower(), machine.range.get().upper()).unwrap());
    }
    let all_parked = || {
        let mut parked = world.machines.iter().flat_map(|machine| &machine.parked);
        parked.all(Cell::get)
    };
    let (began, limit) = (world.time.get(), world.steps.get() + 2_000_000);
    while !all_parked() && world.failure.borrow().is_none() {
        resume_one(world, fibers);
        if world.time.get() - began > 600_000_000 || world.steps.get() > limit {
            let waits: Vec<_> =
                world.machines.iter().map(|machine| machine.parked.each_ref().map(Cell::get)).collect();
            world.fail(format!(
                "calls that do not end, {} us after the last fault: {waits:?}",
                world.time.get() - began
            ));
        }
    }
    for (index, machine) in world.machines.iter().enumerate() {
        let record = machine.disk.content().and_then(|content| Record::<Tick>::newest(&content));
        let ahead = record.map_or(0, |record| record.limits[0].max(record.limits[1]).get());
        let replayed = machine.replayed.get().map_or(0, |commit| Tick::floor(commit).unwrap().get());
        let floor = machine.shared().horizon.floor().get();
        let to = Tick::new(ahead.max(replayed).max(floor).max(machine.last_tick.get()) + 1000)
            .unwrap()
            .unix_micros()
            - machine.clock(world);
        world.step(machine, to.max(0));
        machine.prepared.borrow_mut().clear();
        machine.parked[0].set(false);
        machine.wake[0].set(0);
        fibers[index] = vec![fiber(world, index, 0, |world, machine, _| process::last_call(world, machine))];
    }
    let limit = world.steps.get() + 1_000_000;
    while !all_parked() && world.failure.borrow().is_none() {
        resume_one(world, fibers);
        if world.steps.get() > limit {
            world.fail("no ID and no horizon at the end".into());
        }
    }
}
