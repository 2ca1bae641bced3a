//! Feeds over tables of Citus: each step that a horizon of all nodes needs, and what consumers do.

use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, assert_soon, error, stored, text, wait_until};

use super::{Cluster, NUMBER, node, texts};

/// Processes that have stopped; they go on when this is dropped.
pub(super) struct Stalled(Vec<i32>);

impl Stalled {
    pub(super) fn new(processes: Vec<i32>) -> Self {
        for process in &processes {
            signal(*process, libc::SIGSTOP);
        }
        Self(processes)
    }

    /// All sessions of a server.
    pub(super) fn all_of(server: &Server) -> Self {
        let query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let rows = server.connect().query(query, &[]).unwrap();
        Self::new(rows.iter().map(|row| row.get(0)).collect())
    }

    /// The sessions of other nodes that are in a transaction.
    fn in_transactions(server: &Server) -> Self {
        let query = "SELECT pid FROM pg_stat_activity
            WHERE application_name LIKE 'citus_internal%' AND state = 'idle in transaction'";
        Self::new(server.connect().query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect())
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        for process in &self.0 {
            signal(*process, libc::SIGCONT);
        }
    }
}

fn signal(process: i32, signal: i32) {
    // SAFETY: a signal to a process of a server of this test.
    unsafe { libc::kill(process, signal) };
}

/// The next rows.
#[track_caller]
pub(super) fn take(client: &mut Client) -> Vec<String> {
    client.run("BEGIN; CREATE TEMP TABLE stored AS SELECT n::text FROM sno_feed('f', NULL::items); COMMIT");
    let rows = texts(client, "TABLE stored");
    client.run("DROP TABLE stored");
    rows
}

/// Reads until all is there that is to come, and compares with the table.
#[track_caller]
pub(super) fn check(client: &mut Client, read: &mut Vec<String>) {
    let all = texts(client, "SELECT n::text FROM items ORDER BY items.n");
    let until = Instant::now() + Duration::from_secs(20);
    while read.len() < all.len() && Instant::now() < until {
        read.extend(take(client));
        thread::sleep(Duration::from_millis(50));
    }
    read.sort_by_key(|n| n.parse::<i64>().unwrap());
    assert_eq!(*read, all);
}

/// A client of a worker has inserted its row first, and commits last.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn rows_of_other_nodes_are_waited_for() {
    let cluster = Cluster::new(2);
    let mut client = cluster.coordinator.connect();
    client.run("SET citus.enable_schema_based_sharding = on; CREATE SCHEMA tenant; RESET citus.enable_schema_based_sharding");
    let tables = [
        ("public.items", "SELECT create_distributed_table('items', 'id')"),
        ("public.items", "SELECT create_reference_table('items')"),
        ("public.items", "SELECT citus_add_local_table_to_metadata('items')"),
        ("tenant.items", "SELECT"),
    ];
    for (table, distribute) in tables {
        client.run(&format!("SET search_path = {}, public", table.split('.').next().unwrap()));
        client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
        // The feed of an ordinary table goes on when it is distributed, which takes no triggers. In the metadata it is another one.
        let feed = "SELECT sno_create_feed('f', 'items', margin => '0.1 s', refuse_old_keys => false)";
        let is_other = distribute.contains("metadata");
        client.run(if is_other { distribute } else { feed });
        if !is_other {
            client.run(&stored("SELECT FROM sno_feed('f', NULL::items)"));
        }
        client.run(if is_other { feed } else { distribute });
        let mut other = cluster.workers[0].connect();
        wait_until("the metadata is there", || {
            other.one(&format!("SELECT to_regclass('{table}') IS NOT NULL"))
        });
        other.run(&format!("BEGIN; INSERT INTO {table} (n) VALUES (1)"));
        client.run("INSERT INTO items (n) VALUES (2)");
        thread::sleep(Duration::from_millis(300));
        // Nor does a feed go past it at once.
        let last = texts(&mut client, "SELECT id::text FROM items ORDER BY id DESC LIMIT 1").remove(0);
        client.run(&format!("SELECT sno_seek_feed('f', after => '{last}')"));
        client.run("SELECT sno_seek_feed('f', now() + '0')");
        let mut read = take(&mut client);
        assert!(read.is_empty(), "{distribute}: {read:?}");
        other.run("COMMIT");
        check(&mut client, &mut read);
        client.run("SELECT sno_drop_feed('f'); DROP TABLE items");
    }
}

/// A transaction that has read before the feed was read, and then writes, has begun before its position.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_transaction_that_writes_late() {
    let cluster = Cluster::new(1);
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
    client.run("SELECT create_distributed_table('items', 'id')");
    client.run("SELECT sno_create_feed('f', 'items', margin => '0.1 s')");
    let mut writer = cluster.coordinator.connect();
    writer.run("BEGIN; SELECT count(*) FROM items");
    client.run("INSERT INTO items (n) VALUES (1)");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(take(&mut client), ["1"]);
    writer.run("INSERT INTO items (n) SELECT generate_series(2, 20)");
    client.run("INSERT INTO items (n) VALUES (21)");
    thread::sleep(Duration::from_millis(300));
    assert!(take(&mut client).is_empty());
    writer.run("COMMIT");
    check(&mut client, &mut vec!["1".into()]);
}

/// One phase: the worker with the rows is late, the one that generated their keys has ended. The clocks of the workers differ, so that what
/// was generated has IDs long before the start of its transaction.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn a_late_commit_in_one_phase() {
    for slow in ["0", "-5", "5"] {
        let cluster = Cluster::new(2);
        let mut client = cluster.coordinator.connect();
        client.run(
            "CREATE TABLE sources (tenant integer PRIMARY KEY, n integer);
             SELECT create_distributed_table('sources', 'tenant');
             CREATE TABLE items (id sno DEFAULT sno_new(1), n integer, tenant integer DEFAULT 1, PRIMARY KEY (id, tenant));
             SELECT create_distributed_table('items', 'tenant', colocate_with => 'sources')",
        );
        // All rows go to the worker of tenant 1, from sources on the other.
        let place = |tenant: i32| {
            format!(
                "SELECT nodeport FROM citus_shards WHERE table_name = 'sources'::regclass
                AND shardid = get_shard_id_for_distribution_column('sources', {tenant})"
            )
        };
        let target: i32 = client.one(&place(1));
        let away: Vec<i32> = (2..60).filter(|tenant| client.one::<i32>(&place(*tenant)) != target).collect();
        for tenant in &away {
            client.run(&format!("INSERT INTO sources VALUES ({tenant}, {tenant})"));
        }
        let generating = cluster.at(client.one(&place(away[0])));
        generating.set_clock(slow);
        client.run("SELECT sno_create_feed('f', 'items', key => 'id', margin => '0.1 s')");
        let mut writer = cluster.coordinator.connect();
        writer.run("SET citus.enable_repartitioned_insert_select = on; BEGIN");
        writer.run("INSERT INTO items (n, tenant) SELECT n, 1 FROM sources");
        let stalled = Stalled::in_transactions(cluster.at(target));
        thread::scope(|scope| {
            let commit = scope.spawn(move || writer.run("COMMIT"));
            thread::sleep(Duration::from_millis(400));
            // Another row, with a key by the same clock, and a younger transaction.
            generating.run(&format!("INSERT INTO items (n, tenant) VALUES (1000, {})", away[0]));
            thread::sleep(Duration::from_millis(400));
            let mut young = cluster.coordinator.connect();
            young.run(&format!("BEGIN; INSERT INTO items (n, tenant) VALUES (2000, {})", away[0]));
            let mut read = Vec::new();
            for _ in 0..3 {
                read.extend(take(&mut client));
            }
            drop(stalled);
            commit.join().unwrap();
            young.run("ROLLBACK");
            check(&mut client, &mut read);
        });
    }
}

/// The session that generated the ID is killed while the other node commits the row.
#[test]
#[ignore = "needs Citus: make test-citus"]
fn what_outlives_its_transaction() {
    let cluster = Cluster::new(1);
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
    client.run("SELECT create_distributed_table('items', 'id')");
    client.run("SELECT sno_create_feed('f', 'items', margin => '0.1 s')");
    // The worker takes its time to commit.
    let worker = &cluster.workers[0];
    let shards =
        texts(&mut client, "SELECT shard_name::text FROM citus_shards WHERE table_name = 'items'::regclass");
    worker.run(
        "SET citus.enable_ddl_propagation = off;
         CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.n = 1 THEN PERFORM pg_sleep(8); END IF;
             RETURN NEW;
         END $$",
    );
    for shard in shards {
        worker.run(&format!(
            "SET citus.enable_ddl_propagation = off; SET citus.override_table_visibility = off; SET citus.enable_manual_changes_to_shards = on;
             CREATE CONSTRAINT TRIGGER take_time AFTER INSERT ON {shard} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION take_time()"
        ));
    }
    let mut writer = cluster.coordinator.connect();
    let process: i32 = writer.one("SELECT pg_backend_pid()");
    let insert = thread::spawn(move || writer.batch_execute("INSERT INTO items (n) VALUES (1)"));
    wait_until("the row is committed", || {
        worker.connect().one("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'COMMIT%')")
    });
    cluster.coordinator.crash_backend(process);
    assert!(insert.join().unwrap().is_err());
    client = cluster.coordinator.connect();
    client.run("INSERT INTO items (n) VALUES (2)");
    thread::sleep(Duration::from_millis(400));
    let mut read = take(&mut client);
    assert!(!read.contains(&"2".to_owned()), "{read:?}");
    wait_until("the row is there", || client.one::<i64>("SELECT count(*) FROM items WHERE n = 1") == 1);
    check(&mut client, &mut read);
}

#[test]
#[ignore = "needs Citus: make test-citus"]
fn what_consumers_do() {
    let mut cluster = Cluster::new(2);
    let mut client = cluster.coordinator.connect();
    client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)");
    client.run("SELECT create_distributed_table('items', 'id')");
    client.run("SELECT sno_create_feed('f', 'items', margin => '0.1 s')");
    let waited = |client: &mut Client, timeout: &str| {
        // Then all rows are below the horizon of the wait, which serves the next call, too.
        thread::sleep(Duration::from_millis(200));
        let began = Instant::now();
        let ready = text(client, &format!("CALL sno_wait_feed('f', '{timeout}')"));
        (ready == "t", began.elapsed())
    };
    let (ready, time) = waited(&mut client, "1 s");
    assert!(!ready, "after {time:?}");
    assert_soon(time, Duration::from_secs(5));
    client.run("INSERT INTO items (n) SELECT generate_series(1, 10)");
    assert!(waited(&mut client, "20 s").0);
    assert_eq!(take(&mut client).len(), 10);
    let last = texts(&mut client, "SELECT id::text FROM items ORDER BY id DESC LIMIT 1").remove(0);
    assert_eq!(text(&mut client, &format!("CALL sno_wait_read('f', '{last}', '10 s')")), "t");

    // Rows of another node.
    let worker = &cluster.workers[0];
    let mut other = worker.connect();
    wait_until("the metadata is there", || other.one("SELECT to_regclass('items') IS NOT NULL"));
    other.run("DELETE FROM items WHERE n = 10; INSERT INTO items (n) VALUES (10)");
    assert!(waited(&mut client, "20 s").0);
    assert_eq!(take(&mut client), ["10"]);

    // A feed on another node counts, too, for what all have read.
    other.run("SELECT sno_create_feed('g', 'items', margin => '0.1 s')");
    let delete = "DELETE FROM items WHERE id <= sno_read_by_all('items')";
    client.run(delete);
    assert_eq!(client.one::<i64>("SELECT count(*) FROM items"), 10);
    assert_eq!(other.take::<i64>("SELECT count(*) FROM sno_feed('g', NULL::items)"), 10);
    client.run(delete);
    assert_eq!(client.one::<i64>("SELECT count(*) FROM items"), 0);

    // A queue: what was read is deleted in the same statement, by a CTE.
    client.run("INSERT INTO items (n) SELECT generate_series(1, 10)");
    assert!(waited(&mut client, "20 s").0);
    let queue = "WITH f AS MATERIALIZED (SELECT id FROM sno_feed('f', NULL::items)) DELETE FROM items i USING f WHERE i.id = f.id";
    assert_eq!(client.execute(queue, &[]).unwrap(), 10);
    assert_eq!(client.one::<i64>("SELECT count(*) FROM items"), 0);

    // Several batches in one transaction, which itself writes rows of distributed tables.
    client.run("INSERT INTO items (n) SELECT generate_series(1, 30)");
    client.run("CREATE TABLE copies (n integer); SELECT create_distributed_table('copies', 'n')");
    assert!(waited(&mut client, "20 s").0);
    client.run("BEGIN");
    for _ in 0..3 {
        let rows =
            client.execute("INSERT INTO copies SELECT n FROM sno_feed('f', NULL::items, 10)", &[]).unwrap();
        assert_eq!(rows, 10);
    }
    client.run("COMMIT");

    // Any role, as on one server.
    client.run("CREATE ROLE reader LOGIN; GRANT ALL ON items TO reader");
    let mut reader = cluster.coordinator.connect_as("reader");
    reader.run("SELECT sno_create_feed('r', 'items', margin => '0.1 s')");
    assert_eq!(reader.take::<i64>("SELECT count(*) FROM sno_feed('r', NULL::items)"), 30);

    // A wait ends, also while a node does not answer.
    client.run("INSERT INTO items (n) SELECT generate_series(1, 30)");
    let stalled = Stalled::all_of(worker);
    let began = Instant::now();
    assert_eq!(error(&mut client, "CALL sno_wait_feed('f', '1 s')").code().code(), "57014");
    assert!((6..9).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    drop(stalled);
    assert!(waited(&mut client, "20 s").0);
    assert_eq!(take(&mut client).len(), 30);

    // A node that does not answer is named.
    client.run("INSERT INTO items (n) SELECT generate_series(1, 30)");
    worker.stop(Mode::Fast);
    let failed = error(&mut client, "SELECT FROM sno_peek_feed('f', NULL::items)");
    assert_eq!(failed.code().code(), "08006", "{failed}");
    assert!(failed.message().contains(&format!("127.0.0.1:{}", worker.port())), "{failed}");
    worker.start();
    let mut client = cluster.coordinator.connect();
    // Also if it is disabled, since it can have clients.
    cluster.add(node(NUMBER));
    let (added, port) = (&cluster.workers[2], cluster.workers[2].port());
    added.stop(Mode::Fast);
    cluster.coordinator.run(&format!("SELECT citus_disable_node('127.0.0.1', {port}, true)"));
    let failed = error(&mut client, "SELECT FROM sno_peek_feed('f', NULL::items)");
    assert!(failed.message().starts_with("no answer from node"), "{failed}");
    assert!(failed.message().contains(&format!("127.0.0.1:{port}")), "{failed}");
    added.start();

    // The table is another one, so its feed says so. It can go on by its position.
    thread::sleep(Duration::from_millis(300));
    assert_eq!(take(&mut client).len(), 30);
    client.run("INSERT INTO items (n) SELECT generate_series(1, 5)");
    let position = texts(&mut client, "SELECT position::text FROM sno_feeds() WHERE feed = 'f'").remove(0);
    client.run("SELECT undistribute_table('items')");
    assert_eq!(error(&mut client, "SELECT FROM sno_peek_feed('f', NULL::items)").code().code(), "42P01");
    client.run(&format!(
        "SELECT sno_drop_feed('f'); SELECT sno_create_feed('f', 'items', margin => '0.1 s');
         SELECT sno_seek_feed('f', after => '{position}')"
    ));
    thread::sleep(Duration::from_millis(300));
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('f', NULL::items)"), 5);
}
