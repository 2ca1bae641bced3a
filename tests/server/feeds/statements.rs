//! `sno_feed()` is for statements that store its rows themselves, and refused wherever else.

use sno_tests::postgres::{Client, NoTls};
use sno_tests::{Sql as _, code, error, text};

use super::{INSERT, next_tick, read, server};

const SETUP: &str = "
    CREATE TABLE copy (LIKE items); CREATE TEMP TABLE passing (LIKE items); CREATE UNLOGGED TABLE unlogged (LIKE items);
    CREATE VIEW of_unlogged AS TABLE unlogged; CREATE MATERIALIZED VIEW later AS SELECT * FROM sno_feed('feed', NULL::items) WITH NO DATA;
    CREATE VIEW shown AS SELECT * FROM sno_feed('feed', NULL::items);
    CREATE FUNCTION inlined() RETURNS SETOF items LANGUAGE sql STABLE AS $$ SELECT * FROM sno_feed('feed', NULL::items) $$;
    CREATE FUNCTION called() RETURNS SETOF items LANGUAGE sql AS $$ SELECT * FROM sno_feed('feed', NULL::items) $$;
    CREATE FUNCTION steps() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r items; BEGIN
        FOR r IN SELECT * FROM sno_feed('feed', NULL::items) LOOP INSERT INTO copy VALUES (r.*); END LOOP; END $$;
    CREATE FUNCTION whole() RETURNS void LANGUAGE sql AS $$ INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items) $$;
    CREATE FUNCTION stored() RETURNS SETOF items LANGUAGE plpgsql AS $$ DECLARE r items; BEGIN
        FOR r IN INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items, 2) RETURNING * LOOP RETURN NEXT r; END LOOP;
        RETURN QUERY INSERT INTO copy SELECT * FROM sno_feed('feed', NULL::items) RETURNING *; END $$;
    CREATE TABLE ruled (LIKE items); CREATE RULE others AS ON INSERT TO ruled WHERE new.n > 2 DO INSTEAD INSERT INTO copy VALUES (new.*);
    CREATE VIEW renamed AS TABLE copy; CREATE RULE instead AS ON INSERT TO renamed DO INSTEAD INSERT INTO copy VALUES (new.*);
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
         CREATE FUNCTION looped() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN
             FOR r IN INSERT INTO copy (n) SELECT count(*) FROM called() RETURNING * LOOP NULL; END LOOP; RETURN 1; END $$;
         INSERT INTO copy VALUES ('2222222222222222', 0)",
    );
    client.run(&format!("{INSERT} (1), (2), (3); PREPARE p AS SELECT * FROM sno_feed('feed', NULL::items)"));
    next_tick();
    for sql in [
        "SELECT * FROM FEED",
        "TABLE shown",
        "SELECT * FROM inlined()",
        "SELECT FEED",
        "SELECT count(*) FROM FEED",
        "SELECT EXISTS (SELECT FROM FEED)",
        "SELECT * FROM FEED f JOIN items USING (id) WHERE f.n > 2",
        "WITH f AS MATERIALIZED (SELECT * FROM FEED) SELECT * FROM f",
        "EXECUTE p",
        "COPY (SELECT * FROM FEED) TO '/dev/null'",
        "EXPLAIN ANALYZE SELECT * FROM FEED",
        "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) TABLE shown",
        "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED",
        // Whatever goes on with the rows in a block, a function or a loop.
        "BEGIN; SELECT * FROM FEED",
        "BEGIN; EXECUTE p",
        "BEGIN; EXPLAIN ANALYZE EXECUTE p",
        "BEGIN; COPY (SELECT * FROM FEED) TO '/dev/null'",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM FEED; FETCH c",
        "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED; COMMIT",
        "DO $$ BEGIN EXECUTE $q$DECLARE c CURSOR WITH HOLD FOR SELECT * FROM FEED$q$; END $$",
        "SELECT steps()",
        "SELECT * FROM called()",
        "INSERT INTO copy SELECT * FROM called()",
        "INSERT INTO copy (n) SELECT 1 FROM steps()",
        "INSERT INTO copy (n) SELECT looped()",
        "CREATE TABLE another AS SELECT * FROM called()",
        "CREATE TABLE another AS SELECT steps()::text",
        "CALL by_cursor()",
        "DO $$ BEGIN PERFORM FROM FEED; END $$",
        "DO $$ DECLARE r record; BEGIN SELECT * INTO r FROM FEED; INSERT INTO copy VALUES (r.id, r.n); END $$",
        "DO $$ DECLARE n bigint := (SELECT count(*) FROM FEED); BEGIN NULL; END $$",
        "DO $$ BEGIN IF EXISTS (SELECT FROM FEED) THEN DELETE FROM items; END IF; END $$",
        "DO $$ BEGIN CREATE TABLE another AS SELECT * FROM FEED; END $$",
        // Its rows are not what the WITH writes.
        "WITH i AS (INSERT INTO copy VALUES ('2222222222222222', 1)) SELECT * FROM FEED",
        "WITH f AS MATERIALIZED (SELECT * FROM FEED), i AS (DELETE FROM copy) SELECT * FROM f",
        // Not all of them are what is written.
        "INSERT INTO copy SELECT * FROM FEED LIMIT 1",
        "INSERT INTO copy SELECT * FROM FEED OFFSET 1",
        "INSERT INTO copy TABLE shown LIMIT 1",
        "CREATE TABLE another AS SELECT * FROM FEED LIMIT 1",
        "INSERT INTO copy SELECT f.* FROM (SELECT * FROM FEED LIMIT 1) f, generate_series(1, 2)",
        "INSERT INTO copy SELECT * FROM items WHERE id IN (SELECT id FROM FEED OFFSET 1)",
        "INSERT INTO copy (SELECT * FROM FEED UNION ALL SELECT * FROM copy) LIMIT 1",
        "WITH f AS (SELECT * FROM FEED), i AS (INSERT INTO copy SELECT * FROM f LIMIT 1) SELECT count(*) FROM copy",
        "WITH f AS (SELECT * FROM FEED LIMIT 1), i AS (INSERT INTO copy SELECT * FROM f) SELECT count(*) FROM f",
        "WITH f AS MATERIALIZED (SELECT * FROM FEED), g AS MATERIALIZED (SELECT * FROM f LIMIT 1)
            INSERT INTO copy SELECT * FROM g UNION ALL SELECT * FROM g",
        "INSERT INTO copy (n) SELECT (SELECT n FROM FEED LIMIT 1)",
        "INSERT INTO copy (n) SELECT (SELECT n FROM (SELECT FEED AS f) s, LATERAL (SELECT (s.f).n) n(n) LIMIT 1)",
        "WITH f AS MATERIALIZED (SELECT * FROM FEED) INSERT INTO copy SELECT * FROM items WHERE EXISTS (SELECT FROM f)",
        "INSERT INTO copy (n) SELECT 1 WHERE EXISTS (SELECT FROM FEED)",
        "INSERT INTO copy (n) SELECT 1 WHERE NOT EXISTS (SELECT FROM FEED WHERE n > 1)",
        "INSERT INTO copy (n) VALUES ((SELECT sum(n) FROM FEED))",
        "DELETE FROM items WHERE EXISTS (SELECT FROM FEED)",
        "INSERT INTO copy SELECT * FROM inlined() WHERE n > 1",
        "CREATE TABLE another AS SELECT * FROM FEED WHERE n > 1",
        "INSERT INTO copy SELECT * FROM (SELECT * FROM FEED OFFSET 0) f WHERE n > 0",
        "WITH f AS MATERIALIZED (SELECT * FROM FEED) INSERT INTO copy SELECT * FROM f WHERE n > 1",
        "WITH f AS (SELECT * FROM FEED), i AS (INSERT INTO copy SELECT * FROM f WHERE n > 1) SELECT count(*) FROM f",
        "INSERT INTO copy (n) SELECT n FROM FEED GROUP BY n HAVING count(*) > 1",
        "INSERT INTO copy SELECT id, n FROM (SELECT *, row_number() OVER (ORDER BY id) AS r FROM FEED) f WHERE r < 2",
        "INSERT INTO copy SELECT * FROM FEED EXCEPT SELECT * FROM copy",
        "INSERT INTO copy SELECT f.* FROM FEED f JOIN items USING (id)",
        "INSERT INTO copy SELECT f.* FROM FEED f, items",
        "INSERT INTO copy SELECT f.* FROM FEED f LEFT JOIN items i USING (id) WHERE i.n > 1",
        "INSERT INTO copy SELECT i.* FROM items i LEFT JOIN FEED f USING (id)",
        "INSERT INTO copy SELECT i.* FROM items i LEFT JOIN FEED f ON i.n > f.n",
        "INSERT INTO copy SELECT f.* FROM FEED f, LATERAL (SELECT FROM items WHERE id = f.id LIMIT 1) i",
        "INSERT INTO copy SELECT f.* FROM items i, LATERAL sno_feed('feed', NULL::items, i.n) f WHERE f.n = i.n",
        "INSERT INTO copy SELECT * FROM items i WHERE EXISTS (SELECT FROM FEED f WHERE f.id = i.id)",
        "INSERT INTO copy SELECT * FROM FEED f WHERE NOT EXISTS (SELECT FROM copy c WHERE c.id = f.id)",
        "WITH f AS MATERIALIZED (SELECT * FROM FEED) INSERT INTO copy SELECT * FROM f WHERE (SELECT count(*) FROM f) > 9",
        "INSERT INTO copy SELECT id, unnest(nullif(ARRAY[n], '{1}')) FROM FEED",
        "INSERT INTO copy SELECT f.* FROM items i, LATERAL sno_feed('feed', NULL::items, i.n) f FOR UPDATE OF i SKIP LOCKED",
        "MERGE INTO copy USING (SELECT f.* FROM FEED f JOIN items USING (id)) f ON copy.id = f.id WHEN NOT MATCHED THEN INSERT VALUES (f.id, f.n)",
        "UPDATE copy SET n = f.n FROM FEED f WHERE copy.id = f.id AND f.n > 1",
        "WITH i AS (INSERT INTO copy SELECT f.* FROM FEED f JOIN items USING (id) RETURNING *) UPDATE items SET n = 0 FROM i WHERE i.id = items.id",
        // Nothing is kept of them.
        "REFRESH MATERIALIZED VIEW later",
        "CREATE MATERIALIZED VIEW another AS SELECT * FROM FEED",
        "DO $$ BEGIN REFRESH MATERIALIZED VIEW later; END $$",
        "CREATE INDEX ON copy ((stepped(n)))",
        // What is gone with the session.
        "CREATE TEMP TABLE another AS SELECT * FROM FEED",
        "SELECT * INTO TEMP another FROM FEED",
        "CREATE TEMP TABLE another AS EXECUTE p",
        "INSERT INTO passing SELECT * FROM FEED",
        "WITH i AS (INSERT INTO passing SELECT * FROM FEED RETURNING n) SELECT * FROM i",
        // What a crash empties.
        "CREATE UNLOGGED TABLE another AS SELECT * FROM FEED",
        "SELECT * INTO UNLOGGED another FROM FEED",
        "CREATE UNLOGGED TABLE another AS EXECUTE p",
        "INSERT INTO unlogged SELECT * FROM FEED",
        "INSERT INTO of_unlogged SELECT * FROM FEED",
        "WITH i AS (INSERT INTO unlogged SELECT * FROM FEED RETURNING n) SELECT * FROM i",
        "MERGE INTO unlogged USING FEED f ON unlogged.id = f.id WHEN NOT MATCHED THEN INSERT VALUES (f.id, f.n)",
        // A rule makes two statements of it, and each would read other rows.
        "INSERT INTO ruled SELECT * FROM FEED",
        "DO $$ BEGIN INSERT INTO ruled SELECT * FROM FEED; END $$",
    ] {
        let refused = error(&mut client, &sql.replace("FEED", "sno_feed('feed', NULL::items)"));
        let message = "sno_feed() can only be used in a statement that stores its rows";
        assert_eq!((refused.code().code(), refused.message()), ("0A000", message), "{sql}");
        let hint = "Use SELECT * FROM sno_peek_feed('feed', NULL::public.items), and then sno_advance_feed() with the ID of the last row that is done. Or use a logged table, or LEFT JOIN.";
        assert!(refused.hint() == Some(hint) && refused.detail().is_some(), "{sql}: {refused:?}");
        client.run("ROLLBACK");
    }
    // With a pipeline, as drivers have them.
    let mut other = server.config().connect(NoTls).unwrap();
    let refused = other.query("SELECT * FROM sno_feed('feed', NULL::items)", &[]).unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "0A000");
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
        "INSERT INTO copy SELECT * FROM inlined()",
        "INSERT INTO copy SELECT (FEED).*",
        "INSERT INTO renamed SELECT * FROM FEED",
        "EXECUTE p",
        "EXPLAIN ANALYZE INSERT INTO copy SELECT * FROM FEED",
        "CREATE TABLE another AS SELECT * FROM FEED",
        "SELECT * INTO another FROM FEED",
        "CREATE TABLE another AS EXECUTE q",
        "BEGIN; CREATE TABLE another AS EXECUTE q; COMMIT",
        "BEGIN; CREATE TEMP TABLE another AS EXECUTE q; COMMIT",
        "BEGIN; CREATE TEMP TABLE another AS SELECT * FROM FEED; COMMIT",
        "BEGIN; INSERT INTO passing SELECT * FROM FEED; COMMIT",
        "BEGIN; CREATE UNLOGGED TABLE another AS SELECT * FROM FEED; COMMIT",
        "BEGIN; INSERT INTO unlogged SELECT * FROM FEED; COMMIT",
        "DO $$ BEGIN INSERT INTO passing SELECT * FROM FEED; END $$",
        "BEGIN; SAVEPOINT s; INSERT INTO copy SELECT * FROM FEED LIMIT ALL; COMMIT",
        "WITH f AS (SELECT * FROM FEED), g AS (SELECT * FROM f), i AS (INSERT INTO copy SELECT * FROM g) SELECT * FROM g LIMIT 1",
        "INSERT INTO copy SELECT f.* FROM FEED f LEFT JOIN LATERAL (SELECT FROM items WHERE id = f.id LIMIT 1) i ON f.n > 1",
        "INSERT INTO copy SELECT f.* FROM items i RIGHT JOIN FEED f ON i.n > f.n",
        "INSERT INTO copy SELECT f.* FROM items i FULL JOIN FEED f USING (id)",
        "INSERT INTO copy SELECT f.* FROM (SELECT count(*)::integer AS n FROM items) i, sno_feed('feed', NULL::items, i.n) f",
        "CREATE TABLE another AS SELECT count(*) FROM FEED GROUP BY n % 2",
        "INSERT INTO copy SELECT DISTINCT ON (n % 2) * FROM FEED ORDER BY n % 2, id DESC",
        "INSERT INTO copy SELECT * FROM FEED f WHERE EXISTS (SELECT FROM items LIMIT 1)",
        "INSERT INTO copy SELECT * FROM items UNION ALL SELECT * FROM FEED",
        "INSERT INTO copy SELECT * FROM items UNION ALL SELECT * FROM FEED ORDER BY id",
        "WITH f AS (SELECT * FROM FEED), i AS (INSERT INTO copy SELECT * FROM f) SELECT count(*) FROM f WHERE n > 2",
        "WITH i AS (INSERT INTO copy SELECT * FROM FEED RETURNING n) SELECT * FROM i LIMIT 1",
        "WITH i AS (INSERT INTO copy SELECT * FROM FEED RETURNING *) INSERT INTO copy SELECT * FROM i LIMIT 1",
        "UPDATE copy SET n = f.n FROM FEED f WHERE copy.id = f.id",
        "DELETE FROM items i USING FEED f WHERE i.id = f.id",
        "DELETE FROM items WHERE id IN (SELECT f.id FROM FEED f JOIN copy USING (id))",
        "DELETE FROM items i USING (SELECT unnest(ARRAY[id]) AS id FROM FEED) f WHERE i.id = f.id",
        "MERGE INTO copy USING FEED f ON copy.id = f.id WHEN NOT MATCHED THEN INSERT VALUES (f.id, f.n)",
        "MERGE INTO copy USING (SELECT f.* FROM FEED f JOIN items USING (id)) f ON copy.id = f.id WHEN MATCHED THEN DELETE",
        "SELECT whole()",
        "SELECT * FROM stored() LIMIT 1",
        "DO $$ BEGIN PERFORM whole(); END $$",
        "DO $$ BEGIN EXECUTE 'INSERT INTO copy SELECT * FROM sno_feed(''feed'', NULL::items)'; END $$",
        "DO $$ BEGIN CREATE TABLE another AS EXECUTE q; END $$",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM stored(); FETCH c; COMMIT",
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
