//! The generators of all systems.

pub(crate) mod errors;
pub(crate) mod marks;
pub(crate) mod session;
pub(crate) mod shared;
pub(crate) mod system;
