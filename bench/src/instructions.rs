//! How many instructions calls and statements take: a number that is the same on a busy machine, for a later change to
//! be held against.
//!
//! callgrind counts in a backend in single-user mode, on the data of a server that has stopped: once within functions,
//! and once within the server's `PortalRun`, which runs one statement. It does so for few rows and for many: the
//! difference, by row, is without what happens once a session.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use sno_tests::{Mode, Server, as_server, program};

use crate::contenders::{Contender, Contenders, MOMENTS};
use crate::results::{Figure, Run, Section, Series, Unit};
use crate::sections::{
    COPY_FROM_BINARY, COPY_FROM_TEXT, COPY_TO_BINARY, COPY_TO_TEXT, CREATE_INDEX, HOUR, INSERT, SORT, TABLE,
};

/// What functions are called for.
const COUNTED: &str = "
    CREATE SEQUENCE numbers;
    CREATE FUNCTION nextval_oid(regclass DEFAULT 'numbers') RETURNS bigint LANGUAGE internal AS 'nextval_oid';
    CREATE TABLE counted AS
    SELECT *, sno::text AS sno_text, uuid::text AS uuid_text, bigint::text AS bigint_text
    FROM (SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '7 ms', n % 256, n % 1000, n) AS sno,
                 sno_make('2026-01-01Z'::timestamptz + n % 100 * interval '1 s', 0, 1, 1) AS sno_2,
                 md5(n::text)::uuid AS uuid, md5((n + 1)::text)::uuid AS uuid_2,
                 n * 7919::bigint AS bigint, n::bigint AS bigint_2, '2026-01-01Z'::timestamptz + n * interval '1 s' AS at
          FROM generate_series(1, {rows}) n) n;
    ANALYZE counted;
    COPY counted (sno) TO '{data}/sno' (FORMAT binary);
    COPY counted (uuid) TO '{data}/uuid' (FORMAT binary);
    COPY counted (bigint) TO '{data}/bigint' (FORMAT binary)";

/// What a function does, how it is called for each row, and its name in C (and in SQL, if it is called by that), by type.
const CALLS: [(&str, &str, &[&str]); 10] = [
    ("A new key", "{f}()", &["sno_new", "gen_random_uuid", "nextval_oid", "clock_timestamp"]),
    ("Comparison", "{f}({k}, {k}_2)", &["sno_cmp", "uuid_cmp", "btint8cmp"]),
    ("Less than", "{k} < {k}_2", &["sno_lt", "uuid_lt", "int8lt"]),
    ("Text to key", "{k}_text::{k}", &["sno_in", "uuid_in", "int8in"]),
    ("Key to text", "{k}::text", &["sno_out", "uuid_out", "int8out"]),
    ("Hash", "{f}({k})", &["sno_hash", "uuid_hash", "hashint8"]),
    ("Key to binary", "{f}({k})", &["sno_send", "uuid_send", "int8send"]),
    ("Binary to key", "", &["sno_recv", "uuid_recv", "int8recv"]),
    ("Time of a key", "{f}({k})", &["sno_time"]),
    ("Least key of a time", "{f}(at)", &["sno_lower"]),
];
const TYPES: [&str; 4] = ["sno", "uuid", "bigint", "the clock alone"];

/// What is done with tables of keys, in this order: sorts don't find the index yet, and what comes after it does.
const TASKS: [(&str, &str); 7] = [
    ("COPY TO, text", COPY_TO_TEXT),
    ("COPY TO, binary", COPY_TO_BINARY),
    ("COPY FROM, text", COPY_FROM_TEXT),
    ("COPY FROM, binary", COPY_FROM_BINARY),
    ("ORDER BY, with a column beside it", SORT),
    ("CREATE INDEX", CREATE_INDEX),
    (
        "Counting rows by an index on the key",
        "SELECT count(*) FROM {t} WHERE id >= (SELECT id FROM {t} ORDER BY id LIMIT 1)",
    ),
];

/// Rows of the short run and of the long one.
const ROWS: [usize; 2] = [2_000, 22_000];

/// By how much a count may grow.
const TOLERANCE: f64 = 0.02;

/// Counts for few rows and for many.
pub(crate) fn count() -> Result<Run, Box<dyn Error>> {
    let (few, mut run) = (count_rows(ROWS[0])?, count_rows(ROWS[1])?);
    let figures = run.sections.iter_mut().flat_map(|section| &mut section.figures);
    let few = few.sections.iter().flat_map(|section| &section.figures).flat_map(|figure| &figure.series);
    for (many, few) in figures.flat_map(|figure| &mut figure.series).zip(few) {
        let count = (many.median - few.median) / (ROWS[1] - ROWS[0]) as f64;
        *many = Series::new(&many.name, vec![count], String::new());
    }
    Ok(run)
}

/// Counts what so many rows take.
fn count_rows(rows: usize) -> Result<Run, Box<dyn Error>> {
    let server = Server::builder().conf("autovacuum", "off").start();
    let mut client = server.connect();
    let mut run = Run::new(client.query_one("SHOW server_version", &[])?.get(0));
    let words = vec![("rows", rows.to_string()), ("data", server.data().display().to_string())];
    let tables = Contenders::DefaultsAndTime.on(&mut client, &words);
    let keys = Contenders::Moments.on(&mut client, &words);
    let all = Contender { name: String::new(), words };
    all.run(&server, COUNTED)?;
    all.run(&server, MOMENTS)?;
    for key in &keys {
        key.run(&server, HOUR)?;
    }
    // Tables that rows are inserted into have the same names, in a schema of their own.
    all.run(&server, "CREATE SCHEMA inserted")?;
    for table in &tables {
        table.run(&server, &format!("SET search_path = inserted, public; {TABLE}"))?;
    }
    drop(client);
    server.stop(Mode::Fast);

    let (mut script, mut options) = (Vec::new(), Vec::new());
    for (_, call, functions) in CALLS {
        for (function, key) in functions.iter().zip(TYPES) {
            let call = call.replace("{f}", function).replace("{k}", key);
            script.push(match call.as_str() {
                "" => all.fill(&format!("COPY counted ({key}) FROM '{{data}}/{key}' (FORMAT binary)")),
                call => format!("SELECT count({call}) FROM counted"),
            });
            options.push(format!("--toggle-collect={function}"));
        }
    }
    let counts = inclusive(&callgrind(server.data(), &script, &options)?.concat());
    let calls = CALLS.map(|(title, _, functions)| {
        let count =
            |function: &&str| *counts.get(*function).unwrap_or_else(|| panic!("no call of {function}"));
        figure(title, TYPES.into_iter().zip(functions.iter().map(count)))
    });

    // An index that is not used would be another task.
    script = vec!["SET enable_seqscan = off".into(), "SET enable_bitmapscan = off".into()];
    script.push("SET search_path = inserted, public".into());
    script.extend(tables.iter().map(|table| table.fill(INSERT)));
    script.push("SET search_path = public".into());
    script.extend(TASKS.iter().flat_map(|(_, task)| keys.iter().map(|key| key.fill(task))));
    // callgrind writes a profile after each; the last one is of what came after the last statement: nothing.
    options = vec!["--toggle-collect=PortalRun".into(), "--dump-after=PortalRun".into()];
    let profiles = callgrind(server.data(), &script, &options)?;
    assert_eq!(profiles.len(), script.len() + 1, "profiles of statements");
    let counted = profiles.iter().zip(&script).filter(|(_, statement)| !statement.starts_with("SET"));
    let mut totals = counted.map(|(profile, _)| {
        let total = profile.lines().find_map(|line| line.strip_prefix("totals: ")?.parse().ok());
        total.expect("a profile with its total")
    });
    let mut statement = |title: &str, contenders: &[Contender]| {
        figure(title, contenders.iter().map(|one| one.name.as_str()).zip(&mut totals))
    };
    let inserts = statement("Bulk insert", &tables);
    let tasks = TASKS.map(|(title, _)| statement(title, &keys));
    run.sections.push(section("calls", rows, calls.into()));
    run.sections.push(section("insert", rows, vec![inserts]));
    run.sections.push(section("keys", rows, tasks.into()));
    Ok(run)
}

fn figure<'a>(title: &str, counts: impl Iterator<Item = (&'a str, f64)>) -> Figure {
    let series = counts.map(|(name, count)| Series::new(name, vec![count], String::new()));
    Figure { title: title.into(), unit: Unit::Instructions, series: series.collect() }
}

fn section(name: &str, rows: usize, figures: Vec<Figure>) -> Section {
    Section { name: name.into(), title: format!("Instructions: {name}"), rows, figures }
}

/// In callgrind's files, lines of costs belong to the last `fn=`; the one after `calls=` is what the callee took.
fn inclusive(profile: &str) -> BTreeMap<String, f64> {
    let mut functions = BTreeMap::new();
    let mut current = "";
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = name;
        } else if line.starts_with(|first: char| first.is_ascii_digit())
            && let Some(Ok(cost)) = line.split(' ').nth(1).map(str::parse::<f64>)
        {
            *functions.entry(current.to_owned()).or_default() += cost;
        }
    }
    functions
}

/// Runs statements, one a line; returns the profiles that callgrind wrote with these options, in their order.
fn callgrind(data: &Path, statements: &[String], options: &[String]) -> Result<Vec<String>, Box<dyn Error>> {
    let (script, folder) = (data.join("statements"), tempfile::tempdir_in(data)?);
    // The backend writes them as its own user.
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    fs::write(&script, statements.join("\n") + "\n")?;
    let profile = folder.path().join("profile");
    let output = as_server(Path::new("valgrind"))
        .args(["--quiet", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .args(options)
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program("postgres"))
        .args(["--single", "-c", "jit=off", "-D"])
        .arg(data)
        .arg("postgres")
        .stdin(Stdio::from(fs::File::open(&script)?))
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || complaint.contains("ERROR:") {
        return Err(format!("postgres under valgrind: {complaint}").into());
    }
    // Those written on the way are numbered from 1; the one at the end has no number.
    let mut profiles = Vec::new();
    while let Ok(text) = fs::read_to_string(profile.with_extension((profiles.len() + 1).to_string())) {
        profiles.push(text);
    }
    profiles.push(fs::read_to_string(&profile)?);
    Ok(profiles)
}

/// Prints both counts of everything of the extension's; an error if one has grown by more than two in a hundred.
pub(crate) fn check(recorded: &Run, now: &Run) -> Result<(), Box<dyn Error>> {
    let [before, major] = [recorded, now].map(|run| run.postgresql.split('.').next());
    if before != major {
        return Err(format!("recorded on PostgreSQL {}, not {}", recorded.postgresql, now.postgresql).into());
    }
    let recorded = ours(recorded);
    let mut grown = Vec::new();
    for (what, now) in ours(now) {
        let Some(before) = recorded.get(&what) else {
            println!("{what:50} {now:8.1}, not counted before");
            continue;
        };
        println!("{what:50} {now:8.1}, before {before:.1}: {:+.1} %", (now / before - 1.0) * 100.0);
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

/// What a change of the extension can change: its functions, and statements with its keys.
fn ours(run: &Run) -> BTreeMap<String, f64> {
    let figures = run.sections.iter().flat_map(|section| &section.figures);
    let series = figures.flat_map(|figure| figure.series.iter().map(move |series| (figure, series)));
    series
        .filter(|(_, series)| series.name.starts_with("sno"))
        .map(|(figure, series)| (format!("{}, {}", series.name, figure.title), series.median))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_summed_over_a_function_and_its_callees() {
        let profile = "events: Ir\n\nfl=a\nfn=sno_in\n12 100\n13 20\ncfn=palloc\ncalls=7 0\n13 70\n\nfn=palloc\n0 70\n\
                       \nfn=sno_in\n14 5\n\ntotals: 265\n";
        let functions = inclusive(profile);
        assert_eq!((functions["sno_in"], functions["palloc"]), (195.0, 70.0));
    }

    #[test]
    fn two_in_a_hundred_may_be_lost() {
        let counted = |postgresql: &str, sno: f64, uuid: f64| {
            let figures = vec![figure("Comparison", [("sno", sno), ("uuid", uuid)].into_iter())];
            Run { sections: vec![section("", 1, figures)], ..Run::new(postgresql.into()) }
        };
        let before = counted("15.1", 100.0, 100.0);
        assert!(check(&before, &counted("15.2", 102.0, 300.0)).is_ok());
        assert!(check(&before, &counted("15.2", 50.0, 100.0)).is_ok());
        assert!(check(&before, &counted("15.2", 102.1, 100.0)).is_err());
        assert!(check(&before, &counted("18.0", 100.0, 100.0)).is_err());
    }
}
