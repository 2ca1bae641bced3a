//! Sorting keys, and building an index on them.

use std::error::Error;
use std::time::Duration;

use crate::keys::{Kind, Moments, since};
use crate::report::{Figure, Section, Unit};
use crate::run::{Bench, Budget, named};

/// What lies between the first and the last key.
const SPANS: [(&str, &str, u64); 2] =
    [("years", "keys of three years", 3 * 365 * 86_400), ("load", "keys of one hour", 3600)];
/// What is done with `{t}`, a table of a kind.
const TASKS: [(&str, &str); 3] = [
    ("ORDER BY, with a column beside it", "SELECT id, payload FROM {t} ORDER BY id OFFSET {n}"),
    ("ORDER BY of the key alone", "SELECT id FROM {t} ORDER BY id OFFSET {n}"),
    ("CREATE INDEX", "CREATE INDEX sorted ON {t} (id)"),
];

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.sort_rows;
    let mut figures = Vec::new();
    let mut in_memory = true;
    for (span, title, seconds) in SPANS {
        let moments = Moments::new(rows, since(), Duration::from_secs(seconds));
        for kind in Kind::ALL {
            moments.load(&mut bench.client, &kind.table(), kind)?;
        }
        drop(moments);
        bench.say(&format!("  {rows} {title}, five kinds of them"));
        for (task, query) in TASKS {
            let query = |kind: &Kind| query.replace("{t}", &kind.table()).replace("{n}", &rows.to_string());
            let index = task == "CREATE INDEX";
            // An equal share of the time for each, whatever loading took.
            let share = budget.share(1.0 / (SPANS.len() * TASKS.len()) as f64);
            let samples = bench.rounds(&format!("{span}, {task}"), share, &Kind::ALL, |bench, kind| {
                let seconds = bench.time(&query(kind));
                if index {
                    bench.run("DROP INDEX sorted");
                }
                seconds
            });
            if !index {
                for kind in Kind::ALL {
                    let plan = bench
                        .client
                        .query(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {}", query(&kind)), &[])?;
                    in_memory &=
                        plan.iter().any(|row| row.get::<_, &str>(0).contains("Sort Method: quicksort"));
                }
            }
            figures.push(Figure::new(
                format!("{task}, {title}"),
                Unit::Seconds,
                named(Kind::ALL.map(Kind::name), samples),
            ));
        }
    }
    for kind in Kind::ALL {
        bench.run(&format!("DROP TABLE {}", kind.table()));
    }
    let memory = if in_memory {
        "All sorts ran in memory, in one process."
    } else {
        "Not all sorts fitted into work_mem: those that did not went to disk."
    };
    Ok(Some(Section {
        name: "sort".into(),
        title: "Sorting, building an index".into(),
        method: format!(
            "{rows} rows in random order, the same moments for every kind of key (their numbers in the order of time \
             for `bigint`), each in a table `(id, payload integer)` of its own that fits into shared buffers. Reading \
             the table is part of the time. No row is returned (`OFFSET {rows}`)."
        ),
        figures,
        remarks: vec![
            memory.into(),
            "For a single column that is passed by value, as `bigint` is, PostgreSQL sorts bare values instead of \
             rows; so the key alone is `bigint`'s best case, and a column beside it the more common one."
                .into(),
        ],
    }))
}
