//! What others change in catalogs: a call knows all of it that was committed with the rows below its horizon, also in a transaction that
//! has all locks already, and so does not hear of it by taking one.

use sno_tests::postgres::Client;
use sno_tests::{Server, Sql as _, code, stored, text};

use super::{FAR, INSERT, next_tick, read, server};
use crate::{at_point, meanwhile};

/// A table with a partition, and its feed.
const PARTS: &str = "
    CREATE TABLE parts (region text, id sno NOT NULL DEFAULT sno_new(1), n integer) PARTITION BY LIST (region);
    CREATE TABLE a PARTITION OF parts FOR VALUES IN ('a'); CREATE INDEX ON parts (id);
    SELECT sno_create_feed('parts', 'parts', key => 'id', margin => '0');";

/// Another one, with a row.
const NEW_PART: &str = "CREATE TABLE b (LIKE parts INCLUDING ALL); INSERT INTO b VALUES ('b', DEFAULT, 2);
    ALTER TABLE parts ATTACH PARTITION b FOR VALUES IN ('b')";

/// Prepared, since to analyze a statement takes locks.
const PREPARE: &str = "CREATE TABLE IF NOT EXISTS copy (n integer); PREPARE parts AS WITH f AS (SELECT * FROM sno_feed('parts', NULL::parts)), w AS (INSERT INTO copy SELECT n FROM f)
    SELECT coalesce(string_agg(n::text, ' '), '') FROM f";

fn execute(client: &mut Client) -> String {
    next_tick();
    text(client, "EXECUTE parts")
}

#[test]
fn a_partition_that_is_attached_between_two_calls() {
    let server = Server::builder().start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(PARTS);
    client.run(PREPARE);
    client.run("BEGIN");
    assert_eq!(execute(&mut client), "");
    other.run("BEGIN");
    other.run(NEW_PART);
    other.run("COMMIT; INSERT INTO b VALUES ('b', DEFAULT, 3); INSERT INTO a VALUES ('a', DEFAULT, 4)");
    assert_eq!(execute(&mut client), "2 3 4");
    client.run("COMMIT");
}

/// The same for a reader of its own.
#[test]
fn a_partition_below_a_horizon() {
    let server = Server::builder().start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(PARTS);
    client.run("SET plan_cache_mode = force_generic_plan; PREPARE below(sno) AS SELECT count(*) FROM parts WHERE id < $1");
    let below = |client: &mut Client| {
        next_tick();
        let horizon = text(client, "SELECT sno_horizon('0')");
        text(client, &format!("EXECUTE below('{horizon}')"))
    };
    assert_eq!(below(&mut client), "0");
    client.run("BEGIN");
    assert_eq!(below(&mut client), "0");
    other.run(NEW_PART);
    assert_eq!(below(&mut client), "1");
}

/// This server's horizon says nothing of its rows: the call fails, and the feed stays.
#[test]
fn a_foreign_partition_that_is_attached_between_two_calls() {
    let server = Server::builder().start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(FAR);
    client.run("CREATE TABLE copy (id sno); PREPARE far AS INSERT INTO copy SELECT id FROM sno_feed('feed', NULL::log); BEGIN; EXECUTE far");
    other.run(
        "CREATE FOREIGN TABLE far (id sno NOT NULL) SERVER far;
         ALTER TABLE log ATTACH PARTITION far FOR VALUES FROM ('x222222222222222') TO (MAXVALUE);
         INSERT INTO log VALUES (sno_new())",
    );
    next_tick();
    assert_eq!(code(&mut client, "EXECUTE far"), "42809");
}

/// The rows are those of the feed's source, not those of a table that has got its name.
#[test]
fn schemas_that_exchange_their_names_between_two_calls() {
    let server = Server::builder().start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(
        "CREATE SCHEMA s; CREATE SCHEMA o; CREATE TABLE s.items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
         CREATE TABLE o.items (LIKE s.items INCLUDING ALL); SELECT sno_create_feed('feed', 's.items', margin => '0')",
    );
    client.run(&PREPARE.replace("parts', NULL::parts", "feed', NULL::s.items"));
    client.run("BEGIN");
    assert_eq!(execute(&mut client), "");
    other.run(
        "BEGIN; ALTER SCHEMA s RENAME TO x; ALTER SCHEMA o RENAME TO s; ALTER SCHEMA x RENAME TO o; COMMIT;
         INSERT INTO s.items (n) VALUES (-1); INSERT INTO o.items (n) VALUES (1)",
    );
    assert_eq!(execute(&mut client), "1");
    // Or after the name was looked up.
    client.run("COMMIT");
    other.run("INSERT INTO o.items (n) VALUES (2); BEGIN; LOCK o.items");
    next_tick();
    let by_name = |schema| {
        stored(&format!(
            "SELECT coalesce(string_agg(n::text, ' '), '') FROM sno_feed('feed', NULL::{schema}.items)"
        ))
    };
    let renamed = meanwhile(
        &server,
        || text(&mut client, &by_name("o")),
        || {
            other.run(
                "ALTER SCHEMA s RENAME TO x; ALTER SCHEMA o RENAME TO s; ALTER SCHEMA x RENAME TO o; COMMIT",
            );
        },
    );
    assert_eq!([renamed, text(&mut client, &by_name("s"))], ["", "2"]);
}

/// A commit is visible before others know what it has changed in catalogs. Until then it holds the horizon.
#[test]
fn a_partition_whose_commit_is_visible() {
    let server = Server::builder().start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(PARTS);
    client.run(PREPARE);
    client.run("INSERT INTO a VALUES ('a', DEFAULT, 1)");
    assert_eq!(execute(&mut client), "1");
    let commit = || {
        other.run("BEGIN");
        other.run(NEW_PART);
        other.run("COMMIT");
    };
    at_point(&server, "commit visible", commit, || assert_eq!(execute(&mut client), ""));
    assert_eq!(execute(&mut client), "2");
}

/// The same, prepared: it removes the file of a table that it has dropped before it says so.
#[test]
fn a_partition_whose_prepared_commit_is_visible() {
    let server = Server::builder().faketime(true).conf("max_prepared_transactions", "1").start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(PARTS);
    client.run(PREPARE);
    client.run("INSERT INTO a VALUES ('a', DEFAULT, 1); CREATE TABLE dropped ()");
    assert_eq!(execute(&mut client), "1");
    other.run("BEGIN");
    other.run(NEW_PART);
    other.run("DROP TABLE dropped; PREPARE TRANSACTION 'one'");
    server.at_truncate(
        || server.run("COMMIT PREPARED 'one'"),
        || {
            assert_eq!(execute(&mut client), "");
            assert_eq!(text(&mut client, "SELECT count(*) FROM sno_horizon_holders()"), "1");
        },
    );
    assert_eq!(execute(&mut client), "2");
}

/// What a statement knows of the columns is older than what is read: they are the same columns, whatever their names.
#[test]
fn a_key_that_is_renamed_while_the_caller_runs() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(&format!("ALTER TABLE items ADD other sno NOT NULL DEFAULT sno_new(); ALTER TABLE items DROP n; ALTER TABLE items ADD n integer; {INSERT} (1), (2)"));
    assert_eq!(read(&mut client), "1 2");
    let call = "SELECT coalesce(string_agg(r.n::text, ' '), '') FROM (SELECT pg_advisory_lock_shared(1)::text AS lock OFFSET 0) wait,
        LATERAL sno_feed('feed', NULL::items, 1000 + length(lock)) r";
    for (before, during) in [
        ("ALTER TABLE items RENAME id TO x", "ALTER TABLE items RENAME x TO id"),
        (
            "BEGIN; ALTER TABLE items RENAME id TO x; ALTER TABLE items RENAME other TO id; ALTER TABLE items RENAME x TO other; COMMIT",
            "BEGIN; ALTER TABLE items RENAME id TO x; ALTER TABLE items RENAME other TO id; ALTER TABLE items RENAME x TO other; COMMIT",
        ),
    ] {
        client.run(&format!("{INSERT} (3), (4); SELECT pg_advisory_lock(1)"));
        other.run(before);
        let result = super::meanwhile(&server, &stored(call), || {
            other.run(during);
            // The caller reads more than once.
            other.run(&format!("{INSERT} (5)"));
            next_tick();
            client.run("SELECT pg_advisory_unlock_all()");
        });
        assert_eq!(result.as_deref(), Ok("3 4"), "{before}");
        assert_eq!(read(&mut client), "5", "{before}");
    }
    // Renamed for good, and another column that has its name.
    for rename in ["id TO x", "other TO id"] {
        other.run(&format!("ALTER TABLE items RENAME {rename}; {INSERT} (6)"));
        assert_eq!(code(&mut client, "SELECT FROM sno_peek_feed('feed', NULL::items)"), "42703");
        assert_eq!(code(&mut client, "CALL sno_wait_feed('feed', '1 s')"), "42703");
    }
    other.run("ALTER TABLE items RENAME id TO other; ALTER TABLE items RENAME x TO id");
    assert_eq!(read(&mut client), "6 6");
}

/// A statement that is kept is made from its text again when a column comes, as if it named the table: otherwise the column would be left out,
/// and its values count as read.
#[test]
fn a_column_that_comes_while_a_statement_is_kept() {
    let server = server();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.run(
        "CREATE TABLE copy (id sno, n integer, late text); PREPARE copy AS INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items);
         PREPARE peek AS SELECT * FROM sno_peek_feed('feed', NULL::items);
         CREATE FUNCTION copy() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items); END $$",
    );
    let copied = |client: &mut Client, call: &str| {
        next_tick();
        client.run(call);
        text(client, "SELECT string_agg(concat(n, late), ' ' ORDER BY id) FROM copy")
    };
    client.run(&format!("EXECUTE peek; {INSERT} (1)"));
    assert_eq!(copied(&mut client, "EXECUTE copy"), "1");
    assert_eq!(copied(&mut client, "SELECT copy()"), "1");
    other.run("ALTER TABLE items ADD late text; INSERT INTO items (n, late) VALUES (2, 'a')");
    assert_eq!(copied(&mut client, "EXECUTE copy"), "1 2a");
    other.run("INSERT INTO items (n, late) VALUES (3, 'b')");
    assert_eq!(copied(&mut client, "SELECT copy()"), "1 2a 3b");
    assert_eq!(code(&mut client, "EXECUTE peek"), "0A000");
    // Also if the session has read other feeds since, whose sources have about the same OID.
    client.run(
        "CREATE TABLE a (LIKE items INCLUDING ALL); CREATE TABLE b (LIKE items INCLUDING ALL); CREATE TABLE c (LIKE items INCLUDING ALL);
         CREATE TABLE copy_of_b (LIKE copy, more text);
         SELECT sno_create_feed(feed, feed::regclass, margin => '0') FROM unnest('{a,b,c}'::text[]) feed;
         PREPARE b AS INSERT INTO copy_of_b SELECT * FROM sno_feed('b', NULL::b);
         EXECUTE b; SELECT FROM sno_peek_feed('a', NULL::a); SELECT FROM sno_peek_feed('c', NULL::c)",
    );
    other.run("ALTER TABLE b ADD more text DEFAULT 'more'; INSERT INTO b (n) VALUES (4)");
    next_tick();
    client.run("EXECUTE b");
    assert_eq!(text(&mut client, "SELECT more FROM copy_of_b WHERE n = 4"), "more");
}
