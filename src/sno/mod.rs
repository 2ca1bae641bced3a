//! The type `sno`. A file imports only from those before it here.

mod btree;
pub(crate) mod fields;
mod fixed;
mod functions;
mod mask;
mod time;

pub(crate) mod planner;

pub(crate) mod settings;

pub(crate) mod generate;
pub(crate) mod horizon;

mod views;
