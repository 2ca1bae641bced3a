//! How many instructions a call takes: a number that is the same on a busy machine, for a later change to be held
//! against.
//!
//! callgrind counts only between the entry of one of these functions and its return. It does so twice, for few rows
//! and for many: the difference, by row, is a call without what happens once a session.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sno_tests::{Mode, Server};

use crate::machine::Machine;
use crate::report::Section;
use crate::{callgrind, statements};

/// A function of the server or of the extension by the name it has in C, and what calls it once for each of the
/// `{n}` rows of `counted`.
const FUNCTIONS: [(&str, &str); 26] = [
    ("sno_new", "SELECT count(sno_new(1)) FROM counted WHERE n <= {n}"),
    ("clock_timestamp", "SELECT count(clock_timestamp()) FROM counted WHERE n <= {n}"),
    ("nextval_oid", "SELECT count(nextval('numbers')) FROM counted WHERE n <= {n}"),
    ("gen_random_uuid", "SELECT count(gen_random_uuid()) FROM counted WHERE n <= {n}"),
    ("sno_cmp", "SELECT count(sno_cmp(s, s2)) FROM counted WHERE n <= {n}"),
    ("uuid_cmp", "SELECT count(uuid_cmp(u, u2)) FROM counted WHERE n <= {n}"),
    ("btint8cmp", "SELECT count(btint8cmp(b, b2)) FROM counted WHERE n <= {n}"),
    ("sno_lt", "SELECT count(s < s2) FROM counted WHERE n <= {n}"),
    ("uuid_lt", "SELECT count(u < u2) FROM counted WHERE n <= {n}"),
    ("sno_in", "SELECT count(st::sno) FROM counted WHERE n <= {n}"),
    ("uuid_in", "SELECT count(ut::uuid) FROM counted WHERE n <= {n}"),
    ("int8in", "SELECT count(bt::bigint) FROM counted WHERE n <= {n}"),
    ("sno_out", "SELECT count(s::text) FROM counted WHERE n <= {n}"),
    ("uuid_out", "SELECT count(u::text) FROM counted WHERE n <= {n}"),
    ("int8out", "SELECT count(b::text) FROM counted WHERE n <= {n}"),
    ("sno_hash", "SELECT count(sno_hash(s)) FROM counted WHERE n <= {n}"),
    ("uuid_hash", "SELECT count(uuid_hash(u)) FROM counted WHERE n <= {n}"),
    ("hashint8", "SELECT count(hashint8(b)) FROM counted WHERE n <= {n}"),
    ("sno_send", "SELECT count(sno_send(s)) FROM counted WHERE n <= {n}"),
    ("uuid_send", "SELECT count(uuid_send(u)) FROM counted WHERE n <= {n}"),
    ("int8send", "SELECT count(int8send(b)) FROM counted WHERE n <= {n}"),
    ("sno_recv", "COPY sink (s) FROM '{folder}/s.{n}' (FORMAT binary)"),
    ("uuid_recv", "COPY sink (u) FROM '{folder}/u.{n}' (FORMAT binary)"),
    ("int8recv", "COPY sink (b) FROM '{folder}/b.{n}' (FORMAT binary)"),
    ("sno_time", "SELECT count(sno_time(s)) FROM counted WHERE n <= {n}"),
    ("sno_lower", "SELECT count(sno_lower(at)) FROM counted WHERE n <= {n}"),
];

/// Rows of the short run and of the long one.
const ROWS: [u32; 2] = [1_000, 11_000];

/// By how much a count may grow.
const TOLERANCE: f64 = 0.02;

/// The instructions of a call, by function, and those of a row, by statement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Instructions {
    /// Where and when.
    pub machine: Machine,
    /// The server's version.
    pub postgresql: String,
    /// Functions by their names in C, in the order they are shown.
    pub functions: Vec<(String, f64)>,
    /// Statements by what they do.
    pub statements: Vec<Section>,
}

/// Counts.
pub fn count() -> Result<Instructions, Box<dyn Error>> {
    let machine = Machine::here();
    let server = Server::builder().conf("autovacuum", "off").start();
    let folder = server.data().display().to_string();
    let mut client = server.connect();
    client.batch_execute(&format!(
        "CREATE SEQUENCE numbers;
         CREATE TABLE sink (s sno, u uuid, b bigint);
         CREATE TABLE counted AS
         SELECT *, s::text AS st, u::text AS ut, b::text AS bt
         FROM (SELECT n, sno_make('2026-01-01Z'::timestamptz + n * interval '7 ms', n % 256, n % 1000, n) AS s,
                      sno_make('2026-01-01Z'::timestamptz + n % 100 * interval '1 s', 0, 1, 1) AS s2,
                      md5(n::text)::uuid AS u, md5((n + 1)::text)::uuid AS u2, n * 7919::bigint AS b, n::bigint AS b2,
                      '2026-01-01Z'::timestamptz + n * interval '1 s' AS at
               FROM generate_series(1, {}) n) n;
         ANALYZE counted;",
        ROWS[1]
    ))?;
    for rows in ROWS {
        for column in ["s", "u", "b"] {
            client.batch_execute(&format!(
                "COPY (SELECT {column} FROM counted WHERE n <= {rows}) TO '{folder}/{column}.{rows}' (FORMAT binary)"
            ))?;
        }
    }
    statements::prepare(&mut client, server.data())?;
    let postgresql: String = client.query_one("SHOW server_version", &[])?.get(0);
    drop(client);
    server.stop(Mode::Fast);

    let [few, many] = ROWS.map(|rows| profile(server.data(), rows));
    let (few, many) = (few?, many?);
    let calls = f64::from(ROWS[1] - ROWS[0]);
    let mut functions = Vec::new();
    for (function, _) in FUNCTIONS {
        let [Some(few), Some(many)] = [few.get(function), many.get(function)] else {
            return Err(format!("callgrind saw no call of {function}").into());
        };
        functions.push((function.to_owned(), (many - few) as f64 / calls));
    }
    let statements = statements::count(server.data())?;
    Ok(Instructions { machine, postgresql, functions, statements })
}

/// Runs all statements in one backend, and counts the instructions of each function, with all that it calls.
fn profile(data: &Path, rows: u32) -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
    let (rows, folder) = (rows.to_string(), data.display().to_string());
    let statements =
        FUNCTIONS.map(|(_, statement)| statement.replace("{n}", &rows).replace("{folder}", &folder));
    let toggles = FUNCTIONS.map(|(function, _)| format!("--toggle-collect={function}"));
    Ok(inclusive(&callgrind::profiles(data, &statements, &toggles)?.concat()))
}

/// The instructions of each function in one of callgrind's files, with what it calls. Lines of costs belong to the
/// last `fn=`; the one after `calls=` is what the callee took.
fn inclusive(profile: &str) -> BTreeMap<String, u64> {
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    let mut current = None;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = Some(name.to_owned());
        } else if line.starts_with(|first: char| first.is_ascii_digit())
            && let (Some(name), Some(cost)) = (&current, line.split(' ').nth(1))
            && let Ok(cost) = cost.parse::<u64>()
        {
            *functions.entry(name.clone()).or_default() += cost;
        }
    }
    functions
}

/// Prints both counts of everything of the extension's; an error if one has grown by more than two in a hundred.
pub fn check(recorded: &Instructions, now: &Instructions) -> Result<(), Box<dyn Error>> {
    if recorded.postgresql.split('.').next() != now.postgresql.split('.').next() {
        return Err(
            format!("counted for PostgreSQL {}, not for {}", recorded.postgresql, now.postgresql).into()
        );
    }
    let (recorded, mut grown) = (recorded.ours(), Vec::new());
    for (what, now) in now.ours() {
        let Some(before) = recorded.get(what) else {
            println!("{what:40} {now:8.1}, not counted before");
            continue;
        };
        let change = now / before - 1.0;
        println!("{what:40} {now:8.1}, before {before:.1}: {:+.1} %", change * 100.0);
        if now > before * (1.0 + TOLERANCE) {
            grown.push(what);
        }
    }
    if grown.is_empty() {
        Ok(())
    } else {
        Err(format!("more instructions than before: {}", grown.join(", ")).into())
    }
}

impl Instructions {
    /// What a change of the extension can change: its functions, and statements with its keys.
    fn ours(&self) -> BTreeMap<&str, f64> {
        let functions = self.functions.iter().map(|(function, count)| (function.as_str(), *count));
        let statements = self.statements.iter().flat_map(|section| &section.figures);
        functions
            .filter(|(function, _)| function.starts_with("sno_"))
            .chain(statements.map(|figure| (figure.title.as_str(), figure.series[0].median)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_summed_over_a_function_and_its_callees() {
        let profile = "events: Ir\n\nfl=a\nfn=sno_in\n12 100\n13 20\ncfn=palloc\ncalls=7 0\n13 70\n\nfn=palloc\n0 70\n\
                       \nfn=sno_in\n14 5\n\ntotals: 265\n";
        let functions = inclusive(profile);
        assert_eq!((functions["sno_in"], functions["palloc"]), (195, 70));
    }

    #[test]
    fn two_in_a_hundred_may_be_lost() {
        let counted = |sno: f64, uuid: f64| Instructions {
            machine: Machine::here(),
            postgresql: "15.1".into(),
            functions: vec![("sno_in".into(), sno), ("uuid_in".into(), uuid)],
            statements: Vec::new(),
        };
        let before = counted(100.0, 100.0);
        assert!(check(&before, &counted(102.0, 300.0)).is_ok());
        assert!(check(&before, &counted(50.0, 100.0)).is_ok());
        assert!(check(&before, &counted(102.1, 100.0)).is_err());
        assert!(check(&before, &Instructions { postgresql: "18.0".into(), ..before.clone() }).is_err());
    }
}
