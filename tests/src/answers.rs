//! What a server answers: one value, a plan, an error.

use postgres::{Client, GenericClient, SimpleQueryMessage::Row, error::DbError, types::FromSql};

/// SQL that has to succeed.
pub trait Sql {
    /// Runs some statements.
    fn run(&mut self, sql: &str);

    /// The first value that a query returns.
    fn one<T: for<'a> FromSql<'a>>(&mut self, query: &str) -> T;

    /// The same of a query from `sno_feed()`, whose rows have to be stored.
    fn take<T: for<'a> FromSql<'a>>(&mut self, query: &str) -> T;
}

impl<C: GenericClient> Sql for C {
    #[track_caller]
    fn run(&mut self, sql: &str) {
        self.batch_execute(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }

    #[track_caller]
    fn one<T: for<'a> FromSql<'a>>(&mut self, query: &str) -> T {
        self.query_one(query, &[]).unwrap_or_else(|e| panic!("{query}: {e:?}")).get(0)
    }

    #[track_caller]
    fn take<T: for<'a> FromSql<'a>>(&mut self, query: &str) -> T {
        self.run(&format!("BEGIN; CREATE TEMP TABLE stored AS {query}"));
        let value = self.one("TABLE stored");
        self.run("DROP TABLE stored; COMMIT");
        value
    }
}

/// Statements that store what a query returns, from `sno_feed()`, and return it.
pub fn stored(query: &str) -> String {
    format!("CREATE TEMP TABLE stored AS {query}; TABLE stored; DROP TABLE stored")
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
