//! Who holds a horizon, and what it and the feeds refuse.

use sno_tests::postgres::Client;
use sno_tests::{Sql as _, code, next_tick, text};

use super::{ITEMS, start};

/// Whether a transaction of another session holds a table's horizon at its start.
#[track_caller]
fn holds(reader: &mut Client, pid: &str, table: &str) -> bool {
    next_tick();
    let start = text(reader, &format!("SELECT xact_start FROM pg_stat_activity WHERE pid = {pid}"));
    let settled = text(reader, &format!("SELECT uuidv7_settled('{table}')"));
    let holds = reader.one::<bool>(&format!("SELECT '{settled}'::timestamptz = '{start}'"));
    let latest = if holds { format!("'{settled}'") } else { "clock_timestamp()".to_owned() };
    let horizon = format!(
        "SELECT uuidv7_time(uuidv7_horizon('{table}', '0')) BETWEEN '{settled}'::timestamptz - interval '4 ms' AND {latest}"
    );
    assert!(reader.one::<bool>(&horizon), "{table}");
    holds
}

#[test]
fn who_writes_the_table_holds_its_horizon() {
    let server = start();
    server.run(ITEMS);
    // With the same OIDs.
    server.connect_to("template1").run("CREATE DATABASE copy TEMPLATE postgres");
    let (mut reader, mut writer) = (server.connect(), server.connect());
    let pid = text(&mut writer, "SELECT pg_backend_pid()");
    for (table, holding, work) in [
        ("items", true, "INSERT INTO items VALUES (DEFAULT, 1)"),
        ("items", true, "INSERT INTO items_view VALUES (DEFAULT, 1)"),
        ("items", true, "SAVEPOINT s; INSERT INTO items VALUES (DEFAULT, 1); RELEASE s"),
        ("items", true, "WITH w AS (INSERT INTO items VALUES (DEFAULT, 1) RETURNING n) SELECT FROM w"),
        ("items", true, "DO 'BEGIN INSERT INTO items VALUES (DEFAULT, 1); END'"),
        ("items", false, "SAVEPOINT s; INSERT INTO items VALUES (DEFAULT, 1); ROLLBACK TO s"),
        ("items", false, "INSERT INTO other DEFAULT VALUES; SELECT FROM items FOR UPDATE"),
        ("log", true, "INSERT INTO log DEFAULT VALUES"),
        ("log", true, "INSERT INTO log_1 DEFAULT VALUES"),
        ("log", true, "INSERT INTO log_2 DEFAULT VALUES"),
        ("log_2", true, "LOCK TABLE ONLY log IN ROW EXCLUSIVE MODE"),
        ("old", true, "INSERT INTO old_1 DEFAULT VALUES"),
    ] {
        writer.run(&format!("BEGIN; {work}"));
        assert_eq!(holds(&mut reader, &pid, table), holding, "{table}: {work}");
        writer.run("COMMIT");
    }
    let mut elsewhere = server.connect_to("copy");
    elsewhere.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 1)");
    let pid = text(&mut elsewhere, "SELECT pg_backend_pid()");
    assert!(!holds(&mut reader, &pid, "items"));
    // A prepared one has no start.
    writer.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 1); PREPARE TRANSACTION 'p'");
    assert!(reader.one::<bool>("SELECT uuidv7_settled('items') IS NULL AND uuidv7_horizon('items') IS NULL"));
    assert!(reader.one::<bool>("SELECT uuidv7_settled('other') IS NOT NULL"));
    writer.run("COMMIT PREPARED 'p'");
    assert!(reader.one::<bool>("SELECT uuidv7_settled('items') IS NOT NULL"));
    // The horizon first, then the time: the other way round, less than the margin can be between them.
    let margin = "SELECT clock_timestamp() - uuidv7_time(h) BETWEEN '1 hour' AND '1 hour 5 s' FROM uuidv7_horizon('items', '1 hour') h";
    assert!(reader.one::<bool>(margin));
}

#[test]
fn what_it_refuses() {
    let server = start();
    server.run(ITEMS);
    let mut client = server.connect();
    client.run(
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
         CREATE TABLE near (id uuid) PARTITION BY RANGE (id); CREATE FOREIGN TABLE far PARTITION OF near DEFAULT SERVER s;
         CREATE TABLE subscribed (id uuid); CREATE SUBSCRIPTION s CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false);
         INSERT INTO pg_subscription_rel SELECT oid, 'subscribed'::regclass, 'r' FROM pg_subscription",
    );
    for (query, state) in [
        ("SELECT uuidv7_horizon('items', '-1 s')", "22023"),
        ("SELECT uuidv7_settled('items_view')", "42809"),
        ("SELECT uuidv7_settled('near')", "42809"),
        ("SELECT uuidv7_settled('far')", "42809"),
        ("SELECT uuidv7_settled('subscribed')", "42809"),
        ("SELECT uuidv7_settled('items_pkey')", "42809"),
        ("SELECT uuidv7_settled(1)", "42809"),
        ("SELECT uuidv7_settled(NULL)", "42809"),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uuidv7_horizon('items')", "25000"),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT uuidv7_horizon('items')", "25000"),
        ("SELECT * FROM uuidv7_peek_feed('none', NULL::items)", "42704"),
        ("SELECT * FROM uuidv7_peek_feed(NULL, NULL::items)", "42704"),
        ("SELECT * FROM uuidv7_peek_feed('f', NULL::other)", "42804"),
        ("SELECT * FROM uuidv7_peek_feed('f', 1)", "42804"),
        ("SELECT * FROM uuidv7_peek_feed('f', NULL::items, 0)", "22023"),
        ("SELECT * FROM uuidv7_peek_feed('f', NULL::items, NULL)", "22023"),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT uuidv7_peek_feed('f', NULL::items)", "25000"),
        ("BEGIN READ ONLY; SELECT uuidv7_peek_feed('f', NULL::items)", "25006"),
        ("SELECT sno_uuid(-1)", "22003"),
        ("SELECT sno_uuid(256)", "22003"),
    ] {
        client.run("DELETE FROM uuidv7_feeds; INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0');
            INSERT INTO items VALUES (DEFAULT, 1); SELECT pg_sleep(0.01)");
        assert_eq!(code(&mut client, query), state, "{query}");
        let _ = client.batch_execute("ROLLBACK");
    }
    client.run("CREATE TABLE gone (id uuid); INSERT INTO uuidv7_feeds VALUES ('g', 'gone'); DROP TABLE gone");
    assert_eq!(code(&mut client, "SELECT * FROM uuidv7_peek_feed('g', NULL::items)"), "42804");
    // Plans in use notice another number of the server.
    client.run("PREPARE p AS SELECT sno_uuid_server(sno_uuid(1))");
    for (number, state) in [("255", ""), ("256", "22023"), ("-1", "22023")] {
        client.run(&format!(
            "CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN {number}"
        ));
        if state.is_empty() {
            assert_eq!(text(&mut client, "EXECUTE p"), number);
        } else {
            assert_eq!(code(&mut client, "EXECUTE p"), state, "{number}");
        }
    }
    let standby = server.standby();
    assert_eq!(code(&mut standby.connect(), "SELECT uuidv7_horizon('items')"), "25006");
    assert_eq!(code(&mut standby.connect(), "SELECT uuidv7_peek_feed('f', NULL::items)"), "25006");
}
