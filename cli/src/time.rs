//! Times as people write them.

use std::str::FromStr;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use sno_core::Tick;

/// A point in time from the command line.
#[derive(Clone, Copy)]
pub(crate) struct Time(Timestamp);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "now" {
            return Ok(Self(Timestamp::now()));
        }
        // Only dates without a time: the parser of dates would ignore a time of day without a zone.
        if text.len() == "2026-11-21".len()
            && let Ok(date) = text.parse::<Date>()
        {
            // The last day, 9999-12-31, is after the last point in time.
            let midnight = date.to_zoned(TimeZone::UTC);
            return Ok(Self(midnight.map_or(Timestamp::MAX, |midnight| midnight.timestamp())));
        }
        text.parse().map(Self).map_err(|_| {
            "expected a time with its zone, as in 2026-11-21T09:30:15Z, or a day, or \"now\"".to_owned()
        })
    }
}

impl Time {
    /// The Unix time in microseconds, rounded down.
    pub(crate) fn floor_micros(self) -> i64 {
        self.0.as_nanosecond().div_euclid(1000) as i64
    }

    /// The Unix time in microseconds, rounded up.
    pub(crate) fn ceil_micros(self) -> i64 {
        -((-self.0.as_nanosecond()).div_euclid(1000)) as i64
    }
}

/// The start of a tick, to milliseconds, in UTC.
pub(crate) fn format(tick: Tick) -> String {
    let start = Timestamp::from_microsecond(tick.unix_micros()).expect("a tick is in its range");
    format!("{start:.3}")
}
