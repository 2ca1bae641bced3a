//! Calls of every kind, how they end early, and what is refused.

use std::thread;
use std::time::Instant;

use sno_tests::{Server, Sql as _, assert_soon, code, error, major_version, skip, text, wait_until};

use super::{INSERT, SETUP, SOON, WAIT, wait, waiting};

/// By each protocol, and in PL/pgSQL.
#[test]
fn every_kind_of_call() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(&format!("{INSERT}; CREATE TABLE copy (LIKE items)"));
    client.run("CALL sno_wait_feed('feed')");
    client.run("CALL sno_wait_feed('feed', '5 s', NULL)");
    assert!(client.one::<bool>("CALL sno_wait_feed(feed => 'feed', timeout => '5 s')"));
    let prepared = client.prepare("CALL sno_wait_feed($1, '5 s')").unwrap();
    for _ in 0..7 {
        assert!(client.query_one(&prepared, &[&"feed"]).unwrap().get::<_, bool>("ready"));
    }
    client.run(
        "DO $$ DECLARE ready boolean; BEGIN
             CALL sno_wait_feed('feed', '5 s', ready); ASSERT ready;
             INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items);
             COMMIT;
             CALL sno_wait_feed('feed', '0', ready); ASSERT NOT ready;
         END $$",
    );
    // Of another feed in turn, and of a table that is moved meanwhile: the plan of the last look is kept.
    client.run("SELECT sno_create_feed('other', 'items', margin => '0.1 s')");
    for (feed, expected) in [("other", true), ("feed", false), ("other", true), ("feed", false)] {
        assert_eq!(client.one::<bool>(&format!("CALL sno_wait_feed('{feed}', '0')")), expected, "{feed}");
    }
    client.run("CREATE SCHEMA elsewhere; ALTER TABLE items SET SCHEMA elsewhere; CREATE TABLE items (LIKE elsewhere.items)");
    client.run("ALTER TABLE elsewhere.items RENAME TO things; ALTER TABLE elsewhere.things RENAME id TO key");
    assert_eq!(code(&mut client, "CALL sno_wait_feed('other', '0')"), "42703");
    client.run("ALTER TABLE elsewhere.things RENAME key TO id");
    assert!(client.one::<bool>("CALL sno_wait_feed('other', '0')"));
}

/// A session goes on when the extension was dropped and created: the type of its IDs is another one, the query is the same.
#[test]
fn another_type_of_the_same_name() {
    let server = Server::builder().start();
    let mut client = server.connect();
    for _ in 0..2 {
        client.run(SETUP);
        assert!(!wait(&mut client, "CALL sno_wait_feed('feed', '0 s')").0);
        client.run("DROP EXTENSION sno CASCADE; DROP TABLE items; CREATE EXTENSION sno");
    }
}

/// A feed or its table that is dropped while it is waited for.
#[test]
fn what_is_waited_for_goes_away() {
    let server = Server::builder().start();
    server.run(SETUP);
    server.run("SELECT sno_create_feed('other', 'items')");
    let (wait_feed, wait_read) =
        ("CALL sno_wait_feed('feed', '50 s')", "CALL sno_wait_read('feed', 'xxxxxxxxxxxxxxxx', '50 s')");
    let again = "CREATE TABLE items (id sno PRIMARY KEY, n integer); SELECT sno_create_feed('feed', 'items')";
    for (call, before, drop, sqlstate) in [
        ("CALL sno_wait_feed('other', '50 s')", "", "SELECT sno_drop_feed('other')", "42704"),
        (wait_feed, "", "DROP TABLE items", "42P01"),
        (wait_read, again, "DROP TABLE items", "42P01"),
    ] {
        let mut other = server.connect();
        other.run(before);
        let server = &server;
        thread::scope(|scope| {
            let waiter = scope.spawn(move || code(&mut server.connect(), call));
            wait_until("a session that waits", || waiting(&mut other) == 1);
            other.run(drop);
            assert_eq!(waiter.join().unwrap(), sqlstate);
        });
    }
}

/// It is cancelled and terminated at once, with no more than PostgreSQL's own message, and ends with the postmaster.
#[test]
fn a_wait_ends_at_once() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    client.run(SETUP);
    let id = text(&mut client, "SELECT sno_upper('infinity')::text");
    for call in [WAIT.to_owned(), format!("CALL sno_wait_read('feed', '{id}', '50 s')")] {
        // By a clock that stands, it never looks again.
        server.stop_clock(client.one("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"));
        for end in ["cancel", "terminate"] {
            let mut other = server.connect();
            let (refused, took) = thread::scope(|scope| {
                let (server, call) = (&server, &call);
                let waiter =
                    scope.spawn(move || (server.connect().batch_execute(call).unwrap_err(), Instant::now()));
                wait_until("a session that waits", || waiting(&mut other) == 1);
                let began = Instant::now();
                other.run(&format!(
                    "SELECT pg_{end}_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL sno_wait%'"
                ));
                let (refused, at) = waiter.join().unwrap();
                (refused, at.saturating_duration_since(began))
            });
            assert_soon(took, SOON);
            // A session that is terminated need not get the message.
            match refused.as_db_error() {
                Some(refused) if end == "cancel" => {
                    assert_eq!((refused.code().code(), refused.detail()), ("57014", None));
                }
                _ => assert!(end == "terminate" && refused.is_closed() || refused.as_db_error().is_some()),
            }
        }
        server.set_clock("+0");
        assert_eq!(code(&mut server.connect_with("-c statement_timeout=300"), &call), "57014");
    }
    client.run("SET idle_in_transaction_session_timeout = 100");
    assert!(!client.one::<bool>("CALL sno_wait_feed('feed', '1 s')"));
    // Last, since nothing is left.
    let mut waiter = server.connect();
    thread::scope(|scope| {
        let waits = scope.spawn(move || waiter.batch_execute(WAIT).is_err());
        wait_until("a session that waits", || waiting(&mut client) == 1);
        let began = Instant::now();
        server.kill_postmaster();
        assert!(waits.join().unwrap());
        assert_soon(began.elapsed(), SOON);
    });
    server.kill_all();
}

#[test]
fn refused() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE ROLE other;
         CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r boolean; BEGIN CALL sno_wait_feed('feed', '0', r); END $$;
         CREATE PROCEDURE p() LANGUAGE plpgsql SET jit = off AS $$ DECLARE r boolean; BEGIN CALL sno_wait_feed('feed', '0', r); END $$",
    );
    let id = text(&mut client, "SELECT sno_new(1)::text");
    for call in ["sno_wait_feed('none')".to_owned(), format!("sno_wait_read('none', '{id}')")] {
        assert_eq!(code(&mut client, &format!("CALL {call}")), "42704", "{call}");
    }
    for call in [
        "sno_wait_feed(NULL)",
        "sno_wait_feed('feed', NULL)",
        "sno_wait_read('feed', NULL)",
        &format!("sno_wait_read(NULL, '{id}')"),
        &format!("sno_wait_read('feed', '{id}', NULL)"),
    ] {
        assert_eq!(code(&mut client, &format!("CALL {call}")), "22004", "{call}");
    }
    client.run("SET ROLE other");
    assert_eq!(code(&mut client, "CALL sno_wait_feed('feed')"), "42501");
    assert_eq!(code(&mut client, &format!("CALL sno_wait_read('feed', '{id}')")), "42501");
    client.run("RESET ROLE");
    for call in [
        "SELECT f()",
        "CALL p()",
        "BEGIN; CALL sno_wait_feed('feed', '0')",
        &format!("BEGIN; CALL sno_wait_read('feed', '{id}')"),
    ] {
        let refused = client.batch_execute(call).unwrap_err();
        let refused = refused.as_db_error().unwrap();
        assert_eq!((refused.code().code(), refused.hint().is_some()), ("25001", true), "{call}");
        client.run("ROLLBACK");
    }
    let standby = server.standby();
    let refused = error(&mut standby.connect(), "CALL sno_wait_feed('feed')");
    assert_eq!(
        (refused.code().code(), refused.message()),
        ("25006", "cannot execute sno_wait_feed() during recovery")
    );
}

/// A transaction of a wait does not get as old as PostgreSQL 17 and later allow.
#[test]
fn transaction_timeout() {
    let server = Server::builder().start();
    let mut client = server.connect();
    if major_version(&mut client) < 17 {
        return skip("transaction_timeout came with PostgreSQL 17");
    }
    client.run(SETUP);
    client.run("SET transaction_timeout = '400ms'");
    assert!(!wait(&mut client, "CALL sno_wait_feed('feed', '2 s')").0);
    let id = text(&mut client, "SELECT sno_upper('infinity')::text");
    assert!(!wait(&mut client, &format!("CALL sno_wait_read('feed', '{id}', '2 s')")).0);
}
