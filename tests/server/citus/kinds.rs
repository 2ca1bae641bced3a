//! Which rows a feed refuses, at each call, and how.

use sno_tests::{Sql as _, code, error, wait_until};

use super::Cluster;

#[test]
#[ignore = "needs Citus: make test-citus"]
fn what_is_refused() {
    let cluster = Cluster::new(1);
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
    client.run("SELECT create_distributed_table('items', 'id')");

    // A shard by its own name, on its worker. Citus hides them.
    let worker = &cluster.workers[0];
    let mut on_worker = worker.connect();
    wait_until("the metadata is there", || on_worker.one("SELECT to_regclass('items') IS NOT NULL"));
    let shard: String =
        client.one("SELECT shard_name::text FROM citus_shards WHERE table_name = 'items'::regclass LIMIT 1");
    let create = format!("SELECT sno_create_feed('shard', '{shard}')");
    assert_eq!(code(&mut on_worker, &create), "55000");

    // A worker that does not know the coordinator.
    on_worker.run("SELECT sno_create_feed('worker', 'items', margin => '0.1 s'); UPDATE pg_dist_node SET groupid = 9 WHERE groupid = 0");
    client.run("INSERT INTO items (id) VALUES (DEFAULT)");
    let unknown = error(&mut on_worker, "SELECT FROM sno_peek_feed('worker', NULL::items)");
    assert_eq!(unknown.code().code(), "55000", "{unknown}");
    assert_eq!(unknown.message(), "coordinator is not in the list of nodes");
    on_worker.run("UPDATE pg_dist_node SET groupid = 0 WHERE groupid = 9");

    // Changes: Citus would copy the triggers of a table to other nodes, and not the log that they name.
    client.run(
        "CREATE TABLE local (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); SELECT citus_add_local_table_to_metadata('local');
         CREATE TABLE tracked (id sno PRIMARY KEY, n integer); SELECT sno_track_changes('tracked')",
    );
    for table in ["items", "local"] {
        assert_eq!(code(&mut client, &format!("SELECT sno_track_changes('{table}')")), "42809");
    }
    for distribute in [
        "create_distributed_table('tracked', 'id')",
        "create_reference_table('tracked')",
        "citus_add_local_table_to_metadata('tracked')",
    ] {
        assert_ne!(code(&mut client, &format!("SELECT {distribute}")), "00000", "{distribute}");
    }
}
