//! Clocks that go back, and restarts. There is one side, so what was is waited for.

use std::{
    thread,
    time::{Duration, Instant},
};

use sno_tests::{Mode, Server, Sql as _, code, error, postgres::Client};

use super::{SCHEMES, STATEFUL, assert_distinct, builder, draw, draw_while, start};

fn server() -> Server {
    // One generator each, so that every session goes on where the one before it stopped.
    start(builder().faketime(true).conf("sno_compat.uid60_workers", "3-3"))
}

/// So many IDs of each scheme that keeps a state, added to what there is.
fn draw_each(client: &mut Client, all: &mut [Vec<i64>; STATEFUL], count: usize) {
    for (ids, (_, expression)) in all.iter_mut().zip(SCHEMES) {
        ids.extend(draw(client, expression, count).unwrap());
    }
}

fn assert_each_distinct(all: [Vec<i64>; STATEFUL], count: usize) {
    for (ids, (scheme, _)) in all.into_iter().zip(SCHEMES) {
        assert_distinct(scheme, ids, count);
    }
}

#[test]
fn a_clock_that_goes_back_is_waited_for() {
    let server = server();
    let mut all = Default::default();
    let mut client = server.connect();
    draw_each(&mut client, &mut all, 500);
    let began = Instant::now();
    server.set_clock("-3");
    draw_each(&mut client, &mut all, 500);
    assert!(began.elapsed().as_secs_f64() > 1.5, "{:?}", began.elapsed());
    // Further than the setting allows: at once, and as often as it is tried.
    server.set_clock("-3600");
    for (scheme, expression) in &SCHEMES[..STATEFUL] {
        let error = error(&mut client, &format!("SELECT {expression}"));
        assert_eq!(error.code().code(), "55000", "{scheme}");
        assert_eq!(error.message(), "system clock went back further than \"sno.max_clock_wait\" allows");
        assert!(error.detail().unwrap().contains("\"sno.max_clock_wait\" is 10.000 s."));
        assert!(error.hint().unwrap().contains("sno_compat_generators"));
    }
    client.run("SELECT gid_new('log')");
    // The setting is sno's, and anyone's.
    client.run("SET sno.max_clock_wait = 0");
    server.set_clock("-8");
    assert_eq!(code(&mut client, "SELECT snowflake_si_new()"), "55000");
    client.run("RESET sno.max_clock_wait");
    server.set_clock("+0");
    draw_each(&mut client, &mut all, 500);
    let ahead: i64 =
        client.one("SELECT count(*) FROM sno_compat_generators WHERE safe_time <= clock_timestamp()");
    assert!(ahead >= 3, "{ahead} rows");
    assert_each_distinct(all, 1500);
}

#[test]
fn a_restart_repeats_nothing() {
    for mode in [Mode::Fast, Mode::Immediate, Mode::Crash] {
        let server = server();
        let mut all = Default::default();
        draw_each(&mut server.connect(), &mut all, 500);
        // At once, and with a clock that went back meanwhile.
        for offset in ["+0", "-2"] {
            server.stop(mode);
            server.set_clock(offset);
            server.start();
            draw_each(&mut server.connect(), &mut all, 500);
        }
        assert_each_distinct(all, 1500);
    }
}

#[test]
fn a_restart_with_a_clock_far_back_is_an_error() {
    let server = server();
    let mut all = Default::default();
    draw_each(&mut server.connect(), &mut all, 10);
    server.stop(Mode::Fast);
    server.set_clock("-3600");
    server.start();
    for (scheme, expression) in &SCHEMES[..STATEFUL] {
        assert_eq!(code(&mut server.connect(), &format!("SELECT {expression}")), "55000", "{scheme}");
    }
    server.set_clock("+0");
    draw_each(&mut server.connect(), &mut all, 10);
    assert_each_distinct(all, 20);
}

#[test]
fn a_clock_outside_the_epoch_is_an_error() {
    let server = server();
    let mut client = server.connect();
    // Before 2018 and 2020; after 2054, and after all of them.
    for (offset, failing) in
        [("-300000000", &["snowflake_si", "uid60"][..]), ("+1000000000", &["snowflake_si"])]
    {
        server.set_clock(offset);
        for scheme in failing {
            assert_eq!(code(&mut client, &format!("SELECT {scheme}_new()")), "55000", "{scheme} {offset}");
        }
    }
    server.set_clock("+4200000000");
    for (scheme, expression) in &SCHEMES[..STATEFUL] {
        let error = error(&mut client, &format!("SELECT {expression}"));
        assert_eq!(error.code().code(), "55000", "{scheme}");
        assert!(error.message().starts_with("system clock is after"), "{}", error.message());
    }
}

#[test]
fn a_lease_of_a_worker_number_ends_after_an_hour() {
    let server = start(builder().faketime(true));
    let mut client = server.connect();
    let worker = |client: &mut Client| -> i32 { client.one("SELECT uid60_worker(uid60_new())") };
    let first = worker(&mut client);
    server.set_clock("+3500");
    assert_eq!(worker(&mut client), first);
    server.set_clock("+3700");
    assert_eq!(worker(&mut client), first + 1);
    assert_eq!(worker(&mut server.connect()), first + 2);
}

#[test]
fn a_standby_does_not_generate_and_its_promotion_repeats_nothing() {
    let primary = server();
    let standby = primary.standby();
    let mut client = primary.connect();
    client.run("CREATE TABLE t (s bigint, u bigint, q bigint)");
    let [s, u, q] = [0, 1, 2].map(|scheme| SCHEMES[scheme].1);
    let fill = format!("INSERT INTO t SELECT {s}, {u}, {q} FROM generate_series(1, 1000)");
    client.run(&fill);
    primary.wait_replayed(&standby);
    for (scheme, _) in &SCHEMES[..STATEFUL] {
        let error = error(&mut standby.connect(), &format!("SELECT {scheme}_new()"));
        assert_eq!(error.code().code(), "25006", "{scheme}");
        assert_eq!(error.message(), format!("cannot execute {scheme}_new() during recovery"));
    }
    primary.stop(Mode::Immediate);
    standby.configure("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z");
    standby.configure("sno_compat.snowflake_si_machine", "12");
    standby.configure("sno_compat.uid60_workers", "3-3");
    // The primary's ticks are still to come; the standby has no marks.
    standby.set_clock("-30");
    standby.promote();
    let refused = || {
        let mut client = standby.connect();
        client.run("SET sno.max_clock_wait = 0");
        for (scheme, _) in &SCHEMES[..STATEFUL] {
            assert_eq!(code(&mut client, &format!("SELECT {scheme}_new()")), "55000", "{scheme}");
        }
    };
    refused();
    // What it knows of its primary is in the marks by now.
    standby.restart(Mode::Immediate);
    refused();
    standby.set_clock("+0");
    let mut client = standby.connect();
    client.run(&fill);
    let row = client
        .query_one("SELECT count(DISTINCT s), count(DISTINCT u), count(DISTINCT q) FROM t", &[])
        .unwrap();
    assert_eq!([0, 1, 2].map(|column| row.get::<_, i64>(column)), [2000; 3]);
}

#[test]
fn drawing_goes_on_while_the_clock_jumps() {
    let server = server();
    let drawn = draw_while(&server, |wait| {
        wait();
        for offset in ["-1", "+0", "-0.5", "+0.5", "+0", "-2", "+0"] {
            server.set_clock(offset);
            wait();
        }
        // Set right while all of them wait.
        server.set_clock("-5");
        thread::sleep(Duration::from_millis(400));
        server.set_clock("+0");
        wait();
    });
    for (ids, (scheme, _)) in drawn.into_iter().zip(SCHEMES) {
        let count = ids.len();
        assert_distinct(scheme, ids, count);
    }
}
