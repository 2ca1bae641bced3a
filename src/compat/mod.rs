//! Four other ID schemes, with conversions to `sno`.

mod common;
pub(crate) mod settings;

mod gid;
pub(crate) mod snowflake_si;
pub(crate) mod uid60;
pub(crate) mod uniqueid;

mod views;

use crate::generator::shared::reserve;

/// Defines the settings and reserves memory, when the library is loaded.
pub(crate) fn init() {
    settings::define();
    reserve(&[&snowflake_si::generate::MEMORY, &uid60::generate::MEMORY, &uniqueid::generate::MEMORY]);
}
