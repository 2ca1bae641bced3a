//! What the extensions `sno` and `sno_kin` have in common: the border between PostgreSQL and [`sno_core`],
//! for any type of ID that has a fixed length and any system of generators.
//!
//! Nothing here has a name in SQL. An extension names its functions with [`functions!`] and [`v1!`].

// The border: arguments and results, fields, errors with their SQLSTATEs, settings that fail closed, waits, what a
// backend keeps.
pub mod errors;
pub mod fields;
pub mod own;
pub mod settings;
pub mod v1;
pub mod wait;

// Types of fixed length: what they are, input and output, comparison, hashing, sorts.
pub mod compare;
pub mod fixed;
pub mod hash;
pub mod io;
pub mod sort;

// Generators: what a system is, its shared memory, its marks that outlive a restart, a session's own.
pub mod marks;
pub mod session;
pub mod shared;
pub mod system;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("a datum of 64 bits is taken for granted: PostgreSQL has to be one of 64 bits");
#[cfg(panic = "abort")]
compile_error!("a panic becomes an ERROR by unwinding: build with panic = \"unwind\"");
