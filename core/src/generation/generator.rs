//! A generator for one process.

#[cfg(feature = "std")]
use std::time::{Duration, SystemTime};

use crate::generation::clock::Clock;
use crate::generation::marks::Marks;
use crate::generation::partition::SequenceRange;
use crate::generation::slot::{ClaimError, Slot};
use crate::id::sno::Sno;
use crate::id::tick::Tick;

/// Generates IDs within one process, for any number of threads, and never the same ID twice.
///
/// Two generators that run at the same time need different partitions, or pools without a common number. If they run
/// one after the other, in one process or in two, the second one must start [after](Generator::after) the highest tick
/// of the first one. That is what [`new`](Generator::new) does, unless the clock has stepped back since the first one
/// started.
///
/// ```
/// use sno_core::{Generator, SequenceRange};
///
/// let generator = Generator::new(42 << 8 | 7, SequenceRange::default());
/// let (first, second) = (generator.generate(1)?, generator.generate(1)?);
/// assert!(first < second);
/// # Ok::<(), sno_core::OutOfEpoch>(())
/// ```
#[derive(Debug)]
pub struct Generator {
    slot: Slot,
    marks: Marks,
    partition: u16,
    range: SequenceRange,
}

impl Generator {
    /// A generator for a partition, with this pool of sequence numbers in each tick. It starts after the present tick
    /// of the system's clock, so it may have to wait for 4 ms before its first ID, and
    /// [`try_generate`](Self::try_generate) fails in that tick.
    #[cfg(feature = "std")]
    pub fn new(partition: u16, range: SequenceRange) -> Self {
        // Outside the epoch it generates no ID.
        Self::after(partition, range, crate::generation::clock::SystemClock.now().unwrap_or_default())
    }

    /// A generator whose IDs are all later than this tick: for a clock of your own, or to go on after the highest tick
    /// of earlier IDs, which is not that of the last one if the clock has stepped back. [`Tick::MIN`] if there were
    /// none.
    pub fn after(partition: u16, range: SequenceRange, tick: Tick) -> Self {
        let slot = Slot::default();
        slot.resume(&Marks::new([tick; 2], false));
        Self { slot, marks: Marks::unlimited(), partition, range }
    }

    /// Generates an ID at the clock's time. It never blocks.
    ///
    /// # Errors
    ///
    /// Nothing was taken. After [`SequenceExhausted`](ClaimError::SequenceExhausted) and
    /// [`ClockWentBack`](ClaimError::ClockWentBack), try again once the clock reads the tick in it;
    /// [`OutOfEpoch`](ClaimError::OutOfEpoch) stays until the clock is set. It is never
    /// [`MarkReached`](ClaimError::MarkReached).
    #[inline]
    pub fn try_generate(&self, clock: &impl Clock, metabyte: u8) -> Result<Sno, ClaimError> {
        let stamp = self.slot.claim(clock, self.range, &self.marks)?;
        Ok(stamp.id(metabyte, self.partition))
    }

    /// Generates an ID at the system's time. It sleeps when all sequence numbers of a tick are taken, for at most 4 ms,
    /// and while the clock is at a tick that both tick-tock sides have passed, until it has caught up.
    ///
    /// # Errors
    ///
    /// The system's clock is before 2010 or after 2079-09-07.
    #[cfg(feature = "std")]
    #[inline]
    pub fn generate(&self, metabyte: u8) -> Result<Sno, crate::id::tick::OutOfEpoch> {
        loop {
            match self.try_generate(&crate::generation::clock::SystemClock, metabyte) {
                Ok(id) => return Ok(id),
                Err(ClaimError::OutOfEpoch(error)) => return Err(error),
                // The clock may have been set since then.
                Err(ClaimError::SequenceExhausted { until }) => {
                    sleep_until(until, Duration::from_micros(Tick::MICROS))
                }
                Err(ClaimError::ClockWentBack { until, .. }) => {
                    sleep_until(until, Duration::from_millis(100))
                }
                Err(ClaimError::MarkReached { .. }) => unreachable!("the marks are unlimited"),
                Err(ClaimError::TooEarly { .. }) => unreachable!("no tick is too early"),
            }
        }
    }
}

/// Sleeps until a tick, but no longer than `most`.
#[cfg(feature = "std")]
#[cold]
fn sleep_until(tick: Tick, most: Duration) {
    if let Ok(remaining) = SystemTime::from(tick).duration_since(SystemTime::now()) {
        std::thread::sleep(remaining.min(most));
    }
}
