//! The type `sno`. Each file knows those above it in this list.

pub(crate) mod fields;
mod fixed;
mod functions;
mod planner;
mod sort;

// What makes IDs.
pub(crate) mod settings;

pub(crate) mod generate;
mod views;
