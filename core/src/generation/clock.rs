//! Sources of time for generators.

#[cfg(feature = "std")]
use std::time::{SystemTime, UNIX_EPOCH};

use crate::id::tick::{OutOfEpoch, Tick};

/// A source of the current time.
///
/// Generators take their clock as an argument, so that tests can control it. A clock may step back or stand still: IDs
/// are unique all the same.
pub trait Clock<T = Tick> {
    /// The current tick.
    ///
    /// # Errors
    ///
    /// The clock is outside the times that ticks stand for.
    fn now(&self) -> Result<T, OutOfEpoch>;
}

/// The system's real-time clock.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(feature = "std")]
impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| OutOfEpoch::Before)?;
        Tick::from_unix(since.as_secs(), since.subsec_nanos())
    }
}

impl<T, F: Fn() -> Result<T, OutOfEpoch>> Clock<T> for F {
    #[inline]
    fn now(&self) -> Result<T, OutOfEpoch> {
        self()
    }
}
