//! What a server answers: one value, a plan, an error.

use postgres::{Client, SimpleQueryMessage::Row, error::DbError, types::FromSql};

/// Runs SQL that has to succeed.
#[track_caller]
pub fn run(client: &mut Client, sql: &str) {
    client.batch_execute(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
}

/// The first value that a query returns.
#[track_caller]
pub fn one<T: for<'a> FromSql<'a>>(client: &mut Client, query: &str) -> T {
    client.query_one(query, &[]).unwrap_or_else(|e| panic!("{query}: {e:?}")).get(0)
}

/// The first value that a query returns, as text.
#[track_caller]
pub fn text(client: &mut Client, query: &str) -> String {
    let messages = client.simple_query(query).unwrap_or_else(|e| panic!("{query}: {e:?}"));
    let value = messages.iter().find_map(|message| if let Row(row) = message { row.get(0) } else { None });
    value.unwrap_or_else(|| panic!("{query}: no value")).to_owned()
}

/// The plan of a query, as `EXPLAIN` with these options prints it.
#[track_caller]
pub fn plan(client: &mut Client, options: &str, query: &str) -> String {
    let rows = client.query(&format!("EXPLAIN ({options}) {query}"), &[]);
    let rows = rows.unwrap_or_else(|e| panic!("{query}: {e:?}"));
    rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
}

/// The server's major version.
#[track_caller]
pub fn major_version(client: &mut Client) -> u32 {
    text(client, "SHOW server_version_num").parse::<u32>().expect("a number") / 10_000
}

/// The error of a query that has to fail.
#[track_caller]
pub fn error(client: &mut Client, query: &str) -> DbError {
    match client.batch_execute(query) {
        Ok(()) => panic!("{query}: no error"),
        Err(error) => error.as_db_error().unwrap_or_else(|| panic!("{query}: {error}")).clone(),
    }
}

/// The SQLSTATE of a query that has to fail.
#[track_caller]
pub fn code(client: &mut Client, query: &str) -> String {
    error(client, query).code().code().to_owned()
}
