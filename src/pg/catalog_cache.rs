//! A cache for what the planner's functions look up in the catalogs, valid until those change.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid, SysCacheIdentifier};

use crate::pg::backend_local::BackendLocal;

/// Results for `N` keys: as many as the extension has functions or operators of one kind. With more keys, the oldest goes.
pub(crate) struct CatalogCache<T: Copy, const N: usize = 4>(BackendLocal<Cell<(u64, Entries<T, N>)>>);

type Entries<T, const N: usize> = [Option<(Oid, T)>; N];

/// Incremented whenever a function, an operator or an operator family changes; 0 until this is registered.
static GENERATION: AtomicU64 = AtomicU64::new(0);

impl<T: Copy, const N: usize> CatalogCache<T, N> {
    pub(crate) const fn new() -> Self {
        // SAFETY: for statics of the planner's functions.
        Self(unsafe { BackendLocal::new(Cell::new((0, [None; N]))) })
    }

    /// The cached result for `key`, or what `look_up` finds, which is then cached.
    pub(crate) fn get(&self, key: Oid, look_up: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = generation();
        let (cached_at, entries) = self.0.get();
        if cached_at == before
            && let Some((_, found)) = entries.into_iter().flatten().find(|(known, _)| *known == key)
        {
            return Some(found);
        }
        let found = look_up()?;
        // The look-up itself may process an invalidation, before or after it finds this.
        if generation() == before {
            let mut entries = if cached_at == before { entries } else { [None; N] };
            entries.rotate_right(1);
            entries[0] = Some((key, found));
            self.0.set((before, entries));
        }
        Some(found)
    }
}

/// The present value of `GENERATION`, at least 1.
fn generation() -> u64 {
    if GENERATION.load(Relaxed) == 0 {
        for cache in
            [SysCacheIdentifier::PROCOID, SysCacheIdentifier::OPEROID, SysCacheIdentifier::AMOPSTRATEGY]
        {
            // SAFETY: registered once in each process. PostgreSQL never unloads a library, so the callback stays valid.
            unsafe { pg_sys::CacheRegisterSyscacheCallback(cache as _, Some(changed), Datum::null()) }
        }
        GENERATION.store(1, Relaxed);
    }
    GENERATION.load(Relaxed)
}

unsafe extern "C-unwind" fn changed(_argument: Datum, _cache: i32, _hash: u32) {
    GENERATION.fetch_add(1, Relaxed);
}

/// A function of this library.
pub(crate) type Function = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// The value in `known` beside the C function of a function in the catalog.
///
/// # Safety
/// The function exists, or its OID is invalid.
pub(crate) unsafe fn identify<T: Copy>(function: Oid, known: &[(Function, T)]) -> Option<T> {
    if function == pg_sys::InvalidOid {
        return None;
    }
    let mut found = pg_sys::FmgrInfo::default();
    // SAFETY: a look-up of a function that exists.
    unsafe { pg_sys::fmgr_info(function, &mut found) };
    let address = found.fn_addr? as usize;
    known.iter().find_map(|&(function, value)| (function as usize == address).then_some(value))
}
