//! The generators of all ID schemes.

pub(crate) mod max_clock_wait;
pub(crate) mod scheme;

pub(crate) mod errors;
pub(crate) mod shared;

pub(crate) mod backend;
pub(crate) mod backend_session;
