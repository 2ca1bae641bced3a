//! The settings under `sno_kin.`; [`sno_glue::settings`] says how they fail closed.

use std::ffi::{c_char, c_void};

use pgrx::pg_sys;
use sno_core::kin::{
    snowflake_si::{BaseClock, Machine},
    uid60::Workers,
    uniqueid::{Cluster, Form, GeneratorBits},
};
use sno_glue::settings::{Setting, loaded};

use crate::{snowflake_si, uid60, uniqueid};

/// Of a Snowflake-SI site.
pub(crate) static BASE_CLOCK: Setting = Setting::new(
    c"sno_kin.snowflake_si_base_clock",
    c"",
    c"Sets the time from which Snowflake-SI IDs count their milliseconds.",
    c"Written 2020-01-01T00:00:00Z, after 2003-03-18T07:20:19.224Z. A site chooses it once; none is generated before.",
    assign,
    "Snowflake-SI ID",
);
/// Of a Snowflake-SI server.
pub(crate) static MACHINE: Setting = Setting::new(
    c"sno_kin.snowflake_si_machine",
    c"0/5",
    c"Sets this server's number in Snowflake-SI IDs, and how many bits it takes.",
    c"Written 12/4; the bits are 0 to 12, and 5 if they are left out. Servers of a site need different numbers of as many bits.",
    assign,
    "Snowflake-SI ID",
);
/// Of a uid60 server.
pub(crate) static WORKERS: Setting = Setting::new(
    c"sno_kin.uid60_workers",
    c"0-511",
    c"Sets the first and the last worker number of this server in uid60 IDs.",
    c"Written 0-511. Servers whose IDs meet need ranges without overlap.",
    assign,
    "uid60",
);
/// Of a uniqueid server.
pub(crate) static CLUSTER: Setting = Setting::new(
    c"sno_kin.uniqueid_cluster",
    c"0",
    c"Sets this server's number in uniqueid IDs, 0 to 15.",
    c"Servers whose IDs meet need different numbers.",
    assign,
    "uniqueid",
);
/// Of a uniqueid server.
pub(crate) static FORM: Setting = Setting::new(
    c"sno_kin.uniqueid_form",
    c"spread",
    c"Sets how new uniqueid IDs store their time.",
    c"\"spread\" scatters them over the key space, \"time_sequential\" makes them sort by time. Both are read.",
    assign,
    "uniqueid",
);
/// Of a uniqueid server.
pub(crate) static GENERATOR_BITS: Setting = Setting::new(
    c"sno_kin.uniqueid_generator_bits",
    c"6",
    c"Sets how many bits generators have in uniqueid IDs, 6 to 11.",
    c"Readers of the first version know 6.",
    assign,
    "uniqueid",
);

/// Loads the library `sno`, whose setting of the longest wait counts here, too.
pub(crate) fn load_sno() {
    // From PostgreSQL 18 on an extension may be elsewhere, and is found by "dynamic_library_path", whatever its
    // control file says.
    let name = if cfg!(feature = "pg18") { c"sno" } else { c"$libdir/sno" };
    // SAFETY: a plain call; a library that is loaded already stays as it is.
    unsafe { pg_sys::load_file(name.as_ptr(), false) };
}

/// Defines the settings; once in each process, when the library is loaded.
pub(crate) fn define() {
    let defined = [
        BASE_CLOCK.load::<BaseClock>(),
        MACHINE.load::<Machine>(),
        WORKERS.load::<Workers>(),
        CLUSTER.load::<Cluster>(),
        FORM.load::<Form>(),
        GENERATOR_BITS.load::<GeneratorBits>(),
    ];
    loaded(c"sno_kin", &defined);
}

/// What a backend has made of the settings is out of date.
unsafe extern "C-unwind" fn assign(_value: *const c_char, _extra: *mut c_void) {
    snowflake_si::generate::SESSION.forget();
    uid60::generate::SESSION.forget();
    uniqueid::generate::SESSION.forget();
}
