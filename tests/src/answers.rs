//! What a query that has to fail is answered with.

use postgres::{Client, error::DbError};

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
