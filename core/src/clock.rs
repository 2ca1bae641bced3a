//! Where a generator gets the time from.

use crate::{OutOfEpoch, Tick};

/// A source of the current time.
///
/// Generators take their clock as an argument, so that a test owns it. A clock may step back and stand
/// still; the generator is made for that.
pub trait Clock<T = Tick> {
    /// The tick that the present moment falls into.
    fn now(&self) -> Result<T, OutOfEpoch>;

    /// Whether this tick still lasts, if that can be told for less than [`now`](Self::now) costs.
    ///
    /// A yes is as good as a reading of this tick. A no says nothing.
    #[inline]
    fn lasts(&self, tick: T) -> bool {
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
