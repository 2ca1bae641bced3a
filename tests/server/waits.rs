//! `CALL sno_wait_feed(…)` and `CALL sno_wait_read(…)`: they return in time, and hold nothing up meanwhile.

use std::cell::Cell;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Mode, Server, Sql as _, code, major_version, skip, text, wait_until};

const SETUP: &str = "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
    SELECT sno_create_feed('feed', 'items', margin => '0.1 s')";

const READ: &str = "SELECT count(*) FROM sno_feed('feed', NULL::items)";

const INSERT: &str = "INSERT INTO items DEFAULT VALUES";

/// What a wait returns, and how long it took.
fn wait(client: &mut Client, call: &str) -> (bool, Duration) {
    let began = Instant::now();
    (client.one(call), began.elapsed())
}

/// The sessions that wait for a feed.
fn waiting(client: &mut Client) -> i64 {
    let event = if major_version(client) >= 17 { "SnoFeed" } else { "Extension" };
    client.one(&format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE wait_event_type = 'Extension' AND wait_event = '{event}' AND query LIKE 'CALL sno_wait%'"
    ))
}

/// Does something while a session waits. What the wait returned, and how long it took from then on.
#[track_caller]
fn during<'a>(server: &'a Server, call: &'a str, work: impl FnOnce(&mut Client)) -> (bool, Duration) {
    let mut other = server.connect();
    thread::scope(|scope| {
        let waiter: ScopedJoinHandle<'_, (bool, Instant)> = scope.spawn(move || {
            let ready = server.connect().one(call);
            (ready, Instant::now())
        });
        wait_until("a session that waits", || waiting(&mut other) == 1);
        // It is past its first looks.
        thread::sleep(Duration::from_millis(300));
        assert!(!waiter.is_finished(), "it did not wait");
        work(&mut other);
        let began = Instant::now();
        let (ready, returned) = waiter.join().unwrap();
        (ready, returned.saturating_duration_since(began))
    })
}

const WAIT: &str = "CALL sno_wait_feed('feed', '50 s')";

/// Far below any timeout, on a machine with other work.
const SOON: Duration = Duration::from_secs(3);

#[test]
fn it_returns_when_a_row_can_be_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    let (ready, took) = wait(&mut client, "CALL sno_wait_feed('feed', '0.5 s')");
    assert!(!ready && took >= Duration::from_millis(500) && took < SOON, "{took:?}");
    let (ready, took) = wait(&mut client, "CALL sno_wait_feed('feed', '-1 day')");
    assert!(!ready && took < SOON, "{took:?}");
    // A row that comes, one that its transaction holds back, one that was there before, and one from a subtransaction.
    let (ready, took) = during(&server, WAIT, |other| other.run(INSERT));
    assert!(ready && took < SOON, "{took:?}");
    let (ready, took) = wait(&mut client, WAIT);
    assert!(ready && took < Duration::from_secs(1), "{took:?}");
    assert_eq!(client.one::<i64>(READ), 1);
    let mut holder = server.connect();
    holder.run(&format!("BEGIN; {INSERT}"));
    thread::sleep(Duration::from_millis(300));
    let (ready, took) = during(&server, WAIT, |_| holder.run("COMMIT"));
    assert!(ready && took < SOON, "{took:?}");
    assert_eq!(client.one::<i64>(READ), 1);
    // IDs of others, and of transactions that are rolled back, are no rows.
    client.run("CREATE TABLE others (id sno DEFAULT sno_new(1))");
    let (ready, _) = during(&server, "CALL sno_wait_feed('feed', '1.5 s')", |other| {
        other.run("INSERT INTO others DEFAULT VALUES");
        other.run(&format!("BEGIN; {INSERT}; ROLLBACK"));
    });
    assert!(!ready);
    // After a wait of steps that were doubled.
    let (ready, took) = during(&server, WAIT, |other| {
        (0..20).for_each(|_| other.run("INSERT INTO others DEFAULT VALUES; SELECT pg_sleep(0.03)"));
        other.run(INSERT);
    });
    assert!(ready && took < SOON, "{took:?}");
}

/// By each protocol, and in PL/pgSQL.
#[test]
fn every_kind_of_call() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(INSERT);
    client.run("CALL sno_wait_feed('feed')");
    client.run("CALL sno_wait_feed('feed', '5 s', NULL)");
    assert!(client.one::<bool>("CALL sno_wait_feed(feed => 'feed', timeout => '5 s')"));
    let prepared = client.prepare("CALL sno_wait_feed($1, '5 s')").unwrap();
    for _ in 0..7 {
        assert!(client.query_one(&prepared, &[&"feed"]).unwrap().get::<_, bool>("ready"));
    }
    client.run(
        "DO $$ DECLARE ready boolean; BEGIN
             CALL sno_wait_feed('feed', '5 s', ready); ASSERT ready;
             PERFORM FROM sno_feed('feed', NULL::items);
             COMMIT;
             CALL sno_wait_feed('feed', '0', ready); ASSERT NOT ready;
         END $$",
    );
    // Of another feed in turn, and of a table that is moved meanwhile: the plan of the last look is kept.
    client.run("SELECT sno_create_feed('other', 'items', margin => '0.1 s')");
    for (feed, expected) in [("other", true), ("feed", false), ("other", true), ("feed", false)] {
        assert_eq!(client.one::<bool>(&format!("CALL sno_wait_feed('{feed}', '0')")), expected, "{feed}");
    }
    client.run("CREATE SCHEMA elsewhere; ALTER TABLE items SET SCHEMA elsewhere; CREATE TABLE items (LIKE elsewhere.items)");
    client.run("ALTER TABLE elsewhere.items RENAME TO things; ALTER TABLE elsewhere.things RENAME id TO key");
    assert_eq!(code(&mut client, "CALL sno_wait_feed('other', '0')"), "42703");
    client.run("ALTER TABLE elsewhere.things RENAME key TO id");
    assert!(client.one::<bool>("CALL sno_wait_feed('other', '0')"));
}

/// A session goes on when the extension was dropped and created: the type of its IDs is another one, the query is the same.
#[test]
fn another_type_of_the_same_name() {
    let server = Server::builder().start();
    let mut client = server.connect();
    for _ in 0..2 {
        client.run(SETUP);
        assert!(!wait(&mut client, "CALL sno_wait_feed('feed', '0 s')").0);
        client.run("DROP EXTENSION sno CASCADE; DROP TABLE items; CREATE EXTENSION sno");
    }
}

/// A transaction that is prepared before a restart, of which no generator knows.
#[test]
fn a_prepared_transaction() {
    let server = Server::builder().conf("max_prepared_transactions", "2").start();
    server.run(SETUP);
    server.run(&format!("BEGIN; {INSERT}; PREPARE TRANSACTION 'one'"));
    server.restart(Mode::Immediate);
    // Past the marks, which count as IDs of before the restart.
    thread::sleep(Duration::from_secs(3));
    let (ready, took) = during(&server, WAIT, |other| other.run("COMMIT PREPARED 'one'"));
    assert!(ready && took < SOON, "{took:?}");
}

/// While something is prepared, each step of a wait copies the server's lock table, also if what is prepared has no IDs.
#[test]
fn a_prepared_transaction_without_ids() {
    let server = Server::builder().conf("max_prepared_transactions", "2").start();
    server.run(SETUP);
    let mut holder = server.connect();
    holder.run(&format!("BEGIN; {INSERT}"));
    server.run("BEGIN; CREATE TABLE other (); PREPARE TRANSACTION 'two'");
    let steps = Cell::new(0);
    let (ready, _) = during(&server, WAIT, |other| {
        let pid: i32 = other.one("SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL sno_wait%'");
        let began = voluntary_switches(pid);
        thread::sleep(Duration::from_secs(4));
        steps.set(voluntary_switches(pid) - began);
        holder.run("COMMIT");
    });
    assert!(ready);
    assert!(steps.get() <= 8, "{} steps in 4 s", steps.get());
}

/// How often a process has gone to sleep.
fn voluntary_switches(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// The clock goes back, and later to where it was; and keys that no generator of this server has made.
#[test]
fn what_no_new_id_tells() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    server.set_clock("-3600");
    client.run(SETUP);
    client.run("SELECT sno_new(1)");
    server.set_clock("+0");
    // As if it had been read just now, so that the wait does not read a horizon: then the clock would be waited for.
    client.run("UPDATE sno_internal.feed_positions SET moved = clock_timestamp()");
    // The key is from before the last step of the wait.
    let (ready, took) = during(&server, WAIT, |other| {
        server.set_clock("-30");
        other.run(INSERT);
    });
    assert!(ready && took < SOON, "{took:?}");
    assert_eq!(client.one::<i64>(READ), 1);
    server.set_clock("+0");
    client.run(INSERT);
    server.set_clock("-29");
    let (ready, took) = during(&server, WAIT, |_| server.set_clock("+1"));
    assert!(ready && took < SOON, "{took:?}");
    assert_eq!(client.one::<i64>(READ), 1);
    let (ready, took) = during(&server, WAIT, |other| {
        other.run("INSERT INTO items SELECT sno_make(clock_timestamp() + '0.2 s', 1, 7, 0)");
    });
    assert!(ready && took < Duration::from_secs(9), "{took:?}");
}

/// What a session that waits holds.
const HELD: &str = "SELECT concat_ws(' ', backend_xmin, backend_xid, (
        SELECT string_agg(locktype || ' ' || mode, ', ') FROM pg_locks l WHERE l.pid = a.pid AND locktype <> 'virtualxid'
    )) FROM pg_stat_activity a WHERE query LIKE 'CALL sno_wait%'";

/// What nobody is kept from by a hundred sessions that wait.
#[test]
fn a_wait_holds_nothing() {
    let server = Server::builder().conf("autovacuum", "off").start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run("INSERT INTO items SELECT FROM generate_series(1, 2000)");
    thread::sleep(Duration::from_millis(300));
    client.run("SELECT count(*) FROM sno_feed('feed', NULL::items, 10000)");
    client.run("DELETE FROM items");
    let (ready, _) = during(&server, "CALL sno_wait_feed('feed', '60 s')", |other| {
        assert_eq!(text(other, HELD), "");
        other.run("SET lock_timeout = '40 s'");
        other.run("VACUUM items");
        assert_eq!(other.one::<i64>("SELECT pg_relation_size('items')"), 0);
        other.run("ALTER TABLE items ADD m integer");
        other.run("CREATE INDEX CONCURRENTLY ON items (n)");
        other.run(INSERT);
    });
    assert!(ready);
}

/// A feed or its table that is dropped while it is waited for.
#[test]
fn what_is_waited_for_goes_away() {
    let server = Server::builder().start();
    server.run(SETUP);
    server.run("SELECT sno_create_feed('other', 'items')");
    for (feed, drop, sqlstate) in
        [("other", "SELECT sno_drop_feed('other')", "42704"), ("feed", "DROP TABLE items", "42P01")]
    {
        let mut other = server.connect();
        let call = format!("CALL sno_wait_feed('{feed}', '50 s')");
        let (server, call) = (&server, &call);
        thread::scope(|scope| {
            let waiter = scope.spawn(move || code(&mut server.connect(), call));
            wait_until("a session that waits", || waiting(&mut other) == 1);
            other.run(drop);
            assert_eq!(waiter.join().unwrap(), sqlstate);
        });
    }
}

/// It is cancelled and terminated at once, with no more than PostgreSQL's own message, and ends with the postmaster.
#[test]
fn a_wait_ends_at_once() {
    let server = Server::builder().faketime(true).start();
    let mut client = server.connect();
    client.run(SETUP);
    let id = text(&mut client, "SELECT sno_upper('infinity')::text");
    for call in [WAIT.to_owned(), format!("CALL sno_wait_read('feed', '{id}', '50 s')")] {
        // By a clock that stands, it never looks again.
        server.stop_clock(client.one("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"));
        for end in ["cancel", "terminate"] {
            let mut other = server.connect();
            let (refused, took) = thread::scope(|scope| {
                let (server, call) = (&server, &call);
                let waiter =
                    scope.spawn(move || (server.connect().batch_execute(call).unwrap_err(), Instant::now()));
                wait_until("a session that waits", || waiting(&mut other) == 1);
                let began = Instant::now();
                other.run(&format!(
                    "SELECT pg_{end}_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL sno_wait%'"
                ));
                let (refused, at) = waiter.join().unwrap();
                (refused, at.saturating_duration_since(began))
            });
            assert!(took < SOON, "{took:?}");
            // A session that is terminated need not get the message.
            match refused.as_db_error() {
                Some(refused) if end == "cancel" => {
                    assert_eq!((refused.code().code(), refused.detail()), ("57014", None));
                }
                _ => assert!(end == "terminate" && refused.is_closed() || refused.as_db_error().is_some()),
            }
        }
        server.set_clock("+0");
        assert_eq!(code(&mut server.connect_with("-c statement_timeout=300"), &call), "57014");
    }
    client.run("SET idle_in_transaction_session_timeout = 100");
    assert!(!client.one::<bool>("CALL sno_wait_feed('feed', '1 s')"));
    // Last, since nothing is left.
    let mut waiter = server.connect();
    thread::scope(|scope| {
        let waits = scope.spawn(move || waiter.batch_execute(WAIT).is_err());
        wait_until("a session that waits", || waiting(&mut client) == 1);
        let began = Instant::now();
        server.kill_postmaster();
        assert!(waits.join().unwrap());
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    });
    server.kill_all();
}

#[test]
fn refused() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE ROLE other; SELECT sno_create_feed('given', 'items', margin => NULL);
         CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r boolean; BEGIN CALL sno_wait_feed('feed', '0', r); END $$;
         CREATE PROCEDURE p() LANGUAGE plpgsql SET jit = off AS $$ DECLARE r boolean; BEGIN CALL sno_wait_feed('feed', '0', r); END $$",
    );
    let id = text(&mut client, "SELECT sno_new(1)::text");
    for call in ["sno_wait_feed('none')".to_owned(), format!("sno_wait_read('none', '{id}')")] {
        assert_eq!(code(&mut client, &format!("CALL {call}")), "42704", "{call}");
    }
    for call in [
        "sno_wait_feed(NULL)",
        "sno_wait_feed('feed', NULL)",
        "sno_wait_read('feed', NULL)",
        &format!("sno_wait_read(NULL, '{id}')"),
        &format!("sno_wait_read('feed', '{id}', NULL)"),
    ] {
        assert_eq!(code(&mut client, &format!("CALL {call}")), "22004", "{call}");
    }
    assert_eq!(code(&mut client, "CALL sno_wait_feed('given')"), "55000");
    client.run("SET ROLE other");
    assert_eq!(code(&mut client, "CALL sno_wait_feed('feed')"), "42501");
    assert_eq!(code(&mut client, &format!("CALL sno_wait_read('feed', '{id}')")), "42501");
    client.run("RESET ROLE");
    for call in [
        "SELECT f()",
        "CALL p()",
        "BEGIN; CALL sno_wait_feed('feed', '0')",
        &format!("BEGIN; CALL sno_wait_read('feed', '{id}')"),
    ] {
        let refused = client.batch_execute(call).unwrap_err();
        let refused = refused.as_db_error().unwrap();
        assert_eq!((refused.code().code(), refused.hint().is_some()), ("25001", true), "{call}");
        client.run("ROLLBACK");
    }
    let standby = server.standby();
    assert_eq!(code(&mut standby.connect(), "CALL sno_wait_feed('feed')"), "25006");
}

/// Read your own writes: what another session has read, or what will never come.
#[test]
fn it_returns_when_an_id_was_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    let id = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    let call = |id: &str, timeout: &str| format!("CALL sno_wait_read('feed', '{id}', '{timeout}')");
    let (read, took) = wait(&mut client, &call(&id, "0.4 s"));
    assert!(!read && took >= Duration::from_millis(400) && took < SOON, "{took:?}");
    assert!(!wait(&mut client, &call(&id, "0")).0);
    let (read, took) = during(&server, &call(&id, "50 s"), |reader| {
        // But for the moments in which it looks.
        wait_until("a wait that holds nothing", || text(reader, HELD).is_empty());
        // The transaction of the reader has to commit.
        reader.run("BEGIN");
        assert_eq!(reader.one::<i64>(READ), 1);
        thread::sleep(Duration::from_millis(200));
        assert!(!client.one::<bool>(&call(&id, "0")));
        reader.run("COMMIT");
    });
    assert!(read && took < SOON, "{took:?}");
    // Also for who has waited for long.
    let next = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    let (read, took) = during(&server, &call(&next, "50 s"), |reader| {
        thread::sleep(Duration::from_millis(1400));
        assert_eq!(reader.one::<i64>(READ), 1);
    });
    assert!(read && took < Duration::from_secs(1), "{took:?}");
    // An ID that is the last one of a full batch.
    let id = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    client.run(INSERT);
    thread::sleep(Duration::from_millis(150));
    client.run(&READ.replace("items)", "items, 1)"));
    assert!(client.one::<bool>(&call(&id, "0")));
    assert_eq!(client.one::<i64>(READ), 1);
    // It does not wait for a call that finds nothing new.
    let (read, took) = wait(&mut client, &call(&id, "50 s"));
    assert!(read && took < SOON, "{took:?}");
    // The last ID of a batch.
    let next = text(&mut client, &format!("{INSERT} RETURNING id::text"));
    assert!(!client.one::<bool>(&call(&next, "0")));
    thread::sleep(Duration::from_millis(300));
    assert_eq!(client.one::<i64>("SELECT count(*) FROM sno_feed('feed', NULL::items, 1)"), 1);
    assert!(client.one::<bool>(&call(&next, "0")));
}

/// A view that leaves out all rows: each look reads what is new, and the wait returns in time, whatever is written meanwhile.
#[test]
fn rows_that_a_view_leaves_out() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); CREATE SEQUENCE looked;
         CREATE VIEW rare AS SELECT * FROM items WHERE pg_sleep(0.002) IS NULL OR nextval('looked') < 0;
         SELECT sno_create_feed('rare', 'rare', margin => '0')",
    );
    client.run("INSERT INTO items (n) SELECT generate_series(1, 200)");
    let mut writer = server.connect();
    let (done, call) = (AtomicBool::new(false), "CALL sno_wait_feed('rare', '2 s')");
    client.run("SET statement_timeout = '20 s'");
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                writer.run(INSERT);
                thread::sleep(Duration::from_millis(10));
            }
        });
        let began = Instant::now();
        let ended = client.batch_execute(call).is_ok();
        let took = began.elapsed();
        done.store(true, Relaxed);
        assert!(ended && took >= Duration::from_secs(2) && took < Duration::from_secs(5), "{took:?}");
    });
    // No row twice.
    let rows: i64 = client.one("SELECT count(*) FROM items");
    let looked: i64 = client.one("SELECT last_value FROM looked");
    assert!(looked <= rows, "{looked} of {rows} rows");
}

/// Once the position is ten seconds old, a wait stores how far there are no rows.
#[test]
fn what_a_wait_stores() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
         CREATE VIEW rare AS SELECT * FROM items WHERE n < 0;
         SELECT sno_create_feed('rare', 'rare', margin => '0'); INSERT INTO items (n) SELECT generate_series(1, 100);
         SELECT pg_sleep(0.01)",
    );
    let unread = "SELECT count(*) FROM items, sno_feeds WHERE id > position OR position IS NULL";
    assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
    assert_eq!(client.one::<i64>(unread), 100);
    let stale = "UPDATE sno_internal.feed_positions SET moved = now() - interval '11 s'";
    for (settings, expected) in
        [("default_transaction_read_only = on", 100), ("default_transaction_isolation = serializable", 100)]
    {
        client.run(stale);
        client.run(&format!("SET {settings}"));
        assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
        client.run("RESET ALL");
        assert_eq!(client.one::<i64>(unread), expected, "{settings}");
    }
    assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
    assert_eq!(client.one::<i64>(unread), 0);
    // Not beyond a row that is there, nor beyond one that comes.
    client.run(&format!("{stale}; INSERT INTO items (n) VALUES (-1), (1); SELECT pg_sleep(0.01)"));
    assert!(client.one::<bool>("CALL sno_wait_feed('rare', '5 s')"));
    assert_eq!(client.one::<i64>(unread), 2);
    let mut holder = server.connect();
    client.run("SELECT count(*) FROM sno_feed('rare', NULL::rare)");
    holder.run("BEGIN; INSERT INTO items (n) VALUES (-2)");
    client.run(stale);
    assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
    holder.run("COMMIT");
    assert!(client.one::<bool>("CALL sno_wait_feed('rare', '5 s')"));
}

/// A transaction of a wait does not get as old as PostgreSQL 17 and later allow.
#[test]
fn transaction_timeout() {
    let server = Server::builder().start();
    let mut client = server.connect();
    if major_version(&mut client) < 17 {
        return skip("transaction_timeout came with PostgreSQL 17");
    }
    client.run(SETUP);
    client.run("SET transaction_timeout = '400ms'");
    assert!(!wait(&mut client, "CALL sno_wait_feed('feed', '2 s')").0);
    let id = text(&mut client, "SELECT sno_upper('infinity')::text");
    assert!(!wait(&mut client, &format!("CALL sno_wait_read('feed', '{id}', '2 s')")).0);
}

/// What a wait costs while nothing comes, and while rows come to another table; also after a signal has woken it up.
#[test]
fn what_a_wait_costs() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run("CREATE TABLE others (id sno DEFAULT sno_new(1)); SELECT pg_sleep(0.2)");
    client.run(READ);
    let looks = |client: &mut Client| -> i64 {
        client.run("SELECT pg_stat_force_next_flush()");
        client.one("SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'items'")
    };
    let before = looks(&mut client);
    assert!(!wait(&mut client, "CALL sno_wait_feed('feed', '3 s')").0);
    let idle = looks(&mut client) - before;
    assert!((1..=4).contains(&idle), "{idle} looks");
    let used = Cell::new(0);
    let (ready, _) = during(&server, "CALL sno_wait_feed('feed', '8 s')", |other| {
        let since = Instant::now();
        let pid: i32 = other.one("SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL sno_wait%'");
        server.reload();
        let began = processor_ticks(pid);
        while since.elapsed() < Duration::from_millis(1500) {
            other.run("INSERT INTO others DEFAULT VALUES; SELECT pg_sleep(0.003)");
        }
        used.set(processor_ticks(pid) - began);
    });
    assert!(!ready);
    let busy = looks(&mut client) - before - idle;
    assert!((3..=40).contains(&busy), "{busy} looks");
    // Of a hundred in a second.
    assert!(used.get() < 40, "{} ticks", used.get());
}

/// The processor time of a process.
fn processor_ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split(' ').skip(12).take(2);
    fields.map(|field| field.parse::<u64>().unwrap()).sum()
}
