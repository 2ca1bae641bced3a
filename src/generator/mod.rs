//! The generators of all systems.

pub(crate) mod system;

pub(crate) mod errors;
pub(crate) mod shared;

pub(crate) mod marks;
pub(crate) mod session;
