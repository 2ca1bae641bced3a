//! COPY, as text and in binary, out and in.

use std::error::Error;
use std::time::{Duration, SystemTime};

use crate::keys::{Kind, Moments};
use crate::report::{Figure, Section, Unit};
use crate::run::{Bench, Budget, named};

/// Kinds whose I/O differs: a version 7 uuid is read and written like any other.
const KINDS: [Kind; 4] = [Kind::Sno, Kind::UuidV4, Kind::Bigint, Kind::UlidText];

/// Keys that a COPY leaves to their default.
const DEFAULTS: [(&str, &str); 4] = [
    ("sno", "id sno DEFAULT sno_new(1)"),
    ("uuid v4", "id uuid DEFAULT gen_random_uuid()"),
    ("bigint identity", "id bigint GENERATED ALWAYS AS IDENTITY"),
    ("bigint identity with CACHE 1000", "id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1000)"),
];

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.copy_rows;
    let moments =
        Moments::new(rows, SystemTime::now() - Duration::from_secs(3600), Duration::from_secs(3600));
    let folder = bench.server.data().display().to_string();
    for kind in KINDS {
        let table = kind.table();
        moments.load(&mut bench.client, &table, kind)?;
        bench.run(&format!("CREATE UNLOGGED TABLE copied_{table} (LIKE {table})"));
        for format in ["text", "binary"] {
            bench.run(&format!("COPY {table} TO '{folder}/{table}.{format}' (FORMAT {format})"));
        }
    }
    let mut figures = Vec::new();
    let per_row = |seconds: f64| seconds / rows as f64 * 1e9;
    for format in ["text", "binary"] {
        let samples = bench.rounds(&format!("{format}, out"), budget.share(0.2), &KINDS, |bench, kind| {
            per_row(bench.time(&format!("COPY {} TO '/dev/null' (FORMAT {format})", kind.table())))
        });
        let title = format!("COPY TO, {format}, one row");
        figures.push(Figure::new(title, Unit::Nanoseconds, named(KINDS.map(Kind::name), samples)));

        let samples = bench.rounds(&format!("{format}, in"), budget.share(0.2), &KINDS, |bench, kind| {
            let table = kind.table();
            bench.run(&format!("TRUNCATE copied_{table}"));
            per_row(
                bench
                    .time(&format!("COPY copied_{table} FROM '{folder}/{table}.{format}' (FORMAT {format})")),
            )
        });
        let title = format!("COPY FROM, {format}, one row");
        figures.push(Figure::new(title, Unit::Nanoseconds, named(KINDS.map(Kind::name), samples)));
    }

    let file = format!("{folder}/payload.text");
    bench.run(&format!("COPY (SELECT n FROM generate_series(1, {rows}) n) TO '{file}'"));
    let samples = bench.rounds("in, default keys", budget.share(0.2), &DEFAULTS, |bench, (_, key)| {
        bench.run(&format!(
            "DROP TABLE IF EXISTS defaulted; CREATE UNLOGGED TABLE defaulted ({key}, payload integer)"
        ));
        per_row(bench.time(&format!("COPY defaulted (payload) FROM '{file}'")))
    });
    figures.push(Figure::new(
        "COPY FROM, text, the key by its default, one row",
        Unit::Nanoseconds,
        named(DEFAULTS.map(|(name, _)| name), samples),
    ));

    bench.run("DROP TABLE defaulted");
    for kind in KINDS {
        bench.run(&format!("DROP TABLE {0}, copied_{0}", kind.table()));
        for format in ["text", "binary"] {
            std::fs::remove_file(format!("{folder}/{}.{format}", kind.table()))?;
        }
    }
    Ok(Some(Section {
        name: "copy".into(),
        title: "COPY".into(),
        method: format!(
            "{rows} rows of a key and an integer, between an unlogged table without an index and a file: no client, no \
             network. What goes out goes to `/dev/null`."
        ),
        figures,
        remarks: vec![
            "A default that is volatile makes COPY insert row by row instead of by the page; `nextval` alone is \
             exempt from that. It is the rule for `sno_new` as for `gen_random_uuid`."
                .into(),
        ],
    }))
}
