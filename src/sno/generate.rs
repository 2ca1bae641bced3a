//! `sno_new`: clock and settings into a generator, an ID out of it.
//!
//! The short way is one claim in shared memory, in [`sno_new`] itself: no lock, no call but the clock's and
//! the allocation's. Everything that happens at most once a tick or once a session goes the long way,
//! [`generate`], behind pgrx's guard.

use std::sync::atomic::Ordering::Relaxed;

use pgrx::pg_sys;
use sno_core::{Clock, Fields, OutOfEpoch, Sno, Stamp, Tick, TickClock, record::Origin};

use crate::{
    generator::{
        session::{self, SessionCell, process_id, refuse_recovery},
        shared::Memory,
        system::System,
    },
    pg::{
        backend_local::BackendLocal,
        datum::{Returned as _, Timestamp},
        errors::{Error, guard},
        fmgr::{Args, finfo, pg_function},
    },
    sno::{
        fields::{self, SPAN},
        settings::Settings,
    },
};

/// `sno`, as far as its generators go.
#[derive(Clone, Copy)]
pub(crate) struct SnoSystem;

impl System for SnoSystem {
    type Time = Tick;

    const NAME: &'static str = "sno";
    const FUNCTION: &'static str = "sno_new()";
    const MARKS: &'static str = "sno.marks";
    const VIEW: &'static str = "sno_generators";
    const SPAN: &'static str = SPAN;
    const ENDS: [&'static str; 2] = ["2010", "2079-09-07"];
    const SETTING: &'static str = "sno.partition_prefix";

    fn origin(self, wal_timeline: u32, file: u64) -> Result<Origin, Error> {
        let Settings { prefix, range } = Settings::current()?;
        Ok(Origin::new(wal_timeline, file, prefix, range))
    }

    fn ceil(self, unix_micros: i64) -> Result<Tick, OutOfEpoch> {
        Tick::ceil(unix_micros)
    }

    fn unix_micros(self, tick: Tick) -> i64 {
        tick.unix_micros()
    }
}

// SAFETY: for the functions of this module.
static CLOCK: BackendLocal<TickClock> = unsafe { BackendLocal::new(TickClock::new()) };

impl Clock for SnoSystem {
    #[inline(always)]
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        CLOCK.now()
    }

    #[inline(always)]
    fn lasts(&self, tick: Tick) -> bool {
        CLOCK.lasts(tick)
    }
}

/// Generators: as many as a partition's low byte has values, so that two settings which lead to one
/// partition lead to one generator too.
pub(crate) const SLOTS: usize = 256;

/// The server's generators.
pub(crate) static MEMORY: Memory<SnoSystem, SLOTS> = Memory::new(c"sno generators", 20 * 1024);

type Session = session::Session<SnoSystem, SLOTS>;

static SESSION: SessionCell<Session> = SessionCell::new();

/// What IDs of given times go by, in a session that may generate.
static PORT: SessionCell<Settings> = SessionCell::new();

/// Makes the next call look at the settings again.
pub(crate) fn forget() {
    SESSION.forget();
    PORT.forget();
}

/// The partition of this backend.
pub(crate) fn own_partition(settings: &Settings) -> u16 {
    settings.prefix.partition(process_id())
}

fn start() -> Result<Session, Error> {
    let settings = Settings::current()?;
    Session::start(SnoSystem, &MEMORY, own_partition(&settings), settings.range)
}

finfo!(sno_new);
/// `sno_new(integer) → sno`
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_new(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL with one argument of type integer. This is the outermost frame, and nothing in it
    // needs dropping.
    unsafe {
        let metabyte: i32 = Args::new(fcinfo).next();
        if let (Some(session), Ok(byte)) = (SESSION.get(), u8::try_from(metabyte))
            && let Ok(stamp) = session.claim()
        {
            if stamp.entered {
                upkeep(session, stamp);
            }
            return stamp.id(byte, session.number).answer();
        }
        guard(|| generate(metabyte)).answer()
    }
}

/// What is done once a tick.
///
/// # Safety
/// Called in the outermost frame, which has nothing to drop.
#[cold]
#[inline(never)]
unsafe fn upkeep(session: Session, stamp: Stamp<Tick>) {
    // SAFETY: by the contract.
    unsafe {
        guard(|| {
            session.upkeep(stamp);
            Ok(())
        });
    }
}

/// An ID by the long way: checks, and waits as long as the generator says.
#[cold]
fn generate(metabyte: i32) -> Result<Sno, Error> {
    let metabyte = fields::metabyte(metabyte)?;
    let session = SESSION.get_or_start(start)?;
    Ok(session.next()?.id(metabyte, session.number))
}

pg_function! {
    /// `sno_new(integer, timestamptz) → sno`: an ID of a given time, in the reserved partition, numbered
    /// by a sequence of its own.
    fn sno_new_at(metabyte: i32, at: Timestamp) -> Sno {
        port(metabyte, at)
    }
}

fn port(metabyte: i32, at: Timestamp) -> Result<Sno, Error> {
    let metabyte = fields::metabyte(metabyte)?;
    let tick = fields::tick(at)?;
    let Settings { prefix, range } = PORT.get_or_start(|| {
        refuse_recovery::<SnoSystem>()?;
        Settings::current()
    })?;
    let number = MEMORY.attach()?.counter.fetch_add(1, Relaxed);
    let sequence = range.lower() + (number % u64::from(range.size())) as u16;
    Ok(Fields { tick, tick_tock: false, metabyte, partition: prefix.reserved(), sequence }.into())
}
