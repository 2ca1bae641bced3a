//! Keys, and the bounds of times among them.

use sno_tests::{Server, Sql as _, code, error, plan, text};

use super::{defaults, none, start, start_with};

/// In whole milliseconds; before 1970 and for ever they are within the first and the last one. Against those of the extension: `beside`.
#[test]
fn bounds_of_times() {
    let server = start();
    let mut client = server.connect();
    for (call, bound) in [
        ("uuidv7_lower('-infinity')", "00000000-0000-7000-8000-000000000000"),
        ("uuidv7_upper('-infinity')", "00000000-0000-7fff-bfff-ffffffffffff"),
        ("uuidv7_lower('infinity')", "ffffffff-ffff-7000-8000-000000000000"),
        ("uuidv7_upper('infinity')", "ffffffff-ffff-7fff-bfff-ffffffffffff"),
        ("uuidv7_lower('2026-11-21 09:30:15.372Z')", "01a1fd71-2dcc-7000-8000-000000000000"),
        ("uuidv7_lower('2026-11-21 09:30:15.371001Z')", "01a1fd71-2dcc-7000-8000-000000000000"),
        ("uuidv7_upper('2026-11-21 09:30:15.372999Z')", "01a1fd71-2dcc-7fff-bfff-ffffffffffff"),
        ("uuidv7_time('01a1fd71-2dcc-7fff-bfff-ffffffffffff')", "2026-11-21 09:30:15.372+00"),
        ("uuidv7_time(uuidv7_lower('2999-12-31 23:59:59.999Z'))", "2999-12-31 23:59:59.999+00"),
    ] {
        assert_eq!(text(&mut client, &format!("SELECT {call}")), bound, "{call}");
    }
    let nulls = "SELECT num_nulls(uuidv7_time(NULL), uuidv7_lower(NULL), uuidv7_upper(NULL), uuidv7_between(NULL, now(), now()),
        uuidv7_horizon('uuidv7_feeds', NULL))";
    assert_eq!(text(&mut client, nulls), "5");
}

#[test]
fn bounds_are_conditions_on_indexes_and_prune() {
    let server = start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id uuid PRIMARY KEY, n integer);
         INSERT INTO items SELECT uuidv7_lower(now() - n * interval '1 min'), n FROM generate_series(1, 20000) n; ANALYZE items;
         CREATE TABLE log (id uuid) PARTITION BY RANGE (id);
         CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (uuidv7_lower('2020-01-01Z')) TO (uuidv7_lower('2020-01-02Z'));
         CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (uuidv7_lower('2020-01-02Z')) TO (uuidv7_lower('2099-01-01Z'))",
    );
    for condition in [
        "id >= uuidv7_lower(now() - interval '1 hour')",
        "id <= uuidv7_upper('2020-01-01Z')",
        "uuidv7_between(id, now() - interval '1 hour', now())",
        "uuidv7_between(id, '2020-01-01Z', '2020-01-02Z')",
    ] {
        let plan = plan(&mut client, "COSTS OFF", &format!("SELECT n FROM items WHERE {condition}"));
        assert!(plan.contains("Index Cond") && !plan.contains("Filter"), "{condition}\n{plan}");
    }
    let rows = "SELECT count(*) FROM items WHERE uuidv7_between(id, now() - interval '1 hour', now())";
    assert!((59..=60).contains(&client.one::<i64>(rows)));
    for (condition, partitions) in [
        ("id >= uuidv7_lower('2020-01-03Z')", "log_2"),
        ("uuidv7_between(id, '2020-01-01 10:00Z', '2020-01-01 11:00Z')", "log_1"),
        ("id >= uuidv7_lower(now() - interval '1 hour')", "Subplans Removed: 1"),
    ] {
        let plan = plan(&mut client, "COSTS OFF", &format!("SELECT FROM log WHERE {condition}"));
        let scans = plan.matches(" on log_").count();
        assert!(plan.contains(partitions) && scans == 1, "{condition}\n{plan}");
    }
    for (aggregate, n) in [("min", 20000), ("max", 1)] {
        let query = format!("SELECT {aggregate}(id) FROM items");
        let plan = plan(&mut client, "COSTS OFF", &query);
        assert!(plan.contains("Index Only Scan"), "{plan}");
        client.run("SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off");
        let found = format!("SELECT n FROM items WHERE id = ({query} WHERE n > 0)");
        assert_eq!(client.one::<i32>(&found), n);
        assert!(client.one::<bool>(&format!("SELECT ({query} WHERE n < 0) IS NULL")));
        client.run("RESET ALL");
    }
}

/// The counter is not the time's: it goes on whatever the clock does.
#[test]
fn ids_differ_although_the_clock_stands() {
    let server = start_with(Server::builder().extension(false).faketime(true));
    server.hold_clock();
    let mut client = server.connect();
    let times = "SELECT count(DISTINCT id), count(DISTINCT uuidv7_time(id)) FROM (SELECT sno_uuid(1) AS id FROM generate_series(1, 100000)) ids";
    let row = client.query_one(times, &[]).unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (100_000, 1));
    // In the order of the calls, until 24 bits are used up.
    client.run("CREATE TABLE items (n serial, id uuid DEFAULT sno_uuid(1)); INSERT INTO items SELECT FROM generate_series(1, 1000)");
    none(
        &mut client,
        "SELECT * FROM (SELECT id, lag(id) OVER (ORDER BY n) AS last FROM items) i WHERE id <= last",
    );
    client.run("SELECT setval('sno_uuid_counter', 16777214)");
    client.run("CREATE OR REPLACE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE RETURN 0");
    let query = "SELECT substr(id::text, 20) FROM (SELECT sno_uuid(1) AS id FROM generate_series(1, 2)) ids";
    let ends: Vec<String> = client.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(ends, ["81ff-fffe00000000", "8000-000000000000"]);
}

/// A new feed has rows refused that it would miss, if its role may; else it is told.
#[test]
fn keys_that_are_older_than_their_insert() {
    let server = start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT sno_uuid(), \"K'e\"\"y\" uuid, n integer);
         CREATE TABLE lists (id uuid DEFAULT sno_uuid(), state integer) PARTITION BY LIST (state);
         CREATE TABLE open PARTITION OF lists FOR VALUES IN (1); CREATE TABLE done PARTITION OF lists FOR VALUES IN (2);
         INSERT INTO uuidv7_feeds (feed, source) VALUES ('f', 'items'), ('l', 'lists'), ('o', 'open');
         CREATE ROLE bob; GRANT SELECT, INSERT ON uuidv7_feeds TO bob; CREATE TABLE of_other (id uuid)",
    );
    let at = |seconds: &str| format!("uuidv7_lower(clock_timestamp() - '{seconds}'::interval)");
    for default in defaults(&mut client) {
        client.run(&format!("INSERT INTO items (id) SELECT {default} FROM generate_series(1, 1000)"));
    }
    // Within the margin, which may become shorter.
    client.run(&format!("INSERT INTO items VALUES ({}, NULL, 1)", at("0.5 s")));
    let old = format!("INSERT INTO items VALUES ({}, NULL, 2)", at("1.1 s"));
    let refused = error(&mut client, &old);
    assert_eq!((refused.code().code(), refused.column()), ("23514", Some("id")));
    assert!(refused.message().contains("\"public.items\" was not generated in its statement"), "{refused}");
    client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('short', 'items', '0.2 s'), ('long', 'items', '1 day')");
    assert_eq!(code(&mut client, &format!("INSERT INTO items VALUES ({}, NULL, 2)", at("0.5 s"))), "23514");
    client.run("UPDATE uuidv7_feeds SET margin = '1 min' WHERE feed <> 'long'");
    client.run(&old);
    client.run("UPDATE items SET n = 3, id = id WHERE n = 2; UPDATE items SET id = sno_uuid() WHERE n = 1");
    let two_minutes = at("2 min");
    assert_eq!(code(&mut client, &format!("UPDATE items SET id = {two_minutes} WHERE n = 3")), "23514");
    // Of two keys both are guarded.
    client.run("INSERT INTO uuidv7_feeds (feed, source, key) VALUES ('key', 'items', 'K''e\"y')");
    for row in [format!("DEFAULT, {two_minutes}"), format!("{two_minutes}, NULL")] {
        assert_eq!(code(&mut client, &format!("INSERT INTO items VALUES ({row})")), "23514", "{row}");
    }
    // A row that moves to another partition.
    client.run(
        "UPDATE uuidv7_feeds SET margin = '1 s' WHERE feed IN ('l', 'o');
         INSERT INTO lists (state) VALUES (1); SELECT pg_sleep(1.1); UPDATE lists SET state = 2",
    );
    assert_eq!(code(&mut client, &format!("INSERT INTO lists VALUES ({two_minutes}, 1)")), "23514");
    // One that is copied there stays where it was, too.
    assert_eq!(code(&mut client, "INSERT INTO lists SELECT id, 1 FROM lists"), "23514");
    // What is replicated, too, but for subscriptions.
    client.run("SET session_replication_role = replica");
    for (table, state) in [("lists", 1), ("open", 1), ("lists", 2), ("done", 2)] {
        let insert = format!("INSERT INTO {table} VALUES ({two_minutes}, {state})");
        assert_eq!(code(&mut client, &insert), "23514", "{insert}");
    }
    client.run(&format!(
        "BEGIN; CREATE SUBSCRIPTION s CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false, slot_name = NONE, enabled = false);
         INSERT INTO pg_subscription_rel SELECT oid, 'lists'::regclass, 'r' FROM pg_subscription;
         CREATE ROLE app; GRANT INSERT ON open TO app; SET LOCAL ROLE app; INSERT INTO open VALUES ({two_minutes}, 1); ROLLBACK;
         DELETE FROM uuidv7_feeds; INSERT INTO lists VALUES ({two_minutes}, 1); RESET session_replication_role"
    ));
    // Without a feed, all are inserted.
    client.run("DELETE FROM uuidv7_feeds; SELECT uuidv7_refuse_old_keys('items')");
    client.run(&format!("INSERT INTO items VALUES ({two_minutes})"));
    let told =
        server.psql("SET ROLE bob; INSERT INTO uuidv7_feeds (feed, source) VALUES ('other', 'of_other')");
    assert!(told.status.success(), "{told:?}");
    assert_eq!(
        String::from_utf8(told.stderr).unwrap(),
        "WARNING:  rows of \"of_other\" with keys from earlier statements would be missed
HINT:  Have the owner of the table call uuidv7_refuse_old_keys('of_other').\n"
    );
}
