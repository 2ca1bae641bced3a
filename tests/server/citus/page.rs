//! The page about Citus, in its order.

use std::fs;

use sno_tests::{Mode, Sql as _, error, text, wait_until};

use super::feeds::check;
use super::losses::cluster;
use super::{Cluster, NUMBER, made_up, node, numbers, server};
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
    let triggers = "DROP TRIGGER sno_own_keys ON events; DROP TRIGGER sno_changed_keys ON events";
    assert!(page("citus.md").contains(&format!("`{triggers}`")));
    client.run(triggers);
    client.run("SELECT create_distributed_table('events', 'id')");
    wait_until("the setting is read", || numbers(&cluster) == "0/8 1/8");
    client.run("INSERT INTO events (n) SELECT generate_series(101, 200)");
    client.run("CALL sno_wait_feed('f', '20 s')");
    client.run("SELECT pg_sleep(0.3)");
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('f', NULL::events)"), 140);
}

/// All nodes are restored to one point, at other addresses, while a feed has read half of the rows.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_cluster_is_restored() {
    let page = page("citus.md");
    let (cluster, mut client, mut read) = cluster(1);
    let restored = [&cluster.coordinator, &cluster.workers[0]].map(|node| {
        let copy = node.standby();
        for (name, value) in [("recovery_target_name", "hourly"), ("recovery_target_action", "promote")] {
            assert!(page.contains(&format!("`{name} = '{value}'`")));
            copy.configure(name, value);
        }
        copy.restart(Mode::Fast);
        copy
    });
    client.run("INSERT INTO items (n) SELECT generate_series(1, 5)");
    check(&mut client, &mut read);
    client.run("INSERT INTO items (n) SELECT generate_series(6, 10)");
    client.run(page.lines().find(|line| line.contains("citus_create_restore_point")).unwrap());
    client.run("INSERT INTO items (n) VALUES (11)");
    for (old, new) in cluster.nodes().zip(&restored) {
        wait_until("it is promoted", || new.connect().one("SELECT NOT pg_is_in_recovery()"));
        old.stop(Mode::Fast);
    }
    let [coordinator, worker] = &restored;
    let mut client = coordinator.connect();
    for (command, node, from) in [
        ("citus_update_node(nodeid, ", worker, " FROM pg_dist_node WHERE groupid = 1"),
        ("citus_activate_node(", worker, ""),
        ("citus_set_coordinator_host(", coordinator, ""),
    ] {
        assert!(page.contains(&format!("`SELECT {command}'…', 5432)`")));
        client.run(&format!("SELECT {command}'127.0.0.1', {}){from}", node.port()));
    }
    client.run("INSERT INTO items (n) SELECT generate_series(12, 20)");
    check(&mut client, &mut read);
    assert_eq!(read.len(), 20);
}

/// One node after the other is restarted, as with another version of the library; then the SQL of all is updated.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_cluster_is_upgraded() {
    let (cluster, mut client, mut read) = cluster(2);
    for (n, node) in cluster.nodes().enumerate() {
        client.run(&format!("INSERT INTO items (n) VALUES ({})", n + 1));
        node.stop(Mode::Fast);
        if n > 0 {
            assert!(
                error(&mut client, "SELECT FROM sno_peek_feed('f', NULL::items)")
                    .code()
                    .code()
                    .starts_with("08")
            );
        }
        node.start();
        client = cluster.coordinator.connect();
        check(&mut client, &mut read);
    }
    let version = text(&mut client, "SELECT extversion FROM pg_extension WHERE extname = 'sno_citus'");
    fs::write(made_up::extensions().join(format!("sno_citus--{version}--next.sql")), "").unwrap();
    client.run("ALTER EXTENSION sno_citus UPDATE TO 'next'");
    let versions = "SELECT string_agg(result, ' ')
        FROM run_command_on_all_nodes('SELECT extversion FROM pg_extension WHERE extname = ''sno_citus''')";
    assert_eq!(text(&mut client, versions), "next next next");
}
