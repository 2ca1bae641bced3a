//! Where a feed begins, and how it is read: two sessions at once, what a call writes, its plans.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, text, wait_until};

use super::{ATTACH, FAR, INSERT, READ, last_value, meanwhile, next_tick, read, server};
use crate::at_point;

/// `READ`, once nobody has an advisory lock.
const SLOWLY: &str = "WITH f AS MATERIALIZED (
        SELECT n FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait, sno_feed('feed', NULL::items, 1 + length(lock))
    ), i AS (INSERT INTO taken TABLE f) SELECT coalesce(string_agg(n::text, ' '), '') FROM f";

/// What other sessions do between the statements of a call.
#[test]
fn two_at_once() {
    let server = server();
    let (mut first, mut other) = (server.connect(), server.connect());
    // The feed is dropped while a consumer waits for it.
    first.run(&format!("{INSERT} (1)"));
    next_tick();
    first.run(&format!("BEGIN; {READ}"));
    let dropped = meanwhile(&server, READ, || first.run("SELECT sno_drop_feed('feed'); COMMIT"));
    assert_eq!((dropped.as_deref(), code(&mut first, READ).as_str()), (Ok(""), "42704"));

    // The consumer that is waited for goes beyond the horizon of the one that waits.
    first.run("SELECT sno_create_feed('feed', 'items', margin => '0')");
    next_tick();
    first.run(&format!("BEGIN; {READ}"));
    let later = meanwhile(&server, READ, || {
        other.run(&format!("{INSERT} (2)"));
        assert_eq!(read(&mut first), "2");
        first.run("COMMIT");
    });
    assert_eq!(later.as_deref(), Ok(""));
    assert_eq!(read(&mut first), "");

    // The table is replaced by another one of its name, after the call has looked the name up.
    other.run(&format!("{INSERT} (3); CREATE TABLE other (LIKE items INCLUDING ALL); INSERT INTO other SELECT id, n + 100 FROM items"));
    next_tick();
    first.run("SELECT pg_advisory_lock(1)");
    let slowly = format!("BEGIN; {READ}; ROLLBACK; {SLOWLY}");
    let replaced = meanwhile(&server, &slowly, || {
        first.run("BEGIN; LOCK items; SELECT pg_advisory_unlock(1)");
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'relation')";
        wait_until("a call that waits for the table", || other.one(waits));
        first.run("ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items; COMMIT");
    });
    assert_eq!(replaced.as_deref(), Ok(""));
    first.run("DROP TABLE items; ALTER TABLE replaced RENAME TO items");
    assert_eq!(read(&mut first), "3");

    // The feed is set back while another call, which has found nothing, is about to store how far it has looked.
    first.run(
        "SELECT sno_create_feed('slow', 'items', now(), margin => '0');
         UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min' WHERE feed = 'slow'",
    );
    let read_slow = READ.replace("feed'", "slow'");
    let nothing = at_point(
        &server,
        "feed moves",
        || last_value(&server, &read_slow),
        || other.run("SELECT sno_seek_feed('slow', '-infinity')"),
    );
    assert_eq!(nothing.as_deref(), Ok(""));
    assert_eq!(text(&mut first, &read_slow), "1 2 3");
}

/// What takes the name of a feed's table just before a look of a wait reads by that name: it looks again at once, and stores nothing.
#[test]
fn what_takes_the_name_during_a_look() {
    let server = server();
    let (mut client, wait) = (server.connect(), "CALL sno_wait_feed('NAME', '2 s')");
    client.run(&format!(
        "CREATE TABLE gone (LIKE items INCLUDING ALL);
         CREATE TABLE other (LIKE items INCLUDING ALL);
         SELECT sno_create_feed('gone', 'gone', margin => '0');
         {INSERT} (1); UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'"
    ));
    next_tick();
    for (feed, exchange, result) in [
        ("feed", "ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items", Ok("t")),
        ("gone", "DROP TABLE gone; ALTER TABLE items RENAME TO gone", Err("E42P01")),
    ] {
        let call = || last_value(&server, &wait.replace("NAME", feed));
        let found = at_point(&server, "source named", call, || client.run(exchange));
        match result {
            Ok(value) => assert_eq!(found.as_deref(), Ok(value), "{feed}"),
            Err(code) => {
                assert!(found.as_ref().is_err_and(|error| error.contains(code)), "{feed}: {found:?}")
            }
        }
    }
    client.run("ALTER TABLE replaced RENAME TO items");
    assert_eq!(read(&mut client), "1");
}

/// A peek that returns nothing, since another table has taken the name, has shown nothing.
#[test]
fn what_takes_the_name_during_a_peek() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(&format!(
        "{INSERT} (1); CREATE TABLE other (LIKE items INCLUDING ALL); INSERT INTO other SELECT id, n + 100 FROM items"
    ));
    next_tick();
    client.run("BEGIN");
    let peek = || text(&mut client, "SELECT count(*) FROM sno_peek_feed('feed', NULL::items)");
    let shown = at_point(&server, "source named", peek, || {
        other.run("ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items");
    });
    assert_eq!(shown, "0");
    assert_eq!(code(&mut client, "SELECT sno_advance_feed('feed', (SELECT id FROM replaced))"), "22023");
}

/// A column that takes the name of the key just before a call reads by that name: by its order, or its nulls, rows would be missed.
#[test]
fn what_takes_the_name_of_the_key() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(&format!(
        "ALTER TABLE items ADD other sno; {INSERT} (1); INSERT INTO items (n, other) VALUES (2, sno_new(1))"
    ));
    next_tick();
    let exchange = "BEGIN; ALTER TABLE items RENAME id TO x; ALTER TABLE items RENAME other TO id; ALTER TABLE items RENAME x TO other; COMMIT";
    let found = at_point(&server, "source named", || text(&mut client, READ), || other.run(exchange));
    assert_eq!(found, "");
    other.run(exchange);
    assert_eq!(read(&mut client), "1 2");
}

/// A call, or a look of a wait, that would store that there are no rows, while another table without rows takes the name.
#[test]
fn an_empty_table_that_takes_the_name() {
    for waits in [false, true] {
        let server = server();
        let (mut first, mut other) = (server.connect(), server.connect());
        first.run(&format!(
            "{INSERT} (1); CREATE TABLE other (LIKE items INCLUDING ALL);
             UPDATE sno_internal.feed_positions SET moved = moved - interval '1 min'"
        ));
        next_tick();
        let (lock, exchange) = (
            "BEGIN; LOCK items",
            "ALTER TABLE items RENAME TO replaced; ALTER TABLE other RENAME TO items; COMMIT",
        );
        let result = if waits {
            first.run(lock);
            meanwhile(&server, "CALL sno_wait_feed('feed', '0.1 s')", || first.run(exchange))
        } else {
            first.run("SELECT pg_advisory_lock(1)");
            // It knows the table before that is locked.
            let call = format!("BEGIN; {READ}; ROLLBACK; {SLOWLY}");
            meanwhile(&server, &call, || {
                first.run(&format!("{lock}; SELECT pg_advisory_unlock(1)"));
                let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'relation')";
                wait_until("a call that waits for the table", || other.one(waits));
                first.run(exchange);
            })
        };
        assert_eq!(result.as_deref(), Ok(if waits { "t" } else { "" }));
        first.run("DROP TABLE items; ALTER TABLE replaced RENAME TO items");
        assert_eq!(read(&mut first), "1");
    }
}

/// A feed that begins now, or is set there, begins with the rows of open transactions, which a copy of the table lacks.
#[test]
fn a_feed_that_begins_while_others_write() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    for (start, n) in [
        ("SELECT sno_create_feed('mirror', 'items', now(), margin => '0')", "1"),
        ("SELECT sno_seek_feed('mirror', now())", "2"),
        ("SELECT sno_seek_feed('mirror', after => 'xxxxxxxxxxxxxxxx')", "3"),
    ] {
        other.run(&format!("BEGIN; {INSERT} ({n})"));
        next_tick();
        client.run(start);
        other.run("COMMIT");
        next_tick();
        assert_eq!(text(&mut client, &READ.replace("feed'", "mirror'")), n, "{start}");
    }
}

/// Between the opening of the feed and the lock on its source; and while the opening asks what there is.
#[test]
fn a_foreign_table_that_is_attached_meanwhile() {
    for locked in ["log", "pg_foreign_table"] {
        let server = Server::builder().start();
        let mut other = server.connect();
        other.run(FAR);
        other.run("INSERT INTO log VALUES (sno_new(1))");
        other.run(&format!("BEGIN; LOCK TABLE {locked}"));
        next_tick();
        let peek = "SELECT count(*) FROM sno_peek_feed('feed', NULL::log)";
        let result = meanwhile(&server, peek, || other.run(&format!("{ATTACH}; COMMIT")));
        assert!(result.as_ref().is_err_and(|error| error.contains("E42809")), "{locked}: {result:?}");
    }
}

/// A call that finds nothing writes nothing, except every 10 seconds, and one that finds something updates one row in place.
#[test]
fn what_is_written() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1)"));
    assert_eq!(read(&mut client), "1");
    client.run(&format!("BEGIN; {READ}"));
    assert!(client.one::<bool>("SELECT pg_current_xact_id_if_assigned() IS NULL"));
    client.run("ROLLBACK");
    // The server itself writes now and then.
    let lsn = "SELECT pg_current_wal_insert_lsn()::text";
    let idle = |client: &mut Client| {
        let before = text(client, lsn);
        (0..300).for_each(|_| client.run(READ));
        text(client, lsn) == before
    };
    assert!((0..5).any(|_| idle(&mut client)), "an idle call writes");
    let position = "SELECT position::text FROM sno_feeds()";
    let (before, mut other) = (text(&mut client, position), server.connect());
    client.run("UPDATE sno_internal.feed_positions SET moved = moved - interval '11 s'");
    other.run("BEGIN; SELECT FROM sno_internal.feed_positions FOR UPDATE");
    client.run("SET lock_timeout = '10 s'");
    assert_eq!((read(&mut client), text(&mut client, position)), (String::new(), before.clone()));
    other.run("ROLLBACK");
    assert_eq!(read(&mut client), "");
    let after = text(&mut client, position);
    assert!(after > before);
    assert_eq!((read(&mut client), text(&mut client, position)), (String::new(), after));

    client.run(&format!("{INSERT} (2); SELECT pg_stat_force_next_flush()"));
    client.run("SELECT pg_stat_reset_single_table_counters('sno_internal.feed_positions'::regclass)");
    client.run("INSERT INTO items (n) SELECT generate_series(1, 1000)");
    next_tick();
    let one = READ.replace("items)", "items, 1)");
    (0..1001).for_each(|_| assert_ne!(text(&mut client, &one), ""));
    client.run("SELECT pg_stat_force_next_flush()");
    let updates = "SELECT n_tup_upd || ' ' || n_tup_hot_upd || ' ' || pg_relation_size(relid)
                   FROM pg_stat_user_tables WHERE relname = 'feed_positions'";
    assert_eq!(text(&mut client, updates), "1001 1001 8192");
}

/// From the place where the last call ended, by an index: big tables with statistics of long ago, domains, partitions.
#[test]
fn plans() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE DOMAIN item AS sno;
         CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) WITH (autovacuum_enabled = off);
         INSERT INTO items (n) SELECT generate_series(1, 100); ANALYZE items;
         INSERT INTO items (n) SELECT generate_series(1, 200000);
         CREATE TABLE typed (id item PRIMARY KEY, n integer); INSERT INTO typed SELECT * FROM items;
         CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 day', now() - interval '3 days', now() + interval '2 days');
         INSERT INTO log SELECT sno_new(1, now() - n * interval '1 s'), n FROM generate_series(1, 200000) n",
    );
    next_tick();
    client.run("SELECT sno_create_feed(name, name::regclass, now(), margin => '0') FROM unnest('{items,typed,log}'::text[]) name");
    for table in ["items", "typed", "log"] {
        client.run(&format!("INSERT INTO {table} SELECT sno_new(1), generate_series(1, 10)"));
    }
    client.run("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET auto_explain.log_settings = on");
    for (name, tables) in [("items", "items"), ("typed", "typed"), ("log", "log_")] {
        for (start, rows) in [("", 10), ("-infinity", 1000)] {
            if !start.is_empty() {
                client.run(&format!("SELECT sno_seek_feed('{name}', '{start}')"));
            }
            next_tick();
            let before = server.log().len();
            let call = format!("SELECT count(*) FROM sno_feed('{name}', NULL::{name})");
            assert_eq!(client.take::<i64>(&call), rows, "{name}");
            let log = server.log()[before..].to_owned();
            assert!(log.contains("jit = 'off'"), "{log}");
            // By the first ID that was not read.
            let is_range = |line: &&str| line.contains("Index Cond: ((") && line.contains(" >= ");
            let indexed = log.lines().filter(is_range).count();
            assert!(
                indexed > 0 && !log.contains(&format!("Seq Scan on {tables}")) && !log.contains("Sort  ("),
                "{log}"
            );
        }
    }
}
