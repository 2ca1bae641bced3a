//! `sno_horizon()`: below it nothing is missing and nothing will come. What is done to it under load is in
//! `../faults/horizon.rs`.

use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, code, error, major_version, plan, skip, text, wait_until};

use super::workers_started;

const TABLE: &str = "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)";

/// The horizon without a margin, so that it is up to date.
const NOW: &str = "SELECT sno_horizon('0')::text";

/// Whether the present horizon is after all rows of the table.
#[track_caller]
fn settled(client: &mut Client) -> bool {
    // A tick later, so that it can be after the last row.
    thread::sleep(Duration::from_millis(8));
    let horizon = text(client, NOW);
    client.one(&format!("SELECT NOT EXISTS (SELECT FROM items WHERE id >= '{horizon}')"))
}

/// Who holds the horizon back: process IDs and the names of prepared transactions.
fn holders(client: &mut Client) -> Vec<String> {
    let rows = client.query("SELECT coalesce(gid, pid::text) FROM sno_horizon_holders ORDER BY since", &[]);
    rows.unwrap().iter().map(|row| row.get(0)).collect()
}

/// A session in another database, which has the extension.
fn elsewhere(server: &Server, database: &str) -> Client {
    server.run(&format!("CREATE DATABASE {database}"));
    let mut client = server.connect_to(database);
    client.run("CREATE EXTENSION IF NOT EXISTS sno");
    client
}

fn pid(client: &mut Client) -> String {
    text(client, "SELECT pg_backend_pid()")
}

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
        thread::sleep(Duration::from_millis(8));
        let first = text(&mut reader, NOW);
        assert_eq!(holders(&mut reader), [&*writer_pid], "{begin}");
        // It does not hold back what was there before.
        let since = "SELECT (sno_time(sno_horizon('0')) = since)::text FROM sno_horizon_holders";
        assert_eq!(text(&mut reader, since), "true", "{begin}");
        other.run("SELECT 1");
        thread::sleep(Duration::from_millis(8));
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
    // A commit that is not visible yet, since it waits for a standby.
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
    let elsewhere_pid = pid(&mut elsewhere);
    assert_eq!(holders(&mut elsewhere), [elsewhere_pid]);
    server.unconfigure("synchronous_standby_names");
    reader.run("SELECT pg_reload_conf()");
    // Each transaction of a procedure for itself.
    next.run(
        "ROLLBACK; CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN
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

/// The margin is subtracted, in ticks of 4 ms, and the horizon never goes back.
#[test]
fn without_transactions_it_is_the_present_time_less_the_margin() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    // It starts at the marks that the server started at.
    assert!(
        client
            .one::<bool>("SELECT sno_time(sno_horizon('1 hour')) > clock_timestamp() - interval '1 minute'")
    );
    server.advance_clock(7200.0);
    for (call, millis) in [("'1 hour'", 3_600_000), ("'1 s'", 1000), ("", 100), ("'0'", 0)] {
        let lag = format!(
            "SELECT extract(epoch FROM clock_timestamp() - sno_time(h)) * 1000 BETWEEN {millis} AND {millis} + 100
             FROM sno_horizon({call}) h"
        );
        let lower = format!("SELECT sno_horizon({call}) = sno_lower(sno_time(sno_horizon({call})))");
        assert!(client.one::<bool>(&lag) && client.one::<bool>(&lower), "{call}");
    }
    assert!(client.one::<bool>("SELECT a <= b FROM sno_horizon('0') a, sno_horizon('1 day') b"));
}

/// For parallel workers; `hidden` is loaded only when it is called.
const SOURCE: &str = "CREATE TABLE source AS SELECT n FROM generate_series(1, 20000) n; ANALYZE source;
    CREATE FUNCTION hidden() RETURNS sno PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_new(1); END'";

const PARALLEL: &str = "SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0;
    SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET parallel_leader_participation = off";

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
        thread::sleep(Duration::from_millis(8));
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

/// For a trigger that refuses rows which readers could miss. What counts are the IDs of the whole transaction.
#[test]
fn a_transaction_knows_what_it_holds() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(TABLE);
    client.run(SOURCE);
    let earlier = text(&mut client, "SELECT sno_new(1)::text");
    thread::sleep(Duration::from_millis(8));
    let holds =
        |client: &mut Client, id: &str| client.one::<bool>(&format!("SELECT sno_holds_horizon('{id}')"));
    client.run("BEGIN");
    assert!(!holds(&mut client, &earlier));
    // Also of a subtransaction that was rolled back.
    let own = text(&mut client, "SAVEPOINT s; SELECT sno_new(1)::text");
    client.run("ROLLBACK TO s");
    thread::sleep(Duration::from_millis(8));
    assert!(holds(&mut client, &own) && !holds(&mut client, &earlier));
    // Of another transaction of now, as long as this one lasts.
    let others = text(&mut server.connect(), "SELECT sno_new(1)::text");
    assert!(holds(&mut client, &others));
    assert!(text(&mut server.connect(), NOW) <= own);
    client.run("COMMIT");
    assert!(!holds(&mut client, &own) && !holds(&mut client, &others));

    // IDs of parallel workers, asked by the leader and by other workers.
    let mut leader = server.connect();
    leader.run(PARALLEL);
    leader.run("BEGIN; CREATE TABLE made AS SELECT sno_new(1) AS id FROM source");
    assert!(leader.one::<bool>("SELECT bool_and(sno_holds_horizon(id)) FROM made"));
    let plan = plan(&mut leader, "COSTS off", "SELECT bool_and(sno_holds_horizon(id)) FROM made");
    assert!(plan.contains("Parallel"), "{plan}");
    assert!(!holds(&mut leader, &earlier));
    leader.run("COMMIT");
    assert!(!leader.one::<bool>("SELECT bool_or(sno_holds_horizon(id)) FROM made"));

    client.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
           AS $$ BEGIN RAISE 'key % was generated in an earlier transaction', NEW.id; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON items FOR EACH ROW
           WHEN (NOT sno_holds_horizon(NEW.id)) EXECUTE FUNCTION refuse()",
    );
    client.run("INSERT INTO items DEFAULT VALUES");
    client.run("BEGIN; INSERT INTO items VALUES (sno_new(1), 1), (sno_new(2), 2); COMMIT");
    assert_eq!(code(&mut client, &format!("INSERT INTO items VALUES ('{earlier}', 3)")), "P0001");
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

/// PostgreSQL keeps the lock of a prepared transaction, in memory and on disk.
#[test]
fn a_prepared_transaction_holds_it_back_over_restarts() {
    let server = Server::builder().conf("max_prepared_transactions", "9").start();
    let mut client = server.connect();
    client.run(TABLE);
    client.run(SOURCE);
    // One of each kind: IDs of workers and a later one of their leader, none, one that is rolled back, and one that is
    // committed.
    client.run(PARALLEL);
    client.run(
        "BEGIN; CREATE TABLE others AS SELECT sno_new(1) AS id FROM source; SELECT pg_sleep(0.02);
         INSERT INTO items VALUES (DEFAULT, 0); PREPARE TRANSACTION 'worker'",
    );
    client.run("BEGIN; CREATE TABLE t (n integer); PREPARE TRANSACTION 'none'");
    for gid in ["rolled back", "committed"] {
        client.run(&format!("BEGIN; INSERT INTO items VALUES (DEFAULT, 1); PREPARE TRANSACTION '{gid}'"));
        thread::sleep(Duration::from_millis(8));
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
        assert_eq!(holders(&mut client), ["worker", "rolled back", "committed"], "{mode:?}");
    }
    client.run("COMMIT PREPARED 'worker'");
    assert!(client.one::<bool>(&format!("SELECT min(id) >= '{horizon}' FROM others")));
    client.run("ROLLBACK PREPARED 'rolled back'");
    let last = text(&mut client, NOW);
    assert_eq!(holders(&mut client), ["committed"]);
    client.run("COMMIT PREPARED 'committed'");
    assert!(client.one::<bool>(&format!("SELECT min(id) >= '{last}' FROM items WHERE n = 1")));
    assert!(settled(&mut client));
}

/// A step back within the margin costs nothing. After a larger one, whoever wants an ID waits for the rest.
#[test]
fn the_clock_steps_back() {
    let server = Server::builder().faketime(true).start();
    server.set_clock("-3600");
    let (mut reader, mut writer) = (server.connect(), server.connect_with("-c sno.max_clock_wait=0"));
    writer.run(TABLE);
    writer.run("INSERT INTO items VALUES (DEFAULT, 1)");
    server.set_clock("+0");
    let id = "INSERT INTO items VALUES (DEFAULT, 2) RETURNING id::text";
    writer.run(id);
    let horizon = text(&mut reader, "SELECT sno_horizon()::text");
    server.set_clock("-30");
    let refused = error(&mut writer, "INSERT INTO items VALUES (DEFAULT, 3)");
    assert_eq!(refused.code().code(), "55000");
    // The view says for how long.
    let wait = "SELECT max(safe_time) BETWEEN clock_timestamp() + '15 s' AND clock_timestamp() + '30 s'
                FROM sno_generators";
    assert!(reader.one::<bool>(wait));
    // It waits for the horizon, and does not pull it back.
    assert_eq!(text(&mut reader, "SELECT sno_horizon()::text"), horizon);
    server.set_clock("+0");
    let before = text(&mut writer, id);
    server.set_clock("-0.05");
    let within = text(&mut writer, id);
    assert!(horizon < within && within < before);
    server.set_clock("-3");
    writer.run("SET sno.max_clock_wait = '10s'");
    let began = Instant::now();
    let after = text(&mut writer, id);
    assert!(after > horizon && began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    // In the middle of a transaction, too.
    writer.run("SET sno.max_clock_wait = 0; BEGIN; INSERT INTO items VALUES (DEFAULT, 4)");
    server.set_clock("-6");
    // A tick that lasts.
    thread::sleep(Duration::from_millis(8));
    assert_eq!(code(&mut writer, "INSERT INTO items VALUES (DEFAULT, 5)"), "55000");
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

#[test]
fn no_restart_lets_ids_in_below_it() {
    let server = Server::builder().faketime(true).disk(true).start();
    server.set_clock("-3600");
    server.run("SELECT sno_new(1)");
    server.set_clock("+0");
    let mut horizon = text(&mut server.connect(), NOW);
    // A restart over which the clock goes on needs no wait.
    server.advance_clock(0.1);
    server.run("SELECT sno_new(1)");
    server.restart(Mode::Crash);
    let mut client = server.connect_with("-c sno.max_clock_wait=0");
    assert!(text(&mut client, "SELECT sno_new(1)::text") > horizon);
    horizon = text(&mut client, NOW);
    server.stop(Mode::Crash);
    server.set_clock("-60");
    server.start();
    client = server.connect_with("-c sno.max_clock_wait=0");
    // Whoever looks before the generators have resumed.
    assert_eq!(holders(&mut client), [""; 0]);
    assert!(!client.one::<bool>("SELECT sno_holds_horizon('2222222222222222')"));
    assert_eq!(code(&mut client, "SELECT sno_new(1)"), "55000");
    assert!(text(&mut client, NOW) >= horizon);
    server.set_clock("+3");
    assert!(text(&mut client, "SELECT sno_new(1)::text") > horizon);
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
    assert!(text(&mut there, NOW) > held);
    here.run("SELECT pg_advisory_unlock(1)");
    wait_until("the row", || here.one::<i64>("SELECT count(*) FROM items") == 101);
    assert!(settled(&mut here));
    here.run("ALTER SUBSCRIPTION items DISABLE");
}

/// A horizon without a margin takes the tolerance for backward steps from its own database, and from copies of it: they
/// have the positions of its readers. A database that is moved or renamed stays the same.
#[test]
fn a_horizon_of_another_database() {
    let server = Server::builder().faketime(true).start();
    server.set_clock("-3600");
    let (mut never_asked, mut here) = (server.connect(), elsewhere(&server, "here"));
    never_asked.run("SELECT sno_new(1)");
    server.set_clock("+0");
    never_asked.run("SELECT sno_new(1)");
    let position = text(&mut here, NOW);
    drop(here);
    wait_until("a copy", || {
        server.connect().batch_execute("CREATE DATABASE copy_of_here TEMPLATE here").is_ok()
    });
    let mut other = server.connect();
    other.run("SET allow_in_place_tablespaces = on");
    other.run("CREATE TABLESPACE elsewhere LOCATION ''");
    wait_until("a move", || other.batch_execute("ALTER DATABASE here SET TABLESPACE elsewhere").is_ok());
    other.run("ALTER DATABASE here RENAME TO there");
    server.set_clock("-30");
    never_asked.run("SET sno.max_clock_wait = 0; SELECT sno_new(1)");
    for database in ["copy_of_here", "there"] {
        let mut client = server.connect_to(database);
        client.run("SET sno.max_clock_wait = 0");
        assert_eq!(code(&mut client, "SELECT sno_new(1)"), "55000", "{database}");
        // The view says so before anybody has asked.
        let waits = "SELECT bool_and(safe_time > clock_timestamp()) FROM sno_generators";
        assert!(client.one::<bool>(waits), "{database}");
        assert!(text(&mut client, NOW) >= position, "{database}");
    }
    never_asked.run("SELECT sno_new(1)");
}

/// The LSN that docs/feeds.md says to wait for. The place of the next record is not reached while nothing is written.
#[test]
fn an_idle_primary_with_a_new_wal_segment() {
    let server = Server::builder().start();
    let standby = server.standby();
    let (mut writer, mut reader) = (server.connect(), standby.connect());
    writer.run(TABLE);
    writer.run("INSERT INTO items VALUES (DEFAULT, 1)");
    thread::sleep(Duration::from_millis(8));
    writer.run("SELECT pg_switch_wal()");
    let horizon = text(&mut writer, NOW);
    let call = "pg_logical_emit_message(true, 'sno', '')";
    assert!(super::docs::page("feeds.md").contains(call));
    let lsn = text(&mut writer, &format!("SELECT {call}"));
    let reached = format!("SELECT pg_last_wal_replay_lsn() >= '{lsn}'");
    let began = Instant::now();
    while !reader.one::<bool>(&reached) {
        assert!(began.elapsed() < Duration::from_secs(5), "{lsn} is not reached");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(reader.one::<bool>(&format!("SELECT count(*) = 1 FROM items WHERE id < '{horizon}'")));
}

/// As docs/feeds.md says: the horizon of the primary counts on a standby that has replayed as much.
#[test]
fn on_a_standby_and_after_its_promotion() {
    let server = Server::builder().conf("max_prepared_transactions", "9").start();
    let mut writer = server.connect();
    writer.run(TABLE);
    let standby = server.standby();
    writer.run("BEGIN; INSERT INTO items VALUES (DEFAULT, 1); PREPARE TRANSACTION 'open'");
    let mut reader = standby.connect();
    assert_eq!(code(&mut reader, "SELECT sno_horizon()"), "25006");
    let before = text(&mut writer, NOW);
    server.wait_replayed(&standby);
    server.stop(Mode::Immediate);
    standby.promote();
    reader.run("INSERT INTO items VALUES (DEFAULT, 2)");
    assert_eq!(holders(&mut reader), ["open"]);
    let horizon = text(&mut reader, NOW);
    reader.run("COMMIT PREPARED 'open'");
    assert!(
        reader.one::<bool>(&format!("SELECT min(id) >= greatest('{before}', '{horizon}'::sno) FROM items"))
    );
    assert!(settled(&mut reader));
}
