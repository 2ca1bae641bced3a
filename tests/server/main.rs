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
mod docs;
mod drivers;
mod dumps;
mod encodings;
mod estimates;
mod feeds;
mod hints;
mod horizon;
mod imports;
mod indexes;
mod installing;
mod leaving;
mod masks;
mod monitoring;
mod moving;
mod neighbours;
mod old_keys;
mod owners;
mod partitions;
mod pg_upgrade;
mod planted;
mod postgres_fdw;
mod preload;
mod recipes;
mod regress;
mod replication;
mod restarts;
mod rights;
mod robustness;
mod runbook;
mod schemas;
mod seams;
mod settings;
mod timing;
mod tracked;
mod uniqueness;
mod upgrades;
mod uuidv7;
mod waits;

use std::path::Path;
use std::{fs, thread};

use sno_tests::{Server, Sql as _, wait_until};

/// The folder of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The files below a folder of the project, with their paths from there and their texts.
fn files(folder: &str, is_wanted: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(root().join(folder)) else { return found };
    for entry in entries {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = Path::new(folder).join(&name).to_str().unwrap().to_owned();
        if root().join(&path).is_dir() {
            if !["target", ".git", "node_modules"].contains(&name.as_str()) {
                found.extend(files(&path, is_wanted));
            }
        } else if is_wanted(&path)
            && let Ok(text) = fs::read_to_string(root().join(&path))
        {
            found.push((path, text));
        }
    }
    found.sort();
    found
}

/// What the extensions are made of, by the end of the files' names.
fn sources(end: &str) -> Vec<(String, String)> {
    let folders = ["sql", "src", "shared/src", "compat"].into_iter();
    folders.flat_map(|folder| files(folder, &|path| path.ends_with(end))).collect()
}

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

/// Does some work up to a point of the library (`pg::wait::point`), then something else, which does not come there; what the work returned.
#[track_caller]
fn at_point<T: Send>(
    server: &Server,
    point: &str,
    work: impl FnOnce() -> T + Send,
    other: impl FnOnce(),
) -> T {
    let mut holder = server.connect();
    holder.run(&format!("SELECT pg_advisory_lock(hashtextextended('{point}', 0))"));
    meanwhile(server, work, || {
        other();
        drop(holder);
    })
}
