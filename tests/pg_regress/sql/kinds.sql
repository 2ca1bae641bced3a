-- Kinds of IDs by a domain over the metabyte, as a foreign key and in a view: the recipe of docs/applications.md.
CREATE DOMAIN order_id AS sno CHECK (sno_metabyte(VALUE) = 2);
CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT sno_new(2), item text);
CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(), order_id order_id NOT NULL REFERENCES orders);

WITH parent AS (INSERT INTO orders (item) VALUES ('desk') RETURNING id)
INSERT INTO lines (order_id) SELECT id FROM parent;
SELECT item, sno_metabyte(lines.order_id) FROM orders JOIN lines ON orders.id = lines.order_id;

-- An ID of another kind, in a column, as a default, in a cast.
INSERT INTO orders (id) VALUES (sno_new(1));
INSERT INTO lines (order_id) VALUES (sno_new());
ALTER TABLE orders ALTER id SET DEFAULT sno_new();
INSERT INTO orders DEFAULT VALUES;
SELECT '9q7k4op826n2g222'::order_id;
SELECT '9q7k4op82an2g222'::order_id;
ALTER TABLE orders ALTER id SET DEFAULT sno_new(2);

-- The view's created_at uses the index of the key, as with a sno.
INSERT INTO orders SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 minute', 2, 0, n) FROM generate_series(1, 10000) n;
ANALYZE orders;
CREATE VIEW feed AS SELECT sno_time(id) AS created_at, * FROM orders;
EXPLAIN (COSTS OFF) SELECT * FROM feed WHERE created_at < '2026-01-02Z' ORDER BY created_at DESC LIMIT 10;
SELECT sno_time(min(id)) AS "min" FROM orders;
DROP VIEW feed;
DROP TABLE lines, orders;
DROP DOMAIN order_id;
