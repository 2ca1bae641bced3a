//! Changes: `sno_track_changes()`, and what a copy that follows such a feed has in the end, whatever was done to the table. Under load and
//! crashes: `../../faults/changes.rs`.

mod copies;
pub(crate) mod ddl;
mod read_by_all;
mod rights;
mod subscribers;
mod tracking;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, next_tick};

const SETUP: &str = "
    CREATE TABLE items (id integer PRIMARY KEY, n integer);
    INSERT INTO items SELECT n, n FROM generate_series(1, 10) n;
    SELECT sno_track_changes('items');
    SELECT sno_create_feed('search', 'items_changes', margin => '0');
    CREATE TABLE copy (LIKE items INCLUDING ALL);
    INSERT INTO copy TABLE items;";

fn server() -> Server {
    let server = Server::builder().conf("max_prepared_transactions", "5").start();
    server.run(SETUP);
    server
}

/// A copy of a table, its feed and the columns of its key.
struct Copy<'a> {
    feed: &'a str,
    changes: &'a str,
    copy: &'a str,
    key: &'a str,
}

const ITEMS: Copy<'_> = Copy { feed: "search", changes: "items_changes", copy: "copy", key: "id" };

impl Copy<'_> {
    /// Reads all changes, and brings the copy up to date.
    #[track_caller]
    fn follow(&self, client: &mut Client) {
        // A tick later, so that the horizon is after all that is committed.
        next_tick();
        let Self { feed, changes, copy, key } = self;
        loop {
            client.run(&format!(
                "BEGIN;
                 CREATE TEMP TABLE batch ON COMMIT DROP AS SELECT * FROM sno_feed('{feed}', NULL::{changes}, 1000);
                 DELETE FROM {copy} WHERE ({key}) IN (SELECT {key} FROM batch);
                 INSERT INTO {copy} SELECT DISTINCT ON ({key}) (record).* FROM batch WHERE NOT record IS NULL"
            ));
            let rows: i64 = client.one("SELECT count(*) FROM batch");
            client.run("COMMIT");
            if rows == 0 {
                break;
            }
        }
    }

    /// How many rows of the table the copy lacks, or has as they were, and how many it has that the table has not, or has no more.
    fn wrong(&self, client: &mut Client) -> (i64, i64) {
        let table = self.changes.replace("_changes", "");
        let less = |one: &str, other: &str| {
            format!(
                "SELECT count(*) FROM (SELECT t::text FROM {one} t EXCEPT SELECT t::text FROM {other} t) less"
            )
        };
        (client.one(&less(&table, self.copy)), client.one(&less(self.copy, &table)))
    }

    #[track_caller]
    fn check(&self, client: &mut Client, what: &str) {
        self.follow(client);
        assert_eq!(self.wrong(client), (0, 0), "rows that the copy lacks, and that it has too many: {what}");
    }
}
