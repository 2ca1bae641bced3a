//! Large indexes, checked entry by entry.
//!
//! 200,000 rows, unless `SNO_INDEX_ROWS` says otherwise: `make test-index` takes ten million.

use std::env;

use sno_tests::{Server, Sql as _};

use super::workers_started;

fn rows() -> u32 {
    env::var("SNO_INDEX_ROWS").map_or(200_000, |rows| rows.parse().expect("SNO_INDEX_ROWS: a number"))
}

/// IDs at random times, of one hour, of one bulk load (ten thousand to the tick), and few that are repeated: in
/// random order and sorted; built by one process and by three; in memory and on disk.
#[test]
fn every_entry_of_a_large_btree_is_in_its_place() {
    let builder = Server::builder().conf("max_parallel_workers", "4").conf("max_wal_size", "4GB");
    let server = builder.conf("log_min_messages", "debug1").start();
    let mut client = server.connect();
    let pid: i32 = client.one("SELECT pg_backend_pid()");
    let rows = rows();
    client.run(
        "CREATE EXTENSION amcheck;
             SET trace_sort = on;
             SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;
             SELECT setseed(0.5);",
    );
    for (input, id) in [
        (
            "any time",
            "sno_make('2010-01-01Z'::timestamptz + random() * interval '69 years', (random() * 255)::integer,
                (random() * 65535)::integer, (random() * 65535)::integer)",
        ),
        (
            "one hour",
            "sno_make('2026-11-01Z'::timestamptz + random() * interval '1 hour', 0, n % 100, n % 65536)",
        ),
        ("one load", "sno_make('2026-11-01Z'::timestamptz + k / 10000 * interval '4 ms', 0, 1, k % 10000)"),
        ("sorted", "sno_make('2026-11-01Z'::timestamptz + n / 10 * interval '4 ms', 0, 1, n % 10)"),
        ("repeated", "sno_make('2026-11-01Z'::timestamptz + n % 3 * interval '4 ms', 0, 1, 0)"),
    ] {
        client
            .run(&format!(
                "CREATE UNLOGGED TABLE t AS SELECT {id} AS id
                 FROM (SELECT n, (n::bigint * 7368787 % {rows})::integer AS k FROM generate_series(1, {rows}) n) n;
                 ALTER TABLE t SET (parallel_workers = 2);"
            ));
        let aborted = server.log().matches("aborting abbreviation").count();
        // A worker is granted for each 32 MB of memory.
        for (memory, wanted) in [("256MB", 0), ("256MB", 2), ("4MB", 0), ("96MB", 2)] {
            client.run(&format!(
                "SET maintenance_work_mem = '{memory}'; SET max_parallel_maintenance_workers = {wanted};"
            ));
            let before = workers_started(&server, pid);
            client.run("CREATE INDEX i ON t (id)");
            let had = workers_started(&server, pid) - before;
            assert_eq!(had, wanted, "{input}, {memory}: parallel workers");
            client
                .batch_execute("SELECT bt_index_check('i', heapallindexed => true); DROP INDEX i;")
                .unwrap_or_else(|e| panic!("{input}, {memory}, {wanted} workers: {e:?}"));
        }
        client.run("DROP TABLE t");
        // Abbreviated keys tell IDs apart, so they are used; unless there are only three.
        let aborted = server.log().matches("aborting abbreviation").count() - aborted;
        assert_eq!(aborted > 0, input == "repeated", "{input}: {aborted} sorts without abbreviated keys");
    }
}
