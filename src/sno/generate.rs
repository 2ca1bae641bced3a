//! `sno_new`: generation of IDs.
//!
//! The fast path is one claim in shared memory, in [`new`] itself: no lock, and no calls but those for the clock and
//! the allocation. What happens at most once a tick or once a session is inside pgrx's guard.

use std::{cell::Cell, sync::atomic::Ordering::Relaxed};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{Datum, FunctionCallInfo},
};
use sno_core::{Epoch, Fields, Prefix, SequenceRange, Sno, Tick};

use crate::{
    generator::{
        scheme::{BackendClock, Scheme},
        session::{self, SessionCell, refuse_recovery},
        shared::Memory,
    },
    pg::{
        backend_local::BackendLocal,
        datum::{Returned as _, Timestamp},
        errors::{Error, guard},
        fmgr::{Args, export, functions},
        process::{Process, can_prepare},
        server::process_id,
    },
    sno::{
        id::{self, SPAN},
        settings::Settings,
    },
};

export! { sno_new_at }

/// The scheme `sno`, for its generators.
#[derive(Clone, Copy)]
pub(crate) struct SnoScheme;

impl Scheme for SnoScheme {
    type Tick = Tick;
    type Clock = BackendClock;

    const NAME: &'static str = "sno";
    const FUNCTION: &'static str = "sno_new()";
    const MARKS: &'static str = "sno.marks";
    const VIEW: &'static str = "sno_generators";
    const SPAN: &'static str = SPAN;
    const ENDS: [&'static str; 2] = ["2010", "2079-09-07"];
    const SETTING: &'static str = "sno.partition_prefix";
    const ANNOUNCES: bool = true;

    fn clock(self) -> BackendClock {
        BackendClock
    }

    fn epoch(self) -> Epoch {
        Epoch::SNO
    }

    #[inline(always)]
    fn low(self) -> Tick {
        LOW.get()
    }

    fn announce(self, now: Tick) -> Result<Tick, Error> {
        if !LEADER_NOTICES.get() && can_prepare() {
            return Err(Error::new(
                SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot generate a sno in a parallel worker whose leader has not loaded the library",
            )
            .detail("If the leader prepared its transaction, sno_horizon() would not know of the ID.")
            .hint("Add \"sno\" to \"session_preload_libraries\" or \"shared_preload_libraries\"."));
        }
        let (process, horizon) = (Process::own(), &MEMORY.attach()?.horizon);
        let word = &MEMORY.announcements()?[process.number()];
        LOW.set(horizon.announce(word, process.transaction(), now));
        Ok(LOW.get())
    }
}

/// The tick from which on the present transaction may take IDs: the last one there is if it has not announced any.
// SAFETY: for the functions of this module.
static LOW: BackendLocal<Cell<Tick>> = unsafe { BackendLocal::new(Cell::new(Tick::MAX)) };

/// Whether the leader of this parallel worker notices that its transaction is prepared; true in other processes.
// SAFETY: for the functions of this module, and set when the library is loaded.
pub(crate) static LEADER_NOTICES: BackendLocal<Cell<bool>> = unsafe { BackendLocal::new(Cell::new(true)) };

/// Called after the end of a transaction.
pub(crate) fn forget_transaction() {
    if LOW.replace(Tick::MAX) != Tick::MAX
        && let Ok(announcements) = MEMORY.announcements()
    {
        announcements[Process::own().number()].clear();
    }
}

/// The number of generators: as many as a partition's low byte has values, so that settings which lead to the same
/// partition lead to the same generator.
pub(crate) const SLOTS: usize = 256;

/// The server's generators.
pub(crate) static MEMORY: Memory<SnoScheme, SLOTS> = Memory::new(c"sno generators");

pub(crate) type Session = session::Session<SnoScheme, SLOTS>;

static SESSION: SessionCell<Session> = SessionCell::new();

/// For IDs of given times: their partition and their sequence numbers, once the session has checked that it may
/// generate.
static BACKFILL: SessionCell<(u16, SequenceRange)> = SessionCell::new();

/// The partition of this backend.
pub(crate) fn own_partition(settings: &Settings) -> u16 {
    settings.prefix.partition(process_id())
}

/// The session, which is started if there is none.
pub(crate) fn session() -> Result<Session, Error> {
    SESSION.get_or_start(start)
}

fn start() -> Result<Session, Error> {
    let settings = Settings::current()?;
    let Settings { prefix, range } = settings;
    Session::start(SnoScheme, &MEMORY, prefix.partitions(), own_partition(&settings), range)
}

functions! {
    /// `sno_new(integer) → sno`
    sno_new: new;
}

/// # Safety
/// A call to `sno_new(integer)`.
#[inline(always)]
unsafe fn new(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL with one argument of type integer. No frame above has anything to drop.
    unsafe {
        let metabyte: i32 = Args::new(fcinfo).next();
        if let Ok(byte) = u8::try_from(metabyte)
            && let Some((stamp, partition)) = SESSION.try_next()
        {
            return stamp.id(byte, partition).into_datum();
        }
        guard(|| generate(metabyte)).into_datum()
    }
}

/// The slow path to an ID: it starts the session, and waits if it has to.
#[cold]
fn generate(metabyte: i32) -> Result<Sno, Error> {
    let metabyte = id::metabyte(metabyte)?;
    let session = session()?;
    Ok(session.next()?.id(metabyte, session.number))
}

/// `sno_new(integer, timestamptz) → sno`: an ID of a given time, with the reserved partition and a sequence number
/// from a separate counter.
fn sno_new_at(metabyte: i32, at: Timestamp) -> Result<Sno, Error> {
    let metabyte = id::metabyte(metabyte)?;
    let tick = id::tick(at)?;
    let (partition, range) = BACKFILL.get_or_start(|| {
        refuse_recovery::<SnoScheme>()?;
        let Settings { prefix, range } = Settings::current()?;
        Ok((prefix.reserved().ok_or_else(|| no_reserved_partition(prefix))?, range))
    })?;
    let number = MEMORY.attach()?.extra.fetch_add(1, Relaxed);
    let sequence = range.lower() + (number % u64::from(range.size())) as u16;
    Ok(Fields { tick, tick_tock: false, metabyte, partition, sequence }.into())
}

/// A prefix that leaves no partition for IDs of given times: they would equal IDs of the clock.
fn no_reserved_partition(prefix: Prefix) -> Error {
    Error::new(
        SqlState::ERRCODE_INVALID_PARAMETER_VALUE,
        "cannot generate IDs of given times under a partition prefix of 16 bits",
    )
    .detail(format!("They need a separate partition, and the prefix {prefix} has only one."))
    .hint("Set \"sno.partition_prefix\" to one of at most 15 bits.")
}
