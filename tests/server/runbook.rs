//! Steps of `docs/runbook.md` that an operator takes by hand.

use std::fs;

use sno_tests::{Ids, Mode, Server, Sql as _, as_server, code, program, text};

/// What `postgres -C` prints for a stopped server.
fn number_at_the_next_start(server: &Server) -> String {
    let mut postgres = as_server(&program("postgres"));
    let output = postgres.arg("-D").arg(server.data()).args(["-C", "sno.partition_prefix"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn another_number_when_the_marks_are_ahead() {
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "700/16").start();
    let mut client = server.connect();
    let mut ids = Ids::new();
    let hundred = "SELECT sno_new() FROM generate_series(1, 100)";
    let fast = ["+30", "+31", "+32"];
    for clock in fast {
        server.set_clock(clock);
        ids.query(&mut client, hundred).unwrap();
    }
    client.run("SELECT sno_horizon()");
    server.set_clock("+0");
    assert_eq!(code(&mut client, "SELECT sno_new()"), "55000");

    // A configuration that is not reloaded changes nothing: the command shows it in time. So Patroni leaves it, if the server is stopped first.
    server.stop(Mode::Fast);
    assert_eq!(number_at_the_next_start(&server), "700/16");
    server.start();
    server.configure("sno.partition_prefix", "701/16");
    server.reload();
    let mut client = server.connect();
    assert_eq!(text(&mut client, "SELECT prefix || '/' || prefix_bits FROM sno_generator()"), "701/16");
    // Not enough: the marks hold for all numbers.
    assert_eq!(code(&mut client, "SELECT sno_new()"), "55000");
    server.stop(Mode::Fast);
    assert_eq!(number_at_the_next_start(&server), "701/16");
    server.excuse_marks();
    fs::remove_file(server.marks()).unwrap();
    server.start();
    let mut client = server.connect();
    assert_eq!(text(&mut client, "SELECT prefix || '/' || prefix_bits FROM sno_generator()"), "701/16");
    for clock in ["+0"].into_iter().chain(fast) {
        server.set_clock(clock);
        ids.query(&mut client, hundred).unwrap();
    }
    ids.assert_distinct();
}

/// The statements that the runbook has psql generate: each column of the type or of a domain over it, and only those of tables.
#[test]
fn the_latest_id_is_found_in_columns_of_domains_too() {
    let server = Server::builder().start();
    server.run(
        "CREATE DOMAIN order_id AS sno;
         CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT sno_new(2, '2026-02-01Z'));
         CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(1, '2026-01-01Z'), dropped sno) PARTITION BY RANGE (id);
         CREATE TABLE lines_all PARTITION OF lines DEFAULT;
         ALTER TABLE lines DROP COLUMN dropped;
         CREATE VIEW ids AS SELECT id FROM lines;
         INSERT INTO orders DEFAULT VALUES; INSERT INTO lines DEFAULT VALUES",
    );
    let page = crate::docs::page("runbook.md");
    let block =
        crate::docs::blocks(crate::docs::section(&page, "`sno.marks` can't be written or read"), "sql")[0];
    let output = server.psql(block.sql);
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.retain(|line| !line.starts_with("sno_"));
    lines.sort();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("lines.id|2026-01-01 00:00:00"), "{lines:?}");
    assert!(lines[1].starts_with("orders.id|2026-02-01 00:00:00"), "{lines:?}");
}
