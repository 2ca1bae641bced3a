//! The `sno` type for PostgreSQL: IDs of 10 bytes and 16 characters that sort by time, carry one byte of
//! the application's own, and are made by the server without repeats.
//!
//! This is the glue between PostgreSQL and [`sno_core`], where the ID and its generator live. Each room
//! holds one concern; what `sno` shares with the extension `sno_kin` is in [`sno_glue`]. The SQL that names
//! their functions, object by object, is `sql/sno.sql`.

// The border to PostgreSQL.
use sno_glue::{own, v1};

// The type: input and output, comparison, hashing, casts, fields, bounds.
mod bounds;
mod casts;
mod compare;
mod fields;
mod hash;
mod io;

// Indexes and plans: sorts and btree, BRIN, comparisons with times, row estimates.
mod brin;
mod comparison;
mod estimate;
mod nodes;
mod remember;
mod simplify;
mod sort;
mod statistics;

// The generator: settings, `sno_new`, what it shows.
mod generate;
mod settings;
mod views;

use sno_glue::{
    errors::refuse_backtraces,
    shared::{Reserve, reserve},
};

pgrx::pg_module_magic!(name, version);

/// Runs when a process loads the library: in the postmaster if it is preloaded, else in each backend.
#[pgrx::pg_guard]
extern "C-unwind" fn _PG_init() {
    refuse_backtraces();
    settings::define();
    static MEMORY: [&dyn Reserve; 1] = [&generate::MEMORY];
    reserve(&MEMORY);
    generate::MEMORY.take_early();
}
