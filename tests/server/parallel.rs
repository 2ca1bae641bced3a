//! Parallel workers of a server that does not preload: they start without what their leader has not loaded yet.

use sno_tests::{Server, Sql as _};

use super::workers_started;

/// The first thing that a session does with a sno is a statement that runs in parallel: leader and workers load the
/// library in the middle of it.
#[test]
fn the_first_statement_of_a_session_may_be_parallel() {
    // So the server's log has a line for each worker.
    let server = Server::builder().preload(false).conf("log_min_messages", "debug1").start();
    server.run(
        "CREATE TABLE t (id sno NOT NULL, n integer);
             INSERT INTO t SELECT sno_make(now(), n % 4, 0, n % 65536), n FROM generate_series(1, 100000) n;
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
        let pid: i32 = session.one("SELECT pg_backend_pid()");
        assert_ne!(workers_started(&server, pid), 0, "no workers: {statement}");
        if index {
            // The next one is to read the table.
            session.run("DROP INDEX i");
        }
    }
}
