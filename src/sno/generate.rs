//! `sno_new`: generation of IDs.
//!
//! The fast path is one claim within a tick, in [`new`] itself: no lock, and no calls but those for the clock and the
//! allocation. What happens at most once a tick, once a transaction or once a session is inside pgrx's guard.

use std::sync::atomic::Ordering::Relaxed;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{Datum, FunctionCallInfo},
};
use sno_core::{Fields, Prefix, SequenceRange, Sno, Tick};

use crate::{
    generator::backend_session::SessionCell,
    pg::{
        datum::{Returned as _, Timestamp},
        errors::{Error, guard},
        fmgr::{Args, export, functions},
    },
    sno::{
        citus,
        horizon::transaction,
        id,
        memory::{self, MEMORY, SESSION, current, session},
        settings::Settings,
    },
};

export! { sno_new_at }

/// For IDs of given times: their partition and their sequence numbers, once the session has checked that it may
/// generate.
static BACKFILL: SessionCell<(u16, SequenceRange)> = SessionCell::new();

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
            && let Some(session) = SESSION.get()
            && let Some(stamp) = session.try_next(transaction::announced())
        {
            return stamp.id(byte, session.number).into_datum();
        }
        guard(|| generate(metabyte)).into_datum()
    }
}

/// The slow path to an ID: it starts the session, announces the first ID of a transaction, enters a tick, and waits if it
/// has to.
#[cold]
fn generate(metabyte: i32) -> Result<Sno, Error> {
    let metabyte = id::metabyte(metabyte)?;
    let session = session()?;
    if transaction::announced() == Tick::MAX {
        transaction::refuse_in_worker("sno_new()")?;
        citus::join_transaction();
    }
    Ok(transaction::next(&session)?.id(metabyte, session.number))
}

/// `sno_new(integer, timestamptz) → sno`: an ID of a given time, with the reserved partition and a sequence number
/// from a separate counter.
fn sno_new_at(metabyte: i32, at: Timestamp) -> Result<Sno, Error> {
    let metabyte = id::metabyte(metabyte)?;
    let tick = id::tick(at)?;
    let (partition, range) = current(&BACKFILL, || {
        let prefix = memory::prefix()?;
        Ok((prefix.reserved().ok_or_else(|| no_reserved_partition(prefix))?, Settings::current()?.range))
    })?;
    let number = MEMORY.generators()?.scheme_counter.fetch_add(1, Relaxed);
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
