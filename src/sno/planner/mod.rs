//! Planner support: comparisons with a time as comparisons that indexes can use, and their selectivity.
//!
//! # Safety
//!
//! PostgreSQL's planner calls all of this, and one rule holds for all its unsafe functions, so their bodies don't repeat
//! it in blocks:
//!
//! - Nodes, lists and what the planner knows of tables are those of the planning that calls. They outlive the call, and
//!   may be changed if they are the query's, which is that planning's own copy.
//! - A node is read as what its tag says, or as what the field that has it always has.
//! - A list doesn't change while what [`nodes`](crate::pg::nodes::nodes) has returned of it is in use.
//! - Functions, operators and types are looked up by OIDs that come from such nodes or from the catalogs.
//! - No frame has a destructor, a guard or a panic: PostgreSQL's errors pass through ([`raw`](crate::pg::raw)).

#![allow(unsafe_op_in_unsafe_fn, reason = "their bodies follow the rule above")]
#![allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`, which all functions here follow")]

mod operators;

mod selectivity;
mod support;

mod utc;

pub(crate) mod rewrite;

pub(crate) mod orders;

/// For each condition, since a query may have thousands. An error of a cancelled query passes through.
unsafe fn check_for_interrupts() {
    if pgrx::pg_sys::InterruptPending != 0 {
        crate::pg::raw::ProcessInterrupts();
    }
}

/// An element of one of the planner's arrays, which have a place for each table of the query.
unsafe fn nth_entry<T>(array: *mut *mut T, relid: u32) -> Option<*mut T> {
    if array.is_null() {
        return None;
    }
    let found = *array.add(relid as usize);
    (!found.is_null()).then_some(found)
}
