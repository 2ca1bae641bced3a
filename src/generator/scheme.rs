//! The properties of an ID scheme that its generators need.

use sno_core::{Clock, Epoch, OutOfEpoch, Tick, TickClock, TickType};

use crate::pg::{backend_local::BackendLocal, datum::Timestamp};

/// An ID scheme: how its generators tell the time, and its names in messages.
pub(crate) trait Scheme: Copy + 'static {
    /// Its ticks.
    type Tick: TickType;
    /// What its generators read the time from.
    type Clock: Clock<Self::Tick> + Copy;

    /// The name of the type or the scheme: `sno`.
    const NAME: &'static str;
    /// The function that generates: `sno_new()`.
    const FUNCTION: &'static str;
    /// The file of its marks, relative to the data directory, which is the working directory of all backends.
    const MARKS: &'static str;
    /// The view of its generators.
    const VIEW: &'static str;
    /// The times that its IDs hold, as a sentence.
    const SPAN: &'static str;
    /// The beginning and the end of these times, in a few words.
    const ENDS: [&'static str; 2];
    /// The setting that has to differ between servers.
    const SETTING: &'static str;

    /// The clock of a session.
    fn clock(self) -> Self::Clock;

    /// The time from which its ticks are counted.
    fn epoch(self) -> Epoch;
}

/// The backend's clock for the ticks of `sno`, which is read about once a tick.
#[derive(Clone, Copy)]
pub(crate) struct BackendClock;

// SAFETY: only sessions read it, in the thread that runs SQL.
static TICK_CLOCK: BackendLocal<TickClock> = unsafe { BackendLocal::new(TickClock::new()) };

impl Clock for BackendClock {
    #[inline(always)]
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        TICK_CLOCK.now()
    }

    #[inline(always)]
    fn is_current(&self, tick: Tick) -> bool {
        TICK_CLOCK.is_current(tick)
    }
}

/// The system's clock, in the ticks of a scheme.
#[derive(Clone, Copy)]
pub(crate) struct SystemClock<S>(pub(crate) S);

impl<S: Scheme> Clock<S::Tick> for SystemClock<S> {
    fn now(&self) -> Result<S::Tick, OutOfEpoch> {
        self.0.epoch().floor(Timestamp::now().unix_micros())
    }
}
