//! The ticks of ID schemes.

use core::fmt;

/// The tick of an ID scheme: a count of 4 ms, 1 ms or 1 s since its epoch.
///
/// A [`Slot`](crate::generation::slot::Slot) is generic over it. The ticks of [`Sno`](crate::id::sno::Sno) are
/// [`Tick`](crate::id::tick::Tick)s.
pub trait TickType: Copy + Ord + fmt::Debug + 'static {
    /// The name of the scheme in the file of its [high-water marks](crate::generation::marks::Marks).
    const NAME: &'static str;
    /// Width of the field in bits. A [`Slot`](crate::generation::slot::Slot) takes at most 47, since its word holds 17
    /// other bits.
    const BITS: u32;
    /// Ticks in a second; a divisor of 1,000,000.
    const PER_SECOND: u64;
    /// Whether an ID has a tick-tock bit, as a sno has: the schemes of the feature `compat` say what happens without
    /// one.
    const TWO_SIDES: bool = true;
    /// The first tick.
    const MIN: Self;
    /// The last tick.
    const MAX: Self;

    /// The tick of the low [`BITS`](Self::BITS) bits; the others are ignored.
    fn from_bits(bits: u64) -> Self;

    /// Ticks since the epoch.
    fn get(self) -> u64;

    /// The tick with this number; `None` if that needs more than [`BITS`](Self::BITS) bits.
    #[inline]
    fn new(ticks: u64) -> Option<Self> {
        if ticks <= Self::MAX.get() { Some(Self::from_bits(ticks)) } else { None }
    }

    /// The tick this many ticks later, but at most [`MAX`](Self::MAX).
    #[inline]
    fn saturating_add(self, ticks: u64) -> Self {
        Self::from_bits(self.get().saturating_add(ticks).min(Self::MAX.get()))
    }
}
