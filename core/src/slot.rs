//! The state machine that makes IDs unique: one generator's state, in process memory or in memory that
//! many processes share.
//!
//! # Protocol
//!
//! A [`Slot`] holds a word `W = {tick, tick-tock, sequence}`, which is the last ID handed out, and for
//! each of the two timelines the highest tick it had reached when it was last left, `left[0]` and
//! `left[1]`. An ID belongs to whoever moved `W` to it; nothing else is ever reserved, so a caller that
//! dies at any point leaves nothing behind.
//!
//! A [claim](Slot::claim) loads `W`, then `left` of the *other* timeline, then reads the clock. The order
//! matters: a caller that was paused in between sees a clock that is too new, never one that seems to
//! have gone back because others went on. Then, with one compare-and-swap of `W`:
//!
//! | the clock reads | the claim |
//! |---|---|
//! | a later tick than `W`'s | enters it, with the pool's first number |
//! | the same tick | takes the next number; if the pool is used up, waits for the next tick |
//! | earlier, but after `left[other]` | raises `left[this]` to `W`'s tick, then enters the other timeline: no wait |
//! | earlier than both | waits until the clock reaches `W`'s tick or passes `left[other]`, whichever comes first |
//!
//! The word alone is enough where the clock can tell that its tick [still lasts](Clock::lasts): that counts as a
//! reading of the same tick.
//!
//! A compare-and-swap that fails starts over. So does a claim that would have to wait but finds that `W`
//! has moved on meanwhile: a wait may be needless if it was judged by an outdated word.
//!
//! Why no `(tick, tick-tock, sequence)` comes twice: within a timeline `W` only grows; a timeline is
//! entered again only past the tick at which it was last left, since `left` is raised *before* the word
//! that leaves it is published; and a caller with an outdated `left` has an outdated `W` too, so its
//! compare-and-swap fails.
//!
//! `left` may be raised by a caller whose compare-and-swap then fails. That is harmless: it names a tick
//! that its timeline had in fact reached, and is read only from the other timeline.
//!
//! # One timeline
//!
//! An ID of another [system](Time) may have no bit for a second timeline. Its slot is the same machine, in
//! which the other timeline was left at the largest tick there is, so that nothing leads into it: a clock
//! that goes back is waited for.
//!
//! # Marks
//!
//! The state dies with the memory it lives in. [`Marks`] bound it: no slot enters a tick above its
//! timeline's mark, and whoever raises a mark has first written it to where it survives. So after a
//! restart every slot [resumes](Slot::resume) at the marks, above every ID that was handed out before.
//!
//! When the clock steps back, busy slots change over at once, idle ones never notice. `Marks` remembers
//! the timeline that was entered last, and a slot that enters a new tick moves there if it may: then one
//! timeline is in use, its mark alone moves on, and the other falls behind the clock, ready to be entered
//! without a wait at the next step or restart.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use core::{
    marker::PhantomData,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::{Clock, Fields, OutOfEpoch, SequenceRange, Sno, Tick, Time};

/// The state of one generator, on a cache line of its own.
///
/// It has a fixed layout and no pointers, so that processes can share it. All methods take `&self` and
/// are lock-free.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot<T: Time = Tick> {
    /// `W`: 47 bits of tick (39 are used by `sno`), 1 of tick-tock, 16 of sequence.
    word: AtomicU64,
    /// For each timeline the highest tick when it was last left.
    left: [AtomicU64; 2],
    /// How often the clock stepped back and the timeline changed.
    drifts: AtomicU64,
    /// How often the pool of a tick was used up.
    overflows: AtomicU64,
    /// Microseconds that callers spent waiting, for either reason.
    waited: AtomicU64,
    /// The last partition that drew from this slot, or `UNUSED`.
    partition: AtomicU32,
    time: PhantomData<T>,
}

const UNUSED: u32 = u32::MAX;

#[inline]
fn pack<T: Time>(tick: T, tick_tock: bool, sequence: u16) -> u64 {
    const { assert!(T::BITS <= 47) };
    tick.get() << 17 | (tick_tock as u64) << 16 | sequence as u64
}

#[inline]
fn unpack<T: Time>(word: u64) -> (T, bool, u16) {
    (T::from_bits(word >> 17), word >> 16 & 1 == 1, word as u16)
}

/// Where a timeline counts as left, given its mark: one that a system does not have can't be entered.
fn left_at<T: Time>(tick_tock: bool, tick: T) -> u64 {
    if tick_tock && !T::TWO_TIMELINES { T::MAX.get() } else { tick.get() }
}

impl<T: Time> Default for Slot<T> {
    /// A slot that has never handed out an ID.
    fn default() -> Self {
        Self {
            // The pool of the first tick counts as used up, as after a restart.
            word: AtomicU64::new(pack(T::MIN, false, u16::MAX)),
            left: [false, true].map(|tick_tock| AtomicU64::new(left_at(tick_tock, T::MIN))),
            drifts: AtomicU64::new(0),
            overflows: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            partition: AtomicU32::new(UNUSED),
            time: PhantomData,
        }
    }
}

/// What a claim got: with a metabyte and a partition it is an ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp<T = Tick> {
    /// The tick that was entered or gone on with.
    pub tick: T,
    /// The timeline.
    pub tick_tock: bool,
    /// The number within the tick.
    pub sequence: u16,
    /// Whether the claim entered the tick. Once a tick, and so a good moment for upkeep.
    pub entered: bool,
    /// Whether the clock had gone back, and this claim was the first of all slots to change the timeline for it.
    pub drifted: bool,
}

impl Stamp {
    /// The ID of this stamp.
    #[inline]
    pub fn id(self, metabyte: u8, partition: u16) -> Sno {
        let Self { tick, tick_tock, sequence, .. } = self;
        Fields { tick, tick_tock, metabyte, partition, sequence }.into()
    }
}

/// Why a claim has to wait, or failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold<T = Tick> {
    /// All numbers of this tick are taken; the next tick brings new ones.
    Overflow {
        /// The tick to wait for.
        until: T,
    },
    /// The clock went back into the past of both timelines.
    Regression {
        /// What the clock reads.
        now: T,
        /// The tick to wait for.
        until: T,
    },
    /// The mark of this timeline has to be raised to at least this tick first.
    Mark {
        /// The timeline.
        tick_tock: bool,
        /// What the clock reads.
        tick: T,
    },
    /// The clock is outside the epoch, or in its last tick, all numbers of which are taken.
    Clock(OutOfEpoch),
}

impl<T: Time> Slot<T> {
    /// Takes the next stamp: unique among all that were ever taken from this slot.
    ///
    /// It never blocks. On an `Err` nothing was taken; wait as it says, then claim again.
    #[inline]
    pub fn claim(
        &self,
        clock: &impl Clock<T>,
        range: SequenceRange,
        marks: &Marks<T>,
    ) -> Result<Stamp<T>, Hold<T>> {
        let word = self.word.load(Acquire);
        match self.go_on(word, clock, range) {
            Some(stamp) => Ok(stamp),
            None => self.claim_by_reading(clock, range, marks),
        }
    }

    /// The short way: the next number of a tick that still lasts.
    #[inline]
    fn go_on(&self, word: u64, clock: &impl Clock<T>, range: SequenceRange) -> Option<Stamp<T>> {
        let (tick, _, sequence) = unpack::<T>(word);
        let next = range.after(sequence)?;
        if clock.lasts(tick) { self.take(word, next) } else { None }
    }

    /// Goes on in the tick of a word with this number; `None` if another caller was first.
    #[inline]
    fn take(&self, word: u64, sequence: u16) -> Option<Stamp<T>> {
        let (tick, tick_tock, _) = unpack::<T>(word);
        let taken = self.swap(word, pack(tick, tick_tock, sequence));
        taken.then_some(Stamp { tick, tick_tock, sequence, entered: false, drifted: false })
    }

    /// The whole way, with a reading of the clock.
    fn claim_by_reading(
        &self,
        clock: &impl Clock<T>,
        range: SequenceRange,
        marks: &Marks<T>,
    ) -> Result<Stamp<T>, Hold<T>> {
        loop {
            let word = self.word.load(Acquire);
            let (tick, this, sequence) = unpack::<T>(word);
            let left = T::from_bits(self.left[!this as usize].load(Acquire));
            let now = match clock.now() {
                Ok(now) => now,
                Err(error) => return Err(Hold::Clock(error)),
            };
            let hold = if now == tick {
                if let Some(next) = range.after(sequence) {
                    if let Some(stamp) = self.take(word, next) {
                        return Ok(stamp);
                    }
                    continue;
                }
                match T::new(tick.get() + 1) {
                    Some(until) => Hold::Overflow { until },
                    // No clock will ever read a tick after the last.
                    None => Hold::Clock(OutOfEpoch::After),
                }
            } else {
                match self.enter(word, left, now, range, marks) {
                    Ok(Some(stamp)) => return Ok(stamp),
                    Ok(None) => continue,
                    Err(hold) => hold,
                }
            };
            // Without a compare-and-swap, this is where an outdated word shows.
            if self.word.load(Relaxed) == word {
                return Err(hold);
            }
        }
    }

    /// The part of a claim that enters another tick; `None` if another caller was first.
    fn enter(
        &self,
        word: u64,
        left: T,
        now: T,
        range: SequenceRange,
        marks: &Marks<T>,
    ) -> Result<Option<Stamp<T>>, Hold<T>> {
        let (tick, this, _) = unpack(word);
        let back = now < tick;
        if back && now <= left {
            return Err(Hold::Regression { now, until: tick.min(left.saturating_add(1)) });
        }
        // Back, and past where the other timeline was left: a drift. Forward: to the timeline that
        // everyone is on, if that is as safe.
        let change = back || (now > left && marks.current() != this);
        let to = this ^ change;
        if now > marks.limit(to) {
            return Err(Hold::Mark { tick_tock: to, tick: now });
        }
        if change {
            self.left[this as usize].fetch_max(tick.get(), AcqRel);
        }
        if !self.swap(word, pack(now, to, range.lower())) {
            return Ok(None);
        }
        let mut drifted = false;
        if back {
            self.drifts.fetch_add(1, Relaxed);
            drifted = marks.current.swap(to, Relaxed) != to;
        }
        Ok(Some(Stamp { tick: now, tick_tock: to, sequence: range.lower(), entered: true, drifted }))
    }

    #[inline]
    fn swap(&self, old: u64, new: u64) -> bool {
        self.word.compare_exchange(old, new, AcqRel, Relaxed).is_ok()
    }

    /// Takes up where the memory of an earlier run ended: at its marks, with the pool of that tick used
    /// up. For a slot that nobody uses yet.
    pub fn resume(&self, marks: &Marks<T>) {
        let current = marks.current() && T::TWO_TIMELINES;
        for tick_tock in [false, true] {
            self.left[tick_tock as usize].store(left_at(tick_tock, marks.limit(tick_tock)), Relaxed);
        }
        for counter in [&self.drifts, &self.overflows, &self.waited] {
            counter.store(0, Relaxed);
        }
        self.partition.store(UNUSED, Relaxed);
        self.word.store(pack(marks.limit(current), current, u16::MAX), Release);
    }

    /// Notes which partition draws from this slot.
    pub fn note_partition(&self, partition: u16) {
        self.partition.store(partition as u32, Relaxed);
    }

    /// Counts a tick whose pool was used up.
    pub fn note_overflow(&self) {
        self.overflows.fetch_add(1, Relaxed);
    }

    /// Adds to the time that callers spent waiting.
    pub fn note_wait(&self, micros: u64) {
        self.waited.fetch_add(micros, Relaxed);
    }

    /// The highest tick of a timeline when it was last left.
    pub fn left(&self, tick_tock: bool) -> T {
        T::from_bits(self.left[tick_tock as usize].load(Acquire))
    }

    /// Whether someone has drawn from it since it resumed.
    pub fn is_used(&self) -> bool {
        self.partition.load(Relaxed) != UNUSED
    }

    /// A snapshot for people to look at. The parts are read one after another, so they may be an instant
    /// apart.
    pub fn state(&self) -> SlotState<T> {
        let (tick, tick_tock, sequence) = unpack::<T>(self.word.load(Acquire));
        let left = T::from_bits(self.left[!tick_tock as usize].load(Acquire));
        SlotState {
            tick,
            tick_tock,
            sequence,
            safe: tick.min(left.saturating_add(1)),
            drifts: self.drifts.load(Relaxed),
            overflows: self.overflows.load(Relaxed),
            waited_micros: self.waited.load(Relaxed),
            partition: self.partition.load(Relaxed).try_into().ok(),
        }
    }
}

/// What [`Slot::state`] shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotState<T = Tick> {
    /// The tick of the last ID.
    pub tick: T,
    /// The timeline of the last ID.
    pub tick_tock: bool,
    /// The sequence number of the last ID.
    pub sequence: u16,
    /// The earliest reading of the clock with which the generator goes on without waiting for it.
    pub safe: T,
    /// How often the clock stepped back and the timeline changed.
    pub drifts: u64,
    /// How often the pool of a tick was used up.
    pub overflows: u64,
    /// Microseconds that callers spent waiting.
    pub waited_micros: u64,
    /// The last partition that drew from the slot; `None` if no one has yet.
    pub partition: Option<u16>,
}

/// How far each timeline may go, for all slots of a server together, and which timeline was entered last.
///
/// A mark is raised only after it was written to where a restart finds it.
#[derive(Debug)]
#[repr(C)]
pub struct Marks<T: Time = Tick> {
    limit: [AtomicU64; 2],
    current: AtomicBool,
    time: PhantomData<T>,
}

impl<T: Time> Marks<T> {
    /// A mark is written this far ahead of the clock: two seconds.
    pub const AHEAD: u64 = 2 * T::PER_SECOND;
    /// A mark less far ahead than this, one second, is due to be raised.
    pub const DUE: u64 = T::PER_SECOND;

    /// Marks of these ticks.
    pub fn new(limits: [T; 2], current: bool) -> Self {
        Self {
            limit: limits.map(|tick| AtomicU64::new(tick.get())),
            current: AtomicBool::new(current),
            time: PhantomData,
        }
    }

    /// No limits: for a generator whose IDs need only be unique while it lives.
    pub fn unlimited() -> Self {
        Self::new([T::MAX; 2], false)
    }

    /// Sets both marks and the current timeline. For marks that nobody uses yet.
    pub fn restore(&self, limits: [T; 2], current: bool) {
        for (limit, tick) in self.limit.iter().zip(limits) {
            limit.store(tick.get(), Relaxed);
        }
        self.current.store(current, Relaxed);
    }

    /// The last tick that may be entered on a timeline.
    #[inline]
    pub fn limit(&self, tick_tock: bool) -> T {
        T::from_bits(self.limit[tick_tock as usize].load(Relaxed))
    }

    /// The timeline that was entered last.
    #[inline]
    pub fn current(&self) -> bool {
        self.current.load(Relaxed)
    }

    /// Whether the mark of a timeline should be raised, now that the clock reads this.
    #[inline]
    pub fn due(&self, tick_tock: bool, now: T) -> bool {
        self.limit(tick_tock) < now.saturating_add(Self::DUE)
    }

    /// What to write before [`Marks::raise`]: both marks, one of them far enough ahead of the clock.
    ///
    /// One caller at a time, from here until the marks are raised. Of two at once, the one that writes last
    /// may not know of the mark that the other raises, and a restart would fall back behind it.
    pub fn ahead(&self, tick_tock: bool, now: T) -> [T; 2] {
        let mut limits = [self.limit(false), self.limit(true)];
        let limit = &mut limits[tick_tock as usize];
        *limit = now.saturating_add(Self::AHEAD).max(*limit);
        limits
    }

    /// Raises the marks to what was written. They never fall.
    pub fn raise(&self, limits: [T; 2]) {
        for (limit, tick) in self.limit.iter().zip(limits) {
            limit.fetch_max(tick.get(), Relaxed);
        }
    }
}
