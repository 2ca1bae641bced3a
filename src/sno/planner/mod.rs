//! Planner support: comparisons with a time as comparisons that indexes can use, and their selectivity.

mod comparison;
mod statistics;

mod selectivity;
mod support;
