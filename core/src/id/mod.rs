//! The ID: its text, its fields, its ticks, its order.

pub(crate) mod abbreviation;
pub(crate) mod base32;
pub(crate) mod fixed_length;
pub(crate) mod sno;
pub(crate) mod tick;
pub(crate) mod tick_type;
