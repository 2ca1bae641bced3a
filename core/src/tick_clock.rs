//! The system's clock for generators: read once a tick.

use core::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::{Clock, OutOfEpoch, Tick, counter};

/// The system's real-time clock, read once a tick: that the tick still [lasts](Clock::lasts), the processor's
/// time-stamp counter tells.
///
/// A reading of the clock costs 23 ns, one of the counter 10. What is more, the clock's has to wait for the
/// atomic step of the claim before, and the counter's has not: one after the other they take 38 and 13 (an
/// AMD EPYC at 2.6 GHz). Where there is no such counter, every reading is one of the clock.
///
/// # What it may get wrong
///
/// Between two readings of the clock, a claim goes on in a tick that a reading found, for as long as
/// the counter says that this tick lasts, less 1 %. So the clock may have been *stepped* meanwhile, by hand or by a
/// daemon, and this is noticed when the tick is over, within 4 ms. A clock that is slewed, by 500 ppm at most, stays
/// well within the 1 %.
///
/// The counter is never trusted with anything else. How fast it runs is measured, against a clock that does
/// not step, until two measurements in turn agree; what differs from the last by more than 0.4 % (a virtual machine
/// that was stopped or moved) counts for nothing, and a counter that goes back for a tick that is over. That IDs are
/// unique does not rest on any clock: see [`Slot`](crate::Slot).
#[derive(Debug, Default)]
pub struct TickClock {
    /// The tick of the last reading.
    tick: Cell<Tick>,
    /// The counter just before that reading, and for how many counts the tick lasted from then on.
    since: Cell<u64>,
    counts: Cell<u64>,
    speed: Speed,
}

impl TickClock {
    /// A clock that was not read yet.
    pub const fn new() -> Self {
        Self { tick: Cell::new(Tick::MIN), since: Cell::new(0), counts: Cell::new(0), speed: Speed::new() }
    }
}

impl Clock for TickClock {
    #[inline]
    fn now(&self) -> Result<Tick, OutOfEpoch> {
        let before = counter::read();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| OutOfEpoch::Before)?;
        let tick = Tick::from_unix(since.as_secs(), since.subsec_nanos())?;
        self.tick.set(tick);
        self.since.set(before);
        let rest = TICK - u64::from(since.subsec_nanos()) % TICK;
        self.counts.set((self.speed.at(before) * rest as f64) as u64);
        Ok(tick)
    }

    #[inline]
    fn lasts(&self, tick: Tick) -> bool {
        // A counter that went back wraps around, far beyond.
        tick == self.tick.get() && counter::read().wrapping_sub(self.since.get()) < self.counts.get()
    }
}

/// Nanoseconds in a tick.
const TICK: u64 = 1000 * Tick::MICROS;

/// How fast the counter runs.
#[derive(Debug)]
struct Speed {
    /// Where it was when, last.
    point: Cell<Option<(u64, Instant)>>,
    /// Counts a nanosecond, as last measured.
    measured: Cell<f64>,
    /// The same, somewhat less, if it was confirmed; or zero.
    trusted: Cell<f64>,
    /// At which count to measure again.
    due: Cell<u64>,
}

impl Default for Speed {
    fn default() -> Self {
        Self::new()
    }
}

impl Speed {
    /// Shorter times are too inexact to measure.
    const SHORT: Duration = Duration::from_millis(1);
    /// How far apart two measurements may be that confirm each other.
    const AGREE: f64 = 1.0 / 256.0;
    /// What is left of the speed to stay below it.
    const MARGIN: f64 = 1.0 - 1.0 / 100.0;
    /// Counts after which to measure again: up to a second, by the counters that there are.
    const AGAIN: u64 = 1 << 30;

    const fn new() -> Self {
        Self { point: Cell::new(None), measured: Cell::new(0.0), trusted: Cell::new(0.0), due: Cell::new(0) }
    }

    /// Counts a nanosecond: fewer rather than more, and none if that is not known. The counter is at `count`.
    #[inline]
    fn at(&self, count: u64) -> f64 {
        if self.trusted.get() == 0.0 || count.wrapping_sub(self.due.get()) < 1 << 63 {
            self.measure();
        }
        self.trusted.get()
    }

    #[cold]
    fn measure(&self) {
        if !counter::is_steady() {
            return;
        }
        let before = counter::read();
        let now = Instant::now();
        let taken = counter::read().wrapping_sub(before);
        if let Some((count, then)) = self.point.get() {
            let elapsed = now.duration_since(then);
            if elapsed < Self::SHORT {
                return;
            }
            let counts = before.wrapping_sub(count);
            let speed = counts as f64 / elapsed.as_nanos() as f64;
            // Interrupted in the middle, it is no measurement.
            let exact = taken < counts / 512;
            let agrees = exact && (speed / self.measured.get() - 1.0).abs() < Self::AGREE;
            self.trusted.set(if agrees { speed.min(self.measured.get()) * Self::MARGIN } else { 0.0 });
            self.measured.set(if exact { speed } else { 0.0 });
        }
        self.point.set(Some((before, now)));
        self.due.set(before.wrapping_add(Self::AGAIN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;

    #[test]
    fn it_reads_what_the_system_reads() {
        let clock = TickClock::new();
        for _ in 0..100_000 {
            let [before, now, after] =
                [SystemClock.now(), clock.now(), SystemClock.now()].map(Result::unwrap);
            assert!(before <= now && now <= after);
        }
    }

    #[test]
    fn a_tick_lasts_no_longer_than_it_does() {
        let clock = TickClock::new();
        let end = Instant::now() + Duration::from_millis(500);
        let (mut yes, mut calls) = (0, 0);
        while Instant::now() < end {
            let tick = SystemClock.now().unwrap();
            let lasts = clock.lasts(tick);
            // What was read before the question is the tick, so a yes to the one before it is too late.
            assert!(!clock.lasts(Tick::new(tick.get() - 1).unwrap()), "a tick that is over");
            if !lasts {
                clock.now().unwrap();
            }
            yes += u32::from(lasts);
            calls += 1;
        }
        // Nearly always, where there is such a counter.
        if counter::is_steady() {
            assert!(yes > calls / 2, "{yes} of {calls}");
        } else {
            assert_eq!(yes, 0);
        }
    }

    #[test]
    fn a_speed_counts_when_two_measurements_agree() {
        let speed = Speed::new();
        if !counter::is_steady() {
            return;
        }
        speed.at(counter::read());
        assert_eq!(speed.trusted.get(), 0.0);
        std::thread::sleep(Duration::from_millis(5));
        speed.at(counter::read());
        assert_eq!(speed.trusted.get(), 0.0, "after one measurement");
        let found = (0..100).find(|_| {
            std::thread::sleep(Duration::from_millis(5));
            speed.at(counter::read()) > 0.0
        });
        assert!(found.is_some());
        // As if the counter had jumped: a machine that was stopped, but its counter was not.
        let (count, then) = speed.point.get().unwrap();
        speed.point.set(Some((count.wrapping_sub(1 << 40), then)));
        speed.due.set(0);
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(speed.at(counter::read()), 0.0);
    }
}
