//! Four other systems of IDs, and the way from them to `sno`. A room for each; the files know those above them.

mod arguments;
pub(crate) mod settings;

mod gid;
pub(crate) mod snowflake_si;
pub(crate) mod uid60;
pub(crate) mod uniqueid;

mod views;

/// Makes the next calls look at the settings again.
pub(crate) fn forget() {
    snowflake_si::generate::SESSION.forget();
    uid60::generate::SESSION.forget();
    uniqueid::generate::SESSION.forget();
}
