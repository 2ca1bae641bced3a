//! The horizon and the clock: margins, steps back, restarts.

use std::time::{Duration, Instant};

use sno_tests::{Mode, Server, Sql as _, code, error, next_tick, text};

use super::{NOW, TABLE, holders};

/// The margin is subtracted, in ticks of 4 ms, and the horizon never goes back.
#[test]
fn without_transactions_it_is_the_present_time_less_the_margin() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    // It starts at the marks that the server started at.
    assert!(
        client
            .one::<bool>("SELECT sno_time(sno_horizon('1 hour')) > clock_timestamp() - interval '1 minute'")
    );
    server.stop_clock(
        client.one("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 7200000000"),
    );
    for (call, millis) in [("'1 hour'", 3_600_000), ("'1 s'", 1000), ("", 100), ("'0'", 0)] {
        let lag = format!(
            "SELECT extract(epoch FROM clock_timestamp() - sno_time(h)) * 1000 BETWEEN {millis} AND {millis} + 4
             FROM sno_horizon({call}) h"
        );
        let lower = format!("SELECT h = sno_lower(sno_time(h)) FROM sno_horizon({call}) h");
        assert!(client.one::<bool>(&lag) && client.one::<bool>(&lower), "{call}");
    }
    assert!(client.one::<bool>("SELECT a <= b FROM sno_horizon('0') a, sno_horizon('1 day') b"));
}

/// A step back within the margin costs nothing. After a larger one, whoever wants an ID waits for the rest.
#[test]
fn the_clock_steps_back() {
    let server = Server::builder().faketime(true).start();
    server.set_clock("-3600");
    let (mut reader, mut writer) = (server.connect(), server.connect_with("-c sno.max_clock_wait=0"));
    writer.run(TABLE);
    writer.run("INSERT INTO items VALUES (DEFAULT, 1)");
    server.set_clock("+0");
    let id = "INSERT INTO items VALUES (DEFAULT, 2) RETURNING id::text";
    writer.run(id);
    let horizon = text(&mut reader, "SELECT sno_horizon()::text");
    server.set_clock("-30");
    let refused = error(&mut writer, "INSERT INTO items VALUES (DEFAULT, 3)");
    assert_eq!(refused.code().code(), "55000");
    // The view says for how long.
    let wait = "SELECT max(safe_time) BETWEEN clock_timestamp() + '15 s' AND clock_timestamp() + '30 s'
                FROM sno_generators()";
    assert!(reader.one::<bool>(wait));
    // It waits for the horizon, and does not pull it back.
    assert_eq!(text(&mut reader, "SELECT sno_horizon()::text"), horizon);
    server.set_clock("+0");
    let before = text(&mut writer, id);
    server.set_clock("-0.05");
    let within = text(&mut writer, id);
    assert!(horizon < within && within < before);
    server.set_clock("-3");
    writer.run("SET sno.max_clock_wait = '10s'");
    let began = Instant::now();
    let after = text(&mut writer, id);
    assert!(after > horizon && began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    // In the middle of a transaction, too.
    writer.run("SET sno.max_clock_wait = 0; BEGIN; INSERT INTO items VALUES (DEFAULT, 4)");
    server.set_clock("-6");
    // A tick that lasts.
    next_tick();
    assert_eq!(code(&mut writer, "INSERT INTO items VALUES (DEFAULT, 5)"), "55000");
}

#[test]
fn no_restart_lets_ids_in_below_it() {
    let server = Server::builder().faketime(true).disk(true).start();
    server.set_clock("-3600");
    server.run("SELECT sno_new(1)");
    server.set_clock("+0");
    let mut horizon = text(&mut server.connect(), NOW);
    // A restart over which the clock goes on needs no wait.
    server.advance_clock(0.1);
    server.run("SELECT sno_new(1)");
    server.restart(Mode::Crash);
    let mut client = server.connect_with("-c sno.max_clock_wait=0");
    assert!(text(&mut client, "SELECT sno_new(1)::text") > horizon);
    horizon = text(&mut client, NOW);
    server.stop(Mode::Crash);
    server.set_clock("-60");
    server.start();
    client = server.connect_with("-c sno.max_clock_wait=0");
    // Whoever looks before the generators have resumed.
    assert_eq!(holders(&mut client), [""; 0]);
    assert!(!client.one::<bool>("SELECT sno_holds_horizon('2222222222222222')"));
    assert_eq!(code(&mut client, "SELECT sno_new(1)"), "55000");
    assert!(text(&mut client, NOW) >= horizon);
    server.set_clock("+3");
    assert!(text(&mut client, "SELECT sno_new(1)::text") > horizon);
}
