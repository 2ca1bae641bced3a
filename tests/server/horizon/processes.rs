//! Parallel workers, which generate nothing, and background workers.

use sno_tests::{Server, Sql as _, code, plan, text, wait_until};

use super::{NOW, holders, settled};

/// What a worker announces would end with it, before its leader commits the rows. So it generates nothing, and the leader of a parallel plan does.
#[test]
fn parallel_workers_generate_nothing() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE source AS SELECT n FROM generate_series(1, 20000) n; ANALYZE source;
         CREATE FUNCTION hidden() RETURNS sno PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_new(1); END';
         CREATE FUNCTION asks(id sno) RETURNS boolean PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_holds_horizon(id); END';
         SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;
         SET parallel_tuple_cost = 0; SET parallel_leader_participation = off",
    );
    let query = |call: &str| {
        format!("SELECT count(DISTINCT id) FROM (SELECT {call} AS id FROM source WHERE n > 0 OFFSET 0) s")
    };
    assert!(plan(&mut client, "COSTS off", &query("sno_new(1)")).contains("Gather"));
    assert_eq!(client.one::<i64>(&query("sno_new(1)")), 20_000);
    // Also where the leader has announced.
    for begin in ["BEGIN", "BEGIN; SELECT sno_new()"] {
        for call in ["hidden()", "asks('2222222222222222')"] {
            client.run(begin);
            assert_eq!(code(&mut client, &query(call)), "25000", "{begin}; {call}");
            client.run("ROLLBACK");
        }
    }
}

/// A background worker, such as one that applies what is replicated, has a place of its own among the processes.
#[test]
fn a_background_worker_generates_too() {
    let server = Server::builder().conf("wal_level", "logical").start();
    let mut there = server.connect();
    there.run("CREATE DATABASE here");
    there.run("CREATE TABLE items (n integer PRIMARY KEY); CREATE PUBLICATION all_items FOR TABLE items");
    there.run("SELECT pg_create_logical_replication_slot('items', 'pgoutput')");
    let mut here = server.connect_to("here");
    here.run("CREATE EXTENSION IF NOT EXISTS sno");
    here.run("CREATE TABLE items (n integer PRIMARY KEY, id sno NOT NULL DEFAULT sno_new(1))");
    here.run(&format!(
        "CREATE SUBSCRIPTION items CONNECTION '{}'
             PUBLICATION all_items WITH (create_slot = false, slot_name = 'items', copy_data = false)",
        server.connection_string()
    ));
    there.run("INSERT INTO items SELECT generate_series(1, 100)");
    wait_until("replicated rows", || here.one::<i64>("SELECT count(*) FROM items") == 100);
    assert!(settled(&mut here));
    // It holds back the horizon of its own database.
    here.run(
        "CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql
           AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
         CREATE TRIGGER stay AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION stay();
         ALTER TABLE items ENABLE ALWAYS TRIGGER stay; SELECT pg_advisory_lock(1)",
    );
    there.run("INSERT INTO items VALUES (0)");
    wait_until("a worker that applies a row", || !holders(&mut here).is_empty());
    let worker = "SELECT pid::text FROM pg_stat_subscription WHERE relid IS NULL";
    assert_eq!(holders(&mut here), [text(&mut here, worker)]);
    let held = text(&mut here, NOW);
    there.run("CREATE EXTENSION IF NOT EXISTS sno");
    assert_eq!(holders(&mut there), [""; 0]);
    // Both are of the same tick if it has just begun.
    wait_until("a later horizon of the other database", || text(&mut there, NOW) > held);
    here.run("SELECT pg_advisory_unlock(1)");
    wait_until("the row", || here.one::<i64>("SELECT count(*) FROM items") == 101);
    assert!(settled(&mut here));
    here.run("ALTER SUBSCRIPTION items DISABLE");
}
