//! Parallel workers, background workers, and the place of a process.

use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, major_version, next_tick, skip, text, wait_until};

use super::{NOW, PARALLEL, SOURCE, elsewhere, holders, pid, settled};
use crate::workers_started;

/// The rows are its leader's, and so is the transaction, also if the leader itself has never called `sno_new`.
#[test]
fn a_parallel_worker_holds_it_back_until_its_leader_commits() {
    let server =
        Server::builder().conf("log_min_messages", "debug1").conf("max_prepared_transactions", "0").start();
    let (mut reader, mut elsewhere) = (server.connect(), elsewhere(&server, "other"));
    reader.run(SOURCE);
    for call in ["sno_new(1)", "hidden()"] {
        let mut leader = server.connect();
        leader.run(PARALLEL);
        leader.run(&format!("BEGIN; CREATE TABLE items AS SELECT {call} AS id FROM source"));
        let leader_pid = pid(&mut leader);
        assert_ne!(workers_started(&server, leader_pid.parse().unwrap()), 0, "no workers");
        next_tick();
        let horizon = text(&mut reader, NOW);
        assert_eq!(holders(&mut reader), [&*leader_pid], "{call}");
        assert_eq!(holders(&mut elsewhere), [""; 0], "{call}");
        assert!(leader.one::<bool>(&format!("SELECT min(id) >= '{horizon}' FROM items")), "{call}");
        leader.run("COMMIT");
        assert_eq!(holders(&mut reader), [""; 0], "{call}");
        assert!(settled(&mut reader), "{call}");
        reader.run("DROP TABLE items");
    }
}

/// On 15 and 16, where the numbers of transactions go with another number of a process than its place.
#[test]
fn an_announcement_of_the_process_before_in_the_same_place() {
    const PLACES: usize = 20;
    let server = Server::builder()
        .conf("max_prepared_transactions", "0")
        .conf("max_connections", &PLACES.to_string())
        .start();
    let mut reader = server.connect();
    let version = major_version(&mut reader);
    if version >= 17 {
        return skip("the numbers of transactions go with the place from PostgreSQL 17 on");
    }
    reader.run(SOURCE);
    let number = |client: &mut Client| -> u32 {
        let own = "SELECT split_part(virtualtransaction, '/', 2) FROM pg_locks
                   WHERE pid = pg_backend_pid() LIMIT 1";
        text(client, own).parse().unwrap()
    };
    let (mut first, second) = (server.connect(), server.connect());
    (0..200).for_each(|_| first.run("SELECT"));
    // The leader itself announces nothing.
    first.run(PARALLEL);
    first.run("BEGIN; CREATE TABLE made AS SELECT hidden() AS id FROM source");
    let left = number(&mut first);
    let holder = pid(&mut first);
    assert_eq!(holders(&mut reader), [&*holder]);
    first.run("COMMIT");
    assert_eq!(holders(&mut reader), [""; 0]);
    // The next process takes the lowest number that is free, and the place of the last one that ended; on 16, that of
    // the first one. So there all others come before: all but those of the reader, the two, and the third.
    for client in [first, second] {
        drop(client);
        thread::sleep(Duration::from_millis(500));
    }
    if version == 16 {
        (0..PLACES - 4).for_each(|_| drop(server.connect()));
        thread::sleep(Duration::from_millis(500));
    }
    let (_third, mut fourth) = (server.connect(), server.connect());
    while number(&mut fourth) < left - 1 {}
    fourth.run("BEGIN");
    assert_eq!(number(&mut fourth), left);
    assert_eq!(holders(&mut reader), [""; 0]);
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
