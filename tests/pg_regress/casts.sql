-- Casts: explicit, but for that to text, which an assignment makes, as of every type.
SET timezone = 'UTC';

SELECT id::text, id::bytea, id::uuid, id::timestamptz
FROM (VALUES ('9q7k4op826n2g222'::sno), ('2222222222222222'), ('xxxxxxxxxxxxxxxx')) v(id);
--> id|id|id|id
--> 9q7k4op826n2g222|\x3e0b215ae6012a070000|3971376b-346f-7038-3236-6e3267323232|2026-11-21 09:30:15.372+00
--> 2222222222222222|\x00000000000000000000|32323232-3232-3232-3232-323232323232|2010-01-01 00:00:00+00
--> xxxxxxxxxxxxxxxx|\xffffffffffffffffffff|78787878-7878-7878-7878-787878787878|2079-09-07 15:47:35.548+00
SELECT '9q7k4op826n2g222'::text::sno, '\x3e0b215ae6012a070000'::bytea::sno,
       '3971376b-346f-7038-3236-6e3267323232'::uuid::sno;
--> sno|sno|sno
--> 9q7k4op826n2g222|9q7k4op826n2g222|9q7k4op826n2g222

-- A time is the smallest ID of it, as of sno_lower.
SELECT '2026-11-21 09:30:15.372Z'::timestamptz::sno, '2026-11-21 09:30:15.373Z'::timestamptz::sno, 'infinity'::timestamptz::sno,
       '-infinity'::timestamptz::sno, NULL::timestamptz::sno;
--> sno|sno|sno|sno|sno
--> 9q7k4op822222222|9q7k4opa22222222|xxxxxxxxxxxxxxxx|2222222222222222|
SELECT count(*) FROM generate_series('2026-01-01Z'::timestamptz, '2026-01-02Z', '7 min') at WHERE at::sno::timestamptz <> at OR at::sno <> sno_lower(at);
--> count
--> 0

-- There and back, and in the same order.
CREATE TABLE ids AS
    SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
    FROM generate_series(1, 10000) n;
SELECT count(*) FROM (SELECT id, rank() OVER (ORDER BY id) a, rank() OVER (ORDER BY id::uuid) b FROM ids) r
WHERE id::bytea::sno <> id OR id::uuid::sno <> id OR id::text::sno <> id OR a <> b;
--> count
--> 0

-- As a uuid of version 7: with the milliseconds of the ID, there and back, and in the same order.
SELECT id, sno_to_uuidv7(id), uuidv7_to_sno(sno_to_uuidv7(id)) = id AS same
FROM (VALUES ('9q7k4op826n2g222'::sno), ('2222222222222222'), ('xxxxxxxxxxxxxxxx'), (NULL)) v(id);
--> id|sno_to_uuidv7|same
--> 9q7k4op826n2g222|01a1fd71-2dcc-7009-940e-000000000000|t
--> 2222222222222222|0125e72e-7800-7000-8000-000000000000|t
--> xxxxxxxxxxxxxxxx|0325e72e-77fc-7fff-bfff-fffe00000000|t
--> ||
SELECT count(*) FROM (SELECT id, rank() OVER (ORDER BY id) a, rank() OVER (ORDER BY sno_to_uuidv7(id)) b FROM ids) r
WHERE uuidv7_to_sno(sno_to_uuidv7(id)) <> id OR sno_to_uuidv7(id)::text !~ '^.{14}7.{4}[89ab]' OR a <> b
    OR ('x' || left(replace(sno_to_uuidv7(id)::text, '-', ''), 12))::bit(48)::bigint <> extract(epoch FROM sno_time(id)) * 1000;
--> count
--> 0
SELECT uuidv7_to_sno('01a1fd71-2dcc-7009-940e-000000000001');
--> ERROR:  uuid does not hold a sno: "01a1fd71-2dcc-7009-940e-000000000001"
--> DETAIL:  It is not a result of sno_to_uuidv7.
SELECT uuidv7_to_sno('3971376b-346f-7038-3236-6e3267323232');
--> ERROR:  uuid does not hold a sno: "3971376b-346f-7038-3236-6e3267323232"
--> DETAIL:  It is not a result of sno_to_uuidv7.

-- A bytea long enough to be compressed or stored apart is detoasted, then refused.
CREATE TABLE wide (b bytea);
INSERT INTO wide VALUES (decode(repeat('00', 100000), 'hex'));
SELECT b::sno FROM wide;
--> ERROR:  invalid length of a binary sno: 100000
--> DETAIL:  A sno is 10 bytes long.

-- As a text, in an assignment. Nothing else happens without being asked for.
CREATE TABLE texts (t text, v varchar(16), c char(20));
INSERT INTO texts SELECT id, id, id FROM (VALUES ('9q7k4op826n2g222'::sno)) v(id);
UPDATE texts SET t = 'xxxxxxxxxxxxxxxx'::sno;
SELECT * FROM texts;
--> t|v|c
--> xxxxxxxxxxxxxxxx|9q7k4op826n2g222|9q7k4op826n2g222    
SELECT 'order ' || '9q7k4op826n2g222'::sno, concat('9q7k4op826n2g222'::sno, '!'), format('%s', '9q7k4op826n2g222'::sno);
--> ?column?|concat|format
--> order 9q7k4op826n2g222|9q7k4op826n2g222!|9q7k4op826n2g222
INSERT INTO ids VALUES (now());
--> ERROR:  column "id" is of type sno but expression is of type timestamp with time zone
--> LINE 1: INSERT INTO ids VALUES (now());
-->                                 ^
--> HINT:  You will need to rewrite or cast the expression.
INSERT INTO ids VALUES ('9q7k4op826n2g222'::text);
--> ERROR:  column "id" is of type sno but expression is of type text
--> LINE 1: INSERT INTO ids VALUES ('9q7k4op826n2g222'::text);
-->                                 ^
--> HINT:  You will need to rewrite or cast the expression.
-- Without the hints, which are other ones from 19 on.
\set VERBOSITY terse
SELECT '9q7k4op826n2g222'::sno = '3971376b-346f-7038-3236-6e3267323232'::uuid;
--> ERROR:  operator does not exist: sno = uuid at character 32
SELECT '9q7k4op826n2g222'::sno = now();
--> ERROR:  operator does not exist: sno = timestamp with time zone at character 32
SELECT '9q7k4op826n2g222'::sno > '9q7k4op826n2g222'::text;
--> ERROR:  operator does not exist: sno > text at character 32
SELECT coalesce('9q7k4op826n2g222'::sno, now());
--> ERROR:  COALESCE types sno and timestamp with time zone cannot be matched at character 42
SELECT upper('9q7k4op826n2g222'::sno);
--> ERROR:  function upper(sno) does not exist at character 8
\set VERBOSITY default

DROP TABLE ids, wide, texts;
