//! A clock that steps back leaves one line in the server's log, for operators; clients hear nothing of it.

use std::sync::mpsc;
use std::time::Instant;

use sno_tests::{Mode, Server, Sql as _, postgres::NoTls};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 1000)";

/// By how many seconds the clock went back, of each line that says so.
fn steps(server: &Server) -> Vec<f64> {
    let log = server.log();
    let lines = log.lines().filter_map(|line| line.split_once("LOG:  system clock went back by "));
    lines.map(|(_, seconds)| seconds.strip_suffix(" s").unwrap().parse().unwrap()).collect()
}

#[test]
fn a_step_is_one_line_for_all_generators() {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "5").start();
    // Marks that are well in the past: a new server's begin with its first ID.
    server.set_clock("-90000");
    let mut ids = server.ids();
    ids.query(&mut server.connect(), DRAW).unwrap();
    server.set_clock("+0");
    let (sender, heard) = mpsc::channel();
    let connect = |_| {
        let (mut config, sender) = (server.config(), sender.clone());
        config.options("-c client_min_messages=log");
        config.notice_callback(move |notice| sender.send(notice.message().to_owned()).unwrap());
        config.connect(NoTls).unwrap()
    };
    let mut clients: Vec<_> = (0..30).map(connect).collect();
    let mut draw = || {
        for client in &mut clients {
            ids.query(client, DRAW).unwrap();
        }
    };
    let began = Instant::now();
    draw();
    assert_eq!(steps(&server), []);
    server.set_clock("-7.5");
    draw();
    // The step that is logged is from the last ID before it to the first one after, and meanwhile the clock has gone on.
    let passed = began.elapsed().as_secs_f64();
    draw();
    let generators = "SELECT count(*) FROM sno_generators() WHERE drifts > 0";
    let drifted: i64 = server.connect().one(generators);
    assert!(drifted >= 25, "{drifted} generators met the step");
    let [seconds] = steps(&server)[..] else { panic!("{}", server.log()) };
    assert!((7.4 - passed..7.6).contains(&seconds), "{seconds} after {passed}");
    assert!(
        server
            .log()
            .contains("DETAIL:  The generators of sno switched to the other tick-tock side. No ID repeats.")
    );
    // Another, once it needs no wait.
    server.set_clock("+20");
    let began = Instant::now();
    draw();
    server.set_clock("+12");
    draw();
    let passed = began.elapsed().as_secs_f64();
    let [_, seconds] = steps(&server)[..] else { panic!("{}", server.log()) };
    assert!((7.9 - passed..8.1).contains(&seconds), "{seconds} after {passed}");
    ids.assert_distinct();
    // No client hears of it.
    clients[0].run("DO $$ BEGIN RAISE LOG 'heard'; END $$");
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["heard"]);
}

#[test]
fn a_step_while_the_server_was_down_is_logged() {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "3/16").start();
    server.set_clock("-90000");
    server.run(DRAW);
    server.set_clock("+0");
    server.run(DRAW);
    server.stop(Mode::Fast);
    server.set_clock("-60");
    server.start();
    server.run("SELECT sno_new()");
    let log = server.log();
    let (_, line) = log.split_once("LOG:  system clock went back by ").unwrap_or_else(|| panic!("{log}"));
    let (seconds, rest) = line.split_once(" s or more while the server was down").unwrap();
    let seconds: f64 = seconds.parse().unwrap();
    assert!((40.0..60.1).contains(&seconds), "{seconds}");
    assert!(!rest.contains("system clock went back"), "{log}");
}
