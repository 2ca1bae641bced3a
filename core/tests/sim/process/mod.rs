//! What a process of a server does: sessions, transactions, readers of the horizon.

mod host;

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use sno_core::{
    Announcer, DatabaseHorizon, Prefix, Stamp, Tick, Transaction,
    server::{Error, Host as _, MarksFile, Session, Shared},
};

use crate::world::{Machine, Prepared, Row, SECOND, SLOTS, World, millis};

/// A process, in the place that its machine has for it.
#[derive(Clone, Copy)]
pub(crate) struct Process<'a> {
    pub(crate) world: &'a World,
    pub(crate) machine: &'a Machine,
    pub(crate) place: usize,
    own: &'a Own,
}

/// What a process has for itself.
#[derive(Default)]
struct Own {
    /// One after another.
    transaction: Transaction,
    /// When the present call began to wait for the clock.
    waits_since: Cell<Option<i64>>,
    /// What it has last read from the clock.
    read: Cell<i64>,
    /// Since when it has waited for the end of a tick while the clock read the same time, and which.
    ticks_since: Cell<Option<(i64, i64)>>,
}

/// The payload of a call that was cancelled.
struct Cancelled;

pub(crate) type Generator<'a> = Session<'a, Tick, SLOTS, Process<'a>>;

/// Lives in a place, one session after another.
pub(crate) fn live(world: &World, machine: &Machine, place: usize) {
    let shared = machine.shared();
    let process = Process { world, machine, place, own: &Own::default() };
    let process_id = place as u32 + 7 * world.below(5) as u32;
    // The settings that the session has read, and its last ID.
    let mut session: Option<Generator<'_>> = None;
    let mut settings = u64::MAX;
    let last = Cell::new(None);
    loop {
        if world.ending.get() {
            machine.parked[place].set(true);
            world.nap(machine, place, i64::MAX / 2);
        }
        if settings != machine.settings.get() {
            session = None;
            last.set(None);
            settings = machine.settings.get();
        }
        let Some(session) = session else {
            session = process.statement(|| process.start(&shared, process_id)).and_then(Result::ok);
            continue;
        };
        match world.below(12) {
            0..=2 => {
                process.read_horizon(&session);
            }
            3 => process.finish_prepared(),
            4 if world.one_in(4) => process.wait(&session),
            4 if world.faults.lowers && world.one_in(3) => process.lower(&session),
            4 if place == SECOND && world.one_in(2) => process.copy(),
            4 => world.nap(machine, place, 1 + world.below(20_000) as i64),
            _ => process.transaction(&session, &last),
        }
    }
}

/// When all faults have ended: an ID can be generated, and the horizon comes to the present.
pub(crate) fn last_call(world: &World, machine: &Machine) {
    let shared = machine.shared();
    let process = Process { world, machine, place: 0, own: &Own::default() };
    let session = match process.start(&shared, 0) {
        Ok(session) => session,
        Err(error) => return world.fail(format!("no session at the end: {error}")),
    };
    machine.begin(0);
    if let Err(error) = process.next(&session, &Cell::new(None)) {
        world.fail(format!("no ID at the end: {error}"));
    }
    process.commit(0);
    let before = process.now().unwrap();
    match process.read_horizon(&session) {
        Some((horizon, margin)) if horizon.get() + margin >= before.get() => {}
        other => world.fail(format!("the horizon at the end is {other:?}, and the clock {before:?}")),
    }
    machine.parked[0].set(true);
}

/// A call of a schedule, in a session of its own.
pub(crate) fn call(world: &World, machine: &Machine, name: &str) {
    let shared = machine.shared();
    let process = Process { world, machine, place: 0, own: &Own::default() };
    let session = process.start(&shared, 0).unwrap();
    let last = Cell::new(None);
    machine.begin(0);
    let result = match name {
        "horizon" => session
            .horizon(&session.horizon_of(1).unwrap(), 250, || None, || None)
            .map(|tick| format!("{} ms, side 0", millis(tick))),
        _ => process.next(&session, &last).map(|()| {
            let (stamp, _) = last.get().unwrap();
            format!("{} ms, side {}", millis(stamp.tick()), stamp.tick_tock() as u8)
        }),
    };
    process.commit(0);
    world.say(machine, || match result {
        Ok(text) => format!("returns {text}"),
        Err(Error::ClockWentBack { micros, .. }) => {
            format!("fails, {:.3} s ahead of the clock", micros as f64 / 1e6)
        }
        Err(error) => format!("fails: {error}"),
    });
}

impl<'a> Process<'a> {
    /// Starts a session by the present settings.
    fn start(self, shared: &'a Shared<Tick, SLOTS>, process_id: u32) -> Result<Generator<'a>, Error> {
        let (prefix, range) = (self.machine.prefix.get(), self.machine.range.get());
        let partitions = [*prefix.partitions().start(), *prefix.partitions().end()];
        let marks = MarksFile { host: self, shared, partitions: Some(partitions), range };
        let session = Session::start(marks, prefix.partition(process_id))?;
        self.check_number(shared.number());
        Ok(session)
    }

    /// The number that the server has drawn is that of its last start, if the file is the same.
    fn check_number(&self, number: Prefix) {
        let (world, machine) = (self.world, self.machine);
        let place = (machine.system_identifier.get(), machine.wal_timeline.get(), machine.disk.inode());
        if let Some((place_before, before)) = machine.drawn.replace(Some((place, number)))
            && place_before == place
            && before != number
            && world.without.is_none()
        {
            world.fail(format!("the server number {number} was {before} before"));
        }
    }

    /// Runs a statement, which can be cancelled.
    pub(crate) fn statement<R>(&self, run: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(result) => Some(result),
            Err(payload) if payload.is::<Cancelled>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }

    /// The next ID of a transaction.
    fn next(&self, session: &Generator<'a>, last: &Cell<Option<(Stamp, i64)>>) -> Result<(), Error> {
        let (machine, transaction) = (self.machine, &self.own.transaction);
        let (began, clock) = (self.world.time.get(), machine.clock(self.world));
        // As the extension does: first without waiting.
        let stamp = match session.try_next(transaction.announced()) {
            Some(stamp) => stamp,
            None => {
                self.own.waits_since.set(None);
                self.own.ticks_since.set(None);
                let announcer = |horizon: DatabaseHorizon<'a>| Announcer {
                    horizon: horizon.horizon(),
                    announcement: &machine.announcements[self.place],
                    number: machine.numbers[self.place].get(),
                };
                let result = session
                    .horizon_of(machine.database(self.place))
                    .and_then(|horizon| session.next_of(transaction, &announcer(horizon)));
                if let Err(Error::ClockWentBack { micros, .. }) = &result
                    && !self.is_too_long(*micros)
                {
                    self.world.fail(format!("an error instead of a wait of {micros} us"));
                }
                if let Err(Error::ClockStandsStill { micros }) = &result {
                    self.check_standstill(*micros as i64);
                }
                result?
            }
        };
        self.world.own(machine, self.place, session.number, stamp);
        let slow = self.world.time.get() - began > 60_000_000 && !self.world.faults.freezes;
        if slow {
            self.world.count("calls of more than a minute");
        }
        let times = [clock, machine.clock(self.world)].map(|micros| Tick::floor(micros).unwrap());
        // A process notices a step at once.
        if began > machine.stepped_at.get() && !(times[0]..=times[1]).contains(&stamp.tick()) {
            self.world.fail(format!("{stamp:?} in a call from {:?} to {:?}", times[0], times[1]));
        }
        let place = |stamp: Stamp| (stamp.tick(), stamp.tick_tock(), stamp.sequence());
        if let Some((before, at)) = last.replace(Some((stamp, began)))
            && at > machine.stepped_back_at.get()
            && place(before) >= place(stamp)
        {
            self.world.fail(format!("a session got {before:?} and then {stamp:?}"));
        }
        Ok(())
    }

    /// Some IDs; false if one of them failed.
    fn generate(&self, session: &Generator<'a>, last: &Cell<Option<(Stamp, i64)>>) -> bool {
        (0..1 + self.world.below(6)).all(|_| {
            let result = self.statement(|| self.next(session, last));
            if let Some(Err(error)) = &result {
                self.world.say(self.machine, || format!("p{} {error}", self.place));
                self.world.count(match error {
                    Error::ClockWentBack { .. } => "errors: the clock went back",
                    Error::ClockStandsStill { .. } => "errors: the clock stands still",
                    Error::Io { .. } => "errors: the file of the marks",
                    Error::OutOfEpoch(_) | Error::NoRecord => "other errors",
                });
            }
            matches!(result, Some(Ok(())))
        })
    }

    fn transaction(&self, session: &Generator<'a>, last: &Cell<Option<(Stamp, i64)>>) {
        let (world, machine, place) = (self.world, self.machine, self.place);
        machine.begin(place);
        let (mut good, mut position, mut lowerings) = (true, 0, machine.lowerings.get());
        for _ in 0..1 + world.below(4) {
            match world.below(8) {
                // A reader of a feed reads rows below it and stores how far.
                0 => {
                    let before = machine.lowerings.get();
                    if let Some((horizon, _)) = self.read_horizon(session) {
                        (position, lowerings) = (horizon.get(), before);
                    }
                }
                1 => world.nap(machine, place, world.below(30_000) as i64),
                2 if good => {
                    // A subtransaction that is rolled back.
                    let rows = machine.rows[place].borrow().len();
                    self.generate(session, last);
                    machine.rows[place].borrow_mut().truncate(rows);
                    world.count("subtransactions rolled back");
                }
                _ => good &= self.generate(session, last),
            }
        }
        match world.below(8) {
            0 => self.prepare(),
            // A feed that was set back meanwhile stays there.
            1..=5 if good => self.commit(if lowerings == machine.lowerings.get() { position } else { 0 }),
            _ => {
                machine.rows[place].borrow_mut().clear();
                machine.numbers[place].set(0);
                self.end();
            }
        }
    }

    fn end(&self) {
        self.world.pause();
        self.own.transaction.end(|| Some(&self.machine.announcements[self.place]));
    }

    fn commit(&self, position: u64) {
        let (world, machine, place) = (self.world, self.machine, self.place);
        // The time is taken before the commit is written.
        let time = machine.clock(world);
        if world.one_in(10) {
            world.nap(machine, place, world.below(800_000) as i64);
        }
        let rows = machine.rows[place].borrow().clone();
        world.committed(machine, &rows, position, time);
        world.pause();
        if world.one_in(4) {
            world.nap(machine, place, world.below(5000) as i64);
        }
        // Visible to others, and the end of the number: one step.
        machine.visible.borrow_mut().append(&mut machine.rows[place].borrow_mut());
        machine.numbers[place].set(0);
        world.count("commits");
        self.end();
    }

    fn prepare(&self) {
        let (world, machine, place) = (self.world, self.machine, self.place);
        let tick = self.own.transaction.prepare();
        machine.preparing[place].set(tick);
        world.say(machine, || format!("p{place} prepares with {tick:?}"));
        world.pause();
        if tick.is_none() && !machine.rows[place].borrow().is_empty() {
            world.fail("a transaction with IDs is prepared without a tick".into());
        }
        let rows = machine.rows[place].borrow().clone();
        machine.prepared.borrow_mut().push(Prepared {
            database: machine.database(place),
            tick,
            rows,
            is_visible: false,
        });
        world.pause();
        machine.rows[place].borrow_mut().clear();
        machine.preparing[place].set(None);
        machine.numbers[place].set(0);
        world.count("prepared transactions");
        self.end();
    }

    /// `COMMIT PREPARED` or `ROLLBACK PREPARED` of one.
    fn finish_prepared(&self) {
        let (world, machine) = (self.world, self.machine);
        let time = machine.clock(world);
        let database = machine.database(self.place);
        let is_open = |prepared: &&mut Prepared| !prepared.is_visible && prepared.database == database;
        let rows = match machine.prepared.borrow_mut().iter_mut().find(is_open) {
            Some(prepared) => {
                prepared.is_visible = true;
                machine.visible.borrow_mut().extend(&prepared.rows);
                prepared.rows.clone()
            }
            None => return,
        };
        world.committed(machine, &rows, 0, time);
        world.pause();
        // The lock is released after the commit is visible.
        machine.prepared.borrow_mut().retain(|prepared| !prepared.is_visible);
    }

    /// The second database is dropped, and created again as a copy of the first one, with the positions of its feeds.
    fn copy(&self) {
        let (world, machine) = (self.world, self.machine);
        let second = machine.second.get();
        if machine.prepared.borrow().iter().all(|prepared| prepared.database != second) {
            machine.second.set(second + 1);
            machine.told[1].set(machine.told[0].get());
            machine.returned[1].set(machine.returned[0].get());
            world.say(machine, || "the first database is copied".into());
            world.count("copies of a database");
        }
    }

    /// The least tick that open transactions have announced.
    pub(crate) fn open(&self, horizon: DatabaseHorizon<'_>) -> Option<Tick> {
        let all = (0..).zip(&self.machine.announcements).zip(&self.machine.numbers);
        let ticks = all.filter_map(|((place, announcement), number)| {
            let tick = announcement.of(|| {
                self.world.pause();
                number.get()
            })?;
            horizon.counts(self.machine.database(place)).then_some(tick)
        });
        ticks.min()
    }

    /// That of transactions that are prepared, or about to be.
    pub(crate) fn prepared(&self, horizon: DatabaseHorizon<'_>) -> Option<Tick> {
        self.world.pause();
        let prepared: Vec<_> =
            self.machine.prepared.borrow().iter().map(|each| (each.database, each.tick)).collect();
        let prepared = prepared.into_iter().filter(|(database, _)| horizon.counts(*database));
        // A lock that is not listed yet counts for all.
        let preparing = self.machine.preparing.iter().filter_map(Cell::get);
        prepared.filter_map(|(_, tick)| tick).chain(preparing).min()
    }

    /// Lowers what readers were told of the future, and sets the positions of all feeds back. IDs can be below both
    /// from some moment of the call on.
    fn lower(&self, session: &Generator<'a>) {
        let (world, machine) = (self.world, self.machine);
        machine.lowerings.set(machine.lowerings.get() + 1);
        machine.lowering.set(machine.lowering.get() + 1);
        let told = machine.told.each_ref().map(|told| told.replace(0));
        let position = machine.position.replace(0);
        machine.returned.iter().for_each(|returned| returned.set(0));
        let era = || session.shared().horizons.find(1).era();
        let before = era();
        let number = session.shared().last_lowering();
        let result = self.statement(|| {
            session.lower_horizons()?;
            session.goes_back_from(Tick::MAX, number)
        });
        machine.lowerings.set(machine.lowerings.get() + 1);
        machine.lowering.set(machine.lowering.get() - 1);
        world.say(machine, || format!("p{} lowers: {result:?}", self.place));
        if era() > before {
            world.count("horizons that were lowered");
        }
        // If it was cancelled, too, others do not know what the next start finds.
        let failed = !matches!(result, Some(Ok(_)));
        machine.lowering_failed.set(machine.lowering_failed.get() || failed);
        if machine.lowering.get() == 0
            && let Some(Ok(lowered)) = result
        {
            let to = lowered.map_or(u64::MAX, Tick::get);
            machine.told.iter().zip(told).for_each(|(now, before)| now.set(before.min(to)));
            machine.position.set(position.min(to));
        }
    }

    /// The horizon and the margin.
    fn read_horizon(&self, session: &Generator<'a>) -> Option<(Tick, u64)> {
        let (world, machine) = (self.world, self.machine);
        let margin = [0, 1 + world.below(10), 250, world.below(2000)][world.below(4) as usize];
        let (database, index) = (machine.database(self.place), usize::from(self.place == SECOND));
        let of_database = self.statement(|| session.horizon_of(database))?.ok()?;
        let (before, lowerings) = (machine.returned[index].get(), machine.lowerings.get());
        let (open, prepared) = (|| self.open(of_database), || self.prepared(of_database));
        let horizon = match self.statement(|| session.horizon(&of_database, margin, open, prepared))? {
            Ok(horizon) => horizon,
            Err(_) => return None,
        };
        world.say(machine, || format!("p{} horizon {}", self.place, horizon.get()));
        world.count("horizons");
        if machine.lowering.get() > 0 {
            // It can be of an earlier era.
            return Some((horizon, margin));
        }
        if lowerings != machine.lowerings.get() {
            world.count("horizons that were read while they were lowered");
        } else if horizon.get() < before {
            world.fail(format!("the horizon went back from {before} to {}", horizon.get()));
        }
        let open: Vec<Row> = machine.open_rows(database);
        if let Some(row) = open.iter().find(|row| row.tick < horizon.get()) {
            world.fail(format!(
                "a row of {} is still to come, below the horizon {}",
                row.tick,
                horizon.get()
            ));
        }
        if open.iter().any(|row| row.tick <= horizon.get() + 1) {
            world.count("horizons that a transaction holds back");
        }
        let others = machine.open_rows(machine.database(if index == 0 { SECOND } else { 0 }));
        if others.iter().any(|row| row.tick < horizon.get()) {
            world.count("horizons above open transactions of another database");
        }
        for highest in [&machine.returned[index], &machine.told[index]] {
            highest.set(horizon.get().max(highest.get()));
        }
        Some((horizon, margin))
    }
}
