//! Clients that insert and look up single rows: the server's own pgbench.

use std::error::Error;
use std::process::Command;
use std::{fs, path::Path};

use sno_tests::program;

use crate::report::{Figure, Section, Unit};
use crate::run::{Bench, Budget, named};

use super::insert::Table;

const CLIENTS: usize = 8;

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
        pgbench(bench, scripts.path(), &script, seconds)
    });
    let series = named(tables.iter().map(|table| table.name), samples);
    let inserts = Figure::new("Rows inserted, each by a statement of its own", Unit::PerSecond, series);
    for table in &tables {
        table.drop(bench);
    }

    // Each row knows the key of another, in a circle through all rows: so every lookup is anywhere, and there is one
    // statement. The clients begin at different rows.
    let keys = [("sno", "sno_new(1)"), ("uuid v4", "gen_random_uuid()"), ("bigint", "n")];
    for (place, (_, key)) in keys.iter().enumerate() {
        bench.run(&format!(
            "CREATE TABLE circle{place} AS
             SELECT id, coalesce(lead(id) OVER around, first_value(id) OVER around) AS next, n
             FROM (SELECT {key} AS id, n FROM generate_series(1::bigint, {rows}) n OFFSET 0) made
             WINDOW around AS (ORDER BY hashint8(n), n);
             ALTER TABLE circle{place} ADD PRIMARY KEY (id);
             CREATE TABLE begin{place} AS SELECT n AS client, id FROM circle{place} WHERE n <= {CLIENTS};"
        ));
        bench.run(&format!("VACUUM ANALYZE circle{place}"));
    }
    let places: Vec<usize> = (0..keys.len()).collect();
    let samples = bench.rounds("8 clients look up", budget.share(0.4), &places, |bench, &place| {
        let script = format!(
            "\\if :begun\n\\else\nSELECT id AS key FROM begin{place} WHERE client = 1 + :client_id \\gset\n\
             \\set begun 1\n\\endif\nSELECT next AS key FROM circle{place} WHERE id = :key \\gset\n"
        );
        pgbench(bench, scripts.path(), &script, seconds)
    });
    let series = named(keys.map(|(name, _)| name), samples);
    let lookups =
        Figure::new("Rows looked up by key, each by a statement of its own", Unit::PerSecond, series);
    for place in places {
        bench.run(&format!("DROP TABLE circle{place}, begin{place}"));
    }
    Ok(Some(Section {
        name: "clients".into(),
        title: "Eight clients".into(),
        method: format!(
            "`pgbench --client={CLIENTS} --protocol=prepared`, {seconds} s for a sample, on tables that hold {rows} rows \
             before. On two cores, pgbench itself and the way to the server and back take most of the time. Lookups send \
             the key as text, as drivers without binary parameters do; each row names the one to look up next, anywhere in \
             the table."
        ),
        figures: vec![inserts, lookups],
        remarks: Vec::new(),
    }))
}

/// Runs a script in all clients, each with a variable `begun` of its own that is 0; how often it ended in a second.
pub(super) fn pgbench(bench: &Bench, folder: &Path, script: &str, seconds: u32) -> f64 {
    let file = folder.join("script");
    fs::write(&file, script).expect("a script for pgbench");
    let output = Command::new(program("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", &format!("--client={CLIENTS}"), "--jobs=2"])
        .arg(format!("--time={seconds}"))
        .arg("--define=begun=0")
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
