//! `sno_horizon()`: below it nothing is missing and nothing will come. What is done to it under load is in
//! `../../faults/horizon.rs`.

mod clock;
mod databases;
mod processes;
mod standbys;
mod transactions;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, next_tick, text};

const TABLE: &str = "CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)";

/// The horizon without a margin, so that it is up to date.
const NOW: &str = "SELECT sno_horizon('0')::text";

/// Whether the present horizon is after all rows of the table.
#[track_caller]
fn settled(client: &mut Client) -> bool {
    // A tick later, so that it can be after the last row.
    next_tick();
    let horizon = text(client, NOW);
    client.one(&format!("SELECT NOT EXISTS (SELECT FROM items WHERE id >= '{horizon}')"))
}

/// Who holds the horizon back: process IDs and the names of prepared transactions.
fn holders(client: &mut Client) -> Vec<String> {
    let rows = client.query("SELECT coalesce(gid, pid::text) FROM sno_horizon_holders() ORDER BY since", &[]);
    rows.unwrap().iter().map(|row| row.get(0)).collect()
}

/// A session in another database, which has the extension.
fn elsewhere(server: &Server, database: &str) -> Client {
    server.run(&format!("CREATE DATABASE {database}"));
    let mut client = server.connect_to(database);
    client.run("CREATE EXTENSION IF NOT EXISTS sno");
    client
}

fn pid(client: &mut Client) -> String {
    text(client, "SELECT pg_backend_pid()")
}
