//! The changes in catalogs of which a session is told, since what it keeps for feeds depends on these catalogs.

use std::{cell::Cell, ffi::c_int};

use pgrx::pg_sys::{self, Datum, Oid, SysCacheIdentifier};

use crate::pg::{backend_local::BackendLocal, raw};

/// How often a relation or a subscription has changed, as far as this process has noticed; 0 if nothing tells it, since the library is not
/// preloaded.
// SAFETY: for functions, which SQL and PostgreSQL's caches call.
static CHANGES: BackendLocal<Cell<u64>> = unsafe { BackendLocal::new(Cell::new(0)) };

/// A bit for each relation whose feeds this session reads; others can have the same one.
// SAFETY: as above.
static SOURCES: BackendLocal<[Cell<u64>; 16]> = unsafe { BackendLocal::new([const { Cell::new(0) }; 16]) };

/// The functions by which it reads them, and how a cache knows them.
// SAFETY: as above.
static FUNCTIONS: BackendLocal<[Cell<(Oid, u32)>; 4]> =
    unsafe { BackendLocal::new([const { Cell::new((Oid::INVALID, 0)) }; 4]) };

/// Called when the library is preloaded: from then on, each process notices such changes. PostgreSQL has room for few callbacks, and ends the
/// process that finds none: the server's start, rather than a session that has used another extension before.
pub(crate) fn register() {
    let subscribed = SysCacheIdentifier::SUBSCRIPTIONRELMAP as c_int;
    // SAFETY: the library stays loaded.
    unsafe {
        pg_sys::CacheRegisterSyscacheCallback(subscribed, Some(subscription_changed), Datum::null());
        pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::null());
    }
    CHANGES.set(1);
}

/// The number of changes; `None` if the library is not preloaded, so that the session is told of none.
pub(super) fn changes() -> Option<u64> {
    Some(CHANGES.get()).filter(|&changes| changes > 0)
}

fn bit(relation: Oid) -> (&'static Cell<u64>, u64) {
    let number = relation.to_u32() as usize;
    (&SOURCES[number / 64 % SOURCES.len()], 1 << (number % 64))
}

/// When this relation changes, has PostgreSQL analyze again the prepared statements that call this function, as if they named the relation.
/// By itself it does not, since it ignores the row type of a function: a new column would be left out, and its values count as read.
pub(super) unsafe fn analyze_again_on_change(relation: Oid, function: Oid) {
    let (cell, bit) = bit(relation);
    cell.set(cell.get() | bit);
    if FUNCTIONS.iter().all(|known| known.get().0 != function) {
        let none = Datum::null();
        let cache = SysCacheIdentifier::PROCOID as c_int;
        let hash = raw::GetSysCacheHashValue(cache, function.into(), none, none, none);
        // There are two such functions, and two others if the extension was dropped and created again.
        let free = FUNCTIONS.iter().find(|known| known.get().0 == Oid::INVALID);
        free.unwrap_or(&FUNCTIONS[function.to_u32() as usize % FUNCTIONS.len()]).set((function, hash));
    }
}

unsafe extern "C-unwind" fn subscription_changed(_: Datum, _: c_int, _: u32) {
    CHANGES.set(CHANGES.get() + 1);
}

unsafe extern "C-unwind" fn relation_changed(_: Datum, relation: Oid) {
    CHANGES.set(CHANGES.get() + 1);
    let (cell, bit) = bit(relation);
    if relation == Oid::INVALID || cell.get() & bit > 0 {
        for (_, hash) in FUNCTIONS.iter().map(Cell::get).filter(|&(function, _)| function != Oid::INVALID) {
            // PostgreSQL's own callbacks, which mark plans and read nothing.
            raw::CallSyscacheCallbacks(SysCacheIdentifier::PROCOID as c_int, hash);
        }
    }
}
