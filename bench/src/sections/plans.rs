//! Planning a query by time.

use std::error::Error;

use crate::report::{Figure, Section, Unit, trimmed_mean};
use crate::run::{Bench, Budget, named};

/// Conditions on the same time, by what is written.
const FIGURES: [(&str, &[(&str, &str)]); 3] = [
    (
        "One bound, a constant",
        &[
            ("sno: id >= time", "sno_day WHERE id >= timestamptz '{since}'"),
            ("sno: id >= sno", "sno_day WHERE id >= sno '{since_id}'"),
            ("timestamptz: created_at >= time", "time_day WHERE created_at >= timestamptz '{since}'"),
        ],
    ),
    (
        "Two bounds, constants",
        &[
            (
                "sno: two conditions",
                "sno_day WHERE id >= timestamptz '{since}' AND id < timestamptz '{until}'",
            ),
            ("sno: sno_between", "sno_day WHERE sno_between(id, '{since}', '{until}')"),
            (
                "timestamptz: two conditions",
                "time_day WHERE created_at >= timestamptz '{since}' AND created_at < timestamptz '{until}'",
            ),
        ],
    ),
    (
        "The last hour: now() - interval '1 hour'",
        &[
            ("sno: id >= time", "sno_day WHERE id >= now() - interval '1 hour'"),
            ("sno: sno_between", "sno_day WHERE sno_between(id, now() - interval '1 hour', now())"),
            ("timestamptz: created_at >= time", "time_day WHERE created_at >= now() - interval '1 hour'"),
        ],
    ),
];

const ROWS: u32 = 100_000;

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    bench.run(&format!(
        "CREATE TABLE sno_day (id sno PRIMARY KEY, payload integer);
         CREATE TABLE time_day (id bigint, created_at timestamptz PRIMARY KEY, payload integer);
         INSERT INTO sno_day SELECT sno_new(1, now() - n * interval '1 second'), n FROM generate_series(1, {ROWS}) n;
         INSERT INTO time_day SELECT n, now() - n * interval '1 second', n FROM generate_series(1, {ROWS}) n;"
    ));
    bench.run("VACUUM ANALYZE sno_day, time_day");
    let since = bench.ask("SELECT now() - interval '2 hours'");
    let until = bench.ask("SELECT now() - interval '1 hour'");
    let since_id = bench.ask(&format!("SELECT sno_lower('{since}')"));
    let plans = bench.size.plans;
    let mut figures = Vec::new();
    for (title, conditions) in FIGURES {
        let queries: Vec<String> = conditions
            .iter()
            .map(|(_, condition)| {
                let condition = condition
                    .replace("{since}", &since)
                    .replace("{until}", &until)
                    .replace("{since_id}", &since_id);
                format!("EXPLAIN (SUMMARY, FORMAT JSON) SELECT count(*) FROM {condition}")
            })
            .collect();
        // Within a round, the queries take turns as well: a sample is what is left of many plans each.
        let mut round = vec![Vec::new(); queries.len()];
        let places: Vec<usize> = (0..queries.len()).collect();
        let samples = bench.rounds(title, budget.share(1.0 / 3.0), &places, |bench, &place| {
            if round.iter().all(|times| times.is_empty()) {
                for _ in 0..plans {
                    for (query, times) in queries.iter().zip(&mut round) {
                        times.push(planning_time(bench, query));
                    }
                }
            }
            trimmed_mean(std::mem::take(&mut round[place]))
        });
        let names = conditions.iter().map(|(name, _)| *name);
        figures.push(Figure::new(title, Unit::Nanoseconds, named(names, samples)));
    }
    bench.run("DROP TABLE sno_day, time_day");
    Ok(Some(Section {
        name: "plans".into(),
        title: "Planning a query by time".into(),
        method: format!(
            "The planning time of `SELECT count(*)` with a condition, as `EXPLAIN (SUMMARY)` gives it, on an analyzed \
             table of {ROWS} rows with an index. EXPLAIN counts whole microseconds: a sample is the mean of {plans} plans \
             of each query in turn, without the highest and the lowest tenth."
        ),
        figures,
        remarks: Vec::new(),
    }))
}

/// In nanoseconds.
fn planning_time(bench: &mut Bench, query: &str) -> f64 {
    let plan: serde_json::Value = serde_json::from_str(&bench.ask(query)).expect("a plan in JSON");
    let milliseconds = plan[0]["Planning Time"].as_f64();
    milliseconds.expect("a plan with its time") * 1e6
}
