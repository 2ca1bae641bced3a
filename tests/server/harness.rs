//! The harness itself: the means by which all other tests prove something.

use std::time::{Duration, Instant};
use std::{fs, thread};

use sno_tests::{Ids, Mode, Server, Sql as _, in_parallel};

/// A server without the extension, for what needs none.
fn plain() -> sno_tests::Builder {
    Server::builder().extension(false)
}

fn clock(server: &Server) -> f64 {
    server.connect().one("SELECT extract(epoch FROM clock_timestamp())::float8")
}

#[test]
fn a_server_starts_stops_and_leaves_nothing() {
    let server = plain().conf("work_mem", "12345kB").start();
    assert_eq!(server.psql("SHOW work_mem").stdout, b"12345kB\n");
    assert!(!server.psql("SELECT 1/0").status.success());
    for mode in [Mode::Smart, Mode::Fast, Mode::Immediate, Mode::Crash] {
        server.restart(mode);
        let one: i32 = server.connect().one("SELECT 1");
        assert_eq!(one, 1);
    }
    let (pid, data) = (server.postmaster_pid(), server.data().to_owned());
    drop(server);
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    assert!(!data.exists());
}

#[test]
fn the_clock_can_be_moved() {
    let server = plain().faketime(true).start();
    let mut session = server.connect();
    let mut now = || -> f64 { session.one("SELECT extract(epoch FROM clock_timestamp())::float8") };
    let start = now();
    server.set_clock("-3600");
    assert!((now() - start + 3600.0).abs() < 30.0);
    server.set_clock("+86400.5");
    assert!((now() - start - 86400.5).abs() < 30.0);
    assert!((clock(&server) - start - 86400.5).abs() < 30.0, "new sessions, too");
    server.restart(Mode::Fast);
    assert!((clock(&server) - start - 86400.5).abs() < 30.0, "and the next start");
    // Sleeping goes by the monotonic clock, which stays honest.
    let began = Instant::now();
    server.run("SELECT pg_sleep(0.2)");
    assert!(began.elapsed() >= Duration::from_millis(200) && began.elapsed() < Duration::from_secs(20));
}

#[test]
fn collected_ids_are_proved_distinct() {
    let server = plain().start();
    // Ten raw bytes are all that matters of the type.
    let query = |from: i32| {
        format!(
            "SELECT decode(lpad(to_hex(n), 20, '0'), 'hex') FROM generate_series({from}, {from} + 9999) n"
        )
    };
    let mut all: Ids = in_parallel(8, |number| {
        let mut ids = Ids::new();
        ids.query(&mut server.connect(), &query(number as i32 * 10_000)).unwrap();
        assert!(ids.is_ascending());
        ids
    })
    .into_iter()
    .collect();
    assert_eq!(all.len(), 80_000);
    all.assert_distinct();
    all.query(&mut server.connect(), "SELECT '\\x00000000000000000007'::bytea").unwrap();
    let duplicates = all.duplicates();
    assert_eq!(duplicates.len(), 1);
    assert_eq!((duplicates[0].0.sequence(), duplicates[0].1), (7, 2));
}

#[test]
fn what_came_before_an_error_counts() {
    let server = plain().start();
    let mut ids = Ids::new();
    let query =
        "SELECT decode(lpad(to_hex(n / (n - 1000) + n), 20, '0'), 'hex') FROM generate_series(1, 2000) n";
    let error = ids.query(&mut server.connect(), query).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "22012");
    assert_eq!(ids.len(), 999);

    // The same when the backend is killed in the middle; on a busy machine it takes time to get that far.
    let query = "SELECT decode(lpad(to_hex(generate_series(1, 1000000000)), 20, '0'), 'hex')";
    let killed_after = |pause: u64| {
        let mut client = server.connect();
        let pid: i32 = client.one("SELECT pg_backend_pid()");
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut ids = Ids::new();
                ids.query(&mut client, query).unwrap_err();
                ids.len()
            });
            thread::sleep(Duration::from_millis(pause));
            server.crash_backend(pid);
            reading.join().unwrap()
        })
    };
    assert!([200, 1000, 5000].into_iter().any(|pause| killed_after(pause) > 0));
}
