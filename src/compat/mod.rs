//! Four other ID schemes, with conversions to `sno`.

mod common;
pub(crate) mod settings;

mod gid;
pub(crate) mod snowflake_si;
pub(crate) mod uid60;
pub(crate) mod uniqueid;

mod views;
