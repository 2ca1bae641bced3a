//! `sql/uuidv7.sql`: the tests of `beside` need a server that has the extension, all others any server from PostgreSQL 14 on. Readers of the
//! horizon under load are in `../../faults/uuidv7.rs`.

mod beside;
mod holders;
mod installing;
mod keys;
mod reading;

use sno_tests::postgres::Client;
use sno_tests::{Builder, Server, major_version, sql_file};

/// A server of this builder, with the file.
fn start_with(builder: Builder) -> Server {
    let server = builder.conf("max_prepared_transactions", "9").start();
    server.run(&sql_file("uuidv7.sql"));
    server
}

fn start() -> Server {
    start_with(Server::builder().extension(false))
}

const ITEMS: &str = "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT sno_uuid(1), n integer);
    CREATE VIEW items_view AS SELECT * FROM items; CREATE TABLE other (id uuid DEFAULT sno_uuid(1));
    CREATE TABLE log (id uuid DEFAULT sno_uuid(1)) PARTITION BY RANGE (id);
    CREATE TABLE log_1 PARTITION OF log DEFAULT PARTITION BY LIST (id); CREATE TABLE log_2 PARTITION OF log_1 DEFAULT;
    CREATE TABLE old (id uuid DEFAULT sno_uuid(1)); CREATE TABLE old_1 () INHERITS (old)";

/// What generates keys here: the file, and PostgreSQL from 18 on.
fn defaults(client: &mut Client) -> &'static [&'static str] {
    if major_version(client) < 18 { &["sno_uuid(1)"] } else { &["sno_uuid(1)", "uuidv7()"] }
}

/// The cases of a query that are not as they should be.
#[track_caller]
fn none(client: &mut Client, query: &str) {
    let wrong = client.simple_query(&format!("{query} LIMIT 5")).unwrap_or_else(|e| panic!("{query}: {e:?}"));
    let rows = wrong.iter().filter(|m| matches!(m, sno_tests::postgres::SimpleQueryMessage::Row(_))).count();
    assert_eq!(rows, 0, "{wrong:?}");
}

/// The numbers of the next rows.
fn next(client: &mut Client, batch: i32) -> Result<Vec<i32>, String> {
    let read = format!(
        "WITH f AS MATERIALIZED (SELECT * FROM uuidv7_peek_feed('f', NULL::items, {batch})),
             done AS MATERIALIZED (SELECT uuidv7_advance_feed('f', max(id)) FROM f HAVING count(*) > 0) SELECT n FROM f, done"
    );
    let rows = client.query(&read, &[]);
    let code = |e: sno_tests::postgres::Error| e.code().expect("SQLSTATE").code().to_owned();
    Ok(rows.map_err(code)?.iter().map(|row| row.get(0)).collect())
}
