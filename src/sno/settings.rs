//! The settings of `sno`; [`crate::pg::server_setting`] describes how they fail closed.

use std::{cell::Cell, str::FromStr};

use sno_core::{InvalidValue, Prefix, SequenceRange};

use crate::{
    pg::{
        backend_local::BackendLocal,
        errors::Error,
        server_setting::{Define as _, OfThisHost, Setting},
    },
    sno::citus,
};

static PREFIX: Setting<PrefixSetting> = Setting::new(
    c"sno.partition_prefix",
    c"auto",
    c"Sets the server number, which is the upper bits of the partition in every ID, and its length in bits.",
    c"Written 42/8, with 8 to 16 bits, or 42 for 8 bits. Servers whose IDs meet need different numbers: \
      \"db1=42, db2=43\" has one for each host. \
      \"auto\" is a random number of 14 bits, which a server keeps in sno.marks, and a copy of it draws anew. \
      \"citus/8\" is the group that Citus has given to this node, in 8 bits.",
)
.of_one_server();
static RANGE: Setting<OfThisHost<SequenceRange>> = Setting::new(
    c"sno.sequence_range",
    c"0-65535",
    c"Sets the first and the last sequence number of a generator in each tick of 4 ms.",
    c"Written 0-65535, at least 4 numbers. Servers that share a prefix need ranges without overlap: \
      \"db1=0-32767, db2=32768-65535\" has one for each host.",
)
.of_one_server();

/// Whether the prefix was that of Citus, when it was last asked for.
// SAFETY: for functions that SQL calls.
static FROM_CITUS: BackendLocal<Cell<bool>> = unsafe { BackendLocal::new(Cell::new(false)) };

/// The values of the settings that only the server may set.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// The server's number; `None` if nobody has chosen one, so that it is the one that the server has drawn.
    pub(crate) prefix: Option<Prefix>,
    pub(crate) range: SequenceRange,
}

impl Settings {
    pub(crate) fn current() -> Result<Self, Error> {
        let setting = PREFIX.get()?;
        FROM_CITUS.set(matches!(setting, PrefixSetting::Citus { .. }));
        let prefix = match setting {
            PrefixSetting::Given(prefix) => Some(prefix),
            PrefixSetting::Citus { bits } => Some(citus::prefix(bits)?),
            PrefixSetting::Auto => None,
        };
        Ok(Self { prefix, range: RANGE.get()?.0 })
    }

    /// Whether the prefix can be another one in the next transaction, though no setting has changed.
    pub(crate) fn can_change_by_itself() -> bool {
        FROM_CITUS.get()
    }
}

/// The value of `sno.partition_prefix`.
enum PrefixSetting {
    Auto,
    Citus { bits: u8 },
    Given(Prefix),
}

impl FromStr for PrefixSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_matches(' ').eq_ignore_ascii_case("auto") {
            return Ok(Self::Auto);
        }
        let error = |error: String| match error == Prefix::SYNTAX.to_string() {
            true => format!("{error}, or \"auto\", or \"{}/8\", or a list of hosts", citus::NAME),
            false => error,
        };
        // The bits are checked as those of a number are.
        let (word, rest) = text.split_at_checked(citus::NAME.len()).unwrap_or(("", text));
        if word.eq_ignore_ascii_case(citus::NAME) && (rest.is_empty() || rest.starts_with('/')) {
            let zero: Prefix =
                format!("0{rest}").parse().map_err(|bits: InvalidValue| error(bits.to_string()))?;
            return Ok(Self::Citus { bits: zero.bits() });
        }
        text.parse().map(|OfThisHost(prefix)| Self::Given(prefix)).map_err(error)
    }
}

/// Defines the settings, when the library is preloaded.
pub(crate) fn define() {
    PREFIX.define();
    RANGE.define();
}
