//! Bulk inserts into the tables that people have.

use std::error::Error;

use crate::report::{Figure, Section, Unit};
use crate::run::{Bench, Budget, named};

/// A table that rows are inserted into: its name for readers, what is created for it.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) word: &'static str,
    pub(super) columns: &'static str,
    pub(super) dated: bool,
}

/// `created_at` differs from row to row, as it does when rows come one by one.
pub(crate) const TABLES: [Table; 6] = [
    Table { name: "sno", word: "sno_key", columns: "id sno PRIMARY KEY DEFAULT sno_new(1)", dated: false },
    Table {
        name: "uuid v4, created_at with an index",
        word: "uuid_dated",
        columns: "id uuid PRIMARY KEY DEFAULT gen_random_uuid()",
        dated: true,
    },
    Table {
        name: "bigint identity, created_at with an index",
        word: "bigint_dated",
        columns: "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        dated: true,
    },
    Table {
        name: "bigint identity with CACHE 1000, created_at with an index",
        word: "cached_dated",
        columns: "id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1000) PRIMARY KEY",
        dated: true,
    },
    Table {
        name: "uuid v4 alone",
        word: "uuid_key",
        columns: "id uuid PRIMARY KEY DEFAULT gen_random_uuid()",
        dated: false,
    },
    Table {
        name: "bigint identity alone",
        word: "bigint_key",
        columns: "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        dated: false,
    },
];

/// One more where the server has the function.
pub(super) const UUID_V7: Table = Table {
    name: "uuid v7 alone",
    word: "uuid7_key",
    columns: "id uuid PRIMARY KEY DEFAULT uuidv7()",
    dated: false,
};

impl Table {
    /// Those that this server can have.
    pub(super) fn all(bench: &mut Bench) -> Vec<Self> {
        let mut tables = Vec::from(TABLES);
        if bench.ask("SELECT to_regprocedure('uuidv7()') IS NOT NULL") == "t" {
            tables.push(UUID_V7);
        }
        tables
    }

    /// What creates it under a name.
    pub(crate) fn definition(&self, name: &str) -> String {
        let (created_at, index) = if self.dated {
            (
                ", created_at timestamptz NOT NULL DEFAULT clock_timestamp()",
                format!("CREATE INDEX ON {name} (created_at);"),
            )
        } else {
            ("", String::new())
        };
        format!("CREATE TABLE {name} ({}{created_at}, payload integer NOT NULL); {index}", self.columns)
    }

    /// Makes it, empty.
    pub(super) fn create(&self, bench: &mut Bench) {
        bench.run(&format!("DROP TABLE IF EXISTS {}", self.word));
        bench.run(&self.definition(self.word));
    }

    /// Inserts rows; the seconds that took.
    pub(super) fn fill(&self, bench: &mut Bench, rows: usize) -> f64 {
        bench.time(&format!("INSERT INTO {} (payload) SELECT n FROM generate_series(1, {rows}) n", self.word))
    }

    pub(super) fn drop(&self, bench: &mut Bench) {
        bench.run(&format!("DROP TABLE {}", self.word));
    }
}

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let rows = bench.size.insert_rows;
    let tables = Table::all(bench);
    let samples = bench.rounds("insert", budget, &tables, |bench, table| {
        table.create(bench);
        let seconds = table.fill(bench, rows);
        table.drop(bench);
        // What was written must not weigh on the next.
        bench.run("CHECKPOINT");
        seconds / rows as f64 * 1e9
    });
    Ok(Some(Section {
        name: "insert".into(),
        title: "Bulk insert".into(),
        method: format!(
            "`INSERT INTO t (payload) SELECT n FROM generate_series(1, {rows}) n` into an empty table with an integer \
             column beside the key. A `sno` tells its time by itself; for the others that takes a column \
             `created_at` and an index on it, whose default here is `clock_timestamp()`, so that its values differ as \
             they do when rows come one by one. The keys alone are there for comparison."
        ),
        figures: vec![Figure::new(
            "One row of a bulk insert",
            Unit::Nanoseconds,
            named(tables.iter().map(|table| table.name), samples),
        )],
        remarks: Vec::new(),
    }))
}
