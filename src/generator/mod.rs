//! The generators of all ID schemes.

pub(crate) mod scheme;
pub(crate) mod settings;

pub(crate) mod errors;
pub(crate) mod shared;

pub(crate) mod backend;
pub(crate) mod session;
