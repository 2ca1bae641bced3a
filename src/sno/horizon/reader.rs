//! The reader's side: `sno_horizon`, and who holds the horizon back.

use std::slice;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum},
};
use sno_core::{Announcement, Fields, Sno, Tick};

use crate::{
    generator::errors,
    pg::{
        datum::{Interval, Timestamp},
        errors::Error,
        fmgr::{Row, export},
        process::{Process, is_any_prepared},
        server::is_in_recovery,
    },
    sno::{
        horizon::transaction,
        session::{MEMORY, SnoScheme, session},
    },
};

export! { sno_horizon, sno_horizon_holders }

/// `sno_horizon(interval) → sno`: up to which ID nothing is missing and nothing will come.
fn sno_horizon(margin: Interval) -> Result<Sno, Error> {
    if is_in_recovery() {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot execute sno_horizon() during recovery",
        )
        .detail("Only the primary knows which transactions are open.")
        .hint("Call it there, then pg_logical_emit_message(), and wait here until that LSN is replayed."));
    }
    // SAFETY: reads a variable of this backend.
    if unsafe { pg_sys::XactIsoLevel } >= pg_sys::XACT_REPEATABLE_READ as i32 {
        return Err(Error::new(
            SqlState::ERRCODE_INVALID_TRANSACTION_STATE,
            "cannot execute sno_horizon() in isolation level REPEATABLE READ or SERIALIZABLE",
        )
        .detail("All statements of the transaction have one snapshot, which is older than the horizon.")
        .hint("Call it before the transaction begins."));
    }
    let margin = u64::try_from(margin.micros())
        .map_err(|_| Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, "margin must not be negative"))?;
    let session = session()?;
    let words = MEMORY.per_process()?;
    let open = || open(words).map(|(_, tick)| tick).min();
    let prepared = || prepared().map(|(_, tick)| tick).min();
    let tick = session
        .horizon(margin.div_ceil(Tick::MICROS), open, prepared)
        .map_err(errors::generation::<SnoScheme>)?;
    Ok(Fields { tick, tick_tock: false, metabyte: 0, partition: 0, sequence: 0 }.into())
}

/// The processes with open transactions that have IDs, and since when.
fn open(words: &[Announcement]) -> impl Iterator<Item = (Process, Tick)> {
    let words = Process::all().zip(words);
    words.filter_map(|(process, word)| Some((process, word.of(|| process.transaction())?)))
}

/// The numbers and the ticks of transactions that are prepared, or about to be.
fn prepared() -> impl Iterator<Item = (u32, Tick)> {
    let mut locks: &[pg_sys::LockInstanceData] = &[];
    // The whole lock table is copied, while nobody can take a lock.
    if is_any_prepared() {
        // SAFETY: PostgreSQL copies its locks into the memory context of the call.
        locks = unsafe {
            let data = &*pg_sys::GetLockStatusData();
            slice::from_raw_parts(data.locks, data.nelements as usize)
        };
    }
    locks.iter().filter_map(|lock| transaction::from_tag(lock.locktag))
}

/// `sno_horizon_holders() → setof (pid, transaction, since)`: the transactions that hold the horizon back.
fn sno_horizon_holders() -> Result<Vec<Row<3>>, Error> {
    let row = |pid: Option<i32>, transaction: Option<u32>, tick| {
        [pid.into(), transaction.map(Datum::from).into(), Timestamp::from(tick).into()]
    };
    let processes = open(MEMORY.per_process()?).map(|(process, tick)| row(Some(process.id()), None, tick));
    let prepared = prepared().map(|(transaction, tick)| row(None, Some(transaction), tick));
    Ok(processes.chain(prepared).collect())
}
