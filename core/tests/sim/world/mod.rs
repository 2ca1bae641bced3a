//! The world of one seed: machines with clocks and disks, time, and what nobody in it can see: all IDs that were ever
//! handed out.

mod faults;
mod lives;
mod machine;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    ptr,
};

use corosensei::Yielder;
use sno_core::{
    Prefix, SequenceRange, Stamp, Tick,
    record::{LENGTH, Lowerings, Origin, Place, Record},
};

use faults::Down;
use machine::Backup;
pub(crate) use {
    lives::{Outcome, follow, millis, run},
    machine::{Machine, PLACES, Prepared, Row, SECOND, SLOTS},
};

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

pub(crate) struct World {
    random: Cell<u64>,
    /// Microseconds since 1970.
    pub(crate) time: Cell<i64>,
    pub(crate) steps: Cell<u64>,
    pub(crate) faults: Faults,
    /// The condition that does not hold in this run.
    pub(crate) without: Option<Condition>,
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
                let place = Place { wal_timeline: 1, machine: Default::default(), device: 0, file: 0 };
                let (system_identifier, origin) = (
                    machine.system_identifier.get(),
                    Origin::new(place, machine.prefix.get(), machine.range.get()),
                );
                let record = Record {
                    serial,
                    limits,
                    current: world.one_in(2),
                    horizon: limits[0].min(limits[1]),
                    lowerings: Lowerings::NONE,
                    number: Prefix::drawn(world.below(1 << 14), None),
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

    /// An ID is handed out.
    pub(crate) fn own(&self, machine: &Machine, place: usize, partition: u16, stamp: Stamp) {
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
        let told = machine.told[usize::from(place == SECOND)].get();
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
        machine.rows[place].borrow_mut().push(Row { id, tick, at, database: machine.database(place) });
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
