//! Parallel workers: they start without what their leader has not loaded yet.

use sno_tests::{Server, Sql as _};

use super::workers_started;

/// The server's own prefix is in `postgresql.conf`, and the first thing that a session does with a sno is a
/// statement that runs in parallel: leader and workers load the library in the middle of it.
#[test]
fn the_first_statement_of_a_session_may_be_parallel() {
    // So the server's log has a line for each worker.
    let builder = Server::builder().conf("sno.partition_prefix", "42").conf("log_min_messages", "debug1");
    let server = builder.start();
    server.run(
        "CREATE TABLE t (id sno NOT NULL DEFAULT sno_new(1), n integer);
             INSERT INTO t SELECT sno_new(n % 4), n FROM generate_series(1, 100000) n;
             ALTER TABLE t SET (parallel_workers = 2);
             ANALYZE t;",
    );
    // A worker is granted for each 32 MB of memory.
    let parallel = "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '96MB';
                    SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;
                    SET parallel_tuple_cost = 0;";
    for (statement, index) in [
        ("CREATE INDEX i ON t (id)", true),
        ("CREATE INDEX i ON t (n) WHERE sno_metabyte(id) = 3", true),
        ("SELECT count(*) FROM t WHERE sno_metabyte(id) = 3", false),
        ("SELECT max(id) FROM t WHERE n > 0", false),
    ] {
        let mut session = server.connect();
        session.run(parallel);
        session.run(statement);
        let partition: i32 = session.one("SELECT sno_partition(sno_new(1))");
        assert_eq!(partition >> 8, 42, "after {statement}");
        let pid: i32 = session.one("SELECT pg_backend_pid()");
        assert_ne!(workers_started(&server, pid), 0, "no workers: {statement}");
        if index {
            // The next one is to read the table.
            session.run("DROP INDEX i");
        }
    }
}
