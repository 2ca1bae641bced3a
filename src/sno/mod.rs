//! The type `sno`.

pub(crate) mod fields;
mod fixed;
mod functions;
mod planner;
mod sort;

// Generation.
pub(crate) mod generate;
pub(crate) mod settings;
mod views;
