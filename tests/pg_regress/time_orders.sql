-- What is sorted by id is sorted by sno_time(id): wherever PostgreSQL wants an order by the time, an index on id has it.
CREATE TABLE events (id sno PRIMARY KEY, kind integer, note text DEFAULT 'a note of some length');
INSERT INTO events SELECT sno_make('2026-01-01Z'::timestamptz + n / 2 * interval '1 min', 1, 1, n), n % 10 FROM generate_series(0, 19999) n;
CREATE INDEX events_kind ON events (kind, id);
VACUUM ANALYZE events;
CREATE VIEW feed AS SELECT *, sno_time(id) AS created_at FROM events;
-- The steps of a plan that read and sort rows, without what differs between the versions of PostgreSQL.
CREATE FUNCTION steps(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    steps text[];
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
        IF line ~ 'Scan (Back|using|on)|Sort|Append|Unique|Group|Index Cond' AND line !~ 'IS NOT NULL' THEN
            steps := steps || regexp_replace(line, '^[ >-]+', '');
        END IF;
    END LOOP;
    RETURN array_to_string(steps, ' / ');
END $$;
CREATE TABLE stored AS SELECT *, sno_time(id) AS created_at FROM events;
-- Results without a heading.
\t

-- Another key after the time, also the ID in the other direction.
SELECT steps($$SELECT * FROM feed ORDER BY created_at DESC, note LIMIT 20$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.note / Index Scan Backward using events_pkey on events
SELECT steps($$SELECT * FROM feed ORDER BY created_at DESC, id LIMIT 20$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.id / Index Scan Backward using events_pkey on events
-- Of all rows, since they are stored in this order.
SELECT steps($$SELECT * FROM feed ORDER BY created_at, note$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)), events.note / Index Scan using events_pkey on events
SELECT steps($$SELECT * FROM feed ORDER BY created_at, id, note LIMIT 20$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)), events.id, events.note / Index Scan using events_pkey on events
SELECT steps($$SELECT * FROM feed WHERE (created_at, note) < ('2026-01-03Z', 'b') ORDER BY created_at DESC, note DESC LIMIT 20$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.note DESC / Index Scan Backward using events_pkey on events / Index Cond: (id <= '9d8hqv23xxxxxxxx'::sno)
-- A key before it; each kind's first.
SELECT steps($$SELECT * FROM feed ORDER BY kind, created_at LIMIT 20$$);
--> Index Scan using events_kind on events
SELECT steps($$SELECT * FROM feed WHERE kind = 3 ORDER BY created_at DESC, note LIMIT 20$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.note / Index Scan Backward using events_kind on events / Index Cond: (kind = 3)
SELECT steps($$SELECT DISTINCT ON (kind) * FROM feed WHERE kind IN (3, 4) ORDER BY kind DESC, created_at DESC LIMIT 1$$);
--> Unique / Index Scan Backward using events_kind on events / Index Cond: (kind = ANY ('{3,4}'::integer[]))
-- Ties, groups.
SELECT steps($$SELECT * FROM feed ORDER BY created_at DESC FETCH FIRST 1 ROW WITH TIES$$);
--> Index Scan Backward using events_pkey on events
SELECT steps($$SELECT created_at, count(*) FROM feed GROUP BY created_at ORDER BY created_at DESC LIMIT 3$$);
--> GroupAggregate / Group Key: sno_time(events.id) / Index Only Scan Backward using events_pkey on events
-- Windows.
SELECT steps($$SELECT * FROM (SELECT kind, row_number() OVER (ORDER BY created_at DESC) AS n FROM feed) f WHERE n <= 3$$);
--> Subquery Scan on f / Index Scan Backward using events_pkey on events
SELECT steps($$SELECT * FROM (SELECT note, row_number() OVER (PARTITION BY kind ORDER BY created_at) AS n FROM feed WHERE kind = 3) f WHERE n <= 3$$);
--> Subquery Scan on f / Sort / Sort Key: (sno_time(events.id)) / Bitmap Heap Scan on events / Bitmap Index Scan on events_kind / Index Cond: (kind = 3)
SELECT steps($$SELECT created_at - lag(created_at) OVER (ORDER BY created_at) FROM feed LIMIT 3$$);
--> Index Only Scan using events_pkey on events
-- An order by the time of rows that are sorted by it already.
SELECT steps($$SELECT * FROM (SELECT * FROM feed ORDER BY created_at DESC LIMIT 100) f ORDER BY created_at DESC LIMIT 5$$);
--> Index Scan Backward using events_pkey on events
-- A window over rows that are ordered otherwise in the end.
SELECT steps($$SELECT row_number() OVER (ORDER BY kind, id) FROM feed WHERE kind = 3 ORDER BY created_at LIMIT 5$$);
--> Sort / Sort Key: (sno_time(events.id)) / Index Only Scan using events_kind on events / Index Cond: (kind = 3)

-- UNION ALL, with the time within its arms and around it.
CREATE VIEW all_feeds AS SELECT id, kind, created_at FROM feed UNION ALL SELECT id, kind + 10, created_at FROM feed;
CREATE VIEW feed_of_all AS SELECT *, sno_time(id) AS created_at FROM (SELECT id, kind FROM events UNION ALL SELECT id, kind + 10 FROM events) e;
SELECT steps($$SELECT created_at, kind FROM feed UNION ALL SELECT created_at, kind FROM feed ORDER BY created_at LIMIT 5$$);
--> Merge Append / Sort Key: (sno_time(events.id)) / Index Scan using events_pkey on events / Index Scan using events_pkey on events events_1
SELECT steps($$SELECT kind FROM all_feeds ORDER BY created_at DESC, kind LIMIT 5$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.kind / Merge Append / Sort Key: (sno_time(events.id)) DESC / Index Scan Backward using events_pkey on events / Index Scan Backward using events_pkey on events events_1
SELECT steps($$SELECT kind FROM feed_of_all ORDER BY created_at DESC, kind LIMIT 5$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.kind / Merge Append / Sort Key: (sno_time(events.id)) DESC / Index Scan Backward using events_pkey on events / Index Scan Backward using events_pkey on events events_1
SELECT steps($$SELECT max(created_at) FROM feed_of_all$$);
--> Merge Append / Sort Key: (sno_time(events.id)) DESC / Index Only Scan Backward using events_pkey on events / Index Only Scan Backward using events_pkey on events events_1
-- An arm that is a partitioned table; arms of other arms; an arm without rows.
CREATE TABLE days (LIKE events, PRIMARY KEY (id)) PARTITION BY RANGE (id);
SELECT count(*) FROM sno_create_partitions('days', '1 day', '2026-01-01Z', '2026-01-04Z');
--> 3
INSERT INTO days SELECT * FROM events WHERE id < '2026-01-04Z'::timestamptz;
VACUUM ANALYZE days;
CREATE VIEW day_feed AS SELECT *, sno_time(id) AS created_at FROM days;
SELECT steps($$SELECT created_at, id FROM day_feed UNION ALL SELECT created_at, id FROM all_feeds UNION ALL SELECT created_at, id FROM feed WHERE false
    ORDER BY created_at DESC, id LIMIT 5$$);
--> Incremental Sort / Sort Key: (sno_time(days.id)) DESC, days.id / Merge Append / Sort Key: (sno_time(days.id)) DESC / Index Only Scan Backward using days_20260101_pkey on days_20260101 days / Index Only Scan Backward using days_20260102_pkey on days_20260102 days_1 / Index Only Scan Backward using days_20260103_pkey on days_20260103 days_2 / Index Only Scan Backward using events_pkey on events / Index Only Scan Backward using events_pkey on events events_1

-- Table partitions.
SELECT steps($$SELECT * FROM day_feed ORDER BY created_at DESC, note LIMIT 5$$);
--> Incremental Sort / Sort Key: (sno_time(days.id)) DESC, days.note / Merge Append / Sort Key: (sno_time(days.id)) DESC / Index Scan Backward using days_20260101_pkey on days_20260101 days_1 / Index Scan Backward using days_20260102_pkey on days_20260102 days_2 / Index Scan Backward using days_20260103_pkey on days_20260103 days_3
SELECT steps($$SELECT * FROM (SELECT kind, row_number() OVER (ORDER BY created_at DESC) AS n FROM day_feed) f WHERE n <= 3$$);
--> Subquery Scan on f / Merge Append / Sort Key: (sno_time(days.id)) DESC / Index Scan Backward using days_20260101_pkey on days_20260101 days_1 / Index Scan Backward using days_20260102_pkey on days_20260102 days_2 / Index Scan Backward using days_20260103_pkey on days_20260103 days_3
-- (For ORDER BY alone, one partition is read after the other; not above a window.)
SELECT steps($$SELECT * FROM day_feed ORDER BY created_at DESC LIMIT 5$$);
--> Append / Index Scan Backward using days_20260103_pkey on days_20260103 days_3 / Index Scan Backward using days_20260102_pkey on days_20260102 days_2 / Index Scan Backward using days_20260101_pkey on days_20260101 days_1
SELECT steps($$SELECT * FROM day_feed ORDER BY created_at DESC, id LIMIT 5$$);
--> Incremental Sort / Sort Key: (sno_time(days.id)) DESC, days.id / Merge Append / Sort Key: (sno_time(days.id)) DESC / Index Scan Backward using days_20260101_pkey on days_20260101 days_1 / Index Scan Backward using days_20260102_pkey on days_20260102 days_2 / Index Scan Backward using days_20260103_pkey on days_20260103 days_3
SELECT steps($$SELECT DISTINCT created_at FROM day_feed ORDER BY created_at LIMIT 5$$);
--> Unique / Merge Append / Sort Key: (sno_time(days.id)) / Index Only Scan using days_20260101_pkey on days_20260101 days_1 / Index Only Scan using days_20260102_pkey on days_20260102 days_2 / Index Only Scan using days_20260103_pkey on days_20260103 days_3
-- The result has the columns that the query asks for.
SELECT kind, note FROM day_feed WHERE kind = 3 ORDER BY created_at LIMIT 2;
--> 3|a note of some length
--> 3|a note of some length
SELECT steps($$SELECT row_number() OVER (ORDER BY kind, id) FROM day_feed WHERE id >= '2026-01-03Z'::timestamptz ORDER BY created_at LIMIT 5$$);
--> Sort / Sort Key: (sno_time(days.id)) / Sort / Sort Key: days.kind, days.id / Seq Scan on days_20260103 days
SELECT steps($$SELECT created_at, count(*) FROM day_feed WHERE created_at >= '2026-01-03Z' GROUP BY created_at ORDER BY created_at LIMIT 5$$);
--> GroupAggregate / Group Key: sno_time(days.id) / Index Only Scan using days_20260103_pkey on days_20260103 days / Index Cond: (id >= '9d8hqv2222222222'::sno)
-- Tables that the query can't read rows of.
SELECT * FROM day_feed WHERE created_at > 'infinity' ORDER BY created_at, note;
SELECT * FROM feed WHERE id < 'xxxxxxxxxxxxxxxx' AND id IS NULL ORDER BY created_at, note LIMIT 1;
SELECT count(*) FROM (SELECT * FROM feed WHERE kind > 5 AND false ORDER BY created_at, note) f;
--> 0

-- The order survives a join.
CREATE TABLE kinds AS SELECT n AS kind FROM generate_series(8, 11) n;
ANALYZE kinds;
SELECT steps($$SELECT * FROM feed f LEFT JOIN kinds k ON k.kind = f.kind ORDER BY f.created_at DESC, f.kind LIMIT 5$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.kind / Index Scan Backward using events_pkey on events / Seq Scan on kinds k

-- Two times of a row, a domain, nulls, an index in another order.
CREATE DOMAIN event_id AS sno;
CREATE TABLE replies (id event_id, parent sno, n integer);
INSERT INTO replies SELECT id, CASE WHEN kind > 1 THEN id END, row_number() OVER () FROM events;
CREATE INDEX replies_id ON replies (id NULLS FIRST, n);
CREATE INDEX replies_parent ON replies (parent DESC NULLS LAST);
VACUUM ANALYZE replies;
SELECT steps($$SELECT * FROM replies ORDER BY sno_time(id) NULLS FIRST, n LIMIT 3$$);
--> Incremental Sort / Sort Key: (sno_time((id)::sno)) NULLS FIRST, n / Index Scan using replies_id on replies
SELECT steps($$SELECT * FROM replies ORDER BY sno_time(parent) DESC NULLS LAST, sno_time(id), n LIMIT 3$$);
--> Incremental Sort / Sort Key: (sno_time(parent)) DESC NULLS LAST, (sno_time((id)::sno)), n / Index Scan using replies_parent on replies
SELECT steps($$SELECT * FROM replies ORDER BY sno_time(parent) DESC, n LIMIT 3$$);
--> Sort / Sort Key: (sno_time(parent)) DESC, n / Seq Scan on replies
-- An index that is sorted by other operators has another order.
CREATE FUNCTION compare_back(sno, sno) RETURNS integer LANGUAGE sql IMMUTABLE RETURN sno_internal.sno_cmp($2, $1);
CREATE OPERATOR CLASS back FOR TYPE sno USING btree AS
    OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 compare_back(sno, sno);
DROP INDEX replies_parent;
CREATE INDEX replies_back ON replies (parent back);
SELECT steps($$SELECT * FROM replies ORDER BY sno_time(parent) LIMIT 3$$);
--> Sort / Sort Key: (sno_time(parent)) / Seq Scan on replies

-- Parallel plans keep the order.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET enable_seqscan = off;
SELECT steps($$SELECT kind FROM feed WHERE note LIKE '%length' ORDER BY created_at DESC, kind$$);
--> Incremental Sort / Sort Key: (sno_time(events.id)) DESC, events.kind / Parallel Index Scan Backward using events_pkey on events
SELECT kind FROM feed WHERE note LIKE '%length' ORDER BY created_at DESC, kind LIMIT 3;
--> 8
--> 9
--> 6
SELECT min(n), max(n), count(*) FROM (SELECT row_number() OVER (ORDER BY created_at) - rank() OVER (ORDER BY created_at) AS n FROM feed) f;
--> 0|1|20000
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET min_parallel_index_scan_size;
RESET enable_seqscan;

-- Samples.
SELECT steps('SELECT * FROM events TABLESAMPLE bernoulli (90) ORDER BY sno_time(id) LIMIT 10');
--> Sort / Sort Key: (sno_time(id)) / Sample Scan on events

-- Nulls that an outer join adds are not in the statistics of the column.
CREATE FUNCTION expected(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    EXECUTE 'EXPLAIN ' || query INTO line;
    RETURN substring(line FROM 'rows=\d+');
END $$;
SELECT expected('SELECT FROM kinds k LEFT JOIN feed f ON f.kind = k.kind WHERE f.created_at IS NULL') <> 'rows=1' AS several;
--> t

-- The setting switches all of it off.
SET sno.enable_time_conditions = off;
SELECT steps($$SELECT * FROM feed ORDER BY created_at DESC, note LIMIT 20$$);
--> Sort / Sort Key: (sno_time(events.id)) DESC, events.note / Seq Scan on events
RESET sno.enable_time_conditions;

DROP TABLE events, stored, days, kinds, replies CASCADE;
--> NOTICE:  drop cascades to 4 other objects
--> DETAIL:  drop cascades to view day_feed
--> drop cascades to view feed
--> drop cascades to view all_feeds
--> drop cascades to view feed_of_all
DROP DOMAIN event_id;
DROP OPERATOR FAMILY back USING btree;
DROP FUNCTION steps, expected, compare_back;
