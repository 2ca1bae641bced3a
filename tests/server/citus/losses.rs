//! What would lose rows of feeds over tables of Citus: it cannot happen, or is an error that says what to do.

use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, error, text, wait_until};

use super::feeds::{Stalled, check, take};
use super::{Cluster, NUMBER, node, texts};

/// A cluster with a distributed table, and a feed of it that has read a row.
pub(super) fn cluster(workers: usize) -> (Cluster, Client, Vec<String>) {
    let cluster = Cluster::new(workers);
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
    client.run("SELECT create_distributed_table('items', 'id')");
    client.run("SELECT sno_create_feed('f', 'items', margin => '0.1 s'); INSERT INTO items (n) VALUES (0)");
    let mut read = Vec::new();
    check(&mut client, &mut read);
    (cluster, client, read)
}

/// The error of the feed, which has a row to read.
#[track_caller]
fn refused(client: &mut Client, message: &str) {
    let failed = error(client, "SELECT FROM sno_peek_feed('f', NULL::items)");
    assert_eq!(failed.code().code(), "55000", "{failed}");
    assert!(failed.message().contains(message), "{failed}");
    assert!(failed.hint().is_some(), "{failed}");
}

/// Writes rows by a node, whose clock is right afterwards, and has the coordinator's pass it.
fn write(server: &Server, numbers: &str) {
    let mut client = server.connect();
    wait_until("the metadata is there", || client.one("SELECT to_regclass('items') IS NOT NULL"));
    for n in texts(&mut client, &format!("SELECT generate_series({numbers})::text")) {
        client.run(&format!("INSERT INTO items (n) VALUES ({n})"));
    }
    server.set_clock("0");
    thread::sleep(Duration::from_millis(500));
}

/// One INSERT of one row, whose session ends before the other node has begun to write: the node waits for a lock, or has not read the statement. Then
/// the row never comes.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_row_that_is_written_after_its_session() {
    let (cluster, mut client, mut read) = cluster(1);
    let worker = &cluster.workers[0];
    let shards =
        texts(&mut client, "SELECT shard_name::text FROM citus_shards WHERE table_name = 'items'::regclass");
    for (n, is_locked, ends) in
        [(1, true, "kill"), (2, false, "kill"), (3, false, "cancel"), (4, true, "terminate")]
    {
        let mut writer = cluster.coordinator.connect();
        // The connection to the worker is kept.
        for _ in 0..20 {
            writer.run(&format!("INSERT INTO items (n) VALUES ({n} * 100)"));
        }
        let process: i32 = writer.one("SELECT pg_backend_pid()");
        let session: i64 = writer.one("SELECT citus_backend_gpid()");
        let mut locks = worker.connect();
        let mut stalled = None;
        if is_locked {
            locks.run("SET citus.override_table_visibility = off; SET citus.enable_manual_changes_to_shards = on; BEGIN");
            for shard in &shards {
                locks.run(&format!("LOCK TABLE {shard} IN SHARE MODE"));
            }
        } else {
            let query = format!(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'citus_internal gpid={session}'"
            );
            let processes: Vec<i32> =
                locks.query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect();
            assert!(!processes.is_empty());
            stalled = Some(Stalled::new(processes));
        }
        if ends == "cancel" {
            writer.run("SET statement_timeout = '1 s'");
        }
        let insert = thread::spawn(move || {
            let failed = writer.batch_execute(&format!("INSERT INTO items (n) VALUES ({n})"));
            assert!(failed.is_err(), "{ends}");
            writer
        });
        thread::sleep(Duration::from_millis(700));
        match ends {
            "kill" => cluster.coordinator.crash_backend(process),
            "terminate" => client.run(&format!("SELECT pg_terminate_backend({process})")),
            _ => {}
        }
        let writer = insert.join().unwrap();
        client = cluster.coordinator.connect();
        // The feed is read up to a time after the row.
        client.run("UPDATE sno_internal.feed_positions SET moved = '2026-01-01Z'");
        thread::sleep(Duration::from_millis(300));
        for _ in 0..3 {
            read.extend(take(&mut client));
        }
        locks.run("ROLLBACK");
        drop(stalled);
        thread::sleep(Duration::from_millis(500));
        client.run(&format!("INSERT INTO items (n) VALUES ({n} * 100 + 1)"));
        check(&mut client, &mut read);
        assert!(!read.contains(&n.to_string()), "{ends}");
        drop(writer);
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_reader_of_secondaries() {
    let (cluster, mut client, mut read) = cluster(1);
    client.run("INSERT INTO items (n) VALUES (1)");
    // It has secondaries, or there would be no rows to read.
    let worker = &cluster.workers[0];
    let secondary = worker.standby();
    let (port, of) = (secondary.port(), worker.port());
    client.run(&format!("SELECT citus_add_secondary_node('127.0.0.1', {port}, '127.0.0.1', {of})"));
    let mut reader = cluster.coordinator.connect_with("-c citus.use_secondary_nodes=always");
    wait_until("the row is replayed", || reader.one::<i64>("SELECT count(*) FROM items WHERE n = 1") == 1);
    refused(&mut reader, "cannot read a feed while \"citus.use_secondary_nodes\" is \"always\"");
    check(&mut client, &mut read);
}

/// The feed was read just before, and is read again when the clock of the new node is right.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_node_that_joins_with_a_slow_clock() {
    let (mut cluster, mut client, mut read) = cluster(1);
    // By the way: one with a right clock.
    cluster.add(node(NUMBER));
    write(&cluster.workers[1], "1, 3");
    check(&mut client, &mut read);
    let slow = node(NUMBER);
    slow.set_clock("-10");
    cluster.add(slow);
    write(&cluster.workers[2], "4, 8");
    client.run("INSERT INTO items (n) VALUES (9)");
    thread::sleep(Duration::from_millis(500));
    let behind = "and a server that was not asked then has rows before that";
    refused(&mut client, behind);
    assert_eq!(error(&mut client, "CALL sno_wait_feed('f', '5 s')").code().code(), "55000");
    let again = "SELECT sno_seek_feed('f', since => now() - interval '5 min')";
    client.run(again);
    check(&mut client, &mut Vec::new());
    // One that comes and goes between two calls. Also after a crash, when Citus leaves groups out.
    for is_slow in [false, true] {
        let added = node(NUMBER);
        added.set_clock(if is_slow { "-100" } else { "0" });
        cluster.add(added);
        let added = cluster.workers.pop().unwrap();
        write(&added, "10, 12");
        client.run(&format!("SELECT citus_remove_node('127.0.0.1', {})", added.port()));
        added.stop(Mode::Fast);
        client.run("INSERT INTO items (n) VALUES (13)");
        thread::sleep(Duration::from_millis(500));
        if is_slow {
            refused(&mut client, behind);
            client.run(again);
            check(&mut client, &mut Vec::new());
        } else {
            cluster.coordinator.stop(Mode::Crash);
            cluster.coordinator.start();
            client = cluster.coordinator.connect();
            let mut rows = Vec::new();
            wait_until("all come", || {
                rows.extend(take(&mut client));
                rows.len() == 4
            });
        }
        client.run("DELETE FROM items WHERE n >= 10");
    }
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_standby_with_a_slow_clock() {
    for slow in [false, true] {
        let (mut cluster, mut client, mut read) = cluster(1);
        let standby = cluster.workers[0].standby();
        let node: i32 = client.one("SELECT nodeid FROM pg_dist_node WHERE groupid = 1");
        // Only the coordinator commits anything meanwhile.
        client.run("UPDATE sno_internal.feed_positions SET moved = '2026-01-01Z'; SELECT pg_sleep(3)");
        assert!(take(&mut client).is_empty());
        cluster.workers[0].wait_replayed(&standby);
        cluster.workers[0].stop(Mode::Crash);
        if slow {
            standby.set_clock("-10");
        }
        standby.promote();
        client.run(&format!("SELECT citus_update_node({node}, '127.0.0.1', {}, true, 100)", standby.port()));
        cluster.workers[0] = standby;
        write(&cluster.workers[0], "1, 5");
        client = cluster.coordinator.connect();
        client.run("INSERT INTO items (n) VALUES (9)");
        thread::sleep(Duration::from_millis(500));
        if slow {
            refused(&mut client, "and a server that was not asked then has rows before that");
            client.run("SELECT sno_seek_feed('f', since => now() - interval '1 min')");
            read.clear();
        }
        check(&mut client, &mut read);
    }
}

/// A node that is disabled does not hear of nodes that join later.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_reader_on_a_disabled_node() {
    let (mut cluster, mut client, _) = cluster(1);
    cluster.add(node(NUMBER));
    let mut reader = cluster.workers[1].connect();
    wait_until("the metadata is there", || reader.one("SELECT to_regclass('items') IS NOT NULL"));
    reader.run("SELECT sno_create_feed('f', 'items', margin => '0.1 s')");
    let port = cluster.workers[1].port();
    client.run(&format!("SELECT citus_disable_node('127.0.0.1', {port}, true)"));
    client.run("INSERT INTO items (n) VALUES (1)");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(text(&mut reader, "SELECT count(*) > 0 FROM sno_peek_feed('f', NULL::items)"), "t");
    cluster.add(node(NUMBER));
    refused(&mut reader, "this node does not have the coordinator's list of nodes");
    assert_eq!(error(&mut reader, "SELECT sno_read_by_all('items')").code().code(), "55000");
}

/// Citus leaves a removed node its metadata: its clients go on.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_node_that_is_removed() {
    let (mut cluster, mut client, mut read) = cluster(1);
    cluster.add(node(NUMBER));
    let removed = &cluster.workers[1];
    write(removed, "1, 2");
    check(&mut client, &mut read);
    let mut writer = removed.connect();
    writer.run("BEGIN");
    let id = text(&mut writer, "SELECT sno_new(1)");
    client.run(&format!("SELECT citus_remove_node('127.0.0.1', {})", removed.port()));
    client.run("INSERT INTO items (n) VALUES (4)");
    thread::sleep(Duration::from_millis(300));
    refused(&mut client, "has left the cluster since the feed was read");
    writer.run(&format!("INSERT INTO items VALUES ('{id}', 3); COMMIT"));
    refused(&mut client, "has left the cluster since the feed was read");
    // Its clients have ended.
    drop(writer);
    client.run("SELECT sno_seek_feed(feed, after => position) FROM sno_feeds()");
    check(&mut client, &mut read);
}
