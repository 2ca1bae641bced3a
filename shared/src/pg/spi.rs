//! PostgreSQL's Server Programming Interface. What it refuses by a number is a mistake of this library, and an error here.
//!
//! # Safety
//! As for the functions of [`raw`]. All but [`connect`] are called after it.

#![allow(unsafe_op_in_unsafe_fn, ffi_unwind_calls, reason = "by the rule above")]

use std::ffi::{CStr, c_char, c_int, c_long};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{Datum, HeapTuple, Oid, SPIExecuteOptions, SPIPlanPtr, TupleDesc},
};

use crate::pg::{
    errors::{Error, guard},
    raw,
};

/// Begins to use it.
pub unsafe fn connect() {
    check("SPI_connect", raw::SPI_connect())
}

/// Ends it, and frees what was allocated since.
pub unsafe fn finish() {
    check("SPI_finish", raw::SPI_finish())
}

/// Executes a statement.
pub unsafe fn execute(query: *const c_char, is_read_only: bool, count: c_long) {
    check("SPI_execute", raw::SPI_execute(query, is_read_only, count))
}

/// Prepares a query with parameters of these types.
pub unsafe fn prepare(query: *const c_char, types: &[Oid], options: u32) -> SPIPlanPtr {
    let plan = raw::SPI_prepare_cursor(query, types.len() as _, types.as_ptr(), options as _);
    if plan.is_null() {
        check("SPI_prepare_cursor", pgrx::pg_sys::SPI_result);
    }
    plan
}

/// Keeps a plan until it is freed.
pub unsafe fn keep(plan: SPIPlanPtr) {
    check("SPI_keepplan", raw::SPI_keepplan(plan))
}

/// Frees a plan that was kept.
pub unsafe fn free(plan: SPIPlanPtr) {
    check("SPI_freeplan", raw::SPI_freeplan(plan))
}

/// Executes a plan.
pub unsafe fn execute_plan(plan: SPIPlanPtr, values: *mut Datum, nulls: *const c_char, is_read_only: bool) {
    check("SPI_execute_plan", raw::SPI_execute_plan(plan, values, nulls, is_read_only, 0))
}

/// Executes a plan whose rows go to a receiver.
pub unsafe fn execute_plan_into(plan: SPIPlanPtr, options: &SPIExecuteOptions) {
    check("SPI_execute_plan_extended", raw::SPI_execute_plan_extended(plan, options))
}

/// The value of a column of a row, unless it is null.
pub unsafe fn value(row: HeapTuple, columns: TupleDesc, column: c_int) -> Option<Datum> {
    let mut is_null = false;
    let value = raw::SPI_getbinval(row, columns, column, &mut is_null);
    check("SPI_getbinval", pgrx::pg_sys::SPI_result);
    (!is_null).then_some(value)
}

#[inline(always)]
unsafe fn check(function: &str, code: c_int) {
    if code < 0 {
        guard(|| checked(function, code))
    }
}

/// The error that a function refuses a call with by a number, inside the guard.
#[cold]
pub fn checked(function: &str, code: c_int) -> Result<(), Error> {
    if code >= 0 {
        return Ok(());
    }
    // SAFETY: PostgreSQL's text for any number.
    let code = unsafe { CStr::from_ptr(pgrx::pg_sys::SPI_result_code_string(code)).to_string_lossy() };
    Err(Error::new(SqlState::ERRCODE_INTERNAL_ERROR, format!("{function} failed: {code}")))
}
