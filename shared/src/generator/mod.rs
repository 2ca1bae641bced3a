//! The generators of all ID schemes.

pub mod max_clock_wait;
pub mod scheme;

pub mod errors;
pub mod shared;

pub mod backend;
pub mod backend_session;
