//! The writer's side: the life of a transaction that takes IDs, from its announcement to its end.

use std::{cell::Cell, ffi::c_void, ptr};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, LOCKTAG, ResourceReleasePhase, XactEvent},
};
use sno_core::{Announcer, Sno, Stamp, Tick, Transaction};

use crate::{
    generator::errors,
    pg::{
        backend_local::BackendLocal,
        errors::{Error, guard},
        fmgr::export,
        process::{Process, own_database},
        server::is_preloaded,
        wait::{point, raw_point},
    },
    sno::memory::{MEMORY, Session, SnoScheme},
};

export! { sno_holds_horizon }

/// The present transaction: the tick that it has announced.
// SAFETY: for the functions of this module, which SQL and the end of a transaction call.
static TRANSACTION: BackendLocal<Transaction> = unsafe { BackendLocal::new(Transaction::new()) };

/// Whether its commit is visible, but what it holds was not released yet.
// SAFETY: for the end of a transaction.
static IS_COMMITTED: BackendLocal<Cell<bool>> = unsafe { BackendLocal::new(Cell::new(false)) };

/// Called when the library is preloaded: from then on, each process notices the ends of its transactions.
pub(crate) fn register() {
    // SAFETY: the library stays loaded.
    unsafe {
        pg_sys::RegisterXactCallback(Some(at_event), ptr::null_mut());
        pg_sys::RegisterResourceReleaseCallback(Some(at_release), ptr::null_mut());
    }
}

/// The tick from which on this transaction may take IDs: [`Tick::MAX`] if it has to announce one first.
#[inline(always)]
pub(crate) fn announced() -> Tick {
    TRANSACTION.announced()
}

/// Refuses a call in a parallel worker: what it announces would end with it, before its leader commits the rows. It begins with nothing
/// announced, so it takes no ID before it comes here.
pub(crate) fn refuse_in_worker(call: &str) -> Result<(), Error> {
    if !Process::is_parallel_worker() {
        return Ok(());
    }
    Err(Error::new(
        SqlState::ERRCODE_INVALID_TRANSACTION_STATE,
        format!("cannot execute {call} in a parallel worker"),
    )
    .hint("Label the function that calls it PARALLEL RESTRICTED."))
}

/// Claims the next stamp for this transaction, which announces its first one, and waits if it has to.
pub(crate) fn next(session: &Session) -> Result<Stamp, Error> {
    let horizon = session.horizon_of(own_database()).map_err(errors::generation::<SnoScheme>)?;
    let process = Process::own();
    let announcer = Announcer {
        horizon: horizon.horizon(),
        announcement: &MEMORY.per_process()?[process.number()],
        number: process.transaction(),
    };
    let stamp = session.next_of(&TRANSACTION, &announcer).map_err(errors::generation::<SnoScheme>);
    point(c"id taken");
    stamp
}

/// `sno_holds_horizon(sno) → boolean`: whether no reader's horizon passes this ID before this transaction ends. Not so on a
/// server that generates nothing; triggers that ask do so in restores, too. Of what a subscription brings there is nothing to ask: no feed
/// of it can be read.
fn sno_holds_horizon(id: Sno) -> Result<bool, Error> {
    refuse_in_worker("sno_holds_horizon()")?;
    let holds = is_preloaded() && TRANSACTION.holds(id.tick());
    // SAFETY: it reads a variable.
    Ok(holds || unsafe { pg_sys::IsLogicalWorker() })
}

unsafe extern "C-unwind" fn at_event(event: XactEvent::Type, _: *mut c_void) {
    match event {
        // SAFETY: this is the outermost frame.
        XactEvent::XACT_EVENT_PRE_PREPARE => unsafe { guard(before_prepare) },
        // Other backends see the commit, but do not know yet what it has changed in catalogs: they could pass the rows of a
        // partition that they miss.
        XactEvent::XACT_EVENT_COMMIT => IS_COMMITTED.set(true),
        // There is nothing to know, or the locks belong to the prepared transaction.
        XactEvent::XACT_EVENT_ABORT | XactEvent::XACT_EVENT_PREPARE => at_end(),
        _ => (),
    }
}

/// Called also when a subtransaction, a portal or what a library owns is released. PostgreSQL has sent what a transaction changed in
/// catalogs before it releases the locks.
unsafe extern "C-unwind" fn at_release(
    phase: ResourceReleasePhase::Type,
    _is_commit: bool,
    is_top_level: bool,
    _: *mut c_void,
) {
    if !is_top_level || !IS_COMMITTED.get() {
        return;
    }
    if phase == ResourceReleasePhase::RESOURCE_RELEASE_LOCKS {
        at_end();
    }
    if phase == ResourceReleasePhase::RESOURCE_RELEASE_BEFORE_LOCKS && announced() != Tick::MAX {
        // SAFETY: interrupts are held off, so nothing is cancelled.
        unsafe { raw_point(c"commit visible") };
    }
}

/// Takes the lock of a transaction that is about to be prepared, if it has IDs.
fn before_prepare() -> Result<(), Error> {
    if let Some(tick) = TRANSACTION.prepare() {
        // SAFETY: in a transaction, which has a number if it is prepared. The lock conflicts with no other.
        unsafe {
            let tag = tag(pg_sys::GetTopTransactionId().into_inner(), tick);
            pg_sys::LockAcquire(&tag, pg_sys::ShareLock as i32, false, false);
        }
        point(c"about to be prepared");
    }
    Ok(())
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

/// The transaction and the tick of such a tag; `None` for any other.
pub(crate) fn from_tag(tag: LOCKTAG) -> Option<(u32, Tick)> {
    let is_ours =
        tag.locktag_type == pg_sys::LockTagType::LOCKTAG_USERLOCK as u8 && tag.locktag_field4 == LOCK;
    let tick = u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3);
    is_ours.then(|| Some((tag.locktag_field1, Tick::new(tick)?))).flatten()
}

/// Forgets the tick of a transaction that has ended, and clears what is announced for it.
fn at_end() {
    IS_COMMITTED.set(false);
    TRANSACTION.end(|| Some(&MEMORY.per_process().ok()?[Process::own().number()]));
}
