//! Clients that insert and look up single rows: the server's own pgbench.

use std::error::Error;
use std::process::Command;
use std::{fs, path::Path};

use sno_tests::program;

use crate::report::{Figure, Section, Series, Unit};
use crate::run::{Bench, Budget};

use super::insert::Table;

const CLIENTS: usize = 8;
/// Keys that clients look up in turn: enough to lie all over the index.
const KEYS: usize = 500;

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.client_rows;
    let seconds = bench.size.client_seconds;
    let tables = Table::all(bench);
    for table in &tables {
        table.create(bench);
        table.fill(bench, rows);
        bench.run(&format!("VACUUM ANALYZE {}", table.word));
    }
    let scripts = tempfile::tempdir()?;

    let samples = bench.rounds("8 clients insert", budget.share(0.6), &tables, |bench, table| {
        let script = format!("INSERT INTO {} (payload) VALUES (1);\n", table.word);
        pgbench(bench, scripts.path(), &script, &[], seconds)
    });
    let series = tables.iter().zip(samples).map(|(table, samples)| Series::new(table.name, samples));
    let inserts =
        Figure::new("Rows inserted, each by a statement of its own", Unit::PerSecond, series.collect());

    // What is looked up is the key; the tables with a date have the same.
    let tables: Vec<Table> = tables.into_iter().filter(|table| !table.dated).collect();
    let mut keys = Vec::new();
    for table in &tables {
        bench.run(&format!("VACUUM ANALYZE {}", table.word));
        let query = format!("SELECT id::text FROM {} ORDER BY random() LIMIT {KEYS}", table.word);
        keys.push(
            bench.client.query(&query, &[])?.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(),
        );
    }
    let places: Vec<usize> = (0..tables.len()).collect();
    let samples = bench.rounds("8 clients look up", budget.share(0.4), &places, |bench, &place| {
        let (word, keys) = (tables[place].word, &keys[place]);
        let script: String =
            (0..keys.len()).map(|key| format!("SELECT payload FROM {word} WHERE id = :k{key};\n")).collect();
        pgbench(bench, scripts.path(), &script, keys, seconds) * keys.len() as f64
    });
    let series = tables
        .iter()
        .zip(samples)
        .map(|(table, samples)| Series::new(table.name.replace(" alone", ""), samples));
    let lookups = Figure::new(
        "Rows looked up by key, each by a statement of its own",
        Unit::PerSecond,
        series.collect(),
    );

    for table in Table::all(bench) {
        table.drop(bench);
    }
    Ok(Some(Section {
        name: "clients".into(),
        title: "Eight clients".into(),
        method: format!(
            "`pgbench --client={CLIENTS} --protocol=prepared`, {seconds} s for a sample, on tables that hold {rows} rows \
             before. On two cores, pgbench itself and the way to the server and back take most of the time. Lookups send \
             the key as text, as drivers without binary parameters do, {KEYS} keys of each table in turn."
        ),
        figures: vec![inserts, lookups],
        remarks: Vec::new(),
    }))
}

/// Runs a script in all clients; how often it ended in a second. `:k0`, `:k1` … stand for the keys.
pub(super) fn pgbench(bench: &Bench, folder: &Path, script: &str, keys: &[String], seconds: u32) -> f64 {
    let file = folder.join("script");
    fs::write(&file, script).expect("a script for pgbench");
    let output = Command::new(program("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", &format!("--client={CLIENTS}"), "--jobs=2"])
        .arg(format!("--time={seconds}"))
        .args(keys.iter().enumerate().map(|(number, key)| format!("--define=k{number}={key}")))
        .arg("--file")
        .arg(&file)
        .arg(bench.server.connection_string())
        // One plan for each statement, as a driver has after its first few executions.
        .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan")
        .env("LC_ALL", "C")
        .output()
        .expect("pgbench");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "pgbench: {complaint}");
    said.lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("pgbench said no rate:\n{said}{complaint}"))
}
