//! A process that waits for rows, and what must hold for it: whatever can be read is looked for soon, and once.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    time::Duration,
};

use sno_core::{Step, Tick, Watch, server::Host as _};

use crate::{
    process::{Generator, Process},
    world::Row,
};

/// Ticks within which each row is looked for.
const LATEST: u64 = 5 * Tick::PER_SECOND;

/// Since when a row can be read: in so many steps, by the clock, and by the time of the world.
#[derive(Clone, Copy)]
struct Readable {
    steps: u32,
    clock: u64,
    time: i64,
}

/// What the world knows of a wait.
#[derive(Default)]
struct Audit {
    readable: HashMap<(u16, u64), Readable>,
    /// Rows that were looked for; and those that are not to be looked for again until the next look at all, with their
    /// ticks.
    found: HashSet<(u16, u64)>,
    looked: HashMap<(u16, u64), u64>,
    /// Rows that were later than the clock.
    ahead: HashSet<(u16, u64)>,
    /// The time and the clock before this step, and before the last look at all rows.
    now: (i64, u64),
    all: Option<(i64, u64)>,
    /// A step back between two steps that was over by the second one: the IDs of that time are before what was due.
    dip: u64,
}

impl Process<'_> {
    fn tick(&self) -> u64 {
        Tick::floor(self.machine.clock(self.world)).unwrap().get()
    }

    /// Rows of a database that can be seen.
    fn visible(&self, database: u32) -> Vec<Row> {
        self.machine.visible.borrow().iter().filter(|row| row.database == database).copied().collect()
    }

    /// Waits for rows.
    pub(crate) fn wait(&self, session: &Generator<'_>) {
        let (world, machine) = (self.world, self.machine);
        let margin = [0, 10, 250][world.below(3) as usize];
        let database = machine.database(self.place);
        let horizon = session.shared().horizons.find(database);
        let longest = if world.one_in(4) { 15_000_000 } else { 1_000_000 };
        let until = self.monotonic() + Duration::from_micros(world.below(longest));
        let mut watch = Watch::new(margin);
        let mut audit = Audit { now: (world.time.get(), self.tick()), ..Audit::default() };
        loop {
            let held = || [self.open(horizon), self.prepared(horizon)].into_iter().flatten().min();
            let rows = self.visible(database);
            let to = self.tick().saturating_sub(margin);
            let reach = held().map_or(to, |tick| tick.get().min(to));
            audit.before(self, &rows, reach);
            let least = Cell::new(None);
            let note = |tick: Option<Tick>| {
                least.set([least.get(), tick].into_iter().flatten().min());
                tick
            };
            let (open, prepared) =
                (|| note(self.open(horizon)), || (note(self.prepared(horizon)), world.one_in(20)));
            let Some(Ok(step)) = self.statement(|| session.step(&mut watch, open, prepared)) else { return };
            world.say(machine, || {
                format!("p{} waits with {margin} for rows below {reach}: {step:?}, {watch:?}", self.place)
            });
            audit.after(self, &rows, least.get());
            match step {
                Step::Sleep(pause) => {
                    world.count("steps without a look");
                    if pause.is_zero() || pause > Duration::from_secs(1) {
                        world.fail(format!("a wait sleeps for {pause:?}"));
                    }
                    world.nap(machine, self.place, pause.as_micros() as i64);
                }
                Step::Look(from, below) => {
                    audit.look(self, &self.visible(database), from.get()..below.get());
                    let took = world.below(300_000) / (1 + world.below(100));
                    world.nap(machine, self.place, took as i64);
                    world.nap(machine, self.place, watch.pause().as_micros().max(took.into()) as i64);
                }
            }
            if self.monotonic() >= until {
                return;
            }
        }
    }
}

impl Audit {
    /// Before a step: no row has been readable for long.
    fn before(&mut self, process: &Process<'_>, rows: &[Row], reach: u64) {
        let (world, clock) = (process.world, process.tick());
        for &(time, from) in process.machine.steps_back.borrow().iter().rev() {
            if time < self.now.0 {
                break;
            }
            world.count("backward steps between two steps of a wait");
            self.dip = self.dip.max(Tick::floor(from).unwrap().get() + 1);
        }
        self.now = (world.time.get(), clock);
        for row in rows.iter().filter(|row| !self.found.contains(&row.id)) {
            if row.at >= reach {
                self.readable.remove(&row.id);
            } else {
                let now = Readable { steps: 0, clock, time: world.time.get() };
                let since = self.readable.entry(row.id).or_insert(now);
                since.steps += 1;
                let is_late = match row.at.min(row.tick) < self.dip || self.ahead.contains(&row.id) {
                    true => {
                        clock > since.clock + LATEST + 300 && process.machine.stepped_at.get() < since.time
                    }
                    false => true,
                };
                if since.steps > 2 && is_late {
                    world.fail(format!("a row of {} can be read below {reach}, and nobody looks", row.tick));
                }
            }
        }
        let open = process.machine.open_rows(process.machine.database(process.place));
        for row in rows.iter().chain(&open).filter(|row| row.at > clock) {
            if self.ahead.insert(row.id) {
                world.count("rows of a clock that was ahead");
            }
        }
    }

    /// After a step, that was held back by a tick.
    fn after(&mut self, process: &Process<'_>, rows: &[Row], held: Option<Tick>) {
        // A transaction can announce a tick from before the step, when it has read the clock and was interrupted.
        if let Some(tick) = held {
            let now = Readable { steps: 0, clock: process.tick(), time: process.world.time.get() };
            rows.iter().filter(|row| row.at >= tick.get()).for_each(|row| {
                self.readable.insert(row.id, now);
            });
        }
    }

    /// A look at rows.
    fn look(&mut self, process: &Process<'_>, rows: &[Row], range: std::ops::Range<u64>) {
        let (world, clock) = (process.world, process.tick());
        let is_all = range.start == 0;
        if is_all {
            world.count("looks at all unread rows");
            if let Some((time, before)) = self.all
                && process.machine.stepped_back_at.get() < time
                && clock < before + LATEST
            {
                world.fail(format!("looks at all rows at {before} and at {clock}"));
            }
            self.all = Some(self.now);
            // If the clock stepped back, it is looked beyond this once more.
            self.looked.retain(|_, tick| *tick < range.end);
        }
        let mut new = 0;
        for row in rows.iter().filter(|row| range.contains(&row.tick)) {
            new += u32::from(self.found.insert(row.id));
            if self.looked.insert(row.id, row.tick).is_some() && !is_all {
                world.fail(format!("a row of {} is looked for again", row.tick));
            }
        }
        world.count(if new > 0 { "looks that find rows" } else { "looks in vain" });
    }
}
