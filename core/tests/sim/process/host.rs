//! What a process is to the code of the core: its clock, its naps and notices, and its calls of the disk.

use std::{io, panic::resume_unwind, time::Duration};

use sno_core::{
    Epoch, Tick,
    record::Machine,
    server::{Disk, Host, Notice, Stat, Wait},
};

use super::{Cancelled, Process};
use crate::disk::Handle;

impl Host<Tick> for Process<'_> {
    fn epoch(&self) -> Epoch {
        Epoch::SNO
    }

    fn unix_micros(&self) -> i64 {
        let world = self.world;
        world.pause();
        let now = self.machine.clock(world);
        self.own.read.set(now);
        if world.faults.steps_at_readings && !world.ending.get() && world.one_in(50) {
            world.step(self.machine, world.below(40_000) as i64 - 20_000);
        }
        now
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.world.time.get() as u64)
    }

    fn max_clock_wait(&self) -> u64 {
        self.machine.max_clock_wait.get()
    }

    fn nap(&self, wait: Wait, micros: u64) {
        self.world.count(match wait {
            Wait::Tick => "waits for a tick",
            Wait::Clock => "waits for the clock",
            Wait::Marks => "waits for a writer of the marks",
        });
        if wait == Wait::Tick {
            self.wait_for_tick(micros);
        }
        if wait == Wait::Clock {
            let now = self.world.time.get();
            self.own.waits_since.set(self.own.waits_since.get().or(Some(now)));
            if self.is_too_long(micros) {
                self.world.fail(format!("a wait of {micros} us, longer than allowed"));
            }
            // Up to a tick it is for a horizon that was returned just now.
            let went_back = self.machine.stepped_back_at.get() > 0 || self.machine.has_restarted.get();
            if micros > 4000 && !went_back {
                self.world.fail(format!("a wait of {micros} us for a clock that has only gone forward"));
            }
        }
        // As the extension does, at most a second. A signal may end it earlier.
        self.world.nap(self.machine, self.place, micros.min(1_000_000) as i64);
        if self.world.faults.cancels && !self.world.ending.get() && self.world.one_in(20) {
            self.world.count("cancelled calls");
            resume_unwind(Box::new(Cancelled));
        }
    }

    fn system_identifier(&self) -> u64 {
        self.machine.system_identifier.get()
    }

    fn has_database(&self, database: u32) -> bool {
        [1, self.machine.second.get()].contains(&database)
    }

    fn wal_timeline(&self) -> u32 {
        self.machine.wal_timeline.get()
    }

    fn machine(&self) -> Machine {
        Machine::default()
    }

    fn random(&self) -> io::Result<u64> {
        self.fails()?;
        Ok(self.world.below(1 << 40))
    }

    fn last_replayed_commit(&self) -> Option<i64> {
        self.machine.replayed.get()
    }

    fn log(&self, notice: Notice<Tick>) {
        self.world.say(self.machine, || format!("p{} {notice:?}", self.place));
        self.world.count(match notice {
            Notice::Copied { .. } => "copies that were noticed",
            Notice::Created => "marks that were created",
            Notice::ClockWentBackWhileDown(_) => "backward steps while a server was down",
            Notice::NotRenewed(_) => "early renewals that failed",
            Notice::ClockSteppedBack { .. } => "backward steps that were logged",
        });
    }
}

impl Process<'_> {
    /// Whether a call that waits so many microseconds more for the clock has waited longer than it may.
    pub(super) fn is_too_long(&self, micros: u64) -> bool {
        let now = self.world.time.get();
        (now - self.own.waits_since.get().unwrap_or(now)) as u64 + micros > self.machine.max_clock_wait.get()
    }

    /// A wait for the next tick, which never is long, and has an end if the clock stands still.
    fn wait_for_tick(&self, micros: u64) {
        let (world, own) = (self.world, self.own);
        if micros > 4000 {
            world.fail(format!("a wait of {micros} us for the next tick"));
        }
        // Up to here the clock has stood still for as long as this, or longer.
        let now = (world.time.get(), self.machine.clock(world));
        let (since, clock) = own.ticks_since.get().filter(|(_, clock)| *clock == now.1).unwrap_or(now);
        own.ticks_since.set(Some((since, clock)));
        let most = self.machine.max_clock_wait.get().max(2_000_000) as i64;
        if now.0 - since > most + 1_000_000 {
            world.fail(format!("a wait of {} us for a clock that stands still", now.0 - since));
        }
    }

    /// A call has found that the clock has stood still for so long, when it last read it.
    pub(super) fn check_standstill(&self, micros: i64) {
        let (time, read) = (self.world.time.get(), self.own.read.get());
        let (since, clock) = self.own.ticks_since.get().unwrap_or((time, 0));
        if time - since < micros - 1_000_000 || read - clock >= 4000 {
            self.world.fail(format!("the clock moves, and counts as one that has stood for {micros} us"));
        }
    }

    fn sync(&self, function: &str, file: &Handle) -> io::Result<()> {
        self.world.say(self.machine, || function.into());
        let failure = self.fails();
        let part = |tears| self.world.part_of_a_sector(tears);
        self.machine.disk.sync(file, failure.is_err().then_some(&part))
    }

    /// An error of the disk, at times; or the end of the server.
    fn fails(&self) -> io::Result<()> {
        let world = self.world;
        world.pause();
        if world.faults.falls && !world.ending.get() && world.one_in(30) {
            world.fall(self.machine);
        }
        if world.faults.disk_errors && !world.ending.get() && world.one_in(15) {
            world.count("errors of the disk");
            return Err(io::Error::other("EIO"));
        }
        Ok(())
    }
}

impl Disk for Process<'_> {
    type File = Handle;

    fn open(&self) -> io::Result<Handle> {
        self.fails()?;
        Ok(self.machine.disk.open())
    }

    fn try_lock(&self, file: &Handle) -> io::Result<bool> {
        self.fails()?;
        Ok(self.machine.disk.try_lock(file))
    }

    fn stat(&self, file: &Handle) -> io::Result<Stat> {
        self.fails()?;
        Ok(Stat { device: 0, inode: file.inode.number, length: file.inode.cache.borrow().len() as u64 })
    }

    fn read(&self, file: &Handle, length: u64) -> io::Result<Vec<u8>> {
        self.fails()?;
        let cache = file.inode.cache.borrow();
        Ok(cache[..cache.len().min(length as usize)].to_vec())
    }

    fn write_at(&self, file: &Handle, bytes: &[u8], position: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            // Only the first part of a page can be short: what is in one sector is written at once.
            let all = bytes.len() - done;
            let part = match self.world.faults.short_writes && self.world.one_in(3) {
                true => all.min(512 * (1 + self.world.below(8)) as usize),
                false => all,
            };
            self.world.say(self.machine, || format!("pwrite64 {part} at {}", position + done as u64));
            let written = self.machine.disk.write(file, &bytes[done..done + part], position as usize + done);
            if written.is_err() {
                self.world.count("full disks");
                if file.inode.is_complete.get() {
                    self.world.fail("no space for a record, although there was one before".into());
                }
            }
            written?;
            done += part;
            self.fails()?;
        }
        Ok(())
    }

    fn sync_data(&self, file: &Handle) -> io::Result<()> {
        self.sync("fdatasync", file)
    }

    fn sync_all(&self, file: &Handle) -> io::Result<()> {
        self.sync("fsync", file)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.world.say(self.machine, || "fsync folder".into());
        self.fails()?;
        self.machine.disk.sync_directory();
        Ok(())
    }
}
