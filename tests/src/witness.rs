//! The invariants behind the guarantee, which the harness checks in every test that draws IDs with [`Server::ids`]:
//!
//! * When a server ends, however it ends, no ID that it handed out is above the mark on disk of its tick-tock side.
//! * After a start, every ID is above all IDs of before of its side.
//!
//! The second would hold without any marks if the clock went on while the server is down. So the clock of a server that
//! has
//! [`faketime`](crate::Builder::faketime) stands at its last ID from the end of one run to the beginning of the next.
//!
//! [`Server::ids`]: crate::Server::ids

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use sno_core::record::Record;
use sno_core::{Sno, Tick};

/// A tick and one more for each side, so that zero stands for none.
type Ticks = [u64; 2];

fn after(tick: Tick) -> u64 {
    tick.get() + 1
}

/// What was seen of a server's IDs, in all of its runs. A run ends with the server, or with a crash of one of its
/// processes.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// The highest ticks so far.
    highest: [AtomicU64; 2],
    /// The tick of the last ID.
    last: AtomicU64,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    /// For each run that has ended, the marks on disk at that time.
    limits: Vec<Ticks>,
    /// What the IDs of the present run have to be above.
    floor: Ticks,
    /// Whether there is a present run.
    running: bool,
    /// Whether the test does things to the marks file after which it need not hold what it should.
    excused: bool,
}

impl Witness {
    pub(crate) fn starts(&self) {
        self.runs.lock().unwrap().running = true;
    }

    pub(crate) fn excuse(&self) {
        self.runs.lock().unwrap().excused = true;
    }

    /// The highest ticks that were seen.
    pub(crate) fn highest(&self) -> Ticks {
        [0, 1].map(|tick_tock: usize| self.highest[tick_tock].load(SeqCst))
    }

    /// The time of the last ID in Unix microseconds.
    pub(crate) fn last(&self) -> Option<i64> {
        let tick = self.last.load(SeqCst).checked_sub(1)?;
        Tick::new(tick).map(|tick| tick.unix_micros())
    }

    /// Ends a run, which had handed out IDs up to `highest`.
    #[track_caller]
    pub(crate) fn ends(&self, marks: &Path, highest: Ticks) {
        let mut runs = self.runs.lock().unwrap();
        if !std::mem::take(&mut runs.running) {
            return;
        }
        let mut limits = [u64::MAX; 2];
        if !runs.excused && highest != runs.floor {
            let record = std::fs::read(marks).ok().and_then(|file| <Record>::newest(&file));
            limits = record.expect("a mark on disk, since IDs were handed out").limits.map(after);
        }
        assert_below(highest, limits);
        runs.limits.push(limits);
        runs.floor = highest;
    }

    /// Begins to watch IDs of the present run.
    pub(crate) fn watch(&self) -> Watch<'_> {
        let runs = self.runs.lock().unwrap();
        Watch { witness: self, run: runs.limits.len(), floor: runs.floor, highest: [0; 2] }
    }
}

#[track_caller]
fn assert_below(highest: Ticks, limits: Ticks) {
    assert!(
        highest.iter().zip(limits).all(|(highest, limit)| *highest <= limit),
        "an ID was handed out above its mark on disk: ticks {highest:?}, marks {limits:?}"
    );
}

/// The IDs that one session hands out in one run.
pub(crate) struct Watch<'a> {
    witness: &'a Witness,
    run: usize,
    floor: Ticks,
    highest: Ticks,
}

impl Watch<'_> {
    #[track_caller]
    pub(crate) fn see(&mut self, id: Sno) {
        let (tick, side) = (after(id.tick()), id.tick_tock() as usize);
        assert!(
            tick > self.floor[side],
            "{id} is not above the IDs of before the start: tick {tick}, those of before {:?}",
            self.floor
        );
        // Not for each ID: the other sessions have theirs to say, too.
        if tick > self.highest[side] {
            self.highest[side] = tick;
            self.witness.highest[side].fetch_max(tick, SeqCst);
            self.witness.last.store(tick, SeqCst);
        }
    }
}

impl Drop for Watch<'_> {
    /// If the run has ended meanwhile, these IDs may have been on their way.
    fn drop(&mut self) {
        let limits = self.witness.runs.lock().unwrap().limits.get(self.run).copied();
        if let Some(limits) = limits
            && !std::thread::panicking()
        {
            assert_below(self.highest, limits);
        }
    }
}
