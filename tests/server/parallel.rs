//! Parallel workers: they start without what their leader has not loaded yet.

use sno_tests::Server;

/// The server's own prefix is in `postgresql.conf`, and the first thing that a session does with a sno is a
/// statement that runs in parallel: leader and workers load the library in the middle of it.
#[test]
fn the_first_statement_of_a_session_may_be_parallel() {
    let server = Server::builder().conf("sno.partition_prefix", "42").start();
    server
        .connect()
        .batch_execute(
            "CREATE TABLE t (id sno NOT NULL DEFAULT sno_new(1), n integer);
             INSERT INTO t SELECT sno_new(n % 4), n FROM generate_series(1, 100000) n;
             ALTER TABLE t SET (parallel_workers = 2);
             ANALYZE t;",
        )
        .unwrap();
    let parallel = "SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0;
                    SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;";
    for statement in [
        "CREATE INDEX ON t (id)",
        "CREATE INDEX ON t (n) WHERE sno_metabyte(id) = 3",
        "SELECT count(*) FROM t WHERE sno_metabyte(id) = 3",
        "SELECT max(id) FROM t WHERE n > 0",
    ] {
        let mut session = server.connect();
        session.batch_execute(parallel).unwrap();
        session.batch_execute(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        let partition: i32 = session.query_one("SELECT sno_partition(sno_new(1))", &[]).unwrap().get(0);
        assert_eq!(partition >> 8, 42, "after {statement}");
    }
}
