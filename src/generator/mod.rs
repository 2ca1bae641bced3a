//! What all generators have in common. Each file knows those above it in this list.

pub(crate) mod system;

pub(crate) mod errors;
pub(crate) mod shared;

pub(crate) mod marks;
pub(crate) mod session;
