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
use std::time::Instant;

use sno_tests::{Mode, Server, as_server, program};

use crate::contenders::{Contender, FUNCTIONS};
use crate::figures::Measure;
use crate::results::{Run, Series, Unit};
use crate::sections::SECTIONS;

/// What functions are called for.
const COUNTED: &str = "
    CREATE TABLE counted AS
    SELECT *, sno::text AS sno_text
    FROM (SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '7 ms', n % 256, n % 1000, n) AS sno,
                 sno_make('2026-01-01Z'::timestamptz + n % 100 * interval '1 s', 0, 1, 1) AS sno_2,
                 '2026-01-01Z'::timestamptz + n * interval '1 s' AS at
          FROM generate_series(1, {rows}) n) n;
    ANALYZE counted;
    COPY counted (sno) TO '{data}/sno' (FORMAT binary)";

/// What a function does, how it is called for each row, and its name in C.
const CALLS: [(&str, &str, &str); 10] = [
    ("A new key", "sno_new(1)", "sno_new"),
    ("Comparison", "sno_internal.sno_cmp(sno, sno_2)", "sno_cmp"),
    ("Less than", "sno < sno_2", "sno_lt"),
    ("Text to key", "sno_text::sno", "sno_in"),
    ("Key to text", "sno::text", "sno_out"),
    ("Hash", "sno_internal.sno_hash(sno)", "sno_hash"),
    ("Key to binary", "sno_internal.sno_send(sno)", "sno_send"),
    ("Time of a key", "sno_time(sno)", "sno_time"),
    ("Least key of a time", "sno_lower(at)", "sno_lower"),
    // The last, as it adds rows: by COPY.
    ("Binary to key", "", "sno_recv"),
];

/// Rows of the short run and of the long one.
const ROWS: [usize; 2] = [2_000, 22_000];

/// By how much a count may grow.
const TOLERANCE: f64 = 0.02;

/// How much longer a new key may take than `clock_timestamp()`, each less a function that does nothing: the code that reads
/// the clock is the kernel's, and hidden from callgrind. Beside the clock a key needs memory for its ten bytes and one
/// locked instruction, which take about as long: 1.9 times was measured.
const CLOCK: f64 = 2.2;

/// What is timed for [`CLOCK`], in turns.
const TIMED: [&str; 4] = ["sno_new(1)", "nothing(1)", "clock_timestamp()", "nothing()"];

/// Counts for few rows and for many.
pub(crate) fn count() -> Result<Run, Box<dyn Error>> {
    let (few, mut many) = (count_rows(ROWS[0])?, count_rows(ROWS[1])?);
    for (many, few) in many.series.iter_mut().zip(few.series).filter(|(many, _)| many.section != "plans") {
        let count = (many.median - few.median) / (ROWS[1] - ROWS[0]) as f64;
        *many = series([&many.section, &many.figure, &many.contender], count);
    }
    many.series.push(time_by_the_clock()?);
    Ok(many)
}

/// How often as long as `clock_timestamp()` a new key takes, in each of some rounds.
fn time_by_the_clock() -> Result<Series, Box<dyn Error>> {
    const CALLS: usize = 500_000;
    // Many in a row of the query, so that the row itself weighs little.
    const IN_A_ROW: usize = 20;

    let server = Server::builder().conf("jit", "off").conf("max_parallel_workers_per_gather", "0").start();
    let mut client = server.connect();
    client.batch_execute(FUNCTIONS)?;
    let mut statements = Vec::new();
    for call in TIMED {
        let calls = vec![format!("count({call})"); IN_A_ROW].join(", ");
        statements
            .push(client.prepare(&format!("SELECT {calls} FROM generate_series(1, {CALLS} / {IN_A_ROW})"))?);
    }
    let mut samples = Vec::new();
    for round in 0..32 {
        let mut times = [0.0; TIMED.len()];
        for turn in 0..TIMED.len() {
            let place = (turn + round) % TIMED.len();
            let began = Instant::now();
            client.query_one(&statements[place], &[])?;
            times[place] = began.elapsed().as_secs_f64();
        }
        // The first turns find nothing prepared.
        if round >= TIMED.len() {
            samples.push((times[0] - times[1]) / (times[2] - times[3]));
        }
    }
    Ok(Series::new(
        ["clock", "A new key, by the time of clock_timestamp()", "sno"],
        CALLS,
        Unit::Times,
        samples,
    ))
}

fn series(names: [&str; 3], count: f64) -> Series {
    Series::new(names, ROWS[1], Unit::Instructions, vec![count])
}

/// Counts what so many rows take.
fn count_rows(rows: usize) -> Result<Run, Box<dyn Error>> {
    let server = Server::builder().conf("autovacuum", "off").start();
    let mut client = server.connect();
    let mut run = Run::new(client.query_one("SHOW server_version", &[])?.get(0));
    client.batch_execute(FUNCTIONS)?;
    let words = vec![("rows", rows.to_string()), ("data", server.data().display().to_string())];
    let all = Contender { name: String::new(), words };
    all.run(&server, COUNTED)?;

    let mut calls = Vec::new();
    for (title, call, _) in CALLS {
        calls.push(match call {
            "" => all.fill("COPY counted (sno) FROM '{data}/sno' (FORMAT binary)"),
            call => format!("SELECT count({call}) FROM counted"),
        });
        run.series.push(series(["calls", title, "sno"], 0.0));
    }

    // An index that is not used would be another task. What is not counted begins with a blank.
    let mut statements = vec![" SET enable_seqscan = off".into(), " SET enable_bitmapscan = off".into()];
    for name in ["insert", "copy", "sort", "plans"] {
        let section = SECTIONS.iter().find(|section| section.name == name).ok_or("no such section")?;
        let path = format!("SET search_path = {name}, public");
        all.run(&server, &format!("CREATE SCHEMA {name}; {path}; {}", section.setup))?;
        statements.push(format!(" {path}"));
        // Keys of one hour take the place of those of three years; the table of defaults is of one contender at a time.
        let counted = |title: &str| !title.ends_with("years") && !title.contains("default");
        let mut own = Contender { name: String::new(), words: all.words.clone() };
        own.ask(&mut client, section.words)?;
        for figure in section.figures.iter().filter(|figure| counted(figure.title)) {
            let contenders = figure.contenders.on(&mut client, &own.words).into_iter();
            for contender in contenders.filter(|contender| contender.name.starts_with("sno")) {
                contender.run(&server, &format!("{path}; {}; {}", figure.setup, figure.around[0]))?;
                let statement = contender.fill(figure.of);
                if figure.measure == Measure::Planning {
                    // What is kept for the session is there the second time.
                    statements.push(format!(" EXPLAIN {statement}"));
                    statements.push(format!("EXPLAIN {statement}"));
                } else {
                    statements.push(statement);
                }
                run.series.push(series([name, figure.title, &contender.name], 0.0));
            }
        }
    }
    drop(client);
    server.stop(Mode::Fast);

    let toggles = CALLS.map(|(.., function)| format!("--toggle-collect={function}"));
    let counts = inclusive(&callgrind(server.data(), &calls, &toggles)?.concat());
    let calls = CALLS.iter().map(|(.., function)| *counts.get(*function).expect("calls of each function"));
    let options = ["--toggle-collect=PortalRun".into(), "--dump-after=PortalRun".into()];
    // callgrind writes a profile after each statement; the last one is of what came after all of them: nothing.
    let profiles = callgrind(server.data(), &statements, &options)?;
    assert_eq!(profiles.len(), statements.len() + 1, "profiles of statements");
    let counted = profiles.iter().zip(&statements).filter(|(_, statement)| !statement.starts_with(' '));
    let total = |line: &str| line.strip_prefix("totals: ")?.parse().ok();
    let totals =
        counted.map(|(profile, _)| profile.lines().find_map(total).expect("a profile with its total"));
    run.series.iter_mut().zip(calls.chain(totals)).for_each(|(series, count)| series.median = count);
    Ok(run)
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
    let (script, profile) = (data.join("statements"), data.join(format!("profile-{}", statements.len())));
    fs::write(&script, statements.join("\n") + "\n")?;
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

/// Prints both counts; an error if one has grown by more than two in a hundred, or if a
/// new key takes longer than it [may](CLOCK). Another minor release of PostgreSQL counts statements differently, so there
/// the calls alone are compared.
pub(crate) fn check(recorded: &Run, now: &Run) -> Result<(), Box<dyn Error>> {
    let [before, major] = [recorded, now].map(|run| run.postgresql.split('.').next());
    if before != major {
        return Err(format!("recorded on PostgreSQL {}, not {}", recorded.postgresql, now.postgresql).into());
    }
    let same_release = recorded.postgresql == now.postgresql;
    if !same_release {
        println!(
            "Recorded on PostgreSQL {}, and this is {}: statements may grow.",
            recorded.postgresql, now.postgresql
        );
    }
    let recorded = statements(recorded);
    let mut grown = Vec::new();
    for (what, now) in statements(now) {
        let Some(before) = recorded.get(&what) else {
            println!("{what:50} {now:8.1}, not counted before");
            continue;
        };
        println!("{what:50} {now:8.1}, before {before:.1}: {:+.1} %", (now / before - 1.0) * 100.0);
        if now > before * (1.0 + TOLERANCE) && (same_release || what.starts_with("calls: ")) {
            grown.push(what);
        }
    }
    for Series { section, figure, median, quartiles, .. } in
        now.series.iter().filter(|s| s.unit == Unit::Times)
    {
        let what = format!("{section}: {figure}");
        println!("{what:50} {}, at most {}", Unit::Times.show(*median), Unit::Times.show(CLOCK));
        // What disturbs a round makes it longer or shorter.
        if quartiles[0] > CLOCK {
            grown.push(what);
        }
    }
    if grown.is_empty() { Ok(()) } else { Err(format!("more than before: {}", grown.join(", ")).into()) }
}

/// What was counted, by its section, its figure, and the way to ask.
fn statements(run: &Run) -> BTreeMap<String, f64> {
    let counted = run.series.iter().filter(|series| series.unit == Unit::Instructions);
    let name = |s: &Series| format!("{}: {}{}", s.section, s.figure, s.contender.trim_start_matches("sno"));
    counted.map(|series| (name(series), series.median)).collect()
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
    fn a_new_key_takes_little_more_than_the_clock() {
        let timed = |samples| {
            let times = Series::new(["clock", "", "sno"], 1, Unit::Times, samples);
            Run { series: vec![times], ..Run::new("15.2".into()) }
        };
        let before = timed(vec![0.9]);
        // A few rounds may be disturbed.
        assert!(check(&before, &timed(vec![1.9, 2.1, 2.3, 9.0])).is_ok());
        assert!(check(&before, &timed(vec![0.1, 2.25, 2.3, 2.3, 2.4])).is_err());
    }

    #[test]
    fn two_in_a_hundred_may_be_lost() {
        let counted = |postgresql: &str, section, count| Run {
            series: vec![series([section, "Hash", "sno"], count)],
            ..Run::new(postgresql.into())
        };
        for section in ["calls", "sort"] {
            let before = counted("15.2", section, 100.0);
            assert!(check(&before, &counted("15.2", section, 102.0)).is_ok());
            assert!(check(&before, &counted("15.2", section, 50.0)).is_ok());
            assert!(check(&before, &counted("15.2", section, 102.1)).is_err());
            assert!(check(&before, &counted("18.0", section, 100.0)).is_err());
            // A statement has PostgreSQL's own work in it.
            assert_eq!(check(&before, &counted("15.3", section, 102.1)).is_err(), section == "calls");
        }
    }
}
