//! One run: a server, and figures one after the other. The columns of a figure take turns, round after round, and each round begins
//! with another of them; so what disturbs the machine for a moment disturbs all of them.

use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use sno_tests::{Server, major_version, program};

use crate::figures::{FUNCTIONS, Figure, Measure, TABLES, Table};

/// The name of a size, by what the rows are divided, rounds, and how long pgbench's clients run.
const SIZES: [(&str, usize, usize, &str); 3] =
    [("full", 1, 5, "--time=3"), ("quick", 10, 2, "--time=1"), ("smoke", 1000, 1, "--transactions=2")];

/// Settings of the server, for all columns.
const SETTINGS: [(&str, &str); 12] = [
    ("shared_buffers", "2GB"),
    ("work_mem", "1GB"),
    ("maintenance_work_mem", "1GB"),
    ("max_wal_size", "32GB"),
    ("checkpoint_timeout", "1h"),
    // Disks differ more than keys do: nothing waits for one here.
    ("fsync", "off"),
    ("autovacuum", "off"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_parallel_maintenance_workers", "0"),
    ("statement_timeout", "0"),
    // A schema for each figure.
    ("search_path", "figure, public"),
];

/// Measures the figures that have one of these parts in their titles, all if there are none; returns the blocks of the pages.
pub(crate) fn measure(size: &str, parts: &[String]) -> Vec<(&'static str, String)> {
    let size = SIZES.iter().find(|(name, ..)| *name == size).unwrap_or_else(|| panic!("no size {size}"));
    let began = Instant::now();
    let builder = SETTINGS.iter().fold(Server::builder(), |server, (name, value)| server.conf(name, value));
    let server = builder.start();
    psql(&server, FUNCTIONS);
    let has_v7 = major_version(&mut server.connect()) >= 18;
    let mut blocks = Vec::new();
    for table in &TABLES {
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let mut text = format!("| Figure | {} |\n|---|{}\n", names.join(" | "), "---:|".repeat(names.len()));
        let chosen =
            |figure: &&Figure| parts.is_empty() || parts.iter().any(|part| figure.title.contains(part));
        for figure in table.figures.iter().filter(chosen) {
            let there = |column: &usize| has_v7 || names[*column] != "v7";
            let columns: Vec<usize> = figure.columns.iter().copied().filter(there).collect();
            let past = began.elapsed().as_secs();
            eprintln!("{:3}:{:02}  {}", past / 60, past % 60, figure.title);
            let samples = rounds(&server, size, table, figure, &columns);
            text += &row(figure, names.len(), &columns, samples);
        }
        blocks.push((table.block, text));
    }
    let (version, seconds) = (psql(&server, "SHOW server_version"), began.elapsed().as_secs());
    let machine = env::var("SNO_MACHINE").unwrap_or_default();
    let took = format!("{}:{:02}", seconds / 60, seconds % 60);
    blocks.push(("machine", format!("PostgreSQL {}, {machine}. A run of {took} minutes.\n", version.trim())));
    blocks
}

/// Runs SQL in a session of its own; returns what it prints.
pub(crate) fn psql(server: &Server, sql: &str) -> String {
    let output = server.psql(sql);
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The samples of each column.
fn rounds(
    server: &Server,
    (_, divisor, most, length): &(&str, usize, usize, &str),
    table: &Table,
    figure: &Figure,
    columns: &[usize],
) -> Vec<Vec<f64>> {
    let rows = figure.rows / divisor;
    let fill = |column: usize, text: &str| {
        let own = table.columns[column].1.iter().copied().flatten().copied();
        let (rows, table, data) =
            (rows.to_string(), format!("t{column}"), server.data().display().to_string());
        let all = own.chain([("rows", &*rows), ("t", &*table), ("data", &*data)]);
        all.fold(text.to_owned(), |text, (word, to)| text.replace(&format!("{{{word}}}"), to))
    };
    psql(server, "DROP SCHEMA IF EXISTS figure CASCADE; CREATE SCHEMA figure");
    let [setup, before, of, after] = figure.sql;
    for &column in columns {
        psql(server, &fill(column, setup));
    }
    let sample = |column| {
        let of = fill(column, of);
        let seconds = |times: u32, script: &str| {
            f64::from(1) / pgbench(server, 1, &format!("--transactions={times}"), script)
        };
        match figure.measure {
            Measure::Time(times) => seconds(times, &of),
            Measure::TimePerRow(times) => seconds(times, &of) / rows as f64,
            Measure::TimePerCall(times) => {
                let empty = fill(column, "SELECT count(nothing(1)) FROM generate_series(1, {rows})");
                (seconds(times, &of) - seconds(times, &empty)) / rows as f64
            }
            Measure::Rate(clients) => pgbench(server, clients, length, &of),
            Measure::BytesPerRow => psql(server, &of).trim().parse::<f64>().expect("a size") / rows as f64,
        }
    };
    let mut samples = vec![Vec::new(); columns.len()];
    let most = if figure.measure == Measure::BytesPerRow { 1 } else { *most };
    for round in 0..most {
        for turn in 0..columns.len() {
            let place = (turn + round) % columns.len();
            psql(server, &fill(columns[place], before));
            samples[place].push(sample(columns[place]));
            psql(server, &fill(columns[place], after));
        }
    }
    samples
}

/// How often in a second so many clients get through a script.
fn pgbench(server: &Server, clients: u32, length: &str, script: &str) -> f64 {
    let file = server.data().join("script");
    fs::write(&file, script).expect("a script");
    let output = Command::new(program("pgbench"))
        .args([
            "--no-vacuum",
            "--protocol=prepared",
            "--jobs=2",
            "--define=begun=0",
            "--define=id=2222222222222222",
        ])
        .args([length, &format!("--client={clients}"), "--file"])
        .arg(&file)
        .arg(server.connection_string())
        .env("LC_ALL", "C")
        .output()
        .expect("pgbench");
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    let rate = rate.filter(|_| output.status.success());
    rate.unwrap_or_else(|| panic!("{script}: {said}{}", String::from_utf8_lossy(&output.stderr)))
}

/// A line of a table: the median of the first column, and how many times worse the others are, with `≈` in front if the ranges
/// between the quartiles overlap.
fn row(figure: &Figure, width: usize, columns: &[usize], samples: Vec<Vec<f64>>) -> String {
    let quartiles: Vec<[f64; 3]> = samples.into_iter().map(quartiles).collect();
    let [low, median, high] = quartiles[0];
    let mut cells = vec![String::new(); width];
    for (&column, [other_low, other, other_high]) in columns.iter().zip(&quartiles) {
        let is_rate = matches!(figure.measure, Measure::Rate(_));
        let times = if is_rate { median / other } else { other / median };
        let equal = if low <= *other_high && *other_low <= high { "≈ " } else { "" };
        cells[column] = format!("{equal}{}×", three_digits(times));
    }
    cells[columns[0]] = with_unit(figure.measure, median);
    format!("| {} | {} |\n", figure.title, cells.join(" | "))
}

/// The lower quartile, the median and the upper quartile.
fn quartiles(mut samples: Vec<f64>) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let place = share * (samples.len() - 1) as f64;
        let (below, above) = (samples[place.floor() as usize], samples[place.ceil() as usize]);
        below + (above - below) * place.fract()
    })
}

/// With the unit that suits its size.
fn with_unit(measure: Measure, value: f64) -> String {
    let scales: &[(f64, &str)] = match measure {
        Measure::BytesPerRow => &[(1.0, " B")],
        Measure::Rate(_) => &[(1e3, " k/s"), (1.0, " /s")],
        _ => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
    };
    let (scale, unit) = scales.iter().find(|(scale, _)| value >= *scale).unwrap_or(&scales[scales.len() - 1]);
    three_digits(value / scale) + unit
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 9.995 => 2,
        medium if medium < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_once_is_always_worse() {
        let line = |measure, samples: [[f64; 3]; 2]| {
            let figure = Figure { title: "it", columns: &[0, 1], rows: 1, measure, sql: [""; 4] };
            row(&figure, 2, &[0, 1], samples.map(Vec::from).into())
        };
        assert_eq!(line(Measure::Time(1), [[1.0; 3], [2.0; 3]]), "| it | 1.00 s | 2.00× |\n");
        assert_eq!(line(Measure::Rate(1), [[1.0; 3], [2.0; 3]]), "| it | 1.00 /s | 0.50× |\n");
        // The quartiles are 1.5 and 2.5, 2.5 and 3.5.
        assert_eq!(line(Measure::Time(1), [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]), "| it | 2.00 s | ≈ 1.50× |\n");
    }
}
