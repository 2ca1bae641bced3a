//! `sno_horizon`: up to which ID nothing is missing and nothing will come.
//!
//! [`sno_core::Horizon`] has the protocol. Here is what it takes from PostgreSQL:
//!
//! * Each process has a word in shared memory. Parallel workers use the word of their leader, which inserts the rows.
//! * A word ends with its transaction, by the transaction's [number](Process::transaction). At its end a transaction
//!   also clears its word, but not every word is cleared: a worker can generate for a leader that has not loaded the
//!   library.
//! * A prepared transaction has no process. Before it is prepared, it takes a lock that has the tick in its tag:
//!   PostgreSQL keeps the locks of prepared transactions, over restarts too, and releases them after the commit is
//!   visible.
//! * So that nothing comes below the horizon after a restart, the marks of both sides are at the horizon on disk before
//!   it is returned.

use std::{ffi::c_void, iter, ptr, slice};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, LOCKTAG, XactEvent},
};
use sno_core::{Fields, Sno, Tick};

use crate::{
    pg::{
        datum::{Interval, Timestamp},
        errors::{Error, guard},
        fmgr::{Row, export},
        process::{Process, can_prepare, loads_what_its_leader_lacks},
        server::is_in_recovery,
    },
    sno::generate::{self, MEMORY},
};

export! { sno_horizon, sno_horizon_holders }

/// Called when the library is loaded: from then on, this process notices the ends of transactions.
pub(crate) fn register() {
    // SAFETY: the library stays loaded.
    unsafe { pg_sys::RegisterXactCallback(Some(at_end), ptr::null_mut()) };
    generate::LEADER_NOTICES.set(!loads_what_its_leader_lacks());
}

unsafe extern "C-unwind" fn at_end(event: XactEvent::Type, _: *mut c_void) {
    match event {
        // SAFETY: this is the outermost frame.
        XactEvent::XACT_EVENT_PRE_PREPARE => unsafe { guard(prepare) },
        // The commit is visible, or the locks belong to the prepared transaction.
        XactEvent::XACT_EVENT_COMMIT | XactEvent::XACT_EVENT_ABORT | XactEvent::XACT_EVENT_PREPARE => {
            generate::forget_transaction();
        }
        _ => (),
    }
}

/// What distinguishes our locks from others in `pg_locks`, where it is the `objsubid`.
const LOCK: u16 = 0x536e;

/// The tag of a transaction's lock, of a type that PostgreSQL has for extensions and does not use. The fields are shown
/// in `pg_locks` as `database`, `classid`, `objid` and `objsubid`.
fn tag(transaction: u32, tick: Tick) -> LOCKTAG {
    LOCKTAG {
        locktag_field1: transaction,
        locktag_field2: (tick.get() >> 32) as u32,
        locktag_field3: tick.get() as u32,
        locktag_field4: LOCK,
        locktag_type: pg_sys::LockTagType::LOCKTAG_USERLOCK as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

/// Takes the lock of a transaction that is about to be prepared, if it has IDs.
fn prepare() -> Result<(), Error> {
    let process = Process::own();
    // Its workers may have announced an earlier tick than itself.
    if let Some(tick) = MEMORY.announcements()?[process.number()].of(|| process.transaction()) {
        // SAFETY: in a transaction, which has a number if it is prepared. The lock conflicts with no other.
        unsafe {
            let tag = tag(pg_sys::GetTopTransactionId().into_inner(), tick);
            pg_sys::LockAcquire(&tag, pg_sys::ShareLock as i32, false, false);
        }
    }
    Ok(())
}

/// The numbers and the ticks of transactions that are prepared, or about to be.
fn prepared() -> impl Iterator<Item = (u32, Tick)> {
    let mut locks: &[pg_sys::LockInstanceData] = &[];
    if can_prepare() {
        // SAFETY: PostgreSQL copies its locks into the memory context of the call.
        locks = unsafe {
            let data = &*pg_sys::GetLockStatusData();
            slice::from_raw_parts(data.locks, data.nelements as usize)
        };
    }
    locks.iter().map(|lock| lock.locktag).filter_map(|tag| {
        let is_ours =
            tag.locktag_type == pg_sys::LockTagType::LOCKTAG_USERLOCK as u8 && tag.locktag_field4 == LOCK;
        let tick = u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3);
        is_ours.then(|| Some((tag.locktag_field1, Tick::new(tick)?))).flatten()
    })
}

/// The processes with open transactions that have IDs, and since when.
fn open() -> Result<impl Iterator<Item = (Process, Tick)>, Error> {
    let words = Process::all().zip(MEMORY.announcements()?);
    Ok(words.filter_map(|(process, word)| Some((process, word.of(|| process.transaction())?))))
}

/// `sno_horizon(interval) → sno`: up to which ID nothing is missing and nothing will come.
fn sno_horizon(margin: Interval) -> Result<Sno, Error> {
    if is_in_recovery() {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot execute sno_horizon() during recovery",
        )
        .detail("Only the primary knows which transactions are open.")
        .hint("Call it there, and wait here until its pg_current_wal_insert_lsn() is replayed."));
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
    let session = generate::session()?;
    let processes = open()?.map(|(_, tick)| tick);
    // The locks after the words: a word of a transaction that is being prepared ends after its lock is taken.
    let prepared = iter::once(()).flat_map(|()| prepared()).map(|(_, tick)| tick);
    let tick = session.horizon(margin.div_ceil(Tick::MICROS), || processes.chain(prepared).min())?;
    Ok(Fields { tick, tick_tock: false, metabyte: 0, partition: 0, sequence: 0 }.into())
}

/// `sno_horizon_holders() → setof (pid, transaction, since)`: the transactions that hold the horizon back.
fn sno_horizon_holders() -> Result<Vec<Row<3>>, Error> {
    let row = |pid: Option<i32>, transaction: Option<u32>, tick| {
        [pid.into(), transaction.map(Datum::from).into(), Timestamp::from(tick).into()]
    };
    let processes = open()?.map(|(process, tick)| row(Some(process.id()), None, tick));
    let prepared = prepared().map(|(transaction, tick)| row(None, Some(transaction), tick));
    Ok(processes.chain(prepared).collect())
}
