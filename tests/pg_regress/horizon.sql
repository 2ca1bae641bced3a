-- sno_horizon() in a condition on a table, whose rows the statement may not see. What holds a horizon back: tests/server/horizon.
CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
CREATE TABLE marks (name text, horizon sno);
INSERT INTO marks VALUES ('a', '2222222222222222');
CREATE VIEW late AS SELECT sno_horizon() < max(id) AS late FROM items;
CREATE VIEW below AS SELECT * FROM items WHERE id < sno_horizon();
CREATE VIEW grouped AS SELECT id, count(*) FROM items GROUP BY id;
CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM items WHERE id < sno_horizon()';
CREATE FUNCTION g() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN EXISTS (SELECT FROM items WHERE id < sno_horizon('0')); END $$;
PREPARE p AS SELECT * FROM items WHERE id >= $1 AND id < sno_horizon();

-- The statement may not see all rows below the horizon. Nor where a new feed begins, for a copy of what is there.
SELECT answer(query), count(*) FROM unnest(ARRAY[
    $q$SELECT * FROM items WHERE id < sno_horizon()$q$,
    $q$EXPLAIN SELECT * FROM items WHERE id < sno_horizon()$q$,
    $q$SELECT * FROM items WHERE n > 1 AND (id < sno_horizon('1 s') OR n = 3)$q$,
    $q$SELECT * FROM items WHERE id < (SELECT sno_horizon())$q$,
    $q$SELECT * FROM items WHERE id < (SELECT max(h) FROM (SELECT sno_horizon() AS h) s)$q$,
    $q$SELECT * FROM items WHERE NOT id >= coalesce(sno_horizon(), '2222222222222222')$q$,
    $q$SELECT * FROM items a JOIN marks b ON a.id BETWEEN b.horizon AND sno_horizon()$q$,
    $q$SELECT * FROM items a LEFT JOIN marks b ON a.id < sno_horizon()$q$,
    $q$SELECT n, count(*) FROM items GROUP BY n HAVING max(id) < sno_horizon()$q$,
    $q$SELECT * FROM grouped WHERE id < sno_horizon()$q$,
    $q$SELECT * FROM below$q$,
    $q$WITH r AS (SELECT * FROM items) SELECT * FROM r WHERE id < sno_horizon()$q$,
    $q$WITH r AS MATERIALIZED (SELECT * FROM items WHERE id < sno_horizon()) SELECT * FROM r$q$,
    $q$SELECT 1 UNION ALL SELECT n FROM items WHERE id < sno_horizon()$q$,
    $q$INSERT INTO items SELECT * FROM items WHERE id < sno_horizon()$q$,
    $q$DELETE FROM items WHERE id < sno_horizon()$q$,
    $q$COPY (SELECT * FROM items WHERE id < sno_horizon()) TO PROGRAM 'cat > /dev/null'$q$,
    $q$EXECUTE p('2222222222222222')$q$,
    $q$SELECT * FROM items, sno_horizon() h WHERE id < h$q$,
    $q$SELECT * FROM sno_horizon() h JOIN items ON id < h$q$,
    $q$SELECT * FROM items, ROWS FROM (sno_horizon(), generate_series(1, 2)) AS h (h, n)$q$,
    $q$SELECT * FROM items, (SELECT sno_horizon() AS h) s WHERE id < h$q$,
    $q$SELECT * FROM items, (SELECT max(h) AS h FROM (SELECT sno_horizon() AS h) s) s WHERE id < h$q$,
    $q$WITH h AS (SELECT sno_horizon() AS h) SELECT * FROM items, h WHERE id < h.h$q$,
    $q$WITH h AS MATERIALIZED (SELECT sno_horizon() AS h) SELECT * FROM items WHERE id < (SELECT h FROM h)$q$,
    $q$WITH h AS (SELECT h FROM sno_horizon() h), i AS (SELECT * FROM items) SELECT * FROM i, h WHERE id < h.h$q$,
    $q$SELECT f()$q$,
    $q$SELECT g()$q$,
    $q$SELECT * FROM items WHERE id <= sno_create_feed('x', 'items', since => now())$q$,
    $q$SELECT * FROM items WHERE id <= (SELECT sno_create_feed('x', 'items', since => now()))$q$,
    $q$WITH x AS (SELECT sno_create_feed('x', 'items', since => now()) AS start) SELECT * FROM items, x WHERE id <= start$q$
]) query GROUP BY 1 ORDER BY 2;
--> answer|count
--> 0A000: sno_create_feed() is not allowed in a condition on a table, nor beside one in FROM or WITH / The statement does not see rows that were committed after it began, and these can have IDs below the result. / Call sno_create_feed() in a statement before, and compare with what it returned.|3
--> 0A000: sno_horizon() is not allowed in a condition on a table, nor beside one in FROM or WITH / The statement does not see rows that were committed after it began, and these can have IDs below the result. / Call sno_horizon() in a statement before, and compare with what it returned.|28

-- It compares with no row of a table that it reads.
DO $do$
DECLARE
    query text;
BEGIN
    FOREACH query IN ARRAY ARRAY[
        $q$SELECT sno_horizon()$q$,
        $q$SELECT sno_horizon() FROM items$q$,
        $q$SELECT * FROM late, marks$q$,
        $q$WITH h AS (SELECT sno_horizon() AS h) SELECT h FROM h$q$,
        $q$INSERT INTO marks SELECT 'c', h FROM sno_horizon() h$q$,
        $q$SELECT sno_horizon() < max(id) FROM items$q$,
        $q$SELECT * FROM sno_horizon()$q$,
        $q$SELECT 1 WHERE sno_horizon() > (SELECT max(id) FROM items)$q$,
        $q$SELECT * FROM generate_series(1, 2) n WHERE sno_horizon() > '2222222222222222'$q$,
        $q$SELECT count(*) FILTER (WHERE id < sno_horizon()) FROM items$q$,
        $q$INSERT INTO marks SELECT 'b', sno_horizon() WHERE sno_horizon() IS NOT NULL$q$,
        $q$UPDATE marks SET horizon = sno_horizon() WHERE name = 'a'$q$,
        $q$CREATE TABLE kept AS SELECT sno_horizon() AS horizon$q$,
        $q$COPY (SELECT sno_horizon()) TO PROGRAM 'cat > /dev/null'$q$,
        $q$DO $$DECLARE h sno := sno_horizon(); BEGIN
             IF h <= sno_horizon() THEN PERFORM FROM items WHERE id < h; END IF;
         END$$$q$,
        $q$SELECT * FROM items WHERE id < (SELECT horizon FROM kept)$q$
    ] LOOP
        EXECUTE query;
    END LOOP;
END
$do$;

DEALLOCATE p;
DROP TABLE items, marks, kept CASCADE;
--> NOTICE:  drop cascades to 3 other objects
--> DETAIL:  drop cascades to view late
--> drop cascades to view below
--> drop cascades to view grouped
DROP FUNCTION f, g;
