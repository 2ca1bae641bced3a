//! Starts, stops, and what a consumer does meanwhile.

use std::time::Duration;
use std::{mem, thread};

use sno_tests::{Sql as _, assert_soon, text, wait_until};

use super::Language::{Go, Node, Python, Rust};
use super::{Case, LOSE, PASSWORD, Way};

/// A misspelt option, in languages whose compilers do not see it; and the line by which the log begins.
pub(super) fn options(way: Way) {
    let case = Case::new(way);
    if matches!(way.language, Python | Node) {
        case.start(&["unknown"]).assert_fails(if way.language == Node { "batch_size" } else { "batchSize" });
    }
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    let said = consumer.errors();
    let port = case.server.port().to_string();
    let is_said = |what: &[&str]| what.iter().all(|what| said.contains(what));
    assert!(is_said(&["feed", "events", "20", "\"postgres\"", "127.0.0.1", &port]), "{said}");
    consumer.stop();
}

pub(super) fn what_cannot_get_better(way: Way) {
    let case = Case::new(way);
    case.insert(&[]);
    case.server.run(&format!("CREATE ROLE nobody LOGIN PASSWORD '{PASSWORD}'"));
    case.start_with(&[], &[("PGDATABASE", "missing")]).assert_fails("missing");
    case.start_with(&[], &[("PGPORT", "1")]).assert_fails("");
    case.start_with(&[], &[("PGUSER", "nobody")]).assert_fails("");
    case.server.run("ALTER TABLE copy ADD UNIQUE (payload) DEFERRABLE INITIALLY DEFERRED");
    case.start(&[]).assert_fails("unique");
    case.server.run("ALTER TABLE copy DROP CONSTRAINT copy_payload_key");
    // What fails later.
    let consumer = case.start(&[]);
    case.assert_equal();
    case.server.run("SELECT sno_drop_feed('feed')");
    consumer.assert_fails("does not exist");
    case.start(&[]).assert_fails("does not exist");
    // libpq has no SQLSTATE for a connection that is refused.
    if matches!(way.language, Node | Go | Rust) {
        case.server.run("SELECT sno_create_feed('feed', 'events', since => now())");
        let consumer = case.start(&[]);
        case.insert(&[]);
        wait_until("it reads", || text(&mut case.client(), "SELECT count(*)::text FROM copy") == "120");
        case.server.run("ALTER ROLE postgres PASSWORD 'another'");
        case.client().run(LOSE);
        consumer.assert_fails("password");
    }
}

pub(super) fn stops(way: Way) {
    let case = Case::new(way);
    // While it waits; while another consumer has the feed.
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    thread::sleep(Duration::from_millis(300));
    // It is a tenth of a second, but the whole process has to end. The wait would last for 20 s.
    assert_soon(consumer.stop(), Duration::from_secs(5));
    if !way.autocommit {
        case.insert(&[]);
        let mut other = case.client();
        other.run("BEGIN; SELECT FROM sno_peek_feed('feed', NULL::events)");
        let consumer = case.start(&[]);
        let waits = "SELECT count(*)::text FROM pg_locks WHERE NOT granted";
        wait_until("it waits for the other one", || text(&mut case.client(), waits) == "1");
        assert_soon(consumer.stop(), Duration::from_secs(5));
        drop(other);
    } else {
        // Another one was faster: it is not silent.
        case.server.run("INSERT INTO events (payload) VALUES ('slow 0.5'), ('plain')");
        let consumer = case.start(&[]);
        consumer.wait_for_output("slow");
        case.server.run("SELECT sno_advance_feed('feed', (SELECT max(id) FROM events))");
        wait_until("it says so", || consumer.errors().contains("another consumer has sent the same rows"));
        consumer.stop();
    }

    // In a handler: after this row, the rest is given back.
    case.server.run("TRUNCATE events, copy");
    case.server.run("INSERT INTO events (payload) SELECT CASE n WHEN 5 THEN 'slow 0.5' ELSE 'plain' END FROM generate_series(1, 20) n");
    let consumer = case.start(&[]);
    consumer.wait_for_output("slow");
    consumer.stop();
    assert_eq!(text(&mut case.client(), "SELECT count(*)::text FROM copy"), "5");
    // In one transaction with the work, or another consumer could read on from the wrong place.
    if !way.autocommit {
        let same = "SELECT ((SELECT xmin::text FROM copy ORDER BY place DESC LIMIT 1) =
        (SELECT xmin::text FROM sno_internal.feed_positions))::text";
        assert_eq!(text(&mut case.client(), same), "true");
    }
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
    // Killed in a handler: the batch comes again.
    case.insert(&["slow 30"]);
    let mut consumer = case.start(&[]);
    consumer.wait_for_output("slow");
    consumer.signal(libc::SIGTERM);
    consumer.kill();
    case.server.run("UPDATE events SET payload = 'plain' WHERE payload = 'slow 30'");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

pub(super) fn left_in_another_way(way: Way) {
    let case = Case::new(way);
    case.server.run("INSERT INTO events (payload) VALUES ('plain'), ('plain'), ('exit'), ('plain')");
    let mut consumer = case.start(&[]);
    assert!(!consumer.wait().success());
    assert_eq!(case.difference(), "4 0 0");
    case.server.run("UPDATE events SET payload = 'plain'");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

pub(super) fn nothing_to_read(way: Way) {
    let case = Case::new(way);
    let mut client = case.client();
    // What it leaves behind when it stops ends after a second.
    let consumer = case.start(&["brief"]);
    case.insert(&[]);
    case.assert_equal();
    // No transaction of a consumer is open for longer than a call takes, so that it holds nobody up.
    thread::sleep(Duration::from_millis(1500));
    let open = "SELECT count(*)::text FROM pg_stat_activity
                WHERE state LIKE 'idle in transaction%' AND xact_start < clock_timestamp() - interval '1 s'";
    for _ in 0..10 {
        assert_eq!(text(&mut client, open), "0");
        thread::sleep(Duration::from_millis(50));
    }
    let calls = "SELECT xact_commit::text FROM pg_stat_database WHERE datname = 'postgres'";
    let mut commits = || {
        client.run("SELECT pg_sleep(1.2)");
        text(&mut client, calls).parse::<i64>().unwrap()
    };
    let before = commits();
    let made = commits() - before;
    assert!(made < 100, "{made} transactions in 1.2 s");
    // Nor while rows wait for an open transaction.
    let mut writer = case.client();
    writer.run("BEGIN; INSERT INTO events (payload) VALUES ('plain')");
    case.insert(&[]);
    let before = commits();
    let made = commits() - before;
    assert!(made < 100, "{made} transactions in 1.2 s");
    writer.run("COMMIT");
    case.assert_equal();
    consumer.stop();
    // A wait, which ends when it should.
    let consumer = case.start(&["brief"]);
    let age = "SELECT max(clock_timestamp() - query_start) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CALL sno_wait%'";
    wait_until("it waits", || text(&mut client, &format!("SELECT (({age}) IS NOT NULL)::text")) == "true");
    thread::sleep(Duration::from_secs(4));
    let age: f64 = client.one(&format!("SELECT coalesce(extract(epoch FROM ({age})), 0)::float8"));
    assert_soon(Duration::from_secs_f64(age), Duration::from_secs(3));
    assert!(!consumer.errors().contains("connecting again"), "{}", consumer.errors());
    consumer.stop();
}

pub(super) fn two_that_are_killed(way: Way) {
    let case = Case::new(way);
    let mut consumers = [case.start(&[]), case.start(&["batches"])];
    for round in 0..12 {
        // Half of them are stopped, and give back the rest of their batch while the other consumer waits for it.
        case.server.run("INSERT INTO events (payload) SELECT 'slow 0.01' FROM generate_series(1, 60)");
        thread::sleep(Duration::from_millis(600));
        let next = case.start(if round % 4 < 2 { &[] } else { &["batches"] });
        let mut last = mem::replace(&mut consumers[round % 2], next);
        if round % 3 == 0 {
            last.kill();
        } else {
            // It may still be starting, and then has no handler of the signal.
            last.signal(libc::SIGTERM);
            last.wait();
        }
    }
    case.assert_equal();
    for consumer in consumers {
        consumer.stop();
    }
}

pub(super) fn changes(way: Way) {
    let case = Case::new(way);
    let mut client = case.client();
    client.run(
        "CREATE TABLE items (id integer PRIMARY KEY, n integer); CREATE TABLE items_copy (LIKE items);
         SELECT sno_track_changes('items'); SELECT sno_create_feed('changes', 'items_changes', key => 'changed', margin => '0')",
    );
    let consumer = case.start(&["changes"]);
    for n in 0..20 {
        client.run(&format!(
            "INSERT INTO items SELECT generate_series(10 * {n}, 10 * {n} + 9);
             UPDATE items SET n = {n} WHERE id % 3 = {n} % 3; DELETE FROM items WHERE id % 7 = {n} % 7"
        ));
        if n % 5 == 4 {
            client.run(LOSE);
        }
        thread::sleep(Duration::from_millis(50));
    }
    let wrong = "SELECT count(*)::text FROM
        ((TABLE items EXCEPT ALL TABLE items_copy) UNION ALL (TABLE items_copy EXCEPT ALL TABLE items)) wrong";
    wait_until("the copy is the table", || text(&mut client, wrong) == "0");
    assert_ne!(text(&mut client, "SELECT count(*)::text FROM items"), "0");
    consumer.stop();
}
