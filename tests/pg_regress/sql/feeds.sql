--
-- Feeds: the next rows below the horizon, each once
--

\set SHOW_CONTEXT never
CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
INSERT INTO items (n) SELECT generate_series(1, 5);

-- From the first row, from now on, and with a margin of its own. The default one is a second.
SELECT sno_create_feed('export', 'items', margin => '0');
SELECT sno_create_feed('later', 'items', now(), margin => '0');
SELECT sno_create_feed('default', 'items');
SELECT feed, source, owner = current_user AS own, margin, position IS NULL AS at_start, lag BETWEEN '0 s' AND '1 min' AS lags
FROM sno_feeds ORDER BY feed;

-- Batches of two, then all that is left, then nothing.
SELECT pg_sleep(0.008);
SELECT n FROM sno_feed('export', NULL::items, 2);
SELECT n FROM sno_feed('export', NULL::items, batch_size => 2);
SELECT n FROM sno_feed('export', NULL::items);
SELECT n FROM sno_feed('export', NULL::items);

-- A whole consumer. What is rolled back comes again.
CREATE TABLE copy (LIKE items);
INSERT INTO items (n) VALUES (6);
SELECT pg_sleep(0.008);
BEGIN;
INSERT INTO copy SELECT * FROM sno_feed('export', NULL::items);
ROLLBACK;
INSERT INTO copy SELECT * FROM sno_feed('export', NULL::items);
SELECT n FROM copy;

-- A transaction that has an ID holds the feed back, and is shown.
BEGIN;
INSERT INTO items (n) VALUES (7);
SELECT pg_sleep(0.008);
SELECT n FROM sno_feed('export', NULL::items);
SELECT feed, held_by = pg_backend_pid()::text AS by_this, held_since < clock_timestamp() AS since FROM sno_feeds
WHERE held_by IS NOT NULL ORDER BY feed;
COMMIT;
SELECT n FROM sno_feed('export', NULL::items);
SELECT n FROM sno_feed('later', NULL::items);

-- Views: some rows, other columns, a key by name.
CREATE VIEW odd AS SELECT sno_time(id) AS created_at, id AS item, n, id AS again FROM items WHERE n % 2 = 1;
SELECT sno_create_feed('odd', 'odd', margin => '0');
SELECT sno_create_feed('odd', 'odd', key => 'item', margin => '0');
SELECT pg_sleep(0.008);
SELECT n, created_at = sno_time(item) AS same FROM sno_feed('odd', NULL::odd);

-- Partitions, and a domain
CREATE DOMAIN item AS sno;
CREATE TABLE log (id item PRIMARY KEY, n integer) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (MINVALUE) TO ('9222222222222222');
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM ('9222222222222222') TO (MAXVALUE);
INSERT INTO log VALUES ('8222222222222222', 1), ('9322222222222222', 2);
SELECT sno_create_feed('log', 'log', margin => '0');
SELECT n FROM sno_feed('log', NULL::log);

-- Back, and forward, but never beyond the horizon.
SELECT sno_seek_feed('export', '-infinity');
SELECT n FROM sno_feed('export', NULL::items, 2);
SELECT sno_seek_feed('export', after => id) FROM items WHERE n = 5;
SELECT n FROM sno_feed('export', NULL::items);
SELECT sno_seek_feed('export', sno_time(id)) FROM items WHERE n = 7;
SELECT n FROM sno_feed('export', NULL::items);
SELECT sno_seek_feed('export', after => 'xxxxxxxxxxxxxxxx');
SELECT lag BETWEEN '0 s' AND '1 min' AS "not ahead" FROM sno_feeds WHERE feed = 'export';
INSERT INTO items (n) VALUES (8);
SELECT pg_sleep(0.008);
SELECT n FROM sno_feed('export', NULL::items);

-- Refused
SELECT * FROM sno_feed('export', NULL::copy);
SELECT * FROM sno_feed('export', NULL);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM sno_feed('export', NULL::items);
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM sno_feed('export', NULL::items);
ROLLBACK;

SELECT sno_drop_feed(feed) FROM sno_feeds;
SELECT * FROM sno_feed('export', NULL::items);
SELECT count(*) FROM sno_feed_positions;

DROP VIEW odd;
DROP TABLE items, copy, log;
DROP DOMAIN item;
