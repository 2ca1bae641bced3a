//! Four other ID schemes, with conversions to `sno`.

mod common;
pub(crate) mod settings;

mod gid;
pub(crate) mod snowflake_si;
pub(crate) mod uid60;
pub(crate) mod uniqueid;

mod views;

/// Makes the next calls read the settings again.
pub(crate) fn forget() {
    snowflake_si::generate::SESSION.forget();
    uid60::generate::SESSION.forget();
    uniqueid::generate::SESSION.forget();
}
