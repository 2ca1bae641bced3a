//! Planner support: conditions and orders by time become ones by the ID, which indexes and partitions know.
//!
//! # The way of a query
//!
//! PostgreSQL enters at six places, here in the order of one planning of `… WHERE sno_time(id) >= t ORDER BY sno_time(id)`.
//! The hooks are those of a preloaded library; the others belong to functions and operators, and work in each backend.
//!
//! | place | PostgreSQL calls it | what it does, and leaves in the query |
//! |---|---|---|
//! | [`support`] | when it simplifies expressions, for each comparison of an ID with a time | returns the comparison with an ID instead |
//! | [`condition`] | likewise, for each call of `sno_horizon()` | refuses it in a condition on a table |
//! | hook in [`rewrite`] | for each table, when it knows the indexes and has distributed no condition yet | conditions on `id` in the place of those on `sno_time(id)`; of a partitioned table, ORDER BY, too |
//! | `sno_ineqsel` in [`selectivity`] | for each comparison with a bound | returns the estimate, which PostgreSQL keeps with the condition |
//! | `sno_ineqjoinsel` there | for each comparison of two tables' IDs | the same |
//! | hook in [`orders`] | for each table, when it has the paths | more paths, ordered by `sno_time(id)` |
//!
//! [`table`] says which expressions are the time of a table's ID. What [`rewrite`] tells [`selectivity`] is an [`operators::Mark`] in the
//! condition. `pg::versions` knows the hooks.
//!
//! # Beside other libraries
//!
//! **What is handed to PostgreSQL is complete, or is not handed to it.** Other libraries have these hooks, too, and walk all
//! that they find: each index, path and condition has everything that PostgreSQL's own have, at any moment. Conditions are
//! replaced whole. Paths are added, with the real descriptions of table and index. What is needed for a moment is a copy.
//! `tests/server/neighbours/reader.c` reads all of it.
//!
//! A hook of ours first calls that of the library before `sno` in `shared_preload_libraries`; those after it see our work.
//! If one of them replaces a condition, or plans a table anew without the paths that were added, the query reads or sorts
//! more, and its rows are the same.
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
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "no frame panics"
)]

mod condition;
mod operators;
mod selectivity;
mod support;

mod table;

mod rewrite;

mod orders;

/// Installs the hooks and their setting, when the library is preloaded.
pub(crate) fn install() {
    rewrite::install();
    orders::install();
}
