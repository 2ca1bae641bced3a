//! What a restart keeps: no ID of before it comes again, whatever the clock did.

use std::fs::File;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use sno_tests::{Mode, Server, Sql as _, code, in_parallel, text};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";

/// A server whose clock can be moved, with one generator for all of its backends, so that every session goes
/// on where the one before it stopped.
fn server() -> Server {
    Server::builder().faketime(true).conf("sno.partition_prefix", "1/16").start()
}

#[test]
fn a_quick_restart_needs_no_wait() {
    for mode in [Mode::Fast, Mode::Immediate, Mode::Crash] {
        let server = server();
        let mut ids = server.ids();
        ids.query(&mut server.connect(), DRAW).unwrap();
        // The marks of a new server's first second are two seconds ahead; one restart uses up the other
        // side's, so they need that long between them.
        for _ in 0..3 {
            server.advance_clock(2.1);
            ids.query(&mut server.connect(), DRAW).unwrap();
            server.restart(mode);
            ids.query(&mut server.connect_with("-c sno.max_clock_wait=0"), DRAW).unwrap();
        }
        assert_eq!(ids.len(), 7 * 5000);
        ids.assert_distinct();
    }
}

#[test]
fn a_clock_outside_the_epoch_is_an_error() {
    let server = server();
    // Of a server that has not generated yet, and of one that has.
    for _ in 0..2 {
        for offset in ["-600000000", "+1700000000"] {
            server.set_clock(offset);
            assert_eq!(code(&mut server.connect(), "SELECT sno_new(1)"), "55000", "{offset}");
        }
        server.set_clock("+0");
        server.run("SELECT sno_new(1)");
    }
}

/// The postmaster creates a new segment of shared memory then.
#[test]
fn a_backend_that_crashes_on_a_server_that_preloads() {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "1/16").start();
    let mut ids = server.ids();
    for _ in 0..2 {
        let mut client = server.connect();
        ids.query(&mut client, DRAW).unwrap();
        server.crash_backend(client.one("SELECT pg_backend_pid()"));
        let mut client = server.connect();
        ids.query(&mut client, DRAW).unwrap();
        // The new segment has room for them as well: nothing else is there.
        let reserved = "SELECT count(*) FROM pg_shmem_allocations WHERE name = 'sno generators'";
        assert_eq!(text(&mut client, reserved), "1");
    }
    ids.assert_distinct();
}

/// All find the generators not ready and wait for the one that reads the marks; only that one sets them.
#[test]
fn many_that_are_the_first_after_a_start_wait_for_nothing() {
    let server = server();
    server.run(DRAW);
    for _ in 0..3 {
        server.advance_clock(2.1);
        server.run(DRAW);
        server.restart(Mode::Fast);
        let clients: Vec<_> =
            (0..16).map(|_| Mutex::new(server.connect_with("-c sno.max_clock_wait=0"))).collect();
        let lock = File::open(server.marks()).unwrap();
        lock.lock().unwrap();
        in_parallel(17, |number| match clients.get(number) {
            Some(client) => client.lock().unwrap().run("SELECT sno_new(1)"),
            None => {
                thread::sleep(Duration::from_millis(500));
                lock.unlock().unwrap();
            }
        });
    }
}
