//! A backend's session: the slot in shared memory that its settings and its PID lead to, and the waits.

use std::{cell::Cell, ops::RangeInclusive, time::Instant};

use sno_core::{
    ClaimError, Clock as _, SequenceRange, Slot, Stamp, TickType,
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
    pub(crate) fn start<P>(
        scheme: S,
        memory: &'static Memory<S, SLOTS, P>,
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

    /// What the clock reads.
    pub(crate) fn now(self) -> Result<S::Tick, Error> {
        self.clock.now().map_err(errors::clock_outside_epoch::<S>)
    }

    /// Has both marks on disk at this tick or above: see [`MarksFile::keep_above`].
    pub(crate) fn keep_marks_above(self, tick: S::Tick, now: S::Tick) -> Result<(), Error> {
        self.marks.keep_above(tick, now).map_err(errors::generation::<S>)
    }

    /// The same session with another number, and so perhaps another slot.
    #[must_use]
    pub(crate) fn with_number(self, number: u16) -> Self {
        Self { slot: self.shared().slot(number), number, ..self }
    }

    /// Claims the next stamp, but none in a tick before `low`.
    #[inline(always)]
    fn claim(self, low: S::Tick) -> Result<Stamp<S::Tick>, ClaimError<S::Tick>> {
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
        match self.next_from(S::Tick::MIN, &mut ClockWait::default())? {
            Ok(stamp) => Ok(stamp),
            Err(TooEarly { .. }) => unreachable!("no tick is before the first"),
        }
    }

    /// The same, but for none in a tick before `low`: if the clock reads one, the caller decides what to do.
    pub(crate) fn next_from(
        self,
        low: S::Tick,
        clock_wait: &mut ClockWait,
    ) -> Result<Claimed<S::Tick>, Error> {
        loop {
            match self.claim(low) {
                Ok(stamp) => {
                    if stamp.entered {
                        self.on_new_tick(stamp);
                    }
                    return Ok(Ok(stamp));
                }
                Err(ClaimError::SequenceExhausted { until }) => {
                    self.slot.note_overflow();
                    // No longer than a tick, since the clock may have stepped back just now.
                    self.wait(Event::Tick, self.micros_until(until).min(1_000_000 / S::Tick::PER_SECOND));
                }
                Err(ClaimError::ClockWentBack { until, .. }) => self.wait_for_clock(until, clock_wait)?,
                Err(ClaimError::TooEarly { now }) => return Ok(Err(TooEarly { now })),
                Err(ClaimError::MarkReached { tick_tock, tick }) => {
                    self.marks.renew(tick_tock, tick).map_err(errors::generation::<S>)?
                }
                Err(ClaimError::OutOfEpoch(error)) => return Err(errors::clock_outside_epoch::<S>(error)),
            }
        }
    }

    /// Waits until the clock reads this tick, or until it may have been set.
    pub(crate) fn wait_for_clock(self, until: S::Tick, clock_wait: &mut ClockWait) -> Result<(), Error> {
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
    /// Claims the next stamp, in `low` or later, for the number of the session, unless the session has to start, to wait
    /// or to raise a mark.
    ///
    /// # Safety
    /// Called in the outermost frame, which has nothing to drop.
    #[inline(always)]
    pub(crate) unsafe fn try_next(&self, low: S::Tick) -> Option<(Stamp<S::Tick>, u16)> {
        let session = self.get()?;
        let stamp = session.claim(low).ok()?;
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

/// Fails during recovery. It is enough to check this when a session starts, since recovery does not begin again.
pub(crate) fn refuse_recovery<S: Scheme>() -> Result<(), Error> {
    if is_in_recovery() { Err(errors::recovery::<S>()) } else { Ok(()) }
}

/// A stamp, or why the caller has to decide what to do.
type Claimed<T> = Result<Stamp<T>, TooEarly<T>>;

/// The clock reads a tick before the one from which the caller may claim.
pub(crate) struct TooEarly<T> {
    pub(crate) now: T,
}

/// How long one call has waited for a clock that went back.
#[derive(Default)]
pub(crate) struct ClockWait(Option<Instant>);

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
