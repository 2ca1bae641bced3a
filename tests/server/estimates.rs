//! Row estimates of random conditions, beside those of the same conditions on a `timestamptz` column.
//!
//! The conditions are nested lists of known bounds, of bounds that are unknown at planning time, and of conditions on
//! another column. An estimate is good if it is within three times PostgreSQL's for the `timestamptz`, or nearer to the
//! actual rows.

use sno_tests::{Random, Server, Sql as _, plan, postgres::Client};

/// Chosen once, so that a failure comes again.
const SEED: u64 = 20_260_101;
const QUERIES: usize = 2000;
/// With the nulls, few enough for ANALYZE to read them all: with samples, the tables' statistics would differ.
const ROWS: usize = 27_000;

/// `s` has IDs and nulls, and `stored` their times; `t` and `by_id` are the two with the other's name of the column.
fn tables() -> (Server, Client) {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(&format!(
        "CREATE TABLE s AS SELECT sno_make('2026-01-01Z'::timestamptz + k * interval '10 s', 0, 1, 0) AS id, k % 100 AS n
             FROM generate_series(0, {ROWS} - 1) k;
         INSERT INTO s SELECT NULL, k FROM generate_series(0, 2000) k;
         CREATE TABLE stored AS SELECT sno_time(id) AS created_at, n FROM s;
         CREATE TABLE moments AS SELECT created_at AS at, row_number() OVER () AS n FROM stored WHERE n = 7;
         CREATE INDEX ON s (id); CREATE INDEX ON stored (created_at);
         CREATE VIEW by_id AS SELECT sno_time(id) AS created_at, n FROM s;
         CREATE VIEW t AS SELECT created_at AS id, n FROM stored;
         ANALYZE",
    ));
    (server, client)
}

struct Conditions(Random);

impl Conditions {
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// A time among those of the rows, or a little outside, written as a constant, as one that is known at planning
    /// time only by calling `now()`, or as one that is not known then.
    fn time(&mut self) -> String {
        let time = format!("timestamptz '2026-01-01Z' + interval '{} s'", self.below(ROWS * 11));
        match self.below(8) {
            0 => format!("({time} + (now() - now()))"),
            1 | 2 => format!("(SELECT {time})"),
            _ => time,
        }
    }

    fn comparison(&mut self) -> String {
        let operator = ["<", "<=", ">", ">="][self.below(4)];
        let mut time = self.time();
        if self.below(16) == 0 {
            time = format!("({time} + (clock_timestamp() - clock_timestamp()))");
        }
        if self.below(4) == 0 { format!("{time} {operator} id") } else { format!("id {operator} {time}") }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.below(11 - 3 * depth) {
            0 => format!("n < {}", self.below(100)),
            1..=3 => self.comparison(),
            4 => format!("id BETWEEN {} AND {}", self.time(), self.time()),
            5..=7 => self.list("AND", depth + 1),
            8 => self.list("OR", depth + 1),
            9 => format!("{} IS TRUE", self.list("AND", depth + 1)),
            _ => format!("NOT {}", self.list("AND", depth + 1)),
        }
    }

    fn list(&mut self, word: &str, depth: usize) -> String {
        let count = 1 + self.below(4);
        let parts: Vec<_> = (0..count).map(|_| self.condition(depth.min(3))).collect();
        format!("({})", parts.join(&format!(" {word} ")))
    }
}

/// The rows that the planner expects.
fn expected(client: &mut Client, table: &str, condition: &str) -> f64 {
    planned(client, &format!("SELECT FROM {table} WHERE {condition}"))
}

fn planned(client: &mut Client, query: &str) -> f64 {
    rows_of(client, "", query)
}

/// The rows of the first step of a plan that has this in its line.
fn rows_of(client: &mut Client, step: &str, query: &str) -> f64 {
    let plan = plan(client, "COSTS", query);
    let line = plan.lines().find(|line| line.contains(step)).unwrap();
    let rows = line.split("rows=").nth(1).unwrap().split(' ').next().unwrap();
    rows.parse().unwrap()
}

/// A query of `V`, whose `created_at` is `sno_time(id)` or a stored column, with a name for each that it has.
fn query_by_time(random: &mut Conditions) -> String {
    let condition = |random: &mut Conditions, name: &str| {
        let time = random.time();
        match random.below(8) {
            0 => format!("{name}.created_at = {time}"),
            1 => format!("{name}.created_at IN ({time}, {})", random.time()),
            2 => format!("{name}.created_at BETWEEN {time} AND {}", random.time()),
            3 => format!("{name}.n < {}", random.below(100)),
            4 => format!("({name}.created_at < {time} OR {name}.created_at = {})", random.time()),
            _ => format!("{name}.created_at {} {time}", ["<", "<=", ">", ">="][random.below(4)]),
        }
    };
    let (one, two) = (condition(random, "a"), condition(random, "a"));
    match random.below(8) {
        0 | 1 => format!("SELECT FROM V a WHERE {one} AND {two}"),
        2 => format!("SELECT FROM moments m JOIN V a ON a.created_at = m.at WHERE {one}"),
        3 => format!(
            "SELECT FROM V a JOIN V b ON b.created_at = a.created_at AND b.n < {} WHERE {one}",
            random.below(100)
        ),
        4 => format!("SELECT FROM V a WHERE a.created_at IN (SELECT at FROM moments WHERE n < 20) AND {one}"),
        5 => format!("SELECT a.created_at FROM V a WHERE {one} GROUP BY a.created_at"),
        6 => format!(
            "SELECT FROM V a JOIN V b ON b.created_at {} a.created_at WHERE {one} AND a.n = 7 AND b.n = 7",
            ["<", ">="][random.below(2)]
        ),
        _ => format!(
            "SELECT FROM moments m JOIN V a ON a.created_at {} m.at WHERE {one}",
            ["<", ">="][random.below(2)]
        ),
    }
}

/// Whether PostgreSQL estimates a query by the number of different times.
fn needs_statistics(query: &str) -> bool {
    [" IN ", " = m.at", " = a.created_at", "GROUP BY"].iter().any(|part| query.contains(part))
}

/// Joins by `=`, `IN` and groups need the statistics for `sno_time(id)` that docs/time-queries.md advises.
#[test]
fn random_queries_by_time_are_estimated_as_on_a_stored_column() {
    let (_server, mut client) = tables();
    let mut random = Conditions(Random(SEED));
    let queries: Vec<_> = (0..800).map(|_| query_by_time(&mut random)).collect();
    let (need, without): (Vec<_>, Vec<_>) = queries.into_iter().partition(|query| needs_statistics(query));
    let mut bad = bad_estimates(&mut client, &without);
    client.batch_execute("CREATE STATISTICS by_time ON (sno_time(id)) FROM s; ANALYZE s").unwrap();
    for queries in [&need, &without] {
        bad.append(&mut bad_estimates(&mut client, queries));
    }
    assert!(bad.is_empty(), "seed {SEED}: {} estimates are off:\n{}", bad.len(), bad.join("\n"));
}

/// The queries that are estimated worse on the view than on the stored column.
fn bad_estimates(client: &mut Client, queries: &[String]) -> Vec<String> {
    let mut bad = Vec::new();
    for query in queries {
        let [ours, theirs] = ["by_id", "stored"].map(|table| planned(client, &query.replace('V', table)));
        if off(ours, theirs) <= 3.0 {
            continue;
        }
        // Of ranges that contradict each other, PostgreSQL expects 0.5 % of the rows.
        let count = format!("SELECT count(*) FROM ({}) q", query.replace('V', "stored"));
        let actual = client.query_one(&count, &[]).unwrap().get::<_, i64>(0) as f64;
        if off(ours, actual) >= off(theirs, actual) {
            bad.push(format!("{ours} rows, stored {theirs}, actual {actual}: {query}"));
        }
    }
    bad
}

fn off(a: f64, b: f64) -> f64 {
    a.max(b).max(1.0) / a.min(b).max(1.0)
}

#[test]
fn random_conditions_are_estimated_as_on_a_timestamptz() {
    let (_server, mut client) = tables();
    let mut random = Conditions(Random(SEED));
    let (mut worst, mut bad) = ((1.0, String::new()), Vec::new());
    for _ in 0..QUERIES {
        let condition = random.list("AND", 0);
        let [ours, theirs] = ["s", "t"].map(|table| expected(&mut client, table, &condition));
        if off(ours, theirs) <= 3.0 {
            continue;
        }
        let query = format!("SELECT count(*) FROM t WHERE {condition}");
        let actual = client.query_one(&query, &[]).unwrap().get::<_, i64>(0) as f64;
        if off(ours, actual) < off(theirs, actual) {
            continue;
        }
        let line = format!("{ours} rows, timestamptz {theirs}, actual {actual}: {condition}");
        if off(ours, theirs) > worst.0 {
            worst = (off(ours, theirs), line.clone());
        }
        bad.push(line);
    }
    assert!(
        bad.is_empty(),
        "seed {SEED}: {} of {QUERIES} estimates are off; the worst, {:.0} times: {}\n{}",
        bad.len(),
        worst.0,
        worst.1,
        bad.join("\n")
    );
}

#[test]
fn the_rows_of_one_time_count_at_an_inclusive_bound() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE often AS SELECT sno_make('2026-01-01Z'::timestamptz + n % 500 * interval '1 h', 0, 0, 0) AS id
             FROM generate_series(1, 20000) n; ANALYZE often",
    );
    let one = |hours: i32| {
        let id = format!("sno_lower('2026-01-01Z'::timestamptz + interval '{hours} h')");
        format!("{id} <= p.id AND p.id <= {id}")
    };
    // A time that is known by calling now() only, with a bound that excludes no row of it.
    let at = |hours: i32| {
        let time = format!("'2026-01-01Z'::timestamptz + interval '{hours} h' + (now() - now())");
        format!("sno_time(p.id) = {time} AND sno_time(p.id) <= {time} + interval '1 day'")
    };
    for hours in [50, 150, 250, 350, 450] {
        for condition in [one(hours), at(hours)] {
            let rows = planned(&mut client, &format!("SELECT FROM often p WHERE {condition}"));
            assert!((27.0..=60.0).contains(&rows), "{rows}: {condition}");
        }
    }
    // Also in a condition of two tables.
    let joined = format!(
        "SELECT FROM often p JOIN (VALUES (1), (2)) v(n) ON {} AND n = 1 OR {} AND n = 2",
        one(50),
        one(150)
    );
    let rows = rows_of(&mut client, "on often", &joined);
    assert!((54.0..=120.0).contains(&rows), "{rows}");

    // A partition has a copy of such a condition. While the partition is read for each row of another table, the other
    // table's columns are unknown values: PostgreSQL expects a third of them to be greater than a constant.
    client.run(
        "CREATE TABLE parted (id sno, n integer) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parted DEFAULT;
         INSERT INTO parted SELECT id, row_number() OVER () % 40 FROM often; CREATE INDEX ON parted (n);
         CREATE TABLE few AS SELECT * FROM parted WHERE n < 3 LIMIT 9; ANALYZE parted, few;
         SET enable_hashjoin = off; SET enable_mergejoin = off",
    );
    for (condition, expected) in [
        (format!("{} AND few.n > 0 OR few.n = 8", one(250)), 1.0..=6.0),
        ("p.n >= 0 AND few.id > 'xxxxxxxxxxxxxxxx' OR p.n < 9 AND few.n = 9".to_owned(), 130.0..=200.0),
    ] {
        let query = format!("SELECT FROM few JOIN parted p USING (n) WHERE {condition}");
        let rows = rows_of(&mut client, "on part p", &query);
        assert!(expected.contains(&rows), "{rows}: {condition}");
    }
}

/// What a role may not see stays hidden, as with PostgreSQL's own estimators.
#[test]
fn statistics_are_shown_to_leakproof_operators_only() {
    let (_server, mut client) = tables();
    client.run(
        "CREATE ROLE reader; GRANT SELECT ON s TO reader; ALTER TABLE s ENABLE ROW LEVEL SECURITY; CREATE POLICY rows ON s USING (n < 2001)",
    );
    let late = "SELECT FROM s WHERE id >= timestamptz '2027-01-01Z'";
    client.run("SET ROLE reader");
    assert!(planned(&mut client, late) < 10.0);
    client.run("RESET ROLE; ALTER FUNCTION sno_internal.sno_ge NOT LEAKPROOF; SET ROLE reader");
    assert!(planned(&mut client, late) > 1000.0);
    // An operator with this estimator may have one operand.
    client.run(
        "RESET ROLE; CREATE FUNCTION odd(sno) RETURNS boolean LANGUAGE SQL IMMUTABLE RETURN sno_metabyte($1) % 2 = 1;
         CREATE OPERATOR !!! (FUNCTION = odd, RIGHTARG = sno, RESTRICT = sno_internal.sno_ineqsel)",
    );
    assert!(planned(&mut client, "SELECT FROM s WHERE !!! id AND id < timestamptz '2026-01-02Z'") > 0.0);
}
