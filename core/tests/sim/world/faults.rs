//! Faults: clocks that step, servers that go down, failovers, files of the marks that are replaced, clones.

use std::{cell::Cell, rc::Rc};

use sno_core::{
    Announcement, Tick,
    record::{LENGTH, Record},
};

use super::{Backup, Condition, Machine, PLACES, SLOTS, World};
use crate::disk::{SECTOR, newest_record};

impl World {
    /// The server of the process that runs goes down, in the middle of what it does.
    pub(crate) fn fall(&self, machine: &Machine) {
        let power = self.faults.power_failures && self.one_in(2);
        self.count("servers that went down in a call of the disk");
        self.down.set(Some((machine.index, if power { Down::Power } else { Down::Crash })));
        self.hand_on();
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
    pub(super) fn pass_all_ids(&self, machine: &Machine, until_it_resumes: bool) {
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
    pub(super) fn fault(&self, machine: &Machine) {
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
    pub(super) fn go_down(&self, machine: &Machine, down: Down) {
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
    pub(super) fn replace_file(&self, machine: &Machine, content: Option<Vec<u8>>) {
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
pub(super) enum Down {
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
