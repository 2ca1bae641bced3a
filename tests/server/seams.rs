//! What is changed between two steps of a call, at each point where the library can be stopped: each row comes once, or an error says why it
//! does not, and the position of a feed goes forward. All points with `SNO_FAULTS=long`, otherwise one of each pair, at random.

use std::cell::Cell;
use std::{env, thread};

use sno_tests::postgres::{Client, Error};
use sno_tests::{Random, Server, Sql as _, wait_until};

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
    rows: &'static str,
    calls: &'static [(&'static str, &'static str, &'static str)],
    changes: &'static [Change],
}

/// What another session changes, what undoes it, and what it does to unread rows.
type Change = (&'static str, &'static str, &'static str, Rows);

const TABLE: Source = Source {
    feed: "t",
    source: "s.t",
    table: "s.t",
    key: "id",
    number: "n",
    setup: SETUP,
    rows: "INSERT INTO s.t (n, part) VALUES (3, 0); INSERT INTO s.t (n, part) VALUES (4, 0); INSERT INTO s.t (n, part) VALUES (5, 2)",
    calls: &CALLS,
    changes: &CHANGES,
};

const SOURCES: [Source; 5] = [
    TABLE,
    Source { feed: "v", source: "s.v", ..TABLE },
    Source {
        feed: "i",
        source: "s.i",
        table: "s.i",
        setup: "CREATE TABLE s.i (id sno PRIMARY KEY DEFAULT sno_new(1), n int); CREATE TABLE s.i2 (LIKE s.i INCLUDING ALL);
            ALTER TABLE s.i2 INHERIT s.i; GRANT SELECT ON s.i TO reader; SET ROLE reader; SELECT sno_create_feed('i', 's.i', margin => '0');
            RESET ROLE; INSERT INTO s.i (n) VALUES (1), (2)",
        rows: "INSERT INTO s.i (n) VALUES (3), (4); INSERT INTO s.i2 (n) VALUES (5)",
        changes: &[
            (
                "a child comes",
                "CREATE TABLE s.i3 (LIKE s.i INCLUDING ALL); INSERT INTO s.i3 (n) VALUES (11), (12); ALTER TABLE s.i3 INHERIT s.i",
                "",
                Rows::Come,
            ),
            ("a child goes", "ALTER TABLE s.i2 NO INHERIT s.i", "", Rows::Go),
            ("a child is dropped", "DROP TABLE s.i2", "", Rows::Go),
        ],
        ..TABLE
    },
    Source {
        feed: "k",
        source: "s.k_changes",
        table: "s.k_log",
        key: "changed",
        number: "(record).n",
        setup: "CREATE TABLE s.k (id sno PRIMARY KEY DEFAULT sno_new(1), other sno DEFAULT sno_new(2), n int); ALTER TABLE s.k OWNER TO reader;
            GRANT CREATE ON SCHEMA s TO reader; SET ROLE reader; SELECT sno_track_changes('s.k');
            SELECT sno_create_feed('k', 's.k_changes', key => 'changed', margin => '0'); RESET ROLE; INSERT INTO s.k (n) VALUES (1), (2)",
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
            ("what is read is forgotten", "SELECT sno_forget_changes('s.k')", "", Rows::Stay),
            ("it is tracked again", "SELECT sno_track_changes('s.k')", "", Rows::Stay),
            ("its key is renamed", "ALTER TABLE s.k RENAME id TO key", "ALTER TABLE s.k RENAME key TO id", Rows::Stay),
            ("its key and another column exchange names", EXCHANGE_KEYS, EXCHANGE_KEYS, Rows::Stay),
            ("the tracked table is renamed", "ALTER TABLE s.k RENAME TO z", "ALTER TABLE s.z RENAME TO k", Rows::Stay),
            ("the log is renamed", "ALTER TABLE s.k_log RENAME TO z", "ALTER TABLE s.z RENAME TO k_log", Rows::Stay),
            ("a column is added", "ALTER TABLE s.k ADD more int DEFAULT 5", "", Rows::Stay),
            ("a row is changed", "INSERT INTO s.k (n) VALUES (11), (12); UPDATE s.k SET n = n WHERE n IN (2, 4)", "", Rows::Twice),
            ("rows are deleted", "DELETE FROM s.k WHERE n > 3", "", Rows::Go),
            ("the horizons are lowered", "SELECT sno_lower_horizon(); INSERT INTO s.k (n) VALUES (11); INSERT INTO s.k (n) VALUES (12)", "", Rows::Twice),
        ],
    },
    Source {
        feed: "r",
        source: "s.r",
        table: "s.r",
        setup: "CREATE TABLE s.r (id sno PRIMARY KEY DEFAULT sno_new(1), n int) PARTITION BY RANGE (id); ALTER TABLE s.r OWNER TO reader;
            GRANT CREATE ON SCHEMA s TO reader; SET ROLE reader;
            SELECT sno_create_partitions('s.r', '1 minute', now() - interval '1 minute', now() + interval '3 minutes');
            SELECT sno_create_feed('r', 's.r', margin => '0'); RESET ROLE; INSERT INTO s.r (n) VALUES (1), (2)",
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
            ("partitions are kept", KEEP_PARTITIONS, "", Rows::Stay),
            ("rows come to new partitions", "SELECT sno_create_partitions('s.r', '1 minute', now(), now() + interval '9 minutes'); INSERT INTO s.r (n) VALUES (11), (12)", "", Rows::Come),
            ("the horizons are lowered", "SELECT sno_lower_horizon(); INSERT INTO s.r (n) VALUES (11); INSERT INTO s.r (n) VALUES (12)", "", Rows::Twice),
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
    CREATE FUNCTION s.ok(int) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 <> 0; CREATE VIEW s.v AS SELECT id, n FROM s.t WHERE s.ok(n);
    GRANT SELECT ON ALL TABLES IN SCHEMA s, q TO reader;
    SET ROLE reader; SELECT sno_create_feed('t', 's.t', key => 'id', margin => '0'), sno_create_feed('v', 's.v', margin => '0'); RESET ROLE;
    INSERT INTO s.t (n) VALUES (1), (2)";

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

const CHANGES: [Change; 26] = [
    ("a column is renamed", "ALTER TABLE s.t RENAME gone TO was", "", Rows::Stay),
    (
        "a column that is used is renamed",
        "ALTER TABLE s.t RENAME n TO m",
        "ALTER TABLE s.t RENAME m TO n",
        Rows::Stay,
    ),
    (
        "the key is renamed",
        "ALTER TABLE s.t RENAME id TO key",
        "ALTER TABLE s.t RENAME key TO id",
        Rows::Stay,
    ),
    ("the key and another column exchange names", EXCHANGE_COLUMNS, EXCHANGE_COLUMNS, Rows::Stay),
    ("the table is renamed", "ALTER TABLE s.t RENAME TO r", "ALTER TABLE s.r RENAME TO t", Rows::Stay),
    ("tables exchange names", EXCHANGE_TABLES, EXCHANGE_TABLES, Rows::Stay),
    ("the schema is renamed", "ALTER SCHEMA s RENAME TO z", "ALTER SCHEMA z RENAME TO s", Rows::Stay),
    ("schemas exchange names", EXCHANGE_SCHEMAS, EXCHANGE_SCHEMAS, Rows::Stay),
    ("the table moves", "ALTER TABLE s.t SET SCHEMA c", "ALTER TABLE c.t SET SCHEMA s", Rows::Stay),
    ("a column is added", "ALTER TABLE s.t ADD more int DEFAULT 5", "", Rows::Stay),
    ("a column is dropped", "ALTER TABLE s.t DROP gone", "", Rows::Stay),
    ("a column has another type", "ALTER TABLE s.t ALTER gone TYPE text", "", Rows::Stay),
    (
        "a partition is attached",
        "CREATE TABLE s.t1 (LIKE s.t INCLUDING ALL); INSERT INTO s.t1 (n, part) VALUES (11, 1), (12, 1);
         ALTER TABLE s.t ATTACH PARTITION s.t1 FOR VALUES IN (1)",
        "",
        Rows::Come,
    ),
    ("a partition is detached", "ALTER TABLE s.t DETACH PARTITION s.t2", "", Rows::Go),
    (
        "the view is replaced",
        "CREATE OR REPLACE VIEW s.v AS SELECT id, n FROM s.t WHERE n < 1000",
        "",
        Rows::Stay,
    ),
    (
        "its function is replaced",
        "CREATE OR REPLACE FUNCTION s.ok(int) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 < 1000",
        "",
        Rows::Stay,
    ),
    (
        "it has another owner",
        "ALTER TABLE s.t OWNER TO other; ALTER VIEW s.v OWNER TO other",
        "GRANT SELECT ON s.t, s.v TO reader",
        Rows::Stay,
    ),
    (
        "a right is taken away",
        "REVOKE SELECT ON s.t, s.v FROM reader",
        "GRANT SELECT ON s.t, s.v TO reader",
        Rows::Stay,
    ),
    ("the index is dropped", "DROP INDEX s.t_id", "", Rows::Stay),
    ("the table is emptied", "TRUNCATE s.t", "", Rows::Go),
    (
        "the role is renamed",
        "ALTER ROLE reader RENAME TO other_reader",
        "ALTER ROLE other_reader RENAME TO reader",
        Rows::Stay,
    ),
    ("a row comes", "INSERT INTO s.t (n) VALUES (11); INSERT INTO s.t (n) VALUES (12)", "", Rows::Come),
    (
        "row security is enabled",
        "ALTER TABLE s.t ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON s.t USING (true)",
        "DROP POLICY p ON s.t; ALTER TABLE s.t DISABLE ROW LEVEL SECURITY",
        Rows::Stay,
    ),
    (
        "the role is dropped",
        "DROP OWNED BY reader; DROP ROLE reader",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA s, q, c TO reader; GRANT ALL ON c.copy TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA s, q TO reader",
        Rows::Stay,
    ),
    (
        "it is dropped and another one is made",
        "DROP TABLE s.t CASCADE; ALTER TABLE s.o RENAME TO t; CREATE VIEW s.v AS SELECT id, n FROM s.t; GRANT SELECT ON s.v TO reader",
        "",
        Rows::Other,
    ),
    (
        "the horizons are lowered",
        "SELECT sno_lower_horizon(); INSERT INTO s.t (n) VALUES (11); INSERT INTO s.t (n) VALUES (12)",
        "",
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

struct Case<'a> {
    server: &'a Server,
    source: &'a Source,
    call: (&'a str, &'a str, &'a str),
    change: Change,
    point: u64,
}

impl Case<'_> {
    fn text(&self, sql: &str) -> String {
        let Source { feed, source, table, key, number, .. } = self.source;
        let names = [("FEED", feed), ("ROWS", source), ("TABLE", table), ("KEY", key), ("NUMBER", number)];
        names.iter().fold(sql.to_owned(), |sql, (name, value)| sql.replace(name, value))
    }

    fn position(&self, client: &mut Client) -> Option<String> {
        client.one(&format!("SELECT position::text FROM sno_feeds() WHERE feed = '{}'", self.source.feed))
    }

    /// Reads until nothing comes, also of the future. A feed that goes back returns nothing then.
    fn read_all(&self, client: &mut Client) {
        let mut in_vain = 0;
        while in_vain < 2 {
            self.server.advance_clock(if self.is_fast() { FAST } else { 0.01 });
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

    fn run(&self) -> End {
        let (mut admin, mut other) = (self.server.connect(), self.server.connect());
        let mut reader = self.server.connect_as("reader");
        admin.run(CLEAN);
        admin.run(PREPARE);
        admin.run(self.source.setup);
        self.server.advance_clock(if self.is_fast() { FAST } else { 0.01 });
        reader.run(&self.text(CALLS[0].2));
        admin.run(self.source.rows);
        // A transaction block reads them at its second call only.
        if !self.call.1.is_empty() {
            reader.run(&self.text(self.call.1));
        }
        self.server.advance_clock(0.01);
        let before = self.position(&mut admin);
        let pid: i32 = reader.one("SELECT pg_backend_pid()");
        admin.run(&format!(
            "SELECT pg_advisory_lock(hashtextextended('point', {pid} * 1048576::bigint + {}))",
            self.point
        ));
        let call = self.text(self.call.2);
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
                    self.server.advance_clock(-FAST);
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
        if !stopped {
            return End::NoSuchPoint;
        }
        if changed.get() && !self.change.2.is_empty() {
            admin.run(self.change.2);
        }
        let after = self.position(&mut admin);
        let is_right = self.is_fast() || before <= after;
        assert!(is_right, "{}: back from {before:?} to {after:?}", self.title());
        if !(changed.get() && self.change.3 == Rows::Other) {
            self.read_all(&mut self.server.connect_as("reader"));
        }
        self.check_rows(&mut admin, changed.get());
        if changed.get() { End::Changed } else { End::Waits }
    }

    /// An error that a consumer can act on.
    fn check_error(&self, result: &Result<(), Error>) {
        if let Err(error) = result {
            let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
            let known = ["3F000", "0A000", "40001", "42501", "42703", "42704", "42804", "42P01", "55000"];
            // PostgreSQL's own: a type that a statement names can be dropped while that is analyzed.
            let is_dropped = error.as_db_error().is_some_and(|error| {
                error.message().starts_with("cache lookup failed for type")
                    && error.routine() == Some("format_type_extended")
            });
            assert!(known.contains(&code.as_str()) || is_dropped, "{}: {error:?}", self.title());
        }
    }

    fn check_rows(&self, admin: &mut Client, has_changed: bool) {
        // A row that was deleted has no number.
        let query = "SELECT array_agg(n ORDER BY n) FROM c.copy WHERE n IS NOT NULL";
        let mut rows: Vec<i32> = admin.one(query);
        let mut expected = vec![1, 2, 3, 4, 5];
        if has_changed && matches!(self.change.3, Rows::Come | Rows::Twice) {
            expected.extend([11, 12]);
        }
        if self.is_fast() || self.change.3 == Rows::Twice {
            rows.dedup();
        }
        if has_changed && matches!(self.change.3, Rows::Go | Rows::Other) {
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
    let of = |name| move |(other, ..): &&(&str, _, _, _)| *other == name;
    let change = *source.changes.iter().find(of("the horizons are lowered")).unwrap();
    let call = *source.calls.iter().find(|call| call.0 == "what is read is forgotten").unwrap();
    let ends = (1..).map(|point| Case { server: &server, source, call, change, point }.run());
    let changed = ends.take_while(|end| *end != End::NoSuchPoint).filter(|end| *end == End::Changed).count();
    assert!(changed > 5, "{changed}");
}

#[test]
fn every_change_at_every_point() {
    let server = server();
    let is_long = env::var("SNO_FAULTS").is_ok_and(|form| form == "long");
    let mut random = Random::seeded();
    let (mut cases, mut changed) = (0, 0);
    for source in &SOURCES {
        for &call in source.calls {
            for &change in source.changes {
                let mut point = if is_long { 1 } else { 1 + random.below(20) as u64 };
                loop {
                    let end = Case { server: &server, source, call, change, point }.run();
                    cases += 1;
                    changed += usize::from(end == End::Changed);
                    point += 1;
                    if !is_long || end == End::NoSuchPoint {
                        break;
                    }
                }
            }
        }
    }
    println!("{cases} cases, {changed} changes that did not wait");
    assert!(changed > 20, "{changed} of {cases}");
}
