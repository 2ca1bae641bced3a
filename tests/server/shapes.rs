//! What applications ask of a creation time, asked of a view's `sno_time(id)` and of a stored, indexed column.
//!
//! The steps of both plans are counted by the rows that they return and drop, which knows no busy machines. A query may handle at
//! most three times as many on the view, and no more than with the setting off; those of [`LIMITS`] handle more than a stored
//! column, as docs/time-queries.md says. `SNO_SHAPES=table` prints
//! the counts and times of all.

use std::env;

use sno_tests::{
    Server, Sql as _,
    postgres::{Client, SimpleQueryMessage},
};

/// Rows of 100 days, by 500 users. `v`, `c`, `u`, `o`, `p` are views of the ID's time in the schema `view`, and of a stored one in
/// the schema `stored`: of two tables, of a UNION ALL of both with the time in its arms and around it, and of partitions by day.
pub(crate) const TABLES: &str = "
    CREATE SCHEMA view; CREATE SCHEMA stored;
    CREATE TABLE e AS SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '86.4 s', n % 7, 1, n % 65536) AS id, n,
        (n * 7919) % 500 AS person, (ARRAY['done', 'done', 'done', 'done', 'done', 'open', 'open', 'failed'])[n * 31 % 8 + 1] AS state,
        n * 37 % 1000 AS amount, repeat('x', 40) AS note FROM generate_series(0, 99999) n;
    ALTER TABLE e ADD PRIMARY KEY (id); CREATE INDEX ON e (person, id); CREATE INDEX ON e (state, id); CREATE INDEX ON e (n);
    CREATE TABLE s AS SELECT sno_time(id) AS created_at, * FROM e;
    ALTER TABLE s ADD PRIMARY KEY (id); CREATE INDEX ON s (created_at); CREATE INDEX ON s (created_at, id);
    CREATE INDEX ON s (person, created_at); CREATE INDEX ON s (state, created_at); CREATE INDEX ON s (n);
    CREATE TABLE ce AS SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '433 s', n % 7, 2, n) AS id, n, (n * 13) % 500 AS person,
        repeat('y', 20) AS note FROM generate_series(0, 19999) n;
    ALTER TABLE ce ADD PRIMARY KEY (id); CREATE INDEX ON ce (person, id);
    CREATE TABLE cs AS SELECT sno_time(id) AS created_at, * FROM ce;
    ALTER TABLE cs ADD PRIMARY KEY (id); CREATE INDEX ON cs (created_at); CREATE INDEX ON cs (person, created_at);
    CREATE TABLE pe (LIKE e, PRIMARY KEY (id)) PARTITION BY RANGE (id); CREATE INDEX ON pe (person, id);
    SELECT count(*) FROM sno_create_partitions('pe', '2 days', '2026-01-01Z', '2026-04-11Z');
    INSERT INTO pe TABLE e;
    CREATE TABLE ps (LIKE s) PARTITION BY RANGE (created_at);
    DO $$ BEGIN FOR i IN 0..49 LOOP EXECUTE format('CREATE TABLE ps_%s PARTITION OF ps FOR VALUES FROM (%L) TO (%L)', i,
        '2026-01-01Z'::timestamptz + i * interval '2 days', '2026-01-03Z'::timestamptz + i * interval '2 days'); END LOOP; END $$;
    CREATE INDEX ON ps (created_at, id); CREATE INDEX ON ps (person, created_at); INSERT INTO ps TABLE s;
    CREATE TABLE people AS SELECT n AS person, 'p' || n AS name, '2026-01-01Z'::timestamptz + n * interval '1 h' AS joined
        FROM generate_series(0, 499) n; ALTER TABLE people ADD PRIMARY KEY (person);
    CREATE TABLE spans AS SELECT n, '2026-01-05Z'::timestamptz + n * interval '7 h' AS began FROM generate_series(0, 199) n;
    CREATE TABLE moments AS SELECT n, created_at AS at FROM s WHERE n % 1000 = 0; CREATE INDEX ON moments (at);
    CREATE TABLE target AS SELECT * FROM s WHERE n < 99900; CREATE INDEX ON target (created_at); CREATE INDEX ON target (id);
    CREATE VIEW view.v AS SELECT sno_time(id) AS created_at, * FROM e; CREATE VIEW stored.v AS TABLE s;
    CREATE VIEW view.c AS SELECT sno_time(id) AS created_at, * FROM ce; CREATE VIEW stored.c AS TABLE cs;
    CREATE VIEW view.p AS SELECT sno_time(id) AS created_at, * FROM pe; CREATE VIEW stored.p AS TABLE ps;
    CREATE VIEW view.u AS SELECT created_at, id, person FROM view.v UNION ALL SELECT created_at, id, person FROM view.c;
    CREATE VIEW view.o AS SELECT sno_time(id) AS created_at, * FROM (SELECT id, person FROM e UNION ALL SELECT id, person FROM ce) a;
    CREATE VIEW stored.u AS SELECT created_at, id, person FROM s UNION ALL SELECT created_at, id, person FROM cs;
    CREATE VIEW stored.o AS TABLE stored.u;
";

/// What `v` and `p` are asked alike. `NOW` is a stable expression at the end of the rows.
const OF_BOTH: &[&str] = &[
    // Lists and pages.
    "SELECT * FROM v ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM v ORDER BY created_at LIMIT 1",
    "SELECT * FROM v ORDER BY created_at DESC, id DESC LIMIT 20",
    "SELECT * FROM v ORDER BY created_at DESC, id LIMIT 20",
    "SELECT * FROM v ORDER BY created_at DESC, n LIMIT 20",
    "SELECT * FROM v ORDER BY created_at DESC LIMIT 20 OFFSET 2000",
    "SELECT * FROM v ORDER BY created_at DESC FETCH FIRST 20 ROWS WITH TIES",
    "SELECT * FROM v WHERE person = 7 ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM v WHERE person IN (1, 2, 3, 4, 5) ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM v WHERE created_at < '2026-03-15Z' ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM v WHERE (created_at, id) < ('2026-03-15Z', '9q7k4op822n2g222') ORDER BY created_at DESC, id DESC LIMIT 20",
    "SELECT * FROM v WHERE (created_at, n) < ('2026-03-15Z', 5) ORDER BY created_at DESC, n DESC LIMIT 20",
    "SELECT * FROM v WHERE person = 7 AND (created_at, id) < ('2026-03-15Z', '9q7k4op822n2g222') ORDER BY created_at DESC, id DESC LIMIT 20",
    "SELECT * FROM v WHERE created_at < '2026-03-15Z' OR created_at = '2026-03-15Z' AND id < '9q7k4op822n2g222' ORDER BY created_at DESC, id DESC LIMIT 20",
    "SELECT * FROM v WHERE amount = 77 ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM v JOIN people USING (person) ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM v LEFT JOIN people USING (person) WHERE created_at >= '2026-04-01Z' ORDER BY created_at LIMIT 20",
    // Ranges.
    "SELECT count(*) FROM v WHERE created_at >= '2026-04-09Z'",
    "SELECT count(*) FROM v WHERE created_at > NOW - interval '1 hour'",
    "SELECT sum(amount) FROM v WHERE created_at BETWEEN '2026-03-15Z' AND '2026-03-15 23:59:59Z'",
    "SELECT count(*) FROM v WHERE created_at >= date '2026-03-15' AND created_at < date '2026-03-15' + 1",
    "SELECT count(*) FROM v WHERE created_at >= timestamp '2026-03-15' AND created_at < timestamp '2026-03-16'",
    "SELECT count(*) FROM v WHERE NOT (created_at < '2026-04-09Z')",
    "SELECT count(*) FROM v WHERE created_at BETWEEN SYMMETRIC '2026-03-16Z' AND '2026-03-15Z'",
    "SELECT count(*) FROM v WHERE created_at BETWEEN '2026-03-01Z' AND '2026-03-02Z' OR created_at BETWEEN '2026-02-01Z' AND '2026-02-02Z'",
    "SELECT * FROM v WHERE created_at = '2026-03-15Z'",
    "SELECT * FROM v WHERE created_at = (SELECT at FROM moments WHERE n = 5000)",
    "SELECT * FROM v WHERE created_at > (SELECT max(created_at) FROM target)",
    "SELECT count(*) FROM v WHERE created_at >= coalesce(NULL, '2026-04-09Z'::timestamptz)",
    "SELECT count(*) FROM v WHERE created_at >= '2026-03-01Z' AND created_at < '2026-03-08Z' AND state = 'failed'",
    "SELECT count(*) FROM v WHERE created_at IS NULL",
    "SELECT count(*) FROM v WHERE created_at >= date_trunc('day', NOW)",
    "SELECT count(*) FROM v WHERE created_at >= timestamp '2026-04-09 05:00' AT TIME ZONE 'America/New_York'",
    // Groups by time.
    "SELECT date_trunc('day', created_at), count(*) FROM v WHERE created_at >= NOW - interval '30 days' GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('month', created_at), count(*) FROM v GROUP BY 1 ORDER BY 1",
    "SELECT floor(extract(epoch FROM created_at) / 300) * 300, avg(amount) FROM v WHERE created_at >= '2026-04-09Z' GROUP BY 1 ORDER BY 1",
    "SELECT date_bin('15 min', created_at, '2026-01-01Z'), count(*) FROM v WHERE created_at >= '2026-04-09Z' GROUP BY 1",
    "SELECT created_at, count(*) FROM v GROUP BY created_at ORDER BY created_at DESC LIMIT 20",
    "SELECT created_at, amount FROM v WHERE created_at >= '2026-04-09Z' ORDER BY 1",
    "SELECT created_at, state, amount FROM v WHERE created_at >= '2026-04-09Z' ORDER BY 1, 2",
    "SELECT count(*) FILTER (WHERE created_at >= '2026-04-01Z'), count(*) FILTER (WHERE created_at < '2026-02-01Z') FROM v",
    "SELECT count(*) FROM v WHERE created_at::date = '2026-03-15'",
    "SELECT count(*) FROM v WHERE to_char(created_at, 'YYYY-MM') = '2026-03'",
    "SELECT count(*) FROM v WHERE NOW - created_at < interval '1 hour'",
    // Extremes, the last of each.
    "SELECT min(created_at), max(created_at) FROM v",
    "SELECT max(created_at) FROM v WHERE person = 7",
    "SELECT person, max(created_at) FROM v GROUP BY person",
    "SELECT DISTINCT ON (person) * FROM v ORDER BY person, created_at DESC",
    "SELECT DISTINCT ON (person) * FROM v WHERE created_at >= '2026-04-08Z' ORDER BY person, created_at DESC",
    "SELECT DISTINCT ON (person) * FROM v WHERE person < 20 ORDER BY person DESC, created_at DESC LIMIT 3",
    "SELECT * FROM people, LATERAL (SELECT * FROM v WHERE v.person = people.person ORDER BY created_at DESC LIMIT 1) l",
    "SELECT *, (SELECT created_at FROM v WHERE v.person = people.person ORDER BY created_at DESC LIMIT 1) FROM people",
    "SELECT * FROM v WHERE created_at = (SELECT max(created_at) FROM v)",
    "SELECT * FROM v a WHERE person = 7 AND created_at = (SELECT max(created_at) FROM v b WHERE b.person = a.person)",
    // Windows.
    "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY created_at DESC) AS r FROM v) q WHERE r <= 10",
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY created_at DESC) AS r FROM v WHERE person = 7) q WHERE r <= 3",
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY created_at DESC) AS r FROM v WHERE created_at >= '2026-04-08Z') q WHERE r = 1",
    "SELECT created_at - lag(created_at) OVER (ORDER BY created_at) FROM v WHERE person = 7",
    "SELECT created_at, sum(amount) OVER (ORDER BY created_at) FROM v WHERE created_at >= '2026-04-09Z'",
    "SELECT *, count(*) OVER () FROM v WHERE created_at >= '2026-04-09Z' ORDER BY created_at DESC LIMIT 20",
    // Joins.
    "SELECT spans.n, count(*) FROM spans JOIN v ON created_at BETWEEN began AND began + interval '5 min' GROUP BY spans.n",
    "SELECT * FROM moments m LEFT JOIN LATERAL (SELECT * FROM v WHERE created_at <= m.at ORDER BY created_at DESC LIMIT 1) l ON true",
    "SELECT * FROM people WHERE EXISTS (SELECT FROM v WHERE v.person = people.person AND created_at >= '2026-04-10Z')",
    "SELECT * FROM people WHERE NOT EXISTS (SELECT FROM v WHERE v.person = people.person AND created_at >= '2026-04-08Z')",
    "SELECT * FROM people WHERE person IN (SELECT person FROM v WHERE created_at >= '2026-04-10Z')",
    // Changes.
    "DELETE FROM v WHERE created_at < '2026-01-02Z'",
    "UPDATE v SET note = 'z' WHERE created_at >= '2026-04-10Z' AND state = 'open'",
    "DELETE FROM v WHERE id IN (SELECT id FROM v WHERE created_at < '2026-02-01Z' ORDER BY created_at LIMIT 100)",
];

/// Other queries.
const OTHERS: &[&str] = &[
    "SELECT * FROM v WHERE state = 'open' ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED",
    "UPDATE v SET state = 'run' WHERE id = (SELECT id FROM v WHERE state = 'open' ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED)",
    "SELECT * FROM v ORDER BY state, created_at DESC LIMIT 20",
    "SELECT * FROM v WHERE state = 'failed' ORDER BY created_at DESC, id DESC LIMIT 100",
    "SELECT * FROM (SELECT * FROM v ORDER BY created_at DESC LIMIT 1000) q ORDER BY created_at DESC LIMIT 20",
    "SELECT json_agg(q ORDER BY created_at DESC) FROM (SELECT * FROM v WHERE created_at > '2026-03-15Z' ORDER BY created_at DESC LIMIT 20) q",
    "SELECT count(*) FROM v a JOIN c b ON b.person = a.person AND b.created_at > a.created_at AND b.created_at < a.created_at + interval '1 hour' WHERE a.created_at >= '2026-04-08Z'",
    "SELECT * FROM v a JOIN c b ON b.created_at BETWEEN a.created_at - interval '1 min' AND a.created_at + interval '1 min' WHERE a.n < 10",
    "SELECT * FROM v a WHERE person < 5 AND NOT EXISTS (SELECT FROM v b WHERE b.person = a.person AND b.created_at > a.created_at)",
    "SELECT a.* FROM v a LEFT JOIN v b ON b.person = a.person AND b.created_at > a.created_at WHERE a.person < 5 AND b.id IS NULL",
    "SELECT * FROM v a JOIN v b USING (person, created_at) WHERE person = 7",
    "INSERT INTO target SELECT * FROM v WHERE created_at > (SELECT max(created_at) FROM target)",
    "(SELECT created_at, id FROM v ORDER BY created_at DESC LIMIT 20) UNION ALL (SELECT created_at, id FROM c ORDER BY created_at DESC LIMIT 20) ORDER BY created_at DESC LIMIT 20",
    "SELECT created_at, id FROM v UNION ALL SELECT created_at, id FROM c ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM u ORDER BY created_at DESC LIMIT 20",
    "SELECT * FROM o ORDER BY created_at DESC LIMIT 20",
    "SELECT max(created_at) FROM u",
    "SELECT min(created_at) FROM o",
    "SELECT count(*) FROM o WHERE created_at >= '2026-04-09Z'",
];

/// Queries that handle more rows on the view than on a stored column.
const LIMITS: &[&str] = &[
    "SELECT * FROM v WHERE created_at IN (SELECT at FROM moments WHERE n < 50000)",
    "SELECT count(*) FROM v WHERE created_at IN ('2026-03-01Z', '2026-03-02Z', '2026-03-03Z')",
    "SELECT count(*) FROM v WHERE created_at = ANY ('{2026-03-01Z, 2026-03-02Z}'::timestamptz[])",
    "SELECT * FROM moments m JOIN v ON v.created_at = m.at",
    "SELECT * FROM v a JOIN v b ON a.created_at = b.created_at WHERE a.n BETWEEN 500 AND 510",
    "SELECT count(*) FROM moments m JOIN p ON p.created_at = m.at WHERE m.n < 20000",
    "SELECT count(*) FROM p WHERE created_at IN ('2026-03-01Z', '2026-03-02Z', '2026-03-03Z')",
    "SELECT count(*) FROM u WHERE created_at >= '2026-04-09Z'",
    // Of partitions that could be read one after the other.
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY created_at DESC) AS r FROM p WHERE person = 7) q WHERE r <= 3",
];

/// The rows that the steps of a plan return and drop, and the milliseconds that it takes.
fn executed(client: &mut Client, query: &str) -> (f64, f64) {
    let messages =
        client.simple_query(&format!("BEGIN; EXPLAIN (ANALYZE, COSTS off, TIMING off) {query}; ROLLBACK"));
    let (mut loops, mut rows, mut time) = (1.0, 0.0, 0.0);
    let number = |text: &str| -> f64 {
        text.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    for message in messages.unwrap_or_else(|error| panic!("{query}: {error:?}")) {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let line = row.get(0).unwrap().trim_start();
        if let Some((_, rest)) = line.split_once("(actual rows=") {
            loops = number(rest.split_once("loops=").unwrap().1);
            rows += number(rest) * loops;
        } else if let Some((_, rest)) =
            line.strip_prefix("Rows Removed by ").and_then(|rest| rest.split_once(": "))
        {
            rows += number(rest) * loops;
        } else if let Some((_, rest)) = line.split_once(" Time: ") {
            time += number(rest);
        }
    }
    (rows, time)
}

/// All queries, those of partitions included.
pub(crate) fn queries() -> Vec<String> {
    let of_partitions =
        OF_BOTH.iter().map(|query| query.replace(" v ", " p ").replace(" v)", " p)").replace("v.", "p."));
    let of_partitions: Vec<String> = of_partitions
        .map(|query| if query.ends_with(" v") { format!("{}p", &query[..query.len() - 1]) } else { query })
        .collect();
    let mut all: Vec<String> =
        OF_BOTH.iter().chain(OTHERS).map(|query| query.to_string()).chain(of_partitions).collect();
    all.extend(
        LIMITS
            .iter()
            .filter(|limit| !all.iter().any(|query| query == *limit))
            .map(|query| query.to_string())
            .collect::<Vec<_>>(),
    );
    all.iter()
        .map(|query| query.replace("NOW", "('2026-04-10 23:00Z'::timestamptz + (now() - now()))"))
        .collect()
}

#[test]
fn a_view_handles_no_more_rows_than_a_stored_column() {
    let server = Server::builder()
        .conf("jit", "off")
        .conf("max_parallel_workers_per_gather", "0")
        .conf("random_page_cost", "1.1")
        .start();
    let mut client = server.connect();
    client.batch_execute(TABLES).unwrap();
    client.run("VACUUM ANALYZE");
    let table = env::var_os("SNO_SHAPES").is_some();
    let mut wrong = Vec::new();
    let all = queries();
    for query in &all {
        let is_limit = LIMITS.contains(&query.as_str());
        let mut on = |schema: &str, enabled: &str| {
            client.run(&format!(
                "SET search_path = {schema}, public; SET sno.enable_time_conditions = {enabled}"
            ));
            let runs = (0..if table { 3 } else { 1 }).map(|_| executed(&mut client, query));
            runs.reduce(|a, b| (a.0, a.1.min(b.1))).unwrap()
        };
        let (view, stored) = (on("view", "on"), on("stored", "on"));
        if table {
            println!(
                "{:9.2} {:9.2} {:9.2} ms {:9} {:9} rows  {query}",
                view.1,
                stored.1,
                on("view", "off").1,
                view.0,
                stored.0
            );
        }
        if view.0 > 3.0 * stored.0 + 50.0 && !is_limit {
            wrong.push(format!("{} rows on the view, {} on the stored column: {query}", view.0, stored.0));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
