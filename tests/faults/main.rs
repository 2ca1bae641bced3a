//! The fault suite: everything that could make a server hand out an ID twice, done to real servers.
//!
//! One file for each kind of fault. Each test collects all IDs that were drawn and proves them distinct; at the end
//! the suite says how many IDs and faults there were, and how long they took.
//!
//! The short form is part of `make test`. `make test-faults` runs the long one (`SNO_FAULTS=long`): the same
//! tests, with more of everything.

mod load;
mod tally;

mod changes;
mod disk;
mod fast_clock;
mod feeds;
mod horizon;
mod input;
mod marks_file;
mod memory;
mod restarts;
mod standby;
mod uuidv7;
mod waits;

use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Server, code, error, text};

/// Whether this is the long form.
fn long() -> bool {
    std::env::var("SNO_FAULTS").is_ok_and(|form| form == "long")
}

/// One number for the short form, another for the long.
fn pick<T>(short: T, long_form: T) -> T {
    if long() { long_form } else { short }
}

/// How a query ended that a termination may end: the SQLSTATE, or that of a terminated session, whose last words
/// may be lost.
#[track_caller]
fn end(client: &mut Client, query: &str) -> String {
    match client.batch_execute(query) {
        Ok(()) => panic!("{query}: no error"),
        Err(error) => error.code().map_or("57P01", |code| code.code()).to_owned(),
    }
}

/// Runs some work, and kills the server if it takes longer than a minute: whoever waits for a backend that does not end
/// fails then, and does not wait for ever.
#[track_caller]
fn within_a_minute<T: Send>(server: &Server, work: impl FnOnce() -> T + Send) -> T {
    let began = Instant::now();
    thread::scope(|scope| {
        let thread = scope.spawn(work);
        while !thread.is_finished() {
            if began.elapsed() > Duration::from_secs(60) {
                server.kill_all();
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
