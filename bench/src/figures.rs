//! What is measured: two tables of the pages, whose rows are figures, and whose columns are kinds of keys, or ways to read.
//!
//! SQL has words in braces: those of a column, its table `{t}`, `{rows}`, and the server's `{data}` folder.

use Measure::*;

/// Words, and what they stand for.
type Words = &'static [(&'static str, &'static str)];

pub(crate) struct Table {
    /// The name of its block in a page.
    pub(crate) block: &'static str,
    /// The names of the columns, and the words of each. One may be in what an earlier one stands for.
    pub(crate) columns: &'static [(&'static str, &'static [Words])],
    pub(crate) figures: &'static [Figure],
}

/// A row of a table.
pub(crate) struct Figure {
    pub(crate) title: &'static str,
    /// The columns that have it; the others are compared with the first.
    pub(crate) columns: &'static [usize],
    pub(crate) rows: usize,
    pub(crate) measure: Measure,
    /// SQL before the first round, before each sample, what is measured, and after each sample.
    pub(crate) sql: [&'static str; 4],
}

/// How a sample is taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Measure {
    /// The mean time of so many executions of a prepared statement.
    Time(u32),
    /// The same, for each row.
    TimePerRow(u32),
    /// The same, less that of calls of a function that does nothing.
    TimePerCall(u32),
    /// How often so many clients get through a script in a second, each with a variable `begun` of its own that is 0.
    Rate(u32),
    /// What a query returns, for each row: once, as it does not vary.
    BytesPerRow,
}

const SNO: Words = &[
    ("type", "sno"),
    ("default", "DEFAULT {new}"),
    ("new", "sno_new(1)"),
    ("value", "sno_new(1, at)"),
    ("moment", "sno_make(at, 1, 42 << 8 | generator, sequence)"),
    ("expression", "sno_time(id)"),
];
const V7: Words = &[
    ("type", "uuid"),
    ("default", "DEFAULT {new}"),
    ("new", "uuidv7()"),
    ("value", "uuidv7(at - clock_timestamp())"),
    ("moment", "(lpad(to_hex(ms), 12, '0') || '7' || left(random, 3) || '8' || right(random, 15))::uuid"),
    ("expression", "uuid_extract_timestamp(id)"),
    ("bound", "uuidv7_lower({hour})"),
];
const BIGINT: Words = &[
    ("type", "bigint"),
    ("default", "GENERATED ALWAYS AS IDENTITY"),
    ("new", "nextval('{t}'::regclass)"),
    ("value", "n::bigint"),
    ("moment", "n::bigint"),
];
const V4: Words = &[
    ("type", "uuid"),
    ("default", "DEFAULT {new}"),
    ("new", "gen_random_uuid()"),
    ("value", "gen_random_uuid()"),
    ("moment", "overlay(overlay(random PLACING '4' FROM 13) PLACING '8' FROM 17)::uuid"),
];
/// A table of keys alone.
const ALONE: Words =
    &[("created_at", ""), ("at", ""), ("index", ""), ("time", "id"), ("bound", "{hour}"), HOUR];
/// A table of keys with the time of each row.
const DATED: Words = &[
    ("created_at", ", created_at timestamptz NOT NULL DEFAULT clock_timestamp()"),
    ("at", ", at"),
    ("index", "CREATE INDEX ON {t} (created_at)"),
    ("time", "created_at"),
    ("bound", "{hour}"),
    HOUR,
];
const HOUR: (&str, &str) = ("hour", "timestamptz '2026-01-01 23:00Z'");

/// Functions for all figures: one that does nothing; `moments` of three years in random order, where `n` is the place in the order
/// of time, and IDs are as eight generators would have made them; those of a day, in order; the least key of version 7 of a time.
pub(crate) const FUNCTIONS: &str = "
    CREATE FUNCTION nothing(integer) RETURNS integer LANGUAGE internal STRICT AS 'int4up';
    CREATE FUNCTION moments(rows integer)
    RETURNS TABLE (n integer, at timestamptz, ms bigint, generator integer, sequence integer, random text) AS $$
    SELECT n, at, floor(extract(epoch FROM at) * 1000), generator,
           row_number() OVER (PARTITION BY floor(extract(epoch FROM at) * 250), generator) - 1, md5(n::text)
    FROM (SELECT row_number() OVER (ORDER BY at) AS n, at, floor(random() * 8)::integer AS generator
          FROM (SELECT timestamptz '2023-01-01Z' + random() * interval '1095 days' AS at
                FROM setseed(0.5), generate_series(1, rows)) n) n
    ORDER BY hashint8(n) $$ LANGUAGE sql;
    CREATE FUNCTION day(rows integer) RETURNS TABLE (n integer, at timestamptz) LANGUAGE sql AS
    $$ SELECT n, timestamptz '2026-01-01Z' + n * interval '1 day' / rows FROM generate_series(1, rows) n $$;
    CREATE FUNCTION uuidv7_lower(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid $$";

/// The columns without a `created_at`; those whose rows have a time; all.
const KEYS: &[usize] = &[0, 1, 2, 4];
const TIMES: &[usize] = &[0, 1, 3, 5];
const ALL: &[usize] = &[0, 1, 2, 3, 4, 5];
const DAY: &str = "
    CREATE TABLE {t} (id {type} PRIMARY KEY{created_at}, payload integer); {index};
    INSERT INTO {t} SELECT {value}{at}, n FROM day({rows}); VACUUM ANALYZE {t}";

/// A size of the table and its indexes, as this SQL leaves them.
const fn bytes(title: &'static str, columns: &'static [usize], sql: &'static str) -> Figure {
    let size = "SELECT pg_relation_size('{t}') + pg_indexes_size('{t}')";
    Figure { title, columns, rows: 500_000, measure: BytesPerRow, sql: [sql, "", size, ""] }
}

/// A query of the last hour of a day.
const fn hour(title: &'static str, columns: &'static [usize], query: &'static str) -> Figure {
    Figure { title, columns, rows: 2_000_000, measure: Time(10), sql: [DAY, "", query, ""] }
}

/// Batches from the start of a feed, each after the one before.
const fn feed(title: &'static str, rows: usize, times: u32, batch: &'static str) -> Figure {
    let setup = "
        CREATE TABLE {t} (id sno PRIMARY KEY DEFAULT sno_new(1), sent bigint NOT NULL);
        INSERT INTO {t} (sent) SELECT n FROM generate_series(1, {rows}) n;
        SELECT sno_create_feed('{t}', '{t}'), pg_sleep(0.2); VACUUM ANALYZE {t}";
    let start = "SELECT sno_seek_feed('{t}', since => '-infinity')";
    Figure { title, columns: &[0, 1], rows, measure: Time(times), sql: [setup, start, batch, ""] }
}

pub(crate) const TABLES: [Table; 2] = [
    Table {
        block: "keys",
        columns: &[
            ("`sno`", &[SNO, ALONE]),
            // From PostgreSQL 18 on.
            ("v7", &[V7, ALONE]),
            ("`bigint`", &[BIGINT, ALONE]),
            ("`bigint` + `created_at`", &[BIGINT, DATED]),
            ("v4", &[V4, ALONE]),
            ("v4 + `created_at`", &[V4, DATED]),
        ],
        figures: &[
            Figure {
                title: "bulk insert, one row",
                columns: ALL,
                rows: 1_500_000,
                measure: TimePerRow(1),
                sql: [
                    "",
                    "CREATE TABLE {t} (id {type} {default} PRIMARY KEY{created_at}, payload integer NOT NULL); {index}",
                    "INSERT INTO {t} (payload) SELECT n FROM generate_series(1, {rows}) n",
                    // What was written must not weigh on the next.
                    "DROP TABLE {t}; CHECKPOINT",
                ],
            },
            Figure {
                title: "inserts of 8 clients, `fsync = off`",
                columns: ALL,
                rows: 1_000_000,
                measure: Rate(8),
                sql: [
                    "CREATE TABLE {t} (id {type} {default} PRIMARY KEY{created_at}, payload integer); {index};
                     INSERT INTO {t} (payload) SELECT n FROM generate_series(1, {rows}) n; VACUUM ANALYZE {t}; CHECKPOINT",
                    "",
                    "INSERT INTO {t} (payload) VALUES (1);",
                    "",
                ],
            },
            bytes(
                "table and index, the key alone",
                KEYS,
                "CREATE TABLE {t} (id {type} PRIMARY KEY); INSERT INTO {t} SELECT {value} FROM day({rows})",
            ),
            bytes(
                "table and indexes, the key and the time",
                TIMES,
                "CREATE TABLE {t} (id {type} PRIMARY KEY{created_at}); {index};
                 INSERT INTO {t} SELECT {value}{at} FROM day({rows})",
            ),
            bytes(
                "with an `integer`, and an index on both",
                KEYS,
                "CREATE TABLE {t} (id {type} PRIMARY KEY, kind integer NOT NULL); CREATE INDEX ON {t} (kind, id);
                 INSERT INTO {t} SELECT {value}, n % 100 FROM day({rows})",
            ),
            Figure {
                title: "`CREATE INDEX`",
                columns: KEYS,
                rows: 3_000_000,
                measure: Time(1),
                sql: [
                    "CREATE UNLOGGED TABLE {t} AS SELECT {moment} AS id, n AS payload FROM moments({rows}); VACUUM ANALYZE {t}",
                    "DROP INDEX IF EXISTS {t}_id",
                    "CREATE INDEX {t}_id ON {t} (id)",
                    "",
                ],
            },
            Figure {
                title: "lookups of 8 clients",
                columns: KEYS,
                rows: 1_000_000,
                measure: Rate(8),
                // Each row knows the key of another, in a circle through all rows: so every lookup is anywhere, and there is
                // one statement. The clients begin at different rows.
                sql: [
                    "CREATE TABLE {t} AS
                     SELECT id, coalesce(lead(id) OVER around, first_value(id) OVER around) AS next, n
                     FROM (SELECT {value} AS id, n FROM day({rows}) OFFSET 0) made
                     WINDOW around AS (ORDER BY hashint8(n), n);
                     ALTER TABLE {t} ADD PRIMARY KEY (id);
                     CREATE TABLE {t}_begin AS SELECT n AS client, id FROM {t} WHERE n <= 8; VACUUM ANALYZE {t}",
                    "",
                    "\\if :begun
                     \\else
                     SELECT id AS key FROM {t}_begin WHERE client = 1 + :client_id \\gset
                     \\set begun 1
                     \\endif
                     SELECT next AS key FROM {t} WHERE id = :key \\gset",
                    "",
                ],
            },
            Figure {
                title: "`COPY` of a row with its key",
                columns: KEYS,
                rows: 1_000_000,
                measure: TimePerRow(1),
                sql: [
                    "CREATE UNLOGGED TABLE {t} AS SELECT {moment} AS id, n AS payload FROM moments({rows}); COPY {t} TO '{data}/{t}'",
                    "TRUNCATE {t}",
                    "COPY {t} FROM '{data}/{t}'",
                    "",
                ],
            },
            Figure {
                title: "generate a key, less an empty call",
                columns: KEYS,
                rows: 100_000,
                measure: TimePerCall(10),
                sql: [
                    "CREATE SEQUENCE {t}",
                    "",
                    "SELECT count({new}) FROM generate_series(1, {rows})",
                    "",
                ],
            },
            hour("count the last hour", TIMES, "SELECT count(*) FROM {t} WHERE {time} >= {bound}"),
            hour("the same, by a view's `created_at`", &[0, 1], "SELECT count(*) FROM {t} WHERE {expression} >= {hour}"),
            hour("read the last hour", TIMES, "SELECT sum(payload) FROM {t} WHERE {time} >= {bound}"),
            hour("the newest hundred rows", TIMES, "SELECT * FROM {t} ORDER BY {time} DESC LIMIT 100"),
        ],
    },
    Table {
        block: "feeds",
        columns: &[
            ("`SELECT`", &[&[("read", "SELECT * FROM {t} WHERE id > :id ORDER BY id LIMIT"), ("end", "")]]),
            ("`sno_peek_feed`", &[&[("read", "SELECT * FROM sno_peek_feed('{t}', NULL::{t},"), ("end", ") f")]]),
        ],
        // `\aset` keeps the last row's ID.
        figures: &[
            feed("A batch of 1,000 rows", 250_000, 100, "{read} 1000{end} \\aset"),
            feed("A batch of 100 rows", 250_000, 300, "{read} 100{end} \\aset"),
            feed("A batch of 10 rows", 250_000, 1000, "{read} 10{end} \\aset"),
            feed("A call that finds nothing", 0, 1000, "{read} 100{end} \\aset"),
        ],
    },
];
