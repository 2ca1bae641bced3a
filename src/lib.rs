//! The library of the extensions `sno` and `sno_compat` for PostgreSQL: IDs that sort by time and are made by the
//! server without repeats.
//!
//! It is the border between PostgreSQL and [`sno_core`], where the IDs and their generators live. The SQL that names its
//! functions, object by object, is in `sql/`. A room knows those above it in this list, and none below:

/// The four other systems of the extension `sno_compat`: Snowflake-SI, uid60, uniqueid and gid.
mod compat;
/// What types of fixed length have in common: input and output, comparison, hashing, sorts.
mod fixed;
/// What all generators have in common: a system, a session, shared memory, marks.
mod generator;
/// PostgreSQL as seen from Rust: calls, datums, errors, settings, waits, caches. It knows no ID.
mod pg;
/// The type `sno`: its functions, fields, generation, settings, views, and what the planner asks.
mod sno;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a datum of 64 bits is taken for granted: PostgreSQL has to be one of 64 bits");
#[cfg(panic = "abort")]
compile_error!("a panic becomes an ERROR by unwinding: build with panic = \"unwind\"");

pgrx::pg_module_magic!(name, version);

// For cargo pgrx, which makes its script of what the library holds.
pgrx::extension_sql_file!("../sql/sno.sql", name = "sno", finalize);

/// Runs when a process loads the library: in the postmaster if it is preloaded, else in each backend.
#[pgrx::pg_guard]
extern "C-unwind" fn _PG_init() {
    static MEMORY: [&dyn generator::shared::Reserve; 4] = [
        &sno::generate::MEMORY,
        &compat::snowflake_si::generate::MEMORY,
        &compat::uid60::generate::MEMORY,
        &compat::uniqueid::generate::MEMORY,
    ];
    pg::errors::refuse_backtraces();
    pg::settings::on_change(sno::generate::forget);
    pg::settings::on_change(compat::forget);
    sno::settings::define();
    compat::settings::define();
    generator::shared::reserve(&MEMORY);
    sno::generate::MEMORY.take_early();
}
