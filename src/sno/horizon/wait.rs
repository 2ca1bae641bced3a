//! Waits for rows of a feed, without a snapshot, a lock, or a signal from writers: the procedures behind `sno_wait_feed` and
//! `sno_wait_read`.
//!
//! Each first ends the transaction, which only a procedure can, and this one only in C: PL/pgSQL takes a snapshot for each
//! expression. Then it sleeps, outside of the guard: a query that is cancelled ends there as in a function of PostgreSQL's own.

use std::{cell::Cell, ffi::CStr};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo},
};
use sno_core::{Tick, Watch};

use crate::{
    generator::errors,
    pg::{
        backend_local::BackendLocal,
        datum::{Returned as _, Timestamp},
        errors::{Error, guard},
        fmgr::{Args, IntoResult as _, functions},
        process::own_database,
        server::is_in_recovery,
        versions::wait_event,
        wait::sleep,
    },
    sno::{
        generators::{SnoScheme, session},
        horizon::reader::{Database, first_id},
    },
};

/// The name of these waits.
const EVENT: &CStr = c"SnoFeed";

/// The steps while there is something to look for, in milliseconds.
const STEP: (u64, u64) = (4, 100);

/// The steps while transactions are prepared, since each copies the lock table of the server.
const PREPARED_STEP: u64 = 1000;

/// The present wait, and how many looks in a row have found nothing.
// SAFETY: for a procedure, which SQL calls.
static WATCH: BackendLocal<Cell<(Watch, u32)>> = unsafe { BackendLocal::new(Cell::new((Watch::new(), 0))) };

functions! {
    /// Procedure `sno_wait_ids(margin bigint, until timestamptz, is_new boolean, INOUT reach sno)`: waits until there may be rows
    /// that can be read, with a margin in microseconds. `reach` is the ID below which to look, or null after `until`.
    sno_wait_ids: wait_ids;
    /// Procedure `sno_wait_millis(integer)`
    sno_wait_millis: wait_millis;
}

/// # Safety
/// A call of `sno_wait_ids`.
unsafe fn wait_ids(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL with these arguments; those that are null are zeros. Neither this frame nor one above has
    // anything to drop.
    unsafe {
        let mut args = Args::new(fcinfo);
        let (margin, until, is_new): (i64, Timestamp, bool) = (args.next(), args.next(), args.next());
        let event = guard(|| {
            end_transaction(fcinfo)?;
            let (watch, vain) = WATCH.get();
            WATCH.set(if is_new { (Watch::new(), 0) } else { (watch, vain + 1) });
            Ok(wait_event(EVENT))
        });
        loop {
            match guard(|| step(margin.max(0) as u64, until)) {
                Step::Sleep(millis) => sleep(event, millis),
                Step::Return(reach) => {
                    return guard(|| {
                        [reach.map(|tick| first_id(tick).into_datum()).into()].into_result(fcinfo)
                    });
                }
            }
        }
    }
}

/// # Safety
/// A call of `sno_wait_millis`.
unsafe fn wait_millis(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL with one argument of type integer. No frame has anything to drop.
    unsafe {
        let millis: i32 = Args::new(fcinfo).next();
        let event = guard(|| {
            end_transaction(fcinfo)?;
            Ok(wait_event(EVENT))
        });
        sleep(event, millis.max(1) as u64);
        Datum::null()
    }
}

/// Ends the transaction of a procedure that is called outside of transaction blocks and functions.
fn end_transaction(fcinfo: FunctionCallInfo) -> Result<(), Error> {
    // SAFETY: the context of a call by CALL; other calls have none, or that of another node.
    unsafe {
        let context = (*fcinfo).context.cast::<pg_sys::CallContext>();
        if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_CallContext || (*context).atomic {
            return Err(Error::new(
                SqlState::ERRCODE_ACTIVE_SQL_TRANSACTION,
                "cannot wait in a transaction block or a function",
            )
            .detail("The wait ends the transaction, so that it holds no snapshot and no lock.")
            .hint("Call it as a statement of its own, with autocommit."));
        }
        // A new transaction has begun, which has no snapshot.
        pg_sys::SPI_connect_ext(pg_sys::SPI_OPT_NONATOMIC as _);
        pg_sys::SPI_commit();
        pg_sys::SPI_finish();
    }
    Ok(())
}

/// What to do next.
#[derive(Clone, Copy)]
enum Step {
    Sleep(u64),
    Return(Option<Tick>),
}

fn step(margin_micros: u64, until: Timestamp) -> Result<Step, Error> {
    if is_in_recovery() {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot execute sno_wait_feed() during recovery",
        ));
    }
    let session = session()?;
    let database = Database::new(session.horizon_of(own_database()))?;
    let has_copied_locks = Cell::new(false);
    let held = || {
        // In this order, as for a horizon.
        let open = database.open().map(|(_, tick)| tick).min();
        let prepared = database.prepared();
        has_copied_locks.set(prepared.has_copied_locks);
        open.into_iter().chain(prepared.ticks()).min()
    };
    let (mut watch, vain) = WATCH.get();
    let look = session
        .step(&mut watch, margin_micros.div_ceil(Tick::MICROS), held)
        .map_err(errors::generation::<SnoScheme>)?;
    WATCH.set((watch, vain));
    let left = until.0.saturating_sub(Timestamp::now().0);
    if look.is_some() || left <= 0 {
        return Ok(Step::Return(look));
    }
    // A look in vain found other rows than those of this feed, so there can be many more.
    let millis = if has_copied_locks.get() {
        PREPARED_STEP
    } else {
        ((margin_micros / 10_000).clamp(STEP.0, STEP.1) << vain.min(5)).min(STEP.1)
    };
    Ok(Step::Sleep(millis.min(left as u64 / 1000 + 1)))
}
