//! Clocks that step, forward and back: what is waited for, and how long. Under load and across restarts: `restarts.rs`.

use std::time::{Duration, Instant};

use sno_tests::Server;

use crate::{error, tally, text};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 2000)";

/// Waits for nothing: a wait that is not needed is an error.
const IMPATIENT: &str = "-c sno.max_clock_wait=0";

/// A server that has lived for a while: on a new one, the marks of both sides start at its first ID, so that
/// a step to before that time has to wait.
fn server(prefix: &str) -> Server {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", prefix).start();
    server.set_clock("-300000");
    server.run("SELECT sno_new(1)");
    server.set_clock("+0");
    server
}

fn step(server: &Server, offset: &str) {
    server.set_clock(offset);
    tally::fault("clock steps");
}

#[test]
fn back_an_hour_once_and_then_again() {
    let server = server("3/16");
    let mut client = server.connect();
    let mut ids = server.ids();
    ids.query(&mut client, DRAW).unwrap();
    step(&server, "-3600");
    let mut impatient = server.connect_with(IMPATIENT);
    ids.query(&mut impatient, DRAW).unwrap();
    step(&server, "-7200");
    let began = Instant::now();
    let error = error(&mut client, "SELECT sno_new(1)");
    assert!(began.elapsed() < Duration::from_secs(5), "at once, not after {:?}", began.elapsed());
    assert_eq!(error.code().code(), "55000");
    let detail = error.detail().unwrap();
    assert!(detail.contains(" s ahead of the clock; \"sno.max_clock_wait\" is 10.000 s."), "{detail}");
    let ahead: f64 = detail.split(", which is ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((3590.0..=3600.0).contains(&ahead), "{detail}");
    // And the view says why.
    let row = "SELECT (safe_time > clock_timestamp() + '3590 s' AND safe_time <= clock_timestamp() + '3600 s'
                       AND last_time > clock_timestamp() + '3590 s' AND drifts = 1)::text FROM sno_generators";
    assert_eq!(text(&mut client, row), "true");
    step(&server, "+0");
    ids.query(&mut client, DRAW).unwrap();
    tally::prove(ids);
}
