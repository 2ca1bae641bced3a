//! How many instructions whole statements take for a row: what times are too noisy for.
//!
//! callgrind counts within the server's `PortalRun`, which runs one statement, and writes a profile after each.
//! Here, too, the difference between many rows and few is what counts.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use sno_tests::postgres::Client;

use crate::callgrind;
use crate::keys::{Kind, Moments, since};
use crate::report::{Figure, Section, Series, Unit};
use crate::sections::insert::TABLES;

/// Rows of the short run and of the long one.
const ROWS: [usize; 2] = [2_000, 22_000];

/// What is done with `{t}`, a table of keys, in this order: sorts don't find the index yet, and what comes after
/// it does.
const TASKS: [(&str, &str); 7] = [
    ("COPY TO, text", "COPY {t} TO '/dev/null'"),
    ("COPY TO, binary", "COPY {t} TO '/dev/null' (FORMAT binary)"),
    ("COPY FROM, text", "COPY {t}_copy FROM '{folder}/{t}.text'"),
    ("COPY FROM, binary", "COPY {t}_copy FROM '{folder}/{t}.binary' (FORMAT binary)"),
    ("ORDER BY, with a column beside it", "SELECT id, payload FROM {t} ORDER BY id OFFSET {n}"),
    ("CREATE INDEX", "CREATE INDEX ON {t} (id)"),
    (
        "Counting rows by an index on the key",
        "SELECT count(*) FROM {t} WHERE id >= (SELECT id FROM {t} ORDER BY id LIMIT 1)",
    ),
];

/// Makes the tables of both runs, and the files that COPY reads.
pub(crate) fn prepare(client: &mut Client, folder: &Path) -> Result<(), Box<dyn Error>> {
    let folder = folder.display();
    for rows in ROWS {
        for table in &TABLES {
            client.batch_execute(&table.definition(&format!("{}_{rows}", table.word)))?;
        }
        let moments = Moments::new(rows, since(), Duration::from_secs(3600));
        for kind in Kind::ALL {
            let table = format!("{}_{rows}", kind.table());
            moments.load(client, &table, kind)?;
            client.batch_execute(&format!(
                "CREATE UNLOGGED TABLE {table}_copy (LIKE {table});
                 COPY {table} TO '{folder}/{table}.text';
                 COPY {table} TO '{folder}/{table}.binary' (FORMAT binary);"
            ))?;
        }
    }
    Ok(())
}

/// Counts, on the data of a server that has stopped.
pub(crate) fn count(data: &Path) -> Result<Vec<Section>, Box<dyn Error>> {
    let [few, many] = ROWS.map(|rows| totals(data, rows));
    let (few, many) = (few?, many?);
    let rows = (ROWS[1] - ROWS[0]) as f64;
    let mut counts = few.iter().zip(&many).map(|(few, many)| (many - few) as f64 / rows);
    let mut figure = |title: &str, names: &[&str]| {
        let series = names
            .iter()
            .map(|name| Series::new(*name, vec![counts.next().expect("a count for each statement")]));
        Figure::new(title, Unit::Instructions, series.collect())
    };
    let inserts = figure("Bulk insert", &TABLES.each_ref().map(|table| table.name));
    let tasks = TASKS.map(|(title, _)| figure(title, &Kind::ALL.map(Kind::name)));
    Ok(vec![
        Section {
            name: "insert".into(),
            title: "Bulk insert".into(),
            method: format!("One row of {}, into tables as above.", ROWS[1]),
            figures: vec![inserts],
            remarks: Vec::new(),
        },
        Section {
            name: "keys".into(),
            title: "Keys".into(),
            method: format!("One row of {}, with keys of one hour in random order.", ROWS[1]),
            figures: tasks.into(),
            remarks: Vec::new(),
        },
    ])
}

/// The instructions of each statement.
fn totals(data: &Path, rows: usize) -> Result<Vec<u64>, Box<dyn Error>> {
    let statements: Vec<String> = statements(data, rows).collect();
    // An index that is not used would be another task.
    let settings = ["enable_seqscan", "enable_bitmapscan"].map(|setting| format!("SET {setting} = off"));
    let script: Vec<String> = settings.iter().chain(&statements).cloned().collect();
    let options = ["--toggle-collect=PortalRun", "--dump-after=PortalRun"].map(String::from);
    let profiles = callgrind::profiles(data, &script, &options)?;
    // The last profile is of what came after the last statement: nothing.
    let totals: Vec<u64> =
        profiles[..profiles.len() - 1].iter().filter_map(|profile| total(profile)).collect();
    match totals.get(settings.len()..) {
        Some(totals) if totals.len() == statements.len() => Ok(totals.to_vec()),
        _ => Err(format!("callgrind saw {} statements instead of {}", totals.len(), script.len()).into()),
    }
}

fn statements(data: &Path, rows: usize) -> impl Iterator<Item = String> {
    let folder = data.display().to_string();
    let inserts = TABLES.iter().map(move |table| {
        format!("INSERT INTO {}_{rows} (payload) SELECT n FROM generate_series(1, {rows}) n", table.word)
    });
    let tasks = TASKS.iter().flat_map(move |(_, statement)| {
        let folder = folder.clone();
        Kind::ALL.map(move |kind| {
            statement
                .replace("{t}", &format!("{}_{rows}", kind.table()))
                .replace("{folder}", &folder)
                .replace("{n}", &rows.to_string())
        })
    });
    inserts.chain(tasks)
}

/// The instructions of a whole profile.
fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("totals: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_ends_with_its_total() {
        assert_eq!(total("events: Ir\nfn=x\n0 7\n\ntotals: 7\n"), Some(7));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn each_statement_is_whole() {
        for statement in statements(Path::new("/data"), 5) {
            assert!(!statement.contains(['{', '}']), "{statement}");
        }
    }
}
