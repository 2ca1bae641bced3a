//! A server that has not preloaded the library: it reads, stores and restores IDs, and makes none.

use sno_tests::{Server, Sql as _, error, plan, text};

/// Everything that needs shared memory or a setting of the server's.
const GENERATORS: [&str; 13] = [
    "sno_new()",
    "sno_new(1)",
    "sno_new(1, now())",
    "sno_horizon()",
    "sno_generator()",
    "(SELECT count(*) FROM sno_generators)",
    "(SELECT count(*) FROM sno_horizon_holders)",
    "snowflake_si_new()",
    "snowflake_si_time(1)",
    "uid60_new()",
    "uniqueid_new()",
    "(SELECT count(*) FROM sno_compat_generators)",
    "(SELECT count(*) FROM made)",
];

#[test]
fn without_it_ids_are_read_and_none_is_made() {
    // A prefix may be there already: nobody is to think that it counts.
    let server = Server::builder().preload(false).conf("sno.partition_prefix", "5").start();
    server.run("CREATE EXTENSION sno_compat; CREATE VIEW made AS SELECT sno_new()");
    assert!(server.log().contains("WARNING:  sno is not loaded via"));
    let mut client = server.connect();
    // More than once: nothing may be remembered as being in order.
    for _ in 0..2 {
        for query in GENERATORS {
            let error = error(&mut client, &format!("SELECT {query}"));
            assert_eq!(error.code().code(), "55000", "{query}: {error}");
            assert_eq!(error.message(), "sno must be loaded via \"shared_preload_libraries\"", "{query}");
            assert!(error.hint().unwrap().contains("restart the server"), "{query}");
        }
    }
    assert_eq!(text(&mut client, "SELECT sno_holds_horizon('9q7k4op826n2g222')"), "f");
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(), n int);
         INSERT INTO items SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 s', 0, 0, 0), n
         FROM generate_series(1, 100000) n; ANALYZE items",
    );
    assert_eq!(error(&mut client, "INSERT INTO items DEFAULT VALUES").code().code(), "55000");
    // The planner part, in a session whose first statement this is, and its setting.
    let hour = "SELECT * FROM items WHERE sno_time(id) >= '2026-01-01 01:00Z' AND sno_time(id) < '2026-01-01 02:00Z'";
    let mut client = server.connect();
    assert!(plan(&mut client, "COSTS off", hour).contains("Index Cond"));
    client.run("SET sno.enable_time_conditions = off");
    assert!(!plan(&mut client, "COSTS off", hour).contains("Index Cond"));
}

#[test]
fn a_dump_goes_from_a_server_with_it_to_one_without_it() {
    let server = Server::builder().start();
    server.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n int);
         INSERT INTO items (n) SELECT generate_series(1, 1000)",
    );
    let dump = server.command("pg_dump").output().unwrap();
    assert!(dump.status.success(), "{dump:?}");
    let warehouse = Server::builder().preload(false).extension(false).start();
    let output = warehouse.psql(&String::from_utf8(dump.stdout).unwrap());
    assert!(!String::from_utf8_lossy(&output.stderr).contains("ERROR"), "{output:?}");
    let rows = "SELECT count(*) || ' ' || max(id)::text FROM items";
    assert_eq!(text(&mut warehouse.connect(), rows), text(&mut server.connect(), rows));
}
