//! Consumers of feeds: each copies the rows that it gets in the transaction that moves the feed, in every way in which
//! such a transaction can end. Who writes the rows, and what happens to the server, is in `horizon.rs`.

use std::thread;
use std::time::Duration;

use sno_tests::postgres::{self, Client};
use sno_tests::{Random, Sql as _};

use crate::{horizon, load, pick, tally};

/// The feeds, by what they read: a table, and a view that leaves out half of it. Margins as the other reader has.
pub(crate) const FEEDS: [&str; 2] = ["items", "even"];

pub(crate) const SETUP: &str = "
    CREATE VIEW even AS SELECT * FROM items WHERE batch % 2 = 0;
    CREATE TABLE copy_of_items AS SELECT * FROM items;
    CREATE TABLE copy_of_even AS SELECT * FROM items;
    SELECT sno_create_feed(feed, feed::regclass, margin => '0.2 s') FROM unnest('{items,even}'::text[]) feed;";

/// One transaction of a consumer. There can be several of one feed.
pub(crate) fn consume(client: &mut Client, feed: &str, random: &mut Random) -> Result<(), postgres::Error> {
    let rows = 1 + random.below(pick(1000, 10_000));
    let copy = format!("INSERT INTO copy_of_{feed} SELECT * FROM sno_feed('{feed}', NULL::{feed}, {rows})");
    thread::sleep(Duration::from_millis(random.below(20) as u64));
    let result = match random.below(12) {
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
    };
    // Above all, none that says that the feed was read beyond the horizon.
    if let Err(error) = &result
        && let Some(code) = error.code()
    {
        assert!(load::DOWN.contains(&code.code()), "{error:?}");
    }
    result
}

/// Checks that the copies have each row once, when everything below an ID can be read.
#[track_caller]
pub(crate) fn check(client: &mut Client) {
    for feed in FEEDS {
        let copy = format!(
            "WITH new AS (INSERT INTO copy_of_{feed} SELECT * FROM sno_feed('{feed}', NULL::{feed}) RETURNING id)
             SELECT count(*) FROM new"
        );
        while client.one::<i64>(&copy) > 0 {}
        // By a join: NOT IN would look through the whole copy for each of millions of rows.
        let missing = format!(
            "SELECT count(*) FROM {feed} f WHERE NOT EXISTS (SELECT FROM copy_of_{feed} c WHERE c.id = f.id)"
        );
        let more = format!("SELECT (SELECT count(*) FROM copy_of_{feed}) - (SELECT count(*) FROM {feed})");
        let counts: (i64, i64) = (client.one(&missing), client.one(&more));
        assert_eq!(counts, (0, 0), "rows of {feed} that are missing in its copy, and rows that are too many");
        tally::count(
            "rows that feeds returned, each once",
            client.one::<i64>(&format!("SELECT count(*) FROM {feed}")) as u64,
        );
    }
}
