//! The server number that Citus gives: `sno.partition_prefix = 'citus/8'`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use sno_tests::{Ids, Server, Sql as _, Stop, code, error, in_parallel, skip, sql_file, wait_until};

use super::{Cluster, NUMBER, node, numbers};

#[test]
#[ignore = "needs Citus: make test-citus"]
fn each_node_has_the_number_of_its_group() {
    let mut cluster = Cluster::new(2);
    assert_eq!(numbers(&cluster), "0/8 1/8 2/8");
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE events (id sno DEFAULT sno_new(), tenant integer, PRIMARY KEY (tenant, id))");
    client.run("SELECT create_distributed_table('events', 'tenant')");

    cluster.add(node(NUMBER));
    assert_eq!(numbers(&cluster), "0/8 1/8 2/8 3/8");
    let nodes: Vec<&Server> = cluster.nodes().collect();
    in_parallel(nodes.len(), |number| {
        nodes[number].run("INSERT INTO events (tenant) SELECT n % 100 FROM generate_series(1, 50000) n");
    });
    // Keys that the workers generate.
    client.run("INSERT INTO events (tenant) SELECT tenant FROM events");
    let mut ids = Ids::new();
    ids.query(&mut client, "SELECT id FROM events").unwrap();
    assert_eq!(ids.len(), 400_000);
    ids.assert_distinct();
}

/// No ID while nobody knows the number.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn no_group_no_id() {
    let server = node(NUMBER);
    let mut client = server.connect();
    client.run("CREATE EXTENSION sno");
    for call in
        ["SELECT sno_new()", "SELECT sno_new(1, now())", "SELECT sno_horizon()", "SELECT sno_generator()"]
    {
        let error = error(&mut client, call);
        assert_eq!(error.code().code(), "55000", "{call}");
        assert!(error.message().starts_with("this server is not a node of a Citus cluster"), "{error}");
    }
    client.run(&format!("SELECT citus_set_coordinator_host('127.0.0.1', {})", server.port()));
    client.run("SELECT sno_new(), sno_new(1, now())");

    server.run("CREATE DATABASE other");
    let mut other = server.connect_to("other");
    other.run("CREATE EXTENSION sno");
    let missing = error(&mut other, "SELECT sno_new()");
    assert_eq!(missing.code().code(), "55000");
    assert!(missing.message().contains("database \"other\" does not have Citus"), "{missing}");

    // The same session, as soon as the group is another one.
    let group = |client: &mut postgres::Client, group: i32| {
        client.run(&format!("UPDATE pg_dist_local_group SET groupid = {group}"));
        client.run(&format!("UPDATE pg_dist_node SET groupid = {group}"));
    };
    let number = "SELECT concat(sno_partition(sno_new()) >> 8, ' ', sno_partition(sno_new(1, now())) >> 8)";
    assert_eq!(sno_tests::text(&mut client, number), "0 0");
    let mut changing = server.connect();
    group(&mut changing, 7);
    assert_eq!(sno_tests::text(&mut client, number), "7 7");
    group(&mut changing, 256);
    for call in ["SELECT sno_new()", "SELECT sno_new(1, now())"] {
        assert_eq!(code(&mut client, call), "22023");
    }
    server.configure("sno.partition_prefix", "citus/12");
    server.reload();
    wait_until("the setting is read", || client.batch_execute("SELECT sno_new()").is_ok());
    changing.run("DELETE FROM pg_dist_node");
    assert_eq!(code(&mut client, "SELECT sno_new()"), "55000");
    for wrong in ["citus/7", "citus/17", "citus8", "citus/", "citus/8/8", "citu"] {
        assert_eq!(
            code(&mut client, &format!("ALTER SYSTEM SET sno.partition_prefix = '{wrong}'")),
            "22023",
            "{wrong}"
        );
    }
}

/// Its leader generates, and joins a transaction of Citus while the workers run.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_parallel_plan_generates_ids() {
    let cluster = Cluster::new(1);
    let mut client = cluster.coordinator.connect();
    client.run(
        "CREATE TABLE rows AS SELECT generate_series(1, 100000) AS n; ALTER TABLE rows SET (parallel_workers = 2); ANALYZE rows;
         SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off",
    );
    let distinct =
        "SELECT count(DISTINCT id) FROM (SELECT sno_new(1) AS id FROM rows WHERE n > 0 OFFSET 0) r";
    assert!(sno_tests::plan(&mut client, "COSTS OFF", distinct).contains("Gather"));
    for _ in 0..2 {
        assert_eq!(client.one::<i64>(distinct), 100_000);
    }
}

/// Numbers by hand: whoever creates a feed or reads one is warned.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn one_number_of_two_nodes_is_a_warning() {
    let cluster = Cluster::new(1);
    let mut client = cluster.coordinator.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new());
         SELECT create_distributed_table('items', 'id'); SELECT sno_create_feed('f', 'items')",
    );
    let warning = "WARNING:  nodes 1 and 2 of the cluster have one server number";
    let mut before = 0;
    for (number, halves, warns) in [
        ("1/8", false, false),
        ("0/8", false, true),
        ("0/8", true, false),
        ("1/10", false, true),
        ("4/10", false, false),
    ] {
        let worker = &cluster.workers[0];
        worker.configure("sno.partition_prefix", number);
        for (node, half) in [(worker, "0-32767"), (&cluster.coordinator, "32768-65535")] {
            node.configure("sno.sequence_range", if halves { half } else { "0-65535" });
            node.reload();
        }
        let setting = "SELECT bool_and(result = '1/8') FROM run_command_on_all_nodes(
            'SELECT concat(prefix, ''/'', prefix_bits) FROM sno_generator()') WHERE nodeid = 2";
        wait_until("the setting is read", || client.one(&setting.replace("1/8", number)));
        client.run(
            "INSERT INTO items (id) VALUES (DEFAULT); CREATE TEMP TABLE read AS SELECT FROM sno_feed('f', NULL::items); DROP TABLE read",
        );
        let count = cluster.coordinator.log().matches(warning).count();
        assert_eq!(count > before, warns, "{number} {halves}");
        before = count;
    }
}

/// A clone is a standby of a worker that becomes another worker. Until Citus has given it a group, it generates nothing.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_promoted_clone_repeats_no_id() {
    let cluster = Cluster::new(1);
    let mut client = cluster.coordinator.connect();
    if !client.one::<bool>("SELECT to_regproc('citus_add_clone_node') IS NOT NULL") {
        return skip("this Citus has no clones");
    }
    client.run("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new())");
    client.run("SELECT create_distributed_table('events', 'id')");
    let worker = &cluster.workers[0];
    let clone = worker.standby();
    // Citus compares the address of the standby's connection with that of the clone.
    let port = worker.port();
    clone.run(&format!("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port={port} user=postgres'"));
    clone.reload();
    wait_until("the standby connects", || {
        worker
            .connect()
            .one("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE host(client_addr) = '127.0.0.1')")
    });
    let id: i32 = client
        .one(&format!("SELECT citus_add_clone_node('127.0.0.1', {}, '127.0.0.1', {port})", clone.port()));
    wait_until("the standby knows of it", || {
        clone.connect().one("SELECT EXISTS (SELECT FROM pg_dist_node WHERE nodeisclone)")
    });

    let done = AtomicBool::new(false);
    let numbers = thread::scope(|scope| {
        let stop = Stop(&done);
        // A client that asks all the time. Not in one session: those of a standby end when it is promoted.
        let asking = scope.spawn(|| {
            let mut numbers = Vec::new();
            let mut client = clone.connect();
            while !done.load(Relaxed) || numbers.is_empty() {
                match client.query_one("SELECT sno_partition(sno_new()) >> 8", &[]) {
                    Ok(row) => numbers.push(row.get::<_, i32>(0)),
                    Err(error) if error.code().is_some() => (),
                    Err(_) => client = clone.connect(),
                }
            }
            numbers
        });
        client.run(&format!("SELECT citus_promote_clone_and_rebalance({id})"));
        drop(stop);
        asking.join().unwrap()
    });
    assert_eq!(super::numbers(&cluster), "0/8 1/8 2/8");
    assert!(numbers.iter().all(|number| *number == 2), "the clone generated with {numbers:?}");
}

/// The same without the extension, where a managed service has Citus.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn the_file_of_sql_has_the_number_of_its_group() {
    let cluster = Cluster::new(2);
    let mut client = cluster.coordinator.connect();
    client.run(&sql_file("uuidv7.sql"));
    client.run("CREATE TABLE events (tenant integer, id uuid DEFAULT sno_uuid(), PRIMARY KEY (tenant, id))");
    client.run("SELECT create_distributed_table('events', 'tenant')");
    let workers = &cluster.workers;
    in_parallel(workers.len(), |number| {
        workers[number]
            .run(&format!("INSERT INTO events (tenant) SELECT {number} FROM generate_series(1, 50000)"));
    });
    assert_eq!(client.one::<i64>("SELECT count(DISTINCT id) FROM events"), 100_000);
    assert_eq!(
        sno_tests::text(
            &mut client,
            "SELECT string_agg(DISTINCT sno_uuid_server(id)::text, ' ') FROM events"
        ),
        "1 2"
    );
    client.run("INSERT INTO uuidv7_feeds (feed, source) VALUES ('f', 'events')");
    assert_eq!(code(&mut client, "SELECT FROM uuidv7_peek_feed('f', NULL::events)"), "42809");
}
