-- Masked IDs.
\set key '''\\x2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94'''::bytea

-- Answers of another implementation, of core/tests/vectors/mask.tsv: by length of the key and by context.
SELECT n AS bytes, context, sno_mask('9q7k4op826n2g222', substr(:key, 1, n), context) AS masked,
    sno_unmask(sno_mask('9q7k4op826n2g222', substr(:key, 1, n), context), substr(:key, 1, n), context)
FROM unnest(ARRAY[16, 24, 32]) n, unnest(ARRAY['', 'orders', '日本語']) context;
--> bytes|context|masked|sno_unmask
--> 16||3f36l87kcs4dtdqh|9q7k4op826n2g222
--> 16|orders|ovvm93v5pl46ovbl|9q7k4op826n2g222
--> 16|日本語|5doptpjjom7xtw39|9q7k4op826n2g222
--> 24||56rtiwdmig2j27so|9q7k4op826n2g222
--> 24|orders|4vb3qg8hukskvxu7|9q7k4op826n2g222
--> 24|日本語|6sgc92bu9g2vnmjd|9q7k4op826n2g222
--> 32||7dv8pw5iei5u84wr|9q7k4op826n2g222
--> 32|orders|iaua3muuml7uvt6j|9q7k4op826n2g222
--> 32|日本語|2dl5u9rqsx8ci4ps|9q7k4op826n2g222
SELECT sno_mask('9q7k4op826n2g222', :key) = sno_mask('9q7k4op826n2g222', :key, '') AS default_context;
--> default_context
--> t
SELECT sno_mask(id => '9q7k4op826n2g222', key => :key, context => 'orders'), sno_unmask(masked => '9q7k4op826n2g222', key => :key, context => 'orders');
--> sno_mask|sno_unmask
--> iaua3muuml7uvt6j|lqb8afhmhss3lse9

-- There and back for all kinds of IDs, and no two alike.
CREATE TABLE orders (id sno PRIMARY KEY, n integer);
INSERT INTO orders SELECT decode(substr(md5(n::text), 1, 20), 'hex')::sno, n FROM generate_series(1, 2000) n;
INSERT INTO orders SELECT sno_make('2026-01-01Z', 1, 1, n), -n FROM generate_series(1, 2000) n;
INSERT INTO orders VALUES ('2222222222222222', 0), ('xxxxxxxxxxxxxxxx', 0);
VACUUM ANALYZE orders;
SELECT count(*), count(DISTINCT sno_mask(id, :key, 'orders')) AS masks,
    count(*) FILTER (WHERE sno_unmask(sno_mask(id, :key, 'orders'), :key, 'orders') <> id) AS wrong,
    count(*) FILTER (WHERE sno_unmask(sno_mask(id, :key, 'orders'), :key, 'order') = id) AS in_another_context,
    count(*) FILTER (WHERE sno_mask(id, :key, 'orders') !~ '^[2-9a-x]{16}$') AS others
FROM orders;
--> count|masks|wrong|in_another_context|others
--> 4002|4002|0|0|0
SELECT corr(a, b) BETWEEN -0.1 AND 0.1 AS in_no_order
FROM (SELECT rank() OVER (ORDER BY id) a, rank() OVER (ORDER BY sno_mask(id, :key)) b FROM orders) r;
--> in_no_order
--> t

-- A look-up reads the index once, with a parameter too.
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id = sno_unmask(sno_mask('2222222222222222', :key), :key);
--> QUERY PLAN
--> Index Scan using orders_pkey on orders
-->   Index Cond: (id = '2222222222222222'::sno)
PREPARE find (text, bytea) AS SELECT n FROM orders WHERE id = sno_unmask($1, $2, 'orders');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE find ('', '');
--> QUERY PLAN
--> Index Scan using orders_pkey on orders
-->   Index Cond: (id = sno_unmask($1, $2, 'orders'::text))
RESET plan_cache_mode;
EXECUTE find (sno_mask('2222222222222222', :key, 'orders'), :key);
--> n
--> 0
-- Masks are made of the rows that are left, since they cost more than an operator.
EXPLAIN (VERBOSE, COSTS OFF) SELECT sno_mask(id, '\x00'), n FROM orders ORDER BY n LIMIT 10;
--> QUERY PLAN
--> Limit
-->   Output: (sno_mask(id, '\x00'::bytea, ''::text)), n
-->   ->  Result
-->         Output: sno_mask(id, '\x00'::bytea, ''::text), n
-->         ->  Sort
-->               Output: n, id
-->               Sort Key: orders.n
-->               ->  Seq Scan on public.orders
-->                     Output: n, id

-- Errors: lengths of keys, without the key; texts that are no mask. Nulls.
SELECT command, answer('SELECT ' || command) FROM unnest(ARRAY[
    $$sno_mask('9q7k4op826n2g222', '')$$, $$sno_mask('9q7k4op826n2g222', 'secret')$$, $$sno_mask('9q7k4op826n2g222', '0123456789abcdefg')$$,
    $$sno_mask('9q7k4op826n2g222', decode(repeat('ab', 100000), 'hex'))$$, $$sno_unmask('9q7k4op826n2g222', 'secret')$$,
    $$sno_unmask('9q7k4op826n2g22y', '0123456789abcdef')$$, $$sno_unmask('9Q7K4OP826N2G222', '0123456789abcdef')$$,
    $$sno_unmask('2026-11-01', '0123456789abcdef')$$, $$sno_unmask(repeat('日', 20), '0123456789abcdef')$$,
    $$sno_mask(NULL, '') IS NULL AND sno_mask('9q7k4op826n2g222', NULL) IS NULL AND sno_unmask('9q7k4op826n2g222', '0123456789abcdef', NULL) IS NULL$$
]) WITH ORDINALITY AS list(command, place) ORDER BY place;
--> command|answer
--> sno_mask('9q7k4op826n2g222', '')|22023: invalid length of a key for masks / A key is 16, 24 or 32 bytes long, not 0.
--> sno_mask('9q7k4op826n2g222', 'secret')|22023: invalid length of a key for masks / A key is 16, 24 or 32 bytes long, not 6.
--> sno_mask('9q7k4op826n2g222', '0123456789abcdefg')|22023: invalid length of a key for masks / A key is 16, 24 or 32 bytes long, not 17.
--> sno_mask('9q7k4op826n2g222', decode(repeat('ab', 100000), 'hex'))|22023: invalid length of a key for masks / A key is 16, 24 or 32 bytes long, not 100000.
--> sno_unmask('9q7k4op826n2g222', 'secret')|22023: invalid length of a key for masks / A key is 16, 24 or 32 bytes long, not 6.
--> sno_unmask('9q7k4op826n2g22y', '0123456789abcdef')|22P02: invalid masked sno: "9q7k4op826n2g22y" / Character 16 is not one of 2-9 and a-x.
--> sno_unmask('9Q7K4OP826N2G222', '0123456789abcdef')|22P02: invalid masked sno: "9Q7K4OP826N2G222" / Character 2 is not one of 2-9 and a-x.
--> sno_unmask('2026-11-01', '0123456789abcdef')|22P02: invalid masked sno: "2026-11-01" / Length is 10 bytes instead of 16.
--> sno_unmask(repeat('日', 20), '0123456789abcdef')|22P02: invalid masked sno: "日日日日日日日日日日日日日日日日日日日日" / Length is 60 bytes instead of 16.
--> sno_mask(NULL, '') IS NULL AND sno_mask('9q7k4op826n2g222', NULL) IS NULL AND sno_unmask('9q7k4op826n2g222', '0123456789abcdef', NULL) IS NULL|true

-- A key, a text and a context that are stored compressed or apart.
CREATE TABLE wide (key bytea, masked text, context text);
INSERT INTO wide VALUES (:key, sno_mask('9q7k4op826n2g222', :key, repeat('long ', 100000)), repeat('long ', 100000));
SELECT sno_unmask(masked, key, context) FROM wide;
--> sno_unmask
--> 9q7k4op826n2g222

DROP TABLE orders, wide;
