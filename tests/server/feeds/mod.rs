//! Feeds: `sno_feed()` returns each row once, whoever calls it and however, or says why not. What is done to it under
//! load is in `../../faults/feeds.rs`.

mod batches;
mod catalogs;
mod ddl;
mod dumps;
mod failures;
mod lowered;
mod peeks;
mod plans;
mod programs;
mod reading;
mod refusals;
mod rights;
mod statements;
mod visibility;

use sno_tests::postgres::{Client, SimpleQueryMessage};
use sno_tests::{Server, next_tick, text};

const SETUP: &str = "
    CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
    CREATE TABLE taken (n integer); GRANT INSERT ON taken TO PUBLIC;
    SELECT sno_create_feed('feed', 'items', margin => '0');";

/// The numbers of the next rows, in their order.
const READ: &str =
    "WITH f AS MATERIALIZED (SELECT n FROM sno_feed('feed', NULL::items)), i AS (INSERT INTO taken TABLE f)
    SELECT coalesce(string_agg(n::text, ' '), '') FROM f";

const INSERT: &str = "INSERT INTO items (n) VALUES";

/// The feed of a partitioned table, and a partition of another server's that comes later.
const FAR: &str = "
    CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw;
    CREATE TABLE log (id sno NOT NULL) PARTITION BY RANGE (id);
    CREATE TABLE log_near PARTITION OF log FOR VALUES FROM (MINVALUE) TO ('x222222222222222');
    CREATE INDEX ON log (id); SELECT sno_create_feed('feed', 'log', key => 'id', margin => '0');";
const ATTACH: &str = "CREATE FOREIGN TABLE log_far PARTITION OF log FOR VALUES FROM ('x222222222222222') TO (MAXVALUE) SERVER far";

fn server() -> Server {
    let server = Server::builder().start();
    server.run(SETUP);
    server
}

#[track_caller]
fn read(client: &mut Client) -> String {
    next_tick();
    text(client, READ)
}

/// The last value that some SQL returns, in a session of its own.
fn last_value(server: &Server, sql: &str) -> Result<String, String> {
    let messages = server.connect().simple_query(sql).map_err(|error| format!("{error:?}"))?;
    let mut values = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(values.next_back().unwrap_or_default())
}

/// The same, up to where it waits for a lock; then something else.
#[track_caller]
fn meanwhile(server: &Server, sql: &str, other: impl FnOnce()) -> Result<String, String> {
    crate::meanwhile(server, || last_value(server, sql), other)
}
