//! `sno_feed()` is for statements that store its rows themselves, and refused where its rows would be lost.

use sno_tests::postgres::{Client, NoTls};
use sno_tests::{Sql as _, code, error, text};

use super::{INSERT, next_tick, read, server};

const SETUP: &str = "
    CREATE TABLE copy (LIKE items); CREATE MATERIALIZED VIEW later AS SELECT * FROM sno_feed('feed', NULL::items) WITH NO DATA;
    CREATE VIEW shown AS SELECT * FROM sno_feed('feed', NULL::items);
    CREATE FUNCTION inlined() RETURNS SETOF items LANGUAGE sql STABLE AS $$ SELECT * FROM sno_feed('feed', NULL::items) $$;
    CREATE FUNCTION steps() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r items; BEGIN
        FOR r IN SELECT * FROM sno_feed('feed', NULL::items) LOOP INSERT INTO copy VALUES (r.*); END LOOP; END $$;
    CREATE FUNCTION whole() RETURNS void LANGUAGE sql AS $$ INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items) $$;
    CREATE PROCEDURE by_cursor() LANGUAGE plpgsql AS $$ DECLARE c refcursor; r items; BEGIN
        OPEN c FOR SELECT * FROM sno_feed('feed', NULL::items);
        LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; INSERT INTO copy VALUES (r.*); END LOOP; END $$";

/// Nothing is read by these, and the error says what to write instead.
#[test]
fn statements_that_would_lose_rows() {
    let server = server();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "CREATE FUNCTION stepped(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql SET search_path = public AS $$ BEGIN PERFORM steps(); RETURN 1; END $$;
         INSERT INTO copy VALUES ('2222222222222222', 0)",
    );
    client.run(&format!("{INSERT} (1), (2), (3); PREPARE p AS SELECT * FROM sno_feed('feed', NULL::items)"));
    next_tick();
    for (state, sql) in [
        ("25P01", "SELECT * FROM FEED"),
        ("25P01", "TABLE shown"),
        ("25P01", "SELECT * FROM inlined()"),
        ("25P01", "SELECT FEED"),
        ("25P01", "SELECT count(*) FROM FEED"),
        ("0A000", "SELECT EXISTS (SELECT FROM FEED)"),
        ("25P01", "SELECT * FROM FEED f JOIN items USING (id) WHERE f.n > 2"),
        ("25P01", "WITH f AS MATERIALIZED (SELECT * FROM FEED) SELECT * FROM f"),
        ("25P01", "EXECUTE p"),
        ("25P01", "COPY (SELECT * FROM FEED) TO '/dev/null'"),
        // Its rows are not what the WITH writes.
        ("25P01", "WITH i AS (INSERT INTO copy VALUES ('2222222222222222', 1)) SELECT * FROM FEED"),
        ("25P01", "WITH f AS MATERIALIZED (SELECT * FROM FEED), i AS (DELETE FROM copy) SELECT * FROM f"),
        ("0A000", "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED"),
        ("0A000", "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED; COMMIT"),
        ("0A000", "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED; FETCH c"),
        ("0A000", "DO $$ BEGIN EXECUTE $q$DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED$q$; END $$"),
        ("0A000", "SELECT * FROM FEED LIMIT 1"),
        ("0A000", "BEGIN; SELECT * FROM FEED LIMIT 1"),
        ("0A000", "BEGIN; SELECT * FROM FEED OFFSET 1"),
        ("0A000", "BEGIN; TABLE shown LIMIT 1"),
        ("0A000", "INSERT INTO copy SELECT * FROM FEED LIMIT 1"),
        ("0A000", "CREATE TABLE another AS SELECT * FROM FEED LIMIT 1"),
        ("0A000", "INSERT INTO copy SELECT f.* FROM (SELECT * FROM FEED LIMIT 1) f, generate_series(1, 2)"),
        ("0A000", "INSERT INTO copy SELECT * FROM items WHERE id IN (SELECT id FROM FEED OFFSET 1)"),
        ("0A000", "INSERT INTO copy (n) SELECT (SELECT n FROM FEED LIMIT 1)"),
        (
            "0A000",
            "INSERT INTO copy (n) SELECT (SELECT n FROM (SELECT FEED AS f) s, LATERAL (SELECT (s.f).n) n(n) LIMIT 1)",
        ),
        ("0A000", "INSERT INTO copy (SELECT * FROM FEED UNION ALL SELECT * FROM copy) LIMIT 1"),
        (
            "0A000",
            "WITH f AS (SELECT * FROM FEED), i AS (INSERT INTO copy SELECT * FROM f LIMIT 1) SELECT count(*) FROM copy",
        ),
        (
            "0A000",
            "WITH f AS (SELECT * FROM FEED LIMIT 1), i AS (INSERT INTO copy SELECT * FROM f) SELECT count(*) FROM f",
        ),
        (
            "0A000",
            "WITH f AS MATERIALIZED (SELECT * FROM FEED), g AS MATERIALIZED (SELECT * FROM f LIMIT 1)
            INSERT INTO copy SELECT * FROM g UNION ALL SELECT * FROM g",
        ),
        (
            "0A000",
            "WITH f AS MATERIALIZED (SELECT * FROM FEED) INSERT INTO copy SELECT * FROM items WHERE EXISTS (SELECT FROM FEED)",
        ),
        ("0A000", "INSERT INTO copy (n) SELECT 1 WHERE EXISTS (SELECT FROM FEED)"),
        ("0A000", "INSERT INTO copy (n) SELECT 1 WHERE NOT EXISTS (SELECT FROM FEED WHERE n > 1)"),
        ("0A000", "BEGIN; SELECT EXISTS (SELECT FROM FEED)"),
        ("0A000", "DELETE FROM items WHERE EXISTS (SELECT FROM FEED)"),
        ("0A000", "DO $$ BEGIN IF EXISTS (SELECT FROM FEED) THEN DELETE FROM items; END IF; END $$"),
        ("0A000", "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM FEED LIMIT 1 LOOP END LOOP; END $$"),
        ("0A000", "EXPLAIN ANALYZE SELECT * FROM FEED"),
        ("0A000", "BEGIN; EXPLAIN ANALYZE SELECT * FROM FEED"),
        ("0A000", "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) TABLE shown"),
        ("0A000", "BEGIN; EXPLAIN ANALYZE EXECUTE p"),
        ("0A000", "REFRESH MATERIALIZED VIEW later"),
        ("0A000", "CREATE MATERIALIZED VIEW another AS SELECT * FROM FEED"),
        ("0A000", "DO $$ BEGIN REFRESH MATERIALIZED VIEW later; END $$"),
        ("0A000", "CREATE INDEX ON copy ((stepped(n)))"),
    ] {
        let refused = error(&mut client, &sql.replace("FEED", "sno_feed('feed', NULL::items)"));
        assert_eq!(refused.code().code(), state, "{sql}");
        let hint = "Use SELECT * FROM sno_peek_feed('feed', NULL::public.items), and then sno_advance_feed() with the ID of the last row that is done.";
        assert!(refused.hint() == Some(hint) && refused.detail().is_some(), "{sql}: {refused:?}");
        client.run("ROLLBACK");
    }
    // With a pipeline, as drivers have them.
    let mut other = server.config().connect(NoTls).unwrap();
    let refused = other.query("SELECT * FROM sno_feed('feed', NULL::items)", &[]).unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "25P01");
    // Plans are not calls.
    client.run("EXPLAIN SELECT * FROM sno_feed('feed', NULL::items)");
    assert_eq!(read(&mut client), "1 2 3");
}

/// The others read all of it.
#[test]
fn statements_that_store_rows() {
    let server = server();
    let mut client = server.connect();
    client.run(SETUP);
    client.run(
        "PREPARE p AS INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items); PREPARE q AS SELECT * FROM sno_feed('feed', NULL::items)",
    );
    for sql in [
        "INSERT INTO copy SELECT * FROM FEED",
        "INSERT INTO copy SELECT * FROM shown ON CONFLICT DO NOTHING RETURNING n",
        "EXECUTE p",
        "EXPLAIN ANALYZE INSERT INTO copy SELECT * FROM FEED",
        "CREATE TABLE another AS SELECT * FROM FEED",
        "SELECT * INTO another FROM FEED",
        "CREATE TABLE another AS EXECUTE q",
        "BEGIN; CREATE TABLE another AS EXECUTE q; COMMIT",
        "WITH f AS (SELECT * FROM FEED), g AS (SELECT * FROM f), i AS (INSERT INTO copy SELECT * FROM g) SELECT * FROM g LIMIT 1",
        "WITH i AS (INSERT INTO copy VALUES ('2222222222222222', (SELECT sum(n) FROM FEED))) SELECT 1",
        "INSERT INTO copy SELECT f.* FROM FEED f, LATERAL (SELECT FROM items WHERE id = f.id LIMIT 1) i",
        "INSERT INTO copy SELECT * FROM items i WHERE EXISTS (SELECT FROM FEED f WHERE f.id = i.id)",
        "INSERT INTO copy SELECT * FROM FEED f WHERE EXISTS (SELECT FROM items LIMIT 1)",
        "WITH f AS (SELECT * FROM FEED), i AS (INSERT INTO copy SELECT * FROM f) SELECT count(*) FROM f",
        "WITH i AS (INSERT INTO copy SELECT * FROM FEED RETURNING n) SELECT * FROM i LIMIT 1",
        "UPDATE copy SET n = f.n FROM FEED f WHERE copy.id = f.id",
        "DELETE FROM items i USING FEED f WHERE i.id = f.id",
        "MERGE INTO copy USING FEED f ON copy.id = f.id WHEN NOT MATCHED THEN INSERT VALUES (f.id, f.n)",
        "SELECT steps()",
        "SELECT whole()",
        "CALL by_cursor()",
        "DO $$ BEGIN PERFORM steps(); END $$",
        "BEGIN; SELECT * FROM FEED; COMMIT",
        "BEGIN; COPY (SELECT * FROM FEED) TO '/dev/null'; COMMIT",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM FEED; FETCH ALL c; COMMIT",
        "BEGIN; SELECT * FROM FEED f LIMIT ALL; COMMIT",
    ] {
        client.run("DROP TABLE IF EXISTS another; TRUNCATE items");
        client.run(&format!("{INSERT} (1), (2), (3)"));
        next_tick();
        client.run(&sql.replace("FEED", "sno_feed('feed', NULL::items)"));
        assert_eq!(peek(&mut client), "", "{sql}");
    }
}

fn peek(client: &mut Client) -> String {
    text(client, "SELECT coalesce(string_agg(n::text, ' '), '') FROM sno_peek_feed('feed', NULL::items)")
}

/// What is refused for another reason says that reason.
#[test]
fn other_reasons_come_first() {
    let server = server();
    let mut client = server.connect();
    client.run("CREATE TABLE other (LIKE items)");
    for (state, sql) in [
        ("42704", "SELECT * FROM sno_feed('none', NULL::items)"),
        ("42804", "SELECT * FROM sno_feed('feed', NULL::other)"),
        ("25000", "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM sno_feed('feed', NULL::items)"),
    ] {
        assert_eq!(code(&mut client, sql), state, "{sql}");
        client.run("ROLLBACK");
    }
}
