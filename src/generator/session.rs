//! A backend's session: the slot in shared memory that its settings and its PID lead to, and the waits.

use std::{cell::Cell, ops::RangeInclusive, time::Instant};

use sno_core::{
    ClaimError, Clock as _, SequenceRange, Slot, Stamp, Tick, TickType,
    server::{Host as _, Notice, Shared},
};

use crate::{
    generator::{
        backend::{Backend, MarksFile},
        errors,
        scheme::Scheme,
        settings::max_clock_wait,
        shared::Memory,
    },
    pg::{
        backend_local::BackendLocal,
        datum::Timestamp,
        errors::{Error, guard},
        server::is_in_recovery,
        settings,
        wait::{Event, nap},
    },
};

/// The slot of a backend, and what it takes to claim from it.
#[derive(Clone, Copy)]
pub(crate) struct Session<S: Scheme, const SLOTS: usize> {
    slot: &'static Slot<S::Tick>,
    clock: S::Clock,
    marks: MarksFile<S, SLOTS>,
    /// The number of the generator in its IDs: a partition, a worker or a generator.
    pub(crate) number: u16,
}

/// A backend's session, with the generation of the settings that it started with.
pub(crate) struct SessionCell<T>(BackendLocal<Cell<Option<(u32, T)>>>);

impl<T: Copy> SessionCell<T> {
    /// Without a session.
    pub(crate) const fn new() -> Self {
        // SAFETY: sessions are statics of functions that are called by SQL alone.
        Self(unsafe { BackendLocal::new(Cell::new(None)) })
    }

    /// The session, if one has started since a setting changed.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<T> {
        let (generation, session) = self.0.get()?;
        (generation == settings::generation()).then_some(session)
    }

    /// Replaces the session.
    pub(crate) fn set(&self, session: T) {
        self.0.set(Some((settings::generation(), session)));
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
    /// Starts a session of a server with these partitions: after this, it may generate IDs.
    ///
    /// # Errors
    ///
    /// The server is in recovery, or the shared memory or the marks are not available.
    pub(crate) fn start(
        scheme: S,
        memory: &'static Memory<S, SLOTS>,
        partitions: RangeInclusive<u16>,
        number: u16,
        range: SequenceRange,
    ) -> Result<Self, Error> {
        refuse_recovery::<S>()?;
        let shared = memory.attach()?;
        let partitions = [*partitions.start(), *partitions.end()];
        let marks = MarksFile { host: Backend(scheme), shared, partitions, range };
        marks.resume().map_err(errors::generation::<S>)?;
        Ok(Self { slot: shared.slot(number), clock: scheme.clock(), marks, number })
    }

    /// The shared memory of the scheme.
    pub(crate) fn shared(self) -> &'static Shared<S::Tick, SLOTS> {
        self.marks.shared
    }

    /// The same session with another number, and so perhaps another slot.
    #[must_use]
    pub(crate) fn with_number(self, number: u16) -> Self {
        Self { slot: self.shared().slot(number), number, ..self }
    }

    #[inline(always)]
    fn claim(self) -> Result<Stamp<S::Tick>, ClaimError<S::Tick>> {
        let low = self.marks.host.0.low();
        self.slot.claim_from(low, &self.clock, self.marks.range, &self.marks.shared.marks)
    }

    /// Runs when this claim entered a tick: notes the partition, renews the mark if due, logs a clock step.
    fn on_new_tick(self, stamp: Stamp<S::Tick>) {
        if stamp.stepped_back {
            self.log_backward_step(stamp);
        }
        self.slot.note_partition(self.number);
        if self.shared().marks.due(stamp.tick_tock(), stamp.tick()) {
            self.marks.renew_early(stamp.tick_tock(), stamp.tick());
        }
    }

    /// Logs a backward step of the clock: one message, even if several generators switch sides.
    #[cold]
    fn log_backward_step(self, stamp: Stamp<S::Tick>) {
        let from = match self.slot.is_used() {
            true => self.slot.departed(!stamp.tick_tock()),
            // An unused slot has noted the mark that it resumed at, which was ahead of the clock.
            false => self.shared().resumed(),
        };
        if from > stamp.tick() {
            self.marks.host.log(Notice::ClockSteppedBack { from, to: stamp.tick() });
        }
    }

    /// Claims the next stamp, and waits if it has to.
    pub(crate) fn next(self) -> Result<Stamp<S::Tick>, Error> {
        let mut clock_wait = ClockWait::default();
        loop {
            match self.claim() {
                Ok(stamp) => {
                    if stamp.entered {
                        self.on_new_tick(stamp);
                    }
                    return Ok(stamp);
                }
                Err(ClaimError::SequenceExhausted { until }) => {
                    self.slot.note_overflow();
                    // No longer than a tick, since the clock may have stepped back just now.
                    self.wait(Event::Tick, self.micros_until(until).min(1_000_000 / S::Tick::PER_SECOND));
                }
                Err(ClaimError::ClockWentBack { until, .. }) => {
                    self.wait_for_clock(&mut clock_wait, until)?
                }
                Err(ClaimError::TooEarly { now }) => {
                    let low = self.marks.host.0.announce(now)?;
                    if low > now {
                        self.wait_for_clock(&mut clock_wait, low)?;
                    }
                }
                Err(ClaimError::MarkReached { tick_tock, tick }) => {
                    self.marks.renew(tick_tock, tick).map_err(errors::generation::<S>)?
                }
                Err(ClaimError::OutOfEpoch(error)) => return Err(errors::clock_outside_epoch::<S>(error)),
            }
        }
    }

    fn wait_for_clock(self, clock_wait: &mut ClockWait, until: S::Tick) -> Result<(), Error> {
        // The view shows what is waited for, even before the first ID.
        self.slot.note_partition(self.number);
        let micros = self.micros_until(until);
        clock_wait.permit::<S>(self.marks.host.0.epoch().unix_micros(until), micros)?;
        self.wait(Event::Clock, micros);
        Ok(())
    }

    fn micros_until(self, tick: S::Tick) -> u64 {
        let start = self.marks.host.0.epoch().unix_micros(tick);
        u64::try_from(start - Timestamp::now().unix_micros()).unwrap_or(0)
    }

    fn wait(self, event: Event, micros: u64) {
        let since = Instant::now();
        nap(event, micros);
        self.slot.note_wait(since.elapsed().as_micros() as u64);
    }
}

impl<S: Scheme, const SLOTS: usize> SessionCell<Session<S, SLOTS>> {
    /// Claims the next stamp, for the number of the session, unless the session has to start, to wait or to raise a
    /// mark.
    ///
    /// # Safety
    /// Called in the outermost frame, which has nothing to drop.
    #[inline(always)]
    pub(crate) unsafe fn try_next(&self) -> Option<(Stamp<S::Tick>, u16)> {
        let session = self.get()?;
        let stamp = session.claim().ok()?;
        if stamp.entered {
            // SAFETY: the caller is the outermost frame, and neither it nor this one has anything to drop.
            unsafe { self.on_new_tick(stamp) };
        }
        Some((stamp, session.number))
    }

    /// # Safety
    /// Called in the outermost frame, which has nothing to drop.
    #[cold]
    #[inline(never)]
    unsafe fn on_new_tick(&self, stamp: Stamp<S::Tick>) {
        // SAFETY: no frame above has anything to drop.
        unsafe {
            guard(|| {
                // Read again, so that the caller need not keep a copy.
                if let Some(session) = self.get() {
                    session.on_new_tick(stamp);
                }
                Ok(())
            });
        }
    }
}

impl<S: Scheme<Tick = Tick>, const SLOTS: usize> Session<S, SLOTS> {
    /// Advances the horizon to so many ticks before the present one. `open` returns the least tick that open
    /// transactions have announced.
    pub(crate) fn horizon(self, margin: u64, open: impl FnOnce() -> Option<Tick>) -> Result<Tick, Error> {
        let now = self.clock.now().map_err(errors::clock_outside_epoch::<S>)?;
        let to = Tick::new(now.get().saturating_sub(margin)).unwrap_or_default();
        let horizon = self.shared().horizon.advance(to, open);
        self.marks.keep_above(horizon, now.max(horizon)).map_err(errors::generation::<S>)?;
        Ok(horizon)
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
