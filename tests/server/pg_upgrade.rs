//! `pg_upgrade` from the server that `dev/staged` has prepared to a newer one, whose programs `SNO_PG_BIN_NEW` names:
//! run it with `make test-upgrade`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{
    Ids, Mode, Server, Sql as _, catalog, plan, program, skip_on_this_machine, text, wait_until,
};

use crate::docs;
use crate::dumps::{inventory, objects};
use crate::upgrades::{FILL, content, difference, install_next};

const DRAW: &str = "SELECT sno_new(1) FROM generate_series(1, 5000)";

/// How often a condition on the second column searches an index whose first column has 8 values: once for each, in a
/// skip scan.
fn searches(client: &mut Client) -> u32 {
    client.run("SET enable_seqscan = off; SET enable_bitmapscan = off");
    let query = "SELECT count(*) FROM wide WHERE n = 20005";
    assert_eq!(text(client, query), "1");
    let plan = plan(client, "ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off", query);
    let searches = plan.split("Index Searches: ").nth(1).unwrap_or_else(|| panic!("{plan}"));
    searches.lines().next().unwrap().parse().unwrap()
}

/// The major version of a server, as its `pg_config` says.
fn major(programs: &Path) -> u32 {
    let output = Command::new(programs.join("pg_config")).arg("--version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let digits = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Upgrades a server that is stopped to another one by links, each with its programs; what it says if it fails, and the errors in its logs.
pub(crate) fn upgrade(
    old: &Server,
    old_programs: &Path,
    new: &Server,
    new_programs: &Path,
) -> Result<(), String> {
    let mut upgrade = new.command("pg_upgrade");
    upgrade.arg("--old-bindir").arg(old_programs).arg("--new-bindir").arg(new_programs);
    upgrade.arg("--old-datadir").arg(old.data()).arg("--new-datadir").arg(new.data());
    upgrade.arg("--socketdir").arg(new.socket_folder()).args(["--username", "postgres", "--link"]);
    let output = upgrade.current_dir(new.socket_folder()).output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let logs = new.data().join("pg_upgrade_output.d");
    let errors = Command::new("grep").args(["-rh", "ERROR"]).arg(logs).output().unwrap();
    Err([output.stdout, errors.stdout].map(|text| String::from_utf8_lossy(&text).into_owned()).join("\n"))
}

#[test]
#[ignore = "needs two servers: make test-upgrade"]
fn to_a_newer_server_by_links() {
    let new_programs = PathBuf::from(std::env::var_os("SNO_PG_BIN_NEW").expect("SNO_PG_BIN_NEW is not set"));
    // 18 is the first one with skip scans, and the first whose initdb switches checksums on.
    let to_18 = major(&program("")) < 18 && major(&new_programs) >= 18;
    let old = Server::builder().conf("sno.partition_prefix", "3/16").start();
    let mut client = old.connect();
    client.run(FILL);
    client.run(&objects());
    client.run(
        "CREATE TABLE wide (kind sno, n integer);
             INSERT INTO wide SELECT sno_make('2026-01-01Z', 0, 1, n % 8), n FROM generate_series(1, 40000) n;
             CREATE INDEX wide_kind_n ON wide (kind, n);
             CREATE TABLE copy AS SELECT * FROM event WHERE id <= (SELECT position FROM sno_feeds() WHERE feed = 'events');",
    );
    let (before, all) = (content(&mut client), inventory(&mut client));
    let mut ids = Ids::new();
    ids.query(&mut client, "SELECT id FROM event").unwrap();
    ids.query(&mut client, DRAW).unwrap();
    drop(client);
    old.stop(Mode::Fast);
    let last = ids.iter().max().unwrap();

    install_next(&new_programs, "sno_metabyte");
    let new = Server::builder()
        .extension(false)
        .programs(&new_programs, if to_18 { &["--no-data-checksums"] } else { &[] })
        .conf("sno.partition_prefix", "3/16")
        .start();
    new.stop(Mode::Fast);
    if let Err(errors) = upgrade(&old, &program(""), &new, &new_programs) {
        // Of any database: "pg_upgrade" in docs/operation.md.
        if errors.contains("unrecognized parameter \"pg_attver\"") {
            return skip_on_this_machine("the new server's minor release is older than the old one's");
        }
        panic!("{errors}");
    }
    assert!(!new.marks().exists(), "pg_upgrade does not know of it");
    // The clock goes on meanwhile, as it does during any upgrade.
    thread::sleep(Duration::from_millis(20));
    new.start();

    let mut client = new.connect();
    client.run("ANALYZE");
    assert_eq!(content(&mut client), before);
    assert_eq!(difference(&inventory(&mut client), &all), "");
    let mut after = Ids::new();
    after.query(&mut client, DRAW).unwrap();
    assert!(after.iter().all(|id| id > last), "IDs go on after the last of before");
    ids.append(after);
    ids.assert_distinct();
    client
        .run("CREATE EXTENSION amcheck; SELECT bt_index_check('event_pkey', true), bt_index_check('event_kind', true);
             INSERT INTO event (n) SELECT generate_series(1, 1000);
             SELECT sno_maintain_partitions('log', '1 month', ahead => 5);
             INSERT INTO log (line) VALUES ('new');");
    // The feed goes on from where it was.
    wait_until("all rows are read", || {
        client.run("INSERT INTO copy SELECT * FROM sno_feed('events', NULL::event)");
        client.one("SELECT count(*) = (SELECT count(*) FROM event) FROM copy")
    });
    assert_eq!(client.one::<i64>("SELECT count(*) FROM (TABLE event EXCEPT TABLE copy) missing"), 0);

    // What the new version of PostgreSQL can do beyond the old one.
    if to_18 {
        let without = searches(&mut client);
        let page = docs::page("operation.md");
        let [block] = &docs::blocks(&page, "postgresql")[..] else { panic!("one block") };
        client.run(block.sql);
        client = new.connect();
        let with = searches(&mut client);
        println!("a skip scan over 8 neighbours: {without} searches before, {with} after");
        assert!(with < without && with <= 10, "{without} before, {with} after");
    }
    for (version, update) in
        [(env!("CARGO_PKG_VERSION"), "SELECT"), ("next", "ALTER EXTENSION sno UPDATE TO 'next'")]
    {
        client.run(update);
        let name = format!("fresh {version}");
        new.run(&format!("CREATE DATABASE \"{name}\""));
        let mut fresh = new.connect_to(&name);
        fresh.run(&format!("CREATE EXTENSION sno VERSION '{version}'; CREATE EXTENSION sno_compat"));
        assert_eq!(difference(&catalog(&mut client), &catalog(&mut fresh)), "", "{version}");
    }
}
