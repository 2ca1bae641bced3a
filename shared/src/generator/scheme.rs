//! The properties of an ID scheme that its generators need.

use sno_core::{Epoch, WithHorizons};

use crate::pg::{datum::Timestamp, errors::Error};

/// An ID scheme: how its generators tell the time, and its names in messages.
pub trait Scheme: Copy + 'static {
    /// Its ticks.
    type Tick: WithHorizons;

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
    /// What to set if an ID can't have the present time.
    const CLOCK: &'static str = "the server's clock";
    /// The setting that has to differ between servers.
    const SETTING: &'static str;
    /// Who has to go back when the server begins in another place, beside feeds: a sentence after another one, or nothing.
    const READERS: &'static str = "";

    /// The time from which its ticks are counted.
    fn epoch(self) -> Epoch;

    /// The tick of a time, for an ID.
    fn tick(self, time: Timestamp) -> Result<Self::Tick, Error> {
        self.epoch().floor(time.unix_micros()).map_err(|_| Error::time(Self::NAME, time, Self::SPAN))
    }

    /// The start of a tick.
    fn time(self, tick: Self::Tick) -> Timestamp {
        Timestamp::from_unix_micros(self.epoch().unix_micros(tick))
    }
}
