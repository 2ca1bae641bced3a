-- The type with what is around it: exclusion constraints, ranges, arrays, domains, generated columns, JSON.
CREATE EXTENSION btree_gist;
SET enable_seqscan = off;
-- Exclusion constraints by the uuid of an ID, since there is no GiST class.
CREATE TABLE bookings (room sno, during tstzrange, EXCLUDE USING gist ((room::uuid) WITH =, during WITH &&));
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 10:00Z, 2026-01-01 11:00Z)'),
    ('9q7k4op826n2g222', '[2026-01-01 11:00Z, 2026-01-01 12:00Z)'), ('9q7k4op826n2g223', '[2026-01-01 10:00Z, 2026-01-01 12:00Z)');
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 10:30Z, 2026-01-01 10:45Z)');
EXPLAIN (COSTS OFF) SELECT * FROM bookings WHERE room::uuid = '9q7k4op826n2g222'::sno::uuid AND during @> '2026-01-01 10:30Z'::timestamptz;

-- Ranges of IDs.
CREATE TYPE snorange AS RANGE (subtype = sno, subtype_opclass = sno_ops);
SELECT snorange('9q7k4op826n2g222', '9q7k4op826n2g22x') @> '9q7k4op826n2g223'::sno AS contains,
    snorange(sno_lower('2026-01-01Z'), sno_lower('2026-01-02Z')) && snorange(sno_lower('2026-01-01 12:00Z'), NULL) AS overlaps,
    snorange(sno_lower('2026-01-01Z'), sno_upper('2026-01-02Z'), '[]') * snorange(NULL, '9q7k4op826n2g222') AS both;
CREATE TABLE batches (ids snorange PRIMARY KEY, EXCLUDE USING gist (ids WITH &&));
INSERT INTO batches SELECT snorange(sno_lower(d), sno_lower(d + '1 day')) FROM generate_series('2026-01-01Z'::timestamptz, '2026-03-31Z', '1 day') d;
INSERT INTO batches VALUES (snorange(sno_lower('2026-02-01 12:00Z'), sno_lower('2026-02-01 13:00Z')));
SELECT sno_time(lower(ids)), sno_time(upper(ids)) FROM batches WHERE ids @> sno_lower('2026-02-01 12:00Z');

-- Arrays, with a GIN index.
CREATE TABLE posts (tags sno[]);
INSERT INTO posts SELECT ARRAY[sno_make('2026-01-01Z', 0, 0, n % 100), sno_make('2026-01-01Z', 1, 0, n)] FROM generate_series(1, 1000) n;
CREATE INDEX posts_tags ON posts USING gin (tags);
ANALYZE posts;
EXPLAIN (COSTS OFF) SELECT count(*) FROM posts WHERE tags @> ARRAY[sno_make('2026-01-01Z', 0, 0, 7)];
SELECT count(*) FROM posts WHERE tags && ARRAY[sno_make('2026-01-01Z', 0, 0, 7), sno_make('2026-01-01Z', 1, 0, 8)];
SELECT '{9q7k4op826n2g222,NULL,2222222222222222}'::sno[] AS ids, array_position('{9q7k4op826n2g222,2222222222222222}'::sno[], '2222222222222222') AS place,
    ARRAY(SELECT unnest('{9q7k4op826n2g222,2222222222222222}'::sno[]) ORDER BY 1) AS sorted, '{9q7k4op826n2g222}'::sno[] < '{9q7k4op826n2g223}'::sno[] AS less;

-- A domain: only orders, which have the metabyte 2. Conditions on time work as on the type.
CREATE DOMAIN order_id AS sno DEFAULT sno_new(2) CHECK (sno_metabyte(VALUE) = 2);
CREATE TABLE purchases (id order_id PRIMARY KEY, total numeric);
CREATE TABLE lines (order_id order_id NOT NULL REFERENCES purchases);
WITH parent AS (INSERT INTO purchases DEFAULT VALUES RETURNING id) INSERT INTO lines SELECT id FROM parent;
INSERT INTO purchases VALUES (sno_new(1), 1);
SELECT '9q7k4op826n2g222'::order_id;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM purchases WHERE id BETWEEN '2026-01-01Z'::timestamptz AND '2026-01-02Z'::timestamptz;
EXPLAIN (COSTS OFF) SELECT id FROM purchases WHERE sno_time(id) < '2026-01-02Z' ORDER BY sno_time(id) DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM purchases WHERE id = '9q7k4op826n2g222';
RESET ALL;
SELECT count(*) FROM purchases JOIN lines ON order_id = id WHERE id <= now() + interval '1 s' AND id > now() - interval '1 hour';

-- Generated columns: what the functions of one ID say, as these are immutable. JSON there and back.
CREATE TABLE events (
    id      sno PRIMARY KEY,
    day     date GENERATED ALWAYS AS ((sno_time(id) AT TIME ZONE 'UTC')::date) STORED,
    kind    integer GENERATED ALWAYS AS (sno_metabyte(id)) STORED
);
INSERT INTO events VALUES ('9q7k4op826n2g222'), ('2222222222222222');
SELECT e.*, to_json(id), jsonb_build_object(id, 1), (jsonb_populate_record(NULL::events, to_jsonb(e))).id = id AS same FROM events e ORDER BY id;
SELECT * FROM jsonb_to_record('{"id": "2026-11-01"}') AS r(id sno);

DROP TABLE bookings, batches, posts, lines, purchases, events;
DROP DOMAIN order_id;
DROP TYPE snorange;
DROP EXTENSION btree_gist;
