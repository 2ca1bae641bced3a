//! The type `sno`. A file imports only from those before it here.

pub(crate) mod fields;
mod fixed;
mod functions;
mod mask;
mod planner;
mod sort;

pub(crate) mod settings;

pub(crate) mod generate;

mod views;
