//! What servers and networks do to a consumer.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::{Mode, Sql as _, assert_soon, major_version, text, wait_until};

use super::bouncer::Bouncer;
use super::proxy::Proxy;
use super::{Case, LOSE, Language, Way};

pub(super) fn lost_connections(way: Way) {
    let case = Case::new(way);
    let mut client = case.client();
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    // In the handler, which has an error of its own then; more often than makes poison.
    case.insert(&["cut 4"]);
    case.assert_equal();
    for _ in 0..20 {
        case.insert(&[]);
        client.run(LOSE);
        thread::sleep(Duration::from_millis(100));
    }
    case.assert_equal();
    // The pause between two tries, which grows up to ten seconds, is short again after each batch.
    let mut last = Duration::ZERO;
    for _ in 0..9 {
        client.run(LOSE);
        case.insert(&[]);
        let begun = Instant::now();
        case.assert_equal();
        last = begun.elapsed();
    }
    assert_soon(last, Duration::from_secs(4));
    // Nor does it try without a pause.
    let tries = || consumer.errors().matches("connecting again").count();
    for mode in [Mode::Fast, Mode::Immediate] {
        drop(client);
        case.insert(&[]);
        let before = tries();
        case.server.stop(mode);
        thread::sleep(Duration::from_secs(2));
        case.server.start();
        client = case.client();
        assert!(tries() - before < 20, "{} tries in two seconds", tries() - before);
        case.insert(&[]);
        case.assert_equal();
    }
    consumer.stop();
}

pub(super) fn a_cut_at_each_message(way: Way) {
    let case = Case::new(way);
    let proxy = Proxy::new(case.server.port());
    case.port.store(proxy.port, Relaxed);
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    let mut client = case.client();
    client.run(LOSE);
    // Most messages are for the connection: in Rust 67, so that its batches are cut only in `lost_connections`.
    while proxy.connections.load(Relaxed) < 100 {
        client.run("INSERT INTO events (payload) VALUES ('plain'), ('plain')");
        case.assert_equal();
    }
    proxy.ends.store(true, Relaxed);
    case.assert_equal();
    consumer.stop();
}

/// A proxy that accepts everything, and passes on nothing: while the consumer waits, works, stops and connects.
pub(super) fn a_network_that_goes_silent(way: Way) {
    let case = Case::new(way);
    let proxy = Proxy::new(case.server.port());
    proxy.ends.store(true, Relaxed);
    case.port.store(proxy.port, Relaxed);
    let fall_silent = || proxy.silent.store(proxy.connections.load(Relaxed), Relaxed);
    // A wait of a second: ten seconds later the server counts as gone.
    let consumer = case.start(&["brief"]);
    case.insert(&[]);
    case.assert_equal();
    thread::sleep(Duration::from_millis(300));
    fall_silent();
    case.insert(&[]);
    case.assert_equal();
    // Then the next statement is the COMMIT.
    case.server.run("INSERT INTO events (payload) VALUES ('slow 0.5')");
    consumer.wait_for_output("slow 0.5");
    fall_silent();
    case.assert_equal();
    assert!(consumer.errors().matches("connecting again").count() >= 2, "{}", consumer.errors());
    case.server.run("INSERT INTO events (payload) VALUES ('slow 0.6')");
    consumer.wait_for_output("slow 0.6");
    fall_silent();
    let ended = consumer.stop();
    assert_soon(ended, Duration::from_secs(9));
    // While it waits, and while it connects again.
    let consumer = case.start(&[]);
    case.assert_equal();
    thread::sleep(Duration::from_millis(300));
    fall_silent();
    let ended = consumer.stop();
    assert_soon(ended, Duration::from_secs(5));
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    proxy.silent.store(usize::MAX, Relaxed);
    case.client().run(LOSE);
    wait_until("it has lost its connection", || consumer.errors().contains("connecting again"));
    thread::sleep(Duration::from_millis(500));
    let ended = consumer.stop();
    assert_soon(ended, Duration::from_secs(5));
}

pub(super) fn ddl(way: Way) {
    let case = Case::new(way);
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    for change in ["ADD COLUMN more int", "DROP COLUMN more", "ALTER payload TYPE varchar(100)"] {
        case.server.run(&format!("ALTER TABLE events {change}"));
        case.insert(&[]);
        case.assert_equal();
    }
    case.server.run("ALTER TABLE events RENAME id TO key");
    case.insert(&[]);
    consumer.assert_fails("id");
    case.server.run("ALTER TABLE events RENAME key TO id");
    let consumer = case.start(&[]);
    case.assert_equal();
    consumer.stop();
}

/// A column that comes while a batch is handled: the next call has waited for the lock, and its plan is not right any more.
pub(super) fn ddl_beside_a_batch(way: Way) {
    let case = Case::new(way);
    let consumer = case.start(&[]);
    for (n, change) in ["ADD COLUMN more int", "DROP COLUMN more"].into_iter().enumerate() {
        let slow = format!("slow 0.3{n}");
        case.insert(&[&slow]);
        consumer.wait_for_output(&slow);
        case.server.run(&format!("BEGIN; ALTER TABLE events {change}; SELECT pg_sleep(0.3); COMMIT"));
        case.insert(&[]);
        case.assert_equal();
    }
    assert!(consumer.errors().contains("connecting again"), "it saw nothing of it\n{}", consumer.errors());
    consumer.stop();
}

/// What a name or an address may lead to after a failover.
pub(super) fn a_standby(way: Way) {
    let case = Case::new(way);
    case.insert(&[]);
    let standby = case.server.standby();
    let (folder, port) = (standby.socket_folder().to_str().unwrap(), standby.port().to_string());
    let consumer = case.start_with(&[], &[("PGHOST", folder), ("PGPORT", &port)]);
    wait_until("it tries again", || consumer.errors().matches("connecting again").count() >= 3);
    case.server.wait_replayed(&standby);
    standby.promote();
    let copied = "SELECT count(*)::text FROM copy";
    wait_until("the copy has all rows", || text(&mut standby.connect(), copied) == "60");
    consumer.stop();
}

/// As a DBA sets them for a role. None of them ends a wait.
pub(super) fn limits_of_the_role(way: Way) {
    let case = Case::new(way);
    for limit in ["statement_timeout", "idle_session_timeout", "transaction_timeout"] {
        if limit == "transaction_timeout" && major_version(&mut case.client()) < 17 {
            continue;
        }
        case.server.run(&format!("ALTER ROLE postgres SET {limit} = '1s'"));
        let consumer = case.start(&[]);
        case.insert(&[]);
        case.assert_equal();
        thread::sleep(Duration::from_millis(3500));
        case.insert(&[]);
        case.assert_equal();
        assert!(!consumer.errors().contains("connecting again"), "{limit}\n{}", consumer.errors());
        consumer.stop();
        case.server.run("ALTER ROLE postgres RESET ALL");
    }
}

/// They double, up to ten seconds.
pub(super) fn pauses(way: Way) {
    let case = Case::new(way);
    let consumer = case.start(&[]);
    case.insert(&[]);
    case.assert_equal();
    case.server.stop(Mode::Fast);
    // 0.1 s + 0.2 s + … 6.4 s, less a quarter; from then on 10 s each.
    thread::sleep(Duration::from_secs(14));
    case.server.start();
    let warnings = consumer.errors().matches("connecting again").count();
    assert!((7..=10).contains(&warnings), "{}", consumer.errors());
    assert!(consumer.errors().contains("10") && !consumer.errors().contains("12.8"), "{}", consumer.errors());
    case.insert(&[]);
    case.assert_equal();
    consumer.stop();
}

pub(super) fn another_isolation_level(way: Way) {
    let case = Case::new(way);
    case.server.configure("default_transaction_isolation", "repeatable read");
    case.insert(&[]);
    case.server.configure("default_transaction_read_only", "on");
    case.server.reload();
    let consumer = case.start(&[]);
    wait_until("the copy has all rows", || case.difference() == "0 0 0");
    consumer.stop();
    // In Rust, the consumer connects by itself.
    if way.language != Language::Rust {
        case.start(&["open"]).assert_fails("open transaction");
    }
}

pub(super) fn pgbouncer(way: Way) {
    let case = Case::new(way);
    let Some(mut bouncer) = Bouncer::start(&case.server) else { return };
    let port = Bouncer::PORT.to_string();
    let start = |bouncer: &Bouncer, options| {
        let folder = bouncer.folder.path().to_str().unwrap();
        case.start_with(options, &[("PGHOST", folder), ("PGPORT", &port)])
    };
    let consumers = [&["pgbouncer"][..], &["pgbouncer", "batches"]].map(|options| start(&bouncer, options));
    for _ in 0..20 {
        case.insert(&["fail 1"]);
        thread::sleep(Duration::from_millis(100));
    }
    case.assert_equal();
    // While they wait. A cancel request can end PgBouncer 1.18.
    thread::sleep(Duration::from_millis(300));
    consumers.into_iter().for_each(|consumer| {
        consumer.stop();
    });
    assert!(bouncer.is_alive());
    drop(bouncer);
    let bouncer = Bouncer::start_in(&case.server, "statement").unwrap();
    let consumer = start(&bouncer, &["pgbouncer"]);
    // In Rust, the driver looks up types in a transaction.
    if way.autocommit && way.language != Language::Rust {
        case.insert(&[]);
        case.assert_equal();
        consumer.stop();
    } else {
        consumer.assert_fails("");
    }
}
