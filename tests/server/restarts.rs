//! What a restart keeps: no ID of before it comes again, whatever the clock did.

use sno_tests::{Mode, Server, Sql as _, text};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";

/// A server whose clock can be moved, with one generator for all of its backends, so that every session goes
/// on where the one before it stopped.
fn server() -> Server {
    Server::builder().faketime(true).conf("sno.partition_prefix", "1/16").start()
}

/// It takes the other side, and that is no step of the clock.
#[test]
fn a_quick_restart_needs_no_wait() {
    let server = server();
    let mut ids = server.ids();
    ids.query(&mut server.connect(), DRAW).unwrap();
    for mode in [Mode::Fast, Mode::Immediate, Mode::Crash] {
        // The marks of a new server's first second are two seconds ahead; one restart uses up the other
        // side's, so they need that long between them.
        server.advance_clock(2.1);
        ids.query(&mut server.connect(), DRAW).unwrap();
        server.restart(mode);
        let mut client = server.connect_with("-c sno.max_clock_wait=0");
        ids.query(&mut client, DRAW).unwrap();
        assert_eq!(client.one::<i64>("SELECT drifts FROM sno_generators()"), 1, "{mode:?}");
    }
    assert!(!server.log().contains("system clock went back"), "{}", server.log());
    ids.assert_distinct();
}

/// The postmaster creates a new segment of shared memory then.
#[test]
fn a_backend_that_crashes_on_a_server_that_preloads() {
    let server = server();
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
