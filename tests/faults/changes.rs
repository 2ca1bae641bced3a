//! Copies that follow the changes of a table: in the end, each is what the table is, whatever writers, consumers and the server went through.
//! A reader of `updated_at` beside them shows that rows can get stale here.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use sno_tests::postgres::{self, Client};
use sno_tests::{Random, Server, Sql as _, Stop};

use crate::{horizon, load, pick, tally};

/// How many keys there are; eight of them are for all writers to meet at.
const KEYS: usize = 3000;

const WRITERS: usize = 8;

/// The table, with the time of each change as ORMs write it; a copy by each kind of consumer, and one by that time.
const SETUP: &str = "
    CREATE TABLE items (id integer PRIMARY KEY, n integer NOT NULL, updated_at timestamptz NOT NULL DEFAULT now());
    CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.updated_at := now(); RETURN NEW; END $$;
    CREATE TRIGGER touch BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION touch();
    SELECT sno_track_changes('items');
    CREATE TABLE merged (LIKE items INCLUDING ALL);
    CREATE TABLE stepwise (LIKE items INCLUDING ALL);
    CREATE TABLE seen (changed sno); CREATE TABLE by_time (LIKE items INCLUDING ALL);
    CREATE TABLE last (at timestamptz);
    INSERT INTO last VALUES ('-infinity');
    SELECT sno_create_feed(name, 'items_changes', key => 'changed', margin => '0.1 s') FROM unnest('{merged,stepwise}'::text[]) name;
    CREATE FUNCTION apply(size integer) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
        changes items_changes[];
    BEGIN
        WITH f AS MATERIALIZED (SELECT f FROM sno_feed('stepwise', NULL::items_changes, size) f), i AS (INSERT INTO seen SELECT (f).changed FROM f)
        SELECT array_agg(f) INTO changes FROM f;
        DELETE FROM stepwise USING unnest(changes) c WHERE stepwise.id = c.id;
        INSERT INTO stepwise SELECT DISTINCT ON (c.id) (c.record).* FROM unnest(changes) c WHERE NOT c.record IS NULL;
    END
    $$;
    CREATE FUNCTION merge(size integer) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        MERGE INTO merged
        USING (SELECT DISTINCT ON (id) id, record FROM sno_feed('merged', NULL::items_changes, size) ORDER BY id) c ON merged.id = c.id
        WHEN MATCHED AND c.record IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET n = (c.record).n, updated_at = (c.record).updated_at
        WHEN NOT MATCHED AND NOT c.record IS NULL THEN INSERT VALUES ((c.record).*);
    END
    $$;
    CREATE FUNCTION read_by_time() RETURNS void LANGUAGE SQL AS $$
        WITH new AS MATERIALIZED (SELECT * FROM items WHERE updated_at > (SELECT at FROM last)),
            copied AS (INSERT INTO by_time SELECT * FROM new ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n, updated_at = EXCLUDED.updated_at)
        UPDATE last SET at = greatest(at, (SELECT max(updated_at) FROM new));
    $$;";

/// What ends a statement of a writer: another one had the key, or waited for this one, or the server went down.
const EXPECTED: [&str; 2] = ["23505", "40P01"];

struct Changes<'a> {
    server: &'a Server,
    statements: AtomicU64,
    goal: u64,
    stop: AtomicBool,
}

impl Changes<'_> {
    fn repeat(&self, work: impl FnMut(&mut Client) -> Result<(), postgres::Error>) {
        load::repeat(self.server, &self.stop, work, |error| load::down_or(error, &EXPECTED));
    }

    fn write(&self, client: &mut Client, random: &mut Random) -> Result<(), postgres::Error> {
        let (id, other, n) = (random.below(KEYS), random.below(KEYS), random.below(1 << 30));
        let many = format!("id BETWEEN {} AND {}", id, id + random.below(20));
        let sleep = format!("SELECT pg_sleep({} / 1000.0)", random.below(pick(100, 400)));
        let update = format!("UPDATE items SET n = {n} WHERE id = {id}");
        let sql = match random.below(16) {
            0 => format!("UPDATE items SET n = n + 1 WHERE {many}"),
            1 => format!("DELETE FROM items WHERE {many}"),
            // The same keys in all sessions.
            2 => format!("DELETE FROM items WHERE id = {}", id % 8),
            3 => format!("INSERT INTO items VALUES ({}, {n})", id % 8),
            4 => format!("INSERT INTO items VALUES ({id}, {n}) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n"),
            5 => format!("INSERT INTO items SELECT i, {n} FROM generate_series({id}, {id} + 20) i ON CONFLICT DO NOTHING"),
            6 => format!(
                "MERGE INTO items USING (VALUES ({id}, {n})) s(id, n) ON items.id = s.id WHEN MATCHED AND s.n % 5 = 0 THEN DELETE
                 WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
            ),
            7 => format!("UPDATE items SET id = {other} WHERE id = {id}"),
            8 => format!("BEGIN; {update}; SAVEPOINT s; DELETE FROM items WHERE {many}; ROLLBACK TO s; UPDATE items SET n = n + 7 WHERE id = {other}; COMMIT"),
            9 => format!("BEGIN; {update}; {sleep}; COMMIT"),
            10 => format!("BEGIN; {update}; DELETE FROM items WHERE id = {other}; {sleep}; ROLLBACK"),
            11 => format!("BEGIN; DELETE FROM items WHERE id = {id}; INSERT INTO items VALUES ({id}, {n}); COMMIT"),
            12 => {
                let gid = random.below(1 << 40);
                client.batch_execute(&format!("BEGIN; {update}; DELETE FROM items WHERE id = {other}; PREPARE TRANSACTION '{gid}'"))?;
                client.batch_execute(&sleep)?;
                return horizon::finish(client);
            }
            // In the first half, so that rows are left that can be stale.
            13 if random.below(20) == 0 && self.statements.load(Relaxed) < self.goal / 2 => "TRUNCATE items".to_owned(),
            14 if random.below(10) == 0 => format!("BEGIN; {update}; SELECT pg_terminate_backend(pg_backend_pid())"),
            _ => update,
        };
        self.statements.fetch_add(1, Relaxed);
        client.batch_execute(&sql)
    }

    fn consume(&self, client: &mut Client, apply: &str, random: &mut Random) -> Result<(), postgres::Error> {
        let call = format!("SELECT {apply}({})", 1 + random.below(2000));
        thread::sleep(Duration::from_millis(random.below(20) as u64));
        match random.below(12) {
            0 => client.batch_execute(&format!("BEGIN; {call}; ROLLBACK")),
            1 => client.batch_execute(&format!("BEGIN; SAVEPOINT s; {call}; ROLLBACK TO s; {call}; COMMIT")),
            2 => {
                client.batch_execute(&format!("BEGIN; {call}; SELECT pg_terminate_backend(pg_backend_pid())"))
            }
            3 => client.batch_execute("SELECT sno_forget_changes('items')"),
            _ => client.batch_execute(&call),
        }
    }
}

/// Rows that a copy lacks, that it has as they were, and that it has too many.
fn wrong(client: &mut Client, copy: &str) -> (i64, i64, i64) {
    (
        client.one(&format!(
            "SELECT count(*) FROM items i WHERE NOT EXISTS (SELECT FROM {copy} c WHERE c.id = i.id)"
        )),
        client.one(&format!(
            "SELECT count(*) FROM items i JOIN {copy} c USING (id) WHERE i IS DISTINCT FROM c"
        )),
        client.one(&format!(
            "SELECT count(*) FROM {copy} c WHERE NOT EXISTS (SELECT FROM items i WHERE c.id = i.id)"
        )),
    )
}

/// Writes so many statements, and does `fault` again and again meanwhile.
fn run(server: &Server, goal: u64, mut fault: impl FnMut(&Server, &mut Random)) {
    let changes = Changes { server, statements: AtomicU64::new(0), goal, stop: AtomicBool::new(false) };
    thread::scope(|scope| {
        let stop = Stop(&changes.stop);
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut random = Random::seeded();
                changes.repeat(|client| changes.write(client, &mut random));
            });
        }
        for apply in ["merge", "apply", "merge", "apply"] {
            let changes = &changes;
            scope.spawn(move || {
                let mut random = Random::seeded();
                changes.repeat(|client| changes.consume(client, apply, &mut random));
            });
        }
        scope.spawn(|| changes.repeat(|client| client.batch_execute("SELECT read_by_time()")));
        // What a crash has separated from its writer would block the others.
        scope.spawn(|| {
            changes.repeat(|client| {
                thread::sleep(Duration::from_millis(500));
                horizon::finish(client)
            });
        });
        let (began, mut random) = (Instant::now(), Random::seeded());
        while changes.statements.load(Relaxed) < goal {
            assert!(
                began.elapsed() < Duration::from_secs(600),
                "{} statements",
                changes.statements.load(Relaxed)
            );
            thread::sleep(Duration::from_millis(random.below(600) as u64));
            fault(server, &mut random);
        }
        drop(stop);
    });
    tally::count("statements whose changes were followed", changes.statements.load(Relaxed));
    let mut client = server.connect();
    horizon::finish(&mut client).unwrap();
    thread::sleep(Duration::from_millis(200));
    for (apply, copy) in [("merge", "merged"), ("apply", "stepwise")] {
        let left = format!(
            "SELECT count(*) FROM items_log WHERE changed > (SELECT coalesce(position, '2222222222222222') FROM sno_feeds() WHERE feed = '{copy}')"
        );
        while client.one::<i64>(&left) > 0 {
            client.run(&format!("SELECT {apply}(5000)"));
        }
        assert_eq!(
            wrong(&mut client, copy),
            (0, 0, 0),
            "rows that {copy} lacks, that are stale, that are too many"
        );
    }
}

fn server() -> Server {
    let server =
        Server::builder().conf("max_prepared_transactions", "20").conf("deadlock_timeout", "50ms").start();
    server.run(SETUP);
    server
}

/// After the last change, by one who reads what is newer than the last time that he has seen.
fn stale_by_time(server: &Server) -> i64 {
    let mut client = server.connect();
    client.run("SELECT read_by_time()");
    let (missing, stale, more) = wrong(&mut client, "by_time");
    tally::count("rows that a reader of updated_at lacked or had as they were", (missing + stale) as u64);
    tally::count("rows that a reader of updated_at had too many", more as u64);
    missing + stale
}

#[test]
fn copies_end_as_the_table() {
    let server = server();
    for _ in 0..pick(1, 3) {
        run(&server, pick(3000, 40_000), |_, _| {});
    }
    // So it can happen here.
    assert!(stale_by_time(&server) > 0);
}

#[test]
fn also_when_servers_restart() {
    let server = server();
    for _ in 0..pick(1, 3) {
        run(&server, pick(3000, 20_000), |server, random| load::disturb(server, random, None));
    }
    stale_by_time(&server);
}
