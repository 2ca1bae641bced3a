//! Readers of the horizon and of a feed in `sql/uuidv7.sql`, while transactions of all kinds are late. The file has sleeps between the
//! steps of its horizon, without which most of what could go wrong hardly ever does.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::{self, Client, NoTls};
use sno_tests::{Random, Server, Sql as _, Stop, major_version, sql_file};

use crate::horizon::{Reader, batches, compare, read_after};
use crate::{pick, tally};

const FIRST: &str = "00000000-0000-0000-0000-000000000000";

/// The file with sleeps before each look at the locks, and before the look at the starts.
fn with_sleeps() -> String {
    let mut sql = sql_file("uuidv7.sql");
    for place in ["FOR look IN 1..2 LOOP\n", "first_seen := transactions;\n"] {
        assert_eq!(sql.matches(place).count(), 1, "{place}");
        sql = sql.replace(place, &format!("{place} PERFORM pg_sleep(random() * 0.03);\n"));
    }
    sql
}

struct Torture<'a> {
    server: &'a Server,
    /// The tables that rows are inserted into: one, and what leads to it.
    targets: &'a [&'static str],
    batches: AtomicI32,
    stop: AtomicBool,
}

impl Torture<'_> {
    /// Does something on a connection until it is time to stop.
    fn repeat(&self, mut work: impl FnMut(&mut Client) -> Result<(), postgres::Error>) {
        let mut client = self.server.config().connect(NoTls).unwrap();
        while !self.stop.load(Relaxed) {
            work(&mut client).unwrap();
        }
    }

    /// A transaction of one of many kinds, and a pause, so that at times nobody writes.
    fn write(&self, client: &mut Client, random: &mut Random) -> Result<(), postgres::Error> {
        let batch = self.batches.fetch_add(1, Relaxed);
        let rows = 1 + random.below(pick(20, 200));
        let target = random.one_of(self.targets);
        let insert = format!("INSERT INTO {target} (batch) SELECT {batch} FROM generate_series(1, {rows})");
        let sleep = format!("SELECT pg_sleep({} / 1000.0)", random.below(60));
        match random.below(10) {
            0 => client.batch_execute(&insert)?,
            1 => client.batch_execute(&format!("BEGIN; {insert}; {sleep}; ROLLBACK"))?,
            2 => client.batch_execute(&format!(
                "BEGIN; SAVEPOINT s; {insert}; ROLLBACK TO s; {sleep}; {insert}; {sleep}; COMMIT"
            ))?,
            3 => {
                client.batch_execute(&format!("BEGIN; SAVEPOINT s; {insert}; RELEASE s; {sleep}; COMMIT"))?
            }
            4 | 5 => {
                client.batch_execute(&format!("BEGIN; {insert}; {sleep}; PREPARE TRANSACTION '{batch}'"))?;
                client.batch_execute(&sleep)?;
                client.batch_execute(&format!("COMMIT PREPARED '{batch}'"))?;
            }
            6 => {
                // Into the table: not into a view.
                let mut copy = client.copy_in("COPY items (batch) FROM STDIN")?;
                for _ in 0..rows {
                    writeln!(copy, "{batch}").unwrap();
                }
                copy.finish()?;
            }
            7 => client.batch_execute(&format!("CALL write_twice('{target}', {batch}, {rows})"))?,
            _ => {
                // Two statements, as an application sends them.
                client.batch_execute("BEGIN")?;
                client.batch_execute(&insert)?;
                client.batch_execute(&sleep)?;
                client.batch_execute("COMMIT")?;
            }
        }
        thread::sleep(Duration::from_millis(random.below(60) as u64));
        Ok(())
    }
}

/// Writers, and readers of five kinds.
fn torture(server: &Server, targets: &[&'static str], time: Duration) {
    let torture = Torture { server, targets, batches: AtomicI32::new(0), stop: AtomicBool::new(false) };
    let [mut single, mut many] =
        [(); 2].map(|()| Reader::new("SELECT uuidv7_horizon('items', '0')::text", FIRST));
    let (mut last, mut naive) = (FIRST.to_owned(), 0);
    thread::scope(|scope| {
        let stop = Stop(&torture.stop);
        for _ in 0..4 {
            scope.spawn(|| {
                let mut random = Random::seeded();
                torture.repeat(|client| torture.write(client, &mut random));
            });
        }
        scope.spawn(|| torture.repeat(|client| single.read(client)));
        // Five horizons in one transaction.
        scope.spawn(|| {
            torture.repeat(|client| {
                client.batch_execute("BEGIN")?;
                for _ in 0..5 {
                    many.read(client)?;
                }
                client.batch_execute("COMMIT")
            });
        });
        // Two consumers of one feed, which fail now and then.
        for _ in 0..2 {
            scope.spawn(|| {
                let mut random = Random::seeded();
                torture.repeat(|client| {
                    let end = if random.below(4) == 0 { "ROLLBACK" } else { "COMMIT" };
                    let size = 1 + random.below(50);
                    client.batch_execute(&format!("BEGIN; {}; {end}", copy(size)))
                });
            });
        }
        scope.spawn(|| torture.repeat(|client| read_after(client, &mut last, &mut naive)));
        thread::sleep(time);
        drop(stop);
    });
    let mut client = server.connect();
    while client.one::<i64>(&copy(1000)) > 0 {}
    let all = batches(&mut client, "items");
    compare(&all, &batches(&mut client, "copied"));
    single.check(&mut client);
    many.check(&mut client);
    let total: i64 = all.values().sum();
    // So it can happen here.
    assert!(naive < total, "{naive} of {total}");
    tally::count("rows of uuids read below horizons, each once by three readers", total as u64);
    tally::count("rows of uuids that a reader missed who remembers the last ID", (total - naive) as u64);
}

/// A consumer that is one statement: it returns whether there were rows.
fn copy(size: usize) -> String {
    format!(
        "WITH f AS MATERIALIZED (SELECT * FROM uuidv7_peek_feed('copy', NULL::items, {size})), i AS (INSERT INTO copied SELECT batch FROM f)
         SELECT count(uuidv7_advance_feed('copy', last)) FROM (SELECT max(id) AS last FROM f HAVING count(*) > 0) l"
    )
}

#[test]
fn readers_of_its_horizon_and_feeds_miss_nothing() {
    let server = Server::builder().extension(false).conf("max_prepared_transactions", "20").start();
    let mut client = server.connect();
    client.run(&with_sleeps());
    client.run(
        "CREATE PROCEDURE write_twice(target regclass, batch integer, rows integer) LANGUAGE plpgsql AS $$ BEGIN
           FOR n IN 1..2 LOOP
             EXECUTE format('INSERT INTO %s (batch) SELECT %s FROM generate_series(1, %s)', target, batch, rows);
             PERFORM pg_sleep(random() * 0.03);
             COMMIT;
           END LOOP;
         END $$",
    );
    let defaults: &[_] =
        if major_version(&mut client) < 18 { &["sno_uuid(1)"] } else { &["sno_uuid(1)", "uuidv7()"] };
    for default in defaults {
        for (table, targets) in [
            ("items (id uuid PRIMARY KEY DEFAULT {}, batch integer NOT NULL)", &["items", "items_view"][..]),
            (
                "items (id uuid DEFAULT {}, batch integer NOT NULL) PARTITION BY LIST (batch);
                 CREATE TABLE items_1 PARTITION OF items DEFAULT PARTITION BY RANGE (id);
                 CREATE TABLE items_2 PARTITION OF items_1 DEFAULT; ALTER TABLE items_1 ALTER id SET DEFAULT {};
                 ALTER TABLE items_2 ALTER id SET DEFAULT {}; CREATE INDEX ON items (id)",
                &["items", "items_1", "items_2"][..],
            ),
        ] {
            client.run(&format!(
                "DROP TABLE IF EXISTS items, copied CASCADE; CREATE TABLE {}; CREATE VIEW items_view AS SELECT * FROM items;
                 CREATE TABLE copied (batch integer); DELETE FROM uuidv7_feeds;
                 INSERT INTO uuidv7_feeds (feed, source, margin) VALUES ('copy', 'items', '0')",
                table.replace("{}", default)
            ));
            let began = Instant::now();
            torture(&server, targets, Duration::from_secs(pick(5, 60)));
            println!("{default}, {targets:?}: {:?}", began.elapsed());
        }
    }
}
