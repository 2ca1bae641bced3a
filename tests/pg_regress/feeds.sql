-- The horizon and feeds: what their views show, and what is refused. Which rows are returned: tests/server/horizon and feeds.
\set SHOW_CONTEXT never
CREATE TABLE items (id sno PRIMARY KEY DEFAULT sno_new(1), n integer);
CREATE TABLE odd (a sno DEFAULT sno_new(1), b sno DEFAULT sno_new(1), n integer, PRIMARY KEY (a, b)); CREATE VIEW shown AS TABLE items;
INSERT INTO items (n) SELECT generate_series(1, 5);
INSERT INTO odd (n) VALUES (1), (3), (5);
SELECT sno_create_feed('odd', 'odd', margin => '0');
--> ERROR:  no single key of type sno in "public.odd"
--> HINT:  Name the column, as in key => 'a'.
DO $$ BEGIN
    PERFORM sno_create_feed('odd', 'odd', key => 'a', margin => '0'), sno_create_feed('default', 'items'),
        sno_create_feed('later', 'items', now(), margin => '0'), sno_create_feed('long', 'items', margin => '1 hour'), pg_sleep(0.008);
END $$;
--> NOTICE:  triggers on "public.odd" refuse rows whose keys were not generated in their transaction
--> NOTICE:  feed "odd" begins with the rows that "public.odd" has already
--> HINT:  To begin with the next one: since => now(). To go on where another feed was: sno_seek_feed().
--> NOTICE:  triggers on "public.items" refuse rows whose keys were not generated in their transaction
--> NOTICE:  feed "default" begins with the rows that "public.items" has already
--> HINT:  To begin with the next one: since => now(). To go on where another feed was: sno_seek_feed().
--> NOTICE:  feed "long" begins with the rows that "public.items" has already
--> HINT:  To begin with the next one: since => now(). To go on where another feed was: sno_seek_feed().
BEGIN;
CREATE TEMP TABLE read AS SELECT n, a < b AS first FROM sno_feed('odd', NULL::odd, batch_size => 2);
COMMIT;
TABLE read;
--> n|first
--> 1|t
--> 3|t

-- Whoever has taken an ID holds the horizon back until the transaction ends, and is shown.
BEGIN;
INSERT INTO items (n) VALUES (7) RETURNING id \gset
SELECT pg_sleep(0.008) \g /dev/null
SELECT sno_horizon('0') AS horizon \gset
SELECT :'horizon' = sno_lower(sno_time(:'horizon')) AS first_of_its_tick, :'horizon' <= :'id' AS held, pid = pg_backend_pid() AS own, gid,
    since <= sno_time(:'id') AS since FROM sno_horizon_holders();
--> first_of_its_tick|held|own|gid|since
--> t|t|t||t
-- On a slow machine, a margin of 0.1 s is over by now.
SELECT feed, source, owner = current_user AS own, margin, position IS NULL AS at_start, lag BETWEEN '0 s' AND '1 min' AS lags,
    CASE WHEN feed <> 'default' THEN held_by = pg_backend_pid()::text END AS held_by_this,
    CASE WHEN feed <> 'default' THEN held_since <= sno_time(:'id') END AS since FROM sno_feeds() ORDER BY feed;
--> feed|source|own|margin|at_start|lags|held_by_this|since
--> default|items|t|00:00:00.1|t|||
--> later|items|t|00:00:00|f|t|t|t
--> long|items|t|01:00:00|t|||
--> odd|odd|t|00:00:00|f|t|t|t
SELECT sno_holds_horizon(:'id') AS own, sno_holds_horizon(sno_new(0, now() - interval '1 hour')) AS past,
    sno_holds_horizon(sno_new(0, now() + interval '1 hour')) AS "to come", sno_holds_horizon(NULL) IS NULL AS null;
--> own|past|to come|null
--> t|f|t|t
COMMIT;
-- Also what a subtransaction has taken that was rolled back, until the end.
BEGIN;
SAVEPOINT s;
SELECT sno_new(1) AS own \gset
ROLLBACK TO s;
SELECT sno_holds_horizon(:'own');
--> sno_holds_horizon
--> t
COMMIT;
SELECT sno_holds_horizon(:'own');
--> sno_holds_horizon
--> f
-- Everybody may ask, and see who holds it back.
CREATE ROLE regress_sno_somebody;
SET ROLE regress_sno_somebody;
SELECT sno_horizon('0') > :'id' AS free, (SELECT count(*) FROM sno_horizon_holders()) AS holders, (SELECT count(*) FROM sno_feeds()) AS feeds,
    sno_horizon('1000 years') > :'id' AS "does not go back", sno_horizon(NULL) IS NULL AS null;
--> free|holders|feeds|does not go back|null
--> t|0|4|t|t
RESET ROLE;
DROP ROLE regress_sno_somebody;

-- Refused
SELECT sno_create_feed('none', 'pg_am');
--> ERROR:  no single key of type sno in "pg_am"
--> HINT:  The key is a column of type sno in the primary key, or another one that is named.
SELECT sno_create_feed('shown', 'shown');
--> ERROR:  "public.shown" cannot be the source of a feed
--> DETAIL:  A feed reads a table, or the view that sno_track_changes() has created.
--> HINT:  Have the feed read the table. The program that reads it can skip rows, and its statement join other tables by LEFT JOIN.
SELECT sno_create_feed('odd', 'odd', key => 'b');
--> ERROR:  no index of "public.odd" begins with "b"
--> DETAIL:  Each call of sno_feed() would read the whole table.
--> HINT:  Create an index that begins with the key.
SELECT sno_horizon('-1 ms');
--> ERROR:  margin must not be negative
SELECT * FROM sno_peek_feed('later', NULL::odd);
--> ERROR:  feed "later" returns rows of "public.items", not of "public.odd"
--> DETAIL:  If its table was dropped, lead a new feed to the position of this one by sno_seek_feed().
--> HINT:  Use SELECT * FROM sno_peek_feed('later', NULL::public.items).
SELECT * FROM sno_peek_feed('later', NULL);
--> ERROR:  could not determine polymorphic type because input has type unknown
SELECT * FROM sno_feed('later', NULL::items);
--> ERROR:  sno_feed() can only be used in a statement that stores its rows
--> DETAIL:  It must be in FROM or WITH of what writes, as in INSERT INTO ... SELECT, without LIMIT, condition or inner join: all rows count as read. A temporary or unlogged table keeps them only in a transaction block.
--> HINT:  Use SELECT * FROM sno_peek_feed('later', NULL::public.items), and then sno_advance_feed() with the ID of the last row that is done. Or use a logged table, or LEFT JOIN.
CREATE TABLE five AS SELECT * FROM sno_feed('later', NULL::items, 10) LIMIT 5;
--> ERROR:  sno_feed() can only be used in a statement that stores its rows
--> DETAIL:  It must be in FROM or WITH of what writes, as in INSERT INTO ... SELECT, without LIMIT, condition or inner join: all rows count as read. A temporary or unlogged table keeps them only in a transaction block.
--> HINT:  Use SELECT * FROM sno_peek_feed('later', NULL::public.items), and then sno_advance_feed() with the ID of the last row that is done. Or use a logged table, or LEFT JOIN.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM sno_feed('later', NULL::items);
--> ERROR:  cannot read a feed in a transaction with isolation level REPEATABLE READ
--> DETAIL:  All statements of such a transaction have one snapshot, which is older than the horizon.
--> HINT:  Use READ COMMITTED.
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT sno_horizon();
--> ERROR:  cannot execute sno_horizon() in isolation level REPEATABLE READ or SERIALIZABLE
--> DETAIL:  All statements of the transaction have one snapshot, which is older than the horizon.
--> HINT:  Call it before the transaction begins.
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sno_horizon();
--> ERROR:  cannot execute sno_horizon() in isolation level REPEATABLE READ or SERIALIZABLE
--> DETAIL:  All statements of the transaction have one snapshot, which is older than the horizon.
--> HINT:  Call it before the transaction begins.
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM sno_feed('later', NULL::items);
--> ERROR:  cannot read a feed in a read-only transaction
--> DETAIL:  The position of the feed is stored.
ROLLBACK;
SET client_min_messages = error;
DO $$ BEGIN PERFORM sno_drop_feed(feed) FROM sno_feeds(); END $$;
RESET client_min_messages;
SELECT count(*) FROM sno_internal.feed_positions;
--> count
--> 0
DROP VIEW shown;
DROP TABLE items, odd;
