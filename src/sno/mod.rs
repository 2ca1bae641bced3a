//! The type `sno`. A file imports only from those before it here.

pub(crate) mod id;

mod mask;
mod time;

pub(crate) mod planner;

pub(crate) mod settings;

pub(crate) mod generators;

pub(crate) mod horizon;

mod feed;

mod generate;

mod views;

use crate::generator;

/// What needs no preloading, when the library is loaded.
pub(crate) fn load() {
    planner::rewrite::install();
    planner::orders::install();
}

/// Defines the settings and notices the ends of transactions, when the library is preloaded.
pub(crate) fn preload() {
    generator::max_clock_wait::define();
    horizon::transaction::register();
    settings::define();
}
