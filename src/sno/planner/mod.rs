//! Planner support: comparisons with a time as comparisons that indexes can use, and their selectivity.

mod operators;

mod selectivity;
mod support;

pub(crate) mod rewrite;
