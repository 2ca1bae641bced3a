//! Tables of a hundred million rows: filled, indexed, asked. One of them at a time, once.

use std::error::Error;
use std::time::Instant;

use crate::report::{Figure, Section, Series, Unit};
use crate::run::{Bench, Budget};

use super::clients::pgbench;

/// Name for readers, columns, values of row `n`, made at `at`, indexes, the column that knows the time.
const TABLES: [(&str, &str, &str, &[&str], &str); 3] = [
    ("sno", "id sno", "sno_new(1, at)", &["id"], "id"),
    (
        "uuid v4, created_at with an index",
        "id uuid, created_at timestamptz",
        "gen_random_uuid(), at",
        &["id", "created_at"],
        "created_at",
    ),
    (
        "bigint, created_at with an index",
        "id bigint, created_at timestamptz",
        "n, at",
        &["id", "created_at"],
        "created_at",
    ),
];

/// Keys that are looked up: more than any cache of the processor holds pages for.
const KEYS: usize = 100_000;

pub(crate) fn section(bench: &mut Bench, _: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.large_rows;
    let mut results: [Vec<Series>; 5] = Default::default();
    for (name, columns, values, indexes, time) in TABLES {
        let mut add = |figure: usize, value: f64| results[figure].push(Series::new(name, vec![value]));
        bench.run(&format!("CREATE TABLE large ({columns}, payload integer)"));
        let seconds = bench.time(&format!(
            "INSERT INTO large SELECT {values}, n
             FROM (SELECT n, now() - interval '1000 hours' / {rows} * ({rows} - n) AS at
                   FROM generate_series(1::bigint, {rows}) n) n"
        ));
        bench.say(&format!("  {name}: filled in {seconds:.0} s"));
        add(0, seconds);
        // Hint bits, so that no reader pays for them, and statistics.
        bench.run("VACUUM ANALYZE large");
        let mut seconds = 0.0;
        for index in indexes {
            let unique = if *index == "id" { "UNIQUE " } else { "" };
            seconds += bench.time(&format!("CREATE {unique}INDEX ON large ({index})"));
        }
        bench.say(&format!("  {name}: indexed in {seconds:.0} s"));
        add(1, seconds);
        add(2, bench.number("SELECT pg_relation_size('large') + pg_indexes_size('large')") / rows as f64);

        let query = format!("SELECT sum(payload) FROM large WHERE {time} >= now() - interval '2 hours'");
        bench.run(&query);
        let began = Instant::now();
        for _ in 0..5 {
            bench.run(&query);
        }
        add(3, began.elapsed().as_secs_f64() / 5.0);

        // A sample of keys, by number, for clients to take at random.
        let percent = (100.0 * 1.2 * KEYS as f64 / rows as f64).min(100.0);
        bench.run(&format!(
            "CREATE TABLE picked AS
             SELECT row_number() OVER () - 1 AS n, id FROM large TABLESAMPLE bernoulli ({percent}) LIMIT {KEYS};
             ALTER TABLE picked ADD PRIMARY KEY (n);"
        ));
        let keys = bench.ask("SELECT count(*) FROM picked");
        // Each of them once, since the first visit to a page is the disk's or the system's cache's.
        bench.run(
            "ANALYZE picked;
             BEGIN;
             SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off;
             SELECT count(payload) FROM picked JOIN large USING (id);
             COMMIT",
        );
        let script = format!(
            "\\set n random(0, {keys} - 1)\n\
             SELECT payload FROM large WHERE id = (SELECT id FROM picked WHERE n = :n);\n"
        );
        let folder = tempfile::tempdir()?;
        let rate = pgbench(bench, folder.path(), &script, bench.size.client_seconds);
        bench.say(&format!("  {name}: {} of {keys} keys", Unit::PerSecond.show(rate)));
        add(4, rate);
        bench.run("DROP TABLE large, picked; CHECKPOINT");
    }
    let titles = [
        ("Filling the table, without an index", Unit::Seconds),
        ("Building the indexes", Unit::Seconds),
        ("Space", Unit::BytesPerRow),
        ("Reading the rows of the last two of 1000 hours", Unit::Seconds),
        ("Looking up single rows, 8 clients", Unit::PerSecond),
    ];
    let figures =
        titles.into_iter().zip(results).map(|((title, unit), series)| Figure::new(title, unit, series));
    Ok(Some(Section {
        name: "large".into(),
        title: format!("{} million rows", rows / 1_000_000),
        method: format!(
            "{rows} rows of 1000 hours, one table after the other: filled by one INSERT, vacuumed, then indexed. Each \
             was done once, the query of the last hours five times, after a run that warmed it up. {KEYS} keys were \
             looked up, over and over, after each had been once."
        ),
        figures: figures.collect(),
        remarks: Vec::new(),
    }))
}
