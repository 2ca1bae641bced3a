//! `sno_horizon()` in a condition on a table, whose rows the statement may not see.

use sno_tests::{Server, Sql as _, error};

use super::TABLE;

/// The statement may not see all rows below the horizon.
const REFUSED: &[&str] = &[
    "SELECT * FROM items WHERE id < sno_horizon()",
    "EXPLAIN SELECT * FROM items WHERE id < sno_horizon()",
    "SELECT * FROM items WHERE n > 1 AND (id < sno_horizon('1 s') OR n = 3)",
    "SELECT * FROM items WHERE id < (SELECT sno_horizon())",
    "SELECT * FROM items WHERE id < (SELECT max(h) FROM (SELECT sno_horizon() AS h) s)",
    "SELECT * FROM items WHERE NOT id >= coalesce(sno_horizon(), '2222222222222222')",
    "SELECT * FROM items a JOIN marks b ON a.id BETWEEN b.horizon AND sno_horizon()",
    "SELECT * FROM items a LEFT JOIN marks b ON a.id < sno_horizon()",
    "SELECT n, count(*) FROM items GROUP BY n HAVING max(id) < sno_horizon()",
    "SELECT * FROM grouped WHERE id < sno_horizon()",
    "SELECT * FROM below",
    "WITH r AS (SELECT * FROM items) SELECT * FROM r WHERE id < sno_horizon()",
    "WITH r AS MATERIALIZED (SELECT * FROM items WHERE id < sno_horizon()) SELECT * FROM r",
    "SELECT 1 UNION ALL SELECT n FROM items WHERE id < sno_horizon()",
    "INSERT INTO items SELECT * FROM items WHERE id < sno_horizon()",
    "DELETE FROM items WHERE id < sno_horizon()",
    "COPY (SELECT * FROM items WHERE id < sno_horizon()) TO STDOUT",
    "PREPARE p AS SELECT * FROM items WHERE id >= $1 AND id < sno_horizon(); EXECUTE p('2222222222222222')",
    "SELECT * FROM items, sno_horizon() h WHERE id < h",
    "SELECT * FROM sno_horizon() h JOIN items ON id < h",
    "SELECT * FROM items, ROWS FROM (sno_horizon(), generate_series(1, 2)) AS h (h, n)",
    "SELECT * FROM items, (SELECT sno_horizon() AS h) s WHERE id < h",
    "SELECT * FROM items, (SELECT max(h) AS h FROM (SELECT sno_horizon() AS h) s) s WHERE id < h",
    "WITH h AS (SELECT sno_horizon() AS h) SELECT * FROM items, h WHERE id < h.h",
    "WITH h AS MATERIALIZED (SELECT sno_horizon() AS h) SELECT * FROM items WHERE id < (SELECT h FROM h)",
    "WITH h AS (SELECT h FROM sno_horizon() h), i AS (SELECT * FROM items) SELECT * FROM i, h WHERE id < h.h",
    "SELECT f()",
    "SELECT g()",
];

/// It compares with no row of a table that it reads.
const ALLOWED: &[&str] = &[
    "SELECT sno_horizon()",
    "SELECT sno_horizon() FROM items",
    "SELECT * FROM late, marks",
    "WITH h AS (SELECT sno_horizon() AS h) SELECT h FROM h",
    "INSERT INTO marks SELECT 'c', h FROM sno_horizon() h",
    "SELECT sno_horizon() < max(id) FROM items",
    "SELECT * FROM sno_horizon()",
    "SELECT 1 WHERE sno_horizon() > (SELECT max(id) FROM items)",
    "SELECT * FROM generate_series(1, 2) n WHERE sno_horizon() > '2222222222222222'",
    "SELECT count(*) FILTER (WHERE id < sno_horizon()) FROM items",
    "INSERT INTO marks SELECT 'b', sno_horizon() WHERE sno_horizon() IS NOT NULL",
    "UPDATE marks SET horizon = sno_horizon() WHERE name = 'a'",
    "CREATE TABLE kept AS SELECT sno_horizon() AS horizon",
    "COPY (SELECT sno_horizon()) TO PROGRAM 'cat > /dev/null'",
    "DO $$DECLARE h sno := sno_horizon(); BEGIN
         IF h <= sno_horizon() THEN PERFORM FROM items WHERE id < h; END IF;
     END$$",
    "SELECT * FROM items WHERE id < (SELECT horizon FROM kept)",
];

#[test]
fn a_condition_on_a_table_is_refused() {
    let server = Server::builder().start();
    let mut client = server.connect();
    client.run(TABLE);
    client.run(
        "CREATE TABLE marks (name text, horizon sno); INSERT INTO marks VALUES ('a', '2222222222222222');
         CREATE VIEW late AS SELECT sno_horizon() < max(id) AS late FROM items; CREATE VIEW below AS SELECT * FROM items WHERE id < sno_horizon();
         CREATE VIEW grouped AS SELECT id, count(*) FROM items GROUP BY id;
         CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM items WHERE id < sno_horizon()';
         CREATE FUNCTION g() RETURNS boolean LANGUAGE plpgsql AS
             $$BEGIN RETURN EXISTS (SELECT FROM items WHERE id < sno_horizon('0')); END$$",
    );
    for refused in REFUSED {
        let error = error(&mut client, refused);
        assert_eq!(
            (error.code().code(), error.message()),
            (
                "0A000",
                "sno_horizon() is not allowed in a condition on a table, nor beside one in FROM or WITH"
            ),
            "{refused}"
        );
        assert!(error.hint().is_some() && error.detail().is_some());
    }
    // Nor where a new feed begins, for a copy of what is there.
    for refused in [
        "SELECT * FROM items WHERE id <= sno_create_feed('x', 'items', since => now())",
        "SELECT * FROM items WHERE id <= (SELECT sno_create_feed('x', 'items', since => now()))",
        "WITH x AS (SELECT sno_create_feed('x', 'items', since => now()) AS start) SELECT * FROM items, x WHERE id <= start",
    ] {
        let error = error(&mut client, refused);
        let message =
            "sno_create_feed() is not allowed in a condition on a table, nor beside one in FROM or WITH";
        assert_eq!((error.code().code(), error.message()), ("0A000", message), "{refused}");
    }
    for allowed in ALLOWED {
        client.run(allowed);
    }
}
