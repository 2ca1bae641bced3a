//! `sno_new`: clock and settings into a generator, an ID out of it.
//!
//! The short way is one claim in shared memory, in [`sno_new`] itself: no lock, no call but the clock's and
//! the allocation's. Everything that happens at most once a tick or once a session goes the long way,
//! [`generate`], behind pgrx's guard.

use std::{
    cell::Cell,
    sync::atomic::Ordering::{Acquire, Relaxed},
    time::Instant,
};

use pgrx::pg_sys;
use sno_core::{Fields, Hold, Marks, SequenceRange, Slot, Sno, Stamp, Tick, TickClock};

use crate::{
    errors::Error,
    fields, marks,
    own::Own,
    settings::{Settings, max_clock_wait},
    shared::{self, SLOTS, Shared},
    v1::{Args, Returned as _, Timestamp, finfo, v1},
    wait::{Event, nap},
};

/// What this backend has made of its settings and its PID.
#[derive(Clone, Copy)]
struct Session {
    slot: &'static Slot,
    marks: &'static Marks,
    shared: &'static Shared,
    partition: u16,
    range: SequenceRange,
}

static SESSION: Own<Cell<Option<Session>>> = Own(Cell::new(None));

static CLOCK: Own<TickClock> = Own(TickClock::new());

/// Makes the next call look at the settings again.
pub(crate) fn forget() {
    SESSION.0.set(None);
}

/// The partition of this backend, and its place in the table of generators.
pub(crate) fn own_partition(settings: &Settings) -> (u16, usize) {
    // SAFETY: set when the process started.
    let partition = settings.prefix.partition(unsafe { pg_sys::MyProcPid } as u32);
    (partition, partition as usize % SLOTS)
}

impl Session {
    /// Everything that has to be in order before an ID may be made.
    fn start() -> Result<Self, Error> {
        let settings = Settings::current()?;
        refuse_recovery()?;
        let shared = shared::attach()?;
        if !shared.ready.load(Acquire) {
            marks::resume(shared)?;
        }
        let (partition, slot) = own_partition(&settings);
        Ok(Self { slot: &shared.slots[slot], marks: &shared.marks, shared, partition, range: settings.range })
    }

    #[inline(always)]
    fn claim(&self) -> Result<Stamp, Hold> {
        self.slot.claim(&CLOCK.0, self.range, self.marks)
    }

    /// Once a tick: who draws from the slot, and how far the marks still reach.
    fn upkeep(&self, stamp: Stamp) {
        if stamp.drifted {
            self.log_drift(stamp);
        }
        self.slot.note_partition(self.partition);
        if self.marks.due(stamp.tick_tock, stamp.tick) {
            marks::renew_early(self.shared, stamp.tick_tock, stamp.tick);
        }
    }
}

impl Session {
    /// One line for a step of the clock, however many generators meet it.
    #[cold]
    fn log_drift(&self, stamp: Stamp) {
        let from = match self.slot.is_used() {
            true => self.slot.left(!stamp.tick_tock).get(),
            // Its last tick is a mark, which was ahead of the clock.
            false => self.shared.resumed.load(Relaxed),
        };
        if from > stamp.tick.get() {
            Error::clock_stepped_back(from - stamp.tick.get()).log();
        }
    }
}

/// Recovery never comes back within a session, so this is asked when one starts.
fn refuse_recovery() -> Result<(), Error> {
    // SAFETY: reads the server's state.
    if unsafe { pg_sys::RecoveryInProgress() } { Err(Error::recovery()) } else { Ok(()) }
}

finfo!(sno_new);
/// `sno_new(integer) → sno`
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_new(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL with one argument of type integer. Nothing here needs dropping when an
    // error jumps out of the guard or of the allocation.
    unsafe {
        let metabyte: i32 = Args::new(fcinfo).next();
        if let (Some(session), Ok(byte)) = (SESSION.0.get(), u8::try_from(metabyte))
            && let Ok(stamp) = session.claim()
        {
            if stamp.entered {
                pgrx::pgrx_extern_c_guard(|| session.upkeep(stamp));
            }
            return stamp.id(byte, session.partition).into_datum();
        }
        pgrx::pgrx_extern_c_guard(|| generate(metabyte)).into_datum()
    }
}

/// An ID by the long way: checks, and waits as long as the generator says.
#[cold]
fn generate(metabyte: i32) -> Sno {
    let generate = || {
        let metabyte = fields::metabyte(metabyte)?;
        let session = match SESSION.0.get() {
            Some(session) => session,
            None => Session::start()?,
        };
        SESSION.0.set(Some(session));
        let mut clock_wait = ClockWait::default();
        loop {
            match session.claim() {
                Ok(stamp) => {
                    if stamp.entered {
                        session.upkeep(stamp);
                    }
                    return Ok(stamp.id(metabyte, session.partition));
                }
                Err(Hold::Overflow { until }) => {
                    session.slot.note_overflow();
                    // No longer than a tick, though the clock may have stepped back just now.
                    wait(&session, Event::Tick, micros_until(until).min(TICK));
                }
                Err(Hold::Regression { until, .. }) => {
                    // The view shows what is waited for, even if no ID was made yet.
                    session.slot.note_partition(session.partition);
                    let micros = micros_until(until);
                    clock_wait.permit(until, micros)?;
                    wait(&session, Event::Clock, micros);
                }
                Err(Hold::Mark { tick_tock, tick }) => marks::renew(session.shared, tick_tock, tick)?,
                Err(Hold::Clock(error)) => return Err(Error::clock_outside_epoch(error)),
            }
        }
    };
    generate().unwrap_or_else(|error: Error| error.raise())
}

/// Microseconds in a tick.
const TICK: u64 = 1_000_000 / Tick::PER_SECOND;

fn micros_until(tick: Tick) -> u64 {
    let now = std::time::SystemTime::now();
    std::time::SystemTime::from(tick).duration_since(now).map_or(0, |left| left.as_micros() as u64)
}

fn wait(session: &Session, event: Event, micros: u64) {
    let since = Instant::now();
    nap(event, micros);
    session.slot.note_wait(since.elapsed().as_micros() as u64);
}

/// How long one call has waited for a clock that went back.
#[derive(Default)]
struct ClockWait(Option<Instant>);

impl ClockWait {
    /// Fails if what was waited and what is still to wait are more than the setting allows.
    fn permit(&mut self, until: Tick, micros: u64) -> Result<(), Error> {
        let waited = self.0.get_or_insert_with(Instant::now).elapsed().as_micros() as u64;
        if waited + micros > max_clock_wait() {
            return Err(Error::clock_went_back(until, micros, max_clock_wait()));
        }
        Ok(())
    }
}

v1! {
    /// `sno_new(integer, timestamptz) → sno`: an ID of a given time, in the reserved partition, numbered
    /// by a sequence of its own.
    fn sno_new_at(metabyte: i32, at: Timestamp) -> Sno {
        port(metabyte, at)
    }
}

fn port(metabyte: i32, at: Timestamp) -> Result<Sno, Error> {
    let metabyte = fields::metabyte(metabyte)?;
    let tick = fields::tick(at)?;
    let Settings { prefix, range } = Settings::current()?;
    refuse_recovery()?;
    let number = shared::attach()?.ported.fetch_add(1, Relaxed);
    let sequence = range.lower() + (number % u64::from(range.size())) as u16;
    Ok(Fields { tick, tick_tock: false, metabyte, partition: prefix.reserved(), sequence }.into())
}
