//! The library of the extension `sno_compat` for PostgreSQL: four other ID schemes, with conversions to `sno`. The SQL
//! that declares its functions is in `compat/sno_compat.sql`.
//!
//! A scheme is a type, or none, with its functions (`uniqueid/mod.rs`), and a generator (`uniqueid/generate.rs`): an
//! implementation of [`Scheme`](generator::scheme::Scheme), which says how the scheme counts time and what its file of
//! marks is called; its [`Memory`](generator::shared::Memory) of so many generators; and a session, which makes IDs of
//! what the generator hands out. The IDs themselves are in `sno_core::compat`. The generator is that of `sno`, but for
//! what only `sno` has: the other side of a tick when the clock steps back (`TWO_SIDES` in `core/src/id/tick_type.rs`),
//! and horizons.

#![deny(ffi_unwind_calls)]

// As `::pgrx`, too, where the macros of pgrx look for it.
#[cfg(feature = "pg19")]
extern crate pgrx_19 as pgrx;

use sno_shared::{fixed_length, generator, pg, sno};

mod common;
mod id;
mod settings;

mod gid;
mod snowflake_si;
mod uid60;
mod uniqueid;

mod views;

pgrx::pg_module_magic!(name = c"sno_compat", version);

/// The shared memory of all generators.
static MEMORY: [&dyn generator::shared::Reserve; 3] =
    [&snowflake_si::generate::MEMORY, &uid60::generate::MEMORY, &uniqueid::generate::MEMORY];

/// Runs when a process loads the library: in the postmaster if it is preloaded, else in a backend, where types,
/// operators and pure functions work. Generators and settings are for a preloaded library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _PG_init() {
    // SAFETY: PostgreSQL calls it, and there is nothing to drop.
    unsafe {
        pg::errors::guard(|| {
            if pg::server::is_being_preloaded("sno_compat") {
                settings::define();
                generator::shared::reserve(&MEMORY);
            }
            Ok(())
        });
    }
}
