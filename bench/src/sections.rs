//! What is measured. A section is data; `run` goes through it.
//!
//! SQL has words in braces: `{rows}` and the server's `{data}` folder in all sections, [`Section::words`] in one, and
//! those of a contender. A section works in a schema of its own, which goes away with all that is in it. How to read
//! the figures is in bench/README.md.

use crate::contenders::Contenders::{self, *};
use crate::contenders::List;
use crate::figures::Measure::*;
use crate::figures::{Figure, Section, section};

const fn sort(title: &'static str, setup: &'static str, of: &'static str) -> Figure {
    let around = ["", "DROP INDEX IF EXISTS {t}_id_idx"];
    Figure { setup, around, ..Figure::new(title, Keys("moment"), Time, of) }
}

const fn space(title: &'static str, contenders: Contenders, fill: &'static str) -> Figure {
    let size = "SELECT pg_relation_size('{t}') + pg_indexes_size('{t}')";
    Figure::new(title, contenders, BytesPerRow, size).around(fill, "DROP TABLE {t}")
}

const fn hour(title: &'static str, query: &'static str) -> Figure {
    Figure::new(title, Timed("value"), MeanTime(10), query)
}

const fn copy(title: &'static str, setup: &'static str, of: &'static str) -> Figure {
    Figure { setup, around: ["TRUNCATE {t}_copy", ""], ..Figure::new(title, Keys("moment"), TimePerRow, of) }
}

/// Into tables that have rows already, which no one still writes to disk.
const fn single_inserts(title: &'static str) -> Figure {
    let insert = "INSERT INTO {t} (payload) VALUES (1);";
    Figure::new(title, DatedAndAlone("default"), Rate(8), insert).setup(
        "CREATE TABLE {t} (id {type} {default} PRIMARY KEY{created_at}, payload integer); {index};
         INSERT INTO {t} (payload) SELECT n FROM generate_series(1, {rows}) n;
         VACUUM ANALYZE {t}; CHECKPOINT",
    )
}

const fn plan(title: &'static str, conditions: List) -> Figure {
    Figure::new(title, Listed(conditions), Planning, "SELECT count(*) FROM {it} WHERE {with}")
}

/// A call of `sno_peek_feed` beside what reads the same rows, from the start of the table for each sample.
const fn calls(title: &'static str, count: usize, ways: List) -> Figure {
    Figure::new(title, Listed(ways), MeanTime(count), "{it}")
        .around("SELECT sno_seek_feed('filled', since => '-infinity')", "")
}

/// The calls that are compared when nothing is to be read.
const NOTHING: List = &[
    ("SELECT", "SELECT * FROM nothing WHERE id > $1::bytea::sno ORDER BY id LIMIT 100", ""),
    ("sno_peek_feed", "SELECT * FROM sno_peek_feed('nothing', NULL::nothing) f", ""),
];

const TABLE: &str =
    "CREATE TABLE {t} (id {type} {default} PRIMARY KEY{created_at}, payload integer NOT NULL); {index}";
const SORT: &str = "SELECT id, payload FROM {t} ORDER BY id OFFSET {rows}";
const KEYS_ALONE: &str = "SELECT id FROM {t} ORDER BY id OFFSET {rows}";
const INDEX: &str = "CREATE INDEX ON {t} (id)";
const YEARS: &str = "
    CREATE UNLOGGED TABLE {t} AS SELECT {moment} AS id, n AS payload FROM years;
    VACUUM ANALYZE {t}";
const HOUR: &str = "
    DROP TABLE IF EXISTS {t};
    CREATE UNLOGGED TABLE {t} AS SELECT {moment} AS id, n AS payload FROM hour;
    VACUUM ANALYZE {t}";

/// The sections, in order.
pub(crate) const SECTIONS: &[Section] = &[
    Section {
        setup: "
            CREATE SEQUENCE plain",
        figures: &[Figure::new(
            "One key, net of the query around it",
            Listed(&[
                ("sno_new(1)", "sno_new(1)", "nothing(1)"),
                ("clock_timestamp()", "clock_timestamp()", "nothing()"),
                ("nextval", "nextval('plain'::regclass)", "nothing(1)"),
                ("gen_random_uuid()", "gen_random_uuid()", "nothing()"),
                ("uuidv7()", "uuidv7()", "nothing()"),
            ]),
            TimePerRow,
            "SELECT count({it}) FROM generate_series(1, {rows})
             SELECT count({with}) FROM generate_series(1, {rows})",
        )],
        ..section("generation", 0.09, 100_000)
    },
    Section {
        setup: "CREATE UNLOGGED TABLE hour AS SELECT * FROM moments({rows}, 3600);
                CREATE UNLOGGED TABLE years AS SELECT * FROM moments({rows}, 3 * 365 * 24 * 3600)",
        figures: &[
            sort("CREATE INDEX, keys of three years", YEARS, INDEX),
            sort("ORDER BY, with a column beside it, keys of one hour", HOUR, SORT),
            sort("ORDER BY of the key alone, keys of one hour", "", KEYS_ALONE),
            sort("CREATE INDEX, keys of one hour", "", INDEX),
        ],
        ..section("sort", 0.32, 3_000_000)
    },
    Section {
        figures: &[Figure::new(
            "One row of a bulk insert",
            DatedAndAlone("default"),
            TimePerRow,
            "INSERT INTO {t} (payload) SELECT n FROM generate_series(1, {rows}) n",
        )
        // What was written must not weigh on the next.
        .around(TABLE, "DROP TABLE {t}; CHECKPOINT")],
        ..section("insert", 0.18, 1_500_000)
    },
    Section {
        setup: "CREATE VIEW numbers AS SELECT n, clock_timestamp() AS at FROM generate_series(1, {rows}) n",
        figures: &[
            space(
                "The key, nothing else",
                Keys("value"),
                "CREATE TABLE {t} (id {type} PRIMARY KEY);
                 INSERT INTO {t} SELECT {value} FROM numbers",
            ),
            space(
                "The key and the time of the row",
                Dated("value"),
                "CREATE TABLE {t} (id {type} PRIMARY KEY{created_at}); {index};
                 INSERT INTO {t} SELECT {value}{at} FROM numbers",
            ),
            space(
                "The key and an integer, with an index on both together",
                Keys("value"),
                "CREATE TABLE {t} (id {type} PRIMARY KEY, kind integer NOT NULL);
                 CREATE INDEX ON {t} (kind, id);
                 INSERT INTO {t} SELECT {value}, n % 100 FROM numbers",
            ),
        ],
        ..section("disk", 0.01, 500_000)
    },
    Section {
        setup: "CREATE VIEW numbers AS SELECT n, now() - ({rows} - n) * interval '1 day' / {rows} AS at
                FROM generate_series(1, {rows}) n",
        // The tables get older while they are measured: the hour is that before they were filled.
        words: &[("since", "SELECT format('timestamptz %L', now() - interval '1 hour')")],
        figures: &[
            hour("Counting the last hour", "SELECT count(*) FROM {t} WHERE {time} >= {lower}({since})")
                .setup(
                    "CREATE TABLE {t} (id {type} PRIMARY KEY{created_at}, payload integer); {index};
                 INSERT INTO {t} SELECT {value}{at}, n FROM numbers;
                 VACUUM ANALYZE {t}",
                ),
            hour(
                "Reading the last hour's rows",
                "SELECT sum(payload) FROM {t} WHERE {time} >= {lower}({since})",
            ),
            hour("The newest hundred", "SELECT * FROM {t} ORDER BY {time} DESC LIMIT 100"),
        ],
        ..section("hour", 0.02, 2_000_000)
    },
    Section {
        setup: "CREATE UNLOGGED TABLE hour AS SELECT * FROM moments({rows}, 3600)",
        figures: &[
            copy(
                "COPY TO, text, one row",
                "CREATE UNLOGGED TABLE {t} AS SELECT {moment} AS id, n AS payload FROM hour;
                 VACUUM ANALYZE {t};
                 CREATE UNLOGGED TABLE {t}_copy (LIKE {t});
                 COPY {t} TO '{data}/{t}.text';
                 COPY {t} TO '{data}/{t}.binary' (FORMAT binary)",
                "COPY {t} TO '/dev/null'",
            ),
            copy("COPY FROM, text, one row", "", "COPY {t}_copy FROM '{data}/{t}.text'"),
            copy("COPY TO, binary, one row", "", "COPY {t} TO '/dev/null' (FORMAT binary)"),
            copy("COPY FROM, binary, one row", "", "COPY {t}_copy FROM '{data}/{t}.binary' (FORMAT binary)"),
        ],
        ..section("copy", 0.08, 1_000_000)
    },
    Section {
        setup: "CREATE VIEW numbers AS SELECT n, clock_timestamp() AS at
                FROM generate_series(1::bigint, {rows}) n",
        figures: &[
            single_inserts("Rows inserted, each by a statement of its own"),
            // Each row knows the key of another, in a circle through all rows: so every lookup is anywhere, and
            // there is one statement. The clients begin at different rows.
            Figure::new(
                "Rows looked up by key, each by a statement of its own",
                Keys("value"),
                Rate(8),
                "\\if :begun
                 \\else
                 SELECT id AS key FROM {t}_begin WHERE client = 1 + :client_id \\gset
                 \\set begun 1
                 \\endif
                 SELECT next AS key FROM {t}_circle WHERE id = :key \\gset",
            )
            .setup(
                "CREATE TABLE {t}_circle AS
                 SELECT id, coalesce(lead(id) OVER around, first_value(id) OVER around) AS next, n
                 FROM (SELECT {value} AS id, n FROM numbers OFFSET 0) made
                 WINDOW around AS (ORDER BY hashint8(n), n);
                 ALTER TABLE {t}_circle ADD PRIMARY KEY (id);
                 CREATE TABLE {t}_begin AS SELECT n AS client, id FROM {t}_circle WHERE n <= 8;
                 VACUUM ANALYZE {t}_circle",
            ),
        ],
        ..section("clients", 0.13, 1_000_000)
    },
    Section {
        setup: "
            CREATE TABLE sno_day (id sno PRIMARY KEY, payload integer);
            CREATE TABLE time_day (id bigint PRIMARY KEY, at timestamptz, payload integer);
            CREATE INDEX ON time_day (at);
            CREATE VIEW numbers AS
            SELECT n, now() - n * interval '100000 s' / {rows} AS at FROM generate_series(1, {rows}) n;
            INSERT INTO sno_day SELECT sno_new(1, at), n FROM numbers;
            INSERT INTO time_day SELECT n, at, n FROM numbers;
            VACUUM ANALYZE sno_day, time_day",
        words: &[
            ("since", "SELECT format('timestamptz %L', now() - interval '2 hours')"),
            ("until", "SELECT format('timestamptz %L', now() - interval '1 hour')"),
            ("since_id", "SELECT format('sno %L', sno_lower({since}))"),
        ],
        figures: &[
            plan(
                "One bound, a constant",
                &[
                    ("sno: id >= time", "sno_day", "id >= {since}"),
                    ("sno: id >= sno", "sno_day", "id >= {since_id}"),
                    ("sno: sno_time(id) >= time", "sno_day", "sno_time(id) >= {since}"),
                    ("timestamptz: created_at >= time", "time_day", "at >= {since}"),
                ],
            ),
            plan(
                "Two bounds, constants",
                &[
                    ("sno: two conditions", "sno_day", "id >= {since} AND id < {until}"),
                    ("sno: sno_between", "sno_day", "sno_between(id, {since}, {until})"),
                    ("sno: sno_time, twice", "sno_day", "sno_time(id) >= {since} AND sno_time(id) < {until}"),
                    ("timestamptz: two conditions", "time_day", "at >= {since} AND at < {until}"),
                ],
            ),
            plan(
                "The last hour: now() - interval '1 hour'",
                &[
                    ("sno: id >= time", "sno_day", "id >= now() - interval '1 hour'"),
                    ("sno: sno_between", "sno_day", "sno_between(id, now() - interval '1 hour', now())"),
                    ("sno: sno_time(id) >= time", "sno_day", "sno_time(id) >= now() - interval '1 hour'"),
                    ("timestamptz: created_at >= time", "time_day", "at >= now() - interval '1 hour'"),
                ],
            ),
        ],
        ..section("plans", 0.02, 100_000)
    },
    Section {
        setup: "
            CREATE TABLE filled (id sno PRIMARY KEY DEFAULT sno_new(1), sent bigint NOT NULL);
            CREATE TABLE nothing (LIKE filled INCLUDING ALL);
            INSERT INTO filled (sent) SELECT n FROM generate_series(1, 250000) n;
            SELECT sno_create_feed('filled', 'filled'), sno_create_feed('nothing', 'nothing');
            SELECT pg_sleep(0.2);
            VACUUM ANALYZE filled",
        figures: &[
            calls(
                "A batch of 1,000 rows",
                100,
                &[
                    ("SELECT", "SELECT * FROM filled WHERE id > $1::bytea::sno ORDER BY id LIMIT 1000", ""),
                    ("sno_peek_feed", "SELECT * FROM sno_peek_feed('filled', NULL::filled, 1000) f", ""),
                ],
            ),
            calls(
                "A batch of 100 rows",
                300,
                &[
                    ("SELECT", "SELECT * FROM filled WHERE id > $1::bytea::sno ORDER BY id LIMIT 100", ""),
                    ("sno_peek_feed", "SELECT * FROM sno_peek_feed('filled', NULL::filled, 100) f", ""),
                ],
            ),
            calls(
                "A batch of 10 rows",
                1000,
                &[
                    ("SELECT", "SELECT * FROM filled WHERE id > $1::bytea::sno ORDER BY id LIMIT 10", ""),
                    ("sno_peek_feed", "SELECT * FROM sno_peek_feed('filled', NULL::filled, 10) f", ""),
                ],
            ),
            calls("A call that finds nothing", 1000, NOTHING),
        ],
        ..section("feeds", 0.25, 1)
    },
];
