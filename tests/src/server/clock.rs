//! The clock of a server, which a test can move and hold.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Server;

/// The clock of a server that has [`Builder::faketime`].
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// How far it is ahead of the machine's while it goes, in seconds.
    offset: f64,
    /// The time that it stands at, in Unix microseconds.
    held: Option<i64>,
}

impl Clock {
    /// How far the clock is ahead of the machine's at this moment, in seconds.
    fn offset(&self) -> f64 {
        self.held.map_or(self.offset, |held| (held - micros_now()) as f64 / 1e6)
    }
}

fn micros_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set").as_micros() as i64
}

impl Server {
    /// Moves the server's clock by so many seconds against the machine's: `"+1"`, `"-0.25"`, `"-3600"`. The
    /// change counts at once, for all of its processes. Needs [`Builder::faketime`].
    #[track_caller]
    pub fn set_clock(&self, offset: &str) {
        let mut clock = self.clock.lock().unwrap();
        *clock = Clock { offset: offset.parse().expect("seconds"), held: None };
        self.write_clock(&clock);
    }

    /// Moves the server's clock ahead by so many seconds from where it is, instead of a wait.
    #[track_caller]
    pub fn advance_clock(&self, seconds: f64) {
        let offset = self.clock.lock().unwrap().offset();
        self.set_clock(&format!("{:+.6}", offset + seconds));
    }

    #[track_caller]
    fn write_clock(&self, clock: &Clock) {
        assert!(self.options.faketime, "this server's clock is the machine's: say faketime(true)");
        let number = clock.held.map_or((clock.offset * 1e6) as i64 * 2, |held| held * 2 + 1);
        // In place, since the server's processes have it mapped, and in one step.
        let file = fs::File::options().write(true).open(self.clock_path());
        file.and_then(|file| file.write_all_at(&number.to_ne_bytes(), 0)).expect("the clock");
    }

    /// Has the clock stand at the server's last ID, so that the next one could equal it. It does nothing if the clock
    /// can't be moved.
    pub fn hold_clock(&self) {
        let mut clock = self.clock.lock().unwrap();
        if !self.options.faketime || clock.held.is_some() {
            return;
        }
        let held = self.witness.last().unwrap_or_else(|| micros_now() + (clock.offset * 1e6) as i64);
        clock.held = Some(held);
        self.write_clock(&clock);
    }

    /// Has the clock stand at so many microseconds since 1970, until the next start.
    pub fn stop_clock(&self, unix_micros: i64) {
        let mut clock = self.clock.lock().unwrap();
        clock.held = Some(unix_micros);
        self.write_clock(&clock);
    }

    /// Has the clock go on from where it [stands](Self::hold_clock), unless it was set since.
    pub(super) fn release_clock(&self) {
        let mut clock = self.clock.lock().unwrap();
        if clock.held.is_some() {
            *clock = Clock { offset: clock.offset(), held: None };
            self.write_clock(&clock);
        }
    }

    pub(super) fn clock_path(&self) -> PathBuf {
        self.home.path().join("clock")
    }
}
