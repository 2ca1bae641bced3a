//! `sno_track_changes()` and `sno_untrack_changes()`: refusals, what they create and leave, keys of all types, plans.

use sno_tests::{Server, Sql as _, code, error, major_version, plan, text};

use super::{ITEMS, server};

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
         CREATE TABLE ääääääääääääääääääääääääääää (id integer PRIMARY KEY);
         CREATE TABLE taken (id integer PRIMARY KEY); CREATE INDEX taken_log ON taken (id);
         CREATE TABLE taken2 (id integer PRIMARY KEY); CREATE VIEW taken2_changes AS TABLE taken2;
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
        42622 ääääääääääääääääääääääääääää: The name of the view is the name of the table and "_changes".
        42710 taken: "public.taken" needs this name for the log of its changes.
        42710 taken2: "public.taken2" needs this name for the log of its changes."#
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
    // No rows are hidden from a role with BYPASSRLS, nor from a superuser.
    client.run("GRANT CREATE ON SCHEMA public TO alice; ALTER ROLE alice BYPASSRLS");
    alice.run("SELECT sno_track_changes('forced'); SELECT sno_untrack_changes('forced')");
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

/// Again: the triggers and the view are new, the log and the feed go on.
#[test]
fn tracked_again() {
    let server = server();
    let mut client = server.connect();
    client.run(
        "UPDATE items SET n = 0 WHERE id = 1; DROP TRIGGER sno_log ON items; DROP TRIGGER sno_log_truncate ON items;
         CREATE TRIGGER sno_log AFTER INSERT ON items FOR EACH ROW WHEN ('items_log'::regclass IS NOT NULL)
             EXECUTE FUNCTION sno_internal.sno_log_changes();
         CREATE OR REPLACE VIEW items_changes AS SELECT changed, id, NULL::items AS record, false AS deleted
             FROM items_log WHERE sno_internal.check_changes('items')",
    );
    assert_eq!(text(&mut client, "SELECT sno_track_changes('items')"), "items_changes");
    client.run("UPDATE items SET n = 0 WHERE id = 2");
    ITEMS.check(&mut client, "tracked again");
    client.run("SELECT sno_track_changes('items'); TRUNCATE items");
    ITEMS.check(&mut client, "tracked again");
    let metabytes = "SELECT string_agg(DISTINCT sno_metabyte(changed)::text, ' ') FROM items_log";
    client.run("SELECT sno_track_changes('items', 7), sno_track_changes('items'); DELETE FROM items_log; INSERT INTO items VALUES (1, 1)");
    assert_eq!(text(&mut client, metabytes), "7");
    // Its key can be renamed as anything.
    client.run("ALTER TABLE items_log RENAME changed TO at; SELECT sno_track_changes('items', 8), sno_forget_changes('items')");
    ITEMS.check(&mut client, "a key of the log that was renamed");
    client.run("ALTER TABLE items_log RENAME at TO changed");
    // A new column that others have added to the log stays.
    client.run("ALTER TABLE items_log ADD who name DEFAULT session_user; SELECT sno_track_changes('items'); UPDATE items SET n = 4");
    ITEMS.check(&mut client, "a column of the log");
    // A key of another type, which only a table can get whose row type no view uses.
    client.run(
        "CREATE TABLE typed (id varchar(5) COLLATE \"C\" PRIMARY KEY); SELECT sno_track_changes('typed')",
    );
    let alter = |column: &str| {
        format!(
            "DROP VIEW typed_changes; ALTER TABLE typed ALTER id TYPE {column};
             CREATE VIEW typed_changes AS SELECT changed, id, NULL::typed AS record, false AS deleted FROM typed_log
                 WHERE sno_internal.check_changes('typed')"
        )
    };
    for other in ["varchar(9) COLLATE \"C\"", "varchar(5) COLLATE \"POSIX\""] {
        client.run(&alter(other));
        let refused = error(&mut client, "SELECT sno_track_changes('typed')");
        assert_eq!(
            refused.message(),
            "primary key of \"public.typed\" differs from the columns of its log",
            "{other}"
        );
        client.run(&alter("varchar(5) COLLATE \"C\""));
        client.run("SELECT sno_track_changes('typed')");
    }
}

/// Whatever is renamed or moved meanwhile, in whichever session, is followed without a word.
#[test]
fn renamed() {
    let server = server();
    let mut client = server.connect();
    let mut other = server.connect();
    for session in [&mut client, &mut other] {
        session.run("UPDATE items SET n = n + 1");
    }
    for (rename, back) in [
        ("TABLE items RENAME TO things", "TABLE things RENAME TO items"),
        ("TABLE items RENAME id TO key", "TABLE items RENAME key TO id"),
        ("TABLE items SET SCHEMA elsewhere", "TABLE elsewhere.items SET SCHEMA public"),
        ("TABLE items_log RENAME TO written", "TABLE written RENAME TO items_log"),
        ("TABLE items_log SET SCHEMA elsewhere", "TABLE elsewhere.items_log SET SCHEMA public"),
        ("VIEW items_changes RENAME TO changes", "VIEW changes RENAME TO items_changes"),
        ("SCHEMA public RENAME TO private", "SCHEMA private RENAME TO public"),
    ] {
        client.run(&format!("CREATE SCHEMA IF NOT EXISTS elsewhere; ALTER {rename}"));
        let table = text(&mut client, "SELECT tgrelid::regclass FROM pg_trigger WHERE tgname = 'sno_log'");
        let table = if table.contains('.') { table } else { format!("public.{table}") };
        let key = if rename.starts_with("TABLE items RENAME id") { "key" } else { "id" };
        for session in [&mut client, &mut other] {
            session.run(&format!(
                "UPDATE {table} SET n = n + 1; INSERT INTO {table} VALUES (100, 1); DELETE FROM {table} WHERE {key} = 100"
            ));
        }
        client.run(&format!("TRUNCATE {table}; INSERT INTO {table} VALUES (1, 1), (2, 2)"));
        client.run(&format!(
            "SELECT {}sno_track_changes('{table}')",
            if rename.starts_with("SCHEMA") { "private." } else { "" }
        ));
        client.run(&format!("ALTER {back}"));
        ITEMS.check(&mut client, rename);
    }
}

/// A key is that of the table, also in a partition with another primary key, and while a restore has not yet created any.
#[test]
fn keys_of_partitions() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE parts (id integer PRIMARY KEY, x integer) PARTITION BY RANGE (id); SELECT sno_track_changes('parts');
         CREATE TABLE part (x integer PRIMARY KEY, id integer NOT NULL, UNIQUE (id))",
    );
    let attach = "ALTER TABLE parts ATTACH PARTITION part FOR VALUES FROM (0) TO (9)";
    if client.batch_execute(attach).is_ok() {
        client.run("INSERT INTO parts VALUES (7, 8)");
        assert_eq!(text(&mut client, "SELECT string_agg(id::text, ' ') FROM parts_log"), "7");
    }
    client.run(
        "CREATE TABLE restored (x integer, id integer NOT NULL) PARTITION BY RANGE (id);
         CREATE TABLE restored_1 (id integer NOT NULL, x integer);
         ALTER TABLE restored ATTACH PARTITION restored_1 FOR VALUES FROM (0) TO (9);
         CREATE TABLE restored_log (changed sno PRIMARY KEY DEFAULT sno_new(0), id integer NOT NULL,
             CONSTRAINT sno_log CHECK ('restored'::regclass IS NOT NULL));
         CREATE TRIGGER sno_log AFTER INSERT ON restored FOR EACH ROW WHEN ('restored_log'::regclass IS NOT NULL)
             EXECUTE FUNCTION sno_internal.sno_log_changes();
         INSERT INTO restored_1 VALUES (7, 8)",
    );
    assert_eq!(text(&mut client, "SELECT id FROM restored_log"), "7");
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

/// Columns of the key that exchange their names: no row is logged under the key of another one.
#[test]
fn columns_of_the_key_that_exchange_their_names() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(
        "CREATE TABLE pairs (a int, gone int, b int, v text, PRIMARY KEY (a, b)) PARTITION BY RANGE (a); ALTER TABLE pairs DROP gone;
         CREATE TABLE pairs_1 (v text, b int NOT NULL, a int NOT NULL); ALTER TABLE pairs ATTACH PARTITION pairs_1 FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
         SELECT sno_track_changes('pairs'); INSERT INTO pairs (a, b) VALUES (1, 2), (2, 1)",
    );
    let exchange =
        "ALTER TABLE pairs RENAME a TO t; ALTER TABLE pairs RENAME b TO a; ALTER TABLE pairs RENAME t TO b";
    client.run(exchange);
    for change in [
        "UPDATE pairs SET v = 'x'",
        "DELETE FROM pairs",
        "TRUNCATE pairs",
        "INSERT INTO pairs (a, b) VALUES (3, 4)",
    ] {
        let refused = error(&mut client, change);
        assert_eq!(
            (refused.code().code(), refused.hint()),
            (
                "55000",
                Some(
                    "Undo the change of the key; or drop the feeds, use sno_untrack_changes() and sno_track_changes(), create the feeds, and fill the copies from the table."
                )
            ),
            "{change}: {refused:?}"
        );
    }
    assert_eq!(code(&mut client, "SELECT sno_track_changes('pairs')"), "55000");
    client.run(exchange);
    client.run("UPDATE pairs SET v = 'x'; ALTER TABLE pairs RENAME a TO first; UPDATE pairs SET v = 'y' WHERE first = 1");
    assert_eq!(
        text(&mut client, "SELECT string_agg(concat(a, b), ' ' ORDER BY changed) FROM pairs_log"),
        "12 21 12 21 12"
    );
}
