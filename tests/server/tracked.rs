//! A table whose changes are tracked, and which then changes itself: what the copy has is right, or an error says that it is not.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, error, next_tick, text};

use crate::docs::{blocks, page, psql};
use crate::meanwhile;

const SETUP: &str = "
    CREATE TABLE lines (tenant integer, id integer, v text, PRIMARY KEY (tenant, id));
    SELECT sno_track_changes('lines');
    SELECT sno_create_feed('lines', 'lines_changes', key => 'changed', margin => '0');
    INSERT INTO lines VALUES (1, 2, 'one-two'), (2, 1, 'two-one'), (7, 8, 'seven-eight');";

const READ: &str =
    "SELECT string_agg(record::text, ' ' ORDER BY changed) FROM sno_peek_feed('lines', NULL::lines_changes)";

const ALL: &str = "(1,2,one-two) (2,1,two-one) (7,8,seven-eight)";

/// A database with the table, as a role without further rights has it.
fn database(server: &Server, name: &str) -> Client {
    server.run(&format!("CREATE DATABASE {name} OWNER alice"));
    let mut client = server.config().user("alice").dbname(name).connect(sno_tests::postgres::NoTls).unwrap();
    client.run("CREATE EXTENSION sno");
    client.run(SETUP);
    next_tick();
    client
}

/// What PostgreSQL refuses, since the view depends on the key.
#[test]
fn a_key_that_changes_is_refused() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN");
    let mut client = database(&server, "one");
    for (change, state) in [
        ("ALTER TABLE lines DROP CONSTRAINT lines_pkey, ADD PRIMARY KEY (id, tenant)", "2BP01"),
        ("ALTER TABLE lines DROP CONSTRAINT lines_pkey, ADD PRIMARY KEY (tenant, id, v)", "2BP01"),
        ("ALTER TABLE lines DROP CONSTRAINT lines_pkey, ADD PRIMARY KEY (id)", "2BP01"),
        ("ALTER TABLE lines DROP CONSTRAINT lines_pkey", "2BP01"),
        ("ALTER TABLE lines ALTER id TYPE bigint", "0A000"),
        ("ALTER TABLE lines DROP COLUMN id", "2BP01"),
    ] {
        assert_eq!(code(&mut client, change), state, "{change}");
    }
    client.run("SELECT sno_track_changes('lines')");
    assert_eq!(text(&mut client, READ), ALL);
    // A partitioned table.
    client.run("CREATE TABLE parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id); SELECT sno_track_changes('parts')");
    assert_eq!(code(&mut client, "ALTER TABLE parts DROP CONSTRAINT parts_pkey"), "2BP01");
    client.run("CREATE TABLE part PARTITION OF parts DEFAULT");
    for call in ["sno_forget_changes", "sno_untrack_changes"] {
        let error = error(&mut client, &format!("SELECT {call}('part')"));
        assert_eq!(error.message(), "changes of \"public.part\" are not tracked", "{call}");
    }
    // The function of the triggers does not take a row of another trigger for one.
    for (trigger, rows) in [("BEFORE INSERT", "ROW"), ("AFTER INSERT", "STATEMENT")] {
        client.run(&format!(
            "CREATE OR REPLACE TRIGGER other {trigger} ON lines FOR EACH {rows} WHEN ('lines_log'::regclass IS NOT NULL)
                 EXECUTE FUNCTION sno_internal.sno_log_changes()"
        ));
        assert_eq!(code(&mut client, "INSERT INTO lines VALUES (7, 7, 'other')"), "39P01", "{trigger}");
        client.run("DROP TRIGGER other ON lines");
    }
    // A DEFERRABLE one can go.
    client.run(
        "CREATE TABLE later (a integer NOT NULL, b integer NOT NULL, c integer NOT NULL, PRIMARY KEY (a, b) DEFERRABLE);
         SELECT sno_track_changes('later'); INSERT INTO later VALUES (1, 2, 3)",
    );
    for key in ["b, a", "b, c", "a, b, c", "c, a, b", "a"] {
        client.run(&format!(
            "ALTER TABLE later DROP CONSTRAINT later_pkey, ADD PRIMARY KEY ({key}) DEFERRABLE"
        ));
        assert_eq!(code(&mut client, "SELECT sno_track_changes('later')"), "55000", "{key}");
        if ["b, a", "a, b, c", "c, a, b"].contains(&key) {
            assert_eq!(code(&mut client, "INSERT INTO later VALUES (4, 5, 6)"), "55000", "{key}");
        }
        if key != "b, a" {
            assert_eq!(code(&mut client, "SELECT FROM later_changes"), "55000", "{key}");
            assert_eq!(code(&mut client, "SELECT sno_forget_changes('later')"), "55000", "{key}");
        }
    }
    // Then nulls can come.
    client.run(
        "CREATE TABLE words (word text PRIMARY KEY DEFERRABLE); SELECT sno_track_changes('words'); INSERT INTO words VALUES ('one');
         ALTER TABLE words DROP CONSTRAINT words_pkey, ALTER word DROP NOT NULL",
    );
    for change in ["INSERT INTO words VALUES (NULL)", "UPDATE words SET word = NULL"] {
        assert_eq!(code(&mut client, change), "55000", "{change}");
    }
}

/// What the next read reports, until it is undone. Nothing is missing then.
#[test]
fn what_the_log_cannot_follow_is_an_error_when_it_is_read() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN");
    for (name, change, detail, undo) in [
        (
            "child",
            "CREATE TABLE child () INHERITS (lines); INSERT INTO child VALUES (9, 9, 'child')",
            "Other tables inherit from it.",
            "DROP TABLE child",
        ),
        (
            "forced",
            "ALTER TABLE lines ENABLE ROW LEVEL SECURITY; ALTER TABLE lines FORCE ROW LEVEL SECURITY; CREATE POLICY p ON lines USING (tenant < 0)",
            "FORCE ROW LEVEL SECURITY hides rows from its owner: they would look deleted.",
            "ALTER TABLE lines NO FORCE ROW LEVEL SECURITY",
        ),
        (
            "unlogged",
            "ALTER TABLE lines SET UNLOGGED",
            "It is an unlogged table, which a crash empties.",
            "ALTER TABLE lines SET LOGGED",
        ),
        (
            "part",
            "CREATE TABLE parent (LIKE lines INCLUDING ALL) PARTITION BY LIST (tenant); ALTER TABLE parent ATTACH PARTITION lines DEFAULT",
            "It is a partition.",
            "ALTER TABLE parent DETACH PARTITION lines",
        ),
    ] {
        let mut client = database(&server, name);
        client.run(change);
        for query in [
            READ,
            "SELECT FROM lines_changes",
            "SELECT sno_forget_changes('lines')",
            "CALL sno_wait_feed('lines', '1 s', NULL)",
        ] {
            let error = error(&mut client, query);
            // Whatever row security hides from the reader of a feed is an error of PostgreSQL's before.
            if name == "forced" && query.contains("feed") {
                assert_eq!(error.code().code(), "42501", "{query}");
            } else {
                assert_eq!((error.code().code(), error.detail()), ("55000", Some(detail)), "{query}");
            }
        }
        assert_eq!(code(&mut client, "SELECT sno_track_changes('lines')"), "42809", "{name}");
        client.run(undo);
        assert_eq!(text(&mut client, READ), ALL, "{name}");
    }
}

/// An error, rather than rows that stay in copies.
#[test]
fn a_truncate_of_rows_that_are_hidden_from_the_owner() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN");
    let mut client = database(&server, "hidden");
    client.run(
        "ALTER TABLE lines ENABLE ROW LEVEL SECURITY; ALTER TABLE lines FORCE ROW LEVEL SECURITY; CREATE POLICY p ON lines USING (tenant = 1)",
    );
    assert_eq!(code(&mut client, "TRUNCATE lines"), "42501");
    client.run("ALTER TABLE lines NO FORCE ROW LEVEL SECURITY; TRUNCATE lines");
    assert_eq!(text(&mut client, "SELECT count(*) FROM lines_log"), "6");
}

/// The primary key is read after the table is locked, so that what another transaction does to it counts.
#[test]
fn a_key_that_another_transaction_changes() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run("CREATE TABLE items (id integer PRIMARY KEY, code integer NOT NULL)");
    client.run("BEGIN; ALTER TABLE items DROP CONSTRAINT items_pkey, ADD PRIMARY KEY (code)");
    meanwhile(&server, || server.connect().run("SELECT sno_track_changes('items')"), || client.run("COMMIT"));
    client.run("INSERT INTO items VALUES (1, 2)");
    assert_eq!(text(&mut client, "SELECT code FROM items_changes"), "2");
}

#[test]
fn names_and_owners() {
    let server = Server::builder().start();
    server.run("CREATE ROLE alice LOGIN");
    let mut client = database(&server, "renamed");
    // A column of the key.
    client.run("ALTER TABLE lines RENAME id TO number; INSERT INTO lines VALUES (3, 3, 'three')");
    next_tick();
    assert_eq!(text(&mut client, READ), format!("{ALL} (3,3,three)"));
    // Another table of this name: the log is that of the old one, which nobody is told to drop.
    client.run("ALTER TABLE lines RENAME TO old; CREATE TABLE lines (LIKE old INCLUDING ALL)");
    let error = error(&mut client, "SELECT sno_track_changes('lines')");
    assert_eq!(error.detail(), Some("It belongs to the log of the changes of \"public.old\"."));
    assert_eq!(error.hint(), Some("Rename this table."));
    client.run(
        "INSERT INTO old VALUES (4, 4, 'four'); SELECT sno_drop_feed('lines'), sno_untrack_changes('old')",
    );
    client.run("SELECT sno_track_changes('lines')");
    // Its owner alone: the log follows, and then the view.
    server.run("CREATE ROLE bob");
    let mut superuser = server.connect_to("renamed");
    superuser.run("ALTER TABLE lines OWNER TO bob; GRANT CREATE ON SCHEMA public TO bob");
    let track = "SELECT sno_track_changes('lines')";
    assert_eq!(code(&mut superuser, track), "55000");
    superuser.run("ALTER TABLE lines_log OWNER TO bob");
    assert_eq!(code(&mut superuser, track), "42710");
    superuser.run("ALTER VIEW lines_changes OWNER TO bob");
    superuser.run(track);
    // Not without the trigger, either.
    superuser.run("DROP TRIGGER sno_log ON lines; ALTER TABLE lines_log OWNER TO alice");
    assert_eq!(code(&mut superuser, track), "55000");
    assert_eq!(code(&mut superuser, "SELECT sno_track_changes(NULL)"), "22004");
}

/// The page's statements: another key, and a copy of a table with generated columns, an identity, and keys that are equal but not the same.
#[test]
fn the_page() {
    let server = Server::builder().start();
    let page = page("changes.md");
    let merge =
        blocks(&page, "sql").into_iter().find(|block| block.sql.contains("MERGE INTO copy")).unwrap().sql;
    let mut client = server.connect();
    for (name, key, insert, update) in [
        (
            "identity",
            "id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
            "INSERT INTO items (name, price) VALUES ('tea', 3), ('milk', 1)",
            "UPDATE items SET price = 4",
        ),
        (
            "equal",
            "id numeric PRIMARY KEY",
            "INSERT INTO items VALUES (1.0, 'tea', 3), (2, 'milk', 1)",
            "UPDATE items SET id = 1.00, price = 4 WHERE id = 1",
        ),
    ] {
        client.run(&format!(
            "CREATE SCHEMA {name}; SET search_path = {name}, public;
             CREATE TABLE items ({key}, name text, price numeric, twice numeric GENERATED ALWAYS AS (price * 2) STORED);
             SELECT sno_track_changes('items')"
        ));
        let merge = merge
            .replace("'items_changes', key => 'changed'", "'items_changes', key => 'changed', margin => '0'");
        let run = |sql: &str| {
            let output = psql(&server, &format!("SET search_path = {name}, public; {sql}"));
            assert!(output.status.success(), "{output:?}");
        };
        let statements = merge.split_once("MERGE").unwrap();
        let merge = format!("MERGE{}", statements.1)
            .replace("price = (c.record).price", "price = (c.record).price, twice = (c.record).twice");
        run(&statements.0.replace("'copy'", &format!("'{name}'")));
        for change in [insert, update, "DELETE FROM items WHERE id = 2"] {
            client.run(change);
            next_tick();
            run(&merge.replace("'copy'", &format!("'{name}'")));
            let content = |table: &str| format!("SELECT string_agg(t::text, ' ' ORDER BY id) FROM {table} t");
            assert_eq!(
                text(&mut client, &content("copy")),
                text(&mut client, &content("items")),
                "{name}: {change}"
            );
        }
    }
}
