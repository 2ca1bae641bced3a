//! Lives: that of a seed, one process after another, with faults and then without; and that of a schedule.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ptr,
    rc::Rc,
};

use corosensei::{Coroutine, Yielder, stack::DefaultStack};
use sno_core::{SequenceRange, Tick, record::Record, simulated};

use super::{Condition, Down, Faults, Machine, PLACES, START, WORLD, World, YIELDER, pause};
use crate::process;

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
