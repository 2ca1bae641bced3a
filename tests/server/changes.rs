//! Changes: `sno_track_changes()`, and what a copy that follows such a feed has in the end, whatever was done to the table. Under load and
//! crashes: `../faults/changes.rs`.

use std::thread;
use std::time::Duration;

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, major_version, plan, text, wait_until};

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
        thread::sleep(Duration::from_millis(8));
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

/// All ways to change rows, each from ten rows that are in the copy.
#[test]
fn a_copy_has_in_the_end_what_the_table_has() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE writer; GRANT SELECT, INSERT, UPDATE, DELETE ON items TO writer;
         CREATE TABLE lines (item integer PRIMARY KEY REFERENCES items ON DELETE CASCADE ON UPDATE CASCADE, n integer);
         SELECT sno_track_changes('lines'); SELECT sno_create_feed('lines', 'lines_changes', margin => '0');
         CREATE TABLE copy_of_lines (LIKE lines)",
    );
    let lines = Copy { feed: "lines", changes: "lines_changes", copy: "copy_of_lines", key: "item" };
    for sql in [
        "UPDATE items SET n = n + 1 WHERE id > 5",
        // No value but its key: not a deleted row.
        "UPDATE items SET n = NULL WHERE id = 3",
        "DELETE FROM items WHERE id > 5",
        // Of a key: to another, in a circle, away and back.
        "UPDATE items SET id = 20 WHERE id = 1",
        "UPDATE items SET id = -id; UPDATE items SET id = 11 + id",
        "BEGIN; DELETE FROM items WHERE id = 1; INSERT INTO items VALUES (1, 100); COMMIT",
        "BEGIN; INSERT INTO items VALUES (11, 1); DELETE FROM items WHERE id = 11; COMMIT",
        "INSERT INTO items VALUES (10, 0), (11, 0) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n",
        "INSERT INTO items VALUES (10, 0), (11, 0) ON CONFLICT DO NOTHING",
        "MERGE INTO items USING (VALUES (1), (2), (11)) s(id) ON items.id = s.id WHEN MATCHED AND s.id = 1 THEN DELETE
             WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 0)",
        "COPY items FROM PROGRAM 'printf \"11\\t1\\n12\\t2\\n\"'",
        "WITH gone AS (DELETE FROM items WHERE id < 5 RETURNING *) INSERT INTO items SELECT id + 100, n FROM gone",
        "BEGIN; SAVEPOINT s; UPDATE items SET n = 0; ROLLBACK TO s; DELETE FROM items WHERE id = 1; COMMIT",
        "DO $$ BEGIN UPDATE items SET n = 0; RAISE 'x'; EXCEPTION WHEN OTHERS THEN DELETE FROM items WHERE id = 1; END $$",
        "BEGIN; DELETE FROM items; ROLLBACK",
        "BEGIN; DELETE FROM items WHERE id < 5; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'",
        "TRUNCATE items CASCADE",
        "BEGIN; TRUNCATE items CASCADE; INSERT INTO items VALUES (1, 0), (11, 0); COMMIT",
        "TRUNCATE items, lines",
        // By a role without rights on the log, where rows are hidden from it.
        "ALTER TABLE items ENABLE ROW LEVEL SECURITY; CREATE POLICY even ON items USING (n % 2 = 0) WITH CHECK (true);
         SET ROLE writer; INSERT INTO items VALUES (11, 1); UPDATE items SET n = n + 2; DELETE FROM items WHERE id = 2; RESET ROLE;
         DROP POLICY even ON items; ALTER TABLE items DISABLE ROW LEVEL SECURITY",
        // As replication and loaders do.
        "SET session_replication_role = replica; INSERT INTO items VALUES (11, 1); UPDATE items SET n = 0 WHERE id = 1;
         DELETE FROM items WHERE id = 2; RESET session_replication_role",
        "SET session_replication_role = replica; TRUNCATE items CASCADE; RESET session_replication_role",
        // What changes no value.
        "UPDATE items SET n = n; VACUUM FULL items; CLUSTER items USING items_pkey; REINDEX TABLE items",
        "ALTER TABLE items ADD more text DEFAULT 'x'; ALTER TABLE items DROP more",
        "ALTER TABLE items RENAME TO things; UPDATE things SET n = 0 WHERE id = 1; TRUNCATE things CASCADE; ALTER TABLE things RENAME TO items",
    ] {
        client.run(
            "DELETE FROM lines; DELETE FROM items; INSERT INTO items SELECT n, n FROM generate_series(1, 10) n;
             INSERT INTO lines SELECT n, n FROM generate_series(1, 10) n",
        );
        ITEMS.check(&mut client, "ten rows");
        lines.check(&mut client, "ten lines");
        // One after the other: some can't be in a transaction.
        for statement in sql.split_inclusive(';').collect::<Statements>().0 {
            client.run(&statement);
        }
        ITEMS.check(&mut client, sql);
        lines.check(&mut client, sql);
    }
}

/// Statements, where one between $$ has semicolons of its own.
#[derive(Default)]
struct Statements(Vec<String>);

impl<'a> FromIterator<&'a str> for Statements {
    fn from_iter<T: IntoIterator<Item = &'a str>>(parts: T) -> Self {
        let mut statements = Self::default();
        for part in parts {
            match statements.0.last_mut() {
                Some(last) if last.matches("$$").count() % 2 == 1 => last.push_str(part),
                _ => statements.0.push(part.to_owned()),
            }
        }
        statements
    }
}

/// What is seen of rows that change without triggers, and how the copy gets right again.
#[test]
fn what_is_not_seen() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
         INSERT INTO parts VALUES (9, 9); SELECT sno_track_changes('parts'); SELECT sno_create_feed('parts', 'parts_changes', margin => '0');
         CREATE TABLE copy_of_parts (n integer, id integer)",
    );
    // Rows from before are none of its business.
    assert_eq!(text(&mut client, "SELECT count(*) FROM parts_log"), "0");
    client.run("DELETE FROM parts");
    client.run("DROP TABLE copy_of_parts; CREATE TABLE copy_of_parts (LIKE parts)");
    let parts = Copy { feed: "parts", changes: "parts_changes", copy: "copy_of_parts", key: "id" };
    // Partitions themselves are right, also those that come later, with their columns in another order, and rows that move.
    client.run(
        "INSERT INTO parts_1 SELECT n, n FROM generate_series(0, 9) n; UPDATE parts_1 SET n = 0 WHERE id = 1; DELETE FROM parts_1 WHERE id = 2;
         CREATE TABLE parts_2 (n integer, id integer NOT NULL); ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20);
         CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (20) TO (30);
         INSERT INTO parts_2 (id, n) VALUES (10, 1), (11, 1); INSERT INTO parts VALUES (20, 1), (22, 1); DELETE FROM parts_3 WHERE id = 20;
         UPDATE parts SET id = id + 10 WHERE id IN (11, 5);
         SET session_replication_role = replica; UPDATE parts_2 SET n = 7; UPDATE parts_3 SET n = 7; RESET session_replication_role",
    );
    parts.check(&mut client, "changes of partitions");
    client.run("TRUNCATE parts");
    parts.check(&mut client, "TRUNCATE");

    client.run("INSERT INTO parts SELECT n, n FROM generate_series(0, 29) n");
    parts.check(&mut client, "thirty rows");
    // From here on the log knows all of them.
    client.run("SELECT sno_forget_changes('parts'); TRUNCATE parts_1, parts_3");
    parts.check(&mut client, "TRUNCATE of partitions");
    client.run("INSERT INTO parts SELECT n, n FROM generate_series(20, 29) n");
    let read = "SELECT FROM sno_feed('parts', NULL::parts_changes)";
    for (sql, known) in [
        ("ALTER TABLE parts DETACH PARTITION parts_2", "parts_2"),
        ("ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20)", "parts_1"),
        ("ALTER TABLE parts DETACH PARTITION parts_3", "parts_3"),
    ] {
        client.run(sql);
        assert_eq!(code(&mut client, read), "55000", "{sql}");
        assert_eq!(code(&mut client, "SELECT FROM parts_changes"), "55000", "{sql}");
        assert_eq!(code(&mut client, &format!("DROP TABLE {known}")), "2BP01", "{sql}");
        client.run("SELECT sno_track_changes('parts')");
        parts.check(&mut client, sql);
    }
    client.run("DROP TABLE parts_3");
    parts.check(&mut client, "DROP of a partition that was detached");
    client.run("DROP TABLE parts_2 CASCADE");
    assert_eq!(code(&mut client, read), "55000");
    assert_eq!(code(&mut client, "SELECT sno_forget_changes('parts')"), "55000");
    client.run("SELECT sno_track_changes('parts'); DELETE FROM copy_of_parts WHERE id BETWEEN 10 AND 19; INSERT INTO parts VALUES (1, 1)");
    parts.check(&mut client, "DROP with CASCADE");
    client.run("DELETE FROM parts");

    let all = "INSERT INTO items_log (id) SELECT id FROM items";
    for (sql, wrong, cure) in [
        ("ALTER TABLE items ALTER n TYPE bigint USING n + 1", (10, 10), all),
        ("ALTER TABLE items ADD more integer DEFAULT 1; ALTER TABLE copy ADD more integer", (10, 10), all),
        (
            "ALTER TABLE items DISABLE TRIGGER ALL; UPDATE items SET n = 0 WHERE id = 1",
            (1, 1),
            "SELECT sno_track_changes('items')",
        ),
    ] {
        client.run(sql);
        ITEMS.follow(&mut client);
        assert_eq!(ITEMS.wrong(&mut client), wrong, "{sql}");
        client.run(cure);
        client.run(all);
        ITEMS.check(&mut client, cure);
    }
    // ENABLE TRIGGER ALL, as pg_restore --disable-triggers has it, takes "always" away, and sno_track_changes() sets it again.
    for (state, wrong) in [
        ("items ENABLE TRIGGER ALL; SELECT 1", (1, 1)),
        ("items DISABLE TRIGGER ALL; SELECT sno_track_changes('items')", (0, 0)),
    ] {
        client.run(&format!("ALTER TABLE {state}"));
        client.run("SET session_replication_role = replica; UPDATE items SET n = n + 1 WHERE id = 1; RESET session_replication_role");
        ITEMS.follow(&mut client);
        assert_eq!(ITEMS.wrong(&mut client), wrong, "{state}");
    }
    client.run("ALTER TABLE parts DISABLE TRIGGER ALL; SELECT sno_track_changes('parts')");
    client.run("SET session_replication_role = replica; INSERT INTO parts_1 VALUES (1, 1); RESET session_replication_role");
    parts.check(&mut client, "triggers of partitions that are enabled again");
}

/// What all feeds have read, and nothing else, is deleted from the log.
#[test]
fn the_log_is_cleared() {
    let server = server();
    let mut client = server.connect();
    let forget = "SELECT sno_forget_changes('items')";
    client.run("SELECT sno_drop_feed('search'); UPDATE items SET n = n");
    assert_eq!(client.one::<i64>(forget), 0, "without a feed");
    client.run("SELECT sno_create_feed('search', 'items_changes', margin => '0')");
    client.run("CREATE VIEW even AS SELECT * FROM items_changes WHERE id % 2 = 0; SELECT sno_create_feed('other', 'even', margin => '0')");
    ITEMS.check(&mut client, "one feed");
    assert_eq!(client.one::<i64>(forget), 0, "one feed has read nothing");
    client.run("SELECT sno_feed('other', NULL::even)");
    client.run("UPDATE items SET n = n WHERE id > 5");
    ITEMS.check(&mut client, "the other one");
    assert_eq!(client.one::<i64>(forget), 10);
    assert_eq!(client.one::<i64>("SELECT count(*) FROM items_log"), 5);
    // A consumer that has not committed has read nothing.
    let mut consumer = server.connect();
    consumer.run("BEGIN; SELECT sno_feed('other', NULL::even)");
    assert_eq!(client.one::<i64>(forget), 0);
    consumer.run("ROLLBACK");
    assert_eq!(client.one::<i64>("SELECT count(*) FROM sno_feed('other', NULL::even)"), 3);
    assert_eq!(client.one::<i64>(forget), 5);
    // Of another key than that of the log.
    client.run("CREATE VIEW moved AS SELECT sno_new() AS changed, id FROM items_changes; SELECT sno_create_feed('moved', 'moved', margin => '0')");
    client.run("UPDATE items SET n = n");
    ITEMS.check(&mut client, "a feed by another column");
    client.run("SELECT sno_feed('other', NULL::even), sno_seek_feed('moved', now())");
    assert_eq!(client.one::<i64>(forget), 0);
    client.run("SELECT sno_drop_feed('moved')");
    assert_eq!(client.one::<i64>(forget), 10);
}

#[test]
fn refusals() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE without (id integer); CREATE UNLOGGED TABLE unlogged (id integer PRIMARY KEY);
         CREATE TEMP TABLE temporary (id integer PRIMARY KEY); CREATE VIEW view AS TABLE items; CREATE SEQUENCE sequence;
         CREATE TABLE parent (id integer PRIMARY KEY); CREATE TABLE child () INHERITS (parent);
         CREATE TABLE parts (id integer PRIMARY KEY) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10);
         CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
         CREATE FOREIGN TABLE file (id integer) SERVER files OPTIONS (filename '/dev/null');
         CREATE TABLE changed (id integer, changed sno, PRIMARY KEY (id, changed)); CREATE TABLE record (record integer PRIMARY KEY);
         CREATE TABLE a23456789_123456789_123456789_123456789_123456789_123456 (id integer PRIMARY KEY);
         CREATE TABLE taken (id integer PRIMARY KEY); CREATE INDEX taken_log ON taken (id);
         CREATE TABLE taken2 (id integer PRIMARY KEY); CREATE VIEW taken2_changes AS TABLE taken2;
         CREATE TABLE taken3 (id integer PRIMARY KEY); CREATE FUNCTION taken3_log() RETURNS integer LANGUAGE SQL RETURN 1;
         CREATE ROLE alice LOGIN; CREATE TABLE forced (id integer PRIMARY KEY); ALTER TABLE forced FORCE ROW LEVEL SECURITY, OWNER TO alice",
    );
    let mut cases = r#"
        42809 without: It has no primary key.
        42809 unlogged: It is an unlogged table, which a crash empties.
        42809 temporary: It is a temporary table.
        42809 view: It is not a table.
        42809 sequence: It is not a table.
        42809 pg_class: It is a system catalog.
        42809 file: It is a foreign table.
        42809 parent: Other tables inherit from it.
        42809 part: It is a partition.
        42809 forced: FORCE ROW LEVEL SECURITY hides rows from its owner: they would look deleted.
        42701 changed: The view of its changes has a column of this name.
        42701 record: The view of its changes has a column of this name.
        42622 a23456789_123456789_123456789_123456789_123456789_123456: The name of the view is the name of the table and "_changes".
        42710 taken: "public.taken" needs this name for the log of its changes.
        42710 taken2: "public.taken2" needs this name for the log of its changes.
        42710 taken3: "public.taken3" needs this name for the log of its changes."#
        .to_owned();
    if major_version(&mut client) >= 18 {
        client.run("CREATE TABLE spans (rooms int4range, during daterange, PRIMARY KEY (rooms, during WITHOUT OVERLAPS))");
        cases += "\n42809 spans: Its primary key has WITHOUT OVERLAPS.";
    }
    for case in cases.lines().skip(1) {
        let (code, rest) = case.trim().split_once(' ').unwrap();
        let (table, detail) = rest.split_once(": ").unwrap();
        let refused = error(&mut client, &format!("SELECT sno_track_changes('{table}')"));
        assert_eq!((refused.code().code(), refused.detail()), (code, Some(detail)), "{table}: {refused:?}");
        assert!(refused.hint().is_some() || code == "42622", "{refused:?}");
    }
    for (call, code) in [
        ("sno_track_changes(NULL)", "22004"),
        ("sno_track_changes('taken', 256)", "22003"),
        ("sno_forget_changes('taken')", "55000"),
        ("sno_untrack_changes('taken')", "55000"),
        ("sno_untrack_changes('items')", "2BP01"),
    ] {
        assert_eq!(self::code(&mut client, &format!("SELECT {call}")), code, "{call}");
    }
    // Not what is not seen in the snapshot.
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        client.run(&format!("BEGIN ISOLATION LEVEL {level}"));
        assert_eq!(code(&mut client, "TRUNCATE items"), "25000");
        client.run("ROLLBACK");
    }
    let mut alice = server.connect_as("alice");
    assert_eq!(code(&mut alice, "SELECT sno_track_changes('taken')"), "42501");
    client.run("ALTER TABLE forced OWNER TO postgres; SELECT sno_track_changes('forced')");
}

/// All that belongs to tracking goes, and nothing else.
#[test]
fn untracked() {
    let server = server();
    let mut client = server.connect();
    let objects = "SELECT string_agg(o, ' ' ORDER BY o) FROM (
        SELECT relname FROM pg_class WHERE relname ~ '^(items|copy)' UNION ALL SELECT proname FROM pg_proc WHERE proname ~ '^items'
        UNION ALL SELECT tgname FROM pg_trigger WHERE tgname ~ 'log') objects(o)";
    // A feed of the log itself returns keys alone.
    client.run("SELECT sno_drop_feed('search'), sno_create_feed('keys', 'items_log')");
    assert_eq!(code(&mut client, "SELECT sno_untrack_changes('items')"), "2BP01");
    client.run("SELECT sno_drop_feed('keys'), sno_untrack_changes('items')");
    assert_eq!(text(&mut client, objects), "copy copy_pkey items items_pkey");
    client.run("SELECT sno_track_changes('items', 7); CREATE VIEW other AS TABLE items_changes");
    assert_eq!(code(&mut client, "SELECT sno_untrack_changes('items')"), "2BP01");
    client.run("INSERT INTO items VALUES (11, 1); DROP VIEW other");
    assert_eq!(client.one::<i32>("SELECT sno_metabyte(changed) FROM items_log"), 7);
    client.run("SELECT sno_untrack_changes('items'); INSERT INTO items VALUES (12, 1)");
    assert_eq!(text(&mut client, objects), "copy copy_pkey items items_pkey");
}

/// Again, as after an update of the extension: the function, the triggers and the view are new, the log and the feed go on.
#[test]
fn tracked_again() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "UPDATE items SET n = 0 WHERE id = 1;
         CREATE OR REPLACE FUNCTION items_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the old one'; END $$;
         CREATE OR REPLACE VIEW items_changes AS SELECT changed, id, NULL::items AS record FROM items_log;
         DROP TRIGGER sno_log_truncate ON items",
    );
    assert_eq!(error(&mut client, "DELETE FROM items").message(), "the old one");
    assert_eq!(text(&mut client, "SELECT sno_track_changes('items')"), "items_changes");
    client.run("UPDATE items SET n = 0 WHERE id = 2");
    ITEMS.check(&mut client, "tracked again");
    client.run("SELECT sno_track_changes('items'); TRUNCATE items");
    ITEMS.check(&mut client, "tracked again");
    let metabytes = "SELECT string_agg(DISTINCT sno_metabyte(changed)::text, ' ') FROM items_log";
    client.run("SELECT sno_track_changes('items', 7), sno_track_changes('items'); DELETE FROM items_log; INSERT INTO items VALUES (1, 1)");
    assert_eq!(text(&mut client, metabytes), "7");
    // With another name of the table and of its key: what changes it says so, up to then.
    client.run("ALTER TABLE items RENAME TO things; ALTER TABLE things RENAME id TO key");
    assert_eq!(code(&mut client, "UPDATE things SET n = 2"), "42703");
    assert_eq!(text(&mut client, "SELECT sno_track_changes('things')"), "items_changes");
    client.run("UPDATE things SET n = 2; INSERT INTO things VALUES (2, 2)");
    client.run("ALTER TABLE things RENAME key TO id; SELECT sno_track_changes('things'); UPDATE things SET n = 3 WHERE id = 2; ALTER TABLE things RENAME TO items");
    ITEMS.check(&mut client, "renamed");
    // A new column that others have added to the log stays.
    client.run("ALTER TABLE items_log ADD who name DEFAULT session_user; SELECT sno_track_changes('items'); UPDATE items SET n = 4");
    ITEMS.check(&mut client, "a column of the log");
}

/// Keys of several columns of any types, names of any characters, an extension that is in no path.
#[test]
fn keys_of_all_types() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(
        r#"CREATE SCHEMA "Ex t%s"; CREATE EXTENSION sno SCHEMA "Ex t%s"; CREATE SCHEMA others; CREATE EXTENSION citext SCHEMA others;
           CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN code AS varchar(5); CREATE TYPE pair AS (a integer, b text)"#,
    );
    // A server can be built without ICU.
    let icu = "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)";
    if client.batch_execute(icu).is_err() {
        client.run("CREATE COLLATION nocase (locale = 'C')");
    }
    // The columns, those of the key, and two rows.
    let kinds = r#"
        a integer, b text, c integer / b, a / 1, 'x', 0 / 1, 'y', 0
        a others.citext, c integer / a / 'Key', 0 / 'other', 0
        a varchar(9), b bpchar(5), c integer / a, b / 'x', 'y', 0 / 'x ', 'y', 0
        a text COLLATE "C", b text COLLATE nocase, c integer / a, b / 'x', 'y', 0 / 'X', 'y', 0
        a mood, b code, c integer / a, b / 'sad', 'x', 0 / 'happy', 'x', 0
        a integer[], b int4range, d pair, c integer / a, b, d / '{1,NULL}', '[1,5)', '(1,x)', 0 / '{1,2}', '[1,5)', '(1,x)', 0
        a numeric, b float8, d interval, c integer / a, b, d / 1.0, -0.0, '1 day', 0 / 1.01, 0, '24 hours', 0
        a inet, b bytea, d timestamptz, c integer / a, b, d / '::1', '\x00', 'infinity', 0 / '::1', '\x01', 'infinity', 0
        a "Ex t%s".sno, c integer / a / '9q7k4op826n2g222', 0 / '9q7k4op826n2g223', 0
        "it's ""%1$s, a" integer, c integer / "it's ""%1$s, a" / 1, 0 / 2, 0
        t integer, l integer, n integer, found integer, tg_op integer, c integer / t, l, n, found, tg_op / 1, 1, 1, 1, 1, 0 / 1, 1, 1, 1, 2, 0
        a integer, b integer, c integer, d integer GENERATED ALWAYS AS (a + b) STORED / d / 1, 2, 0 / 1, 3, 0"#;
    let mut number = 0;
    for kind in kinds.lines().skip(1) {
        let [columns, key, one, other] = kind.trim().split(" / ").collect::<Vec<_>>()[..] else {
            panic!("{kind}")
        };
        for name in ["plain", r#"it's ""%s %1$I --"#] {
            number += 1;
            client.run(&format!(
                r#"CREATE SCHEMA "s {number} '%s"; SET search_path = "s {number} '%s", public"#
            ));
            let (items, changes) = (format!("\"{name}\""), format!("\"{name}_changes\""));
            let call =
                |function: &str| format!(r#"SELECT "Ex t%s".{function}('{}')"#, items.replace('\'', "''"));
            client.run(&format!("CREATE TABLE {items} ({columns}, PRIMARY KEY ({key}) INCLUDE (c))"));
            client.run(&call("sno_track_changes"));
            // How many changes there are, and how many of them have a row.
            let logged = format!("SELECT count(*) || ' ' || count((record).c) FROM {changes}");
            for (sql, expected) in [
                (format!("INSERT INTO {items} VALUES ({one})"), "1 1"),
                (format!("UPDATE {items} SET c = 1"), "2 2"),
                (format!("DELETE FROM {items}"), "3 0"),
                (format!("INSERT INTO {items} VALUES ({other})"), "4 1"),
                (format!("INSERT INTO {items} VALUES ({one})"), "5 5"),
                (call("sno_track_changes"), "5 5"),
                (format!("TRUNCATE {items}"), "7 0"),
            ] {
                client.run(&sql);
                assert_eq!(text(&mut client, &logged), expected, "{columns}: {sql}");
            }
            client.run(&call("sno_untrack_changes"));
        }
    }
}

/// Of the owner of the table alone, whoever tracks it: what triggers do as him must be nothing that others choose.
#[test]
fn rights() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN IN ROLE alice; GRANT CREATE ON SCHEMA public TO PUBLIC;
         CREATE ROLE super LOGIN SUPERUSER; CREATE SCHEMA trap AUTHORIZATION bob",
    );
    let mut bob = server.connect_as("bob");
    bob.run(
        "CREATE FUNCTION trap.trapped(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
         CREATE OPERATOR trap.= (FUNCTION = trap.trapped, LEFTARG = text, RIGHTARG = text);
         CREATE OPERATOR trap.<> (FUNCTION = trap.trapped, LEFTARG = text, RIGHTARG = text)",
    );
    for who in ["alice", "carol", "super"] {
        let mut alice = server.connect_as("alice");
        alice.run("CREATE TABLE items (id integer PRIMARY KEY, n integer); GRANT SELECT, INSERT, UPDATE, DELETE, TRIGGER ON items TO bob");
        let mut tracker = server.connect_as(who);
        tracker.run("SELECT sno_track_changes('items')");
        bob.run("INSERT INTO items VALUES (1, 1), (2, 2)");
        thread::sleep(Duration::from_millis(8));
        alice.run("DELETE FROM items WHERE id = 2");
        assert_eq!(
            text(
                &mut alice,
                "SELECT string_agg(concat(id, record), ' ' ORDER BY changed) FROM items_changes"
            ),
            "1(1,1) 2 2"
        );
        for sql in [
            "SELECT FROM items_log",
            "INSERT INTO items_log (id) VALUES (1)",
            "SELECT FROM items_changes",
            "SELECT sno_create_feed('bob', 'items_changes')",
            "SELECT sno_forget_changes('items')",
            "SELECT sno_untrack_changes('items')",
            "SELECT sno_track_changes('items')",
            // Values of other types would be cast by functions of whoever has the table, as the owner of the log.
            "CREATE TABLE own (id text); CREATE TRIGGER own AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION items_log()",
        ] {
            assert_eq!(code(&mut bob, sql), "42501", "{sql}");
        }
        // Types of the session come before those of the schema.
        let mut other = server.connect_as("bob");
        other.run(
            "CREATE TYPE pg_temp.record AS (n integer, more integer); CREATE TEMP TABLE items_log (id integer);
             UPDATE items SET id = 7 WHERE id = 1",
        );
        assert_eq!(
            text(&mut alice, "SELECT count(*) FROM items_changes WHERE id = 7 OR record IS NULL"),
            "5"
        );
        // Nor do operators of others come before PostgreSQL's.
        other.run("SET search_path = trap, pg_catalog; UPDATE public.items SET n = 2; RESET search_path");
        other.run("DISCARD TEMP");
        let owners = "SELECT string_agg(DISTINCT o::regrole::text, ' ') FROM (
            SELECT relowner FROM pg_class WHERE relname ~ '^items' UNION ALL SELECT proowner FROM pg_proc WHERE proname = 'items_log') owners(o)";
        assert_eq!(text(&mut alice, owners), "alice");
        alice.run("GRANT SELECT ON items_changes TO bob");
        bob.run("SELECT sno_create_feed('bob', 'items_changes', margin => '0')");
        thread::sleep(Duration::from_millis(8));
        assert_eq!(text(&mut bob, "SELECT count(*) FROM sno_feed('bob', NULL::items_changes)"), "6");
        bob.run("SELECT sno_drop_feed('bob')");
        tracker.run(
            "SELECT sno_track_changes('items'), sno_forget_changes('items'), sno_untrack_changes('items')",
        );
        alice.run("DROP TABLE items");
    }
    // Whoever has a trigger of this name on a table can't have the objects of others replaced or dropped.
    let mut alice = server.connect_as("alice");
    alice.run("CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items'); GRANT EXECUTE ON FUNCTION items_log() TO bob");
    bob.run("CREATE TABLE own (id integer PRIMARY KEY); CREATE TRIGGER sno_log AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION items_log()");
    for call in ["sno_track_changes", "sno_forget_changes", "sno_untrack_changes"] {
        assert_eq!(code(&mut client, &format!("SELECT {call}('own')")), "55000", "{call}");
    }
    alice.run("CREATE FUNCTION own_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$");
    bob.run(
        "DROP TRIGGER sno_log ON own; CREATE TABLE own_log (changed sno, id integer); CREATE VIEW own_changes AS TABLE own_log;
         CREATE TRIGGER sno_log AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION own_log()",
    );
    for call in ["sno_track_changes", "sno_forget_changes", "sno_untrack_changes"] {
        assert_eq!(code(&mut client, &format!("SELECT {call}('own')")), "55000", "{call}");
    }
    // Nor does a table that another one owns now.
    client.run("ALTER TABLE items OWNER TO bob");
    assert_eq!(code(&mut client, "SELECT sno_track_changes('items')"), "55000");
    client.run("ALTER TABLE items_log OWNER TO bob; ALTER VIEW items_changes OWNER TO bob; ALTER FUNCTION items_log() OWNER TO bob");
    bob.run("SELECT sno_track_changes('items'); TRUNCATE items");
}

/// In the order of the log, whatever the statistics say, and each row by its key.
#[test]
fn plans() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE items (id integer PRIMARY KEY, n integer) WITH (autovacuum_enabled = off);
         SELECT sno_track_changes('items'); ALTER TABLE items_log SET (autovacuum_enabled = off); ANALYZE items, items_log;
         INSERT INTO items SELECT n, n FROM generate_series(1, 30000) n",
    );
    // As sno_feed() reads.
    client.run("SET enable_sort = off");
    for analyze in ["", "ANALYZE items, items_log"] {
        client.run(analyze);
        let plan = plan(
            &mut client,
            "COSTS off",
            "SELECT * FROM items_changes WHERE changed > '9222222222222222' AND changed <= 'xxxxxxxxxxxxxxxx' ORDER BY changed LIMIT 1000",
        );
        assert!(
            plan.contains("Index Scan using items_log_pkey") && plan.contains("Index Scan using items_pkey"),
            "{plan}"
        );
        assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{plan}");
    }
}

/// Up to where the rows of a table can be deleted: never beyond a feed that reads them, whatever it reads them by.
#[test]
fn what_all_feeds_have_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_new(1), n integer, item sno DEFAULT sno_new(2), UNIQUE (item));
         CREATE TABLE other (id sno PRIMARY KEY DEFAULT sno_new(1), n integer); CREATE TABLE without (n integer);
         CREATE VIEW even AS SELECT * FROM outbox WHERE n % 2 = 0; CREATE VIEW renamed AS SELECT id AS key, n FROM even;
         CREATE VIEW by_item AS SELECT item AS id, n FROM outbox; CREATE VIEW joined AS SELECT o.id, outbox.n FROM other o JOIN outbox USING (n);
         CREATE VIEW twice AS SELECT id FROM outbox UNION ALL SELECT id FROM outbox; CREATE VIEW computed AS SELECT sno_with_metabyte(id, 7) AS id FROM outbox;
         CREATE VIEW nested AS SELECT id FROM (SELECT item AS id FROM outbox) o;
         CREATE VIEW swapped AS SELECT item AS id FROM (SELECT id, item FROM outbox) o;
         INSERT INTO outbox (n) SELECT generate_series(1, 10); INSERT INTO other (n) SELECT generate_series(1, 10)",
    );
    thread::sleep(Duration::from_millis(8));
    let read = "SELECT count(*) FROM outbox WHERE id <= sno_read_by_all('outbox')";
    assert_eq!(client.one::<i64>(read), 0, "no feed");
    client.run("SELECT sno_create_feed('all', 'outbox', margin => '0'), sno_create_feed('other', 'other', margin => '0')");
    assert_eq!(client.one::<i64>(read), 0, "a feed that has read nothing");
    client.run("SELECT sno_feed('all', NULL::outbox, 4)");
    assert_eq!(client.one::<i64>(read), 4);
    for (view, key) in [("even", "id"), ("renamed", "key")] {
        client.run(&format!("SELECT sno_create_feed('view', '{view}', key => '{key}', margin => '0')"));
        assert_eq!(client.one::<i64>(read), 0, "{view}");
        client.run(&format!("SELECT sno_feed('view', NULL::{view}, 1)"));
        assert_eq!(client.one::<i64>(read), 2, "{view}");
        client.run("SELECT sno_drop_feed('view')");
        assert_eq!(client.one::<i64>(read), 4);
    }
    // By what is not the key of the table: nobody knows which rows were read.
    for view in ["by_item", "joined", "twice", "computed", "nested", "swapped"] {
        client.run(&format!("SELECT sno_create_feed('view', '{view}', now(), 'id', '0')"));
        assert_eq!(client.one::<i64>(read), 0, "{view}");
        client.run("SELECT sno_drop_feed('view')");
    }
    assert_eq!(client.one::<i64>("SELECT count(*) FROM without WHERE sno_read_by_all('without') IS NOT NULL OR sno_read_by_all('even') IS NOT NULL"), 0);
    let mut consumer = server.connect();
    consumer.run("BEGIN; SELECT sno_feed('all', NULL::outbox)");
    assert_eq!(client.one::<i64>(read), 4, "not committed");
    consumer.run("COMMIT");
    assert_eq!(client.execute("DELETE FROM outbox WHERE id <= sno_read_by_all('outbox')", &[]).unwrap(), 10);
    client.run("SELECT sno_drop_feed('all')");
    assert_eq!(client.one::<Option<String>>("SELECT sno_read_by_all('outbox')::text"), None);
    // The log of a table's changes has a key of its own, which is no place among the table's.
    client.run("SELECT sno_track_changes('outbox'); SELECT sno_create_feed('changes', 'outbox_changes', now(), 'changed', '0')");
    assert_eq!(client.one::<Option<String>>("SELECT sno_read_by_all('outbox')::text"), None);
    assert!(client.one::<bool>("SELECT sno_read_by_all('outbox_log') IS NOT NULL"));
}

#[test]
fn partitions_that_all_feeds_have_read() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), n integer) PARTITION BY RANGE (id);
         SELECT sno_create_partitions('log', '1 day', now() - interval '3 days', now() + interval '1 day');
         INSERT INTO log SELECT sno_new(1, now() - n * interval '1 day'), n FROM generate_series(0, 3) n;
         SELECT sno_create_feed('all', 'log', margin => '0')",
    );
    thread::sleep(Duration::from_millis(8));
    let maintain = "SELECT coalesce(string_agg(action, ' '), '') FROM sno_maintain_partitions('log', '1 day', 1, '1 hour', read_by_all => true)";
    let expire = "SELECT count(*)::text FROM sno_expire_partitions('log', now(), true, read_by_all => true)";
    for (feed, expected) in [("SELECT", ""), ("SELECT sno_feed('all', NULL::log, 2)", "detached")] {
        client.run(feed);
        assert_eq!(text(&mut client, maintain), expected);
    }
    assert_eq!(text(&mut client, expire), "0");
    // A feed of one partition reads rows of the table, too.
    let second = text(&mut client, "SELECT min(tableoid::regclass::text) FROM log");
    client.run(&format!(
        "SELECT sno_create_feed('part', '{second}', margin => '0'); SELECT sno_feed('all', NULL::log)"
    ));
    assert_eq!(text(&mut client, expire), "0");
    client.run(&format!("SELECT sno_feed('part', NULL::{second})"));
    assert_eq!(text(&mut client, expire), "2");
    assert_eq!(text(&mut client, "SELECT string_agg(n::text, ' ') FROM log"), "0");
    client.run("SELECT sno_drop_feed('part'), sno_drop_feed('all')");
    assert_eq!(text(&mut client, expire), "0");
    for (call, code) in [
        ("sno_maintain_partitions('log', '1 day', read_by_all => true)", "22023"),
        ("sno_expire_partitions('log', now(), read_by_all => NULL)", "22004"),
    ] {
        assert_eq!(self::code(&mut client, &format!("SELECT {call}")), code, "{call}");
    }
}

/// What a subscription applies has keys of this server's own log, also in partitions; but for a TRUNCATE that comes for each partition.
#[test]
fn subscribers() {
    for by_root in [true, false] {
        let builder = || Server::builder().conf("wal_level", "logical");
        let (publisher, subscriber) = (builder().start(), builder().start());
        let tables = "CREATE TABLE items (id integer PRIMARY KEY, n integer);
            CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
            CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
            CREATE TABLE plain (id sno PRIMARY KEY DEFAULT sno_new(1));";
        publisher.run(tables);
        publisher.run(&format!(
            "INSERT INTO items SELECT n, n FROM generate_series(1, 10) n;
             CREATE PUBLICATION everything FOR TABLE items, parts, plain WITH (publish_via_partition_root = {by_root})"
        ));
        let mut client = subscriber.connect();
        client.run(tables);
        client.run(
            "SELECT sno_track_changes('items'), sno_track_changes('parts');
             CREATE TABLE copy (LIKE items); CREATE TABLE copy_of_parts (LIKE parts)",
        );
        let source = publisher.connection_string();
        client.run(&format!("CREATE SUBSCRIPTION everything CONNECTION '{source}' PUBLICATION everything"));
        client.run(
            "SELECT sno_create_feed('search', 'items_changes', margin => '0'), sno_create_feed('parts', 'parts_changes', margin => '0');
             CREATE TABLE keys (id sno PRIMARY KEY); CREATE VIEW others AS SELECT keys.id, n FROM keys, items",
        );
        // Their keys are no log's.
        for source in ["others", "plain"] {
            assert_eq!(
                code(&mut client, &format!("SELECT sno_create_feed('other', '{source}')")),
                "42809",
                "{source}"
            );
        }
        publisher.run(
            "UPDATE items SET n = 0 WHERE id < 4; DELETE FROM items WHERE id > 8; UPDATE items SET id = 20 WHERE id = 5;
             INSERT INTO parts SELECT n, n FROM generate_series(1, 10) n; UPDATE parts SET n = 0 WHERE id < 4;
             DELETE FROM parts WHERE id > 8",
        );
        let parts = Copy { feed: "parts", changes: "parts_changes", copy: "copy_of_parts", key: "id" };
        for (change, seen) in [
            ("SELECT", (0, 0)),
            ("TRUNCATE items; INSERT INTO items VALUES (7, 7)", (0, 0)),
            ("INSERT INTO parts VALUES (17, 7)", (0, 0)),
            ("TRUNCATE parts; INSERT INTO items VALUES (8, 8)", (0, 0)),
        ] {
            publisher.run(change);
            let sums = "SELECT (SELECT concat(count(*), ' ', sum(id), ' ', sum(n)) FROM items)
                            || (SELECT concat(count(*), ' ', sum(id), ' ', sum(n)) FROM parts)";
            let sent = text(&mut publisher.connect(), sums);
            wait_until("the subscriber has all", || text(&mut client, sums) == sent);
            ITEMS.check(&mut client, change);
            parts.follow(&mut client);
            assert_eq!(parts.wrong(&mut client), seen, "{change}");
        }
    }
}
