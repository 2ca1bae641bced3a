//! Consumers of feeds. The first ones copy the rows that they get in the transaction that moves the feed, in every way in which
//! such a transaction can end; who writes these rows, and what happens to the server, is in `horizon.rs`. The others join, delete, count
//! and stop half-way, as applications do.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::{self, Client};
use sno_tests::{Random, Server, Sql as _, Stop, wait_until};

use crate::{horizon, load, pick, tally};

/// Two feeds of one table. Margins as the other reader has.
pub(crate) const FEEDS: [&str; 2] = ["first", "second"];

pub(crate) const SETUP: &str = "
    CREATE TABLE copy_of_first AS SELECT * FROM items;
    CREATE TABLE copy_of_second AS SELECT * FROM items;
    SELECT sno_create_feed(feed, 'items', margin => '0.2 s') FROM unnest('{first,second}'::text[]) feed;";

/// What a consumer does before it reads: waits for rows, or for some milliseconds.
fn pause(client: &mut Client, feed: &str, random: &mut Random) -> Result<(), postgres::Error> {
    if random.below(3) == 0 {
        return client.batch_execute(&format!("CALL sno_wait_feed('{feed}', '0.5 s')"));
    }
    thread::sleep(Duration::from_millis(random.below(20) as u64));
    Ok(())
}

/// One transaction of a consumer. There can be several of one feed.
pub(crate) fn consume(client: &mut Client, feed: &str, random: &mut Random) -> Result<(), postgres::Error> {
    let rows = 1 + random.below(pick(1000, 10_000));
    let copy = format!("INSERT INTO copy_of_{feed} SELECT * FROM sno_feed('{feed}', NULL::items, {rows})");
    let result = pause(client, feed, random).and_then(|()| match random.below(12) {
        0 => client.batch_execute(&format!("BEGIN; {copy}; ROLLBACK")),
        1 => client.batch_execute(&format!("BEGIN; SAVEPOINT s; {copy}; ROLLBACK TO s; {copy}; COMMIT")),
        2 => client.batch_execute(&format!("BEGIN; {copy}; {copy}; COMMIT")),
        3 => client.batch_execute(&format!("BEGIN; {copy}; SELECT pg_terminate_backend(pg_backend_pid())")),
        4 => {
            let gid = random.below(1 << 40);
            let prepared =
                client.batch_execute(&format!("BEGIN; {copy}; PREPARE TRANSACTION '{feed} {gid}'"));
            prepared.and_then(|()| horizon::finish(client))
        }
        _ => client.batch_execute(&copy),
    });
    // Above all, none that says that the feed was read beyond the horizon.
    if let Err(error) = &result {
        load::down_or(error, &[]);
    }
    result
}

/// Checks that the copies have each row once, when everything below an ID can be read.
#[track_caller]
pub(crate) fn check(client: &mut Client) {
    for feed in FEEDS {
        let copy = format!(
            "WITH new AS (INSERT INTO copy_of_{feed} SELECT * FROM sno_feed('{feed}', NULL::items) RETURNING id)
             SELECT count(*) FROM new"
        );
        while client.one::<i64>(&copy) > 0 {}
        // By a join: NOT IN would look through the whole copy for each of millions of rows.
        let missing = format!(
            "SELECT count(*) FROM items f WHERE NOT EXISTS (SELECT FROM copy_of_{feed} c WHERE c.id = f.id)"
        );
        let more = format!("SELECT (SELECT count(*) FROM copy_of_{feed}) - (SELECT count(*) FROM items)");
        let counts: (i64, i64) = (client.one(&missing), client.one(&more));
        assert_eq!(counts, (0, 0), "rows that are missing in the copy of {feed}, and rows that are too many");
        tally::count(
            "rows that feeds returned, each once",
            client.one::<i64>("SELECT count(*) FROM items") as u64,
        );
    }
}

/// What a consumer may do in the statement that reads the feed: the name of the feed, its source, the statement.
const STATEMENTS: [(&str, &str, &str); 4] = [
    (
        "join",
        "events",
        "INSERT INTO copies SELECT 'join', CASE WHEN c.n = f.n THEN f.id END FROM {feed} f LEFT JOIN customers c USING (n)",
    ),
    (
        "queue",
        "queue",
        "WITH d AS (DELETE FROM queue q USING {feed} f WHERE q.id = f.id RETURNING q.id) INSERT INTO copies SELECT 'queue', id FROM d",
    ),
    (
        "totals",
        "events",
        "WITH f AS (SELECT n % 100 AS shard, count(*) AS more FROM {feed} GROUP BY 1),
              u AS (UPDATE totals t SET rows = t.rows + f.more FROM f WHERE t.shard = f.shard)
         INSERT INTO totals SELECT shard, more FROM f ON CONFLICT DO NOTHING",
    ),
    (
        "balance",
        "events",
        "INSERT INTO balances SELECT (SELECT coalesce(max(rows), 0) FROM balances) + count(*) FROM {feed} ON CONFLICT DO NOTHING",
    ),
];

/// Consumers that read and acknowledge apart: one that stops in the middle of each batch, one of a single statement, one that sends
/// without a transaction, and one whose work fails at times.
const PEEKS: [&str; 4] = ["half-way", "statement", "sends", "fails"];

/// Between any two statements a consumer can be killed.
fn dies(client: &mut Client, random: &mut Random) -> Result<(), postgres::Error> {
    match random.below(100) {
        0 => client.batch_execute("SELECT pg_terminate_backend(pg_backend_pid())"),
        _ => Ok(()),
    }
}

/// One batch of such a consumer.
fn peek(client: &mut Client, name: &str, random: &mut Random) -> Result<(), postgres::Error> {
    let rows = format!("sno_peek_feed('{name}', NULL::events, {})", 1 + random.below(200));
    if name == "statement" {
        let put = format!("INSERT INTO copies SELECT '{name}', id FROM");
        let advance = format!("sno_advance_feed('{name}', max(id), 'events')");
        return client.batch_execute(&match random.below(3) {
            0 => format!(
                "DO $$ DECLARE ids sno[] := ARRAY(SELECT id FROM {rows}); BEGIN
                     {put} unnest(ids) id; PERFORM {advance} FROM unnest(ids) id HAVING count(*) > 0; END $$"
            ),
            _ => format!(
                "WITH f AS MATERIALIZED (SELECT id FROM {rows}), i AS ({put} f) SELECT {advance} FROM f HAVING count(*) > 0"
            ),
        });
    }
    let is_in_block = name != "sends";
    if is_in_block {
        client.batch_execute("BEGIN")?;
    }
    let batch = client.query(&format!("SELECT id::text, n FROM {rows}"), &[])?;
    let count = if name == "half-way" { batch.len().div_ceil(2) } else { batch.len() };
    for (place, row) in batch.iter().take(count).enumerate() {
        dies(client, random)?;
        let (id, n) = (row.get::<_, &str>(0), row.get::<_, i64>(1));
        client.batch_execute(&format!("INSERT INTO copies VALUES ('{name}', '{id}')"))?;
        // One in forty fails always, and is passed at the third attempt.
        if name == "fails" && n % 40 == 0 && random.below(3) < 2 {
            client.batch_execute("ROLLBACK")?;
            let (first, upto) = match random.below(3) {
                0 => (batch[0].get::<_, &str>(0), format!("'{}'", batch[batch.len() - 1].get::<_, &str>(0))),
                _ => (id, "NULL".to_owned()),
            };
            return client.batch_execute(&format!(
                "SELECT sno_fail_feed('{name}', '{first}', 'failed', {upto}, '1 ms')"
            ));
        }
        if random.below(20) == 0 || place + 1 == count {
            client.batch_execute(&format!("SELECT sno_advance_feed('{name}', '{id}')"))?;
        }
    }
    dies(client, random)?;
    if !is_in_block {
        return Ok(());
    }
    match random.below(12) {
        0 => client.batch_execute("ROLLBACK"),
        1 => {
            let gid = random.below(1 << 40);
            client.batch_execute(&format!("PREPARE TRANSACTION '{name} {gid}'"))?;
            horizon::finish(client)
        }
        _ => client.batch_execute("COMMIT"),
    }
}

/// One transaction of a consumer.
fn apply(
    client: &mut Client,
    (name, source, sql): (&str, &str, &str),
    random: &mut Random,
) -> Result<(), postgres::Error> {
    if PEEKS.contains(&name) {
        return peek(client, name, random);
    }
    // At times the statement is some milliseconds old when it calls the function.
    let (pause, rows) = (random.below(20).saturating_sub(10), 1 + random.below(200));
    let feed = format!(
        "(SELECT pg_sleep({pause} / 1000.0)::text AS slow OFFSET 0) s, LATERAL sno_feed('{name}', NULL::{source}, {rows} + length(slow))"
    );
    let sql = sql.replace("{feed}", &feed);
    let sleep = format!("SELECT pg_sleep({} / 1000.0)", random.below(30));
    match random.below(9) {
        0 => client.batch_execute(&format!("BEGIN; {sql}; {sleep}; ROLLBACK")),
        1 => {
            client.batch_execute(&format!("BEGIN; SAVEPOINT s; {sql}; ROLLBACK TO s; {sql}; {sleep}; COMMIT"))
        }
        2 => client.batch_execute(&format!("BEGIN; {sql}; {sql}; {sleep}; COMMIT")),
        3 => client.batch_execute(&format!("BEGIN; {sql}; SELECT pg_terminate_backend(pg_backend_pid())")),
        4 => client.batch_execute(&format!("DO $do$ BEGIN {sql}; END $do$")),
        5 => {
            let gid = random.below(1 << 40);
            client.batch_execute(&format!("BEGIN; {sql}; PREPARE TRANSACTION '{name} {gid}'"))?;
            horizon::finish(client)
        }
        6 => client.batch_execute(&format!("BEGIN; {sql}; {sleep}; COMMIT")),
        _ => client.batch_execute(&sql),
    }
}

/// One transaction of a writer: an event, its customer and a job, or none of them.
fn write(client: &mut Client, random: &mut Random) -> Result<(), postgres::Error> {
    let n: i64 = client.query_one("SELECT nextval('numbers')", &[])?.get(0);
    let put = |n: i64| {
        format!(
            "INSERT INTO customers VALUES ({n}); INSERT INTO events (n) VALUES ({n}), ({n}); INSERT INTO queue DEFAULT VALUES;
             INSERT INTO queued DEFAULT VALUES"
        )
    };
    let sleep = format!("SELECT pg_sleep({} / 1000.0)", random.below(20));
    let body = match random.below(4) {
        0 => format!("SAVEPOINT s; {}; RELEASE s", put(n)),
        1 => format!("SAVEPOINT s; {}; ROLLBACK TO s; {}", put(-n), put(n)),
        _ => put(n),
    };
    match random.below(10) {
        0 => client.batch_execute(&format!("BEGIN; {body}; {sleep}; ROLLBACK")),
        1 => {
            client.batch_execute(&format!("BEGIN; {body}; PREPARE TRANSACTION '{n}'; {sleep}"))?;
            horizon::finish(client)
        }
        _ => client.batch_execute(&format!("BEGIN; {body}; {sleep}; COMMIT")),
    }
}

/// Whatever happens to them, they lose no row and get none twice; and a reader by the last ID does lose some.
#[test]
fn consumers_that_join_and_count() {
    let server = Server::builder().conf("max_prepared_transactions", "40").start();
    let mut client = server.connect();
    client.run(
        "CREATE SEQUENCE numbers; CREATE TABLE customers (n bigint PRIMARY KEY);
         CREATE TABLE events (id sno DEFAULT sno_new(1), n bigint, state integer DEFAULT 0, PRIMARY KEY (id, state)) PARTITION BY LIST (state);
         CREATE TABLE events_0 PARTITION OF events FOR VALUES IN (0); CREATE TABLE events_1 PARTITION OF events FOR VALUES IN (1);
         CREATE TABLE events_2 PARTITION OF events FOR VALUES IN (2);
         CREATE TABLE queue (id sno PRIMARY KEY DEFAULT sno_new(2)); CREATE TABLE queued ();
         CREATE TABLE copies (feed text, id sno); CREATE TABLE balances (rows bigint PRIMARY KEY); CREATE TABLE totals (shard bigint PRIMARY KEY, rows bigint)",
    );
    let consumers: Vec<_> = STATEMENTS.into_iter().chain(PEEKS.map(|name| (name, "events", ""))).collect();
    for (name, source, _) in &consumers {
        client.run(&format!("SELECT sno_create_feed('{name}', '{source}', key => 'id', margin => '0')"));
    }
    let stop = AtomicBool::new(false);
    let repeat = |work: &mut dyn FnMut(&mut Client) -> Result<(), postgres::Error>| {
        load::repeat(&server, &stop, work, |error| load::down_or(error, &["40001"]));
    };
    let (mut last, mut by_last_id) = ("2222222222222222".to_owned(), 0);
    let mut random = Random::seeded();
    thread::scope(|scope| {
        let stop = Stop(&stop);
        for _ in 0..4 {
            scope.spawn(|| {
                let mut random = Random::seeded();
                repeat(&mut |client| write(client, &mut random));
            });
        }
        for consumer in consumers.iter().cycle().take(2 * consumers.len()) {
            scope.spawn(|| {
                let mut random = Random::seeded();
                repeat(&mut |client| {
                    pause(client, consumer.0, &mut random)?;
                    apply(client, *consumer, &mut random)
                });
            });
        }
        // Rows that move between partitions, before and after they are read.
        scope.spawn(|| {
            repeat(&mut |client| {
                thread::sleep(Duration::from_millis(10));
                client.batch_execute(
                    "UPDATE events SET state = (state + 1) % 3 WHERE id IN (SELECT id FROM events ORDER BY id DESC LIMIT 20)",
                )
            });
        });
        scope.spawn(|| {
            repeat(&mut |client| {
                let query = format!("SELECT count(*), max(id)::text FROM events WHERE id > '{last}'");
                let row = client.query_one(&query, &[])?;
                if let Some(id) = row.get(1) {
                    last = id;
                    by_last_id += row.get::<_, i64>(0);
                }
                Ok(())
            });
        });
        let (began, time) = (Instant::now(), Duration::from_secs(pick(12, 300)));
        while began.elapsed() < time {
            thread::sleep(Duration::from_millis(random.below(1500) as u64));
            load::disturb(&server, &mut random, None);
        }
        drop(stop);
        // See horizon.rs.
        let mut client = server.connect();
        wait_until("the last transactions", || {
            horizon::finish(&mut client).unwrap();
            client.one("SELECT NOT EXISTS (SELECT FROM pg_prepared_xacts)")
        });
    });
    let mut client = server.connect();
    for consumer in &consumers {
        read_the_rest(&server, &mut client, *consumer, &mut random);
    }
    let total: i64 = client.one("SELECT count(*) FROM events");
    each_row_came_once(&mut client);
    tally::count("rows that eight kinds of consumers got, each once", total as u64);
    tally::count("rows that a reader missed who remembers the last ID", (total - by_last_id) as u64);
    // So it can happen here.
    assert!(by_last_id < total, "{by_last_id} of {total}");
}

/// Reads all that a feed has left. What fails is tried again.
fn read_the_rest(server: &Server, client: &mut Client, consumer: (&str, &str, &str), random: &mut Random) {
    let (name, source, _) = consumer;
    let is_read = format!(
        "SELECT NOT EXISTS (SELECT FROM {source} s JOIN sno_feeds() ON feed = '{name}' AND (s.id > position OR position IS NULL))"
    );
    let position = format!("SELECT coalesce(position::text, '') FROM sno_feeds() WHERE feed = '{name}'");
    while !client.one::<bool>(&is_read) {
        let before = sno_tests::text(client, &position);
        wait_until(&format!("feed {name} goes on"), || {
            if apply(client, consumer, random).is_err() {
                let _ = client.batch_execute("ROLLBACK");
                if client.is_closed() {
                    *client = server.connect();
                }
            }
            sno_tests::text(client, &position) != before
        });
    }
}

/// What each of the consumers has made of the rows.
fn each_row_came_once(client: &mut Client) {
    for feed in ["join"].into_iter().chain(PEEKS) {
        // What is sent without a transaction can come again.
        let more = if feed == "sends" { "0" } else { "coalesce(sum(times - 1), 0)" };
        let counts = format!(
            "SELECT count(*) FILTER (WHERE id IS NULL) || ' missed, ' || {more} || ' twice'
             FROM events LEFT JOIN (SELECT id AS copied, count(*) AS times FROM copies WHERE feed = '{feed}' GROUP BY 1) c ON copied = id"
        );
        let counts = counts.replace("WHERE id IS NULL", "WHERE copied IS NULL");
        assert_eq!(sno_tests::text(client, &counts), "0 missed, 0 twice", "{feed}");
    }
    for (feed, is_right) in [
        (
            "queue",
            "SELECT count(*) = count(DISTINCT id) AND count(*) = (SELECT count(*) FROM queued) FROM copies WHERE feed = 'queue'",
        ),
        ("totals", "SELECT sum(rows) = (SELECT count(*) FROM events) FROM totals"),
        (
            "totals of the shards",
            "SELECT NOT EXISTS (SELECT shard, rows FROM totals EXCEPT SELECT n % 100, count(*) FROM events GROUP BY 1)",
        ),
        (
            "balance",
            "SELECT max(rows) = (SELECT count(*) FROM events) AND count(*) = count(DISTINCT rows) FROM balances",
        ),
    ] {
        assert!(client.one::<bool>(is_right), "{feed}");
    }
}
