//! The settings of `sno_compat`; [`crate::pg::server_setting`] describes how they fail closed.

use sno_core::compat::{
    snowflake_si::{BaseClock, Machine},
    uid60::Workers,
    uniqueid::{Cluster, Form, GeneratorBits},
};

use crate::{
    generator::max_clock_wait,
    pg::server_setting::{Define, OfThisHost, Setting},
};

/// The base clock of a Snowflake-SI site.
pub(crate) static BASE_CLOCK: Setting<BaseClock> = Setting::new(
    c"sno_compat.snowflake_si_base_clock",
    c"",
    c"Sets the time from which Snowflake-SI IDs count their milliseconds.",
    c"Written 2020-01-01T00:00:00Z, after 2003-03-18T07:20:19.224Z. A site chooses it once; none is generated before.",
);
/// The machine of a Snowflake-SI server.
pub(crate) static MACHINE: Setting<OfThisHost<Machine>> = Setting::new(
    c"sno_compat.snowflake_si_machine",
    c"",
    c"Sets this server's number in Snowflake-SI IDs, and how many bits it takes.",
    c"Written 12/4; the bits are 0 to 12, and 5 if they are left out. Servers of a site need different numbers of as many bits. None is generated before.",
)
.of_one_server();
/// The worker numbers of a uid60 server.
pub(crate) static WORKERS: Setting<OfThisHost<Workers>> = Setting::new(
    c"sno_compat.uid60_workers",
    c"",
    c"Sets the first and the last worker number of this server in uid60 IDs.",
    c"Written 0-511. Servers whose IDs meet need ranges without overlap. None is generated before.",
)
.of_one_server();
/// The cluster of a uniqueid server.
pub(crate) static CLUSTER: Setting<OfThisHost<Cluster>> = Setting::new(
    c"sno_compat.uniqueid_cluster",
    c"",
    c"Sets this server's number in uniqueid IDs, 0 to 15.",
    c"Servers whose IDs meet need different numbers. None is generated before.",
)
.of_one_server();
/// The form of new IDs of a uniqueid server.
pub(crate) static FORM: Setting<Form> = Setting::new(
    c"sno_compat.uniqueid_form",
    c"spread",
    c"Sets how new uniqueid IDs store their time.",
    c"\"spread\" scatters them over the key space, \"time_sequential\" makes them sort by time. Both are read.",
);
/// The width of the generators of a uniqueid server.
pub(crate) static GENERATOR_BITS: Setting<GeneratorBits> = Setting::new(
    c"sno_compat.uniqueid_generator_bits",
    c"6",
    c"Sets how many bits generators have in uniqueid IDs, 6 to 11.",
    c"Readers of the first version know 6.",
);

/// Defines the settings, when the library is preloaded.
pub(crate) fn define() {
    let all: [&'static dyn Define; 6] = [&BASE_CLOCK, &MACHINE, &WORKERS, &CLUSTER, &FORM, &GENERATOR_BITS];
    all.into_iter().for_each(Define::define);
    max_clock_wait::define(c"sno_compat.max_clock_wait");
}
