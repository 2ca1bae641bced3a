//! What docs/order.md says: what IDs are sorted by, that a reader who remembers the last ID misses what commits late,
//! and three ways to miss nothing.

use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, text};

const QUEUE: &str = "CREATE TABLE queue (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)";

/// The numbers of the rows that a query returns, as they come.
fn numbers(client: &mut Client, query: &str) -> Vec<i32> {
    client.query(query, &[]).unwrap().iter().map(|row| row.get("n")).collect()
}

#[test]
fn within_a_session_ids_of_one_metabyte_are_in_the_order_of_their_calls() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client
        .run(
            "CREATE TABLE calls AS
             SELECT n, CASE WHEN n % 2 = 0 THEN sno_new(1) ELSE sno_new(2) END AS id FROM generate_series(1, 200000) n",
        );
    let out_of_order = |client: &mut Client, window: &str| -> i64 {
        let query = format!(
            "SELECT count(*) FROM (SELECT id < lag(id) OVER ({window} ORDER BY n) AS back FROM calls) c WHERE back"
        );
        client.one(&query)
    };
    assert_eq!(out_of_order(&mut client, "PARTITION BY sno_metabyte(id)"), 0);
    // With two metabytes the tick decides, and within a tick the metabyte.
    assert!(out_of_order(&mut client, "") > 1000);
    assert_eq!(
        text(
            &mut client,
            "SELECT (count(*) FILTER (WHERE sno_time(id) < earlier))::text
             FROM (SELECT id, lag(sno_time(id)) OVER (ORDER BY n) AS earlier FROM calls) c"
        ),
        "0"
    );
}

/// One late commit: the reader who remembers the last ID never sees it, the others do.
#[test]
fn the_last_id_seen_misses_a_late_commit() {
    let server = Server::builder().conf("wal_level", "logical").start();
    let (mut late, mut early, mut reader) = (server.connect(), server.connect(), server.connect());
    reader.run(QUEUE);
    reader.query("SELECT pg_create_logical_replication_slot('commits', 'test_decoding')", &[]).unwrap();

    late.run("BEGIN; INSERT INTO queue (n) VALUES (1)");
    thread::sleep(Duration::from_millis(20));
    early.run("INSERT INTO queue (n) VALUES (2)");

    // The horizon stops before the transaction that is still open.
    let below_the_horizon = |client: &mut Client| {
        thread::sleep(Duration::from_millis(20));
        let horizon = text(client, "SELECT sno_horizon('0')::text");
        numbers(client, &format!("SELECT n FROM queue WHERE id < '{horizon}' ORDER BY id"))
    };
    assert_eq!(below_the_horizon(&mut reader), Vec::<i32>::new());
    assert_eq!(numbers(&mut reader, "SELECT n FROM queue ORDER BY id"), [2]);
    let seen = text(&mut reader, "SELECT max(id)::text FROM queue");

    late.run("COMMIT");
    let after = format!("SELECT n FROM queue WHERE id > '{seen}' ORDER BY id");
    assert_eq!(numbers(&mut reader, &after), Vec::<i32>::new(), "the late commit is missed");
    assert_eq!(numbers(&mut reader, "SELECT n FROM queue ORDER BY id"), [1, 2]);

    let again = format!(
        "SELECT n FROM queue WHERE id >= sno_lower(sno_time('{seen}') - interval '1 minute') AND id <> '{seen}'"
    );
    assert_eq!(numbers(&mut reader, &again), [1]);
    assert_eq!(below_the_horizon(&mut reader), [1, 2]);
    let commits = "SELECT substring(data FROM ' n\\[integer\\]:(\\d+)')::integer AS n
        FROM pg_logical_slot_get_changes('commits', NULL, NULL) WHERE data LIKE '%INSERT%'";
    assert_eq!(numbers(&mut reader, commits), [2, 1]);
}
