//! Plans that a session keeps, since planning a query of a feed takes several times as long as executing it.

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_int, c_void},
    ptr, slice,
};

use pgrx::pg_sys::{
    self, CachedPlanSource, CmdType, MemoryContextCallback, Oid, Query, RangeTblEntry, SPIPlanPtr,
};

use crate::pg::{backend_local::BackendLocal, nodes::nodes, raw, spi};

/// A plan and the role that it was made for: another role may see other rows, and call other functions.
type Kept = (SPIPlanPtr, Oid);

const NONE: Kept = (ptr::null_mut(), Oid::INVALID);

/// As many as a session needs that reads 28 feeds in turn.
// SAFETY: for functions, which SQL calls.
static PLANS: BackendLocal<[Cell<Kept>; 32]> = unsafe { BackendLocal::new([const { Cell::new(NONE) }; 32]) };

/// The place that is taken next when all are.
// SAFETY: as above.
static NEXT: BackendLocal<Cell<usize>> = unsafe { BackendLocal::new(Cell::new(0)) };

/// The plan of a query with parameters of these types, for use until `SPI_finish`. Meanwhile it is not in PLANS: a nested
/// call of the same function could otherwise free it. It comes back when SPI's memory goes, also after an error.
///
/// A generic plan, unless `is_custom`, or a table of the query has [many](has_many_tables) partitions.
pub(super) unsafe fn plan(query: *const c_char, types: &[Oid], is_custom: bool) -> SPIPlanPtr {
    // What is allocated here lives as long as what SPI has begun.
    let role = raw::GetUserId();
    let is_it = |(plan, of): Kept| of == role && is_of(plan, query, types);
    let place = PLANS.iter().find(|place| is_it(place.get()));
    let mut kept = place.map_or(NONE, |place| place.replace(NONE));
    if kept.0.is_null() || source(kept.0).is_some_and(|source| !source.is_valid) {
        if !kept.0.is_null() {
            spi::free(kept.0);
        }
        // For the first rows: whoever executes it takes as many as it needs.
        let prepare = |options: u32| spi::prepare(query, types, pg_sys::CURSOR_OPT_FAST_PLAN | options);
        kept = (prepare(pg_sys::CURSOR_OPT_GENERIC_PLAN), role);
        if is_custom || has_many_tables(kept.0) {
            kept.0 = prepare(pg_sys::CURSOR_OPT_CUSTOM_PLAN);
        }
        // Before it is executed: PostgreSQL throws a generic plan away when it keeps what it was made from.
        spi::keep(kept.0);
    }
    let arg = raw::palloc(size_of::<Kept>()).cast::<Kept>();
    arg.write(kept);
    let callback = raw::palloc(size_of::<MemoryContextCallback>()).cast::<MemoryContextCallback>();
    callback.write(MemoryContextCallback { func: Some(put_back), arg: arg.cast(), next: ptr::null_mut() });
    raw::MemoryContextRegisterResetCallback(pg_sys::CurrentMemoryContext, callback);
    kept.0
}

/// Puts a plan back into a place, and frees the one that was there.
unsafe extern "C-unwind" fn put_back(kept: *mut c_void) {
    // PostgreSQL calls it before it frees the memory. A plan in a place is not in use.
    let free = PLANS.iter().position(|place| place.get().0.is_null());
    let place = free.unwrap_or_else(|| NEXT.replace((NEXT.get() + 1) % PLANS.len()));
    if let Some(place) = PLANS.get(place) {
        let old = place.replace(*kept.cast::<Kept>());
        if !old.0.is_null() {
            spi::free(old.0);
        }
    }
}

/// What a plan was prepared from.
unsafe fn source<'a>(plan: SPIPlanPtr) -> Option<&'a CachedPlanSource> {
    let sources = raw::SPI_plan_get_plan_sources(plan);
    (!sources.is_null()).then(|| &*(*(*sources).elements).ptr_value.cast::<CachedPlanSource>())
}

/// Whether a plan's statement, as it was understood last, writes a relation and has no other: no view leads to it, and no
/// rule from it.
pub(super) unsafe fn writes_alone(plan: SPIPlanPtr, relation: Oid) -> bool {
    let queries = source(plan).map_or(&[][..], |source| nodes(source.query_list));
    let [query] = queries else { return false };
    let query = &*query.cast::<Query>();
    let [table] = nodes(query.rtable) else { return false };
    query.commandType == CmdType::CMD_INSERT && (*table.cast::<RangeTblEntry>()).relid == relation
}

/// Whether a plan was prepared from a text, with these types: a type is another one after the extension was created again.
unsafe fn is_of(plan: SPIPlanPtr, query: *const c_char, types: &[Oid]) -> bool {
    !plan.is_null()
        && source(plan).is_some_and(|source| {
            // Without any it is null.
            source.num_params as usize == types.len()
                && (types.is_empty() || slice::from_raw_parts(source.param_types, types.len()) == types)
                && CStr::from_ptr(source.query_string) == CStr::from_ptr(query)
        })
}

/// Whether a table of a query has so many partitions that it is planned again each time, for those that it needs: a plan for all of
/// them locks all of them, whichever it reads, and the server has room for some thousands of locks.
unsafe fn has_many_tables(plan: SPIPlanPtr) -> bool {
    const MANY: c_int = 16;
    let Some(list) = source(plan).and_then(|source| source.relationOids.as_ref()) else { return false };
    let relations = slice::from_raw_parts(list.elements, list.length as usize);
    relations.iter().any(|relation| {
        let all = raw::find_all_inheritors(relation.oid_value, pg_sys::NoLock as _, ptr::null_mut());
        (*all).length > MANY
    })
}
