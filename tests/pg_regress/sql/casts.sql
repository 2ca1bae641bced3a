-- Casts, all of them explicit.
SET timezone = 'UTC';

SELECT id::text, id::bytea, id::uuid, id::timestamptz
FROM (VALUES ('9q7k4op826n2g222'::sno), ('2222222222222222'), ('xxxxxxxxxxxxxxxx')) v(id);
SELECT '9q7k4op826n2g222'::text::sno, '\x3e0b215ae6012a070000'::bytea::sno,
       '3971376b-346f-7038-3236-6e3267323232'::uuid::sno;

-- There and back, and in the same order.
CREATE TABLE ids AS
    SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
    FROM generate_series(1, 10000) n;
SELECT count(*) FROM ids WHERE id::bytea::sno <> id OR id::uuid::sno <> id OR id::text::sno <> id;
SELECT count(*) FROM (SELECT rank() OVER (ORDER BY id) a, rank() OVER (ORDER BY id::uuid) b FROM ids) r WHERE a <> b;

-- A bytea long enough to be compressed or stored apart is detoasted, then refused.
CREATE TABLE wide (b bytea);
INSERT INTO wide VALUES (decode(repeat('00', 100000), 'hex'));
SELECT b::sno FROM wide;

-- Nothing happens without being asked for.
CREATE TABLE texts (t text);
INSERT INTO texts SELECT id FROM ids LIMIT 1;
INSERT INTO ids VALUES ('9q7k4op826n2g222'::text);
SELECT '9q7k4op826n2g222'::sno = '3971376b-346f-7038-3236-6e3267323232'::uuid;
SELECT '9q7k4op826n2g222'::sno > now();
SELECT upper('9q7k4op826n2g222'::sno);

DROP TABLE ids, wide, texts;
