//! A server under load: connections that draw IDs without a pause, and come back whenever they are thrown out.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sno_tests::postgres::{self, Client, NoTls};
use sno_tests::{Ids, Mode, Random, Server, Stop, wait_until};

use crate::tally;

/// What the body of a [`run`] sees of its load.
pub(crate) struct Load<'a> {
    pub(crate) server: &'a Server,
    drawn: AtomicU64,
    stop: AtomicBool,
    /// The PIDs of the backends that draw, by connection.
    pids: Vec<AtomicU64>,
    /// How often each SQLSTATE came.
    errors: Mutex<BTreeMap<String, u64>>,
}

impl Load<'_> {
    /// How many IDs were drawn so far.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn.load(Relaxed)
    }

    /// Waits until that many more IDs are drawn.
    #[track_caller]
    pub(crate) fn wait(&self, more: u64) {
        let goal = self.drawn() + more;
        wait_until("IDs are drawn", || self.drawn() >= goal);
    }

    /// The PIDs of the backends of all connections, beginning with one of them. Some may be of backends that are gone.
    pub(crate) fn pids(&self, first: usize) -> Vec<i32> {
        (0..self.pids.len()).map(|n| self.pids[(first + n) % self.pids.len()].load(Relaxed) as i32).collect()
    }

    fn draw(&self, connection: usize, query: &str, options: &str) -> Ids {
        let mut ids = self.server.ids();
        while !self.stop.load(Relaxed) {
            let Ok(mut client) = self.server.config().options(options).connect(NoTls) else {
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let Ok(row) = client.query_one("SELECT pg_backend_pid()", &[]) else { continue };
            self.pids[connection].store(row.get::<_, i32>(0) as u64, Relaxed);
            while !self.stop.load(Relaxed) {
                let before = ids.len();
                let result = ids.query(&mut client, query);
                self.drawn.fetch_add((ids.len() - before) as u64, Relaxed);
                if let Err(error) = result {
                    let code = error.code().map_or("connection lost", |code| code.code()).to_owned();
                    *self.errors.lock().unwrap().entry(code).or_default() += 1;
                    if client.is_closed() || client.batch_execute("SELECT 1").is_err() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(2));
                }
            }
        }
        ids
    }
}

/// The usual load: a few thousand IDs at a time, so that faults meet many beginnings and ends.
pub(crate) const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 20000)";

/// Draws IDs on so many connections for as long as `body` runs; all of them, and the errors that came.
#[track_caller]
pub(crate) fn run(
    server: &Server,
    connections: usize,
    query: &str,
    options: &str,
    body: impl FnOnce(&Load<'_>),
) -> (Ids, BTreeMap<String, u64>) {
    let load = Load {
        server,
        drawn: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        pids: (0..connections).map(|_| AtomicU64::new(0)).collect(),
        errors: Mutex::default(),
    };
    let ids = thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|connection| {
                let load = &load;
                scope.spawn(move || load.draw(connection, query, options))
            })
            .collect();
        let stop = Stop(&load.stop);
        load.wait(1);
        body(&load);
        drop(stop);
        threads.into_iter().map(|thread| thread.join().expect("a connection's thread")).collect()
    });
    (ids, load.errors.into_inner().unwrap())
}

/// Does something on one connection after another, until it is time to stop. Each error is told to `failed`, after a ROLLBACK.
pub(crate) fn repeat(
    server: &Server,
    stop: &AtomicBool,
    mut work: impl FnMut(&mut Client) -> Result<(), postgres::Error>,
    failed: impl Fn(&postgres::Error),
) {
    while !stop.load(Relaxed) {
        let Ok(mut client) = server.config().connect(NoTls) else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        while !stop.load(Relaxed) && !client.is_closed() {
            if let Err(error) = work(&mut client) {
                let _ = client.batch_execute("ROLLBACK");
                failed(&error);
            }
        }
    }
}

/// Terminates some backends or kills one, or restarts the server in one of the ways there are, by a clock that may have stepped meanwhile.
pub(crate) fn disturb(server: &Server, random: &mut Random, clock: Option<&str>) {
    let pids =
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                ORDER BY random() LIMIT 5";
    match random.below(6) {
        kind @ 0..3 => {
            let Ok(mut client) = server.config().connect(NoTls) else { return };
            if kind == 0 {
                let _ = client.batch_execute(&format!("SELECT pg_terminate_backend(pid) FROM ({pids}) p"));
                tally::fault("terminations of five backends");
            } else if let Ok(pids) = client.query(pids, &[]) {
                drop(client);
                server.crash(1, pids.iter().map(|row| row.get(0)));
                tally::fault("kill -9 of a backend");
            }
        }
        mode => {
            server.stop([Mode::Fast, Mode::Immediate, Mode::Crash][mode - 3]);
            clock.into_iter().for_each(|offset| server.set_clock(offset));
            server.start();
            tally::fault("restarts");
        }
    }
}

/// Checks that an error of a statement says that the server went down, or has one of these SQLSTATEs.
#[track_caller]
pub(crate) fn down_or(error: &postgres::Error, allowed: &[&str]) {
    if let Some(code) = error.code() {
        assert!(DOWN.contains(&code.code()) || allowed.contains(&code.code()), "{error:?}");
    }
}

/// Checks that no other errors came than these SQLSTATEs.
#[track_caller]
pub(crate) fn only(errors: &BTreeMap<String, u64>, allowed: &[&str]) {
    assert!(errors.keys().all(|code| allowed.contains(&code.as_str())), "{errors:?}");
}

/// What sessions see of a server that goes down or recovers.
pub(crate) const DOWN: [&str; 5] = ["connection lost", "57P01", "57P02", "57P03", "08006"];
