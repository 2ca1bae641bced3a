//! What any user can ask of a server without taking it down, and without an error that is another one than PostgreSQL's; random
//! queries, and memcheck.

use std::fmt::Write as _;
use std::process::Command;
use std::{env, fs};

use sno_tests::{Server, Sql as _, code, error, text};

use super::regress;

/// Conditions within conditions, as deep as PostgreSQL itself reads them. With its own limit near that of the system,
/// what takes more stack than PostgreSQL's functions ends the server.
#[test]
fn deep_conditions() {
    let server = Server::builder().conf("max_stack_depth", "6MB").start();
    let mut client = server.connect();
    client.run("CREATE TABLE event (id sno)");
    let nested = |condition: &str| format!("{}{condition}{}", "(".repeat(3000), " IS TRUE)".repeat(3000));
    let mut query = format!("SELECT id, {} AS b FROM event", nested("(id >= now() - interval '1 day')"));
    for level in 0..3 {
        query = format!("SELECT id, {} AS b FROM ({query}) level{level}", nested("b"));
    }
    client.run(&format!("EXPLAIN SELECT FROM ({query}) whole WHERE b"));
    assert_eq!(server.recoveries(), 0, "{}", server.log());
}

/// A process that gets no memory any more: an error at most.
#[test]
fn long_texts_without_memory() {
    let server = Server::builder()
        .under(&["/usr/bin/prlimit", "--as=600000000"])
        .extension(false)
        .conf("shared_buffers", "16MB")
        .start();
    let mut client = server.connect();
    client.run("CREATE EXTENSION sno_compat CASCADE");
    for (call, bytes) in [
        ("x::sno", 150),
        ("x::uid60", 150),
        ("gid_new(x)", 150),
        ("gid_make('log', now(), x::bytea)", 75),
        ("sno_unmask(x, '\\x00112233445566778899aabbccddeeff', '')", 150),
        ("sno_mask(sno_new(1), '\\x00112233445566778899aabbccddeeff', x)", 150),
    ] {
        let query = format!(
            "SELECT {call} IS NULL FROM (SELECT repeat('2', {bytes}000000 + (random() * 0)::integer) x OFFSET 0) t"
        );
        let result = client.batch_execute(&query);
        assert_eq!(server.recoveries(), 0, "{call}: {}", server.log());
        if let Err(error) = result {
            let state = error.code().expect(call).code().to_owned();
            assert!(["22P02", "22P03", "22023", "53200", "54000"].contains(&&*state), "{call}: {error:?}");
        }
    }
}

/// The planner calls functions of users for its estimates. Their errors arrive as they are.
#[test]
fn errors_of_users_functions_in_bounds() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client
        .run(
            "CREATE TABLE event (id sno DEFAULT sno_new(1), n integer);
             INSERT INTO event (n) SELECT generate_series(1, 1000); ANALYZE event;
             CREATE FUNCTION since(tenant text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
                 BEGIN RAISE 'no such tenant' USING ERRCODE = tenant, CONSTRAINT = 'tenant_check', SCHEMA = 'app'; END $$",
        );
    let mut query = String::from("SELECT FROM event WHERE id >= since('UE123')");
    for _ in 0..2 {
        let error = error(&mut client, &query);
        assert_eq!((error.code().code(), error.message()), ("UE123", "no such tenant"));
        assert_eq!((error.constraint(), error.schema()), (Some("tenant_check"), Some("app")));
        assert!(error.where_().unwrap().starts_with("PL/pgSQL function since(text) line 2 at RAISE"));
        // Beside other conditions, and in the session that has had such an error.
        write!(query, " AND id < now() AND n > 5").unwrap();
    }
    assert_eq!(code(&mut client, "SELECT FROM event WHERE id < since('45000')"), "45000");
    assert_eq!(text(&mut client, "SELECT count(*) FROM event WHERE id >= now() - interval '1 hour'"), "1000");
}

/// memcheck, with a report for each process. Reports without a frame of our libraries don't count: Debian's servers do
/// not tell memcheck of PostgreSQL's allocator.
#[test]
#[ignore = "takes many minutes: make test-sanitizers"]
fn memcheck_has_nothing_to_report() {
    let reports = tempfile::tempdir().unwrap();
    sno_tests::give_to_server(reports.path());
    let log = format!("--log-file={}/%p", reports.path().display());
    let valgrind =
        ["/usr/bin/valgrind", "--quiet", "--trace-children=yes", "--leak-check=no", "--num-callers=40", &log];
    // A statement takes minutes.
    let server = regress::server().conf("statement_timeout", "0").under(&valgrind).start();
    regress::run(&server);
    server.stop(sno_tests::Mode::Fast);
    let mut processes = 0;
    for report in fs::read_dir(reports.path()).unwrap() {
        let report = fs::read_to_string(report.unwrap().path()).unwrap();
        processes += 1;
        // Blocks are separated by lines that have the process's number only.
        let is_ours = |block: &&str| block.contains("sno.so") || block.contains("sno_compat.so");
        let ours: Vec<&str> = report.split("== \n").filter(is_ours).collect();
        assert!(ours.is_empty(), "{}", ours.join("\n"));
    }
    println!("{processes} processes, and no report with a frame of sno.so or sno_compat.so");
    assert!(processes > 20, "{processes} processes");
}

/// Tables, views and functions for random queries to find.
const SCHEMA: &str = "
    CREATE EXTENSION sno_compat CASCADE;
    CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_new(1), at timestamptz, parent sno, n integer, data text, raw bytea, u uuid);
    INSERT INTO event (id, at, parent, n, data, raw, u)
        SELECT id, sno_time(id), sno_with_metabyte(id, 2), n, id::text, id::bytea, id::uuid
        FROM (SELECT sno_new(1, '2026-01-01Z'::timestamptz + n * interval '1 min') AS id, n FROM generate_series(1, 1000) n) n;
    CREATE INDEX ON event USING brin (id);
    CREATE INDEX ON event USING hash (parent);
    CREATE INDEX ON event (parent, n);
    CREATE TABLE log (id sno PRIMARY KEY, line text) PARTITION BY RANGE (id);
    SELECT sno_create_partitions('log', '1 month', '2026-01-01Z', '2026-04-01Z');
    INSERT INTO log SELECT sno_new(2, '2026-01-01Z'::timestamptz + n * interval '1 hour'), n FROM generate_series(1, 2000) n;
    CREATE VIEW recent AS SELECT * FROM event WHERE id >= '2026-01-01 05:00Z'::timestamptz;
    CREATE TABLE other (a bigint, b uid60, c uniqueid, d gid);
    INSERT INTO other SELECT snowflake_si_new(), uid60_new(), uniqueid_new(), gid_new('log') FROM generate_series(1, 100);
    ANALYZE;";

/// Random queries over tables of our types, on a server with assertions.
#[test]
#[ignore = "takes minutes and needs sqlsmith: make test-sqlsmith"]
fn random_queries_bring_no_server_down() {
    let seconds = env::var("SNO_SECONDS").unwrap_or_else(|_| "300".into());
    let server = Server::builder()
        .extension(false)
        .conf("statement_timeout", "2s")
        .compat()
        .conf("sno_compat.snowflake_si_base_clock", "2020-01-01T00:00:00Z")
        .conf("sno_compat.snowflake_si_machine", "12")
        .start();
    let mut client = server.connect();
    client.run(SCHEMA);
    let assertions = text(&mut client, "SHOW debug_assertions");
    let before = server.log().len();
    let output = Command::new("timeout")
        .args(["--signal=INT", &seconds, "sqlsmith", "--verbose", "--exclude-catalog"])
        .arg(format!("--target={}", server.connection_string()))
        .output()
        .expect("sqlsmith");
    let shown = String::from_utf8_lossy(&output.stderr);
    let queries = shown.lines().rev().find_map(|line| line.split_once("queries: ").map(|(_, rest)| rest));
    let log = server.log()[before..].to_owned();
    println!("{seconds} s of random queries, assertions {assertions}: {}", queries.unwrap_or("?"));
    for fault in ["TRAP:", "PANIC:", "was terminated by signal", "panicked", "internal error"] {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(fault)).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
    let statements = log.matches("STATEMENT:").count();
    assert!(server.recoveries() == 0 && statements > 10, "{statements} statements with an error\n{shown}");
    client.run("SELECT sno_new(1)");
}
