-- Comparison, hashing, and the plans they allow.

-- The order of the IDs is that of their bytes, their texts and their fields.
CREATE TABLE ids AS
    SELECT decode(substr(md5(n::text) || md5((-n)::text), 1, 20), 'hex')::sno AS id
    FROM generate_series(1, 5000) n;
INSERT INTO ids SELECT id FROM ids ORDER BY id LIMIT 1000;
-- pairs that differ in the last bytes only
INSERT INTO ids SELECT sno_make(sno_time(id), sno_metabyte(id), sno_partition(id), n, sno_tick_tock(id))
FROM (SELECT id FROM ids ORDER BY id LIMIT 100) few, unnest(ARRAY[0, 1, 255, 256, 32768, 65535]) n;

SELECT count(*) FROM (
    SELECT rank() OVER (ORDER BY id) a,
           rank() OVER (ORDER BY id::bytea) b,
           rank() OVER (ORDER BY id::text COLLATE "C") c,
           rank() OVER (ORDER BY id::uuid) d,
           rank() OVER (ORDER BY sno_time(id), sno_tick_tock(id), sno_metabyte(id), sno_partition(id), sno_sequence(id)) e
    FROM ids) ranks
WHERE (a, a, a, a) <> (b, c, d, e);
--> count
--> 0

-- The six operators agree with bytea's, whose order is the same.
SELECT count(*) AS pairs,
       bool_and((a = b) = (a::bytea = b::bytea)) AS eq, bool_and((a <> b) = (a::bytea <> b::bytea)) AS ne,
       bool_and((a < b) = (a::bytea < b::bytea)) AS lt, bool_and((a <= b) = (a::bytea <= b::bytea)) AS le,
       bool_and((a > b) = (a::bytea > b::bytea)) AS gt, bool_and((a >= b) = (a::bytea >= b::bytea)) AS ge,
       bool_and(sign(sno_internal.sno_cmp(a, b)) = CASE WHEN a::bytea < b::bytea THEN -1 WHEN a::bytea > b::bytea THEN 1 ELSE 0 END) AS cmp,
       bool_and(sno_internal.sno_larger(a, b) = CASE WHEN a::bytea > b::bytea THEN a ELSE b END) AS larger,
       bool_and(sno_internal.sno_smaller(a, b) = CASE WHEN a::bytea < b::bytea THEN a ELSE b END) AS smaller
FROM (SELECT id AS a FROM ids ORDER BY id LIMIT 200) x, (SELECT id AS b FROM ids ORDER BY id LIMIT 200) y;
--> pairs|eq|ne|lt|le|gt|ge|cmp|larger|smaller
--> 40000|t|t|t|t|t|t|t|t|t

SELECT min(id) = (SELECT id FROM ids ORDER BY id LIMIT 1) AS min,
       max(id) = (SELECT id FROM ids ORDER BY id DESC LIMIT 1) AS max
FROM ids;
--> min|max
--> t|t
SELECT min(id), max(id) FROM ids WHERE false;
--> min|max
--> |

-- Hash values: hash partitions are built on them, so these may never change.
SELECT id, sno_internal.sno_hash(id), sno_internal.sno_hash_extended(id, 0), sno_internal.sno_hash_extended(id, 42)
FROM (VALUES ('2222222222222222'::sno), ('9q7k4op826n2g222'), ('xxxxxxxxxxxxxxxx')) v(id);
--> id|sno_hash|sno_hash_extended|sno_hash_extended
--> 2222222222222222|225562673|4164050332196917297|3130271463337241663
--> 9q7k4op826n2g222|-2046158171|-5875947598677140827|3876731103156157932
--> xxxxxxxxxxxxxxxx|1638798742|4425298041581213078|8686256925311515967
-- The extended hash with seed 0 has the plain one as its low half.
SELECT count(*) FROM ids WHERE sno_internal.sno_hash(id) <> (sno_internal.sno_hash_extended(id, 0)::bit(64)::bit(64) << 32)::bit(32)::int;
--> count
--> 0

-- Plans: primary key and ORDER BY from the index; hash and merge joins.
CREATE TABLE keys (id sno PRIMARY KEY, n integer);
INSERT INTO keys SELECT DISTINCT ON (id) id, row_number() OVER () FROM ids;
CREATE TABLE refs (key sno REFERENCES keys);
INSERT INTO refs SELECT id FROM ids;
ANALYZE keys, refs;
SET enable_seqscan = off;
SELECT plan($$SELECT * FROM keys WHERE id = '9q7k4op826n2g222'$$);
--> plan
--> Index Scan using keys_pkey on keys / Index Cond: (id = '9q7k4op826n2g222'::sno)
SELECT plan($$SELECT * FROM keys WHERE id >= sno_lower('2026-01-01 00:00Z') AND id < sno_lower('2026-02-01 00:00Z')$$);
--> plan
--> Index Scan using keys_pkey on keys / Index Cond: ((id >= '9d5ve82222222222'::sno) AND (id < '9edsjci222222222'::sno))
SELECT plan($$SELECT * FROM keys ORDER BY id DESC LIMIT 5$$);
--> plan
--> Limit / Index Scan Backward using keys_pkey on keys
RESET enable_seqscan;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT plan($$SELECT count(*) FROM refs JOIN keys ON key = id$$);
--> plan
--> Aggregate / Hash Join / Hash Cond: (refs.key = keys.id) / Seq Scan on refs / Hash / Seq Scan on keys
SELECT count(*) FROM refs JOIN keys ON key = id;
--> count
--> 6600
SET enable_hashjoin = off;
SET enable_mergejoin = on;
SELECT plan($$SELECT count(*) FROM refs JOIN keys ON key = id$$);
--> plan
--> Aggregate / Merge Join / Merge Cond: (keys.id = refs.key) / Index Only Scan using keys_pkey on keys / Sort / Sort Key: refs.key / Seq Scan on refs
SELECT count(*) FROM refs JOIN keys ON key = id;
--> count
--> 6600
RESET ALL;
SET enable_sort = off;
SELECT plan($$SELECT key, count(*) FROM refs GROUP BY key$$);
--> plan
--> HashAggregate / Group Key: key / Seq Scan on refs
SELECT count(*) FROM (SELECT key FROM refs GROUP BY key) groups;
--> count
--> 5300
RESET ALL;

-- A hash index, and hash partitions.
CREATE INDEX refs_hash ON refs USING hash (key);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan($$SELECT * FROM refs WHERE key = '9q7k4op826n2g222'$$);
--> plan
--> Index Scan using refs_hash on refs / Index Cond: (key = '9q7k4op826n2g222'::sno)
RESET ALL;
CREATE TABLE parts (id sno PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT DISTINCT id FROM ids;
SELECT tableoid::regclass, count(*) FROM parts GROUP BY 1 ORDER BY 1;
--> tableoid|count
--> parts_0|2625
--> parts_1|2675
SELECT plan($$SELECT * FROM parts WHERE id = '9q7k4op826n2g222'$$);
--> plan
--> Index Only Scan using parts_0_pkey on parts_0 parts / Index Cond: (id = '9q7k4op826n2g222'::sno)

-- A duplicate is refused, with the value.
INSERT INTO keys VALUES ('9q7k4op826n2g222', 0);
INSERT INTO keys VALUES ('9q7k4op826n2g222', 0);
--> ERROR:  duplicate key value violates unique constraint "keys_pkey"
--> DETAIL:  Key (id)=(9q7k4op826n2g222) already exists.

DROP TABLE ids, keys, refs, parts;
