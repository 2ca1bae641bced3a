-- Operator classes: valid, and every path to the rows finds the same ones.

-- Plans that are forced look expensive enough to be compiled.
SET jit = off;

-- IDs of all sorts: of one tick, of one hour, of the whole epoch, its ends, nulls, many of one.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE ids (id sno, n serial);
INSERT INTO ids (id)
    SELECT sno_make('2026-11-01 00:00Z'::timestamptz + random() * interval '1 hour', (random() * 255)::integer, (random() * 300)::integer, (random() * 65535)::integer, random() < 0.1)
    FROM generate_series(1, 10000)
    UNION ALL SELECT sno_make('2026-11-01 00:30Z', (random() * 3)::integer, (random() * 3)::integer, n % 1000)
    FROM generate_series(1, 5000) n
    UNION ALL SELECT decode(substr(md5(n::text), 1, 20), 'hex')::sno FROM generate_series(1, 5000) n
    UNION ALL SELECT '9q7k4op826n2g222' FROM generate_series(1, 1000)
    UNION ALL SELECT NULL FROM generate_series(1, 1000)
    UNION ALL SELECT unnest('{2222222222222222,2222222222222223,xxxxxxxxxxxxxxxw,xxxxxxxxxxxxxxxx}'::sno[]);
ANALYZE ids;

-- Sorts in memory, on disk, in both directions, with nulls on both ends: as by the bytes.
CREATE FUNCTION misplaced(ordering text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM (SELECT id, row_number() OVER () AS place FROM (SELECT id FROM ids ORDER BY id %1$s OFFSET 0) s) a
        JOIN (SELECT id::bytea AS bytes, row_number() OVER () AS place FROM (SELECT id FROM ids ORDER BY id::bytea %1$s OFFSET 0) s) b
        USING (place) WHERE a.id::bytea IS DISTINCT FROM b.bytes', ordering) INTO result;
    RETURN result;
END
$$;
SELECT misplaced(''), misplaced('DESC'), misplaced('NULLS FIRST'), misplaced('DESC NULLS LAST');
--> misplaced|misplaced|misplaced|misplaced
--> 0|0|0|0
SET work_mem = '64kB';
SELECT misplaced(''), misplaced('DESC'), misplaced('NULLS FIRST'), misplaced('DESC NULLS LAST');
--> misplaced|misplaced|misplaced|misplaced
--> 0|0|0|0
RESET work_mem;

-- Ranges between random IDs and times, and what a sequential scan finds.
CREATE FUNCTION found(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE 'SELECT format(''%s %s'', count(*), sum(hashint4(n)::bigint)) FROM ids WHERE ' || condition INTO result;
    RETURN result;
END
$$;
CREATE TABLE conditions (condition text, expected text);
WITH points AS (
    SELECT row_number() OVER (ORDER BY random()) AS place, p FROM (
        SELECT quote_literal(id) || '::sno' AS p FROM (SELECT id FROM ids WHERE id IS NOT NULL ORDER BY random() LIMIT 40) s
        UNION ALL SELECT quote_literal(p) || '::sno' FROM unnest('{2222222222222222,xxxxxxxxxxxxxxxx}'::text[]) p
        UNION ALL SELECT quote_literal('2026-11-01 00:00Z'::timestamptz + random() * interval '1 hour') || '::timestamptz' FROM generate_series(1, 20)
        UNION ALL SELECT quote_literal(p) || '::timestamptz'
        FROM unnest('{-infinity,2010-01-01 00:00Z,2026-11-01 00:30Z,2079-09-07 15:47:35.548Z,2100-01-01 00:00Z,infinity}'::text[]) p
        UNION ALL VALUES ('NULL::sno'), ('NULL::timestamptz')) s)
INSERT INTO conditions
    SELECT 'id >= ' || p FROM points
    UNION ALL SELECT 'id < ' || p FROM points
    UNION ALL SELECT format('id %s %s', op, p) FROM points, unnest('{=,<=,>}'::text[]) op WHERE p LIKE '%::sno'
    UNION ALL SELECT format('id >= %s AND id < %s', a.p, b.p) FROM points a JOIN points b ON b.place = a.place + 1
    UNION ALL SELECT format('id = ANY (ARRAY[%s, %s, NULL])', a.p, b.p)
    FROM points a JOIN points b ON b.place > a.place AND b.place < a.place + 4 WHERE a.p LIKE '%::sno' AND b.p LIKE '%::sno'
    UNION ALL VALUES ('id IS NULL'), ('id IS NOT NULL');
UPDATE conditions SET expected = found(condition);
SELECT count(*) > 400 AS many FROM conditions;
--> many
--> t

-- What is found by way of an index, and of which scans.
CREATE FUNCTION compare(index text, VARIADIC settings text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    setting text;
    condition text;
    line text;
    scans text[];
    result text;
BEGIN
    EXECUTE 'CREATE INDEX i ON ids ' || index;
    FOREACH setting IN ARRAY '{seqscan,indexscan,bitmapscan,indexonlyscan}'::text[] LOOP
        PERFORM set_config('enable_' || setting, (setting = ANY (settings))::text, true);
    END LOOP;
    FOR condition IN SELECT c.condition FROM conditions c LOOP
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT n FROM ids WHERE ' || condition LOOP
            scans := scans || substring(line FROM '(Bitmap Heap Scan|Bitmap Index Scan|Index Only Scan|Index Scan|Seq Scan)');
        END LOOP;
    END LOOP;
    result := (SELECT format('%s different', count(*) FILTER (WHERE expected IS DISTINCT FROM found(c.condition))) FROM conditions c)
        || (SELECT ', by ' || string_agg(DISTINCT scan, ', ') FROM unnest(scans) scan WHERE scan <> 'Bitmap Index Scan');
    DROP INDEX i;
    RETURN result;
END
$$;
VACUUM ids;
SELECT index, compare(index, VARIADIC scans::text[]) FROM (VALUES
    ('(id)', '{indexscan}'), ('(id)', '{bitmapscan}'), ('(id DESC NULLS LAST) INCLUDE (n)', '{indexscan,indexonlyscan}'),
    ('USING hash (id)', '{indexscan}'), ('USING brin (id) WITH (pages_per_range = 2)', '{bitmapscan}'),
    ('USING brin (id sno_minmax_multi_ops (values_per_range = 8)) WITH (pages_per_range = 2)', '{bitmapscan}'),
    ('USING brin (id sno_bloom_ops) WITH (pages_per_range = 2)', '{bitmapscan}')) v(index, scans);
--> index|compare
--> (id)|0 different, by Index Scan
--> (id)|0 different, by Bitmap Heap Scan
--> (id DESC NULLS LAST) INCLUDE (n)|0 different, by Index Only Scan
--> USING hash (id)|0 different, by Bitmap Heap Scan, Index Scan, Seq Scan
--> USING brin (id) WITH (pages_per_range = 2)|0 different, by Bitmap Heap Scan
--> USING brin (id sno_minmax_multi_ops (values_per_range = 8)) WITH (pages_per_range = 2)|0 different, by Bitmap Heap Scan
--> USING brin (id sno_bloom_ops) WITH (pages_per_range = 2)|0 different, by Bitmap Heap Scan, Seq Scan

-- Distances are in ticks.
SELECT sno_internal.sno_brin_distance(sno_lower('2026-01-01 00:00Z'), sno_lower('2026-01-01 00:00:01Z')) AS second,
       sno_internal.sno_brin_distance(sno_lower('2026-01-01 00:00:01Z'), sno_lower('2026-01-01 00:00Z')) AS back,
       sno_internal.sno_brin_distance('2222222222222222', '2222222222222222') AS none,
       round(sno_internal.sno_brin_distance('2222222222222222', 'xxxxxxxxxxxxxxxx')::numeric) AS all;
--> second|back|none|all
--> 250|250|0|549755813888

-- Equal IDs share their place in a btree.
CREATE TABLE refs AS SELECT '9q7k4op826n2g222'::sno AS id FROM generate_series(1, 20000);
CREATE INDEX refs_dedup ON refs (id);
CREATE INDEX refs_plain ON refs (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('refs_dedup') * 2 < pg_relation_size('refs_plain') AS smaller;
--> smaller
--> t

DROP TABLE ids, conditions, refs;
DROP FUNCTION misplaced, found, compare;
