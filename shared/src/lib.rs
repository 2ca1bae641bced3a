//! What the libraries of the extensions `sno` and `sno_compat` have in common. Each is linked with a copy of its own,
//! so that each has its own memory, marks and settings, whether the server preloads one or both. A module imports only
//! from those before it here:

#![deny(ffi_unwind_calls)]
#![allow(
    clippy::missing_safety_doc,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "modules say it for their functions"
)]

// As `::pgrx`, too, where the macros of pgrx look for it.
#[cfg(feature = "pg19")]
extern crate pgrx_19 as pgrx;

/// Interfaces of PostgreSQL: calls, datums, errors, settings, waits. It does not depend on IDs.
pub mod pg;

/// Functions of all types of fixed length: input and output, comparison, hashing, sorts.
pub mod fixed_length;

/// The generators of all ID schemes: schemes, sessions, shared memory, the file of the high-water marks.
pub mod generator;

pub mod sno;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("datums have to have 64 bits: build for a 64-bit PostgreSQL");
#[cfg(panic = "abort")]
compile_error!("a panic becomes an ERROR by unwinding: build with panic = \"unwind\"");
