//! Steps of `docs/runbook.md` that an operator takes by hand.

use std::{fs, time::SystemTime};

use sno_tests::{Ids, Mode, Server, Sql as _, as_server, code, program, text};

/// What `postgres -C` prints for a stopped server.
fn number_at_the_next_start(server: &Server) -> String {
    let mut postgres = as_server(&program("postgres"));
    let output = postgres.arg("-D").arg(server.data()).args(["-C", "sno.partition_prefix"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Sets the server's clock to a Unix time, and collects IDs for about a second from then on: some in each tick.
fn draw(server: &Server, ids: &mut Ids, from: f64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    server.set_clock(&format!("{:+.6}", from - now.as_secs_f64()));
    let each_tick =
        "SELECT CASE WHEN pg_sleep(0.002) IS NOT NULL THEN sno_new() END FROM generate_series(1, 400)";
    ids.query(&mut server.connect(), each_tick).unwrap();
}

/// The steps in the order of the page repeat no ID. If the server is stopped before the new number is configured, it starts with the
/// old one, and IDs repeat.
#[test]
fn another_number_when_the_marks_are_ahead() {
    for is_reloaded in [true, false] {
        let server = Server::builder().faketime(true).conf("sno.partition_prefix", "700/16").start();
        let mut ids = Ids::new();
        let fast: f64 = server.connect().one("SELECT extract(epoch FROM clock_timestamp())::float8 + 60");
        draw(&server, &mut ids, fast);
        server.run("SELECT sno_horizon()");
        server.set_clock("+0");
        let number =
            || text(&mut server.connect(), "SELECT prefix || '/' || prefix_bits FROM sno_generator()");
        assert_eq!(code(&mut server.connect(), "SELECT sno_new()"), "55000");
        if is_reloaded {
            server.configure("sno.partition_prefix", "701/16");
            server.reload();
            assert_eq!(number(), "701/16");
            // Not enough: the marks hold for all numbers.
            assert_eq!(code(&mut server.connect(), "SELECT sno_new()"), "55000");
        }
        server.stop(Mode::Fast);
        let shown = number_at_the_next_start(&server);
        server.excuse_marks();
        fs::remove_file(server.marks()).unwrap();
        server.start();
        assert_eq!(number(), shown);
        draw(&server, &mut ids, fast - 2.0);
        draw(&server, &mut ids, fast);
        assert_eq!(
            (shown.as_str(), ids.duplicates().is_empty()),
            if is_reloaded { ("701/16", true) } else { ("700/16", false) }
        );
    }
}

/// What finds the latest ID of a database.
pub(crate) fn latest_ids() -> String {
    let page = crate::docs::page("runbook.md");
    crate::docs::blocks(crate::docs::section(&page, "`sno.marks` can't be written or read"), "sql")[0]
        .sql
        .to_owned()
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
    let output = server.psql(&latest_ids());
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.retain(|line| line.starts_with("public."));
    lines.sort();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("public.lines.id|2026-01-01 00:00:00"), "{lines:?}");
    assert!(lines[1].starts_with("public.orders.id|2026-02-01 00:00:00"), "{lines:?}");
}
