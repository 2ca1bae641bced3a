-- What a dump of this version is one of: keys, a kind, partitions, feeds, changes; with IDs that were generated once.
CREATE EXTENSION sno;
CREATE DOMAIN order_id AS sno CHECK (sno_metabyte(VALUE) = 2);
CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT sno_new(2), item text);
CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(), order_id order_id NOT NULL REFERENCES orders, n integer);
CREATE INDEX ON lines (order_id, id);
CREATE INDEX ON lines USING brin (id sno_minmax_multi_ops);
CREATE VIEW order_list AS SELECT sno_time(id) AS created_at, * FROM orders;
CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_new(1), line text) PARTITION BY RANGE (id);
SELECT sno_create_partitions('log', '1 month', '2026-01-01Z', '2026-03-01Z');
CREATE TABLE items (id integer PRIMARY KEY, n integer);
SELECT sno_track_changes('items', 3);
INSERT INTO orders SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 day', 2, 7, n), 'item ' || n FROM generate_series(1, 5) n;
INSERT INTO lines SELECT sno_make(created_at, 0, 7, 100), id, 1 FROM order_list;
INSERT INTO log SELECT id, item FROM orders;
INSERT INTO items SELECT n, n FROM generate_series(1, 3) n;
DELETE FROM items WHERE id = 2;
SELECT sno_create_feed('export', 'orders'), sno_create_feed('list', 'orders', margin => '1 s'),
    sno_create_feed('changes', 'items_changes', key => 'changed'), sno_create_feed('42', 'lines', margin => '0');
SELECT pg_sleep(0.2);
BEGIN;
CREATE TEMP TABLE read AS SELECT id FROM sno_feed('export', NULL::orders, 2);
COMMIT;
SELECT sno_seek_feed('list', since => '2026-01-04Z');
