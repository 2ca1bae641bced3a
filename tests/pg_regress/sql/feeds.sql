-- The horizon and feeds: what the views show, and what is refused. Which rows are returned: tests/server/horizon and feeds.
\set SHOW_CONTEXT never
CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
CREATE VIEW odd AS SELECT sno_time(id) AS created_at, id AS item, n, id AS again FROM items WHERE n % 2 = 1;
INSERT INTO items (n) SELECT generate_series(1, 5);
SELECT sno_create_feed('odd', 'odd', margin => '0');
DO $$ BEGIN
    PERFORM sno_create_feed('odd', 'odd', key => 'item', margin => '0'), sno_create_feed('default', 'items'),
        sno_create_feed('later', 'items', now(), margin => '0'), sno_create_feed('long', 'items', margin => '1 hour'), pg_sleep(0.008);
END $$;
BEGIN;
SELECT string_agg(n::text, ' ') AS n, bool_and(created_at = sno_time(item)) AS same FROM sno_feed('odd', NULL::odd, batch_size => 2);
COMMIT;

-- Whoever has taken an ID holds the horizon back until the transaction ends, and is shown.
BEGIN;
INSERT INTO items (n) VALUES (7) RETURNING id \gset
SELECT pg_sleep(0.008) \g /dev/null
SELECT sno_horizon('0') AS horizon \gset
SELECT :'horizon' = sno_lower(sno_time(:'horizon')) AS first_of_its_tick, :'horizon' <= :'id' AS held, pid = pg_backend_pid() AS own, gid,
    since <= sno_time(:'id') AS since FROM sno_horizon_holders();
-- On a slow machine, a margin of 0.1 s is over by now.
SELECT feed, source, owner = current_user AS own, margin, position IS NULL AS at_start, lag BETWEEN '0 s' AND '1 min' AS lags,
    CASE WHEN feed <> 'default' THEN held_by = pg_backend_pid()::text END AS held_by_this,
    CASE WHEN feed <> 'default' THEN held_since <= sno_time(:'id') END AS since FROM sno_feeds() ORDER BY feed;
SELECT sno_holds_horizon(:'id') AS own, sno_holds_horizon(sno_new(0, now() - interval '1 hour')) AS past,
    sno_holds_horizon(sno_new(0, now() + interval '1 hour')) AS "to come", sno_holds_horizon(NULL) IS NULL AS null;
COMMIT;
-- Everybody may ask, and see who holds it back.
CREATE ROLE regress_sno_somebody;
SET ROLE regress_sno_somebody;
SELECT sno_horizon('0') > :'id' AS free, (SELECT count(*) FROM sno_horizon_holders()) AS holders, (SELECT count(*) FROM sno_feeds()) AS feeds,
    sno_horizon('1000 years') > :'id' AS "does not go back", sno_horizon(NULL) IS NULL AS null;
RESET ROLE;
DROP ROLE regress_sno_somebody;

-- Refused
SELECT sno_create_feed('none', 'pg_am');
SELECT sno_horizon('-1 ms');
SELECT * FROM sno_peek_feed('later', NULL::odd);
SELECT * FROM sno_peek_feed('later', NULL);
SELECT * FROM sno_feed('later', NULL::items);
SELECT * FROM sno_feed('later', NULL::items, 10) LIMIT 5;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM sno_feed('later', NULL::items);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT sno_horizon();
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sno_horizon();
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM sno_feed('later', NULL::items);
ROLLBACK;
DO $$ BEGIN PERFORM sno_drop_feed(feed) FROM sno_feeds(); END $$;
SELECT count(*) FROM sno_internal.feed_positions;
DROP VIEW odd;
DROP TABLE items;
