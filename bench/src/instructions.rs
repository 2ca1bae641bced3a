//! How many instructions calls and statements take: a number that is the same on a busy machine, for a later change to be held
//! against.
//!
//! callgrind counts in a backend in single-user mode, on the data of a server that has stopped: within our functions, and within the
//! server's `PortalRun`, which runs one statement. Each statement runs twice, and the second time counts, without what happens once a
//! session.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use sno_tests::{Mode, Server, as_server, program};

use crate::run::psql;

/// Where the counts are recorded, for PostgreSQL 15.
const RECORD: &str = "bench/instructions.txt";

/// By how much a count may grow.
const TOLERANCE: f64 = 0.02;

const ROWS: u32 = 20_000;

/// The tables; the keys of `hour` are in random order.
const SETUP: &str = "
    CREATE TABLE counted AS
    SELECT *, sno::text AS sno_text
    FROM (SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '7 ms', n % 256, n % 1000, n) AS sno,
                 sno_make('2026-01-01Z'::timestamptz + n % 100 * interval '1 s', 0, 1, 1) AS sno_2,
                 '2026-01-01Z'::timestamptz + n * interval '1 s' AS at
          FROM generate_series(1, {rows}) n) n;
    CREATE TABLE made (id sno PRIMARY KEY DEFAULT sno_new(1), payload integer);
    CREATE TABLE hour AS
    SELECT sno_make('2023-01-01Z'::timestamptz + random() * interval '1 hour', 1, 42 << 8 | n % 8, n) AS id, n AS payload
    FROM setseed(0.5), generate_series(1, {rows}) n;
    CREATE TABLE copied (LIKE hour);
    CREATE TABLE day (id sno PRIMARY KEY);
    INSERT INTO day SELECT sno_new(1, now() - n * interval '100000 s' / {rows}) FROM generate_series(1, {rows}) n;
    VACUUM ANALYZE counted, hour, day;
    COPY counted (sno) TO '{data}/sno' (FORMAT binary);
    COPY hour TO '{data}/text';
    COPY hour TO '{data}/binary' (FORMAT binary)";

/// Functions of C, and how each is called for each row, or the statement that does so.
const CALLS: [(&str, &str); 10] = [
    ("sno_new", "sno_new(1)"),
    ("sno_cmp", "sno_internal.sno_cmp(sno, sno_2)"),
    ("sno_lt", "sno < sno_2"),
    ("sno_in", "sno_text::sno"),
    ("sno_out", "sno::text"),
    ("sno_hash", "sno_internal.sno_hash(sno)"),
    ("sno_send", "sno_internal.sno_send(sno)"),
    ("sno_time", "sno_time(sno)"),
    ("sno_lower", "sno_lower(at)"),
    ("sno_recv", "COPY counted (sno) FROM '{data}/sno' (FORMAT binary)"),
];

/// Statements that are counted by row.
const STATEMENTS: [&str; 8] = [
    "INSERT INTO made (payload) SELECT n FROM generate_series(1, {rows}) n",
    "COPY hour TO '/dev/null'",
    "COPY hour TO '/dev/null' (FORMAT binary)",
    "COPY copied FROM '{data}/text'",
    "COPY copied FROM '{data}/binary' (FORMAT binary)",
    "SELECT id, payload FROM hour ORDER BY id OFFSET {rows}",
    "SELECT id FROM hour ORDER BY id OFFSET {rows}",
    "CREATE INDEX ON hour (id)",
];

/// Conditions of a query that is planned.
const PLANS: [&str; 9] = [
    "id >= {since}",
    "id >= sno_lower({since})",
    "sno_time(id) >= {since}",
    "id >= {since} AND id < {since} + interval '1 hour'",
    "sno_between(id, {since}, {since} + interval '1 hour')",
    "sno_time(id) >= {since} AND sno_time(id) < {since} + interval '1 hour'",
    "id >= now() - interval '1 hour'",
    "sno_between(id, now() - interval '1 hour', now())",
    "sno_time(id) >= now() - interval '1 hour'",
];

/// The server's version, and what was counted, with its name.
fn count() -> (String, Vec<(String, f64)>) {
    let server = Server::builder().conf("autovacuum", "off").start();
    let data = server.data().to_owned();
    let since = psql(&server, "SELECT format('timestamptz %L', now() - interval '2 hours')");
    let fill = |text: &str| {
        let text = text.replace("{since}", since.trim()).replace("{rows}", &ROWS.to_string());
        text.replace("{data}", &data.display().to_string())
    };
    psql(&server, &fill(SETUP));
    let version = psql(&server, "SHOW server_version");
    server.stop(Mode::Fast);

    let calls = CALLS.map(|(_, call)| match call.starts_with("COPY") {
        true => fill(call),
        false => format!("SELECT count({call}) FROM counted"),
    });
    let functions: Vec<&str> = CALLS.iter().map(|(function, _)| *function).collect();
    let name = |(function, _): &(&str, &str)| format!("call: {function}");
    let mut counts: Vec<_> = CALLS.iter().map(name).zip(callgrind(&data, &calls, &functions)).collect();

    let plans = PLANS.map(|condition| format!("EXPLAIN SELECT count(*) FROM day WHERE {}", fill(condition)));
    let statements: Vec<String> = STATEMENTS.iter().map(|text| fill(text)).chain(plans).collect();
    let names = STATEMENTS.into_iter().chain(PLANS).map(str::to_owned);
    counts.extend(names.zip(callgrind(&data, &statements, &["PortalRun"])));
    for (name, count) in &mut counts {
        *count /= if PLANS.contains(&name.as_str()) { 1.0 } else { f64::from(ROWS) };
    }
    (version.trim().to_owned(), counts)
}

/// The instructions that statements, of one line each, take in these functions, when they run the second time.
fn callgrind(data: &Path, statements: &[String], functions: &[&str]) -> Vec<f64> {
    let (script, profile) = (data.join("statements"), data.join(format!("profile-{}", functions.len())));
    // An index that is not used would be another task.
    let mut lines = vec!["SET enable_seqscan = off", "SET enable_bitmapscan = off"];
    lines.extend(statements.iter().flat_map(|statement| [statement.as_str(); 2]));
    fs::write(&script, lines.join("\n") + "\n").expect("a script");
    let output = as_server(Path::new("valgrind"))
        .args(["--quiet", "--tool=callgrind", "--dump-after=PortalRun"])
        .args(functions.iter().map(|function| format!("--toggle-collect={function}")))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program("postgres"))
        .args(["--single", "-c", "jit=off", "-D"])
        .arg(data)
        .arg("postgres")
        .stdin(Stdio::from(fs::File::open(&script).expect("a script")))
        .output()
        .expect("valgrind");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaint.contains("ERROR:"), "postgres under valgrind: {complaint}");
    // A profile is written after each statement, numbered from 1.
    let total = |number: usize| {
        let text = fs::read_to_string(profile.with_extension(number.to_string())).expect("a profile");
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.parse().ok());
        total.expect("a profile with its total")
    };
    (0..statements.len()).map(|place| total(4 + 2 * place)).collect()
}

pub(crate) fn record() {
    let (version, counts) = count();
    let lines: String = counts.iter().map(|(name, count)| format!("{count:8.1}  {name}\n")).collect();
    fs::write(RECORD, format!("PostgreSQL {version}\n{lines}")).expect(RECORD);
    print!("{lines}");
}

/// Prints the counts; fails if one has grown. Another minor release of PostgreSQL counts statements differently, so there the calls
/// alone are compared.
pub(crate) fn check() {
    let recorded = fs::read_to_string(RECORD).expect(RECORD);
    let (version, counts) = count();
    let more = grown(&recorded, &version, &counts);
    assert!(more.is_empty(), "more than before: {}", more.join(", "));
}

/// Prints both counts; returns the names of those that have grown.
fn grown(recorded: &str, version: &str, counts: &[(String, f64)]) -> Vec<String> {
    let (before, lines) = recorded.split_once('\n').expect("a version");
    let before = before.trim_start_matches("PostgreSQL ");
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    assert_eq!(major(before), major(version), "recorded on another version of PostgreSQL");
    let mut more = Vec::new();
    for (name, now) in counts {
        let count =
            |line: &str| line.trim().split_once("  ").filter(|(_, old)| old == name)?.0.parse::<f64>().ok();
        let Some(old) = lines.lines().find_map(count) else {
            println!("{now:8.1}  {name}, not counted before");
            continue;
        };
        println!("{now:8.1}  {name}, before {old:.1}: {:+.1} %", (now / old - 1.0) * 100.0);
        if *now > old * (1.0 + TOLERANCE) && (before == version || name.starts_with("call: ")) {
            more.push(name.clone());
        }
    }
    more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_in_a_hundred_may_be_lost() {
        for name in ["call: it", "ORDER BY"] {
            let grown = |version, count| {
                grown(&format!("PostgreSQL 15.2\n   100.0  {name}\n"), version, &[(name.into(), count)])
            };
            assert!(grown("15.2", 102.0).is_empty());
            assert_eq!(grown("15.2", 102.1), [name]);
            // A statement has PostgreSQL's own work in it.
            assert_eq!(grown("15.3", 102.1).is_empty(), name == "ORDER BY");
        }
    }
}
