//! Transactions that hold the horizon back, prepared ones included, and what nobody has to wait for.

use std::thread;
use std::time::Instant;

use sno_tests::{Mode, Server, Sql as _, next_tick, text, wait_until};

use super::{NOW, TABLE, elsewhere, holders, pid, settled};

#[test]
fn transactions_that_have_ids_hold_it_back_until_they_end() {
    let server = Server::builder().start();
    let (mut writer, mut reader, mut other) = (server.connect(), server.connect(), server.connect());
    reader.run(TABLE);
    let mut elsewhere = elsewhere(&server, "other");
    // A reader, a writer without an ID, and one in another database.
    other.run("CREATE TABLE t (n integer)");
    other.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM items; INSERT INTO t VALUES (1)");
    elsewhere.run("BEGIN; CREATE TABLE t (id sno DEFAULT sno_new(1)); INSERT INTO t DEFAULT VALUES");
    let writer_pid = pid(&mut writer);
    for (begin, end) in [
        ("BEGIN; INSERT INTO items VALUES (DEFAULT, 1)", "COMMIT"),
        ("BEGIN; INSERT INTO items VALUES (DEFAULT, 1)", "ROLLBACK"),
        ("BEGIN; SAVEPOINT s; INSERT INTO items VALUES (DEFAULT, 1); ROLLBACK TO s", "COMMIT"),
        ("BEGIN; SAVEPOINT s; INSERT INTO items VALUES (DEFAULT, 1); RELEASE s", "COMMIT"),
        (
            "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT sno_new(1) FROM generate_series(1, 9); FETCH c",
            "COMMIT",
        ),
        ("BEGIN; SELECT sno_new(1)", "SELECT 1 / 0"),
    ] {
        writer.run(begin);
        next_tick();
        let first = text(&mut reader, NOW);
        assert_eq!(holders(&mut reader), [&*writer_pid], "{begin}");
        // It does not hold back what was there before.
        let since = "SELECT (sno_time(sno_horizon('0')) = since)::text FROM sno_horizon_holders()";
        assert_eq!(text(&mut reader, since), "true", "{begin}");
        other.run("SELECT 1");
        next_tick();
        assert_eq!(text(&mut reader, NOW), first, "{begin}");
        assert!(!reader.one::<bool>(&format!("SELECT EXISTS (SELECT FROM items WHERE id >= '{first}')")));
        let _ = writer.batch_execute(end);
        let _ = writer.batch_execute("ROLLBACK");
        assert_eq!(holders(&mut reader), [""; 0], "{begin}; {end}");
        assert!(settled(&mut reader) && text(&mut reader, NOW) > first, "{begin}; {end}");
    }
    // A session that is terminated, and a place of a process that another session takes.
    writer.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 2)");
    reader.run(&format!("SELECT pg_terminate_backend({writer_pid}, 10000)"));
    let mut next = server.connect();
    next.run("BEGIN");
    assert!(settled(&mut reader));
    // Each database has its own.
    let elsewhere_pid = pid(&mut elsewhere);
    assert_eq!(holders(&mut elsewhere), [elsewhere_pid]);
}

/// It waits for a standby.
#[test]
fn a_commit_that_is_not_visible_yet_holds_it_back() {
    let server = Server::builder().start();
    let mut reader = server.connect();
    reader.run(TABLE);
    reader.run("SET synchronous_commit = local");
    server.configure("synchronous_standby_names", "nobody");
    reader.run("SELECT pg_reload_conf()");
    let mut waiting = server.connect();
    let waiting_pid = pid(&mut waiting);
    // Compared when nothing waits any more: no timeout ends such a commit.
    let held_by = thread::scope(|scope| {
        scope.spawn(move || waiting.run("INSERT INTO items VALUES (DEFAULT, 4)"));
        let waits = format!(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = {waiting_pid} AND wait_event = 'SyncRep')"
        );
        wait_until("a commit that waits", || reader.one(&waits));
        let held_by = holders(&mut reader);
        reader.run(&format!("SELECT pg_cancel_backend({waiting_pid})"));
        held_by
    });
    assert_eq!(held_by, [&*waiting_pid]);
}

#[test]
fn each_transaction_of_a_procedure_holds_it_back_for_itself() {
    let server = Server::builder().start();
    let (mut reader, mut next) = (server.connect(), server.connect());
    reader.run(TABLE);
    next.run(
        "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO items VALUES (DEFAULT, 3); COMMIT; PERFORM pg_sleep(60);
         END $$",
    );
    let sleeper = pid(&mut next);
    thread::scope(|scope| {
        scope.spawn(move || next.batch_execute("CALL p()"));
        wait_until("a commit of the procedure", || {
            reader.one("SELECT EXISTS (SELECT FROM items WHERE n = 3)")
        });
        assert!(settled(&mut reader));
        reader.run(&format!("SELECT pg_terminate_backend({sleeper}, 10000)"));
    });
}

/// PostgreSQL keeps the lock of a prepared transaction, in memory and on disk.
#[test]
fn a_prepared_transaction_holds_it_back_over_restarts() {
    let server = Server::builder().conf("max_prepared_transactions", "9").start();
    let mut client = server.connect();
    client.run(TABLE);
    // One of each kind: without IDs, one that is rolled back, and one that is committed.
    client.run("BEGIN; CREATE TABLE t (n integer); PREPARE TRANSACTION 'none'");
    for gid in ["rolled back", "committed"] {
        client.run(&format!("BEGIN; INSERT INTO items VALUES (DEFAULT, 1); PREPARE TRANSACTION '{gid}'"));
        next_tick();
    }
    let horizon = text(&mut client, NOW);
    let mut there = elsewhere(&server, "other");
    there.run("BEGIN; SELECT sno_new(); PREPARE TRANSACTION 'elsewhere'");
    for mode in [None, Some(Mode::Fast), Some(Mode::Immediate)] {
        if let Some(mode) = mode {
            server.restart(mode);
            (client, there) = (server.connect(), server.connect_to("other"));
        }
        assert_eq!(holders(&mut there), ["elsewhere"], "{mode:?}");
        client.run("INSERT INTO items VALUES (DEFAULT, 2)");
        assert_eq!(text(&mut client, NOW), horizon, "{mode:?}");
        assert_eq!(holders(&mut client), ["rolled back", "committed"], "{mode:?}");
    }
    client.run("ROLLBACK PREPARED 'rolled back'");
    let last = text(&mut client, NOW);
    assert_eq!(holders(&mut client), ["committed"]);
    client.run("COMMIT PREPARED 'committed'");
    assert!(client.one::<bool>(&format!("SELECT min(id) >= '{last}' FROM items WHERE n = 1")));
    assert!(settled(&mut client));
}

/// The lock table is looked at only while a transaction is prepared: with many locks that takes long, and nobody can take
/// a lock meanwhile.
#[test]
fn locks_of_others_cost_nothing() {
    let server = Server::builder()
        .conf("max_prepared_transactions", "10")
        .conf("max_locks_per_transaction", "2000")
        .conf("max_connections", "50")
        .start();
    let (mut reader, mut other) = (server.connect(), server.connect());
    other.run("SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 80000) n");
    let mut ten = || {
        let began = Instant::now();
        (0..10).for_each(|_| reader.run("SELECT sno_horizon()"));
        began.elapsed()
    };
    let mut least_of_three = || (0..3).map(|_| ten()).min().unwrap();
    let mut elsewhere = elsewhere(&server, "other");
    elsewhere.run("BEGIN; SELECT sno_new(); PREPARE TRANSACTION 'elsewhere'");
    let never = least_of_three();
    other.run("BEGIN; SELECT sno_new(); PREPARE TRANSACTION 'x'");
    let prepared = least_of_three();
    // What PostgreSQL still has of one that has ended does not count.
    other.run("ROLLBACK PREPARED 'x'");
    let ended = least_of_three();
    assert!(5 * never < prepared && 5 * ended < prepared, "{never:?}, {prepared:?}, {ended:?}");
}
