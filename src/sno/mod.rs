//! The type `sno`. A file imports only from those before it here.

pub(crate) mod id;

mod mask;
mod time;

pub(crate) mod planner;

mod citus;

pub(crate) mod settings;

pub(crate) mod memory;

pub(crate) mod horizon;

mod feed;

mod generate;

mod maintenance;

mod views;

use crate::generator;

/// Defines the settings, installs the hooks of the planner and notices the ends of transactions and changes of relations, when the library is preloaded.
pub(crate) fn preload() {
    planner::install();
    generator::max_clock_wait::define(c"sno.max_clock_wait");
    horizon::transaction::register();
    feed::catalogs::register();
    feed::drop::install();
    settings::define();
}
