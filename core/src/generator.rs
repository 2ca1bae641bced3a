//! A generator for one process.

use crate::{Clock, Hold, Marks, SequenceRange, Slot, Sno};

/// Makes IDs within one process: for any number of threads, never the same ID twice while it lives.
///
/// Two generators that run at the same time need different partitions, or disjoint pools.
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
    /// A generator for a partition, with a pool of sequence numbers for each tick.
    pub fn new(partition: u16, range: SequenceRange) -> Self {
        Self { slot: Slot::default(), marks: Marks::unlimited(), partition, range }
    }

    /// Makes an ID at the clock's time, or says why it has to wait. It never blocks.
    #[inline]
    pub fn try_generate(&self, clock: &impl Clock, metabyte: u8) -> Result<Sno, Hold> {
        let stamp = self.slot.claim(clock, self.range, &self.marks)?;
        Ok(stamp.id(metabyte, self.partition))
    }

    /// Makes an ID at the system's time. It sleeps while all numbers of a tick are taken (at most 4 ms),
    /// and while the clock is back in a past that both timelines have seen.
    ///
    /// # Errors
    ///
    /// The system's clock is outside the epoch.
    #[cfg(feature = "std")]
    #[inline]
    pub fn generate(&self, metabyte: u8) -> Result<Sno, crate::OutOfEpoch> {
        std::thread_local! {
            static CLOCK: crate::TickClock = const { crate::TickClock::new() };
        }

        loop {
            match CLOCK.with(|clock| self.try_generate(clock, metabyte)) {
                Ok(id) => return Ok(id),
                Err(Hold::Clock(error)) => return Err(error),
                Err(Hold::Overflow { until } | Hold::Regression { until, .. }) => sleep_until(until),
                Err(Hold::Mark { .. }) => unreachable!("the marks are unlimited"),
            }
        }
    }
}

/// Sleeps towards a tick, in steps, since the clock may change meanwhile.
#[cfg(feature = "std")]
#[cold]
fn sleep_until(tick: crate::Tick) {
    use std::time::{Duration, SystemTime};

    const STEP: Duration = Duration::from_millis(100);
    if let Ok(remaining) = SystemTime::from(tick).duration_since(SystemTime::now()) {
        std::thread::sleep(remaining.min(STEP));
    }
}
