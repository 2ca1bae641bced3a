//! The library of the extensions `sno` and `sno_compat` for PostgreSQL: IDs that sort by time and are made by the
//! server without repeats.
//!
//! It connects PostgreSQL with [`sno_core`], which has the IDs and their generators. The SQL that declares its
//! functions is in `sql/`. A module imports only from those before it here:

// An error of PostgreSQL's jumps over the frames of such a call. Each module or function that allows it says why it
// may.
#![deny(ffi_unwind_calls)]

/// Interfaces of PostgreSQL: calls, datums, errors, settings, waits, caches. It does not depend on IDs.
mod pg;

/// Functions of all types of fixed length: input and output, comparison, hashing, sorts.
mod fixed;

/// The generators of all ID schemes: schemes, sessions, shared memory, high-water marks.
mod generator;

/// The type `sno`: its functions, fields, generation, settings, views and planner support.
mod sno;

/// The four other ID schemes of the extension `sno_compat`: Snowflake-SI, uid60, uniqueid and gid.
mod compat;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("datums have to have 64 bits: build for a 64-bit PostgreSQL");
#[cfg(panic = "abort")]
compile_error!("a panic becomes an ERROR by unwinding: build with panic = \"unwind\"");

pgrx::pg_module_magic!(name, version);

// cargo pgrx writes the extension's script from this; `make install` installs the file itself.
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
    generator::settings::define();
    sno::planner::rewrite::install();
    sno::settings::define();
    compat::settings::define();
    generator::shared::reserve(&MEMORY);
    sno::horizon::register();
    // Of the other schemes a session may need none, so their memory is taken at their first use.
    sno::generate::MEMORY.attach_at_load();
}
