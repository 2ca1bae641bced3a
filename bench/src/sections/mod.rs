//! What is measured, a file for each section.

mod backends;
mod clients;
mod copy;
mod crates;
mod disk;
mod generation;
mod hour;
pub(crate) mod insert;
mod large;
mod plans;
mod sort;

use crate::run::Run;

/// The sections, in order: their names, their shares of the time, what they run. Those without a share run only
/// when they are named.
pub(crate) const ALL: &[(&str, f64, Run)] = &[
    ("generation", 0.09, generation::section),
    ("sort", 0.38, sort::section),
    ("insert", 0.18, insert::section),
    ("disk", 0.01, disk::section),
    ("hour", 0.02, hour::section),
    ("copy", 0.08, copy::section),
    ("clients", 0.13, clients::section),
    ("plans", 0.02, plans::section),
    ("backends", 0.08, backends::section),
    ("crates", 0.01, crates::section),
    ("large", 0.0, large::section),
];
