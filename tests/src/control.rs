//! What a test may expect of how long something takes. A number alone says nothing on a machine that does other work, so each bound
//! has a control in the same run: a thread that only sleeps.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sno_core::Tick;

/// How long the thread sleeps each time.
const NAP: Duration = Duration::from_millis(10);

/// What it remembers: the two minutes that the longest of the bounded waits can take.
const NAPS: usize = 12_000;

/// How many turns of the machine's processors something that is bounded may wait for: its server, its client, the processes that
/// these wake up.
const TURNS: u32 = 20;

/// When each of the last naps ended, and how late.
static LATE: OnceLock<Mutex<VecDeque<(Instant, Duration)>>> = OnceLock::new();

/// Starts the control. Each server that a test starts does.
pub(crate) fn start() {
    LATE.get_or_init(|| {
        thread::spawn(|| {
            loop {
                let began = Instant::now();
                thread::sleep(NAP);
                let late = began.elapsed().saturating_sub(NAP);
                let mut naps = LATE.wait().lock().unwrap();
                naps.push_back((Instant::now(), late));
                if naps.len() > NAPS {
                    naps.pop_front();
                }
            }
        });
        Mutex::default()
    });
}

/// Fails if something that has just ended took longer than `most`, and longer than the machine's other work explains: naps of 10 ms
/// that ended late meanwhile.
#[track_caller]
pub fn assert_soon(took: Duration, most: Duration) {
    if took < most {
        return;
    }
    let since = Instant::now().checked_sub(took + NAP);
    let naps = LATE.wait().lock().unwrap();
    let late = naps.iter().filter(|nap| since.is_none_or(|since| nap.0 > since)).map(|nap| nap.1).max();
    let late = late.unwrap_or_default();
    assert!(
        took < most + TURNS * late,
        "{took:?}, not below {most:?}; naps of {NAP:?} were up to {late:?} late"
    );
}

/// Waits until the machine's clock has gone on by a tick, so that what a server generates after this is later than all that it has generated
/// before. Nothing else says how long that takes: the clock may stand still for longer than a tick.
pub fn next_tick() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set");
    let next = now() + Duration::from_micros(Tick::MICROS);
    while now() < next {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The processor time that processes have used, in ticks of which there are 100 in a second.
pub fn processor_ticks(pids: impl IntoIterator<Item = i32>) -> u64 {
    let used = |pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split(' ')
            .skip(12)
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        fields.into_iter().sum::<u64>()
    };
    pids.into_iter().map(used).sum()
}
