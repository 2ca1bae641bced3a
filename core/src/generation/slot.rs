//! The state machine that makes IDs unique: one generator's state, in process memory or in memory that
//! many processes share.
//!
//! # Two sides
//!
//! A clock can step back to a tick whose sequence numbers are used up already. So a generator has every tick twice,
//! once on each of two *sides*: an ID's *tick-tock* bit says which side it is on. When the clock steps back, the
//! generator switches to the other side, where these ticks were not used, and need not wait.
//!
//! # Protocol
//!
//! A [`Slot`] holds a word `W = {tick, tick-tock, sequence}`, which is the last ID handed out. For each side it holds
//! the highest tick that `W` had reached whenever it departed from that side: `departed[0]` and `departed[1]`. A caller
//! takes an ID by changing `W` to it. Nothing is reserved beforehand, so a caller that dies at any point has nothing to
//! clean up.
//!
//! A [claim](Slot::claim) loads `W` before all else, then `departed` of the *other* side, and reads the clock. A caller
//! that is interrupted in between compares an old `W` with a new reading of the clock, which never looks like a
//! backward step. Then, with one compare-and-swap of `W`:
//!
//! | the clock reads | the claim |
//! |---|---|
//! | a later tick than `W`'s | enters it, with the first number of the pool |
//! | the same, also later than `departed[other]`, and the other side is the [current](#high-water-marks) one | raises `departed[this]` to `W`'s tick, then enters it on the other side |
//! | the same tick | takes the next number; if the pool is used up, waits for the next tick |
//! | earlier, but after `departed[other]` | raises `departed[this]` to `W`'s tick, then enters the other side: no wait |
//! | earlier than both | waits until the clock reaches `W`'s tick or passes `departed[other]`, whichever comes first |
//!
//! A claim whose compare-and-swap fails starts over. So does a claim that would have to wait, if `W` has changed
//! in between: with the new `W` it may not have to wait.
//!
//! Why no `(tick, tick-tock, sequence)` is taken twice:
//!
//! * Within a side `W` only grows.
//! * A side is entered again only after the tick at which `W` last departed from it, since `departed` is raised
//!   *before* the new `W` is published.
//! * A caller with an outdated `departed` has an outdated `W`, too, so its compare-and-swap fails: a side's `departed`
//!   is raised only by callers whose `W` was on that side.
//!
//! `departed` may be raised by a caller whose compare-and-swap then fails. This does no harm: its side had in fact
//! reached that tick, and the value is read only from the other side.
//!
//! # One side
//!
//! An ID of another [scheme](TickType) may have no tick-tock bit. In its slot, the other side counts as departed from
//! at the largest tick there is, so it is never entered: the generator waits until a clock that stepped back has caught
//! up.
//!
//! # High-water marks
//!
//! The slots are lost with the memory that they are in. [`Marks`] are their high-water marks: no slot enters a tick
//! above the mark of its side, and a mark is raised only after the new one was written to where it survives. So
//! after a restart every slot [resumes](Slot::resume) at the marks, above every ID that was handed out before.
//!
//! When the clock steps back, slots in use switch to the other side at once, and idle slots do not.
//! `Marks` holds the side that was entered last, the current one; a slot that enters a new tick switches to it if its
//! `departed` allows. So in the end all slots are on one side, and only that one's mark is raised. The other mark
//! falls behind the clock, so that the other side can be entered without a wait after the next backward step or
//! restart.

use core::{
    fmt,
    marker::PhantomData,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::generation::atomic::{AtomicU32, AtomicU64};
use crate::generation::clock::Clock;
use crate::generation::marks::Marks;
use crate::generation::partition::SequenceRange;
use crate::id::sno::Sno;
use crate::id::tick::{OutOfEpoch, Tick};
use crate::id::tick_type::TickType;

/// The state of one generator, which fills a cache line.
///
/// Its layout is fixed and has no pointers, so that processes can share it. All methods take `&self` and are lock-free.
/// A zeroed one is valid, but has to [resume](Slot::resume) before the first claim.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot<T: TickType = Tick> {
    /// `W`, a [`Word`].
    word: AtomicU64,
    /// The highest tick at which `W` departed from each side.
    departed: [AtomicU64; 2],
    /// How often the clock stepped back and the side changed.
    backward_steps: AtomicU64,
    /// How often a caller had to wait since the pool of a tick was used up.
    overflows: AtomicU64,
    /// Microseconds that callers waited, for the next tick or for the clock.
    waited: AtomicU64,
    /// The last partition that claimed from this slot, or `UNUSED`.
    partition: AtomicU32,
    time: PhantomData<T>,
}

const UNUSED: u32 = u32::MAX;

/// 47 bits of tick (`sno` uses 39), 1 of tick-tock, 16 of sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word<T>(u64, PhantomData<T>);

impl<T: TickType> Word<T> {
    #[inline]
    fn new(tick: T, tick_tock: bool, sequence: u16) -> Self {
        const { assert!(T::BITS <= 47) };
        Self(tick.get() << 17 | (tick_tock as u64) << 16 | sequence as u64, PhantomData)
    }

    #[inline]
    fn tick(self) -> T {
        T::from_bits(self.0 >> 17)
    }

    #[inline]
    fn tick_tock(self) -> bool {
        self.0 >> 16 & 1 == 1
    }

    #[inline]
    fn sequence(self) -> u16 {
        self.0 as u16
    }

    #[inline]
    fn with_sequence(self, sequence: u16) -> Self {
        Self(self.0 & !0xffff | sequence as u64, PhantomData)
    }
}

/// `departed` of a side that has reached this tick. A second side that the scheme lacks must never be entered,
/// so for this it is the largest tick.
fn departed_at<T: TickType>(tick_tock: bool, tick: T) -> u64 {
    if tick_tock && !T::TWO_SIDES { T::MAX.get() } else { tick.get() }
}

impl<T: TickType> Default for Slot<T> {
    /// A slot that has never handed out an ID.
    fn default() -> Self {
        Self {
            // The pool of the first tick counts as used up, as it does after a restart.
            word: AtomicU64::new(Word::new(T::MIN, false, u16::MAX).0),
            departed: [false, true].map(|tick_tock| AtomicU64::new(departed_at(tick_tock, T::MIN))),
            backward_steps: AtomicU64::new(0),
            overflows: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            partition: AtomicU32::new(UNUSED),
            time: PhantomData,
        }
    }
}

/// What a claim takes: with a metabyte and a partition it is an ID.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp<T = Tick> {
    word: Word<T>,
    /// Whether this claim entered the tick. One claim of a slot does so in each tick: the moment for work that is due
    /// once a tick.
    pub entered: bool,
    /// Whether the clock had stepped back, and this claim was the first of all slots to switch sides for it.
    pub stepped_back: bool,
}

impl<T: TickType> Stamp<T> {
    /// The tick.
    #[inline]
    pub fn tick(self) -> T {
        self.word.tick()
    }

    /// The side: false for the first, true for the second.
    #[inline]
    pub fn tick_tock(self) -> bool {
        self.word.tick_tock()
    }

    /// The number within tick and side, in the claim's [`SequenceRange`].
    #[inline]
    pub fn sequence(self) -> u16 {
        self.word.sequence()
    }
}

impl<T: TickType> fmt::Debug for Stamp<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stamp")
            .field("tick", &self.tick())
            .field("tick_tock", &self.tick_tock())
            .field("sequence", &self.sequence())
            .field("entered", &self.entered)
            .field("stepped_back", &self.stepped_back)
            .finish()
    }
}

impl Stamp {
    /// The ID of this stamp, with the application's byte and the partition of the generator.
    #[inline]
    pub fn id(self, metabyte: u8, partition: u16) -> Sno {
        // Tick and tick-tock are side by side in an ID, too.
        let high = self.word.0 << 8 & !0xff_ffff | (metabyte as u64) << 16 | partition as u64;
        Sno::from_parts(high, self.sequence())
    }
}

/// Why a claim took nothing: it has to wait, or can't succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimError<T = Tick> {
    /// All sequence numbers of the current tick are taken.
    SequenceExhausted {
        /// The tick to wait for: the next one.
        until: T,
    },
    /// The clock stepped back to a tick that both sides have passed.
    ClockWentBack {
        /// What the clock reads.
        now: T,
        /// The tick to wait for.
        until: T,
    },
    /// The clock is after the mark of the side, which has to be raised first: see [`Marks::ahead`].
    MarkReached {
        /// The side.
        tick_tock: bool,
        /// What the clock reads: the least tick to raise the mark to.
        tick: T,
    },
    /// The clock is before the tick from which the caller may claim.
    TooEarly {
        /// What the clock reads.
        now: T,
    },
    /// The clock is outside the times that ticks stand for, or in the last tick, all numbers of which are taken.
    OutOfEpoch(OutOfEpoch),
}

impl<T> fmt::Display for ClaimError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SequenceExhausted { .. } => f.write_str("all sequence numbers of the tick are taken"),
            Self::ClockWentBack { .. } => f.write_str("clock went back"),
            Self::MarkReached { .. } => f.write_str("clock is after the high-water mark"),
            Self::TooEarly { .. } => f.write_str("clock is before the first tick to claim from"),
            Self::OutOfEpoch(error) => error.fmt(f),
        }
    }
}

impl<T: fmt::Debug> core::error::Error for ClaimError<T> {}

impl<T: TickType> Slot<T> {
    /// Takes the next stamp if the clock reads the tick of the last one, `low` or later, and it has a number left. This
    /// is what a claim most often does, without all that happens once a tick.
    #[inline(always)]
    pub fn claim_in_tick(&self, low: T, clock: &impl Clock<T>, range: SequenceRange) -> Option<Stamp<T>> {
        let word = self.word();
        let now = clock.now().ok()?;
        let next = word.with_sequence(range.after(word.sequence())?);
        let is_taken = now == word.tick() && now >= low && self.swap(word, next);
        is_taken.then_some(Stamp { word: next, entered: false, stepped_back: false })
    }

    /// Takes the next stamp. No other claim on this slot ever takes the same tick, side and sequence number.
    ///
    /// It never blocks. Concurrent callers may pass different ranges and clocks.
    ///
    /// # Errors
    ///
    /// Nothing was taken. The [`ClaimError`] says what to wait for, or to do, before the next claim.
    #[inline]
    pub fn claim(
        &self,
        clock: &impl Clock<T>,
        range: SequenceRange,
        marks: &Marks<T>,
    ) -> Result<Stamp<T>, ClaimError<T>> {
        self.claim_from(T::MIN, clock, range, marks)
    }

    /// The same, but never in a tick before `low`: see [`Horizon::announce`](crate::horizon::Horizon::announce).
    ///
    /// # Errors
    ///
    /// Nothing was taken.
    pub fn claim_from(
        &self,
        low: T,
        clock: &impl Clock<T>,
        range: SequenceRange,
        marks: &Marks<T>,
    ) -> Result<Stamp<T>, ClaimError<T>> {
        loop {
            let word = self.word();
            let tick = word.tick();
            let departed = self.departed(!word.tick_tock());
            let now = match clock.now() {
                Ok(now) => now,
                Err(error) => return Err(ClaimError::OutOfEpoch(error)),
            };
            if now < low {
                return Err(ClaimError::TooEarly { now });
            }
            let error = if now == tick {
                if let Some(next) = range.after(word.sequence()) {
                    let next = word.with_sequence(next);
                    if self.swap(word, next) {
                        return Ok(Stamp { word: next, entered: false, stepped_back: false });
                    }
                    continue;
                }
                match T::new(tick.get() + 1) {
                    Some(until) => ClaimError::SequenceExhausted { until },
                    // There is no tick after the last one.
                    None => ClaimError::OutOfEpoch(OutOfEpoch::After),
                }
            } else {
                match self.enter(word, departed, now, range, marks) {
                    Ok(Some(stamp)) => return Ok(stamp),
                    Ok(None) => continue,
                    Err(error) => error,
                }
            };
            // No compare-and-swap has checked that the word is up to date.
            if self.word.load(Relaxed) == word.0 {
                return Err(error);
            }
        }
    }

    /// The part of a claim that enters another tick than the word's; `None` if another caller was first. `departed` is
    /// the noted tick of the other side.
    fn enter(
        &self,
        word: Word<T>,
        departed: T,
        now: T,
        range: SequenceRange,
        marks: &Marks<T>,
    ) -> Result<Option<Stamp<T>>, ClaimError<T>> {
        let (tick, this) = (word.tick(), word.tick_tock());
        let back = now < tick;
        if back && now <= departed {
            return Err(ClaimError::ClockWentBack { now, until: tick.min(departed.saturating_add(1)) });
        }
        // After a backward step the other side can be entered. After a step forward it is entered if it can be and
        // is the current one of all slots.
        let change = back || (now > departed && marks.current() != this);
        let to = this ^ change;
        if now > marks.limit(to) {
            return Err(ClaimError::MarkReached { tick_tock: to, tick: now });
        }
        // What makes IDs unique: within a side `W` only grows, and no further than its mark.
        assert!(now > if change { departed } else { tick }, "{now:?} was entered before");
        assert!(now <= marks.limit(to), "{now:?} is above its mark");
        if change {
            self.departed[this as usize].fetch_max(tick.get(), AcqRel);
        }
        let next = Word::new(now, to, range.lower());
        if !self.swap(word, next) {
            return Ok(None);
        }
        let mut stepped_back = false;
        if back {
            self.backward_steps.fetch_add(1, Relaxed);
            stepped_back = marks.enter_side(to);
        }
        Ok(Some(Stamp { word: next, entered: true, stepped_back }))
    }

    #[inline]
    fn word(&self) -> Word<T> {
        Word(self.word.load(Acquire), PhantomData)
    }

    #[inline]
    fn swap(&self, old: Word<T>, new: Word<T>) -> bool {
        self.word.compare_exchange(old.0, new.0, AcqRel, Relaxed).is_ok()
    }

    /// Starts at the marks of an earlier run, with the pools of their ticks used up. Only for a slot that nobody uses
    /// yet.
    pub fn resume(&self, marks: &Marks<T>) {
        let current = marks.current() && T::TWO_SIDES;
        for tick_tock in [false, true] {
            self.departed[tick_tock as usize].store(departed_at(tick_tock, marks.limit(tick_tock)), Relaxed);
        }
        for counter in [&self.backward_steps, &self.overflows, &self.waited] {
            counter.store(0, Relaxed);
        }
        self.partition.store(UNUSED, Relaxed);
        self.word.store(Word::new(marks.limit(current), current, u16::MAX).0, Release);
    }

    /// Notes the partition that claims from this slot, for [`Slot::state`].
    pub fn note_partition(&self, partition: u16) {
        self.partition.store(partition as u32, Relaxed);
    }

    /// Counts a wait for the next tick, for [`Slot::state`].
    pub fn note_overflow(&self) {
        self.overflows.fetch_add(1, Relaxed);
    }

    /// Adds microseconds to the time that callers waited, for [`Slot::state`].
    pub fn note_wait(&self, micros: u64) {
        self.waited.fetch_add(micros, Relaxed);
    }

    /// What changes with each ID; and the latest tick of all IDs, or a later one.
    pub fn newest(&self) -> (u64, T) {
        let word = self.word();
        (word.0, word.tick().max(self.departed(false)).max(self.departed(true)))
    }

    /// The highest tick at which this slot departed from a side, or resumed on it.
    pub fn departed(&self, tick_tock: bool) -> T {
        T::from_bits(self.departed[tick_tock as usize].load(Acquire))
    }

    /// Whether a partition was [noted](Self::note_partition) since the slot resumed.
    pub fn is_used(&self) -> bool {
        self.partition.load(Relaxed) != UNUSED
    }

    /// A snapshot for monitoring. The fields are read one after another, so other callers may have changed some of them
    /// in between.
    pub fn state(&self) -> SlotState<T> {
        let word = self.word();
        SlotState {
            tick: word.tick(),
            tick_tock: word.tick_tock(),
            sequence: word.sequence(),
            safe: word.tick().min(self.departed(!word.tick_tock()).saturating_add(1)),
            backward_steps: self.backward_steps.load(Relaxed),
            overflows: self.overflows.load(Relaxed),
            waited_micros: self.waited.load(Relaxed),
            partition: self.partition.load(Relaxed).try_into().ok(),
        }
    }
}

/// What [`Slot::state`] shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SlotState<T = Tick> {
    /// The tick of the last ID; before the first ID, the mark that the slot resumed at.
    pub tick: T,
    /// The side of the last ID.
    pub tick_tock: bool,
    /// The sequence number of the last ID.
    pub sequence: u16,
    /// The earliest reading of the clock at which a claim does not wait for the clock.
    pub safe: T,
    /// How often the clock stepped back and the side changed.
    pub backward_steps: u64,
    /// How often a caller had to wait since the pool of a tick was used up.
    pub overflows: u64,
    /// Microseconds that callers waited, for the next tick or for the clock.
    pub waited_micros: u64,
    /// The last partition that claimed from the slot; `None` if none has yet.
    pub partition: Option<u16>,
}
