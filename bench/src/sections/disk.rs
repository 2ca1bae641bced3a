//! The space that rows take, by the shape of their table.

use std::error::Error;

use crate::report::{Figure, Section, Series, Unit};
use crate::run::{Bench, Budget};

/// What a key is called, its type, the next one, and one by a number that stands for `{n}`.
const KEYS: [(&str, &str, &str, &str); 3] = [
    ("sno", "sno", "sno_new(1)", "sno_make('2026-01-01Z', 1, 1, {n})"),
    ("uuid v4", "uuid", "gen_random_uuid()", "md5(({n})::text)::uuid"),
    ("bigint", "bigint", "n", "{n}"),
];

/// A column beside the key.
enum Column {
    /// The time of the row, unless the key is a `sno`.
    CreatedAt,
    /// Another row's key, one of so many.
    Reference(&'static str, u32),
    /// An integer.
    Kind,
}

/// A shape: its title, its columns beside the key, its indexes beside the primary key.
const SHAPES: [(&str, &[Column], &[&str]); 4] = [
    ("The key, nothing else", &[], &[]),
    (
        "The key and the time of the row: created_at with an index, but for sno",
        &[Column::CreatedAt],
        &["created_at"],
    ),
    (
        "The key and two foreign keys with an index each",
        &[Column::Reference("a", 1000), Column::Reference("b", 10_000)],
        &["a", "b"],
    ),
    ("The key and an integer, with an index on both together", &[Column::Kind], &["kind, id"]),
];

pub(crate) fn section(bench: &mut Bench, _: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.disk_rows;
    let mut figures = Vec::new();
    for (title, columns, indexes) in SHAPES {
        let mut series = Vec::new();
        for (name, key, next, numbered) in KEYS {
            let (mut definitions, mut values) = (format!("id {key} PRIMARY KEY"), next.to_owned());
            for column in columns {
                let (definition, value) = match column {
                    Column::CreatedAt if key == "sno" => continue,
                    Column::CreatedAt => ("created_at timestamptz".into(), "clock_timestamp()".into()),
                    Column::Reference(name, of) => {
                        (format!("{name} {key}"), numbered.replace("{n}", &format!("n % {of} * 7919 % {of}")))
                    }
                    Column::Kind => ("kind integer".into(), "n % 100".into()),
                };
                definitions += &format!(", {definition} NOT NULL");
                values += &format!(", {value}");
            }
            bench.run(&format!("CREATE TABLE shape ({definitions})"));
            for index in indexes.iter().filter(|index| key != "sno" || **index != "created_at") {
                bench.run(&format!("CREATE INDEX ON shape ({index})"));
            }
            bench.run(&format!("INSERT INTO shape SELECT {values} FROM generate_series(1, {rows}) n"));
            let [heap, indexes] = ["pg_relation_size", "pg_indexes_size"]
                .map(|size| bench.number(&format!("SELECT {size}('shape')")) / rows as f64);
            let note = format!("table {heap:.1}, indexes {indexes:.1}");
            series.push(Series::new(name, vec![heap + indexes]).note(note));
            bench.run("DROP TABLE shape");
        }
        figures.push(Figure::new(title, Unit::BytesPerRow, series));
    }
    Ok(Some(Section {
        name: "disk".into(),
        title: "Space".into(),
        method: format!(
            "`pg_relation_size` and `pg_indexes_size` of a table of {rows} rows, by row, with the indexes there \
             from the start. The pages of an index that is filled from the right are full to nine tenths, those of random keys to \
             some seven."
        ),
        figures,
        remarks: vec![
            "A row's header takes 24 bytes, and rows and index entries are rounded up to a multiple of 8. So 10 bytes \
             take as much as 16 where they stand alone: in an index on one column, both are an entry of 24 bytes."
                .into(),
        ],
    }))
}
