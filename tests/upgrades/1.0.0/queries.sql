-- After a restore of dump.sql: all is there, and goes on.
SELECT feed, source, margin, position FROM sno_feeds ORDER BY feed COLLATE "C";
SELECT pg_sleep(1.1);
SELECT item FROM sno_feed('export', NULL::orders);
SELECT item FROM sno_feed('list', NULL::order_list);
SELECT id, record FROM sno_feed('changes', NULL::items_changes);
SELECT partition, since AT TIME ZONE 'UTC' AS since FROM sno_partitions('log');
SELECT tableoid::regclass, count(*) FROM log GROUP BY 1;
SELECT created_at AT TIME ZONE 'UTC' AS created_at, item FROM order_list WHERE created_at >= '2026-01-05Z' ORDER BY created_at;
INSERT INTO orders (item) VALUES ('new');
UPDATE items SET n = 4 WHERE id = 3;
SELECT pg_sleep(0.2);
SELECT item FROM sno_feed('export', NULL::orders);
SELECT id, record FROM sno_feed('changes', NULL::items_changes);
SELECT sno_forget_changes('items') > 0 AS forgotten;
SELECT sno_drop_feed('changes');
SELECT sno_untrack_changes('items');
