//! The type `sno`. A file imports only from those before it here.

pub(crate) mod id;

mod mask;
mod time;

pub(crate) mod planner;

pub(crate) mod settings;

pub(crate) mod generate;
pub(crate) mod horizon;

mod views;
