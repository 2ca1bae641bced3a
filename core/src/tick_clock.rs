//! The system's clock for generators, read about once a tick.

use core::cell::Cell;
use std::time::Duration;
#[cfg(not(simulated))]
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[cfg(simulated)]
use crate::simulated::{Instant, SystemTime, UNIX_EPOCH};
use crate::{Clock, OutOfEpoch, Tick, counter};

/// The system's real-time clock, read about once a tick: in between, the processor's time-stamp counter shows whether
/// that tick [is current](Clock::is_current).
///
/// A reading of the clock takes 23 ns, one of the counter 10 ns. In a row of claims the difference is larger, since a
/// reading of the clock has to wait until the compare-and-swap of the claim before has finished: 38 ns and 13 ns a
/// claim (an AMD EPYC at 2.6 GHz). On processors without a counter of constant speed, each claim reads the clock.
///
/// # Accuracy
///
/// After a reading of the clock, claims stay in its tick until the counter says that the tick is over, less 1 %. If the
/// clock is *stepped* in between, by hand or by a daemon, this is noticed at the end of the tick, within 4 ms. A clock
/// that is slewed by less than 1 % stays within that: ntpd slews by 0.05 % at most. chronyd may slew by 8 %; until the
/// next measurement, a second later, a tick can then be taken for the current one 0.3 ms too long.
///
/// The counter's speed is measured against the system's monotonic clock. It is used after two successive measurements
/// agree to 0.4 %; if a later one differs by more, as in a virtual machine that was stopped or moved, the counter is
/// not used until two agree again. If the counter goes back, the tick counts as over. That IDs are unique depends
/// neither on the counter nor on the clock: see [`Slot`](crate::Slot).
#[derive(Debug, Default)]
pub struct TickClock {
    /// The tick of the last reading.
    tick: Cell<Tick>,
    /// The counter just before that reading, and how many counts later the tick is over.
    since: Cell<u64>,
    counts: Cell<u64>,
    speed: Speed,
}

impl TickClock {
    /// A clock that has not been read yet.
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
        self.counts.set((self.speed.counts_per_ns(before) * rest as f64) as u64);
        Ok(tick)
    }

    #[inline]
    fn is_current(&self, tick: Tick) -> bool {
        // If the counter went back, the difference wraps around to a large number.
        tick == self.tick.get() && counter::read().wrapping_sub(self.since.get()) < self.counts.get()
    }
}

/// Nanoseconds in a tick.
const TICK: u64 = 1000 * Tick::MICROS;

/// How fast the counter runs.
#[derive(Debug, Default)]
struct Speed {
    /// The counter and the time at the last measurement.
    point: Cell<Option<(u64, Instant)>>,
    /// Counts per nanosecond, by the last measurement; zero if that was not exact.
    measured: Cell<f64>,
    /// The same less the margin, if two measurements agreed; otherwise zero.
    trusted: Cell<f64>,
    /// The count from which to measure again.
    due: Cell<u64>,
}

impl Speed {
    /// The shortest time over which to measure: shorter ones are not exact enough.
    const MIN_INTERVAL: Duration = Duration::from_millis(1);
    /// The largest relative difference of two measurements that agree.
    const TOLERANCE: f64 = 1.0 / 256.0;
    /// The factor that keeps the trusted speed below the real one.
    const MARGIN: f64 = 1.0 - 1.0 / 100.0;
    /// Counts after which to measure again: at the speeds of present processors, a second at most on x86-64.
    const RECALIBRATE_AFTER: u64 = 1 << 30;

    const fn new() -> Self {
        Self { point: Cell::new(None), measured: Cell::new(0.0), trusted: Cell::new(0.0), due: Cell::new(0) }
    }

    /// Counts per nanosecond: a lower bound, and 0.0 while two measurements have not agreed. It measures again when
    /// that is due; the counter is at `count`.
    #[inline]
    fn counts_per_ns(&self, count: u64) -> f64 {
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
            if elapsed < Self::MIN_INTERVAL {
                return;
            }
            let counts = before.wrapping_sub(count);
            let speed = counts as f64 / elapsed.as_nanos() as f64;
            // If the process was interrupted between the two readings, the measurement is not exact.
            let exact = taken < counts / 512;
            let agrees = exact && (speed / self.measured.get() - 1.0).abs() < Self::TOLERANCE;
            self.trusted.set(if agrees { speed.min(self.measured.get()) * Self::MARGIN } else { 0.0 });
            self.measured.set(if exact { speed } else { 0.0 });
        }
        self.point.set(Some((before, now)));
        self.due.set(before.wrapping_add(Self::RECALIBRATE_AFTER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Marks, SequenceRange, Slot, SystemClock};

    #[test]
    fn a_tick_in_nanoseconds() {
        assert_eq!(TICK, 4_000_000);
    }

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
    fn a_tick_that_is_over_is_not_current() {
        let clock = TickClock::new();
        let end = Instant::now() + Duration::from_millis(500);
        let (mut yes, mut calls) = (0, 0);
        while Instant::now() < end {
            let tick = SystemClock.now().unwrap();
            let is_current = clock.is_current(tick);
            // The clock has read `tick`, so the one before it is over.
            assert!(!clock.is_current(Tick::new(tick.get() - 1).unwrap()), "a tick that is over");
            if !is_current {
                clock.now().unwrap();
            }
            yes += u32::from(is_current);
            calls += 1;
        }
        // With a steady counter, nearly always.
        if counter::is_steady() {
            assert!(yes > calls / 2, "{yes} of {calls}");
        } else {
            assert_eq!(yes, 0);
        }
    }

    #[test]
    fn without_a_steady_counter_each_claim_reads_the_clock() {
        /// Counts its readings.
        struct Counting(TickClock, Cell<u32>);
        impl Clock for Counting {
            fn now(&self) -> Result<Tick, OutOfEpoch> {
                self.1.set(self.1.get() + 1);
                self.0.now()
            }

            fn is_current(&self, tick: Tick) -> bool {
                self.0.is_current(tick)
            }
        }

        counter::PLAYS_UNSTEADY.set(true);
        let clock = Counting(TickClock::new(), Cell::new(0));
        let (slot, marks) = (Slot::default(), Marks::unlimited());
        let end = Instant::now() + Duration::from_millis(100);
        let (mut claims, mut last) = (0, None);
        while Instant::now() < end {
            let before = clock.1.get();
            if let Ok(stamp) = slot.claim(&clock, SequenceRange::default(), &marks) {
                assert!(clock.1.get() > before, "an ID without a reading of the clock");
                assert!(last < Some((stamp.tick(), stamp.sequence())), "{last:?}, then {stamp:?}");
                last = Some((stamp.tick(), stamp.sequence()));
                claims += 1;
            }
        }
        counter::PLAYS_UNSTEADY.set(false);
        assert!(claims > 1000, "{claims} claims");
    }

    #[test]
    fn a_speed_is_trusted_after_two_measurements_agree() {
        let speed = Speed::new();
        if !counter::is_steady() {
            return;
        }
        speed.counts_per_ns(counter::read());
        assert_eq!(speed.trusted.get(), 0.0);
        std::thread::sleep(Duration::from_millis(5));
        speed.counts_per_ns(counter::read());
        assert_eq!(speed.trusted.get(), 0.0, "after one measurement");
        let found = (0..100).find(|_| {
            std::thread::sleep(Duration::from_millis(5));
            speed.counts_per_ns(counter::read()) > 0.0
        });
        assert!(found.is_some());
        // A little less than what was measured.
        let (trusted, measured) = (speed.trusted.get(), speed.measured.get());
        assert!((0.98..0.995).contains(&(trusted / measured)), "{trusted} of {measured}");
        let (count, then) = speed.point.get().unwrap();
        assert_eq!(speed.due.get().wrapping_sub(count), 1 << 30);
        // One that differs by much less than the whole does not agree.
        std::thread::sleep(Duration::from_millis(20));
        let more = measured * then.elapsed().as_nanos() as f64 * 0.9;
        speed.point.set(Some((count.wrapping_sub(more as u64), then)));
        speed.due.set(0);
        assert_eq!(speed.counts_per_ns(counter::read()), 0.0);
        // As if a machine had been stopped while its counter went on.
        let (count, then) = speed.point.get().unwrap();
        speed.point.set(Some((count.wrapping_sub(1 << 40), then)));
        speed.due.set(0);
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(speed.counts_per_ns(counter::read()), 0.0);
    }
}
