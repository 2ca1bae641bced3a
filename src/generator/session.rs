//! A backend's session: the slot in shared memory that its settings and its PID lead to, and the waits.

use std::{
    cell::Cell,
    sync::atomic::Ordering::{Acquire, Relaxed},
    time::Instant,
};

use pgrx::GucSetting;
use sno_core::{ClaimError, Marks, SequenceRange, Slot, Stamp, TickType};

use crate::{
    generator::{
        errors, marks,
        scheme::Scheme,
        shared::{Memory, Shared},
    },
    pg::{
        backend_local::BackendLocal,
        datum::Timestamp,
        errors::Error,
        server::is_in_recovery,
        wait::{Event, nap},
    },
};

/// The slot of a backend, and what it takes to claim from it.
#[derive(Clone, Copy)]
pub(crate) struct Session<S: Scheme, const SLOTS: usize> {
    slot: &'static Slot<S::Tick>,
    marks: &'static Marks<S::Tick>,
    /// The shared memory of the scheme.
    pub(crate) shared: &'static Shared<S::Tick, SLOTS>,
    /// The number that tells generators apart in IDs: a partition, a worker or a generator.
    pub(crate) number: u16,
    range: SequenceRange,
    scheme: S,
}

/// A backend's session, or none.
pub(crate) struct SessionCell<T>(BackendLocal<Cell<Option<T>>>);

impl<T: Copy> SessionCell<T> {
    /// Without a session.
    pub(crate) const fn new() -> Self {
        // SAFETY: for statics of the functions that generate.
        Self(unsafe { BackendLocal::new(Cell::new(None)) })
    }

    /// The session, if one has started.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<T> {
        self.0.get()
    }

    /// Replaces the session.
    pub(crate) fn set(&self, session: T) {
        self.0.set(Some(session));
    }

    /// Ends the session, so that the next call reads the settings again.
    pub(crate) fn forget(&self) {
        self.0.set(None);
    }

    /// The session, which is started if there is none.
    pub(crate) fn get_or_start(&self, start: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if let Some(session) = self.get() {
            return Ok(session);
        }
        let session = start()?;
        self.set(session);
        Ok(session)
    }
}

impl<S: Scheme, const SLOTS: usize> Session<S, SLOTS> {
    /// Starts a session: after this, IDs may be made.
    ///
    /// # Errors
    ///
    /// The server is in recovery, or the shared memory or the marks are not available.
    pub(crate) fn start(
        scheme: S,
        memory: &'static Memory<S, SLOTS>,
        number: u16,
        range: SequenceRange,
    ) -> Result<Self, Error> {
        refuse_recovery::<S>()?;
        let shared = memory.attach()?;
        if !shared.ready.load(Acquire) {
            marks::resume(scheme, shared)?;
        }
        let slot = &shared.slots[number as usize % SLOTS];
        Ok(Self { slot, marks: &shared.marks, shared, number, range, scheme })
    }

    /// The same session with another number, and so perhaps another slot.
    #[must_use]
    pub(crate) fn with_number(self, number: u16) -> Self {
        Self { slot: &self.shared.slots[number as usize % SLOTS], number, ..self }
    }

    /// Claims the next stamp, without waiting.
    #[inline(always)]
    pub(crate) fn claim(&self) -> Result<Stamp<S::Tick>, ClaimError<S::Tick>> {
        self.slot.claim(&self.scheme, self.range, self.marks)
    }

    /// The work that is due once a tick: notes the partition, and renews the mark if it is due.
    pub(crate) fn upkeep(&self, stamp: Stamp<S::Tick>) {
        if stamp.stepped_back {
            self.log_backward_step(stamp);
        }
        self.slot.note_partition(self.number);
        if self.marks.due(stamp.tick_tock, stamp.tick) {
            marks::renew_early(self.scheme, self.shared, stamp.tick_tock, stamp.tick);
        }
    }

    /// Logs a backward step of the clock: one message, even if several generators switch sides.
    #[cold]
    fn log_backward_step(&self, stamp: Stamp<S::Tick>) {
        let from = match self.slot.is_used() {
            true => self.slot.departed(!stamp.tick_tock),
            // An unused slot has noted the mark that it resumed at, which was ahead of the clock.
            false => S::Tick::from_bits(self.shared.resumed.load(Relaxed)),
        };
        if from > stamp.tick {
            let micros = self.scheme.unix_micros(from) - self.scheme.unix_micros(stamp.tick);
            errors::clock_stepped_back::<S>(micros).log();
        }
    }

    /// Claims the next stamp, and waits if it has to.
    pub(crate) fn next(&self) -> Result<Stamp<S::Tick>, Error> {
        let mut clock_wait = ClockWait::default();
        loop {
            match self.claim() {
                Ok(stamp) => {
                    if stamp.entered {
                        self.upkeep(stamp);
                    }
                    return Ok(stamp);
                }
                Err(ClaimError::SequenceExhausted { until }) => {
                    self.slot.note_overflow();
                    // No longer than a tick, since the clock may have stepped back just now.
                    self.wait(Event::Tick, self.micros_until(until).min(1_000_000 / S::Tick::PER_SECOND));
                }
                Err(ClaimError::ClockWentBack { until, .. }) => {
                    // The view shows what is waited for, even if no ID was made yet.
                    self.slot.note_partition(self.number);
                    let micros = self.micros_until(until);
                    clock_wait.permit::<S>(self.scheme.unix_micros(until), micros)?;
                    self.wait(Event::Clock, micros);
                }
                Err(ClaimError::MarkReached { tick_tock, tick }) => {
                    marks::renew(self.scheme, self.shared, tick_tock, tick)?
                }
                Err(ClaimError::OutOfEpoch(error)) => return Err(errors::clock_outside_epoch::<S>(error)),
            }
        }
    }

    fn micros_until(&self, tick: S::Tick) -> u64 {
        u64::try_from(self.scheme.unix_micros(tick) - Timestamp::now().unix_micros()).unwrap_or(0)
    }

    fn wait(&self, event: Event, micros: u64) {
        let since = Instant::now();
        nap(event, micros);
        self.slot.note_wait(since.elapsed().as_micros() as u64);
    }
}

/// Fails during recovery. It is enough to check this when a session starts, since recovery does not begin again.
pub(crate) fn refuse_recovery<S: Scheme>() -> Result<(), Error> {
    if is_in_recovery() { Err(errors::recovery::<S>()) } else { Ok(()) }
}

/// How long one call has waited for a clock that went back.
#[derive(Default)]
struct ClockWait(Option<Instant>);

impl ClockWait {
    /// Fails if what was waited and what is still to wait are more than the setting allows.
    fn permit<S: Scheme>(&mut self, until_unix_micros: i64, micros: u64) -> Result<(), Error> {
        let waited = self.0.get_or_insert_with(Instant::now).elapsed().as_micros() as u64;
        if waited + micros > max_clock_wait() {
            let until = Timestamp::from_unix_micros(until_unix_micros);
            return Err(errors::clock_went_back::<S>(until, micros, max_clock_wait()));
        }
        Ok(())
    }
}

/// The setting `sno.max_clock_wait`, in milliseconds.
pub(crate) static MAX_CLOCK_WAIT: GucSetting<i32> = GucSetting::<i32>::new(10_000);

/// The longest wait for a clock that went back, in microseconds.
pub(crate) fn max_clock_wait() -> u64 {
    MAX_CLOCK_WAIT.get() as u64 * 1000
}
