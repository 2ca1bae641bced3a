//! Partitions by time while others are at work.

use std::{thread, time::Duration};

use sno_tests::{Builder, Server, Sql as _, code, error, text};

use super::meanwhile;

/// No call waits for ever: a mistake in what upkeep does for its locks ends here.
fn server() -> Builder {
    Server::builder().conf("statement_timeout", "30s")
}

/// A caller that waits sees, once it may go on, what the other has made in a transaction of its own.
#[test]
fn a_call_during_a_transaction_that_makes_partitions() {
    let server = server().start();
    let mut first = server.connect();
    first.run("CREATE TABLE log (id sno) PARTITION BY RANGE (id)");
    first.run("BEGIN; SELECT sno_maintain_partitions('log', '1 day')");
    let again = "SELECT count(*) FROM sno_maintain_partitions('log', '1 day')";
    let made = meanwhile(
        &server,
        || text(&mut server.connect(), again),
        || {
            let lock = text(&mut first, "SELECT mode FROM pg_locks WHERE NOT granted");
            assert_eq!(lock, "ShareUpdateExclusiveLock");
            first.run("COMMIT");
        },
    );
    assert_eq!(made, "0");
    // Readers and writers go on meanwhile.
    first.run("BEGIN; SELECT sno_create_partitions('log', '1 day', now() + interval '9 days', now() + interval '10 days')");
    let mut other = server.connect();
    other.run("SET lock_timeout = '60s'; INSERT INTO log VALUES (sno_new()); SELECT * FROM log");
    first.run("COMMIT");
}

/// What DETACH CONCURRENTLY leaves when it is cancelled: others can be created. A call that would expire this one does
/// nothing, and PostgreSQL's error says how to go on.
#[test]
fn a_partition_that_is_detached_in_part() {
    let server = server().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno) PARTITION BY RANGE (id);
             SELECT sno_create_partitions('log', '1 day', '2026-01-01Z', '2026-01-04Z');",
    );
    // It waits for whoever has the table open, after its first transaction.
    let mut reader = server.connect();
    reader.run("BEGIN; SELECT * FROM log");
    let pid: i32 = client.one("SELECT pg_backend_pid()");
    let detach = || code(&mut client, "ALTER TABLE log DETACH PARTITION log_20260101 CONCURRENTLY");
    let cancel = || server.run(&format!("SELECT pg_cancel_backend({pid})"));
    assert_eq!(meanwhile(&server, detach, cancel), "57014");
    reader.run("COMMIT");
    client.run("SELECT * FROM sno_create_partitions('log', '1 day', '2026-01-01Z', '2026-01-05Z')");
    client.run("SELECT * FROM sno_maintain_partitions('log', '1 day'); INSERT INTO log VALUES (sno_new())");
    let error =
        error(&mut client, "SELECT * FROM sno_expire_partitions('log', '2026-01-05Z', drop_expired => true)");
    assert_eq!((error.code().code(), error.message()), ("55000", "cannot detach partition \"log_20260101\""));
    assert!(error.hint().unwrap().contains("FINALIZE"));
    // What keeps old ones keeps no new ones from coming.
    let both = "SELECT DISTINCT action FROM sno_maintain_partitions('log', '1 day', ahead => 9, retention => '1 day')";
    assert_eq!(text(&mut client, both), "created");
    client.run("ALTER TABLE public.log DETACH PARTITION log_20260101 FINALIZE");
    let rows = client.query("SELECT * FROM sno_expire_partitions('log', '2026-01-05Z')", &[]).unwrap();
    let expired: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(expired, ["public.log_20260102", "public.log_20260103", "public.log_20260104"]);
}

/// Upkeep needs locks on several tables, and statements that use these come in any order. It is upkeep that gives way, after
/// half a second: nobody queues behind it for longer, and the next call finds the tables free.
#[test]
fn upkeep_gives_way_to_statements_that_use_the_same_tables() {
    let server = server().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE author (id integer PRIMARY KEY);
             CREATE TABLE log (id sno PRIMARY KEY, author integer REFERENCES author) PARTITION BY RANGE (id);
             CREATE TABLE log_rest PARTITION OF log DEFAULT;
             CREATE TABLE note (log sno REFERENCES log);
             INSERT INTO author VALUES (1);
             SELECT sno_create_partitions('log', '1 day', '2026-01-01Z', '2026-01-04Z')",
    );
    for (upkeep, held, wanted) in [
        (
            "SELECT sno_maintain_partitions('log', '1 day')",
            "SELECT FROM log_rest",
            "INSERT INTO log VALUES (sno_lower('2025-01-01Z'))",
        ),
        (
            "SELECT sno_create_partitions('log', '1 day', '2027-01-01Z', '2027-01-03Z')",
            "INSERT INTO note VALUES (NULL)",
            "INSERT INTO author VALUES (2)",
        ),
        (
            "SELECT sno_expire_partitions('log', '2026-01-02Z')",
            "INSERT INTO note VALUES (NULL)",
            "SELECT FROM log",
        ),
        // Here even a reader of a table that is referred to is in the way.
        ("SELECT sno_expire_partitions('log', '2026-01-03Z', true)", "SELECT FROM author", "SELECT FROM log"),
        // Both steps, one after the other.
        (
            "SELECT sno_maintain_partitions('log', '1 day', 20, '30 days')",
            "INSERT INTO author VALUES (3)",
            "INSERT INTO note VALUES (NULL)",
        ),
    ] {
        client.run(&format!("BEGIN; {held}"));
        let refused = meanwhile(&server, || error(&mut server.connect(), upkeep), || client.run(wanted));
        assert_eq!(refused.code().code(), "55P03", "{upkeep}");
        assert!(refused.hint().unwrap().contains("lock_timeout"));
        client.run("COMMIT");
        assert!(!client.query(upkeep, &[]).unwrap().is_empty(), "{upkeep}");
    }
    assert!(!server.log().contains("deadlock detected"), "{}", server.log());
    // Who asks for another limit has that.
    client.run("BEGIN; INSERT INTO note VALUES (NULL)");
    let upkeep = "SET lock_timeout = '30s'; SELECT sno_create_partitions('log', '1 day', '2028-01-01Z', '2028-01-02Z')";
    meanwhile(
        &server,
        || server.connect().run(upkeep),
        || {
            thread::sleep(Duration::from_millis(900));
            client.run("COMMIT");
        },
    );
}

/// At 21 o'clock in UTC on the last of a month, the next one has begun in Tokyo; six hours later, the last one has not
/// ended in New York.
#[test]
fn the_time_ahead_and_the_retention_are_in_utc() {
    let server = server().faketime(true).start();
    let mut client = server.connect();
    for (table, zone, now, since, expected) in [
        (
            "east",
            "Asia/Tokyo",
            "2027-02-28 21:00Z",
            "2026-12-01Z",
            "detached public.east_20261201, created public.east_20270201, created public.east_20270301",
        ),
        (
            "west",
            "America/New_York",
            "2027-03-01 03:00Z",
            "2027-01-01Z",
            "detached public.west_20270101, created public.west_20270301, created public.west_20270401",
        ),
    ] {
        client.run(&format!(
            "CREATE TABLE {table} (id sno) PARTITION BY RANGE (id);
             SELECT sno_create_partitions('{table}', '1 month', '{since}', timestamptz '{since}' + interval '2 months');
             SET timezone = '{zone}'"
        ));
        server.advance_clock(
            client.one(&format!("SELECT extract(epoch FROM '{now}' - now())::double precision")),
        );
        let done = format!(
            "SELECT string_agg(concat(action, ' ', partition), ', ')
             FROM sno_maintain_partitions('{table}', '1 month', 1, '1 month')"
        );
        assert_eq!(text(&mut client, &done), expected);
    }
}

/// A name of another role's feed that a client cannot show keeps no partitions from coming.
#[test]
fn a_warning_that_the_client_cannot_show() {
    let server = server().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY) PARTITION BY RANGE (id); SELECT sno_create_feed(chr(26085), 'log'); SET client_encoding = latin1;
         SELECT sno_create_partitions('log', '1 day', now() - interval '9 days', now() - interval '7 days')",
    );
    let call =
        "SELECT string_agg(DISTINCT action, ' ') FROM sno_maintain_partitions('log', '1 day', 1, '1 day')";
    assert_eq!(text(&mut client, call), "created");
}
