//! The page about Citus, in its order.

use sno_tests::{Sql as _, wait_until};

use super::{Cluster, NUMBER, node, numbers, server};
use crate::docs::{Block, blocks, page, psql};

#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_page_about_citus() {
    let cluster = Cluster::new(2);
    let page = page("citus.md");
    let mut count = 0;
    for Block { sql, .. } in blocks(&page, "postgresql") {
        let printed = psql(&cluster.coordinator, sql);
        assert!(
            printed.status.success(),
            "{sql}\n{}\n{}",
            String::from_utf8_lossy(&printed.stderr),
            cluster.coordinator.log()
        );
        count += 1;
    }
    assert!(count >= 5, "{count} blocks");

    // Rows of a distributed table get their IDs on the workers if their values come from one, all others here.
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE copies (id sno PRIMARY KEY DEFAULT sno_new(2), n integer)");
    client.run("SELECT create_distributed_table('copies', 'id')");
    client.run("INSERT INTO copies (n) SELECT n FROM events");
    let numbers = |client: &mut _, table: &str| {
        let query = format!("SELECT string_agg(DISTINCT (sno_partition(id) >> 8)::text, ' ') FROM {table}");
        sno_tests::text(client, &query)
    };
    assert_eq!(numbers(&mut client, "events"), "0");
    assert_eq!(numbers(&mut client, "copies"), "1 2");
}

/// A server that was alone, with its own number, rows and a feed, becomes the coordinator.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn from_one_server_to_a_cluster() {
    let alone = server("42/8");
    let mut client = alone.connect();
    client.run(
        "CREATE EXTENSION sno; CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(), n integer);
         INSERT INTO events (n) SELECT generate_series(1, 100); SELECT sno_create_feed('f', 'events'); SELECT pg_sleep(0.3)",
    );
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('f', NULL::events, 60)"), 60);

    client.run("CREATE EXTENSION citus");
    let mut cluster = Cluster::of(alone);
    cluster.add(node(NUMBER));
    client.run("CREATE EXTENSION sno_citus");
    cluster.coordinator.configure("sno.partition_prefix", NUMBER);
    cluster.coordinator.reload();
    client.run("SELECT create_distributed_table('events', 'id')");
    wait_until("the setting is read", || numbers(&cluster) == "0/8 1/8");
    client.run("INSERT INTO events (n) SELECT generate_series(101, 200)");
    client.run("CALL sno_wait_feed('f', '20 s')");
    client.run("SELECT pg_sleep(0.3)");
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('f', NULL::events)"), 140);
}
