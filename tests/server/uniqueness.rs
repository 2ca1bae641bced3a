//! `sno_new` from many connections at once: never the same ID, in order, at the right time, in the right
//! partition.

use sno_tests::postgres::Client;
use sno_tests::{Ids, Server, Sql as _, error, in_parallel, text};

#[test]
fn the_partition_is_the_prefix_and_the_pid() {
    for (prefix, first, span) in [("42", 42 * 256, 255), ("42/12", 42 * 16, 15), ("42/16", 42, 1)] {
        let server = Server::builder().conf("sno.partition_prefix", prefix).start();
        let mut all: Ids = in_parallel(20, |_| {
            let mut client = server.connect();
            let pid: i32 = client.one("SELECT pg_backend_pid()");
            let mut ids = server.ids();
            ids.query(&mut client, "SELECT sno_new(1) FROM generate_series(1, 50000)").unwrap();
            let partition = (first + pid % span) as u16;
            assert!(ids.iter().all(|id| id.partition() == partition), "{prefix}, PID {pid}");
            ids
        })
        .into_iter()
        .collect();
        all.assert_distinct();
    }
}

#[test]
fn ids_of_a_given_time_never_equal_live_ones() {
    let server = Server::builder().conf("sno.partition_prefix", "3").start();
    let mut all: Ids = in_parallel(8, |_| {
        let mut ids = server.ids();
        let query = "SELECT CASE WHEN n % 2 = 0 THEN sno_new(1) ELSE sno_new(1, now()) END
                     FROM generate_series(1, 10000) n";
        ids.query(&mut server.connect(), query).unwrap();
        ids
    })
    .into_iter()
    .collect();
    all.assert_distinct();
    let ported = all.iter().filter(|id| id.partition() == 3 * 256 + 255).count();
    assert_eq!(ported, 40_000);
}

#[test]
fn without_a_partition_of_their_own_there_are_no_ids_of_given_times() {
    let server = Server::builder().conf("sno.partition_prefix", "42/15").start();
    let mut client = server.connect();
    client.run("SELECT sno_new(1), sno_new(1, now())");
    server.configure("sno.partition_prefix", "42/16");
    server.reload();
    // The session of before, and a new one.
    for client in [&mut client, &mut server.connect()] {
        client.run("SELECT 1");
        let error = error(client, "SELECT sno_new(1, now())");
        assert_eq!(error.code().code(), "22023");
        assert_eq!(error.message(), "cannot generate IDs of given times under a partition prefix of 16 bits");
        assert_eq!(
            error.detail(),
            Some("They need a separate partition, and the prefix 42/16 has only one.")
        );
        assert_eq!(error.hint(), Some("Set \"sno.partition_prefix\" to one of at most 15 bits."));
        client.run("SELECT sno_new(1)");
    }
}

/// What docs/feeds.md says IDs are sorted by.
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
