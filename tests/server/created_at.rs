//! Random queries on views with a column `at` that is `sno_time(id)`. Each has the same result with conditions and
//! orders on the ID, without them, and on a table that stores the time.

use std::env;

use sno_tests::{
    Random, Server,
    postgres::{Client, SimpleQueryMessage},
};

/// Chosen once, so that a failure comes again; `SNO_SEED` and `SNO_QUERIES` choose others.
const SEED: u64 = 20_260_102;
const QUERIES: usize = 3000;

fn chosen(variable: &str, usual: u64) -> u64 {
    env::var(variable).map_or(usual, |number| number.parse().expect("a number"))
}

/// The same rows in tables with different indexes, and a view of each; `stored` stores the time.
pub(crate) const TABLES: &str = "
    CREATE TABLE stored (id sno, at timestamptz, n integer);
    INSERT INTO stored
        SELECT id, sno_time(id), row_number() OVER ()
        FROM (
            SELECT sno_make('2026-11-01Z'::timestamptz + (k * k % 977) * interval '17 min', k % 256, 1, k) AS id
            FROM generate_series(1, 250) k
            UNION ALL
            SELECT sno_make('2026-11-03Z'::timestamptz + k % 3 * interval '4 ms', 1, 2, k) FROM generate_series(1, 30) k
            UNION ALL VALUES ('2222222222222222'::sno), ('2222222222222223'), ('xxxxxxxxxxxxxxxw'), ('xxxxxxxxxxxxxxxx'),
                (sno_lower('2010-01-01 00:00:00.004Z')), (sno_lower('2079-09-07 15:47:35.544Z'))
        ) ids;
    CREATE TABLE btree AS SELECT id, n FROM stored;
    CREATE INDEX ON btree (id);
    CREATE TABLE other_order AS SELECT id, n FROM stored;
    CREATE INDEX ON other_order (id DESC NULLS LAST, n);
    CREATE TABLE brin AS SELECT id, n FROM stored ORDER BY id;
    CREATE INDEX ON brin USING brin (id) WITH (pages_per_range = 1);
    CREATE TABLE second (id sno, n integer);
    INSERT INTO second SELECT id, n FROM stored;
    CREATE INDEX ON second (n, id);
    CREATE INDEX ON second (n) WHERE sno_time(id) >= '2026-11-03Z';
    CREATE TABLE expression AS SELECT id, n FROM stored;
    CREATE INDEX ON expression (sno_time(id));
    CREATE TABLE parted (id sno, n integer) PARTITION BY RANGE (id);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (sno_lower('2026-11-03Z'));
    CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (sno_lower('2026-11-03Z')) TO (sno_lower('2026-11-06Z'));
    CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (sno_lower('2026-11-06Z')) TO (MAXVALUE);
    CREATE INDEX ON parted (id);
    INSERT INTO parted SELECT id, n FROM stored;
    CREATE TABLE secured AS SELECT id, n FROM stored;
    CREATE INDEX ON secured (id);
    ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
    CREATE POLICY by_time ON secured USING (sno_time(id) >= '-infinity' AND n <> 0);
    CREATE TABLE one AS SELECT id, n FROM stored WHERE n % 2 = 0;
    CREATE INDEX ON one (id);
    CREATE TABLE two AS SELECT id, n FROM stored WHERE n % 2 = 1;
    CREATE VIEW key_btree AS SELECT id, sno_time(id) AS at, n FROM btree;
    CREATE VIEW key_other_order AS SELECT id, id::timestamptz AS at, n FROM other_order;
    CREATE VIEW key_brin AS SELECT id, sno_time(id) AS at, n FROM brin;
    CREATE VIEW key_second AS SELECT id, sno_time(id) AS at, n FROM second;
    CREATE VIEW key_expression AS SELECT id, sno_time(id) AS at, n FROM expression;
    CREATE VIEW key_parted AS SELECT id, sno_time(id) AS at, n FROM parted;
    CREATE VIEW key_secured WITH (security_barrier) AS SELECT id, sno_time(id) AS at, n FROM secured;
    CREATE VIEW key_union AS SELECT id, sno_time(id) AS at, n FROM (SELECT * FROM one UNION ALL SELECT * FROM two) both_of_them;
    CREATE VIEW key_unions AS
        SELECT id, sno_time(id) AS at, n FROM one UNION ALL SELECT id, sno_time(id) AS at, n FROM two;
    CREATE TABLE other AS
        SELECT k AS n, '2026-11-01Z'::timestamptz + k * interval '13 hours' AS at FROM generate_series(1, 8) k;
    INSERT INTO other VALUES (9, NULL), (10, 'infinity'), (11, '-infinity'), (12, '2010-01-01Z');
    ANALYZE;
    -- Null IDs, but for the table whose partitions can't have them.
    CREATE TABLE missing AS SELECT k AS n FROM generate_series(1001, 1005) k;
    INSERT INTO btree SELECT NULL, n FROM missing; INSERT INTO other_order SELECT NULL, n FROM missing;
    INSERT INTO brin SELECT NULL, n FROM missing; INSERT INTO second SELECT NULL, n FROM missing;
    INSERT INTO expression SELECT NULL, n FROM missing; INSERT INTO one SELECT NULL, n FROM missing;
    CREATE TABLE stored_nulls AS SELECT * FROM stored UNION ALL SELECT NULL, NULL, n FROM missing;
    CREATE VIEW key_utc AS SELECT id, sno_time(id) AT TIME ZONE 'UTC' AS at, n FROM btree;
    CREATE VIEW stored_utc AS SELECT id, at AT TIME ZONE 'UTC' AS at, n FROM stored_nulls;
    CREATE VIEW key_parted_utc AS SELECT id, sno_time(id) AT TIME ZONE 'Etc/UTC' AS at, n FROM parted;
    CREATE VIEW stored_parted_utc AS SELECT id, at AT TIME ZONE 'UTC' AS at, n FROM stored;
";

/// The views of `TABLES`, and the tables with the same rows that store the time.
pub(crate) const SOURCES: [(&str, &str); 11] = [
    ("key_btree", "stored_nulls"),
    ("key_other_order", "stored_nulls"),
    ("key_brin", "stored_nulls"),
    ("key_second", "stored_nulls"),
    ("key_expression", "stored_nulls"),
    ("key_parted", "stored"),
    ("key_secured", "stored"),
    ("key_union", "stored_nulls"),
    ("key_unions", "stored_nulls"),
    ("key_utc", "stored_utc"),
    ("key_parted_utc", "stored_parted_utc"),
];

const OPERATORS: [&str; 6] = ["<", "<=", ">", ">=", "=", "<>"];

fn time(random: &mut Random) -> String {
    let constant = random.one_of(&[
        "2026-11-02 05:40Z",
        "2026-11-03Z",
        "2026-11-03 00:00:00.004Z",
        "2026-11-03 00:00:00.003999Z",
        "2026-11-03 00:00:00.000001Z",
        "2026-11-05 12:00Z",
        "2026-11-09 01:00Z",
        "2010-01-01Z",
        "2009-12-31 23:59:59.999999Z",
        "2010-01-01 00:00:00.000001Z",
        "2079-09-07 15:47:35.548Z",
        "2079-09-07 15:47:35.547999Z",
        "2079-09-07 15:47:35.548001Z",
        "2100-01-01Z",
        "4000-01-01 BC",
        "294276-12-31 23:59:59.999999Z",
        "infinity",
        "-infinity",
    ]);
    match random.below(12) {
        0 => format!("(SELECT timestamptz '{constant}')"),
        1 => format!("(timestamptz '{constant}' + (now() - now()))"),
        2 => random
            .one_of(&["now()", "NULL::timestamptz", "(SELECT max(at) FROM other WHERE n < 9)"])
            .to_owned(),
        3 => format!(
            "date '{}'",
            random.one_of(&[
                "2026-11-03",
                "2026-11-05",
                "infinity",
                "-infinity",
                "294277-01-01",
                "2009-12-31",
                "2079-09-08"
            ])
        ),
        4 => format!(
            "timestamp '{}'",
            random.one_of(&[
                "2026-11-03 00:00",
                "2026-11-04 13:00",
                "infinity",
                "2010-01-01 00:00",
                "294276-12-31 23:59:59"
            ])
        ),
        5 => "CURRENT_DATE".to_owned(),
        6 | 7 => random.one_of(&["$1", "$2"]).to_owned(),
        _ => format!("timestamptz '{constant}'"),
    }
}

fn comparison(random: &mut Random, at: &str, other: Option<&str>) -> String {
    let time = match other {
        Some(other) if random.below(2) == 0 => {
            random.one_of(&[other, "other.at + interval '3 hours'", "other.at::date"]).to_owned()
        }
        _ => time(random),
    };
    let operator = random.one_of(&OPERATORS);
    match random.below(4) {
        0 => format!("{time} {operator} {at}"),
        _ => format!("{at} {operator} {time}"),
    }
}

/// A condition on the column `x.at`, and with a time of another table if there is one.
fn condition(random: &mut Random, depth: usize, other: Option<&str>) -> String {
    let at = "x.at";
    let list = |random: &mut Random, word: &str| {
        let count = 1 + random.below(3);
        let parts: Vec<_> = (0..count).map(|_| condition(random, depth + 1, other)).collect();
        format!("({})", parts.join(word))
    };
    match random.below(if depth > 2 { 7 } else { 14 }) {
        0 => format!("{at} BETWEEN {} AND {}", time(random), time(random)),
        1 => format!("{at} NOT BETWEEN {} AND {}", time(random), time(random)),
        2 => {
            random.one_of(&["x.n % 3 = 0", "x.at IS NULL", "x.at IS NOT NULL", "x.id IS NOT NULL"]).to_owned()
        }
        3 => {
            // The next page.
            let (operator, time) = (random.one_of(&OPERATORS[..4]), time(random));
            let n = random.below(250);
            match random.below(2) {
                0 => format!("({at}, x.n) {operator} ({time}, {n})"),
                _ => format!("({time}, sno '9q7k4op826n2g222') {operator} ({at}, x.id)"),
            }
        }
        4..=6 => comparison(random, at, other),
        7..=9 => list(random, " AND "),
        10 | 11 => list(random, " OR "),
        12 => format!("NOT {}", list(random, [" AND ", " OR "][depth % 2])),
        _ => {
            let test = ["IS TRUE", "IS NOT TRUE", "IS NOT FALSE"][depth % 3];
            format!("{} {test}", list(random, " AND "))
        }
    }
}

/// A query of `{x}`, whose rows come in one order.
pub(crate) fn query(random: &mut Random) -> String {
    let all = "SELECT string_agg(r::text, ' ' ORDER BY r) FROM";
    let simple = condition(random, 0, None);
    let joined = condition(random, 0, Some("other.at"));
    match random.below(20) {
        15 => format!(
            "{all} (SELECT n, row_number() OVER (PARTITION BY n % {} ORDER BY at {}, n), lag(at) OVER (ORDER BY at, n)
                FROM {{x}} x WHERE {simple}) r",
            random.one_of(&["1", "7"]),
            random.one_of(&["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])
        ),
        16 => format!(
            "{all} (SELECT DISTINCT ON ({0}) n % 7, at FROM {{x}} x WHERE {simple} ORDER BY {0}, at {1}, n) r",
            random.one_of(&["n % 7", "at", "n"]),
            random.one_of(&["", "DESC"])
        ),
        17 => format!(
            "SELECT string_agg(coalesce(at::text, 'null') || ' ' || n, ', ') FROM
                (SELECT at, n FROM {{x}} x WHERE {simple} UNION ALL SELECT at, -n FROM {{x}} x WHERE {simple}
                 ORDER BY at {}, n LIMIT 9) r",
            random.one_of(&["", "DESC", "NULLS FIRST"])
        ),
        18 => format!(
            "SELECT string_agg(coalesce(at::text, 'null') || ' ' || n, ', ') FROM
                (SELECT x.at, x.n FROM {{x}} x {} JOIN other ON other.n = x.n WHERE {simple} ORDER BY x.at {}, x.n LIMIT 9) r",
            random.one_of(&["LEFT", "RIGHT", "FULL"]),
            random.one_of(&["", "DESC", "NULLS FIRST", "DESC NULLS LAST"])
        ),
        19 => format!(
            "{all} (SELECT at FROM {{x}} x WHERE {simple} ORDER BY at {} FETCH FIRST {} ROWS WITH TIES) r",
            random.one_of(&["", "DESC"]),
            random.one_of(&["1", "30"])
        ),
        12 => {
            let join = random.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            format!(
                "{all} (SELECT x.n, other.n FROM {{x}} x {join} (SELECT * FROM {{x}} WHERE n % 40 = 1) other ON {joined}
                 WHERE {simple}) r"
            )
        }
        13 => {
            let not = random.one_of(&["", "NOT "]);
            format!(
                "{all} (SELECT n FROM {{x}} other WHERE n % 40 = 1 AND {not}EXISTS (SELECT FROM {{x}} x WHERE {joined})) r"
            )
        }
        14 => format!(
            "{all} (SELECT other.n, l.at FROM {{x}} other, LATERAL
                (SELECT at FROM {{x}} x WHERE {joined} ORDER BY at LIMIT 3) l WHERE other.n % 40 = 1) r"
        ),
        0..=3 => format!("{all} (SELECT n FROM {{x}} x WHERE {simple}) r"),
        4 => {
            let join = random.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            format!(
                "{all} (SELECT x.n, other.n FROM {{x}} x {join} other ON {joined} WHERE other.n % 2 = 0 OR {simple}) r"
            )
        }
        5 => format!(
            "{all} (SELECT x.n, other.n FROM {{x}} x FULL JOIN other ON x.n % 12 = other.n AND {joined}) r"
        ),
        6 => {
            let not = random.one_of(&["", "NOT "]);
            format!("{all} (SELECT n FROM other WHERE {not}EXISTS (SELECT FROM {{x}} x WHERE {joined})) r")
        }
        7 => format!(
            "{all} (SELECT other.n, l.at FROM other, LATERAL
                (SELECT at FROM {{x}} x WHERE {joined} ORDER BY at {} LIMIT 3) l) r",
            random.one_of(&["", "DESC"])
        ),
        // The times of the first rows: rows of one time may come in any order.
        8 | 9 => format!(
            "SELECT string_agg(coalesce(at::text, 'null'), ' ') FROM
                (SELECT at FROM {{x}} x WHERE {simple} ORDER BY at {} {} LIMIT {}) r",
            random.one_of(&["", "DESC", "NULLS FIRST", "DESC NULLS LAST"]),
            random.one_of(&["", "", ", id", ", n"]),
            random.one_of(&["7", "40", "7 OFFSET 3", "ALL"])
        ),
        10 => format!("SELECT ARRAY[min(at), max(at)]::text FROM {{x}} x WHERE {simple}"),
        _ => format!(
            "WITH w AS {} (SELECT * FROM {{x}}) SELECT string_agg(at::text || ' ' || c, ', ' ORDER BY at)
             FROM (SELECT at, count(*) AS c FROM w x WHERE {simple} GROUP BY at ORDER BY at DESC LIMIT 9) r",
            random.one_of(&["", "MATERIALIZED"])
        ),
    }
}

pub(crate) fn result(
    client: &mut Client,
    source: &str,
    query: &str,
    arguments: &str,
) -> Result<Option<String>, String> {
    let query = query.replace("{x}", source);
    let script =
        format!("DEALLOCATE ALL; PREPARE q(timestamptz, timestamptz) AS {query}; EXECUTE q({arguments})");
    let messages = client.simple_query(&script).map_err(|error| format!("{error:?}"))?;
    let row = messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
        _ => None,
    });
    Ok(row.flatten())
}

/// A session of a role that sees what row security lets it see.
fn reader(server: &Server) -> Client {
    let mut client = server.connect();
    client
        .batch_execute(
            "CREATE ROLE reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; SET ROLE reader",
        )
        .unwrap();
    client
}

#[test]
fn a_view_s_time_is_as_good_as_a_column() {
    let server = Server::builder().conf("jit", "off").start();
    server.connect().batch_execute(TABLES).unwrap();
    let mut client = reader(&server);
    let seed = chosen("SNO_SEED", SEED);
    let mut random = Random(seed);
    for number in 0..chosen("SNO_QUERIES", QUERIES as u64) {
        let (view, table) = random.one_of(&SOURCES);
        let query = query(&mut random);
        let arguments = format!("{}, {}", argument(&mut random), argument(&mut random));
        let settings = format!(
            "SET enable_seqscan = {}; SET enable_sort = {}; SET enable_hashjoin = {}; SET plan_cache_mode = {}; SET timezone = '{}'",
            random.one_of(&["on", "off"]),
            random.one_of(&["on", "off"]),
            random.one_of(&["on", "off"]),
            random.one_of(&["force_generic_plan", "force_custom_plan"]),
            random.one_of(&["UTC", "America/New_York", "Asia/Kathmandu"]),
        );
        client.batch_execute(&settings).unwrap();
        let expected = result(&mut client, table, &query, &arguments);
        for enabled in ["on", "off"] {
            client.batch_execute(&format!("SET sno.enable_time_conditions = {enabled}")).unwrap();
            let found = result(&mut client, view, &query, &arguments);
            assert!(
                found == expected,
                "seed {seed}, query {number} on {view}, {enabled}, {settings}, ({arguments}):\n{query}\nis      {found:?}\ninstead {expected:?}"
            );
        }
    }
}

pub(crate) fn argument(random: &mut Random) -> &'static str {
    random.one_of(&[
        "'2026-11-04Z'",
        "'2026-11-03Z'",
        "'infinity'",
        "'-infinity'",
        "NULL",
        "'2010-01-01Z'",
        "'2079-09-07 15:47:35.548Z'",
    ])
}
