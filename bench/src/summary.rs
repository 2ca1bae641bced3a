//! Tables of a page for those who choose: a line for each of some figures, a column for each kind of key.

use crate::results::{Runs, Series, Unit};

/// The lines: a run, its section and figure, and what readers call it.
const LINES: &str = "\
    full; insert; One row of a bulk insert; bulk insert, one row
    full; clients; Rows inserted, each by a statement of its own; inserts of 8 clients, `fsync = off`
    full; disk; The key, nothing else; table and index, the key alone
    full; disk; The key and the time of the row; table and indexes, the key and the time
    full; disk; The key and an integer, with an index on both together; with an `integer`, and an index on both
    full; sort; CREATE INDEX, keys of three years; `CREATE INDEX`
    full; clients; Rows looked up by key, each by a statement of its own; lookups of 8 clients
    full; copy; COPY FROM, text, one row; `COPY` of a row with its key
    calls; generation; One key, net of the query around it; generate a key, less an empty call";

/// What readers call a kind of key, and its names among the contenders.
type Columns = &'static [(&'static str, &'static [&'static str])];

/// The kinds of keys.
const COLUMNS: Columns = &[
    ("`sno`", &["sno", "sno_new(1)"]),
    ("v7", &["uuid v7", "uuidv7()"]),
    ("`bigint`", &["bigint", "bigint identity", "bigint identity alone", "nextval"]),
    (
        "`bigint` + `created_at`",
        &["bigint, created_at with an index", "bigint identity, created_at with an index"],
    ),
    ("v4", &["uuid v4", "uuid v4 alone", "gen_random_uuid()"]),
    ("v4 + `created_at`", &["uuid v4, created_at with an index"]),
];

/// The medians of the first kind of key, how many times worse the others are, and of how many rounds all that is.
pub(crate) fn summary(runs: &Runs) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text =
        format!("| Figure | {} | Section |\n|---|{}---|\n", names.join(" | "), "---:|".repeat(names.len()));
    let mut rounds = usize::MAX;
    for line in LINES.lines() {
        let parts: Vec<&str> = line.trim().split("; ").collect();
        let [run, section, figure, label] = parts[..] else { unreachable!("four parts") };
        let series: Vec<&Series> = runs
            .get(run)
            .iter()
            .flat_map(|run| &run.series)
            .filter(|series| series.section == section && series.figure == figure)
            .collect();
        let find = |names: &[&str]| series.iter().find(|series| names.contains(&series.contender.as_str()));
        let Some(first) = find(COLUMNS[0].1) else { continue };
        let cells = COLUMNS.iter().enumerate().map(|(number, (_, names))| match (number, find(names)) {
            (_, None) => String::new(),
            (0, Some(first)) => first.unit.show(first.median),
            (_, Some(other)) => first.times_worse(other),
        });
        let cells: Vec<String> = cells.collect();
        if cells[1..].iter().all(String::is_empty) {
            continue;
        }
        if first.unit != Unit::Bytes {
            rounds = rounds.min(first.rounds);
        }
        let place = if run == "full" { section.to_owned() } else { format!("{run}-{section}") };
        text += &format!("| {label} | {} | {place} |\n", cells.join(" | "));
    }
    if rounds == usize::MAX {
        text
    } else {
        text + &format!(
            "\nTimes are medians of at least {rounds} rounds; those of a section `calls-…` are of another run than the rest. Bytes were \
             measured once.\n"
        )
    }
}
