//! A generator for one process.

use crate::{ClaimError, Clock, Marks, SequenceRange, Slot, Sno};

/// Makes IDs within one process, for any number of threads. Within its lifetime it never makes the same ID twice.
///
/// Two generators that run at the same time need different partitions, or pools without a common number. A process
/// can use the partition of another one that has ended, from the next tick on, unless the clock has stepped back.
///
/// ```
/// use sno_core::{Generator, Prefix, SequenceRange};
///
/// let partition = Prefix::new(42, 8)?.partition(std::process::id());
/// let generator = Generator::new(partition, SequenceRange::default());
/// let (first, second) = (generator.generate(1)?, generator.generate(1)?);
/// assert!(first < second);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Generator {
    slot: Slot,
    marks: Marks,
    partition: u16,
    range: SequenceRange,
}

impl Generator {
    /// A generator for a partition, with this pool of sequence numbers in each tick.
    pub fn new(partition: u16, range: SequenceRange) -> Self {
        Self { slot: Slot::default(), marks: Marks::unlimited(), partition, range }
    }

    /// Makes an ID at the clock's time. It never blocks.
    ///
    /// # Errors
    ///
    /// See [`ClaimError`]; it is never `MarkReached`.
    #[inline]
    pub fn try_generate(&self, clock: &impl Clock, metabyte: u8) -> Result<Sno, ClaimError> {
        let stamp = self.slot.claim(clock, self.range, &self.marks)?;
        Ok(stamp.id(metabyte, self.partition))
    }

    /// Makes an ID at the system's time. It sleeps when all sequence numbers of a tick are taken, for at most 4 ms, and
    /// while the clock is at a tick that both timelines have passed, until it has caught up.
    ///
    /// # Errors
    ///
    /// The system's clock is before 2010 or after 2079-09-07.
    #[cfg(feature = "std")]
    #[inline]
    pub fn generate(&self, metabyte: u8) -> Result<Sno, crate::OutOfEpoch> {
        std::thread_local! {
            static CLOCK: crate::TickClock = const { crate::TickClock::new() };
        }

        loop {
            match CLOCK.with(|clock| self.try_generate(clock, metabyte)) {
                Ok(id) => return Ok(id),
                Err(ClaimError::OutOfEpoch(error)) => return Err(error),
                Err(ClaimError::SequenceExhausted { until } | ClaimError::ClockWentBack { until, .. }) => {
                    sleep_until(until)
                }
                Err(ClaimError::MarkReached { .. }) => unreachable!("the marks are unlimited"),
            }
        }
    }
}

/// Sleeps until a tick, but at most 100 ms at a time, since the clock may be set meanwhile.
#[cfg(feature = "std")]
#[cold]
fn sleep_until(tick: crate::Tick) {
    use std::time::{Duration, SystemTime};

    const STEP: Duration = Duration::from_millis(100);
    if let Ok(remaining) = SystemTime::from(tick).duration_since(SystemTime::now()) {
        std::thread::sleep(remaining.min(STEP));
    }
}
