//! What a wait costs, writes and holds.

use std::cell::Cell;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, processor_ticks, stored, text, wait_until};

use super::{HELD, INSERT, READ, SETUP, WAIT, during, wait};
use crate::meanwhile;

/// While something is prepared, each step of a wait copies the server's lock table, also if what is prepared has no IDs. It keeps no copy.
#[test]
fn a_prepared_transaction_without_ids() {
    let server = Server::builder().conf("max_prepared_transactions", "2").start();
    server.run(SETUP);
    let mut holder = server.connect();
    holder.run(&format!("BEGIN; {INSERT}"));
    server.run(
        "BEGIN; SELECT pg_advisory_xact_lock(n) FROM generate_series(1, 3000) n; PREPARE TRANSACTION 'two'",
    );
    let (steps, grown) = (Cell::new(0), Cell::new(0));
    let (ready, _) = during(&server, WAIT, |other| {
        let pid: i32 = other.one("SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL sno_wait%'");
        let (began, size) = (voluntary_switches(pid), memory(&server, other, pid));
        thread::sleep(Duration::from_secs(4));
        steps.set(voluntary_switches(pid) - began);
        grown.set(memory(&server, other, pid) - size);
        holder.run("COMMIT");
    });
    assert!(ready);
    assert!(steps.get() <= 10, "{} steps in 4 s", steps.get());
    assert!(grown.get() < 100_000, "{} bytes in 4 s", grown.get());
}

/// How much memory a session has, by the log.
fn memory(server: &Server, client: &mut Client, pid: i32) -> i64 {
    let totals = || -> Vec<i64> {
        let log = server.log();
        let rest = log.lines().filter_map(|line| line.split_once("Grand total: "));
        rest.map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    let before = totals().len();
    client.run(&format!("SELECT pg_log_backend_memory_contexts({pid})"));
    wait_until("a line in the log", || totals().len() > before);
    totals().pop().unwrap()
}

/// How often a process has gone to sleep.
fn voluntary_switches(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

/// What nobody is kept from by a hundred sessions that wait.
#[test]
fn a_wait_holds_nothing() {
    let server = Server::builder().conf("autovacuum", "off").start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run("INSERT INTO items SELECT FROM generate_series(1, 2000)");
    thread::sleep(Duration::from_millis(300));
    client.run(&stored("SELECT count(*) FROM sno_feed('feed', NULL::items, 10000)"));
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

/// It looks every 50 ms, and holds nothing between its looks.
#[test]
fn a_wait_for_an_id_holds_nothing() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    let id = text(&mut client, "INSERT INTO items DEFAULT VALUES RETURNING id::text");
    let (is_read, _) = during(&server, &format!("CALL sno_wait_read('feed', '{id}', '60 s')"), |other| {
        let samples = (0..100).map(|_| {
            thread::sleep(Duration::from_millis(7));
            text(other, HELD)
        });
        let held: Vec<_> = samples.filter(|held| !held.is_empty()).collect();
        assert!(held.len() < 50, "{} of 100: {:?}", held.len(), held.first());
        other.run(&stored(READ));
    });
    assert!(is_read);
}

/// Once the position is ten seconds old, a wait stores how far there are no rows.
#[test]
fn what_a_wait_stores() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
         CREATE TABLE rare (LIKE items INCLUDING ALL);
         SELECT sno_create_feed('rare', 'rare', margin => '0'); INSERT INTO items (n) SELECT generate_series(1, 100);
         SELECT pg_sleep(0.01)",
    );
    // Up to where it has looked, among all IDs.
    let unread = "SELECT count(*) FROM (TABLE items UNION ALL TABLE rare) i, sno_feeds() WHERE id > position OR position IS NULL";
    assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
    assert_eq!(client.one::<i64>(unread), 100);
    let stale = "UPDATE sno_internal.feed_positions SET moved = now() - interval '11 s'";
    for settings in [
        "default_transaction_read_only = on",
        "default_transaction_isolation = 'repeatable read'",
        "default_transaction_isolation = serializable",
    ] {
        client.run(stale);
        client.run(&format!("SET {settings}"));
        assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
        client.run("RESET ALL");
        assert_eq!(client.one::<i64>(unread), 100, "{settings}");
    }
    assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
    assert_eq!(client.one::<i64>(unread), 0);
    // Not beyond a row that is there, nor beyond one that comes.
    client.run(&format!(
        "{stale}; INSERT INTO rare (n) VALUES (1); INSERT INTO items (n) VALUES (1); SELECT pg_sleep(0.01)"
    ));
    assert!(client.one::<bool>("CALL sno_wait_feed('rare', '5 s')"));
    assert_eq!(client.one::<i64>(unread), 2);
    let mut holder = server.connect();
    client.run(&stored("SELECT count(*) FROM sno_feed('rare', NULL::rare)"));
    holder.run("BEGIN; INSERT INTO rare (n) VALUES (2)");
    client.run(stale);
    assert!(!client.one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"));
    holder.run("COMMIT");
    assert!(client.one::<bool>("CALL sno_wait_feed('rare', '5 s')"));
    // Nor for another table, which has got its name meanwhile.
    client.run(&format!("{stale}; CREATE TABLE empty (LIKE rare INCLUDING ALL)"));
    holder.run("BEGIN; LOCK rare");
    meanwhile(
        &server,
        || server.connect().one::<bool>("CALL sno_wait_feed('rare', '0.2 s')"),
        || holder.run("ALTER TABLE rare RENAME TO replaced; ALTER TABLE empty RENAME TO rare; COMMIT"),
    );
    assert_eq!(client.take::<i64>("SELECT count(*) FROM sno_feed('rare', NULL::replaced)"), 1);
}

/// What a wait costs while nothing comes, and while rows come to another table; also after a signal has woken it up.
#[test]
fn what_a_wait_costs() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(SETUP);
    client.run("CREATE TABLE others (id sno DEFAULT sno_new(1)); SELECT pg_sleep(0.2)");
    client.run(&stored(READ));
    let looks = |client: &mut Client| -> i64 {
        client.run("SELECT pg_stat_force_next_flush()");
        client.one("SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'items'")
    };
    let before = looks(&mut client);
    assert!(!wait(&mut client, "CALL sno_wait_feed('feed', '3 s')").0);
    let idle = looks(&mut client) - before;
    assert!((1..=4).contains(&idle), "{idle} looks");
    let used = Cell::new([0; 2]);
    let (ready, _) = during(&server, "CALL sno_wait_feed('feed', '8 s')", |other| {
        let since = Instant::now();
        let pid: i32 = other.one("SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL sno_wait%'");
        server.reload();
        let writer: i32 = other.one("SELECT pg_backend_pid()");
        let began = [pid, writer].map(|pid| processor_ticks([pid]));
        while since.elapsed() < Duration::from_millis(1500) {
            other.run("INSERT INTO others DEFAULT VALUES; SELECT pg_sleep(0.003)");
        }
        used.set([processor_ticks([pid]) - began[0], processor_ticks([writer]) - began[1]]);
    });
    assert!(!ready);
    let busy = looks(&mut client) - before - idle;
    assert!((3..=40).contains(&busy), "{busy} looks");
    // Not much more than who inserts a row every three milliseconds.
    let [waiter, writer] = used.get();
    assert!(waiter <= writer + 15, "{waiter} ticks of a hundred in a second; {writer} of the writer");
}
