-- The types of sno_compat: operator classes, input, output, casts, indexes.

SELECT opcintype::regtype, string_agg(concat(amname, ' ', opcname), ', ' ORDER BY amname, opcname), bool_and(amvalidate(c.oid))
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcintype::regtype::text IN ('uid60', 'uniqueid', 'gid') GROUP BY 1 ORDER BY 1;

-- Every object has a comment.
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno_compat')
  AND deptype = 'e' AND obj_description(objid, classid::regclass::name) IS NULL
  -- Made by the types.
  AND pg_describe_object(classid, objid, 0) !~ '\[\]$'
ORDER BY 1;

-- Stored as bigint and uuid are.
SELECT typname, typlen, typbyval, typalign, typstorage FROM pg_type WHERE typname IN ('uid60', 'uniqueid', 'gid') ORDER BY 1;

-- The functions.
CREATE TEMPORARY VIEW functions AS
SELECT p.* FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno_compat') AND prokind = 'f';
-- Volatility, strictness and parallel safety, where they are not immutable, strict and safe.
SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel FROM functions
WHERE (provolatile, proisstrict, proparallel) <> ('i', true, 's') ORDER BY 1;
-- Leakproof is what can't fail. These can.
SELECT string_agg(proname, ' ' ORDER BY proname) AS functions FROM functions
WHERE NOT proleakproof AND provolatile = 'i' AND NOT 'internal'::regtype = ANY (proargtypes);
-- What sno has, too, they have as sno does.
SELECT f.oid::regprocedure AS function FROM functions f
JOIN pg_proc s ON s.proname = regexp_replace(f.proname, '^[^_]+', 'sno') AND s.pronargs = f.pronargs
WHERE (f.provolatile, f.proisstrict, f.proleakproof, f.proparallel, f.procost)
   <> (s.provolatile, s.proisstrict, s.proleakproof, s.proparallel, s.procost) ORDER BY 1;
DROP VIEW functions;

-- Text in, text out; everything else is an error.
SELECT 'gAAAAAAAAA'::uid60, '__________'::uid60, 'CB54ECF284000000'::uniqueid, '5rLWQQkJdm-2dVseX433Zwhy'::gid;
SELECT type, input, answer(format('SELECT %L::%s', input, type))
FROM (VALUES
    ('uid60', ''), ('uid60', 'gAAAAAAAAAA'), ('uid60', 'gAAAAAAAA+'), ('uid60', 'gAAAAAAAÄ'),
    ('uniqueid', ''), ('uniqueid', 'cb54ecf28400000'), ('uniqueid', 'cb54ecf28400000g'), ('uniqueid', '\xcb54ecf2840000'),
    ('gid', ''), ('gid', '5rLWQQkJdm2dVseX433Zwhyy'), ('gid', '5rLWQQkJdm-2dVseX433Zwh0'), ('gid', 'zzzzzzzzzz-2dVseX433Zwhy'),
    ('gid', '1111111111-2dVseX433Zwhy'), ('gid', '5rLWQQkJdm-1111111111111')
) AS v(type, input);

-- Casts, all explicit, and their errors. Those to and from text are PostgreSQL's own.
SELECT castcontext, castmethod, string_agg(format('%s to %s', castsource::regtype, casttarget::regtype), ', '
    ORDER BY castsource::regtype::text, casttarget::regtype::text) AS casts
FROM pg_cast WHERE ARRAY[castsource, casttarget] && '{uid60,uniqueid,gid}'::regtype[]::oid[] GROUP BY 1, 2;
SELECT u::text, u::text::uid60, u::varchar(4), ARRAY[u]::text[] FROM (VALUES ('AZI9gACAQD'::uid60)) v(u);
SELECT '268435456'::bigint::uid60, 'AZI9gACAQD'::uid60::bigint, 'AZI9gACAQD'::uid60::bytea,
       '\x001bc49800080403'::bytea::uid60, 'AZI9gACAQD'::uid60::timestamptz,
       '\xcb54ecf2840a0015'::bytea::uniqueid, 'cb54ecf2840a0015'::uniqueid::bytea, 'cb54ecf2840a0015'::uniqueid::timestamptz,
       'cb54ecf2840a0015'::uniqueid::bigint, '-3795148059624996843'::bigint::uniqueid, '5'::bigint::uniqueid;
SELECT '5rMH4TvfXM-4FzkJ37568tQv'::gid::uuid, '80018bcfe56800ff-ffffffffffffffff'::uuid::gid,
       '5rMH4TvfXM-4FzkJ37568tQv'::gid::bytea, '\x80018bcfe56800ffffffffffffffffff'::bytea::gid;
SELECT command, answer('SELECT ' || command)
FROM unnest(ARRAY[
    $q$'-1'::bigint::uid60$q$, $q$'1152921504606846976'::bigint::uid60$q$,
    $q$'\x1000000000000000'::bytea::uid60$q$, $q$'\x10'::bytea::uid60$q$, $q$'\x1000000000000000ff'::bytea::uniqueid$q$,
    $q$'\x00018bcfe56800ffffffffffffffffff'::bytea::gid$q$, $q$'\xa0018bcfe568007fffffffffffffffff'::bytea::gid$q$,
    $q$'\xa0'::bytea::gid$q$, $q$'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::gid$q$
]) command;
-- A uuid that happens to have the bytes of a gid.
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::gid;

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
SELECT count(*) FROM (SELECT rank() OVER (ORDER BY u) - rank() OVER (ORDER BY u::bigint) AS u,
    rank() OVER (ORDER BY q) - rank() OVER (ORDER BY q::bytea) AS q, rank() OVER (ORDER BY g) - rank() OVER (ORDER BY g::bytea) AS g,
    rank() OVER (ORDER BY g) - rank() OVER (ORDER BY g::text COLLATE "C") AS t FROM others) s WHERE (u, q, g, t) <> (0, 0, 0, 0);
SELECT count(*) FROM others a JOIN others b ON b.u = a.u JOIN others c ON c.q = a.q JOIN others d ON d.g = a.g;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT q, g FROM others WHERE u = 4503599627370495::bigint::uid60;
SELECT count(*) FROM others WHERE q >= '8000000000000000' AND q < 'f000000000000000';
SELECT count(*), min(gid_time(g)), max(gid_time(g)) FROM others
WHERE g >= gid_lower('log', '2025-01-01 00:00:00.1Z') AND g <= gid_upper('log', '2025-01-01 00:00:00.2Z');
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
DROP INDEX others_bloom;
ALTER TABLE others DROP CONSTRAINT others_pkey, DROP CONSTRAINT others_q_key, DROP CONSTRAINT others_g_key;
EXPLAIN (COSTS OFF) SELECT count(*) FROM others WHERE u > uid60_lower('2018-03-02Z');
SELECT count(*) FROM others WHERE u > uid60_lower('2018-03-02Z');
RESET ALL;

-- Partitions by hash use the extended hash; what is in them may never move.
CREATE TABLE others_parts (u uid60, q uniqueid, g gid) PARTITION BY HASH (u, q, g);
CREATE TABLE others_part0 PARTITION OF others_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE others_part1 PARTITION OF others_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT current_setting('data_directory') || '/sno_compat_copy' AS file \gset
COPY others TO :'file' (FORMAT binary);
COPY others_parts FROM :'file' (FORMAT binary);
SELECT tableoid::regclass, count(*), (SELECT count(*) FROM (TABLE others INTERSECT TABLE others_parts) s) AS same FROM others_parts GROUP BY 1 ORDER BY 1;
SELECT sno_internal.uid60_hash('AZI9gACAQD'), sno_internal.uid60_hash_extended('AZI9gACAQD', 1), sno_internal.uniqueid_hash('cb54ecf2840a0015'),
       sno_internal.uniqueid_hash_extended('cb54ecf2840a0015', 1), sno_internal.gid_hash('5rMH4TvfXM-4FzkJ37568tQv'),
       sno_internal.gid_hash_extended('5rMH4TvfXM-4FzkJ37568tQv', 1);
-- Sorts with many equal keys, and with more than memory holds.
SET work_mem = '64kB';
SELECT count(*), count(DISTINCT g), count(DISTINCT q), count(DISTINCT u) FROM others, generate_series(1, 100);
RESET work_mem;
DROP TABLE others, others_parts;

-- To a text in an assignment, as any type.
CREATE TABLE texts (u text, q text, g varchar);
INSERT INTO texts SELECT 'AZI9gACAQD'::uid60, 'cb54ecf2840a0015'::uniqueid, '5rMH4TvfXM-4FzkJ37568tQv'::gid;
SELECT * FROM texts;
DROP TABLE texts;

-- Anyone may look at the generators.
CREATE ROLE regress_sno_stranger;
SET ROLE regress_sno_stranger;
SELECT (SELECT count(*) FROM sno_generators()) >= 0 AND (SELECT count(*) FROM sno_compat_generators()) >= 0 AS seen;
RESET ROLE;
DROP ROLE regress_sno_stranger;
