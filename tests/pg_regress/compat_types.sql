-- The types of sno_compat: operator classes, input, output, casts, indexes.

SELECT opcintype::regtype, string_agg(concat(amname, ' ', opcname), ', ' ORDER BY amname, opcname), bool_and(amvalidate(c.oid))
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcintype::regtype::text IN ('uid60', 'uniqueid', 'gid') GROUP BY 1 ORDER BY 1;
--> opcintype|string_agg|bool_and
--> uid60|brin uid60_bloom_ops, brin uid60_minmax_ops, btree uid60_ops, hash uid60_ops|t
--> uniqueid|brin uniqueid_bloom_ops, brin uniqueid_minmax_ops, btree uniqueid_ops, hash uniqueid_ops|t
--> gid|brin gid_bloom_ops, brin gid_minmax_ops, btree gid_ops, hash gid_ops|t

-- Every object has a comment.
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno_compat')
  AND deptype = 'e' AND obj_description(objid, classid::regclass::name) IS NULL
  -- Made by the types.
  AND pg_describe_object(classid, objid, 0) !~ '\[\]$'
ORDER BY 1;
--> pg_describe_object

-- Stored as bigint and uuid are.
SELECT typname, typlen, typbyval, typalign, typstorage FROM pg_type WHERE typname IN ('uid60', 'uniqueid', 'gid') ORDER BY 1;
--> typname|typlen|typbyval|typalign|typstorage
--> gid|16|f|c|p
--> uid60|8|t|d|p
--> uniqueid|8|t|d|p

-- The functions.
CREATE TEMPORARY VIEW functions AS
SELECT p.* FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno_compat') AND prokind = 'f';
-- Volatility, strictness and parallel safety, where they are not immutable, strict and safe.
SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel FROM functions
WHERE (provolatile, proisstrict, proparallel) <> ('i', true, 's') ORDER BY 1;
--> function|provolatile|proisstrict|proparallel
--> sno_internal.snowflake_si_base_clock()|s|t|s
--> sno_internal.snowflake_si_machine_bits()|s|t|s
--> snowflake_si_new()|v|t|s
--> uid60_new()|v|t|s
--> uniqueid_new()|v|t|s
--> gid_new(text)|v|t|s
--> sno_compat_generators()|v|t|s
-- Leakproof is what can't fail. These can.
SELECT string_agg(proname, ' ' ORDER BY proname) AS functions FROM functions
WHERE NOT proleakproof AND provolatile = 'i' AND NOT 'internal'::regtype = ANY (proargtypes);
--> functions
--> gid_from_bytea gid_from_uuid gid_in gid_lower gid_make gid_upper snowflake_si_index snowflake_si_inspect snowflake_si_lower snowflake_si_machine snowflake_si_make snowflake_si_time snowflake_si_to_sno snowflake_si_upper uid60_from_bigint uid60_from_bytea uid60_in uid60_make uid60_to_sno uniqueid_from_bytea uniqueid_in uniqueid_make uniqueid_to_sno
-- What sno has, too, they have as sno does, but for sno_new(), whose transactions are announced.
SELECT f.oid::regprocedure AS function FROM functions f
JOIN pg_proc s ON s.proname = regexp_replace(f.proname, '^[^_]+', 'sno') AND s.pronargs = f.pronargs AND s.proname <> 'sno_new'
WHERE (f.provolatile, f.proisstrict, f.proleakproof, f.proparallel, f.procost)
   <> (s.provolatile, s.proisstrict, s.proleakproof, s.proparallel, s.procost) ORDER BY 1;
--> function
DROP VIEW functions;

-- Text in, text out; everything else is an error.
SELECT 'gAAAAAAAAA'::uid60, '__________'::uid60, 'CB54ECF284000000'::uniqueid, '5rLWQQkJdm-2dVseX433Zwhy'::gid;
--> uid60|uid60|uniqueid|gid
--> gAAAAAAAAA|__________|cb54ecf284000000|5rLWQQkJdm-2dVseX433Zwhy
SELECT type, input, answer(format('SELECT %L::%s', input, type))
FROM (VALUES
    ('uid60', ''), ('uid60', 'gAAAAAAAAAA'), ('uid60', 'gAAAAAAAA+'), ('uid60', 'gAAAAAAAÄ'),
    ('uniqueid', ''), ('uniqueid', 'cb54ecf28400000'), ('uniqueid', 'cb54ecf28400000g'), ('uniqueid', '\xcb54ecf2840000'),
    ('gid', ''), ('gid', '5rLWQQkJdm2dVseX433Zwhyy'), ('gid', '5rLWQQkJdm-2dVseX433Zwh0'), ('gid', 'zzzzzzzzzz-2dVseX433Zwhy'),
    ('gid', '1111111111-2dVseX433Zwhy'), ('gid', '5rLWQQkJdm-1111111111111')
) AS v(type, input);
--> type|input|answer
--> uid60||22P02: invalid input syntax for type uid60: "" / A uid60 is 10 of the characters A-Z, a-z, 0-9, - and _.
--> uid60|gAAAAAAAAAA|22P02: invalid input syntax for type uid60: "gAAAAAAAAAA" / A uid60 is 10 of the characters A-Z, a-z, 0-9, - and _.
--> uid60|gAAAAAAAA+|22P02: invalid input syntax for type uid60: "gAAAAAAAA+" / A uid60 is 10 of the characters A-Z, a-z, 0-9, - and _.
--> uid60|gAAAAAAAÄ|22P02: invalid input syntax for type uid60: "gAAAAAAAÄ" / A uid60 is 10 of the characters A-Z, a-z, 0-9, - and _.
--> uniqueid||22P02: invalid input syntax for type uniqueid: "" / A uniqueid is 16 hexadecimal digits.
--> uniqueid|cb54ecf28400000|22P02: invalid input syntax for type uniqueid: "cb54ecf28400000" / A uniqueid is 16 hexadecimal digits.
--> uniqueid|cb54ecf28400000g|22P02: invalid input syntax for type uniqueid: "cb54ecf28400000g" / A uniqueid is 16 hexadecimal digits.
--> uniqueid|\xcb54ecf2840000|22P02: invalid input syntax for type uniqueid: "\xcb54ecf2840000" / A uniqueid is 16 hexadecimal digits.
--> gid||22P02: invalid input syntax for type gid: "" / A gid is 10 characters of base58, a hyphen, and 13 more.
--> gid|5rLWQQkJdm2dVseX433Zwhyy|22P02: invalid input syntax for type gid: "5rLWQQkJdm2dVseX433Zwhyy" / A gid is 10 characters of base58, a hyphen, and 13 more.
--> gid|5rLWQQkJdm-2dVseX433Zwh0|22P02: invalid input syntax for type gid: "5rLWQQkJdm-2dVseX433Zwh0" / A gid is 10 characters of base58, a hyphen, and 13 more.
--> gid|zzzzzzzzzz-2dVseX433Zwhy|22P02: invalid input syntax for type gid: "zzzzzzzzzz-2dVseX433Zwhy" / The parts of a gid stand for 7 and 9 bytes.
--> gid|1111111111-2dVseX433Zwhy|22P02: invalid input syntax for type gid: "1111111111-2dVseX433Zwhy" / The first byte of a gid is 0x80, 0xa0 or 0xc0.
--> gid|5rLWQQkJdm-1111111111111|22P02: invalid input syntax for type gid: "5rLWQQkJdm-1111111111111" / Byte 7 of a gid is at least 0x80.

-- Casts, all explicit, and their errors. Those to and from text are PostgreSQL's own.
SELECT castcontext, castmethod, string_agg(format('%s to %s', castsource::regtype, casttarget::regtype), ', '
    ORDER BY castsource::regtype::text, casttarget::regtype::text) AS casts
FROM pg_cast WHERE ARRAY[castsource, casttarget] && '{uid60,uniqueid,gid}'::regtype[]::oid[] GROUP BY 1, 2;
--> castcontext|castmethod|casts
--> e|b|bigint to uniqueid, gid to uuid, uid60 to bigint, uniqueid to bigint
--> e|f|bigint to uid60, bytea to gid, bytea to uid60, bytea to uniqueid, gid to bytea, gid to timestamp with time zone, uid60 to bytea, uid60 to timestamp with time zone, uniqueid to bytea, uniqueid to timestamp with time zone, uuid to gid
SELECT u::text, u::text::uid60, u::varchar(4), ARRAY[u]::text[] FROM (VALUES ('AZI9gACAQD'::uid60)) v(u);
--> u|u|u|array
--> AZI9gACAQD|AZI9gACAQD|AZI9|{AZI9gACAQD}
SELECT '268435456'::bigint::uid60, 'AZI9gACAQD'::uid60::bigint, 'AZI9gACAQD'::uid60::bytea,
       '\x001bc49800080403'::bytea::uid60, 'AZI9gACAQD'::uid60::timestamptz,
       '\xcb54ecf2840a0015'::bytea::uniqueid, 'cb54ecf2840a0015'::uniqueid::bytea, 'cb54ecf2840a0015'::uniqueid::timestamptz,
       'cb54ecf2840a0015'::uniqueid::bigint, '-3795148059624996843'::bigint::uniqueid, '5'::bigint::uniqueid;
--> uid60|int8|bytea|uid60|timestamptz|uniqueid|bytea|timestamptz|int8|uniqueid|uniqueid
--> gAAAAAAAAA|7815981485786115|\x001bc49800080403|AZI9gACAQD|2019-02-01 00:00:00+00|cb54ecf2840a0015|\xcb54ecf2840a0015|1974-07-14 19:42:16.275+00|-3795148059624996843|cb54ecf2840a0015|0000000000000005
SELECT '5rMH4TvfXM-4FzkJ37568tQv'::gid::uuid, '80018bcfe56800ff-ffffffffffffffff'::uuid::gid,
       '5rMH4TvfXM-4FzkJ37568tQv'::gid::bytea, '\x80018bcfe56800ffffffffffffffffff'::bytea::gid;
--> uuid|gid|bytea|gid
--> 80018bcf-e568-00ff-ffff-ffffffffffff|5rMH4TvfXM-4FzkJ37568tQv|\x80018bcfe56800ffffffffffffffffff|5rMH4TvfXM-4FzkJ37568tQv
SELECT command, answer('SELECT ' || command)
FROM unnest(ARRAY[
    $q$'-1'::bigint::uid60$q$, $q$'1152921504606846976'::bigint::uid60$q$,
    $q$'\x1000000000000000'::bytea::uid60$q$, $q$'\x10'::bytea::uid60$q$, $q$'\x1000000000000000ff'::bytea::uniqueid$q$,
    $q$'\x00018bcfe56800ffffffffffffffffff'::bytea::gid$q$, $q$'\xa0018bcfe568007fffffffffffffffff'::bytea::gid$q$,
    $q$'\xa0'::bytea::gid$q$, $q$'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::gid$q$
]) command;
--> command|answer
--> '-1'::bigint::uid60|22003: uid60 out of range: -1 / A uid60 is between 0 and 1152921504606846975.
--> '1152921504606846976'::bigint::uid60|22003: uid60 out of range: 1152921504606846976 / A uid60 is between 0 and 1152921504606846975.
--> '\x1000000000000000'::bytea::uid60|22P03: invalid binary uid60 / A uid60 is between 0 and 1152921504606846975.
--> '\x10'::bytea::uid60|22P03: invalid length of a binary uid60: 1 / A uid60 is 8 bytes long.
--> '\x1000000000000000ff'::bytea::uniqueid|22P03: invalid length of a binary uniqueid: 9 / A uniqueid is 8 bytes long.
--> '\x00018bcfe56800ffffffffffffffffff'::bytea::gid|22P03: invalid binary gid / The first byte of a gid is 0x80, 0xa0 or 0xc0.
--> '\xa0018bcfe568007fffffffffffffffff'::bytea::gid|22P03: invalid binary gid / Byte 7 of a gid is at least 0x80.
--> '\xa0'::bytea::gid|22P03: invalid length of a binary gid: 1 / A gid is 16 bytes long.
--> 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::gid|22P02: uuid does not hold a gid: "b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" / The first byte of a gid is 0x80, 0xa0 or 0xc0.
-- A uuid that happens to have the bytes of a gid.
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::gid;
--> gid
--> 76imXFHG7w-4AdYQjE4WQr8G

-- What a table and its indexes make of them, in the order of numbers, without a sign.
CREATE TABLE others (u uid60 PRIMARY KEY, q uniqueid UNIQUE, g gid UNIQUE);
INSERT INTO others
SELECT (n * 4503599627370495)::bigint::uid60,
       decode(lpad(to_hex(n), 2, '0') || lpad(to_hex(1000 - n), 14, '0'), 'hex')::uniqueid,
       gid_make((ARRAY['volume', 'log', 'segment'])[1 + n % 3], '2025-01-01Z'::timestamptz + n * interval '1 ms',
                decode('80' || lpad(to_hex(n), 16, '0'), 'hex'))
FROM generate_series(0, 255) n ORDER BY md5(n::text);
CREATE INDEX ON others USING hash (u);
CREATE INDEX ON others USING hash (q);
CREATE INDEX ON others USING hash (g);
CREATE INDEX others_brin ON others USING brin (u, q, g);
-- By lz4, which PostgreSQL 19 compresses with by default, three filters are too large for a page; those of other types, too.
SET default_toast_compression = pglz;
CREATE INDEX others_bloom ON others USING brin (u uid60_bloom_ops, q uniqueid_bloom_ops, g gid_bloom_ops);
RESET default_toast_compression;
ANALYZE others;
SELECT min(u), max(u), min(q), max(q), min(g), max(g) FROM others;
--> min|max|min|max|min|max
--> AAAAAAAAAA|____f___8B|00000000000003e8|ff000000000002e9|5rMHzqhCCP-2dVseX433Zwhy|8H23hYZr69-2dVseX433ZwnM
SELECT count(*) FROM (SELECT rank() OVER (ORDER BY u) - rank() OVER (ORDER BY u::bigint) AS u,
    rank() OVER (ORDER BY q) - rank() OVER (ORDER BY q::bytea) AS q, rank() OVER (ORDER BY g) - rank() OVER (ORDER BY g::bytea) AS g,
    rank() OVER (ORDER BY g) - rank() OVER (ORDER BY g::text COLLATE "C") AS t FROM others) s WHERE (u, q, g, t) <> (0, 0, 0, 0);
--> count
--> 0
SELECT count(*) FROM others a JOIN others b ON b.u = a.u JOIN others c ON c.q = a.q JOIN others d ON d.g = a.g;
--> count
--> 256
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT q, g FROM others WHERE u = 4503599627370495::bigint::uid60;
--> q|g
--> 01000000000003e7|74gfrC8X76-2dVseX433Zwhz
SELECT count(*) FROM others WHERE q >= '8000000000000000' AND q < 'f000000000000000';
--> count
--> 112
SELECT count(*), min(gid_time(g)), max(gid_time(g)) FROM others
WHERE g >= gid_lower('log', '2025-01-01 00:00:00.1Z') AND g <= gid_upper('log', '2025-01-01 00:00:00.2Z');
--> count|min|max
--> 34|2025-01-01 00:00:00.1+00|2025-01-01 00:00:00.199+00
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
DROP INDEX others_bloom;
ALTER TABLE others DROP CONSTRAINT others_pkey, DROP CONSTRAINT others_q_key, DROP CONSTRAINT others_g_key;
SELECT plan($$SELECT count(*) FROM others WHERE u > uid60_lower('2018-03-02Z')$$);
--> plan
--> Aggregate / Bitmap Heap Scan on others / Recheck Cond: (u > 'AYqAAAAAAA'::uid60) / Bitmap Index Scan on others_brin / Index Cond: (u > 'AYqAAAAAAA'::uid60)
SELECT count(*) FROM others WHERE u > uid60_lower('2018-03-02Z');
--> count
--> 255
RESET ALL;

-- Partitions by hash use the extended hash; what is in them may never move.
CREATE TABLE others_parts (u uid60, q uniqueid, g gid) PARTITION BY HASH (u, q, g);
CREATE TABLE others_part0 PARTITION OF others_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE others_part1 PARTITION OF others_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT current_setting('data_directory') || '/sno_compat_copy' AS file \gset
COPY others TO :'file' (FORMAT binary);
COPY others_parts FROM :'file' (FORMAT binary);
SELECT tableoid::regclass, count(*), (SELECT count(*) FROM (TABLE others INTERSECT TABLE others_parts) s) AS same FROM others_parts GROUP BY 1 ORDER BY 1;
--> tableoid|count|same
--> others_part0|127|256
--> others_part1|129|256
SELECT sno_internal.uid60_hash('AZI9gACAQD'), sno_internal.uid60_hash_extended('AZI9gACAQD', 1), sno_internal.uniqueid_hash('cb54ecf2840a0015'),
       sno_internal.uniqueid_hash_extended('cb54ecf2840a0015', 1), sno_internal.gid_hash('5rMH4TvfXM-4FzkJ37568tQv'),
       sno_internal.gid_hash_extended('5rMH4TvfXM-4FzkJ37568tQv', 1);
--> uid60_hash|uid60_hash_extended|uniqueid_hash|uniqueid_hash_extended|gid_hash|gid_hash_extended
--> 605923200|-5619313263167174894|-686715697|3779082572118761708|-1603331180|-4754650314156598535
-- Sorts with many equal keys, and with more than memory holds.
SET work_mem = '64kB';
SELECT count(*), count(DISTINCT g), count(DISTINCT q), count(DISTINCT u) FROM others, generate_series(1, 100);
--> count|count|count|count
--> 25600|256|256|256
RESET work_mem;
DROP TABLE others, others_parts;

-- To a text in an assignment, as any type.
CREATE TABLE texts (u text, q text, g varchar);
INSERT INTO texts SELECT 'AZI9gACAQD'::uid60, 'cb54ecf2840a0015'::uniqueid, '5rMH4TvfXM-4FzkJ37568tQv'::gid;
SELECT * FROM texts;
--> u|q|g
--> AZI9gACAQD|cb54ecf2840a0015|5rMH4TvfXM-4FzkJ37568tQv
DROP TABLE texts;

-- Anyone may look at the generators.
CREATE ROLE regress_sno_stranger;
SET ROLE regress_sno_stranger;
SELECT (SELECT count(*) FROM sno_generators()) >= 0 AND (SELECT count(*) FROM sno_compat_generators()) >= 0 AS seen;
--> seen
--> t
RESET ROLE;
DROP ROLE regress_sno_stranger;
