-- The type with what is around it: exclusion constraints, ranges, arrays, domains, generated columns, JSON.
CREATE EXTENSION btree_gist;
SET enable_seqscan = off;
-- Exclusion constraints by the uuid of an ID, since there is no GiST class.
CREATE TABLE bookings (room sno, during tstzrange, EXCLUDE USING gist ((room::uuid) WITH =, during WITH &&));
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 10:00Z, 2026-01-01 11:00Z)'),
    ('9q7k4op826n2g222', '[2026-01-01 11:00Z, 2026-01-01 12:00Z)'), ('9q7k4op826n2g223', '[2026-01-01 10:00Z, 2026-01-01 12:00Z)');
INSERT INTO bookings VALUES ('9q7k4op826n2g222', '[2026-01-01 10:30Z, 2026-01-01 10:45Z)');
--> ERROR:  conflicting key value violates exclusion constraint "bookings_room_during_excl"
--> DETAIL:  Key ((room::uuid), during)=(3971376b-346f-7038-3236-6e3267323232, ["2026-01-01 10:30:00+00","2026-01-01 10:45:00+00")) conflicts with existing key ((room::uuid), during)=(3971376b-346f-7038-3236-6e3267323232, ["2026-01-01 10:00:00+00","2026-01-01 11:00:00+00")).
SELECT plan($$SELECT * FROM bookings WHERE room::uuid = '9q7k4op826n2g222'::sno::uuid AND during @> '2026-01-01 10:30Z'::timestamptz$$);
--> plan
--> Index Scan using bookings_room_during_excl on bookings / Index Cond: (((room)::uuid = '3971376b-346f-7038-3236-6e3267323232'::uuid) AND (during @> '2026-01-01 10:30:00+00'::timestamp with time zone))

-- Ranges of IDs.
CREATE TYPE snorange AS RANGE (subtype = sno, subtype_opclass = sno_ops);
SELECT snorange('9q7k4op826n2g222', '9q7k4op826n2g22x') @> '9q7k4op826n2g223'::sno AS contains,
    snorange(sno_lower('2026-01-01Z'), sno_lower('2026-01-02Z')) && snorange(sno_lower('2026-01-01 12:00Z'), NULL) AS overlaps,
    snorange(sno_lower('2026-01-01Z'), sno_upper('2026-01-02Z'), '[]') * snorange(NULL, '9q7k4op826n2g222') AS both;
--> contains|overlaps|both
--> t|t|[9d5ve82222222222,9d78kji3xxxxxxxx]
CREATE TABLE batches (ids snorange PRIMARY KEY, EXCLUDE USING gist (ids WITH &&));
INSERT INTO batches SELECT snorange(sno_lower(d), sno_lower(d + '1 day')) FROM generate_series('2026-01-01Z'::timestamptz, '2026-03-31Z', '1 day') d;
INSERT INTO batches VALUES (snorange(sno_lower('2026-02-01 12:00Z'), sno_lower('2026-02-01 13:00Z')));
--> ERROR:  conflicting key value violates exclusion constraint "batches_ids_excl"
--> DETAIL:  Key (ids)=([9eeh6ia222222222,9eeitg4222222222)) conflicts with existing key (ids)=([9edsjci222222222,9ef5po2222222222)).
SELECT sno_time(lower(ids)), sno_time(upper(ids)) FROM batches WHERE ids @> sno_lower('2026-02-01 12:00Z');
--> sno_time|sno_time
--> 2026-02-01 00:00:00+00|2026-02-02 00:00:00+00

-- Arrays, with a GIN index.
CREATE TABLE posts (tags sno[]);
INSERT INTO posts SELECT ARRAY[sno_make('2026-01-01Z', 0, 0, n % 100), sno_make('2026-01-01Z', 1, 0, n)] FROM generate_series(1, 1000) n;
CREATE INDEX posts_tags ON posts USING gin (tags);
ANALYZE posts;
SELECT plan($$SELECT count(*) FROM posts WHERE tags @> ARRAY[sno_make('2026-01-01Z', 0, 0, 7)]$$);
--> plan
--> Aggregate / Bitmap Heap Scan on posts / Recheck Cond: (tags @> '{9d5ve82222222229}'::sno[]) / Bitmap Index Scan on posts_tags / Index Cond: (tags @> '{9d5ve82222222229}'::sno[])
SELECT count(*) FROM posts WHERE tags && ARRAY[sno_make('2026-01-01Z', 0, 0, 7), sno_make('2026-01-01Z', 1, 0, 8)];
--> count
--> 11
SELECT '{9q7k4op826n2g222,NULL,2222222222222222}'::sno[] AS ids, array_position('{9q7k4op826n2g222,2222222222222222}'::sno[], '2222222222222222') AS place,
    ARRAY(SELECT unnest('{9q7k4op826n2g222,2222222222222222}'::sno[]) ORDER BY 1) AS sorted, '{9q7k4op826n2g222}'::sno[] < '{9q7k4op826n2g223}'::sno[] AS less;
--> ids|place|sorted|less
--> {9q7k4op826n2g222,NULL,2222222222222222}|2|{2222222222222222,9q7k4op826n2g222}|t

-- A domain: only orders, which have the metabyte 2. Conditions on time work as on the type.
CREATE DOMAIN order_id AS sno DEFAULT sno_new(2) CHECK (sno_metabyte(VALUE) = 2);
CREATE TABLE purchases (id order_id PRIMARY KEY, total numeric);
CREATE TABLE lines (order_id order_id NOT NULL REFERENCES purchases);
WITH parent AS (INSERT INTO purchases DEFAULT VALUES RETURNING id) INSERT INTO lines SELECT id FROM parent;
INSERT INTO purchases VALUES (sno_new(1), 1);
--> ERROR:  value for domain order_id violates check constraint "order_id_check"
SELECT '9q7k4op826n2g222'::order_id;
--> ERROR:  value for domain order_id violates check constraint "order_id_check"
SET enable_bitmapscan = off;
SELECT plan($$SELECT * FROM purchases WHERE id BETWEEN '2026-01-01Z'::timestamptz AND '2026-01-02Z'::timestamptz$$);
--> plan
--> Index Scan using purchases_pkey on purchases / Index Cond: (((id)::sno >= '9d5ve82222222222'::sno) AND ((id)::sno <= '9d78kji3xxxxxxxx'::sno))
SELECT plan($$SELECT id FROM purchases WHERE sno_time(id) < '2026-01-02Z' ORDER BY sno_time(id) DESC LIMIT 10$$);
--> plan
--> Limit / Index Only Scan Backward using purchases_pkey on purchases / Index Cond: (id <= '9d78kjhxxxxxxxxx'::sno)
SELECT plan($$SELECT * FROM purchases WHERE id = '9q7k4op826n2g222'$$);
--> plan
--> Index Scan using purchases_pkey on purchases / Index Cond: ((id)::sno = '9q7k4op826n2g222'::sno)
RESET ALL;
SELECT count(*) FROM purchases JOIN lines ON order_id = id WHERE id <= now() + interval '1 s' AND id > now() - interval '1 hour';
--> count
--> 1

-- Generated columns: what the functions of one ID say, as these are immutable. JSON there and back.
CREATE TABLE events (
    id      sno PRIMARY KEY,
    day     date GENERATED ALWAYS AS ((sno_time(id) AT TIME ZONE 'UTC')::date) STORED,
    kind    integer GENERATED ALWAYS AS (sno_metabyte(id)) STORED
);
INSERT INTO events VALUES ('9q7k4op826n2g222'), ('2222222222222222');
SELECT e.*, to_json(id), jsonb_build_object(id, 1), (jsonb_populate_record(NULL::events, to_jsonb(e))).id = id AS same FROM events e ORDER BY id;
--> id|day|kind|to_json|jsonb_build_object|same
--> 2222222222222222|2010-01-01|0|"2222222222222222"|{"2222222222222222": 1}|t
--> 9q7k4op826n2g222|2026-11-21|1|"9q7k4op826n2g222"|{"9q7k4op826n2g222": 1}|t
SELECT * FROM jsonb_to_record('{"id": "2026-11-01"}') AS r(id sno);
--> ERROR:  invalid input syntax for type sno: "2026-11-01"
--> DETAIL:  A sno is 16 characters, or \x and 20 hexadecimal digits.
--> HINT:  To compare with a time, write its type: timestamptz '2026-11-01'.

DROP TABLE bookings, batches, posts, lines, purchases, events;
DROP DOMAIN order_id;
DROP TYPE snorange;
DROP EXTENSION btree_gist;
