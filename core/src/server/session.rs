//! A process that generates, and its waits.

use core::time::Duration;

use crate::generation::slot::{ClaimError, Slot, Stamp};
use crate::horizon::Horizon;
use crate::horizon::databases::{DatabaseHorizon, WithHorizons};
use crate::horizon::transaction::{Announcer, Transaction};
use crate::horizon::watch::{Readable, Step, Watch};
use crate::id::tick::Tick;
use crate::id::tick_type::TickType;
use crate::server::record::LoweringNumber;
use crate::server::{Disk, Error, Host, MarksFile, Notice, Shared, Wait};

/// The least time in microseconds after which a clock counts as one that stands still: two of the longest ticks.
const STANDSTILL_US: u64 = 2_000_000;

/// A process that generates IDs: the generator that its number leads to, and the file of the marks.
#[derive(Clone, Copy, Debug)]
pub struct Session<'a, T: WithHorizons, const SLOTS: usize, H> {
    slot: &'a Slot<T>,
    marks: MarksFile<'a, T, SLOTS, H>,
    /// The number of the generator in its IDs: a partition, a worker or a generator.
    pub number: u16,
}

impl<'a, T: WithHorizons, const SLOTS: usize, H: Host<T> + Disk> Session<'a, T, SLOTS, H> {
    /// Starts a session: after this, it may generate IDs.
    ///
    /// # Errors
    ///
    /// The generators could not [resume](MarksFile::resume).
    pub fn start(marks: MarksFile<'a, T, SLOTS, H>, number: u16) -> Result<Self, Error> {
        marks.resume()?;
        Ok(Self { slot: marks.shared.slot(number), marks, number })
    }

    /// The memory that it shares.
    pub fn shared(&self) -> &'a Shared<T, SLOTS> {
        self.marks.shared
    }

    /// The same session with another number, and so perhaps another generator.
    #[must_use]
    pub fn with_number(mut self, number: u16) -> Self {
        self.slot = self.shared().slot(number);
        self.number = number;
        self
    }

    fn claim(&self, low: T) -> Result<Stamp<T>, ClaimError<T>> {
        self.slot.claim_from(low, &|| self.marks.host.now(), self.marks.range, &self.marks.shared.marks)
    }

    /// Claims the next stamp, in `low` or later, if that is [one step](Slot::claim_in_tick). It can't fail and can't
    /// panic.
    #[inline(always)]
    pub fn try_next(&self, low: T) -> Option<Stamp<T>> {
        self.slot.claim_in_tick(low, &|| self.marks.host.now(), self.marks.range)
    }

    /// Notes the partition, renews the mark if that is due, logs a step of the clock.
    fn on_new_tick(&self, stamp: Stamp<T>) {
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
    fn log_backward_step(&self, stamp: Stamp<T>) {
        let from = if self.slot.is_used() {
            self.slot.departed(!stamp.tick_tock())
        } else {
            // An unused slot has noted the mark that it resumed at, which was ahead of the clock.
            self.shared().resumed()
        };
        if from > stamp.tick() {
            self.marks.host.log(Notice::ClockSteppedBack { from, to: stamp.tick() });
        }
    }

    /// Claims the next stamp, and waits if it has to.
    ///
    /// # Errors
    ///
    /// Nothing was taken.
    pub fn next(&self) -> Result<Stamp<T>, Error> {
        // Every tick is allowed, so `announce` is never called.
        self.next_from(|| T::MIN, |now| now)
    }

    /// The same, in the tick that `low` returns or later. If the clock reads an earlier one, `announce` gets that, and
    /// returns the tick to wait for.
    fn next_from(&self, low: impl Fn() -> T, announce: impl Fn(T) -> T) -> Result<Stamp<T>, Error> {
        let mut clock_wait = ClockWait::default();
        // A tick whose numbers are used up; since when this call has waited for its end, and for how long when it last
        // tried.
        let (mut used_up, mut since, mut waited) = (None, Duration::ZERO, Duration::ZERO);
        loop {
            match self.claim(low()) {
                Ok(stamp) => {
                    if stamp.entered {
                        self.on_new_tick(stamp);
                    }
                    return Ok(stamp);
                }
                Err(ClaimError::SequenceExhausted { until }) => {
                    let host = &self.marks.host;
                    if used_up.replace(until) != Some(until) {
                        // The first one, or others have used up the numbers of a later one, too.
                        (since, waited) = (host.monotonic(), Duration::ZERO);
                    }
                    let micros = waited.as_micros() as u64;
                    if micros > host.max_clock_wait().max(STANDSTILL_US) {
                        return Err(Error::ClockStandsStill { micros });
                    }
                    self.slot.note_overflow();
                    // No longer than a tick, since the clock may have stepped back just now.
                    self.wait(Wait::Tick, self.micros_until(until).min(1_000_000 / T::PER_SECOND));
                    waited = host.monotonic().saturating_sub(since);
                }
                Err(ClaimError::ClockWentBack { until, .. }) => {
                    self.wait_for_clock(&mut clock_wait, until, false)?
                }
                Err(ClaimError::TooEarly { now }) => {
                    let first = announce(now);
                    if first > now {
                        self.wait_for_clock(&mut clock_wait, first, true)?;
                    }
                }
                Err(ClaimError::MarkReached { tick_tock, tick }) => self.marks.renew(tick_tock, tick)?,
                Err(ClaimError::OutOfEpoch(error)) => return Err(Error::OutOfEpoch(error)),
            }
        }
    }

    fn wait_for_clock(
        &self,
        clock_wait: &mut ClockWait,
        until: T,
        is_for_horizon: bool,
    ) -> Result<(), Error> {
        // Monitoring shows what is waited for, even before the first ID.
        self.slot.note_partition(self.number);
        let (host, micros) = (&self.marks.host, self.micros_until(until));
        if clock_wait.micros(host) + micros > host.max_clock_wait() {
            return Err(Error::ClockWentBack {
                until: host.epoch().unix_micros(until),
                micros,
                is_for_horizon,
            });
        }
        self.wait(Wait::Clock, micros);
        Ok(())
    }

    fn micros_until(&self, tick: T) -> u64 {
        let host = &self.marks.host;
        u64::try_from(host.epoch().unix_micros(tick) - host.unix_micros()).unwrap_or(0)
    }

    fn wait(&self, wait: Wait, micros: u64) {
        let host = &self.marks.host;
        let since = host.monotonic();
        host.nap(wait, micros);
        self.slot.note_wait(host.monotonic().saturating_sub(since).as_micros() as u64);
    }
}

impl<'a, const SLOTS: usize, H: Host<Tick> + Disk> Session<'a, Tick, SLOTS, H> {
    /// The horizon of a database of this server.
    ///
    /// # Errors
    ///
    /// The database has no entry yet, and the file of the marks could not be locked.
    pub fn horizon_of(&self, database: u32) -> Result<DatabaseHorizon<'a>, Error> {
        // The generators have resumed, and so have the horizons.
        self.shared().horizons.join(database).map_or_else(|| self.marks.add_database(database), Ok)
    }

    /// Claims the next stamp for a transaction, which announces its first one, and waits if it has to.
    ///
    /// # Errors
    ///
    /// Nothing was taken.
    pub fn next_of(&self, transaction: &Transaction, announcer: &Announcer<'_>) -> Result<Stamp, Error> {
        self.next_from(|| transaction.announced(), |now| transaction.announce(announcer, now))
    }

    /// Advances the horizon of a database to so many ticks before the present one, raises the mark of the horizons on
    /// disk to it, and returns it. For `open` and `prepared` see [`Horizon::advance`].
    ///
    /// # Errors
    ///
    /// The mark could not be written.
    pub fn horizon(
        &self,
        horizon: &Horizon,
        margin: u64,
        open: impl Fn() -> Option<Tick>,
        prepared: impl Fn() -> Option<Tick>,
    ) -> Result<Tick, Error> {
        loop {
            let era = horizon.era();
            let now = self.marks.host.now().map_err(Error::OutOfEpoch)?;
            let to = Tick::new(now.get().saturating_sub(margin)).unwrap_or_default();
            let reached = horizon.advance(era, to, &open, &prepared);
            self.marks.secure(era, reached, now.max(reached))?;
            if horizon.era() == era {
                return Ok(reached);
            }
        }
    }

    /// Lowers the horizons of all databases to the clock: see [`MarksFile::lower`].
    ///
    /// # Errors
    ///
    /// The errors of [`MarksFile::lower`].
    pub fn lower_horizons(&self) -> Result<(), Error> {
        self.marks.lower()
    }

    /// The tick to which a reader has to go back that was given the horizon `tick` when [`Shared::last_lowering`] was
    /// `number`. `None` if the horizons were not lowered since then.
    ///
    /// # Errors
    ///
    /// As for [`MarksFile::lowerings`].
    pub fn goes_back_from(&self, tick: Tick, number: LoweringNumber) -> Result<Option<Tick>, Error> {
        // Most often without the lock.
        if self.shared().last_lowering() <= number {
            return Ok(None);
        }
        Ok(self.marks.lowerings()?.goes_back_from(tick, number))
    }

    /// Whether horizons after the tick `tick` were lowered to it or below it, when the clock was corrected last or before.
    ///
    /// # Errors
    ///
    /// As for [`MarksFile::lowerings`].
    pub fn was_lowered_from(&self, tick: Tick) -> Result<bool, Error> {
        let lowerings = self.marks.lowerings()?;
        Ok(tick < lowerings.from && lowerings.goes_back_from(tick, LoweringNumber::ZERO).is_some())
    }

    /// A step of a wait for rows: what to do next. `open` returns the least tick that open transactions have announced;
    /// `prepared` returns that of prepared transactions, and whether it was expensive to find. A step changes nothing that
    /// is shared.
    ///
    /// # Errors
    ///
    /// No ID can hold the time of the clock.
    pub fn step(
        &self,
        watch: &mut Watch,
        open: impl FnOnce() -> Option<Tick>,
        prepared: impl FnOnce() -> (Option<Tick>, bool),
    ) -> Result<Step, Error> {
        // In this order: an ID that `newest()` does not see here has the tick `now` or a later one.
        let now = self.marks.host.now().map_err(Error::OutOfEpoch)?;
        let (seen, newest) = self.shared().newest();
        let to = Tick::new(now.get().saturating_sub(watch.margin())).unwrap_or_default();
        let readable = || {
            // In this order, as for a horizon.
            let open = open();
            let (prepared, is_expensive) = prepared();
            let below = [open, prepared].into_iter().flatten().fold(to, Tick::min);
            Readable { below, is_held: below < to, is_expensive }
        };
        Ok(watch.step(now, seen, newest, readable))
    }
}

/// How long one call has waited for a clock that went back.
#[derive(Default)]
struct ClockWait(Option<Duration>);

impl ClockWait {
    /// Microseconds since the first call.
    fn micros<T: TickType>(&mut self, host: &impl Host<T>) -> u64 {
        let now = host.monotonic();
        now.saturating_sub(*self.0.get_or_insert(now)).as_micros() as u64
    }
}
