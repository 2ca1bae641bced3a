-- The type with what is around it: exclusion constraints, ranges, arrays, domains, generated columns, JSON.

CREATE EXTENSION btree_gist;

-- Exclusion constraints by the uuid of an ID, since there is no GiST class.
CREATE TABLE bookings (
    room    sno,
    during  tstzrange,
    EXCLUDE USING gist ((room::uuid) WITH =, during WITH &&)
);
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 10:00Z, 2026-01-01 11:00Z)');
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 11:00Z, 2026-01-01 12:00Z)');
INSERT INTO bookings VALUES ('9q7k4op826n2g223', '[2026-01-01 10:00Z, 2026-01-01 12:00Z)');
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 10:30Z, 2026-01-01 10:45Z)');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM bookings WHERE room::uuid = '9q7k4op826n2g222'::sno::uuid AND during @> '2026-01-01 10:30Z'::timestamptz;
SELECT room, during FROM bookings WHERE room::uuid = '9q7k4op826n2g222'::sno::uuid AND during @> '2026-01-01 10:30Z'::timestamptz;
RESET enable_seqscan;
-- The other way round, an ID may be in one row of each state at most.
CREATE TABLE jobs (id sno, state text, EXCLUDE USING gist ((id::uuid) WITH =, state WITH <>));
INSERT INTO jobs VALUES ('9q7k4op826n2g222', 'open'), ('9q7k4op826n2g222', 'open'), ('9q7k4op826n2g223', 'done');
INSERT INTO jobs VALUES ('9q7k4op826n2g222', 'done');

-- Ranges of IDs.
CREATE TYPE snorange AS RANGE (subtype = sno, subtype_opclass = sno_ops);
SELECT snorange('9q7k4op826n2g222', '9q7k4op826n2g22x') @> '9q7k4op826n2g223'::sno AS contains,
    snorange(sno_lower('2026-01-01Z'), sno_lower('2026-01-02Z')) && snorange(sno_lower('2026-01-01 12:00Z'), NULL) AS overlaps,
    snorange(sno_lower('2026-01-01Z'), sno_upper('2026-01-02Z'), '[]') * snorange(NULL, '9q7k4op826n2g222') AS both,
    '[9q7k4op826n2g222,9q7k4op826n2g22x)'::snorange::text::snorange = snorange('9q7k4op826n2g222', '9q7k4op826n2g22x') AS as_text;
SELECT '[9q7k4op826n2g22x,9q7k4op826n2g222)'::snorange;
SELECT '{[9q7k4op826n2g222,9q7k4op826n2g22x)}'::snomultirange - '{[9q7k4op826n2g22a,9q7k4op826n2g22c]}'::snomultirange AS multirange;
CREATE TABLE batches (ids snorange PRIMARY KEY, EXCLUDE USING gist (ids WITH &&));
INSERT INTO batches SELECT snorange(sno_lower(d), sno_lower(d + '1 day')) FROM generate_series('2026-01-01Z'::timestamptz, '2026-03-31Z', '1 day') d;
INSERT INTO batches VALUES (snorange(sno_lower('2026-02-01 12:00Z'), sno_lower('2026-02-01 13:00Z')));
ANALYZE batches;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM batches WHERE ids @> sno_lower('2026-02-01 12:00Z');
SELECT sno_time(lower(ids)), sno_time(upper(ids)) FROM batches WHERE ids @> sno_lower('2026-02-01 12:00Z');
RESET enable_seqscan;

-- Arrays, with a GIN index.
CREATE TABLE posts (tags sno[]);
INSERT INTO posts SELECT ARRAY[sno_make('2026-01-01Z', 0, 0, n % 100), sno_make('2026-01-01Z', 1, 0, n)] FROM generate_series(1, 1000) n;
CREATE INDEX posts_tags ON posts USING gin (tags);
ANALYZE posts;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM posts WHERE tags @> ARRAY[sno_make('2026-01-01Z', 0, 0, 7)];
SELECT count(*) FROM posts WHERE tags @> ARRAY[sno_make('2026-01-01Z', 0, 0, 7)];
SELECT count(*) FROM posts WHERE tags && ARRAY[sno_make('2026-01-01Z', 0, 0, 7), sno_make('2026-01-01Z', 1, 0, 8)];
RESET enable_seqscan;
SELECT count(*) FROM posts WHERE sno_make('2026-01-01Z', 1, 0, 8) = ANY (tags);
SELECT '{9q7k4op826n2g222,NULL,2222222222222222}'::sno[] AS ids, array_position('{9q7k4op826n2g222,2222222222222222}'::sno[], '2222222222222222') AS place,
    ARRAY(SELECT unnest('{9q7k4op826n2g222,2222222222222222}'::sno[]) ORDER BY 1) AS sorted, '{9q7k4op826n2g222}'::sno[] < '{9q7k4op826n2g223}'::sno[] AS less;

-- A domain: only orders, which have the metabyte 2. Conditions on time work as on the type.
CREATE DOMAIN order_id AS sno DEFAULT sno_new(2) CHECK (sno_metabyte(VALUE) = 2);
CREATE TABLE purchases (id order_id PRIMARY KEY, total numeric);
INSERT INTO purchases (total) VALUES (1) RETURNING sno_metabyte(id);
INSERT INTO purchases VALUES (sno_new(1), 1);
\echo :LAST_ERROR_SQLSTATE
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM purchases WHERE id BETWEEN '2026-01-01Z'::timestamptz AND '2026-01-02Z'::timestamptz;
EXPLAIN (COSTS OFF) SELECT * FROM purchases WHERE id = '9q7k4op826n2g222';
RESET ALL;
SELECT count(*) FROM purchases WHERE id <= now() + interval '1 s' AND id > now() - interval '1 hour';

-- Generated columns: what the functions of one ID say, as these are immutable.
CREATE TABLE events (
    id      sno PRIMARY KEY,
    day     date GENERATED ALWAYS AS ((sno_time(id) AT TIME ZONE 'UTC')::date) STORED,
    kind    integer GENERATED ALWAYS AS (sno_metabyte(id)) STORED
);
INSERT INTO events VALUES ('9q7k4op826n2g222'), ('2222222222222222');
SELECT * FROM events ORDER BY id;
UPDATE events SET id = sno_with_metabyte(id, 7) WHERE id = '9q7k4op826n2g222' RETURNING *;

-- JSON there and back.
SELECT to_json(id), to_jsonb(id), jsonb_build_object('id', id), jsonb_build_object(id, 1), row_to_json(e) FROM (SELECT id, kind FROM events ORDER BY id LIMIT 1) e;
SELECT * FROM jsonb_to_recordset((SELECT jsonb_agg(e) FROM events e)) AS r(id sno, kind integer) ORDER BY id;
SELECT (jsonb_populate_record(NULL::bookings, '{"room": "9q7k4op826n2g222"}')).room, ('{"id": "9q7k4op826n2g222"}'::jsonb ->> 'id')::sno,
    ARRAY(SELECT jsonb_array_elements_text('["9q7k4op826n2g222", "2222222222222222"]')::sno) AS ids;
SELECT * FROM jsonb_to_record('{"id": "2026-11-01"}') AS r(id sno);

DROP TABLE bookings, jobs, batches, posts, purchases, events;
DROP DOMAIN order_id;
DROP TYPE snorange;
DROP EXTENSION btree_gist;
