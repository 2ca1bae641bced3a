//! The type `sno`. A file imports only from those before it here.

pub(crate) mod id;

mod mask;
mod time;

pub(crate) mod planner;

pub(crate) mod settings;

pub(crate) mod session;

pub(crate) mod horizon;

mod generate;

mod views;

use crate::generator;

/// Defines the settings, installs the hooks and reserves memory, when the library is loaded.
pub(crate) fn init() {
    generator::settings::define();
    planner::rewrite::install();
    settings::define();
    generator::shared::reserve(&[&session::MEMORY]);
    horizon::transaction::register();
}
