//! The type `sno`.

pub(crate) mod fields;
mod fixed;
mod functions;
mod planner;
mod sort;

// Generation.
pub(crate) mod settings;

pub(crate) mod generate;
mod views;
