//! Batches: in the order of the IDs, each row once, whatever their ends; what is rolled back or given back comes again.

use sno_tests::{Server, Sql as _, code, text};

use super::{INSERT, READ, SETUP, meanwhile, next_tick, read, server};
use crate::docs;

/// In the order of the IDs, each row once, and never the end of a batch between equal keys.
#[test]
fn batches() {
    let server = server();
    let mut client = server.connect();
    // Some 200 rows in each tick.
    client.run(
        "ALTER TABLE items DISABLE TRIGGER USER;
         INSERT INTO items SELECT sno_make('2026-01-01Z'::timestamptz + n / 200 * interval '4 ms', n % 3, 7, n), n
         FROM generate_series(1, 1000) n",
    );
    client.run(
        "CREATE TABLE tagged (tag integer, id sno NOT NULL, n integer); INSERT INTO tagged SELECT t, id, n FROM items, generate_series(1, 5) t;
         CREATE INDEX ON tagged (id); SELECT sno_create_feed('tagged', 'tagged', key => 'id', margin => '0')",
    );
    for (feed, size, batches) in [("feed', NULL::items", 33, 31), ("tagged', NULL::tagged", 33, 143)] {
        client.run("SELECT sno_seek_feed('feed', '-infinity'), sno_seek_feed('tagged', '-infinity')");
        client.run("CREATE TABLE got (id sno, n integer, batch integer, place serial)");
        for batch in 1..=batches + 1 {
            let copy = format!(
                "INSERT INTO got (id, n, batch) SELECT id, n, {batch} FROM sno_feed('{feed}, {size})"
            );
            let rows = client.execute(&*copy, &[]).unwrap();
            assert!(
                rows >= size && rows < size + 5 || batch >= batches,
                "{rows} rows of {feed} in batch {batch}"
            );
            assert!((rows > 0) == (batch <= batches), "{rows} rows of {feed} in batch {batch}");
        }
        for (wrong, query) in [
            (
                "order",
                "SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY place) AS back FROM got) g WHERE back",
            ),
            (
                "a key in two batches",
                "SELECT count(*) FROM (SELECT FROM got GROUP BY id HAVING count(DISTINCT batch) > 1) g",
            ),
            ("missing", "SELECT 1000 - count(DISTINCT id) FROM got"),
            ("twice", "SELECT count(*) % 1000 FROM got"),
        ] {
            assert_eq!(client.one::<i64>(query), 0, "{wrong}: {feed}, {size}");
        }
        client.run("DROP TABLE got");
    }
}

/// The first ID there is, the last row of a batch that is deleted, IDs of one tick with the position.
#[test]
fn ends_of_batches() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "ALTER TABLE items DISABLE TRIGGER USER; INSERT INTO items VALUES ('2222222222222222', 1), ('2222222222222223', 2), ('2222222222222224', 3)",
    );
    assert_eq!(read(&mut client), "1 2 3");
    client.run("SELECT sno_seek_feed('feed', '-infinity')");
    for expected in ["1", "2", "3", ""] {
        assert_eq!(text(&mut client, &READ.replace("items)", "items, 1)")), expected);
    }
    client.run("SELECT sno_seek_feed('feed', after => '2222222222222222')");
    client.run("DELETE FROM items WHERE n = 3");
    assert_eq!(read(&mut client), "2");
    // Not beyond the horizon, and before its first ID; nor does a feed that has read nothing.
    client.run("SELECT sno_create_feed('new', 'items')");
    client.run("SELECT sno_seek_feed(feed, after => 'xxxxxxxxxxxxxxxx') FROM sno_feeds()");
    let all = "SELECT count(*) FILTER (WHERE position = sno_upper(sno_time(position)) AND position < sno_horizon('0')) FROM sno_feeds()";
    assert_eq!(client.one::<i64>(all), 2);
    client.run(&format!("{INSERT} (4)"));
    assert_eq!(read(&mut client), "4");
}

/// What a transaction has read comes again if it is rolled back, and not if it commits.
#[test]
fn transactions() {
    let server = Server::builder().conf("max_prepared_transactions", "9").start();
    server.run(SETUP);
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(&format!("{INSERT} (1), (2), (3)"));
    let one = READ.replace("items)", "items, 1)");
    next_tick();
    client.run("BEGIN");
    assert_eq!((text(&mut client, &one), text(&mut client, &one)), ("1".into(), "2".into()));
    client.run("SAVEPOINT s");
    assert_eq!(text(&mut client, &one), "3");
    client.run("ROLLBACK TO s");
    assert_eq!(text(&mut client, &one), "3");
    client.run("ROLLBACK");
    // Prepared: others wait, and get the rows if it is rolled back.
    client.run(&format!("BEGIN; {one}; PREPARE TRANSACTION 'one'"));
    other.run("SET lock_timeout = '10ms'");
    assert_eq!(code(&mut other, &format!("BEGIN; {one}")), "55P03");
    other.run("ROLLBACK");
    // docs/runbook.md has a query that shows for whom.
    let page = docs::page("runbook.md");
    let [query] = &docs::blocks(docs::section(&page, "A feed that stands still"), "sql")[..] else {
        panic!("one query")
    };
    let prepared = format!("SELECT prepared FROM ({}) q", query.sql.trim_end().trim_end_matches(';'));
    assert_eq!(text(&mut other, &prepared), "one");
    let got = meanwhile(&server, &one, || client.run("ROLLBACK PREPARED 'one'"));
    assert_eq!(got.as_deref(), Ok("1"));
    client.run(&format!("BEGIN; {one}; PREPARE TRANSACTION 'two'"));
    let got = meanwhile(&server, &one, || client.run("COMMIT PREPARED 'two'"));
    assert_eq!((got.as_deref(), text(&mut client, &one)), (Ok(""), "3".into()));
    // A call that finds nothing waits for nobody.
    client.run("BEGIN; SELECT FROM sno_internal.feed_positions WHERE feed = 'feed' FOR UPDATE");
    assert_eq!(read(&mut other), "");
    client.run("ROLLBACK");
}

/// A statement that has read too much can give back the rest.
#[test]
fn rows_that_are_given_back() {
    let server = server();
    let mut client = server.connect();
    client.run(&format!("{INSERT} (1), (2), (3), (4), (5)"));
    next_tick();
    for end in ["ROLLBACK", "COMMIT"] {
        client.run("BEGIN");
        assert_eq!(text(&mut client, &READ.replace("items)", "items, 4)")), "1 2 3 4");
        client.run(&format!(
            "SELECT sno_seek_feed('feed', after => (SELECT id FROM items WHERE n = 2)); {end}"
        ));
    }
    assert_eq!(read(&mut client), "3 4 5");
}
