//! What a generator needs to know of a system's time.

use core::fmt;

/// A point in time as an ID holds it: a number of ticks since its system's epoch.
///
/// A generator's [`Slot`](crate::Slot) works in these. `sno`'s own is [`Tick`](crate::Tick).
pub trait Time: Copy + Ord + fmt::Debug + 'static {
    /// What the system is called in the file of its [marks](crate::Marks).
    const NAME: &'static str;
    /// Width of the field: at most 47 for a generator's, whose word holds 17 other bits.
    const BITS: u32;
    /// Ticks in a second.
    const PER_SECOND: u64;
    /// Whether an ID has a bit that tells two timelines apart. Without one, a generator waits until a clock
    /// that went back is where it was.
    const TWO_TIMELINES: bool;
    /// The first tick.
    const MIN: Self;
    /// The last tick.
    const MAX: Self;

    /// The low bits as a point in time: for fields that were cut out of an ID or of a generator's word.
    fn from_bits(bits: u64) -> Self;

    /// Ticks since the epoch.
    fn get(self) -> u64;

    /// The tick with this number, if it fits its bits.
    #[inline]
    fn new(ticks: u64) -> Option<Self> {
        if ticks <= Self::MAX.get() { Some(Self::from_bits(ticks)) } else { None }
    }

    /// This many ticks later, but no later than the last.
    #[inline]
    fn saturating_add(self, ticks: u64) -> Self {
        Self::from_bits(self.get().saturating_add(ticks).min(Self::MAX.get()))
    }
}
