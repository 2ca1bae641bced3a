-- Casts: explicit, but for that to text, which an assignment makes, as of every type.
SET timezone = 'UTC';

SELECT id::text, id::bytea, id::uuid, id::timestamptz
FROM (VALUES ('9q7k4op826n2g222'::sno), ('2222222222222222'), ('xxxxxxxxxxxxxxxx')) v(id);
SELECT '9q7k4op826n2g222'::text::sno, '\x3e0b215ae6012a070000'::bytea::sno,
       '3971376b-346f-7038-3236-6e3267323232'::uuid::sno;

-- A time is the smallest ID of it, as of sno_lower.
SELECT '2026-11-21 09:30:15.372Z'::timestamptz::sno, '2026-11-21 09:30:15.373Z'::timestamptz::sno, 'infinity'::timestamptz::sno,
       '-infinity'::timestamptz::sno, NULL::timestamptz::sno;
SELECT count(*) FROM generate_series('2026-01-01Z'::timestamptz, '2026-01-02Z', '7 min') at WHERE at::sno::timestamptz <> at OR at::sno <> sno_lower(at);

-- There and back, and in the same order.
CREATE TABLE ids AS
    SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
    FROM generate_series(1, 10000) n;
SELECT count(*) FROM (SELECT id, rank() OVER (ORDER BY id) a, rank() OVER (ORDER BY id::uuid) b FROM ids) r
WHERE id::bytea::sno <> id OR id::uuid::sno <> id OR id::text::sno <> id OR a <> b;

-- As a uuid of version 7: with the milliseconds of the ID, there and back, and in the same order.
SELECT id, sno_to_uuidv7(id), uuidv7_to_sno(sno_to_uuidv7(id)) = id AS same
FROM (VALUES ('9q7k4op826n2g222'::sno), ('2222222222222222'), ('xxxxxxxxxxxxxxxx'), (NULL)) v(id);
SELECT count(*) FROM (SELECT id, rank() OVER (ORDER BY id) a, rank() OVER (ORDER BY sno_to_uuidv7(id)) b FROM ids) r
WHERE uuidv7_to_sno(sno_to_uuidv7(id)) <> id OR sno_to_uuidv7(id)::text !~ '^.{14}7.{4}[89ab]' OR a <> b
    OR ('x' || left(replace(sno_to_uuidv7(id)::text, '-', ''), 12))::bit(48)::bigint <> extract(epoch FROM sno_time(id)) * 1000;
SELECT uuidv7_to_sno('01a1fd71-2dcc-7009-940e-000000000001');
SELECT uuidv7_to_sno('3971376b-346f-7038-3236-6e3267323232');

-- A bytea long enough to be compressed or stored apart is detoasted, then refused.
CREATE TABLE wide (b bytea);
INSERT INTO wide VALUES (decode(repeat('00', 100000), 'hex'));
SELECT b::sno FROM wide;

-- As a text, in an assignment. Nothing else happens without being asked for.
CREATE TABLE texts (t text, v varchar(16), c char(20));
INSERT INTO texts SELECT id, id, id FROM (VALUES ('9q7k4op826n2g222'::sno)) v(id);
UPDATE texts SET t = 'xxxxxxxxxxxxxxxx'::sno;
SELECT * FROM texts;
SELECT 'order ' || '9q7k4op826n2g222'::sno, concat('9q7k4op826n2g222'::sno, '!'), format('%s', '9q7k4op826n2g222'::sno);
INSERT INTO ids VALUES (now());
INSERT INTO ids VALUES ('9q7k4op826n2g222'::text);
-- Without the hints, which are other ones from 19 on.
\set VERBOSITY terse
SELECT '9q7k4op826n2g222'::sno = '3971376b-346f-7038-3236-6e3267323232'::uuid;
SELECT '9q7k4op826n2g222'::sno = now();
SELECT '9q7k4op826n2g222'::sno > '9q7k4op826n2g222'::text;
SELECT coalesce('9q7k4op826n2g222'::sno, now());
SELECT upper('9q7k4op826n2g222'::sno);
\set VERBOSITY default

DROP TABLE ids, wide, texts;
