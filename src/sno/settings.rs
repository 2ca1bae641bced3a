//! The settings of `sno`; [`crate::pg::server_setting`] describes how they fail closed.

use std::str::FromStr;

use sno_core::{Prefix, SequenceRange};

use crate::pg::{
    errors::Error,
    server::system_identifier,
    server_setting::{Define as _, Setting},
};

static PREFIX: Setting<PrefixSetting> = Setting::new(
    c"sno.partition_prefix",
    c"auto",
    c"Sets the server number, which is the upper bits of the partition in every ID, and its length in bits.",
    c"Written 42/8, with 8 to 16 bits, or 42 for 8 bits. Servers whose IDs meet need different numbers. \
      \"auto\" derives 12 bits from the system identifier, which are equal on 1 in 4,096 pairs of servers.",
);
static RANGE: Setting<SequenceRange> = Setting::new(
    c"sno.sequence_range",
    c"0-65535",
    c"Sets the first and the last sequence number of a generator in each tick of 4 ms.",
    c"Written 0-65535, at least 4 numbers. Servers that share a prefix need ranges without overlap.",
);

/// The values of the settings that only the server may set.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) prefix: Prefix,
    /// Whether the prefix was derived, since nobody has chosen one.
    pub(crate) prefix_auto: bool,
    pub(crate) range: SequenceRange,
}

impl Settings {
    pub(crate) fn current() -> Result<Self, Error> {
        let (prefix, prefix_auto) = match PREFIX.get()? {
            PrefixSetting::Given(prefix) => (prefix, false),
            PrefixSetting::Auto => (Prefix::from_system_identifier(system_identifier()), true),
        };
        Ok(Self { prefix, prefix_auto, range: RANGE.get()? })
    }
}

/// The value of `sno.partition_prefix`.
enum PrefixSetting {
    Auto,
    Given(Prefix),
}

impl FromStr for PrefixSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_matches(' ').eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Given).map_err(|error| match error {
            Prefix::SYNTAX => format!("{error}, or \"auto\""),
            _ => error.to_string(),
        })
    }
}

/// Defines the settings, when the library is preloaded.
pub(crate) fn define() {
    PREFIX.define();
    RANGE.define();
}
