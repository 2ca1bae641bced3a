//! The horizons are lowered between two steps of a call, after the clock was fast: what it stores counts as told before that, so that the feed goes
//! back, and the rows that come after the correction are not passed.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code};

use super::{INSERT, READ, SETUP, meanwhile, text};
use crate::at_point;

/// By how much the clock is fast, in seconds.
const FAST: f64 = 60.0;

#[test]
fn while_a_call_is_under_way() {
    let server = Server::builder().faketime(true).start();
    server.run("CREATE DATABASE other");
    let (mut client, mut other) = (server.connect(), server.connect_to("other"));
    other.run("CREATE EXTENSION sno");
    client.run(SETUP);
    for (call, point) in [
        ("SELECT sno_create_feed('feed', 'items', now(), margin => '0')", "feed begins"),
        ("SELECT sno_seek_feed('feed', now())", "feed is sought"),
        (READ, "feed moves"),
    ] {
        client.run(&format!("TRUNCATE items; {INSERT} (0)"));
        server.advance_clock(0.01);
        if point == "feed begins" {
            client.run("SELECT sno_drop_feed('feed')");
        } else {
            client.run(READ);
        }
        server.advance_clock(FAST);
        client.run(&format!("{INSERT} (1)"));
        server.advance_clock(0.01);
        at_point(
            &server,
            point,
            || server.run(call),
            || {
                server.advance_clock(-FAST);
                // From another database: the call there moves no feed of this one.
                other.run("SELECT sno_lower_horizon()");
            },
        );
        let id = text(&mut client, &format!("{INSERT} (2) RETURNING id"));
        server.advance_clock(0.01);
        assert!(!client.one::<bool>(&format!("CALL sno_wait_read('feed', '{id}', '0')")), "{call}");
        // It goes back at its next call.
        let rows = [text(&mut client, READ), text(&mut client, READ)];
        assert_eq!(rows, ["", "2"], "{call}");
        // Beyond what was generated meanwhile.
        server.advance_clock(2.0 * FAST);
    }
}

/// What a consumer has stored stays, which commits meanwhile.
#[test]
fn while_a_consumer_commits() {
    let server = Server::builder().faketime(true).start();
    let (mut client, mut consumer) = (server.connect(), server.connect());
    client.run(&format!("{SETUP} {INSERT} (1)"));
    server.advance_clock(0.01);
    consumer.run(&format!("BEGIN; {READ}"));
    server.advance_clock(FAST);
    client.run("SELECT sno_horizon('0')");
    server.advance_clock(-FAST);
    let lowered = meanwhile(&server, "SELECT sno_lower_horizon()", || consumer.run("COMMIT"));
    assert!(lowered.is_ok(), "{lowered:?}");
    client.run(&format!("{INSERT} (2)"));
    server.advance_clock(0.01);
    assert_eq!(text(&mut client, READ), "2");
}

/// A consumer that has peeked at rows, with autocommit, and says that they are done when the clock has passed them again: others have come
/// before them meanwhile.
#[test]
fn while_a_consumer_works() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    let peek = "SELECT coalesce(max(id)::text, '') FROM sno_peek_feed('feed', NULL::items)";
    let advance = |id: &str| format!("SELECT sno_advance_feed('feed', '{id}')");
    client.run(&format!("{SETUP} {INSERT} (0)"));
    server.advance_clock(0.01);
    assert_eq!(text(&mut client, READ), "0");
    server.advance_clock(FAST);
    client.run(&format!("{INSERT} (1)"));
    server.advance_clock(0.01);
    let of_the_future = text(&mut client, peek);
    server.advance_clock(-FAST);
    client.run(&format!("SELECT sno_lower_horizon(); {INSERT} (2)"));
    server.advance_clock(2.0 * FAST);
    // Behind a pooler, another session advances, which knows nothing of the peek.
    let mut pooled = server.connect();
    assert_eq!(code(&mut pooled, &advance(&of_the_future)), "55000");
    assert_eq!(text(&mut client, &advance(&of_the_future)), "f");
    // They come, and it again.
    assert_eq!(text(&mut client, &format!("BEGIN; {READ}; ROLLBACK")), "2 1");
    let last = text(&mut client, peek);
    assert_eq!((&last, text(&mut client, &advance(&last))), (&of_the_future, "t".into()));
    // An ID that was no horizon's when they were lowered.
    let next = text(&mut client, &format!("{INSERT} (3) RETURNING id"));
    server.advance_clock(0.01);
    assert_eq!((text(&mut pooled, &advance(&next)), text(&mut client, READ)), ("t".into(), String::new()));
}

/// A row has failed that is of the future after the correction: no reason to read beyond the horizon.
#[test]
fn after_a_failure() {
    let server = Server::builder().faketime(true).start();
    let (mut client, mut writer) = (server.connect(), server.connect());
    client.run(SETUP);
    server.advance_clock(FAST);
    client.run(&format!("{INSERT} (1)"));
    server.advance_clock(0.01);
    client.run("SELECT sno_fail_feed('feed', id) FROM items");
    server.advance_clock(-FAST);
    client.run("SELECT sno_lower_horizon()");
    writer.run(&format!("BEGIN; {INSERT} (2)"));
    client.run(&format!("{INSERT} (3)"));
    server.advance_clock(0.01);
    let peek = "SELECT coalesce(string_agg(n::text, ' '), '') FROM sno_peek_feed('feed', NULL::items)";
    assert_eq!(text(&mut client, peek), "");
    writer.run("COMMIT");
    assert_eq!(text(&mut client, peek), "2");
}

/// A feed that has read the rows 0 and 1, which a fast clock has generated, before the horizons were lowered in another database, and row 2.
fn read_by_a_fast_clock() -> (Server, Client) {
    let server = Server::builder().faketime(true).start();
    server.run("CREATE DATABASE other");
    let (mut client, mut other) = (server.connect(), server.connect_to("other"));
    other.run("CREATE EXTENSION sno");
    client.run(&format!("{SETUP} {INSERT} (0)"));
    server.advance_clock(FAST);
    client.run(&format!("{INSERT} (1)"));
    server.advance_clock(0.01);
    assert_eq!(text(&mut client, READ), "0 1");
    server.advance_clock(-FAST);
    other.run("SELECT sno_lower_horizon()");
    client.run(&format!("{INSERT} (2)"));
    (server, client)
}

/// A call that says that its feed goes back, and does nothing else.
#[track_caller]
fn goes_back(server: &Server, call: &str) {
    let output = server.psql(call);
    let [answer, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(told.starts_with("WARNING:  feed \"feed\" goes back from \""), "{told}");
    assert!(told.contains("Programs that have stored a horizon go back, too."), "{told}");
    assert!(["f", ""].contains(&answer.trim()), "{answer}");
}

/// A session that has not peeked advances a feed that has to go back: it goes back.
#[test]
fn before_an_advance() {
    let (server, mut client) = read_by_a_fast_clock();
    server.advance_clock(2.0 * FAST);
    client.run(&format!("{INSERT} (3)"));
    server.advance_clock(0.01);
    goes_back(&server, "SELECT sno_advance_feed('feed', max(id)) FROM items");
    assert_eq!(text(&mut client, READ), "2 1 3");
}

/// A consumer that only peeks: its first peek sets the feed back, as a call of `sno_feed()` does.
#[test]
fn before_a_peek() {
    let (server, mut client) = read_by_a_fast_clock();
    server.advance_clock(0.01);
    let peek =
        "SELECT coalesce(string_agg(n::text, ' ' ORDER BY id), '') FROM sno_peek_feed('feed', NULL::items)";
    goes_back(&server, peek);
    assert_eq!(text(&mut client, peek), "2");
}

/// Who lowers the horizons is told what goes back: feeds, and what feeds do not do for programs that store horizons.
#[test]
fn by_a_call_of_this_database() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    client.run(&format!("{SETUP} {INSERT} (0)"));
    server.advance_clock(FAST);
    client.run(&format!("{INSERT} (1)"));
    server.advance_clock(0.01);
    assert_eq!(text(&mut client, READ), "0 1");
    server.advance_clock(-FAST);
    let told = String::from_utf8(server.psql("SELECT FROM sno_lower_horizon()").stderr).unwrap();
    assert!(told.starts_with("WARNING:  feed \"feed\" of role \"postgres\" goes back from \""), "{told}");
    assert!(told.contains("Programs that have stored a horizon go back, too."), "{told}");
}
