//! Looks whether a feed has rows, by a query whose plan is kept: planning takes several times as long as executing it.

use std::{
    cell::Cell,
    ffi::{CStr, c_char},
    ptr,
};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid, SPIPlanPtr};

use crate::pg::{
    backend_local::BackendLocal,
    datum::ByValue as _,
    fmgr::{Args, functions},
    raw,
};

/// The plan of the last look.
// SAFETY: for a function, which SQL calls.
static LOOK: BackendLocal<Cell<SPIPlanPtr>> = unsafe { BackendLocal::new(Cell::new(ptr::null_mut())) };

functions! {
    /// `sno_has_row(query text, after sno, before sno) → boolean`: whether a query returns a row. Its plan is kept until another
    /// query takes its place.
    sno_has_row: has_row;
}

/// # Safety
/// A call of `sno_has_row`.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn has_row(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL with these arguments. An error ends what SPI has begun. No frame has anything to drop.
    unsafe {
        let mut args = Args::new(fcinfo);
        let query = raw::text_to_cstring(args.next::<Datum>().cast_mut_ptr());
        let mut ids: [Datum; 2] = [args.next(), args.next()];
        raw::SPI_connect();
        // Nobody else may free it while it is executed: the query may call this function. After an error it stays in memory.
        let mut plan = LOOK.replace(ptr::null_mut());
        let mut types = [1, 2].map(|number| raw::get_fn_expr_argtype((*fcinfo).flinfo, number));
        let is_kept = is_of(plan, query, types[0]);
        if !is_kept {
            free(plan);
            let options = pg_sys::CURSOR_OPT_GENERIC_PLAN as _;
            plan = raw::SPI_prepare_cursor(query, 2, types.as_mut_ptr(), options);
        }
        // With the caller's snapshot: PL/pgSQL takes one for each expression.
        raw::SPI_execute_plan(plan, ids.as_mut_ptr(), ptr::null(), true, 1);
        let found = pg_sys::SPI_processed > 0;
        if !is_kept {
            raw::SPI_keepplan(plan);
        }
        free(LOOK.replace(plan));
        raw::SPI_finish();
        found.datum()
    }
}

/// Frees a plan that is not in use.
///
/// # Safety
/// A plan that was kept, or null.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn free(plan: SPIPlanPtr) {
    if !plan.is_null() {
        // SAFETY: as promised by the caller.
        unsafe { raw::SPI_freeplan(plan) };
    }
}

/// Whether a plan was prepared from a text, with IDs of this type: it is another one after the extension was created again.
///
/// # Safety
/// A plan, or null, and a text.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn is_of(plan: SPIPlanPtr, query: *const c_char, id_type: Oid) -> bool {
    // SAFETY: as promised by the caller. The plan has two parameters.
    unsafe {
        let sources = if plan.is_null() { ptr::null_mut() } else { raw::SPI_plan_get_plan_sources(plan) };
        if sources.is_null() {
            return false;
        }
        let source = (*(*sources).elements).ptr_value.cast::<pg_sys::CachedPlanSource>();
        *(*source).param_types == id_type && CStr::from_ptr((*source).query_string) == CStr::from_ptr(query)
    }
}
