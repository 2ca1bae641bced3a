//! `pg_upgrade` from the server that `dev/staged` has prepared to a newer one, whose programs `SNO_PG_BIN_NEW` names:
//! run it with `make test-upgrade`.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Ids, Mode, Server, catalog, plan, program, text};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";

/// A plan that was run, without costs and times.
const RUN: &str = "ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off";

fn upgrade(from: &str, link: bool) {
    let new_programs = PathBuf::from(std::env::var_os("SNO_PG_BIN_NEW").expect("SNO_PG_BIN_NEW is not set"));
    let old = Server::builder().extension(false).conf("sno.partition_prefix", "3/16").start();
    let mut client = old.connect();
    client
        .batch_execute(&format!(
            "CREATE EXTENSION sno VERSION '{from}';
             CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
             INSERT INTO event (n) SELECT generate_series(1, 20000);
             CREATE INDEX event_hash ON event USING hash (id);
             CREATE INDEX event_brin ON event USING brin (id);
             CREATE INDEX event_kind ON event (sno_metabyte(id), id);
             CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(), line text) PARTITION BY RANGE (id);
             SELECT sno_maintain_partitions('log', '1 day');
             INSERT INTO log (line) SELECT generate_series(1, 1000);
             CREATE TABLE part (id sno) PARTITION BY HASH (id);
             CREATE TABLE part_0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE part_1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
             INSERT INTO part SELECT id FROM event;
             CREATE TABLE wide (kind sno, n integer);
             INSERT INTO wide SELECT sno_make('2026-01-01Z', 0, 1, n % 8), n FROM generate_series(1, 40000) n;
             CREATE INDEX wide_kind_n ON wide (kind, n);"
        ))
        .unwrap();
    let content = "SELECT concat(
        (SELECT md5(string_agg(format('%s %s', id, n), ',' ORDER BY id)) FROM event), ' ',
        (SELECT md5(string_agg(format('%s %s %s', tableoid::regclass, id, line), ',' ORDER BY id)) FROM log), ' ',
        (SELECT md5(string_agg(format('%s %s', tableoid::regclass, id), ',' ORDER BY id)) FROM part))";
    let before = text(&mut client, content);
    let mut ids = Ids::new();
    ids.query(&mut client, "SELECT id FROM event").unwrap();
    ids.query(&mut client, "SELECT id FROM log").unwrap();
    ids.query(&mut client, DRAW).unwrap();
    drop(client);
    old.stop(Mode::Fast);
    let last = ids.iter().max().unwrap();

    let new = Server::builder()
        .extension(false)
        .programs(&new_programs, &["--no-data-checksums"])
        .conf("sno.partition_prefix", "3/16")
        .start();
    new.stop(Mode::Fast);
    let output = new
        .command("pg_upgrade")
        .args(["--old-bindir", program("").to_str().unwrap(), "--new-bindir", new_programs.to_str().unwrap()])
        .args(["--old-datadir", old.data().to_str().unwrap(), "--new-datadir", new.data().to_str().unwrap()])
        .args(["--socketdir", new.socket_folder().to_str().unwrap(), "--username", "postgres"])
        .args(if link { &["--link"][..] } else { &[] })
        .current_dir(new.socket_folder())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!new.marks().exists(), "pg_upgrade does not know of it");
    // The clock goes on meanwhile, as it does during any upgrade.
    thread::sleep(Duration::from_millis(20));
    new.start();

    let mut client = new.connect();
    assert_eq!(text(&mut client, content), before);
    let mut after = Ids::new();
    after.query(&mut client, DRAW).unwrap();
    assert!(after.iter().all(|id| id > last), "IDs go on after the last of before");
    ids.append(after);
    ids.assert_distinct();
    client
        .batch_execute(
            "CREATE EXTENSION amcheck; SELECT bt_index_check('event_pkey', true), bt_index_check('event_kind', true);
             ANALYZE;
             INSERT INTO event (n) SELECT generate_series(1, 1000);
             SELECT sno_maintain_partitions('log', '1 day', ahead => 5);
             INSERT INTO log (line) VALUES ('new');",
        )
        .unwrap();
    for (index, other) in [("event_hash", "event_brin"), ("event_brin", "event_hash")] {
        let wanted = text(&mut client, "SELECT id FROM event WHERE n = 17 ORDER BY id LIMIT 1");
        let query = format!("SELECT count(*) FROM event WHERE id = '{wanted}'");
        client
            .batch_execute(&format!(
                "BEGIN; SET LOCAL enable_seqscan = off;
                 ALTER TABLE event DROP CONSTRAINT event_pkey; DROP INDEX event_kind, {other}"
            ))
            .unwrap();
        let shown = plan(&mut client, RUN, &query);
        assert!(shown.contains(index), "{shown}");
        assert_eq!(text(&mut client, &query), "1", "{index}");
        client.batch_execute("ROLLBACK").unwrap();
    }

    // What the new version of PostgreSQL can do beyond the old one.
    let query = "SELECT count(*) FROM wide WHERE n = 20005";
    let searches = |client: &mut Client| -> u32 {
        client.batch_execute("SET enable_seqscan = off; SET enable_bitmapscan = off").unwrap();
        let plan = plan(client, RUN, query);
        let searches = plan.split("Index Searches: ").nth(1).unwrap_or_else(|| panic!("{plan}"));
        searches.lines().next().unwrap().parse().unwrap()
    };
    let before = searches(&mut client);
    let now = env!("CARGO_PKG_VERSION");
    let update = if from == now {
        format!("ALTER EXTENSION sno UPDATE TO '{now}-pg_upgrade'; ALTER EXTENSION sno UPDATE")
    } else {
        "ALTER EXTENSION sno UPDATE".to_owned()
    };
    client.batch_execute(&update).unwrap();
    let mut client = new.connect();
    let after = searches(&mut client);
    println!("a skip scan over 8 neighbours: {before} searches before the update, {after} after it");
    assert!(after < before && after <= 10, "{before} before, {after} after");
    assert_eq!(text(&mut client, query), "1");
    let updated = catalog(&mut client);
    new.connect().batch_execute("CREATE DATABASE fresh").unwrap();
    let mut fresh = new.connect_to("fresh");
    fresh.batch_execute("CREATE EXTENSION sno").unwrap();
    let fresh = catalog(&mut fresh);
    let different: Vec<_> = updated.symmetric_difference(&fresh).collect();
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
#[ignore = "needs two servers: make test-upgrade"]
fn from_0_1_0() {
    upgrade("0.1.0", false);
}

#[test]
#[ignore = "needs two servers: make test-upgrade"]
fn from_this_version_by_links() {
    upgrade(env!("CARGO_PKG_VERSION"), true);
}
