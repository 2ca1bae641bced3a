//! The world of one seed: machines with clocks and disks, time, and what nobody in it can see: all IDs that were ever
//! handed out.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    ptr,
    rc::Rc,
};

use corosensei::{Coroutine, Yielder, stack::DefaultStack};
use sno_core::{
    Announcement, Prefix, SequenceRange, Stamp, Tick,
    record::{LENGTH, Lowering, Origin, Record},
    server::Shared,
    simulated,
};

use crate::{
    disk::{Disk, SECTOR, newest_record},
    process,
};

/// Generators of a server: fewer than partitions, so that some share one.
pub(crate) const SLOTS: usize = 2;
/// Processes of a server. Those from `WORKERS` on are parallel workers.
pub(crate) const PLACES: usize = 4;
pub(crate) const WORKERS: usize = 3;
/// The process in the second database.
pub(crate) const SECOND: usize = 2;

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
    /// The clock is not set back when an old file of the marks was put back.
    OldMarksOrClock,
    /// The disk has written what it says it has.
    HonestDisk,
}

/// Which faults there are in this run at all.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    clock_steps: bool,
    long_steps: bool,
    /// Steps between the reading of a clock and what follows from it.
    pub(crate) steps_at_readings: bool,
    pub(crate) rates: bool,
    pub(crate) freezes: bool,
    crashes: bool,
    power_failures: bool,
    /// Servers that go down in a call of the disk.
    pub(crate) falls: bool,
    failovers: bool,
    replaced_files: bool,
    clones: bool,
    reloads: bool,
    pub(crate) disk_errors: bool,
    full_disks: bool,
    pub(crate) short_writes: bool,
    pub(crate) cancels: bool,
    /// Horizons are lowered.
    pub(crate) lowers: bool,
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
    pub(crate) id: Id,
    pub(crate) tick: u64,
    /// The tick at which it was handed out, if that is later.
    pub(crate) at: u64,
    pub(crate) database: u32,
}

/// A prepared transaction.
pub(crate) struct Prepared {
    pub(crate) database: u32,
    /// In the tag of its lock.
    pub(crate) tick: Option<Tick>,
    pub(crate) rows: Vec<Row>,
    pub(crate) is_visible: bool,
}

/// What a backup or a standby has.
struct Backup {
    marks: Option<Vec<u8>>,
    /// The time of the last commit in it.
    commit: Option<i64>,
}

/// A machine with a server.
#[derive(Default)]
pub(crate) struct Machine {
    index: usize,
    /// What the clock reads until a point in time. From there on it runs, so many thousandths faster than it should.
    reads: Cell<i64>,
    until: Cell<i64>,
    rate: Cell<i64>,
    /// When the clock stepped, and when it stepped back; 0 if never.
    pub(crate) stepped_at: Cell<i64>,
    pub(crate) stepped_back_at: Cell<i64>,
    /// When it stepped back, and what it read before.
    pub(crate) steps_back: RefCell<Vec<(i64, i64)>>,
    /// The clock must not be set back before this time; and whether this ends when the generators have resumed.
    not_before: Cell<i64>,
    is_unsettled: Cell<bool>,
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
    pub(crate) announcements: [Announcement; PLACES],
    /// The numbers of the processes' transactions; 0 if there is none.
    pub(crate) numbers: [Cell<u32>; PLACES],
    next_number: Cell<u32>,
    /// IDs of transactions that are not visible yet.
    pub(crate) rows: [RefCell<Vec<Row>>; PLACES],
    /// The locks of transactions that are about to be prepared.
    pub(crate) preparing: [Cell<Option<Tick>>; PLACES],
    pub(crate) prepared: RefCell<Vec<Prepared>>,
    /// Rows of transactions that have committed.
    pub(crate) visible: RefCell<Vec<Row>>,
    pub(crate) wants_workers: [Cell<bool>; PLACES],
    pub(crate) workers: [Cell<u32>; PLACES],
    /// Whether the process has had workers.
    pub(crate) led: [Cell<bool>; PLACES],
    wake: [Cell<i64>; PLACES],
    pub(crate) parked: [Cell<bool>; PLACES],
    pub(crate) has_restarted: Cell<bool>,
    /// Whether the file of the marks is neither a record nor blank.
    is_damaged: Cell<bool>,
    /// The second database, which is the copy of the first one from time to time.
    pub(crate) second: Cell<u32>,
    /// The highest horizon that was returned in each database.
    pub(crate) returned: [Cell<u64>; 2],
    /// The horizon below which no ID may come any more, and the highest position of a feed in a committed transaction.
    pub(crate) told: [Cell<u64>; 2],
    pub(crate) position: Cell<u64>,
    /// How many calls that lower horizons have begun and ended, and how many run.
    pub(crate) lowerings: Cell<u64>,
    pub(crate) lowering: Cell<u64>,
    /// Whether one has failed, so that nobody knows what the next start finds.
    pub(crate) lowering_failed: Cell<bool>,
    /// The highest tick on each side since the file was replaced, and of all IDs.
    highest: Cell<[u64; 2]>,
    /// The marks that the server found at its start: each side is used above its mark only.
    found: Cell<[u64; 2]>,
    last_tick: Cell<u64>,
    /// The tick of some ID.
    some_tick: Cell<u64>,
    backup: RefCell<Option<Backup>>,
}

impl Machine {
    /// Microseconds since 1970.
    pub(crate) fn clock(&self, world: &World) -> i64 {
        let runs = (world.time.get() - self.until.get()).max(0);
        self.reads.get() + runs + runs * self.rate.get() / 1000
    }

    /// The clock reads this from now on, at this rate.
    fn set_clock(&self, world: &World, reads: i64, rate: i64) {
        self.reads.set(reads);
        self.until.set(world.time.get());
        self.rate.set(rate);
    }

    pub(crate) fn shared(&self) -> Rc<Shared<Tick, SLOTS>> {
        self.shared.borrow().clone()
    }

    pub(crate) fn begin(&self, place: usize) {
        self.next_number.set(self.next_number.get() + 1);
        self.numbers[place].set(self.next_number.get());
    }

    /// Notes the marks that the next start finds.
    fn note_found(&self) {
        let record = self.disk.content().and_then(|content| newest_record(&content));
        self.found.set(record.map_or([0; 2], |(_, marks)| marks));
    }

    /// The database of a process.
    pub(crate) fn database(&self, place: usize) -> u32 {
        if place == SECOND { self.second.get() } else { 1 }
    }

    /// Rows of a database that are to become visible.
    pub(crate) fn open_rows(&self, database: u32) -> Vec<Row> {
        let prepared = self.prepared.borrow();
        let prepared =
            prepared.iter().filter(|prepared| !prepared.is_visible).flat_map(|prepared| &prepared.rows);
        let open = self.rows.iter().flat_map(|rows| rows.borrow().clone());
        open.chain(prepared.copied()).filter(|row| row.database == database).collect()
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
    /// The machine that is to go down.
    down: Cell<Option<(usize, Down)>>,
    /// Faults have ended, and processes finish what they do.
    pub(crate) ending: Cell<bool>,
    /// All IDs, and whether their transactions have committed.
    taken: RefCell<HashMap<Id, bool>>,
    next_number: Cell<u16>,
    pub(crate) counts: RefCell<BTreeMap<&'static str, u64>>,
    failure: RefCell<Option<String>>,
    trace: Option<RefCell<Vec<(usize, String)>>>,
}

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(ptr::null()) };
    /// Of the process that runs.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(ptr::null()) };
}

/// Lets others run, if a process of this thread's world runs.
fn pause() {
    // SAFETY: `run` sets it to a world that lives as long as its processes.
    if let Some(world) = unsafe { WORLD.get().as_ref() }
        && world.running.get().is_some()
    {
        world.pause();
    }
}

impl World {
    fn new(seed: u64, without: Option<Condition>, trace: bool) -> Self {
        let random = Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        let below = |n| below(&random, n);
        let some = |n| below(n) == 0;
        let faults = Faults {
            clock_steps: some(2) || without.is_some(),
            long_steps: some(3),
            steps_at_readings: some(4),
            rates: some(3),
            freezes: some(4),
            crashes: !some(3) || without.is_some(),
            power_failures: some(2) || without == Some(Condition::HonestDisk),
            falls: some(3),
            failovers: some(3) || without == Some(Condition::FailoverWithRightClock),
            replaced_files: some(4)
                || matches!(without, Some(Condition::MarksOrClock | Condition::OldMarksOrClock)),
            clones: some(4) || without == Some(Condition::NoCopyAlongside),
            reloads: some(2),
            disk_errors: some(4),
            full_disks: some(4),
            short_writes: some(3),
            cancels: some(3),
            lowers: some(3),
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
            down: Cell::new(None),
            ending: Cell::new(false),
            taken: RefCell::default(),
            next_number: Cell::new(100),
            counts: RefCell::default(),
            failure: RefCell::new(None),
            trace: trace.then(RefCell::default),
        };
        let mut world = world;
        (0..).zip(&mut world.machines).for_each(|(index, machine)| machine.index = index);
        for machine in &world.machines {
            machine.set_clock(&world, START + world.below(10_000) as i64, 0);
            machine.system_identifier.set(machine.index as u64 + 1);
            machine.wal_timeline.set(1);
            machine.second.set(2);
            machine.max_clock_wait.set([0, 100_000, 2_000_000][world.below(3) as usize]);
            machine.prefix.set(if world.faults.shared_number { prefix(9) } else { world.new_prefix() });
            machine.range.set(world.new_range(machine));
            machine.disk.lies.set(without == Some(Condition::HonestDisk));
            if world.one_in(2) {
                // A server that has written many records, often as many as are about to need one more bit.
                let serial = (1_u64 << world.below(40)).saturating_sub(world.below(8)).max(1);
                let limits = [(); 2].map(|()| {
                    Tick::new(Tick::floor(machine.clock(&world)).unwrap().get() - world.below(2000)).unwrap()
                });
                let (system_identifier, origin) = (
                    machine.system_identifier.get(),
                    Origin::new(1, 0, machine.prefix.get(), machine.range.get()),
                );
                let record = Record {
                    serial,
                    limits,
                    current: world.one_in(2),
                    horizon: limits[0].min(limits[1]),
                    lowering: Lowering::NONE,
                    system_identifier,
                    origin,
                };
                let mut file = vec![b' '; 2 * LENGTH];
                file[record.offset() as usize..][..LENGTH].copy_from_slice(&record.encode());
                machine.disk.replace(Some(file));
                machine.note_found();
            }
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

    /// A number that nobody had before.
    fn new_number(&self) -> u16 {
        self.next_number.set(self.next_number.get() + 1);
        self.next_number.get()
    }

    fn new_prefix(&self) -> Prefix {
        prefix(self.new_number())
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
    }

    /// The server of the process that runs goes down, in the middle of what it does.
    pub(crate) fn fall(&self, machine: &Machine) {
        let power = self.faults.power_failures && self.one_in(2);
        self.count("servers that went down in a call of the disk");
        self.down.set(Some((machine.index, if power { Down::Power } else { Down::Crash })));
        self.hand_on();
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
        let told = machine.told[usize::from(leader == SECOND)].get();
        if tick < told {
            self.fail(format!("{stamp:?} is below a horizon that was returned, {told}"));
        }
        if machine.is_damaged.get() {
            self.fail(format!("{stamp:?}, and the file of the marks is damaged"));
        }
        let durable = machine.disk.durable();
        if tick > durable[side] && !machine.disk.lies.get() {
            self.fail(format!("{stamp:?} is above its mark on disk, {durable:?}"));
        }
        if tick <= machine.found.get()[side] {
            self.fail(format!("{stamp:?} is not above the marks at the start, {:?}", machine.found.get()));
        }
        let mut highest = machine.highest.get();
        highest[side] = highest[side].max(tick);
        machine.highest.set(highest);
        machine.last_tick.set(machine.last_tick.get().max(tick));
        if self.one_in(50) {
            machine.some_tick.set(tick);
        }
        let at = tick.max(Tick::floor(machine.clock(self)).unwrap().get());
        machine.rows[leader].borrow_mut().push(Row { id, tick, at, database: machine.database(leader) });
    }

    /// A commit is in the log, and with it rows and how far a feed was read; its time is from a moment before.
    pub(crate) fn committed(&self, machine: &Machine, rows: &[Row], position: u64, time: i64) {
        let mut taken = self.taken.borrow_mut();
        taken.extend(rows.iter().map(|row| (row.id, true)));
        machine.commits_lag.set(machine.commits_lag.get() || machine.clock(self) - time > 1_000_000);
        machine.last_commit.set(Some(time));
        // A position ahead of the clock, for which its server waits, is ahead of the commit's time as well.
        if Tick::new(position).unwrap().unix_micros() <= time {
            machine.position.set(machine.position.get().max(position));
        }
    }

    /// Moves the clock of a machine.
    pub(crate) fn step(&self, machine: &Machine, micros: i64) {
        let reads = machine.clock(self) + micros;
        if micros < 0 {
            let settled = machine.is_unsettled.get() && machine.shared().is_ready();
            if !settled && reads < machine.not_before.get() && self.without.is_none() {
                return;
            }
            machine.stepped_back_at.set(self.time.get());
            machine.steps_back.borrow_mut().push((self.time.get(), machine.clock(self)));
            self.count("backward steps of a clock");
        }
        machine.stepped_at.set(self.time.get());
        machine.set_clock(self, reads, machine.rate.get());
        self.say(machine, || format!("the clock steps by {micros} us"));
    }

    /// Sets the clock to a time after all IDs and horizons of the machine, if it is not. It must not be set back behind
    /// that, at all or until the generators have resumed.
    fn pass_all_ids(&self, machine: &Machine, until_it_resumes: bool) {
        let past = Tick::new(machine.told.iter().map(Cell::get).fold(machine.last_tick.get(), u64::max) + 2)
            .unwrap()
            .unix_micros();
        self.step(machine, (past - machine.clock(self)).max(0));
        machine.not_before.set(past);
        machine.is_unsettled.set(until_it_resumes);
    }

    /// Where rules meet: a tick that matters to a generator.
    fn meet(&self, machine: &Machine) {
        let shared = machine.shared();
        let slot = &shared.slots[self.below(SLOTS as u64) as usize];
        let tick = match self.below(7) {
            0 => slot.state().tick,
            1 => slot.departed(false),
            2 => slot.departed(true),
            3 => shared.marks.limit(false),
            4 => shared.marks.limit(true),
            5 => Tick::new(machine.some_tick.get()).unwrap(),
            _ => shared.horizons.find(1).floor(),
        };
        let micros = tick.unix_micros() + (self.below(3) as i64 - 1) * 4000 - machine.clock(self);
        if micros.abs() < 3_600_000_000 {
            self.step(machine, micros);
        }
    }

    /// Whatever a fault does to a machine.
    fn fault(&self, machine: &Machine) {
        let faults = &self.faults;
        let below = |n: u64| self.below(n) as i64;
        let down = |down| self.down.set(Some((machine.index, down)));
        match self.below(17) {
            0..=2 if faults.clock_steps => {
                let long = if faults.long_steps { 3_600_000_000 } else { 3_000_000 };
                let by = [8000, 200_000, 4_000_000, long][self.below(4) as usize];
                self.step(machine, if self.one_in(3) { below(by) } else { -below(by) });
            }
            3 if faults.clock_steps => self.meet(machine),
            4 if faults.rates => {
                let rate = [0, -500, -50, 80, 9000][self.below(5) as usize];
                machine.set_clock(self, machine.clock(self), rate);
            }
            5 if faults.freezes => {
                machine.set_clock(self, machine.clock(self), machine.rate.get());
                let longest = [2_000_000, 10_000_000][self.below(2) as usize];
                machine.until.set(self.time.get() + below(longest));
                self.count("clocks that stood still");
            }
            7 if faults.reloads => {
                match self.below(3) {
                    0 => machine.range.set(self.new_range(machine)),
                    1 if !faults.shared_number => machine.prefix.set(self.new_prefix()),
                    _ => machine.max_clock_wait.set([0, 100_000, 2_000_000][self.below(3) as usize]),
                }
                machine.settings.set(machine.settings.get() + 1);
                self.count("settings that changed");
            }
            8 if !machine.is_damaged.get() => {
                let (marks, commit) = (machine.disk.content(), machine.last_commit.get());
                *machine.backup.borrow_mut() = Some(Backup { marks, commit });
            }
            9 | 10 if faults.crashes => down(Down::Crash),
            11 if faults.power_failures => down(Down::Power),
            12 if faults.failovers => down(Down::Failover),
            13 if faults.replaced_files => down(Down::Replaced),
            14 if faults.clones => down(Down::Clone),
            15 if faults.full_disks => machine.disk.is_full.set(!machine.disk.is_full.get()),
            _ => {}
        }
    }

    /// What is lost when a server goes down. Its processes have ended.
    fn go_down(&self, machine: &Machine, down: Down) {
        self.server.set(machine.index);
        self.say(machine, || format!("{down:?}"));
        self.count(down.name());
        if machine.shared().is_ready() {
            machine.replayed.set(None);
            if machine.is_unsettled.get() {
                machine.not_before.set(0);
            }
        }
        machine.has_restarted.set(true);
        machine.lowerings.set(machine.lowerings.get() + 1);
        // A call that was interrupted has failed, too.
        if machine.lowering.replace(0) > 0 || machine.lowering_failed.get() {
            machine.lowering_failed.set(false);
            let told = machine.told.iter().chain(&machine.returned).chain([&machine.position]);
            told.for_each(|tick| tick.set(0));
        }
        *machine.shared.borrow_mut() = Rc::default();
        machine.announcements.iter().for_each(Announcement::clear);
        machine.prepared.borrow_mut().retain(|prepared| !prepared.is_visible);
        for place in 0..PLACES {
            machine.numbers[place].set(0);
            machine.rows[place].borrow_mut().clear();
            machine.preparing[place].set(None);
            machine.wants_workers[place].set(false);
            machine.workers[place].set(0);
            machine.led[place].set(false);
            machine.parked[place].set(false);
        }
        if !matches!(down, Down::Crash | Down::Power) {
            machine.visible.borrow_mut().clear();
        }
        match down {
            Down::Crash => {}
            Down::Power => {
                machine.disk.lose_power(&|tears| self.part_of_a_sector(tears));
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
        machine.note_found();
        // A start takes some time, or the clock steps meanwhile, often to where rules meet.
        let downtime = 10_000 + if self.one_in(2) { self.below(3_000_000) as i64 } else { 0 };
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

    /// How much of a sector is on the platter, of which all may be or nothing, or a part if it can tear.
    pub(crate) fn part_of_a_sector(&self, tears: bool) -> usize {
        match self.below(2 + u64::from(tears)) {
            0 => 0,
            1 => SECTOR,
            _ => {
                self.count("torn sectors");
                self.below(SECTOR as u64) as usize
            }
        }
    }

    /// The directory of a machine has another file of the marks.
    fn replace_file(&self, machine: &Machine, content: Option<Vec<u8>>) {
        machine.disk.replace(content);
        machine.is_damaged.set(false);
        machine.returned.iter().for_each(|returned| returned.set(0));
        machine.highest.set([0; 2]);
    }

    /// A standby is promoted, on a machine with another clock; or a backup is restored to a point in time.
    fn fail_over(&self, machine: &Machine) {
        machine.wal_timeline.set(machine.wal_timeline.get() + 1);
        let backup = machine.backup.take();
        let restored = backup.as_ref().map(|backup| backup.commit);
        self.replace_file(machine, backup.and_then(|backup| backup.marks));
        machine.set_clock(self, machine.clock(self), machine.rate.get());
        machine.replayed.set(machine.last_commit.get());
        let slow =
            machine.stepped_back_at.get() == 0 && !machine.commits_lag.get() && !self.faults.shared_number;
        if self.without == Some(Condition::FailoverWithRightClock) {
            // It has not replayed the last transactions, and its clock is slow.
            machine.replayed.set(None);
            machine.prepared.borrow_mut().clear();
            self.step(machine, -(self.below(3_000_000) as i64));
        } else if slow && self.one_in(2) {
            // It has replayed all that was committed, and repeats none of it although its clock is slow.
            self.count("failovers with a slow clock");
            machine.prepared.borrow_mut().clear();
            let own = machine.prefix.get().partitions();
            self.taken.borrow_mut().retain(|id, committed| *committed || !own.contains(&id.0));
            machine.told.iter().for_each(|told| told.set(machine.position.get()));
            // Often to where rules meet.
            let now = machine.clock(self);
            let to = match self.below(3) {
                0 => Tick::new(machine.some_tick.get()).unwrap().unix_micros(),
                1 => machine.last_commit.get().unwrap_or(now),
                _ => now - self.below(10_000_000) as i64,
            };
            self.step(machine, (to - now).clamp(-10_000_000, 0) - self.below(20_000) as i64);
            machine.settings.set(machine.settings.get() + 1);
        } else {
            if let Some(commit) = restored.filter(|_| self.one_in(2)) {
                self.count("restores to a point in time");
                machine.replayed.set(commit);
                machine.prepared.borrow_mut().clear();
            }
            self.pass_all_ids(machine, false);
        }
    }

    /// The file is removed, emptied, moved, an old one or another cluster's; or the server is upgraded.
    fn replace_marks(&self, machine: &Machine) {
        let Some(content) = machine.disk.content() else { return };
        let kind = match self.without {
            Some(Condition::MarksOrClock) => 0,
            Some(Condition::OldMarksOrClock) => 4,
            _ => self.below(8),
        };
        let is_written = |content: &Vec<u8>| Record::<Tick>::newest(content).is_some();
        match (kind, Record::<Tick>::newest(&content)) {
            (1, Some(record)) => {
                self.count("files of another cluster");
                let limits = record
                    .limits
                    .map(|limit| Tick::new(limit.get().saturating_sub(self.below(30_000))).unwrap());
                let current = self.one_in(2);
                let theirs = Record { system_identifier: 99, serial: 7, limits, current, ..record };
                self.replace_file(machine, Some([vec![b' '; LENGTH], theirs.encode().to_vec()].concat()));
            }
            // A copy in another place, with nothing lost.
            (2, Some(_)) => return machine.disk.replace(Some(content)),
            (3, _) => self.replace_file(machine, Some(vec![0; LENGTH])),
            (4, _) => {
                let Some(old) = machine.backup.take().and_then(|backup| backup.marks).filter(is_written)
                else {
                    return;
                };
                self.count("old files that were put back");
                self.replace_file(machine, Some(old));
            }
            (5, Some(_)) if machine.prepared.borrow().is_empty() => {
                self.count("upgrades to a new cluster");
                machine.system_identifier.set(u64::from(self.new_number()));
                machine.wal_timeline.set(1);
                self.replace_file(machine, Some(content).filter(|_| self.one_in(2)));
            }
            (6, Some(_)) => {
                self.count("damaged files");
                self.replace_file(machine, Some(vec![b'?'; content.len()]));
                machine.is_damaged.set(true);
            }
            (7, _) => {
                self.count("files with a damaged page");
                let mut content = content;
                let page = self.below(2) as usize * LENGTH;
                content.iter_mut().skip(page).take(LENGTH).for_each(|byte| *byte = b'?');
                let is_lost = newest_record(&content).is_none() && content.contains(&b'?');
                self.replace_file(machine, Some(content));
                machine.is_damaged.set(is_lost);
            }
            _ => self.replace_file(machine, None),
        }
        match self.without {
            Some(Condition::MarksOrClock | Condition::OldMarksOrClock) => {
                self.step(machine, -(self.below(3_000_000) as i64));
            }
            // An old record counts, until the clock steps back.
            _ => self.pass_all_ids(machine, !matches!(kind, 4 | 7)),
        }
    }

    /// The machine gets a copy of another one's data directory, and another number.
    fn clone(&self, machine: &Machine) {
        let original = &self.machines[(machine.index + 1) % self.machines.len()];
        let content = original.disk.content();
        self.replace_file(machine, content.filter(|content| Record::<Tick>::newest(content).is_some()));
        machine.system_identifier.set(original.system_identifier.get());
        machine.prepared.borrow_mut().clear();
        machine.told.iter().for_each(|told| told.set(0));
        machine.position.set(0);
        machine.not_before.set(0);
        machine.last_commit.set(None);
        machine.replayed.set(None);
        machine.settings.set(machine.settings.get() + 1);
        if self.without == Some(Condition::NoCopyAlongside) {
            machine.prefix.set(original.prefix.get());
            machine.set_clock(self, original.clock(self), 0);
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
    ((u128::from(z ^ z >> 31) * u128::from(n)) >> 64) as u64
}

type Fiber = Coroutine<(), (), (), DefaultStack>;

/// A process that runs whenever it is resumed.
fn fiber(
    world: &Rc<World>,
    machine: usize,
    place: usize,
    life: impl FnOnce(&World, &Machine, usize) + 'static,
) -> Fiber {
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
    simulated::pause_by(pause);
    let start = |machine: usize| -> Vec<Fiber> {
        (0..PLACES).map(|place| fiber(&world, machine, place, process::live)).collect()
    };
    let mut fibers: Vec<Vec<Fiber>> = (0..world.machines.len()).map(start).collect();
    while world.steps.get() < steps && world.failure.borrow().is_none() {
        if world.one_in(world.faults.events / world.faults.switch.min(4)) {
            world.fault(&world.machines[world.below(world.machines.len() as u64) as usize]);
        } else {
            resume_one(&world, &mut fibers);
        }
        if let Some((machine, down)) = world.down.take() {
            fibers[machine].clear();
            world.go_down(&world.machines[machine], down);
            fibers[machine] = start(machine);
        }
    }
    if world.failure.borrow().is_none() && without.is_none() {
        end(&world, &mut fibers);
    }
    drop(fibers);
    WORLD.set(ptr::null());
    Outcome {
        failure: world.failure.borrow().clone(),
        steps: world.steps.get(),
        micros: (world.time.get() - START) as u64 * world.machines.len() as u64,
        counts: world.counts.take(),
        trace: world.trace.as_ref().map(RefCell::take).unwrap_or_default(),
        server: world.server.get(),
        faults: format!("{:?}", world.faults),
    }
}

/// Milliseconds since the beginning.
pub(crate) fn millis(tick: Tick) -> i64 {
    (tick.unix_micros() - START) / 1000
}

/// Goes through a schedule without faults, on a clock that stands still: its events, and what each of them did.
pub(crate) fn follow(schedule: &str) -> String {
    let mut world = World::new(1, None, true);
    world.faults = Faults::default();
    let world = Rc::new(world);
    WORLD.set(&*world);
    simulated::pause_by(pause);
    let machine = &world.machines[0];
    machine.max_clock_wait.set(0);
    let trace = world.trace.as_ref().unwrap();
    let mut text = String::new();
    for event in schedule.lines().filter(|line| !line.starts_with(' ')) {
        text += &format!("{event}\n");
        match event.split_once(' ').unwrap_or((event, "")) {
            ("clock", to) => {
                machine.set_clock(&world, START + 1000 * to.parse::<i64>().unwrap(), 0);
                machine.until.set(i64::MAX);
            }
            ("restart", how) => {
                world.go_down(machine, if how == "crash" { Down::Power } else { Down::Crash });
            }
            ("promotion", _) => {
                world.go_down(machine, Down::Crash);
                machine.disk.replace(machine.disk.content());
                machine.wal_timeline.set(2);
                machine.replayed.set(Some(machine.clock(&world)));
            }
            _ => {
                trace.take();
                let call = event.to_owned();
                let process =
                    fiber(&world, 0, 0, move |world, machine, _| process::call(world, machine, &call));
                let mut fibers = [vec![process]];
                while !fibers[0][0].done() {
                    resume_one(&world, &mut fibers);
                    assert!(world.steps.get() < 100_000, "{text}waits for a clock that stands still");
                }
                let starts = ["pwrite64", "fdatasync", "fsync", "returns", "fails"];
                for (_, line) in trace.take() {
                    let (_, said) = line.split_once(": ").unwrap();
                    if starts.iter().any(|start| said.starts_with(start)) {
                        text += &format!("    {said}\n");
                    }
                }
                let record = Record::<Tick>::newest(&machine.disk.content().unwrap()).unwrap();
                text += &format!("    record {}: {:?} ms\n", record.serial, record.limits.map(millis));
            }
        }
    }
    WORLD.set(ptr::null());
    assert_eq!(*world.failure.borrow(), None);
    text
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
        machine.set_clock(world, machine.clock(world), 0);
        machine.disk.is_full.set(false);
        if machine.is_damaged.get() {
            world.replace_file(machine, None);
            world.pass_all_ids(machine, false);
        }
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
        let ahead = record
            .map_or(0, |Record { limits: [one, other], horizon, .. }| one.max(other).max(horizon).get());
        let replayed = machine.replayed.get().map_or(0, |commit| Tick::floor(commit).unwrap().get());
        let floor = machine.shared().horizons.highest_floor().get();
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
