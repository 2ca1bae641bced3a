//! Planner support: comparisons with a time as comparisons that indexes can use, and their selectivity.

#![allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`, which all functions here follow")]

mod operators;

mod selectivity;
mod support;

pub(crate) mod rewrite;
