//! The settings of `sno`; [`crate::pg::settings`] describes how they fail closed.

use pgrx::{GucContext, GucFlags, GucRegistry};
use sno_core::{Prefix, SequenceRange};

use crate::{
    generator::session::MAX_CLOCK_WAIT,
    pg::{
        errors::Error,
        settings::{IN_PARALLEL, Setting, reserve_prefix},
    },
};

static PREFIX: Setting = Setting::new(
    c"sno.partition_prefix",
    c"0/8",
    c"Sets the upper bits of every partition: this server's own number, and how many bits it takes.",
    c"Written 42/8; the bits are 8 to 16, and 8 if they are left out. Servers whose IDs meet need different prefixes.",
    "sno",
);
static RANGE: Setting = Setting::new(
    c"sno.sequence_range",
    c"0-65535",
    c"Sets the first and the last sequence number of a generator in each tick of 4 ms.",
    c"Written 0-65535, at least 4 numbers. Servers that share a prefix need ranges without overlap.",
    "sno",
);

/// The values of the settings that only the server may set.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) prefix: Prefix,
    pub(crate) range: SequenceRange,
}

impl Settings {
    pub(crate) fn current() -> Result<Self, Error> {
        Ok(Self { prefix: PREFIX.get()?, range: RANGE.get()? })
    }
}

/// Defines the settings, when the library is loaded.
pub(crate) fn define() {
    GucRegistry::define_int_guc(
        c"sno.max_clock_wait",
        c"Sets the longest time that sno_new() waits for a clock that went back twice.",
        c"Zero makes it fail at once.",
        &MAX_CLOCK_WAIT,
        0,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS | IN_PARALLEL,
    );
    reserve_prefix(c"sno", &[PREFIX.load::<Prefix>(), RANGE.load::<SequenceRange>()]);
}
