//! Four other systems of IDs for PostgreSQL, on the engine of `sno`, and the way from them into `sno`.
//!
//! This is the glue between PostgreSQL and [`sno_core::kin`]; what it has in common with the extension `sno`
//! is in [`sno_glue`]. One room for each system. The SQL that names them, object
//! by object, is `kin/sql/sno_kin.sql`.

// The systems.
mod gid;
mod snowflake_si;
mod uid60;
mod uniqueid;

// What they share: errors and conversions, settings, what their generators show.
mod settings;
mod shared;
mod views;

use sno_glue::{
    errors::refuse_backtraces,
    shared::{Reserve, reserve},
};

pgrx::pg_module_magic!(name, version);

/// Runs when a process loads the library: in the postmaster if it is preloaded, else in each backend.
#[pgrx::pg_guard]
extern "C-unwind" fn _PG_init() {
    static MEMORY: [&dyn Reserve; 3] =
        [&snowflake_si::generate::MEMORY, &uid60::generate::MEMORY, &uniqueid::generate::MEMORY];
    refuse_backtraces();
    settings::load_sno();
    settings::define();
    reserve(&MEMORY);
}
