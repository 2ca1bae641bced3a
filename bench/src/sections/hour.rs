//! The rows of the last hour, out of a day's.

use std::error::Error;
use std::time::Instant;

use crate::report::{Figure, Section, Unit};
use crate::run::{Bench, Budget, named};

/// How often a query is run for one sample.
const RUNS: usize = 10;

/// A table by its name for readers: columns, values of row `n` (of `{n}`, at `at`), the index on time if the key is
/// none, the column that knows the time.
const TABLES: [(&str, &str, &str, &str, &str); 3] = [
    ("sno", "id sno PRIMARY KEY", "sno_new(1, at)", "", "id"),
    (
        "uuid v4, created_at with an index",
        "id uuid PRIMARY KEY, created_at timestamptz",
        "gen_random_uuid(), at",
        "CREATE INDEX ON {t} (created_at);",
        "created_at",
    ),
    (
        "bigint, created_at with an index",
        "id bigint PRIMARY KEY, created_at timestamptz",
        "n, at",
        "CREATE INDEX ON {t} (created_at);",
        "created_at",
    ),
];

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.day_rows;
    for (place, (_, columns, values, index, _)) in TABLES.iter().enumerate() {
        bench.run(&format!(
            "CREATE TABLE day{place} ({columns}, payload integer);
             {}
             INSERT INTO day{place} SELECT {values}, n
             FROM (SELECT n, now() - ({rows} - n) * interval '1 day' / {rows} AS at
                   FROM generate_series(1, {rows}) n) n;",
            index.replace("{t}", &format!("day{place}"))
        ));
        bench.run(&format!("VACUUM ANALYZE day{place}"));
    }
    // The tables get older while they are measured: the hour is that before they were filled.
    let since = bench.ask("SELECT now() - interval '1 hour'");
    let mut figures = Vec::new();
    for (title, what) in [
        ("Counting the last hour", "count(*)"),
        ("Reading the last hour's rows", "sum(payload)"),
        ("The newest hundred", "newest"),
    ] {
        let queries: Vec<String> = TABLES
            .iter()
            .enumerate()
            .map(|(place, (.., time))| match what {
                "newest" => format!("SELECT * FROM day{place} ORDER BY {time} DESC LIMIT 100"),
                _ => format!("SELECT {what} FROM day{place} WHERE {time} >= timestamptz '{since}'"),
            })
            .collect();
        let mut statements = Vec::new();
        for query in &queries {
            let statement = bench.client.prepare(query)?;
            bench.client.query(&statement, &[])?;
            statements.push(statement);
        }
        let samples = bench.rounds(title, budget.share(1.0 / 3.0), &statements, |bench, statement| {
            let began = Instant::now();
            for _ in 0..RUNS {
                bench.client.query(statement, &[]).expect("the rows of an hour");
            }
            began.elapsed().as_secs_f64() / RUNS as f64
        });
        figures.push(Figure::new(title, Unit::Seconds, named(TABLES.map(|table| table.0), samples)));
    }
    for place in 0..TABLES.len() {
        bench.run(&format!("DROP TABLE day{place}"));
    }
    Ok(Some(Section {
        name: "hour".into(),
        title: "The last hour".into(),
        method: format!(
            "{rows} rows of one day, in the order of time, vacuumed and analyzed; prepared queries. For `sno`, the \
             condition is on the primary key, for the others on `created_at` and its index."
        ),
        figures,
        remarks: Vec::new(),
    }))
}
