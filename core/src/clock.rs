//! Sources of time for generators.

use crate::{OutOfEpoch, Tick};

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

    /// Whether this is the current tick, if that can be told at less cost than by [`now`](Self::now).
    ///
    /// `true` means that [`now`](Self::now) would return this tick, unless the clock was stepped since its last
    /// reading. For IDs to be unique, it need not be right. `false` means nothing.
    #[inline]
    fn is_current(&self, tick: T) -> bool {
        let _ = tick;
        false
    }
}

/// The system's real-time clock.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(feature = "std")]
impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        std::time::SystemTime::now().try_into()
    }
}

impl<T, F: Fn() -> Result<T, OutOfEpoch>> Clock<T> for F {
    #[inline]
    fn now(&self) -> Result<T, OutOfEpoch> {
        self()
    }
}
