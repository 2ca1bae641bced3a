//! The properties of an ID scheme that its generators need.

use sno_core::{Clock, OutOfEpoch, TickType, record::Origin};

use crate::pg::errors::Error;

/// An ID scheme: how its generators tell the time, and its names in messages.
pub(crate) trait Scheme: Clock<Self::Tick> + Copy + 'static {
    /// Its ticks.
    type Tick: TickType;

    /// The name of the type or the scheme: `sno`.
    const NAME: &'static str;
    /// The function that generates: `sno_new()`.
    const FUNCTION: &'static str;
    /// The file of its marks, relative to the data directory, which is the working directory of all backends.
    const MARKS: &'static str;
    /// The view of its generators.
    const VIEW: &'static str;
    /// The times that its IDs hold, as a sentence.
    const SPAN: &'static str;
    /// The beginning and the end of these times, in a few words.
    const ENDS: [&'static str; 2];

    /// The setting that has to differ between servers.
    const SETTING: &'static str;

    /// The origin of records that this server writes, by its present settings.
    fn origin(self, wal_timeline: u32, file: u64) -> Result<Origin, Error>;

    /// The first tick that starts at a Unix time in microseconds or later.
    fn ceil(self, unix_micros: i64) -> Result<Self::Tick, OutOfEpoch>;

    /// The start of a tick, as a Unix time in microseconds.
    fn unix_micros(self, tick: Self::Tick) -> i64;
}
