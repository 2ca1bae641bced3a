//! Time in IDs: ticks of 4 ms since 2010.

use core::fmt;
#[cfg(feature = "std")]
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::id::tick_type::TickType;

/// A point in time to 4 ms: the number of ticks since 2010-01-01 00:00:00 UTC, in 39 bits.
///
/// The last tick starts at 2079-09-07 15:47:35.548 UTC. A time converts to the tick that it falls into, a tick to the
/// time at which it starts. Leap seconds are not counted, as in Unix time.
///
/// ```
/// use sno_core::Tick;
///
/// let tick = Tick::floor(1_262_304_000_007_999)?; // 7.999 ms into 2010
/// assert_eq!(tick.get(), 1);
/// assert_eq!(tick.unix_micros(), 1_262_304_000_004_000);
/// # Ok::<(), sno_core::OutOfEpoch>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Tick(u64);

impl Tick {
    /// Width of the field in an ID, in bits.
    pub const BITS: u32 = 39;
    /// Ticks in a second.
    pub const PER_SECOND: u64 = 250;
    /// Microseconds in a tick.
    pub const MICROS: u64 = 1_000_000 / Self::PER_SECOND;
    /// The first tick: 2010-01-01 00:00:00 UTC.
    pub const MIN: Self = Self(0);
    /// The last tick: 2079-09-07 15:47:35.548 UTC.
    pub const MAX: Self = Self((1 << Self::BITS) - 1);

    /// The epoch's start in seconds of the Unix clock.
    pub const EPOCH_UNIX_SECONDS: u64 = 1_262_304_000;
    const EPOCH_UNIX_MICROS: i64 = Self::EPOCH_UNIX_SECONDS as i64 * 1_000_000;

    /// The tick with this number; `None` if that needs more than 39 bits.
    #[inline]
    pub const fn new(ticks: u64) -> Option<Self> {
        if ticks <= Self::MAX.0 { Some(Self(ticks)) } else { None }
    }

    /// The low 39 bits as a tick.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::MAX.0)
    }

    /// Ticks since the epoch.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The tick that a Unix time in microseconds falls into.
    ///
    /// # Errors
    ///
    /// The time is before 2010-01-01 00:00:00 UTC or after the last tick.
    #[inline]
    pub fn floor(unix_micros: i64) -> Result<Self, OutOfEpoch> {
        Epoch::SNO.floor(unix_micros)
    }

    /// The first tick that starts at a Unix time in microseconds or later.
    ///
    /// # Errors
    ///
    /// The time is before 2010-01-01 00:00:00 UTC or after the start of the last tick.
    #[inline]
    pub fn ceil(unix_micros: i64) -> Result<Self, OutOfEpoch> {
        Epoch::SNO.ceil(unix_micros)
    }

    /// The tick that a Unix time falls into, given in seconds and nanoseconds (below 1,000,000,000) of the second.
    ///
    /// # Errors
    ///
    /// The time is before 2010-01-01 00:00:00 UTC or after the last tick.
    #[inline]
    pub const fn from_unix(seconds: u64, nanos: u32) -> Result<Self, OutOfEpoch> {
        if seconds < Self::EPOCH_UNIX_SECONDS {
            return Err(OutOfEpoch::Before);
        }
        let seconds = seconds - Self::EPOCH_UNIX_SECONDS;
        // Checked in seconds first, so that the product can't overflow.
        if seconds > Self::MAX.0 / Self::PER_SECOND {
            return Err(OutOfEpoch::After);
        }
        match Self::new(seconds * Self::PER_SECOND + nanos as u64 / (Self::MICROS * 1000)) {
            Some(tick) => Ok(tick),
            None => Err(OutOfEpoch::After),
        }
    }

    /// The start of the tick, as a Unix time in microseconds.
    #[inline]
    pub const fn unix_micros(self) -> i64 {
        (self.0 * Self::MICROS) as i64 + Self::EPOCH_UNIX_MICROS
    }
}

/// The time from which a scheme counts its ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    unix_micros: i64,
}

impl Epoch {
    /// 1970-01-01 00:00:00 UTC.
    pub const UNIX: Self = Self::at_unix_millis(0);

    /// 2010-01-01 00:00:00 UTC, the epoch of `sno`.
    pub const SNO: Self = Self::at_unix_millis(Tick::EPOCH_UNIX_SECONDS as i64 * 1000);

    /// The epoch that starts this many milliseconds after 1970-01-01 00:00:00 UTC.
    pub(crate) const fn at_unix_millis(millis: i64) -> Self {
        Self { unix_micros: millis * 1000 }
    }

    const fn micros<T: TickType>() -> u64 {
        1_000_000 / T::PER_SECOND
    }

    /// The tick that a Unix time in microseconds falls into.
    ///
    /// # Errors
    ///
    /// The time is before the epoch or after the last tick.
    #[inline]
    pub fn floor<T: TickType>(self, unix_micros: i64) -> Result<T, OutOfEpoch> {
        // Saturated, the difference is still before the first or after the last tick.
        match u64::try_from(unix_micros.saturating_sub(self.unix_micros)) {
            Ok(micros) => T::new(micros / Self::micros::<T>()).ok_or(OutOfEpoch::After),
            Err(_) => Err(OutOfEpoch::Before),
        }
    }

    /// The first tick that starts at a Unix time in microseconds or later.
    ///
    /// # Errors
    ///
    /// The time is before the epoch or after the start of the last tick.
    pub fn ceil<T: TickType>(self, unix_micros: i64) -> Result<T, OutOfEpoch> {
        match self.floor::<T>(unix_micros) {
            Ok(tick) if self.unix_micros(tick) < unix_micros => {
                T::new(tick.get() + 1).ok_or(OutOfEpoch::After)
            }
            other => other,
        }
    }

    /// The start of a tick, as a Unix time in microseconds.
    #[inline]
    pub fn unix_micros<T: TickType>(self, tick: T) -> i64 {
        self.unix_micros + (tick.get() * Self::micros::<T>()) as i64
    }
}

impl TickType for Tick {
    const NAME: &'static str = "sno";
    const BITS: u32 = Self::BITS;
    const PER_SECOND: u64 = Self::PER_SECOND;
    const MIN: Self = Self::MIN;
    const MAX: Self = Self::MAX;

    #[inline]
    fn from_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    #[inline]
    fn get(self) -> u64 {
        self.0
    }
}

#[cfg(feature = "std")]
impl TryFrom<SystemTime> for Tick {
    type Error = OutOfEpoch;

    #[inline]
    fn try_from(time: SystemTime) -> Result<Self, OutOfEpoch> {
        let since = time.duration_since(UNIX_EPOCH).map_err(|_| OutOfEpoch::Before)?;
        Self::from_unix(since.as_secs(), since.subsec_nanos())
    }
}

#[cfg(feature = "std")]
impl From<Tick> for SystemTime {
    fn from(tick: Tick) -> Self {
        UNIX_EPOCH + Duration::from_micros(tick.unix_micros() as u64)
    }
}

/// A time that is outside the range of ticks, [`Tick`]'s or another scheme's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfEpoch {
    /// Before the first tick; of [`Tick`], 2010-01-01 00:00:00 UTC.
    Before,
    /// After the last tick; of [`Tick`], at 2079-09-07 15:47:35.552 UTC or later.
    After,
}

impl fmt::Display for OutOfEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "time is before the first tick",
            Self::After => "time is after the last tick",
        })
    }
}

impl core::error::Error for OutOfEpoch {}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: i64 = 1_262_304_000_000_000;
    const LAST: i64 = 3_461_327_255_548_000;

    #[test]
    fn ends_of_the_epoch() {
        assert_eq!(Tick::MIN.unix_micros(), FIRST);
        assert_eq!(Tick::MAX.unix_micros(), LAST);
        assert_eq!(Tick::floor(FIRST), Ok(Tick::MIN));
        assert_eq!(Tick::floor(FIRST - 1), Err(OutOfEpoch::Before));
        assert_eq!(Tick::floor(LAST + 3_999), Ok(Tick::MAX));
        assert_eq!(Tick::floor(LAST + 4_000), Err(OutOfEpoch::After));
        assert_eq!(Tick::floor(i64::MIN), Err(OutOfEpoch::Before));
        assert_eq!(Tick::floor(i64::MAX), Err(OutOfEpoch::After));
        assert_eq!(Tick::ceil(FIRST - 1), Err(OutOfEpoch::Before));
        assert_eq!(Tick::ceil(FIRST), Ok(Tick::MIN));
        assert_eq!(Tick::ceil(FIRST + 1).map(Tick::get), Ok(1));
        assert_eq!(Tick::ceil(LAST), Ok(Tick::MAX));
        assert_eq!(Tick::ceil(LAST + 1), Err(OutOfEpoch::After));
    }

    #[test]
    fn clock_readings() {
        let seconds = Tick::EPOCH_UNIX_SECONDS;
        assert_eq!(Tick::from_unix(seconds, 3_999_999), Ok(Tick::MIN));
        assert_eq!(Tick::from_unix(seconds, 4_000_000).map(Tick::get), Ok(1));
        assert_eq!(Tick::from_unix(seconds + 1, 0).map(Tick::get), Ok(250));
        assert_eq!(Tick::from_unix(seconds - 1, 999_999_999), Err(OutOfEpoch::Before));
        assert_eq!(Tick::from_unix(LAST as u64 / 1_000_000, 551_999_999), Ok(Tick::MAX));
        assert_eq!(Tick::from_unix(LAST as u64 / 1_000_000, 552_000_000), Err(OutOfEpoch::After));
        assert_eq!(Tick::from_unix(u64::MAX, 0), Err(OutOfEpoch::After));
    }

    #[cfg(feature = "std")]
    #[test]
    fn system_times() {
        let time = UNIX_EPOCH + Duration::from_micros(LAST as u64);
        assert_eq!(SystemTime::from(Tick::MAX), time);
        assert_eq!(Tick::try_from(time), Ok(Tick::MAX));
    }

    #[test]
    fn messages() {
        assert_eq!(OutOfEpoch::Before.to_string(), "time is before the first tick");
        assert_eq!(OutOfEpoch::After.to_string(), "time is after the last tick");
    }
}
