//! How far the slots of a server may go.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;

use crate::generation::atomic::{AtomicBool, AtomicU64};
use crate::id::tick::Tick;
use crate::id::tick_type::TickType;

/// The high-water marks of all slots of a server: the last tick of each side that they may enter, inclusive, and
/// the side that was entered last.
///
/// A mark is raised only after the new one was written to where a restart finds it: [`Marks::ahead`], then the write,
/// then [`Marks::raise`].
#[derive(Debug)]
#[repr(C)]
pub struct Marks<T: TickType = Tick> {
    limit: [AtomicU64; 2],
    current: AtomicBool,
    time: PhantomData<T>,
}

impl<T: TickType> Marks<T> {
    /// How many ticks ahead of the clock a mark is written: two seconds.
    pub const AHEAD: u64 = 2 * T::PER_SECOND;
    /// A mark fewer ticks ahead of the clock than this is due to be raised: one second.
    pub const DUE: u64 = T::PER_SECOND;

    /// Marks at these ticks, of the first and the second side.
    pub fn new(limits: [T; 2], current: bool) -> Self {
        Self {
            limit: limits.map(|tick| AtomicU64::new(tick.get())),
            current: AtomicBool::new(current),
            time: PhantomData,
        }
    }

    /// No limits: for a generator whose IDs need be unique only as long as its memory exists.
    pub fn unlimited() -> Self {
        Self::new([T::MAX; 2], false)
    }

    /// Sets both marks and the current side. Only for marks that nobody uses yet.
    pub fn restore(&self, limits: [T; 2], current: bool) {
        for (limit, tick) in self.limit.iter().zip(limits) {
            limit.store(tick.get(), Relaxed);
        }
        self.current.store(current, Relaxed);
    }

    /// The last tick that may be entered on a side, inclusive.
    #[inline]
    pub fn limit(&self, tick_tock: bool) -> T {
        T::from_bits(self.limit[tick_tock as usize].load(Relaxed))
    }

    /// The marks of both sides.
    pub fn limits(&self) -> [T; 2] {
        [false, true].map(|tick_tock| self.limit(tick_tock))
    }

    /// The side that was entered last.
    #[inline]
    pub fn current(&self) -> bool {
        self.current.load(Relaxed)
    }

    /// Makes a side the current one, and returns whether the other side was.
    pub(crate) fn enter_side(&self, tick_tock: bool) -> bool {
        self.current.swap(tick_tock, Relaxed) != tick_tock
    }

    /// Whether the mark of a side should be raised when the clock reads `now`: it is less than [`Marks::DUE`] ticks
    /// ahead.
    #[inline]
    pub fn due(&self, tick_tock: bool, now: T) -> bool {
        self.limit(tick_tock) < now.saturating_add(Self::DUE)
    }

    /// The marks to write before [`Marks::raise`]: the mark of `tick_tock` is at least [`Marks::AHEAD`] ticks after
    /// `now`.
    ///
    /// Only one caller at a time may do this, write and raise. If two did, the second write could hold an older value
    /// of the mark that the first caller raises, and a restart would resume too early.
    pub fn ahead(&self, tick_tock: bool, now: T) -> [T; 2] {
        let mut limits = [self.limit(false), self.limit(true)];
        let limit = &mut limits[tick_tock as usize];
        *limit = now.saturating_add(Self::AHEAD).max(*limit);
        limits
    }

    /// Raises the marks to what was written. A mark that is higher already stays.
    pub fn raise(&self, limits: [T; 2]) {
        for (limit, tick) in self.limit.iter().zip(limits) {
            limit.fetch_max(tick.get(), Relaxed);
        }
    }
}
