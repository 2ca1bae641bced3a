//! What is changed between two steps of a call, at each point where the library can be stopped: each row comes once, or an error says why it
//! does not, and the position of a feed goes forward. All points with `SNO_FAULTS=long`, otherwise one of each pair, at random.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, thread};

use sno_tests::postgres::{Client, Error};
use sno_tests::{Random, Server, Sql as _, in_parallel, wait_until};

/// What a feed reads, with what can change about it. Rows 1 and 2 were read, 3 to 5 were not.
struct Source {
    /// The names of the feed, of its source, and of the table whose rows it returns.
    feed: &'static str,
    source: &'static str,
    table: &'static str,
    /// Where the ID and the number of a row are.
    key: &'static str,
    number: &'static str,
    setup: &'static str,
    /// What takes all rows away, and rows 1 and 2.
    first: &'static str,
    rows: &'static str,
    calls: &'static [(&'static str, &'static str, &'static str)],
    changes: &'static [Change],
}

/// What another session changes, what undoes it before all is read, and after that, if anything can, and what it does to unread rows.
type Change = (&'static str, &'static str, &'static str, Option<&'static str>, Rows);

const TABLE: Source = Source {
    feed: "t",
    source: "s.t",
    table: "s.t",
    key: "id",
    number: "n",
    setup: SETUP,
    first: "DELETE FROM s.t; INSERT INTO s.t (n) VALUES (1), (2)",
    rows: "INSERT INTO s.t (n, part) VALUES (3, 0); INSERT INTO s.t (n, part) VALUES (4, 0); INSERT INTO s.t (n, part) VALUES (5, 2)",
    calls: &CALLS,
    changes: &CHANGES,
};

const SOURCES: [Source; 3] = [
    TABLE,
    Source {
        feed: "k",
        source: "s.k_changes",
        table: "s.k_log",
        key: "changed",
        number: "(record).n",
        setup: "CREATE TABLE s.k (id sno PRIMARY KEY DEFAULT sno_new(1), other sno DEFAULT sno_new(2), n int); ALTER TABLE s.k OWNER TO reader;
            GRANT CREATE ON SCHEMA s TO reader; SET ROLE reader; SELECT sno_track_changes('s.k');
            SELECT sno_create_feed('k', 's.k_changes', key => 'changed', margin => '0'); RESET ROLE",
        first: "DELETE FROM s.k; INSERT INTO s.k (n) VALUES (1), (2)",
        rows: "INSERT INTO s.k (n) VALUES (3), (4), (5)",
        calls: &[
            CALLS[0],
            CALLS[1],
            CALLS[2],
            CALLS[3],
            CALLS[4],
            ("what is read is forgotten", "", "SELECT sno_forget_changes('s.k')"),
        ],
        changes: &[
            ("what is read is forgotten", "SELECT sno_forget_changes('s.k')", "", Some(""), Rows::Stay),
            ("it is tracked again", "SELECT sno_track_changes('s.k')", "", Some(""), Rows::Stay),
            ("its key is renamed", "ALTER TABLE s.k RENAME id TO key", "ALTER TABLE s.k RENAME key TO id", Some(""), Rows::Stay),
            ("its key and another column exchange names", EXCHANGE_KEYS, EXCHANGE_KEYS, Some(""), Rows::Stay),
            ("the tracked table is renamed", "ALTER TABLE s.k RENAME TO z", "ALTER TABLE s.z RENAME TO k", Some(""), Rows::Stay),
            ("the log is renamed", "ALTER TABLE s.k_log RENAME TO z", "ALTER TABLE s.z RENAME TO k_log", Some(""), Rows::Stay),
            ("a column is added", "ALTER TABLE s.k ADD more int DEFAULT 5", "", Some("ALTER TABLE s.k DROP more"), Rows::Stay),
            ("a row is changed", "INSERT INTO s.k (n) VALUES (11), (12); UPDATE s.k SET n = n WHERE n IN (2, 4)", "", Some(""), Rows::Twice),
            ("rows are deleted", "DELETE FROM s.k WHERE n > 3", "", Some(""), Rows::Go),
            ("the horizons are lowered", "SELECT sno_lower_horizon(); INSERT INTO s.k (n) VALUES (11); INSERT INTO s.k (n) VALUES (12)", "", None, Rows::Twice),
        ],
    },
    Source {
        feed: "r",
        source: "s.r",
        table: "s.r",
        setup: "CREATE TABLE s.r (id sno PRIMARY KEY DEFAULT sno_new(1), n int) PARTITION BY RANGE (id); ALTER TABLE s.r OWNER TO reader;
            GRANT CREATE ON SCHEMA s TO reader; SET ROLE reader;
            SELECT sno_create_partitions('s.r', '1 minute', now() - interval '1 minute', now() + interval '3 minutes');
            SELECT sno_create_feed('r', 's.r', margin => '0'); RESET ROLE",
        first: "DELETE FROM s.r; INSERT INTO s.r (n) VALUES (1), (2)",
        rows: "INSERT INTO s.r (n) VALUES (3), (4), (5)",
        calls: &[
            CALLS[0],
            CALLS[1],
            CALLS[2],
            CALLS[3],
            CALLS[4],
            ("partitions are kept", "", KEEP_PARTITIONS),
        ],
        changes: &[
            ("partitions are kept", KEEP_PARTITIONS, "", None, Rows::Stay),
            ("rows come to new partitions", "SELECT sno_create_partitions('s.r', '1 minute', now(), now() + interval '9 minutes'); INSERT INTO s.r (n) VALUES (11), (12)", "", None, Rows::Come),
            ("the horizons are lowered", "SELECT sno_lower_horizon(); INSERT INTO s.r (n) VALUES (11); INSERT INTO s.r (n) VALUES (12)", "", None, Rows::Twice),
        ],
        ..TABLE
    },
];

const KEEP_PARTITIONS: &str = "SELECT sno_maintain_partitions('s.r', '1 minute', retention => '1 s', drop_expired => true, read_by_all => true)";

const PREPARE: &str = "
    CREATE SCHEMA s; CREATE SCHEMA q; CREATE SCHEMA c; GRANT USAGE ON SCHEMA s, q, c TO reader;
    CREATE TABLE c.copy (feed text, n int); GRANT ALL ON c.copy TO reader";

const SETUP: &str = "
    CREATE TABLE s.t (id sno DEFAULT sno_new(1), other sno DEFAULT sno_new(2), gone int, n int, part int DEFAULT 0, PRIMARY KEY (part, id))
        PARTITION BY LIST (part);
    CREATE INDEX t_id ON s.t (id); CREATE INDEX ON s.t (other);
    CREATE TABLE s.t0 PARTITION OF s.t FOR VALUES IN (0); CREATE TABLE s.t2 PARTITION OF s.t FOR VALUES IN (2);
    CREATE TABLE s.o (LIKE s.t INCLUDING ALL); INSERT INTO s.o (n) VALUES (-1), (-2); CREATE TABLE q.t (LIKE s.t INCLUDING ALL);
    GRANT SELECT ON ALL TABLES IN SCHEMA s, q TO reader;
    SET ROLE reader; SELECT sno_create_feed('t', 's.t', key => 'id', margin => '0'); RESET ROLE";

/// By how much the clock is fast, in seconds.
const FAST: f64 = 60.0;

const CLEAN: &str =
    "SELECT sno_drop_feed(feed, owner) FROM sno_feeds(); DROP SCHEMA IF EXISTS s, q, c, z CASCADE";

/// What a session does with a feed, whose source is `ROWS`: what it prepares, and what is stopped.
const CALLS: [(&str, &str, &str); 5] = [
    ("sno_feed", "", "INSERT INTO c.copy SELECT 'FEED', NUMBER FROM sno_feed('FEED', NULL::ROWS)"),
    (
        "sno_feed again, prepared, in a block",
        "PREPARE p AS INSERT INTO c.copy SELECT 'FEED', NUMBER FROM sno_feed('FEED', NULL::ROWS); BEGIN; EXECUTE p",
        "EXECUTE p",
    ),
    (
        "peek and advance",
        "",
        "DO $$ DECLARE last text; BEGIN
             WITH p AS (SELECT * FROM sno_peek_feed('FEED', NULL::ROWS)), i AS (INSERT INTO c.copy SELECT 'FEED', NUMBER FROM p)
             SELECT max(KEY::text) INTO last FROM p;
             IF last IS NOT NULL THEN PERFORM sno_advance_feed('FEED', last::sno); END IF;
         END $$",
    ),
    ("a wait", "", "CALL sno_wait_feed('FEED', '0.03 s')"),
    ("what all have read", "", "SELECT sno_read_by_all('TABLE'), sno_readers('TABLE')"),
];

const CHANGES: [Change; 24] = [
    (
        "a column is renamed",
        "ALTER TABLE s.t RENAME gone TO was",
        "",
        Some("ALTER TABLE s.t RENAME was TO gone"),
        Rows::Stay,
    ),
    (
        "a column that is used is renamed",
        "ALTER TABLE s.t RENAME n TO m",
        "ALTER TABLE s.t RENAME m TO n",
        Some(""),
        Rows::Stay,
    ),
    (
        "the key is renamed",
        "ALTER TABLE s.t RENAME id TO key",
        "ALTER TABLE s.t RENAME key TO id",
        Some(""),
        Rows::Stay,
    ),
    ("the key and another column exchange names", EXCHANGE_COLUMNS, EXCHANGE_COLUMNS, Some(""), Rows::Stay),
    (
        "the table is renamed",
        "ALTER TABLE s.t RENAME TO r",
        "ALTER TABLE s.r RENAME TO t",
        Some(""),
        Rows::Stay,
    ),
    ("tables exchange names", EXCHANGE_TABLES, EXCHANGE_TABLES, Some(""), Rows::Stay),
    (
        "the schema is renamed",
        "ALTER SCHEMA s RENAME TO z",
        "ALTER SCHEMA z RENAME TO s",
        Some(""),
        Rows::Stay,
    ),
    ("schemas exchange names", EXCHANGE_SCHEMAS, EXCHANGE_SCHEMAS, Some(""), Rows::Stay),
    ("the table moves", "ALTER TABLE s.t SET SCHEMA c", "ALTER TABLE c.t SET SCHEMA s", Some(""), Rows::Stay),
    (
        "a column is added",
        "ALTER TABLE s.t ADD more int DEFAULT 5",
        "",
        Some("ALTER TABLE s.t DROP more"),
        Rows::Stay,
    ),
    (
        "a column is dropped",
        "ALTER TABLE s.t DROP gone",
        "",
        Some("ALTER TABLE s.t ADD gone int"),
        Rows::Stay,
    ),
    (
        "a column has another type",
        "ALTER TABLE s.t ALTER gone TYPE text",
        "",
        Some("ALTER TABLE s.t ALTER gone TYPE int USING NULL"),
        Rows::Stay,
    ),
    (
        "a partition is attached",
        "CREATE TABLE s.t1 (LIKE s.t INCLUDING ALL); INSERT INTO s.t1 (n, part) VALUES (11, 1), (12, 1);
         ALTER TABLE s.t ATTACH PARTITION s.t1 FOR VALUES IN (1)",
        "",
        Some("DROP TABLE s.t1"),
        Rows::Come,
    ),
    (
        "a partition is detached",
        "ALTER TABLE s.t DETACH PARTITION s.t2",
        "",
        Some("ALTER TABLE s.t ATTACH PARTITION s.t2 FOR VALUES IN (2)"),
        Rows::Go,
    ),
    (
        "it has another owner",
        "ALTER TABLE s.t OWNER TO other",
        "GRANT SELECT ON s.t TO reader",
        Some("ALTER TABLE s.t OWNER TO postgres; GRANT SELECT ON s.t TO reader"),
        Rows::Stay,
    ),
    (
        "a right is taken away",
        "REVOKE SELECT ON s.t FROM reader",
        "GRANT SELECT ON s.t TO reader",
        Some(""),
        Rows::Stay,
    ),
    ("the index is dropped", "DROP INDEX s.t_id", "", Some("CREATE INDEX t_id ON s.t (id)"), Rows::Stay),
    ("the table is emptied", "TRUNCATE s.t", "", Some(""), Rows::Go),
    (
        "the role is renamed",
        "ALTER ROLE reader RENAME TO other_reader",
        "ALTER ROLE other_reader RENAME TO reader",
        Some(""),
        Rows::Stay,
    ),
    (
        "a row comes",
        "INSERT INTO s.t (n) VALUES (11); INSERT INTO s.t (n) VALUES (12)",
        "",
        Some(""),
        Rows::Come,
    ),
    (
        "row security is enabled",
        "ALTER TABLE s.t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON s.t USING (true)",
        "DROP POLICY p ON s.t; ALTER TABLE s.t DISABLE ROW LEVEL SECURITY",
        Some(""),
        Rows::Stay,
    ),
    (
        "the role is dropped",
        "DROP OWNED BY reader; DROP ROLE reader",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA s, q, c TO reader; GRANT ALL ON c.copy TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA s, q TO reader",
        None,
        Rows::Stay,
    ),
    (
        "it is dropped and another one is made",
        "DROP TABLE s.t; ALTER TABLE s.o RENAME TO t",
        "",
        None,
        Rows::Other,
    ),
    (
        "the horizons are lowered",
        "SELECT sno_lower_horizon(); INSERT INTO s.t (n) VALUES (11); INSERT INTO s.t (n) VALUES (12)",
        "",
        None,
        Rows::Twice,
    ),
];

const EXCHANGE_KEYS: &str =
    "ALTER TABLE s.k RENAME id TO z; ALTER TABLE s.k RENAME other TO id; ALTER TABLE s.k RENAME z TO other";
const EXCHANGE_COLUMNS: &str =
    "ALTER TABLE s.t RENAME id TO z; ALTER TABLE s.t RENAME other TO id; ALTER TABLE s.t RENAME z TO other";
const EXCHANGE_TABLES: &str =
    "ALTER TABLE s.t RENAME TO z; ALTER TABLE s.o RENAME TO t; ALTER TABLE s.z RENAME TO o";
const EXCHANGE_SCHEMAS: &str =
    "ALTER SCHEMA s RENAME TO z; ALTER SCHEMA q RENAME TO s; ALTER SCHEMA z RENAME TO q";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// All have to be read.
    Stay,
    /// They need not be.
    Go,
    /// 11 and 12 come.
    Come,
    /// They come, too, and any row may come once more: the clock was fast.
    Twice,
    /// There is nothing to read any more.
    Other,
}

/// What has come of a case.
#[derive(PartialEq, Eq)]
enum End {
    /// It was stopped at a point that does not exist: the call has fewer.
    NoSuchPoint,
    /// The change waits for the call.
    Waits,
    Changed,
}

/// The sessions, and the tables of a source.
struct Place<'a> {
    server: &'a Server,
    source: &'a Source,
    admin: Client,
    other: Client,
    reader: Client,
    /// It reads what the reader has not read.
    last: Client,
}

impl<'a> Place<'a> {
    fn new(server: &'a Server, source: &'a Source) -> Self {
        let (mut admin, other) = (server.connect(), server.connect());
        admin.run(CLEAN);
        admin.run(PREPARE);
        admin.run(source.setup);
        let [reader, last] = [server.connect_as("reader"), server.connect_as("reader")];
        Self { server, source, admin, other, reader, last }
    }
}

#[derive(Clone, Copy)]
struct Case<'a> {
    source: &'a Source,
    call: (&'a str, &'a str, &'a str),
    change: Change,
    point: u64,
}

impl<'a> Case<'a> {
    fn text(&self, sql: &str) -> String {
        let Source { feed, source, table, key, number, .. } = self.source;
        let names = [("FEED", feed), ("ROWS", source), ("TABLE", table), ("KEY", key), ("NUMBER", number)];
        names.iter().fold(sql.to_owned(), |sql, (name, value)| sql.replace(name, value))
    }

    fn position(&self, client: &mut Client) -> Option<String> {
        client.one(&format!("SELECT position::text FROM sno_feeds() WHERE feed = '{}'", self.source.feed))
    }

    /// Reads until nothing comes, also of the future. A feed that goes back returns nothing then.
    fn read_all(&self, server: &Server, client: &mut Client) {
        let mut in_vain = 0;
        while in_vain < 2 {
            server.advance_clock(if self.is_fast() { FAST } else { 0.01 });
            let rows = client.execute(&self.text(CALLS[0].2), &[]);
            let rows = rows.unwrap_or_else(|error| panic!("{}: {error:?}", self.title()));
            in_vain = if rows == 0 { in_vain + 1 } else { 0 };
        }
    }

    /// Whether the clock is fast until the change.
    fn is_fast(&self) -> bool {
        self.change.0 == "the horizons are lowered"
    }

    fn title(&self) -> String {
        format!("{} at point {} of {}, feed {}", self.change.0, self.point, self.call.0, self.source.feed)
    }

    /// In a place that is as new, or in a new one, and leaves it as new, or none.
    fn run(&self, server: &'a Server, place: &mut Option<Place<'a>>) -> End {
        let mut here = place.take().unwrap_or_else(|| Place::new(server, self.source));
        let (before, call) = self.prepare(&mut here);
        let Place { admin, other, reader, .. } = &mut here;
        let pid: i32 = reader.one("SELECT pg_backend_pid()");
        admin.run(&format!(
            "SELECT pg_advisory_lock(hashtextextended('point', {pid} * 1048576::bigint + {}))",
            self.point
        ));
        let changed = Cell::new(false);
        let (stopped, result) = thread::scope(|scope| {
            let running = scope.spawn(|| reader.batch_execute(&call));
            wait_until("a call that stops or ends", || {
                running.is_finished()
                    || admin.one(
                        "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)",
                    )
            });
            let stopped = !running.is_finished();
            if stopped {
                other.run("SET lock_timeout = '5ms'");
                if self.is_fast() {
                    server.advance_clock(-FAST);
                }
                let change = other.batch_execute(self.change.1);
                changed.set(change.is_ok());
                let waits = |error: &Error| error.code().is_some_and(|code| code.code() == "55P03");
                assert!(change.as_ref().err().is_none_or(waits), "{}: {change:?}", self.title());
            }
            admin.run("SELECT pg_advisory_unlock_all()");
            (stopped, running.join().unwrap())
        });
        self.check_error(&result);
        let _ = reader.batch_execute(if result.is_ok() { "COMMIT" } else { "ROLLBACK" });
        let end = match (stopped, changed.get()) {
            (false, _) => End::NoSuchPoint,
            (_, false) => End::Waits,
            (_, true) => End::Changed,
        };
        if stopped {
            self.read_what_is_left(&mut here, before, end == End::Changed);
        }
        let back = if end == End::Changed { self.change.3 } else { Some("") };
        // The partitions of a table are for the next minutes only.
        if let Some(back) = back.filter(|_| !self.is_fast() && self.source.feed != "r") {
            here.admin.run(back);
            *place = Some(here);
        }
        end
    }

    /// Rows that were read and others; the position of the feed, and what the reader calls next.
    fn prepare(&self, here: &mut Place) -> (Option<String>, String) {
        let Place { server, admin, reader, .. } = here;
        admin.run("DELETE FROM c.copy");
        admin.run(self.source.first);
        server.advance_clock(if self.is_fast() { FAST } else { 0.01 });
        reader.run("DEALLOCATE ALL");
        reader.run(&self.text(CALLS[0].2));
        admin.run(self.source.rows);
        // A transaction block reads them at its second call only.
        if !self.call.1.is_empty() {
            reader.run(&self.text(self.call.1));
        }
        server.advance_clock(0.01);
        (self.position(admin), self.text(self.call.2))
    }

    fn read_what_is_left(&self, here: &mut Place, before: Option<String>, has_changed: bool) {
        if has_changed {
            here.admin.run(self.change.2);
        }
        let after = self.position(&mut here.admin);
        let is_right = self.is_fast() || before <= after;
        assert!(is_right, "{}: back from {before:?} to {after:?}", self.title());
        if has_changed && self.change.3.is_none() {
            here.last = here.server.connect_as("reader");
        }
        if !(has_changed && self.change.4 == Rows::Other) {
            self.read_all(here.server, &mut here.last);
        }
        self.check_rows(&mut here.admin, has_changed);
    }

    /// An error that a consumer can act on.
    fn check_error(&self, result: &Result<(), Error>) {
        if let Err(error) = result {
            let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
            let known = ["3F000", "0A000", "40001", "42501", "42703", "42704", "42804", "42P01", "55000"];
            // This one has a function with a lock_timeout, for which to be stopped is to wait for a lock.
            let waits = code == "55P03" && self.call.0 == "what is read is forgotten";
            // PostgreSQL's own: a type that a statement names can be dropped while that is analyzed or begins.
            let is_dropped = error.as_db_error().is_some_and(|error| {
                error.message().starts_with("cache lookup failed for type")
                    && error.routine() == Some("format_type_extended")
                    || error.message() == "function in FROM has unsupported return type"
            });
            assert!(known.contains(&code.as_str()) || waits || is_dropped, "{}: {error:?}", self.title());
        }
    }

    fn check_rows(&self, admin: &mut Client, has_changed: bool) {
        // A row that was deleted has no number.
        let query = "SELECT array_agg(n ORDER BY n) FROM c.copy WHERE n IS NOT NULL";
        let mut rows: Vec<i32> = admin.one(query);
        let mut expected = vec![1, 2, 3, 4, 5];
        if has_changed && matches!(self.change.4, Rows::Come | Rows::Twice) {
            expected.extend([11, 12]);
        }
        if self.is_fast() || self.change.4 == Rows::Twice {
            rows.dedup();
        }
        if has_changed && matches!(self.change.4, Rows::Go | Rows::Other) {
            let all = rows.len();
            rows.dedup();
            assert_eq!(rows.len(), all, "{}: twice", self.title());
            expected.retain(|n| rows.contains(n));
        }
        assert_eq!(rows, expected, "{}", self.title());
    }
}

fn server() -> Server {
    let server = Server::builder().faketime(true).start();
    server.run("CREATE ROLE reader LOGIN; CREATE ROLE other");
    server
}

/// What was read by a clock that was fast is deleted, while the clock is set right, and new rows come below it.
#[test]
fn what_is_forgotten_was_read() {
    let server = server();
    let source = SOURCES.iter().find(|source| source.feed == "k").unwrap();
    let of = |name| move |(other, ..): &&(&str, _, _, _, _)| *other == name;
    let change = *source.changes.iter().find(of("the horizons are lowered")).unwrap();
    let call = *source.calls.iter().find(|call| call.0 == "what is read is forgotten").unwrap();
    let mut place = None;
    let ends = (1..).map(|point| Case { source, call, change, point }.run(&server, &mut place));
    let changed = ends.take_while(|end| *end != End::NoSuchPoint).filter(|end| *end == End::Changed).count();
    assert!(changed > 5, "{changed}");
}

#[test]
fn every_change_at_every_point() {
    let is_long = env::var("SNO_FAULTS").is_ok_and(|form| form == "long");
    let pairs: Vec<Case> = SOURCES
        .iter()
        .flat_map(|source| source.calls.iter().map(move |&call| (source, call)))
        .flat_map(|(source, call)| {
            source.changes.iter().map(move |&change| Case { source, call, change, point: 1 })
        })
        .collect();
    let [next, cases, changed] = [const { AtomicUsize::new(0) }; 3];
    let seed = Random::seeded();
    // A case waits for its sessions most of the time.
    in_parallel(if is_long { 6 } else { 1 }, |number| {
        let (server, mut random) = (server(), seed.of_thread(number));
        let mut place: Option<Place> = None;
        while let Some(&(mut case)) = pairs.get(next.fetch_add(1, Relaxed)) {
            // The first case of all points begins with sessions that know nothing yet.
            place = place.filter(|place| !is_long && place.source.feed == case.source.feed);
            if !is_long {
                case.point += random.below(20) as u64;
            }
            loop {
                let end = case.run(&server, &mut place);
                cases.fetch_add(1, Relaxed);
                changed.fetch_add(usize::from(end == End::Changed), Relaxed);
                case.point += 1;
                if !is_long || end == End::NoSuchPoint {
                    break;
                }
            }
        }
    });
    let [pairs, cases, changed] = [pairs.len(), cases.into_inner(), changed.into_inner()];
    println!("{pairs} pairs, {cases} cases, {changed} changes that did not wait");
    assert!(changed > 20, "{changed} of {cases}");
}
