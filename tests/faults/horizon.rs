//! Readers that follow the horizon and consumers of feeds, while transactions commit late, roll back, are prepared and killed, and the clock
//! steps.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::{self, Client};
use sno_tests::{Ids, Random, Server, Sql as _, Stop};

use crate::{feeds, load, pick, tally};

/// How many rows each batch has, by its number.
pub(crate) type Rows = BTreeMap<i32, i64>;

const FIRST: &str = "2222222222222222";

struct Feed<'a> {
    server: &'a Server,
    batches: AtomicI32,
    written: AtomicI64,
    stop: AtomicBool,
}

impl Feed<'_> {
    /// What fails, for whatever reason, is tried again.
    fn repeat(&self, work: impl FnMut(&mut Client) -> Result<(), postgres::Error>) {
        load::repeat(self.server, &self.stop, work, |_| thread::sleep(Duration::from_millis(2)));
    }

    /// Transactions of all kinds, most of which last a while after their first ID. The IDs of some are returned.
    fn write(&self, client: &mut Client, random: &mut Random, ids: &mut Ids) -> Result<(), postgres::Error> {
        let batch = self.batches.fetch_add(1, Relaxed);
        let rows = 1 + random.below(pick(300, 3000));
        let insert = format!("INSERT INTO items (batch) SELECT {batch} FROM generate_series(1, {rows})");
        let sleep = format!("SELECT pg_sleep({} / 1000.0)", random.below(30));
        let sql = match random.below(8) {
            0 => {
                ids.query(client, &format!("{insert} RETURNING id"))?;
                String::new()
            }
            1 => format!("BEGIN; {insert}; {sleep}; ROLLBACK"),
            2 => format!("BEGIN; SAVEPOINT s; {insert}; ROLLBACK TO s; {sleep}; {insert}; COMMIT"),
            3 => {
                client.batch_execute(&format!("BEGIN; {insert}; PREPARE TRANSACTION '{batch}'"))?;
                client.batch_execute(&sleep)?;
                finish(client)?;
                String::new()
            }
            4 => format!(
                "BEGIN; CREATE TEMP TABLE keys ON COMMIT DROP AS SELECT sno_new(1) AS id FROM generate_series(1, 100); {sleep};
                 INSERT INTO items SELECT id, {batch} FROM keys; COMMIT"
            ),
            5 => {
                let mut copy = client.copy_in("COPY items (batch) FROM STDIN")?;
                for _ in 0..rows {
                    // An error of the server comes at the end.
                    let _ = writeln!(copy, "{batch}");
                }
                copy.finish()?;
                String::new()
            }
            _ => format!("BEGIN; {insert}; {sleep}; COMMIT"),
        };
        client.batch_execute(&sql)?;
        self.written.fetch_add(rows as i64, Relaxed);
        Ok(())
    }
}

/// Commits what is prepared, also what a crash has separated from its writer.
pub(crate) fn finish(client: &mut Client) -> Result<(), postgres::Error> {
    for row in client.query("SELECT gid FROM pg_prepared_xacts", &[])? {
        // Others do the same.
        let _ = client.batch_execute(&format!("COMMIT PREPARED '{}'", row.get::<_, String>(0)));
    }
    Ok(())
}

/// Who reads the rows below the horizon, each once.
pub(crate) struct Reader {
    /// The query of the horizon.
    horizon: &'static str,
    place: String,
    seen: Rows,
}

impl Reader {
    pub(crate) fn new(horizon: &'static str, first: &str) -> Self {
        Self { horizon, place: first.to_owned(), seen: Rows::new() }
    }

    /// The next rows.
    pub(crate) fn read(&mut self, client: &mut Client) -> Result<(), postgres::Error> {
        let horizon: Option<String> = client.query_one(self.horizon, &[])?.get(0);
        // After a restart it may be before that of before. That of the SQL file may be so at any time, and there is none
        // while a transaction is prepared.
        let Some(horizon) = horizon.filter(|horizon| *horizon > self.place) else { return Ok(()) };
        let next = format!(
            "SELECT batch, count(*) FROM items WHERE id >= '{}' AND id < '{horizon}' GROUP BY 1",
            self.place
        );
        for row in client.query(&next, &[])? {
            *self.seen.entry(row.get(0)).or_default() += row.get::<_, i64>(1);
        }
        self.place = horizon;
        Ok(())
    }

    /// Reads on past the last row, and checks that it has seen all.
    #[track_caller]
    pub(crate) fn check(mut self, client: &mut Client) {
        let last: String = client.one("SELECT max(id)::text FROM items");
        while self.place <= last {
            self.read(client).unwrap();
        }
        compare(&batches(client, "items"), &self.seen);
    }
}

pub(crate) fn batches(client: &mut Client, table: &str) -> Rows {
    let query = format!("SELECT batch, count(*) FROM {table} GROUP BY batch");
    client.query(&query, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// What was read, against what is there.
#[track_caller]
pub(crate) fn compare(all: &Rows, seen: &Rows) {
    let wrong: Vec<_> = all.iter().filter(|(batch, rows)| seen.get(batch) != Some(rows)).take(9).collect();
    assert!(wrong.is_empty() && seen.len() == all.len(), "batches and their rows, not as read: {wrong:?}");
}

/// Counts the rows after the last ID that was seen, as a reader does that knows of no horizon.
pub(crate) fn read_after(
    client: &mut Client,
    last: &mut String,
    count: &mut i64,
) -> Result<(), postgres::Error> {
    let query = format!("SELECT count(*), max(id)::text FROM items WHERE id > '{last}'");
    let row = client.query_one(&query, &[])?;
    if let Some(id) = row.get(1) {
        *last = id;
        *count += row.get::<_, i64>(0);
    }
    Ok(())
}

/// Runs writers and readers until so many rows are written, and does `fault` again and again meanwhile. Returns how
/// many rows were missed by a reader that remembers the last ID.
fn run_feed(server: &Server, rows: i64, mut fault: impl FnMut()) -> i64 {
    server.run("TRUNCATE items, copy_of_first, copy_of_second");
    let feed =
        Feed { server, batches: AtomicI32::new(0), written: AtomicI64::new(0), stop: AtomicBool::new(false) };
    let mut reader = Reader::new("SELECT sno_horizon('0.2 s')::text", FIRST);
    let (mut last, mut naive) = (FIRST.to_owned(), 0);
    thread::scope(|scope| {
        let stop = Stop(&feed.stop);
        let writers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let (mut random, mut ids) = (Random::seeded(), server.ids());
                    feed.repeat(|client| feed.write(client, &mut random, &mut ids));
                    ids
                })
            })
            .collect();
        for consumed in feeds::FEEDS.into_iter().cycle().take(4) {
            scope.spawn(|| {
                let mut random = Random::seeded();
                feed.repeat(|client| feeds::consume(client, consumed, &mut random));
            });
        }
        scope.spawn(|| feed.repeat(|client| reader.read(client)));
        scope.spawn(|| feed.repeat(|client| read_after(client, &mut last, &mut naive)));
        let began = Instant::now();
        while feed.written.load(Relaxed) < rows {
            assert!(began.elapsed() < Duration::from_secs(600), "{} rows", feed.written.load(Relaxed));
            fault();
        }
        drop(stop);
        let mut ids: Ids = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        ids.assert_distinct();
        // A consumer whose connection a crash took after PREPARE TRANSACTION leaves its feed locked. Writers commit what they
        // find prepared, but they have ended, and the other consumers would wait.
        finish(&mut server.connect()).unwrap();
    });
    let mut client = server.connect();
    reader.check(&mut client);
    feeds::check(&mut client);
    let total: i64 = client.one("SELECT count(*) FROM items");
    tally::count("rows read below horizons, each once", total as u64);
    tally::count("rows that a reader missed who remembers the last ID", (total - naive) as u64);
    total - naive
}

fn server() -> Server {
    let server = Server::builder()
        .faketime(true)
        .conf("max_prepared_transactions", "20")
        .conf("max_wal_size", "8GB")
        .start();
    server.set_clock("-60");
    let mut client = server.connect();
    client.run("CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), batch integer NOT NULL)");
    client.run(feeds::SETUP);
    client.run("SELECT sno_new(1)");
    server.set_clock("+0");
    server
}

#[test]
fn readers_of_the_horizon_miss_nothing() {
    let server = server();
    let missed: i64 = (0..pick(1, 40))
        .map(|_| run_feed(&server, pick(100_000, 5_000_000), || thread::sleep(Duration::from_millis(100))))
        .sum();
    // So it can happen here.
    assert!(missed > 0);
}

/// Clocks that step, within the margin of 0.2 s and further; crashes of backends, restarts of all kinds.
#[test]
fn nor_when_clocks_step_and_servers_restart() {
    let server = server();
    let mut random = Random::seeded();
    for _ in 0..pick(1, 10) {
        run_feed(&server, pick(50_000, 1_000_000), || {
            thread::sleep(Duration::from_millis(random.below(1000) as u64));
            let step = format!("{:+.3}", random.below(1000) as f64 / 1000.0 - 0.5);
            if random.below(2) == 0 {
                server.set_clock(&step);
                tally::fault("clock steps");
            } else {
                load::disturb(&server, &mut random, Some(&step));
            }
        });
    }
}
