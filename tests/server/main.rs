//! What should work, on real servers: a file for each subject. What should not break a server is in `../faults`.
//!
//! Four tests run at once, since most of what a test does is to wait for a server. A name picks single files or tests:
//!
//! ```text
//! dev/staged cargo tests --test server upgrades::
//! ```

mod changes;
mod citus;
mod clock_steps;
mod commands;
mod compat;
mod consumers;
mod copies;
mod created_at;
mod decoding;
mod docs;
mod drivers;
mod dumps;
mod encodings;
mod estimates;
mod feeds;
mod horizon;
mod imports;
mod indexes;
mod installing;
mod leaving;
mod masks;
mod monitoring;
mod moving;
mod neighbours;
mod owners;
mod partitions;
mod pg_upgrade;
mod pgbouncer;
mod postgres_fdw;
mod preload;
mod regress;
mod replication;
mod restarts;
mod robustness;
mod row_function;
mod runbook;
mod schemas;
mod settings;
mod shapes;
mod timing;
mod tracked;
mod uniqueness;
mod upgrades;
mod uuidv7;
mod waits;

use std::thread;

use sno_tests::{Server, Sql as _, wait_until};

/// How many parallel workers a session has had, by the log of a server whose `log_min_messages` is `debug1`.
fn workers_started(server: &Server, leader: i32) -> usize {
    let line = format!("starting background worker process \"parallel worker for PID {leader}\"");
    server.log().matches(&line).count()
}

/// Does some work up to where it waits for a lock, then something else; what the work returned.
#[track_caller]
fn meanwhile<T: Send>(server: &Server, work: impl FnOnce() -> T + Send, other: impl FnOnce()) -> T {
    let mut observer = server.connect();
    thread::scope(|scope| {
        let waiting = scope.spawn(work);
        wait_until("a session that waits", || {
            assert!(!waiting.is_finished(), "it did not wait");
            observer.one("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        });
        other();
        waiting.join().unwrap()
    })
}
