//! Feeds: each row once and in order.

use sno_tests::{Server, Sql as _, code, error, next_tick, postgres::Client, text};

use super::{ITEMS, defaults, next, start, start_with};

#[test]
fn a_feed_returns_each_row_once_and_in_order() {
    let server = start();
    let mut client = server.connect();
    for default in defaults(&mut client) {
        client.run(&format!(
            "DROP TABLE IF EXISTS items; CREATE TABLE items (id uuid PRIMARY KEY DEFAULT {default}, n integer);
             DELETE FROM uuidv7_feeds; INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0');
             INSERT INTO items (n) SELECT generate_series(1, 10); SELECT pg_sleep(0.01)"
        ));
        assert_eq!(next(&mut client, 4), Ok(vec![1, 2, 3, 4]));
        client.run("BEGIN");
        assert_eq!(next(&mut client, 2), Ok(vec![5, 6]));
        assert_eq!(next(&mut client, 2), Ok(vec![7, 8]));
        client.run("ROLLBACK");
        // Who does not wait for a late row, would miss it.
        let mut late = server.connect();
        late.run("BEGIN; INSERT INTO items (n) VALUES (11)");
        client.run("INSERT INTO items (n) VALUES (12); SELECT pg_sleep(0.01); DELETE FROM items WHERE n = 8");
        assert_eq!(next(&mut client, 1000), Ok(vec![5, 6, 7, 9, 10]));
        // Nothing to read: nothing is written.
        client.run("BEGIN");
        assert_eq!(next(&mut client, 1000), Ok(vec![]));
        assert!(client.one::<bool>("SELECT pg_current_xact_id_if_assigned() IS NULL"));
        client.run("COMMIT");
        late.run("COMMIT; BEGIN; INSERT INTO items (n) VALUES (13); PREPARE TRANSACTION 'p'; SELECT pg_sleep(0.01)");
        assert_eq!(next(&mut client, 1000), Ok(vec![]));
        late.run("COMMIT PREPARED 'p'");
        next_tick();
        assert_eq!(next(&mut client, 1000), Ok(vec![11, 12, 13]));
        // From now on, and from a time on.
        client.run("UPDATE uuidv7_feeds SET position = uuidv7_horizon('items', '0')");
        assert_eq!(next(&mut client, 1000), Ok(vec![]));
        client.run("UPDATE uuidv7_feeds SET position = uuidv7_lower(now() - interval '1 hour')");
        assert_eq!(next(&mut client, 1000).map(|rows| rows.len()), Ok(12));
    }
}

/// What was peeked at comes again, whatever a client does with it, until the feed is advanced.
#[test]
fn a_peek_moves_nothing() {
    let server = start();
    let mut client = server.connect();
    client.run(ITEMS);
    client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0')");
    client.run("ALTER TABLE items DISABLE TRIGGER USER; INSERT INTO items SELECT uuidv7_lower(now() - (9 - n) * interval '1 s'), n FROM generate_series(1, 5) n");
    let peek = |client: &mut Client| {
        text(
            client,
            "SELECT coalesce(string_agg(n::text, ' ' ORDER BY n), '') FROM uuidv7_peek_feed('f', NULL::items, 3)",
        )
    };
    let advance =
        |n: i32| format!("SELECT uuidv7_advance_feed('f', (SELECT id FROM items WHERE n = {n}))::text");
    assert_eq!(text(&mut client, "SELECT n::text FROM uuidv7_peek_feed('f', NULL::items) LIMIT 1"), "1");
    client.run("BEGIN");
    assert_eq!((peek(&mut client), peek(&mut client)), ("1 2 3".into(), "1 2 3".into()));
    assert_eq!((text(&mut client, &advance(2)), peek(&mut client)), ("true".into(), "3 4 5".into()));
    client.run("ROLLBACK");
    assert_eq!(text(&mut client, &advance(1)), "true");
    // Another consumer with autocommit may have done the same work.
    let again = server.psql(&advance(1));
    let (answer, warned) =
        (String::from_utf8(again.stdout).unwrap(), String::from_utf8(again.stderr).unwrap());
    assert!(
        answer.contains("false") && warned.starts_with("WARNING:  rows of feed \"f\" up to \""),
        "{answer} {warned}"
    );
    // Who peeks meanwhile waits, and then has what is left in the next statement.
    let mut other = server.connect();
    client.run("BEGIN");
    assert_eq!(peek(&mut client), "2 3 4");
    let got = crate::meanwhile(
        &server,
        || peek(&mut other),
        || {
            assert_eq!(text(&mut client, &advance(4)), "true");
            client.run("COMMIT");
        },
    );
    assert_eq!((got, peek(&mut other)), (String::new(), "5".into()));
    for (upto, expected) in [("uuidv7_lower(now() + interval '1 s')", "22023"), ("NULL", "22023")] {
        assert_eq!(code(&mut client, &format!("SELECT uuidv7_advance_feed('f', {upto})")), expected);
    }
    // No peek has returned rows that are younger than the margin.
    client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('late', 'items', '1 min')");
    let young = "SELECT uuidv7_advance_feed('late', uuidv7_lower(now() - interval '30 s'))";
    assert_eq!(code(&mut client, young), "22023");
    assert_eq!(code(&mut client, "SELECT uuidv7_advance_feed('none', uuidv7_lower(now()))"), "42704");
}

/// In the transaction of a peek, a feed goes on to what that has shown, at most.
#[test]
fn an_advance_beyond_its_peek() {
    let server = start();
    let mut client = server.connect();
    client.run(ITEMS);
    client.run(
        "INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0'), ('g', 'items', '0'); ALTER TABLE items DISABLE TRIGGER USER;
         INSERT INTO items SELECT uuidv7_lower(now() - (9 - n) * interval '1 s'), n FROM generate_series(1, 5) n",
    );
    let peek = |client: &mut Client, size: i32| {
        let peek = format!("SELECT count(*)::text FROM uuidv7_peek_feed('f', NULL::items, {size})");
        text(client, &peek).parse::<i32>().unwrap()
    };
    let advance = |feed: &str, n: i32| {
        format!("SELECT uuidv7_advance_feed('{feed}', id)::text FROM items WHERE n = {n}")
    };
    client.run("BEGIN");
    assert_eq!((peek(&mut client, 3), peek(&mut client, 2)), (3, 2));
    let third = text(&mut client, "SELECT id::text FROM items WHERE n = 3");
    let refused = error(&mut client, &advance("f", 4));
    assert_eq!(
        (refused.code().code(), refused.detail()),
        ("22023", Some(&*format!("This transaction has peeked at the rows up to \"{third}\".")))
    );
    client.run("ROLLBACK; BEGIN");
    assert_eq!(peek(&mut client, 3), 3);
    for (feed, n) in [("g", 5), ("f", 2), ("f", 3)] {
        assert_eq!(text(&mut client, &advance(feed, n)), "true", "{feed} {n}");
    }
    // Without a peek, or after one that is rolled back, any row that none can come before.
    client.run("SAVEPOINT s");
    assert_eq!(peek(&mut client, 1), 1);
    client.run("ROLLBACK TO s");
    assert_eq!(code(&mut client, &advance("f", 4)), "22023");
    client.run("ROLLBACK; BEGIN; SAVEPOINT s");
    assert_eq!(peek(&mut client, 1), 1);
    client.run("ROLLBACK TO s");
    assert_eq!(text(&mut client, &advance("f", 5)), "true");
    client.run("COMMIT; BEGIN");
    assert_eq!(peek(&mut client, 1), 0);
    client.run("INSERT INTO items SELECT uuidv7_lower(now() - interval '1 ms'), 6; SAVEPOINT s");
    assert_eq!(code(&mut client, &advance("f", 6)), "22023");
    client.run("ROLLBACK TO s; COMMIT");
    assert_eq!(text(&mut client, &advance("f", 6)), "true");
}

/// Rows that row security hides from the reader do not count as read.
#[test]
fn rows_hidden_by_row_security() {
    let server = start();
    let mut client = server.connect();
    client.run(ITEMS);
    client.run(
        "CREATE ROLE bob LOGIN; CREATE POLICY even ON items USING (n % 2 = 0); ALTER TABLE items ENABLE ROW LEVEL SECURITY;
         GRANT SELECT ON items TO bob; GRANT SELECT, UPDATE ON uuidv7_feeds TO bob;
         INSERT INTO items SELECT uuidv7_lower(now() - (9 - n) * interval '1 s'), n FROM generate_series(1, 2) n;
         INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0')",
    );
    let mut bob = server.connect_as("bob");
    assert_eq!(code(&mut bob, "SELECT FROM uuidv7_peek_feed('f', NULL::items)"), "42501");
    assert_eq!(next(&mut client, 1000), Ok(vec![1, 2]));
}

/// A statement gets no row that it does not see, so that joins find what was committed with the row.
#[test]
fn a_statement_sees_what_its_rows_came_with() {
    let server = start();
    let mut client = server.connect();
    client.run(ITEMS);
    client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0')");
    // Rows below 0 are committed after the statement began.
    for (size, rows, meantime, expected, then) in [
        (9, &[-1][..], "", "", vec![1]),
        (9, &[1, -2, 3], "", "1 of 1", vec![2, 3]),
        (2, &[1, 2, -3, 4], "", "1 2 of 1 2", vec![3, 4]),
        (9, &[-1, 2, 3], "", "", vec![1, 2, 3]),
        (9, &[1, 2, 3], "DELETE FROM items WHERE n = 2", "1 2 3 of 1 2 3", vec![]),
        (9, &[1, 2], "SELECT uuidv7_advance_feed('f', min(id)) FROM items", "", vec![2]),
    ] {
        client.run("TRUNCATE items");
        let mut writer = server.connect();
        writer.run("BEGIN");
        for &n in rows {
            let insert = format!("INSERT INTO items VALUES (DEFAULT, {})", i32::abs(n));
            if n < 0 {
                writer.run(&insert);
            } else {
                client.run(&insert);
            }
            next_tick();
        }
        client.run("SELECT pg_advisory_lock(1)");
        let call = format!(
            "WITH f AS MATERIALIZED (
                 SELECT f.* FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait,
                     LATERAL uuidv7_peek_feed('f', NULL::items, {size} + length(lock)) f
             ), done AS MATERIALIZED (SELECT uuidv7_advance_feed('f', max(id)) FROM f HAVING count(*) > 0)
             SELECT coalesce(string_agg(f.n::text, ' ' ORDER BY f.n) || ' of ' || string_agg(i.n::text, ' ' ORDER BY f.n), '')
             FROM done, f LEFT JOIN items i USING (id)"
        );
        let got = crate::meanwhile(
            &server,
            || text(&mut server.connect(), &call),
            || {
                writer.run("COMMIT");
                client.run(meantime);
                next_tick();
                client.run("SELECT pg_advisory_unlock_all()");
            },
        );
        assert_eq!((&*got, next(&mut client, 9)), (expected, Ok(then)), "{size} {rows:?} {meantime}");
    }
}

/// Also where no index gives the order.
#[test]
fn rows_come_in_the_order_of_their_ids() {
    let server = start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id uuid, n integer);
         INSERT INTO items SELECT uuidv7_lower('2026-01-01Z'::timestamptz + n * interval '1 s'), n FROM generate_series(9, 1, -1) n;
         INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0')",
    );
    assert_eq!(next(&mut client, 5), Ok(vec![1, 2, 3, 4, 5]));
    assert_eq!(next(&mut client, 5), Ok(vec![6, 7, 8, 9]));
}

#[test]
fn a_feed_refuses_a_clock_before_its_position() {
    let server = start_with(Server::builder().extension(false).faketime(true));
    server.run(ITEMS);
    let mut client = server.connect();
    client.run("INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0'); INSERT INTO items VALUES (DEFAULT, 1)");
    server.advance_clock(1.0);
    assert_eq!(next(&mut client, 9), Ok(vec![1]));
    server.set_clock("-3600");
    assert_eq!(next(&mut client, 9), Err("55000".into()));
    client.run(
        "UPDATE uuidv7_feeds SET position = uuidv7_horizon('items'); INSERT INTO items VALUES (DEFAULT, 2)",
    );
    server.advance_clock(1.0);
    assert_eq!(next(&mut client, 9), Ok(vec![2]));
}

/// Without event triggers, the next peek tells of a partition with rows that the feed has passed.
#[test]
fn a_partition_that_is_attached_late() {
    let server = start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id uuid NOT NULL, n integer) PARTITION BY LIST (n);
         CREATE TABLE items_1 PARTITION OF items FOR VALUES IN (1);
         CREATE TABLE items_2 (LIKE items); CREATE TABLE items_3 (LIKE items); CREATE TABLE items_4 (LIKE items);
         INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('f', 'items', '0');
         CREATE ROLE bob; GRANT SELECT ON items TO bob; GRANT SELECT, UPDATE ON uuidv7_feeds TO bob;
         INSERT INTO items VALUES (sno_uuid(), 1); INSERT INTO items_2 SELECT uuidv7_lower(now() - interval '1 hour'), 2",
    );
    next_tick();
    assert_eq!(next(&mut client, 9), Ok(vec![1]));
    let told = |role: &str, end: &str| {
        let peek = "SELECT FROM uuidv7_peek_feed('f', NULL::items)";
        let output = server.psql(&format!("BEGIN; SET LOCAL ROLE {role}; {peek}; {end}"));
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        told.lines().next().unwrap_or_default().to_owned()
    };
    // One that is empty, and one with a row that comes.
    client.run(
        "ALTER TABLE items ATTACH PARTITION items_3 FOR VALUES IN (3); INSERT INTO items_4 VALUES (sno_uuid(), 4);
         ALTER TABLE items ATTACH PARTITION items_4 FOR VALUES IN (4)",
    );
    assert_eq!(told("none", "COMMIT"), "");
    client.run("ALTER TABLE items ATTACH PARTITION items_2 FOR VALUES IN (2)");
    // Until it is stored, also whom the partition itself is closed to.
    let warning = "WARNING:  rows of \"items_2\" can have keys that feed \"f\" has passed";
    for (role, end) in [("bob", "ROLLBACK"), ("none", "COMMIT")] {
        assert_eq!(told(role, end), warning, "{role}");
    }
    assert_eq!(told("none", "COMMIT"), "");
}
