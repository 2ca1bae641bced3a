-- A view's created_at costs nothing: conditions and orders on sno_time(id) use the indexes on id.
CREATE TABLE events (id sno PRIMARY KEY, kind integer);
INSERT INTO events SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 min', 1, 1, 0), n % 10 FROM generate_series(0, 9999) n;
VACUUM ANALYZE events;
CREATE VIEW feed AS SELECT *, sno_time(id) AS created_at FROM events;
-- Plans without a heading.
\t

-- Conditions, with the time on either side.
SELECT plan($$SELECT * FROM feed WHERE created_at >= '2026-01-03Z' AND created_at < '2026-01-04Z'$$);
--> Index Scan using events_pkey on events / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d9qxahxxxxxxxxx'::sno))
SELECT plan($$SELECT * FROM feed WHERE now() - interval '1 hour' < created_at$$);
--> Index Scan using events_pkey on events / Index Cond: (id >= sno_first((now() - '01:00:00'::interval), true))
SELECT plan($$SELECT * FROM feed WHERE created_at BETWEEN '2026-01-03Z' AND '2026-01-03 01:00Z'$$);
--> Index Scan using events_pkey on events / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d8jhss3xxxxxxxx'::sno))
SELECT plan($$SELECT * FROM feed WHERE created_at = '2026-01-03Z'$$);
--> Index Scan using events_pkey on events / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d8hqv23xxxxxxxx'::sno))
SELECT plan($$SELECT * FROM feed WHERE created_at >= CURRENT_DATE$$);
--> Index Scan using events_pkey on events / Index Cond: (id >= sno_first(CURRENT_DATE, false))
SELECT plan($$SELECT * FROM feed WHERE created_at < timestamp '2026-01-01 00:10'$$);
--> Index Scan using events_pkey on events / Index Cond: (id <= sno_last('2026-01-01 00:10:00'::timestamp without time zone, true))
-- What is not rewritten.
SELECT plan($$SELECT * FROM feed WHERE created_at IN ('2026-01-03Z', '2026-01-04Z')$$);
--> Seq Scan on events / Filter: (sno_time(id) = ANY ('{"2026-01-03 00:00:00+00","2026-01-04 00:00:00+00"}'::timestamp with time zone[]))
SELECT plan($$SELECT * FROM feed WHERE created_at > clock_timestamp()$$);
--> Seq Scan on events / Filter: (sno_time(id) > clock_timestamp())
SELECT plan($$SELECT count(*) FROM feed WHERE created_at < '2026-01-01Z'::timestamptz + kind * interval '1 h'$$);
--> Aggregate / Seq Scan on events / Filter: (sno_time(id) < ('2026-01-01 00:00:00+00'::timestamp with time zone + ((kind)::double precision * '01:00:00'::interval)))
-- A time that no ID has.
SELECT plan($$SELECT * FROM feed WHERE created_at > 'infinity'$$);
--> Index Scan using events_pkey on events / Index Cond: (id >= NULL::sno)

-- The expression written out, and the cast.
SELECT plan($$SELECT * FROM events WHERE sno_time(id) >= '2026-01-07 22:00Z' OR id::timestamptz < '2026-01-01 00:05Z'$$);
--> Bitmap Heap Scan on events / Recheck Cond: ((id >= '9descsu222222222'::sno) OR (id <= '9d5viqhhxxxxxxxx'::sno)) / BitmapOr / Bitmap Index Scan on events_pkey / Index Cond: (id >= '9descsu222222222'::sno) / Bitmap Index Scan on events_pkey / Index Cond: (id <= '9d5viqhhxxxxxxxx'::sno)
SELECT plan($$DELETE FROM feed WHERE created_at < '2026-01-01 00:05Z'$$);
--> Delete on events / Index Scan using events_pkey on events / Index Cond: (id <= '9d5viqhhxxxxxxxx'::sno)

-- Orders, of which time_orders has the others: the first page of a list.
SELECT plan($$SELECT kind FROM feed WHERE created_at < '2026-01-03Z' ORDER BY created_at DESC, id DESC LIMIT 20$$);
--> Limit / Index Scan Backward using events_pkey on events / Index Cond: (id <= '9d8hquxxxxxxxxxx'::sno)
-- The next page.
SELECT plan($$SELECT kind FROM feed WHERE (created_at, id) < ('2026-01-03Z', '9q7k4op822n2g222') ORDER BY created_at DESC, id DESC LIMIT 20$$);
--> Limit / Index Scan Backward using events_pkey on events / Index Cond: (id <= '9d8hqv23xxxxxxxx'::sno) / Filter: (ROW(sno_time(id), id) < ROW('2026-01-03 00:00:00+00'::timestamp with time zone, '9q7k4op822n2g222'::sno))

-- A function of the row is a column for queries that name the table.
CREATE FUNCTION created_at(events) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN sno_time($1.id);
SELECT plan($$SELECT e.*, e.created_at FROM events e WHERE e.created_at >= now() - interval '1 hour' ORDER BY e.created_at DESC LIMIT 20$$);
--> Limit / Index Scan Backward using events_pkey on events e / Index Cond: (id >= sno_first((now() - '01:00:00'::interval), false))
SELECT plan($$UPDATE events SET kind = 0 WHERE events.created_at < '2026-01-01 00:05Z' RETURNING events.created_at$$);
--> Update on events / Index Scan using events_pkey on events / Index Cond: (id <= '9d5viqhhxxxxxxxx'::sno)
SELECT count(e.created_at) FROM (SELECT * FROM events) e;
--> 10000
SELECT e.created_at FROM (SELECT id FROM events) e;
--> ERROR:  cannot cast type record to events
--> LINE 1: SELECT e.created_at FROM (SELECT id FROM events) e;
-->                ^
--> DETAIL:  Input has too few columns.
SELECT created_at FROM events;
--> ERROR:  column "created_at" does not exist
--> LINE 1: SELECT created_at FROM events;
-->                ^
DROP FUNCTION created_at;

-- Joins.
CREATE TABLE shifts AS SELECT n, '2026-01-02Z'::timestamptz + n * interval '8 h' AS began FROM generate_series(1, 3) n;
ANALYZE shifts;
SELECT plan($$SELECT * FROM shifts LEFT JOIN feed ON created_at >= began AND created_at < began + interval '8 h'$$);
--> Nested Loop Left Join / Seq Scan on shifts / Index Scan using events_pkey on events / Index Cond: ((id >= sno_first(shifts.began, false)) AND (id <= sno_last((shifts.began + '08:00:00'::interval), true)))
-- Below another join; and by =, which is better left to hash and merge joins.
SELECT plan($$SELECT * FROM shifts LEFT JOIN (shifts s JOIN feed ON created_at >= s.began AND created_at < s.began + interval '8 h') ON s.n = shifts.n$$);
--> Hash Right Join / Hash Cond: (s.n = shifts.n) / Nested Loop / Seq Scan on shifts s / Index Scan using events_pkey on events / Index Cond: ((id >= sno_first(s.began, false)) AND (id <= sno_last((s.began + '08:00:00'::interval), true))) / Hash / Seq Scan on shifts
SELECT plan($$SELECT * FROM shifts s JOIN feed ON created_at >= began AND created_at < began + interval '8 h' LEFT JOIN shifts ON shifts.n = s.n$$);
--> Nested Loop / Hash Left Join / Hash Cond: (s.n = shifts.n) / Seq Scan on shifts s / Hash / Seq Scan on shifts / Index Scan using events_pkey on events / Index Cond: ((id >= sno_first(s.began, false)) AND (id <= sno_last((s.began + '08:00:00'::interval), true)))
SELECT plan($$SELECT * FROM shifts JOIN feed ON created_at = began$$);
--> Hash Join / Hash Cond: (sno_time(events.id) = shifts.began) / Seq Scan on events / Hash / Seq Scan on shifts
SELECT plan($$SELECT * FROM shifts, LATERAL (SELECT id FROM feed WHERE created_at < began ORDER BY created_at DESC LIMIT 1) f$$);
--> Nested Loop / Seq Scan on shifts / Limit / Index Only Scan Backward using events_pkey on events / Index Cond: (id <= sno_last(shifts.began, true))

-- Of two views, whichever is first in FROM: the rows of one are looked for in the index of the other.
SELECT plan($$SELECT count(*) FROM feed a JOIN feed b ON b.created_at >= a.created_at AND b.created_at < a.created_at + interval '1 min' WHERE a.id = '2222222222222222'$$);
--> Aggregate / Nested Loop / Index Only Scan using events_pkey on events / Index Cond: (id = '2222222222222222'::sno) / Index Only Scan using events_pkey on events events_1 / Index Cond: ((id >= sno_first(sno_time(events.id), false)) AND (id <= sno_last((sno_time(events.id) + '00:01:00'::interval), true))) / Filter: (events.id <= sno_last(sno_time(id), false))
SELECT plan($$SELECT count(*) FROM feed b JOIN feed a ON b.created_at >= a.created_at AND b.created_at < a.created_at + interval '1 min' WHERE a.id = '2222222222222222'$$);
--> Aggregate / Nested Loop / Index Only Scan using events_pkey on events events_1 / Index Cond: (id = '2222222222222222'::sno) / Index Only Scan using events_pkey on events / Index Cond: ((id <= sno_last((sno_time(events_1.id) + '00:01:00'::interval), true)) AND (id >= sno_first(sno_time(events_1.id), false))) / Filter: (events_1.id <= sno_last(sno_time(id), false))
SELECT plan($$SELECT * FROM feed a, LATERAL (SELECT id FROM feed b WHERE b.created_at < a.created_at ORDER BY created_at DESC LIMIT 1) b WHERE a.kind = 3 AND a.id < '2026-01-02Z'::timestamptz$$);
--> Nested Loop / Index Scan using events_pkey on events / Index Cond: (id < '9d78kji222222222'::sno) / Filter: (kind = 3) / Limit / Index Only Scan Backward using events_pkey on events events_1 / Index Cond: (id <= sno_last(sno_time(events.id), true))
SELECT plan($$SELECT * FROM feed a WHERE a.id = '2222222222222222' AND NOT EXISTS (SELECT FROM feed b WHERE b.created_at > a.created_at AND b.created_at < a.created_at + interval '1 min' AND b.kind = 3)$$);
--> Nested Loop Anti Join / Index Scan using events_pkey on events / Index Cond: (id = '2222222222222222'::sno) / Index Scan using events_pkey on events events_1 / Index Cond: ((id >= sno_first(sno_time(events.id), true)) AND (id <= sno_last((sno_time(events.id) + '00:01:00'::interval), true))) / Filter: (kind = 3)
SELECT plan($$SELECT * FROM feed a LEFT JOIN feed b ON b.created_at > a.created_at AND b.created_at < a.created_at + interval '1 min' WHERE a.id = '2222222222222222'$$);
--> Nested Loop Left Join / Index Scan using events_pkey on events / Index Cond: (id = '2222222222222222'::sno) / Index Scan using events_pkey on events events_1 / Index Cond: ((id >= sno_first(sno_time(events.id), true)) AND (id <= sno_last((sno_time(events.id) + '00:01:00'::interval), true)))
-- The nulls of an outer join are not those of the column.
SELECT plan($$SELECT * FROM shifts LEFT JOIN feed ON kind = n WHERE created_at IS NULL$$);
--> Hash Right Join / Hash Cond: (events.kind = shifts.n) / Filter: (sno_time(events.id) IS NULL) / Seq Scan on events / Hash / Seq Scan on shifts
SELECT plan($$SELECT * FROM feed FULL JOIN shifts ON kind = n WHERE created_at IS NULL OR n = 1$$);
--> Hash Full Join / Hash Cond: (events.kind = shifts.n) / Filter: ((sno_time(events.id) IS NULL) OR (shifts.n = 1)) / Seq Scan on events / Hash / Seq Scan on shifts

-- The next page after another table's row.
SELECT plan($$SELECT count(*) FROM shifts JOIN feed ON (created_at, id) < (began, '9q7k4op822n2g222')$$);
--> Aggregate / Nested Loop / Join Filter: (ROW(sno_time(events.id), events.id) < ROW(shifts.began, '9q7k4op822n2g222'::sno)) / Seq Scan on events / Materialize / Seq Scan on shifts
-- Times without a time zone, in UTC: they depend on no setting.
CREATE VIEW feed_utc AS SELECT kind, id, sno_time(id) AT TIME ZONE 'UTC' AS created_at FROM events;
SET timezone = 'Asia/Kathmandu';
SELECT plan($$SELECT kind FROM feed_utc WHERE created_at >= '2026-01-03' AND created_at < '2026-01-04' ORDER BY created_at DESC, kind LIMIT 20$$);
--> Limit / Incremental Sort / Sort Key: ((sno_time(events.id) AT TIME ZONE 'UTC'::text)) DESC, events.kind / Presorted Key: ((sno_time(events.id) AT TIME ZONE 'UTC'::text)) / Index Scan Backward using events_pkey on events / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d9qxahxxxxxxxxx'::sno))
SELECT plan($$SELECT kind FROM feed_utc WHERE created_at = now() AT TIME ZONE 'UTC' - interval '1 hour'$$);
--> Index Scan using events_pkey on events / Index Cond: ((id >= sno_first(timezone('UTC'::text, ((now() AT TIME ZONE 'UTC'::text) - '01:00:00'::interval)), false)) AND (id <= sno_last(timezone('UTC'::text, ((now() AT TIME ZONE 'UTC'::text) - '01:00:00'::interval)), false)))
SELECT plan($$SELECT * FROM feed_utc a JOIN feed_utc b ON b.created_at > a.created_at WHERE a.id = '2222222222222222'$$);
--> Nested Loop / Index Scan using events_pkey on events / Index Cond: (id = '2222222222222222'::sno) / Index Scan using events_pkey on events events_1 / Index Cond: (id >= sno_first(sno_time(events.id), true)) / Filter: (events.id <= sno_last(sno_time(id), true))
SELECT plan($$SELECT kind FROM feed_utc WHERE (created_at, id) < ('2026-01-03', '9q7k4op822n2g222') ORDER BY created_at DESC, id DESC LIMIT 20$$);
--> Limit / Index Scan Backward using events_pkey on events / Index Cond: (id <= '9d8hqv23xxxxxxxx'::sno) / Filter: (ROW((sno_time(id) AT TIME ZONE 'UTC'::text), id) < ROW('2026-01-03 00:00:00'::timestamp without time zone, '9q7k4op822n2g222'::sno))
SELECT plan($$SELECT kind FROM events WHERE sno_time(id) AT TIME ZONE 'etc/utc' = '2026-01-03'$$);
--> Index Scan using events_pkey on events / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d8hqv23xxxxxxxx'::sno))
-- Not compared with a time that depends on the session, and not in another zone.
SELECT plan($$SELECT kind FROM feed_utc WHERE created_at >= now()$$);
--> Seq Scan on events / Filter: ((sno_time(id) AT TIME ZONE 'UTC'::text) >= now())
SELECT plan($$SELECT kind FROM events WHERE sno_time(id) AT TIME ZONE 'Europe/Berlin' >= '2026-01-03'$$);
--> Seq Scan on events / Filter: ((sno_time(id) AT TIME ZONE 'Europe/Berlin'::text) >= '2026-01-03 00:00:00'::timestamp without time zone)
SELECT plan($$SELECT kind FROM events ORDER BY sno_time(id) AT TIME ZONE 'Europe/Berlin' LIMIT 20$$);
--> Limit / Sort / Sort Key: ((sno_time(id) AT TIME ZONE 'Europe/Berlin'::text)) / Seq Scan on events
RESET timezone;

-- Prepared statements, whose plan is used for any value and in any time zone.
SET plan_cache_mode = force_generic_plan;
PREPARE since(timestamptz) AS SELECT count(*) FROM feed WHERE created_at >= $1;
SELECT plan($$EXECUTE since(now())$$);
--> Aggregate / Index Only Scan using events_pkey on events / Index Cond: (id >= sno_first($1, false))
RESET plan_cache_mode;

-- Table partitions are pruned, and read in order.
CREATE TABLE days (id sno PRIMARY KEY) PARTITION BY RANGE (id);
SELECT count(*) FROM sno_create_partitions('days', '1 day', '2026-01-01Z', '2026-01-05Z');
--> 4
INSERT INTO days SELECT id FROM events WHERE id < '2026-01-05Z'::timestamptz;
VACUUM ANALYZE days;
SELECT plan($$SELECT sno_time(id) FROM days WHERE sno_time(id) >= '2026-01-04Z'$$);
--> Seq Scan on days_20260104 days / Filter: (id >= '9d9qxai222222222'::sno)
SELECT plan($$SELECT id FROM days WHERE sno_time(id) >= date '2026-01-04' ORDER BY sno_time(id) DESC LIMIT 5$$);
--> Limit / Append / Subplans Removed: 3 / Index Only Scan Backward using days_20260104_pkey on days_20260104 days_1 / Index Cond: (id >= sno_first('2026-01-04'::date, false))
SELECT plan($$SELECT id FROM days ORDER BY sno_time(id) DESC LIMIT 5$$);
--> Limit / Append / Index Only Scan Backward using days_20260104_pkey on days_20260104 days_4 / Index Only Scan Backward using days_20260103_pkey on days_20260103 days_3 / Index Only Scan Backward using days_20260102_pkey on days_20260102 days_2 / Index Only Scan Backward using days_20260101_pkey on days_20260101 days_1

-- UNION ALL: sno_time() around it. (Within its arms, conditions are filters.)
CREATE VIEW all_events AS SELECT *, sno_time(id) AS created_at FROM (SELECT id FROM events UNION ALL SELECT id FROM events) e;
SELECT plan($$SELECT * FROM all_events WHERE created_at = '2026-01-03Z'$$);
--> Result / Append / Index Only Scan using events_pkey on events / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d8hqv23xxxxxxxx'::sno)) / Index Only Scan using events_pkey on events events_1 / Index Cond: ((id >= '9d8hqv2222222222'::sno) AND (id <= '9d8hqv23xxxxxxxx'::sno))
SELECT plan($$SELECT * FROM all_events WHERE (created_at, id) < ('2026-01-01 00:05Z', '9q7k4op822n2g222')$$);
--> Result / Append / Index Only Scan using events_pkey on events / Index Cond: (id <= '9d5viqhjxxxxxxxx'::sno) / Filter: (ROW(sno_time(id), id) < ROW('2026-01-01 00:05:00+00'::timestamp with time zone, '9q7k4op822n2g222'::sno)) / Index Only Scan using events_pkey on events events_1 / Index Cond: (id <= '9d5viqhjxxxxxxxx'::sno) / Filter: (ROW(sno_time(id), id) < ROW('2026-01-01 00:05:00+00'::timestamp with time zone, '9q7k4op822n2g222'::sno))

-- Row security.
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY recent ON events USING (sno_time(id) >= '2026-01-07 22:00Z');
CREATE ROLE regress_sno_reader;
GRANT SELECT ON events TO regress_sno_reader;
SET ROLE regress_sno_reader;
SELECT plan($$SELECT kind FROM events WHERE sno_time(id) < '2026-01-07 22:05Z'$$);
--> Index Scan using events_pkey on events / Index Cond: ((id >= '9descsu222222222'::sno) AND (id <= '9deshfdhxxxxxxxx'::sno))
RESET ROLE;
ALTER TABLE events DISABLE ROW LEVEL SECURITY;

-- The predicate of an index is a condition, too. An index on the expression is used if none begins with the ID.
CREATE TABLE old_style (LIKE events);
INSERT INTO old_style SELECT * FROM events;
CREATE INDEX ON old_style (kind) WHERE sno_time(id) >= '2026-01-07Z';
ANALYZE old_style;
SELECT plan($$SELECT kind FROM old_style WHERE sno_time(id) >= '2026-01-07 12:00Z' AND kind = 3$$);
--> Bitmap Heap Scan on old_style / Recheck Cond: ((kind = 3) AND (id >= '9ddmkd2222222222'::sno)) / Filter: (id >= '9deb7iq222222222'::sno) / Bitmap Index Scan on old_style_kind_idx / Index Cond: (kind = 3)
CREATE INDEX ON old_style (kind, sno_time(id));
CREATE INDEX ON old_style (kind, id);
ANALYZE old_style;
SELECT plan($$SELECT kind FROM old_style WHERE kind = 3 AND sno_time(id) = '2026-01-07 12:00Z'$$);
--> Index Scan using old_style_kind_sno_time_idx on old_style / Index Cond: ((kind = 3) AND (sno_time(id) = '2026-01-07 12:00:00+00'::timestamp with time zone))
DROP INDEX old_style_kind_id_idx;
ALTER TABLE old_style ADD PRIMARY KEY (id);
SELECT plan($$SELECT kind FROM old_style WHERE sno_time(id) >= '2026-01-07 22:00Z'$$);
--> Index Scan using old_style_pkey on old_style / Index Cond: (id >= '9descsu222222222'::sno)
SELECT plan($$SELECT * FROM old_style WHERE kind = 3 ORDER BY sno_time(id) DESC LIMIT 5$$);
--> Limit / Index Scan Backward using old_style_kind_sno_time_idx on old_style / Index Cond: (kind = 3)
-- A key of partitions is as good as an index.
CREATE TABLE parts (id sno, kind integer) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (sno_lower('2026-01-07Z'));
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (sno_lower('2026-01-07Z')) TO (MAXVALUE);
CREATE INDEX ON parts (sno_time(id));
SELECT plan($$SELECT kind FROM parts WHERE sno_time(id) >= '2026-01-07Z'$$);
--> Seq Scan on parts_2 parts / Filter: (id >= '9ddmkd2222222222'::sno)

-- An index on the time of another column is no hindrance.
CREATE DOMAIN order_id AS sno;
CREATE TABLE orders (id order_id PRIMARY KEY, parent sno);
CREATE INDEX ON orders (sno_time(parent));
INSERT INTO orders SELECT id, id FROM events;
VACUUM ANALYZE orders;
SELECT plan($$SELECT parent FROM orders WHERE sno_time(id) >= '2026-01-07 22:00Z'$$);
--> Index Scan using orders_pkey on orders / Index Cond: ((id)::sno >= '9descsu222222222'::sno)
SELECT plan($$SELECT parent FROM orders ORDER BY sno_time(id) DESC, id DESC LIMIT 5$$);
--> Limit / Index Scan Backward using orders_pkey on orders

-- Table partitions by the expression are pruned.
CREATE TABLE by_time (id sno) PARTITION BY RANGE (sno_time(id));
CREATE TABLE by_time_1 PARTITION OF by_time FOR VALUES FROM ('2026-01-01Z') TO ('2026-01-02Z');
CREATE TABLE by_time_2 PARTITION OF by_time FOR VALUES FROM ('2026-01-02Z') TO ('2026-01-03Z');
SELECT plan($$SELECT id FROM by_time WHERE sno_time(id) >= '2026-01-02 12:00Z'$$);
--> Seq Scan on by_time_2 by_time / Filter: (sno_time(id) >= '2026-01-02 12:00:00+00'::timestamp with time zone)

CREATE TABLE by_kind (id sno, kind integer) PARTITION BY RANGE (abs(kind), sno_time(id));
CREATE TABLE by_kind_1 PARTITION OF by_kind FOR VALUES FROM (1, '2026-01-01Z') TO (1, '2026-01-02Z');
CREATE TABLE by_kind_2 PARTITION OF by_kind FOR VALUES FROM (1, '2026-01-02Z') TO (1, '2026-01-03Z');
SELECT plan($$SELECT id FROM by_kind WHERE abs(kind) = 1 AND sno_time(id) >= '2026-01-02 12:00Z'$$);
--> Seq Scan on by_kind_2 by_kind / Filter: ((sno_time(id) >= '2026-01-02 12:00:00+00'::timestamp with time zone) AND (abs(kind) = 1))

-- The indexes of tables with children, which PostgreSQL does not always list for the planner.
CREATE TABLE listed (id sno, kind integer) PARTITION BY LIST (kind);
CREATE TABLE listed_1 PARTITION OF listed FOR VALUES IN (1);
CREATE INDEX ON listed (sno_time(id));
INSERT INTO listed SELECT id, 1 FROM events;
CREATE TABLE parent (id sno, kind integer);
CREATE INDEX ON parent (sno_time(id));
CREATE TABLE child (LIKE parent INCLUDING INDEXES) INHERITS (parent);
--> NOTICE:  merging column "id" with inherited definition
--> NOTICE:  merging column "kind" with inherited definition
INSERT INTO child SELECT id, 1 FROM events;
ANALYZE listed, parent, child;
SELECT plan($$SELECT kind FROM listed WHERE sno_time(id) >= '2026-01-07 22:00Z'$$);
--> Index Scan using listed_1_sno_time_idx on listed_1 listed / Index Cond: (sno_time(id) >= '2026-01-07 22:00:00+00'::timestamp with time zone)
SELECT plan($$SELECT kind FROM parent WHERE sno_time(id) >= '2026-01-07 22:00Z'$$);
--> Append / Seq Scan on parent parent_1 / Filter: (sno_time(id) >= '2026-01-07 22:00:00+00'::timestamp with time zone) / Index Scan using child_sno_time_idx on child parent_2 / Index Cond: (sno_time(id) >= '2026-01-07 22:00:00+00'::timestamp with time zone)
CREATE INDEX ON listed (id);
SELECT plan($$SELECT kind FROM listed WHERE sno_time(id) >= '2026-01-07 22:00Z'$$);
--> Index Scan using listed_1_id_idx on listed_1 listed / Index Cond: (id >= '9descsu222222222'::sno)
-- Partitions by the expression keep the predicates of their partial indexes, also if they have other columns before the ID.
CREATE TABLE by_time_3 (gone integer, id sno);
ALTER TABLE by_time_3 DROP COLUMN gone;
ALTER TABLE by_time ATTACH PARTITION by_time_3 FOR VALUES FROM ('2026-01-03Z') TO ('2026-01-04Z');
CREATE INDEX ON by_time (sno_metabyte(id)) WHERE sno_time(id) >= '2026-01-02 12:00Z';
SET enable_seqscan = off;
SELECT plan($$SELECT id FROM by_time WHERE sno_time(id) >= '2026-01-02 12:00Z' AND sno_time(id) < '2026-01-03Z' AND sno_metabyte(id) = 3$$);
--> Bitmap Heap Scan on by_time_2 by_time / Recheck Cond: ((sno_metabyte(id) = 3) AND (sno_time(id) >= '2026-01-02 12:00:00+00'::timestamp with time zone)) / Filter: (sno_time(id) < '2026-01-03 00:00:00+00'::timestamp with time zone) / Bitmap Index Scan on by_time_2_sno_metabyte_idx / Index Cond: (sno_metabyte(id) = 3)
SELECT plan($$SELECT id FROM by_time WHERE sno_time(id) >= '2026-01-03 12:00Z' AND sno_metabyte(id) = 3$$);
--> Bitmap Heap Scan on by_time_3 by_time / Recheck Cond: ((sno_metabyte(id) = 3) AND (sno_time(id) >= '2026-01-02 12:00:00+00'::timestamp with time zone)) / Filter: (sno_time(id) >= '2026-01-03 12:00:00+00'::timestamp with time zone) / Bitmap Index Scan on by_time_3_sno_metabyte_idx / Index Cond: (sno_metabyte(id) = 3)
RESET enable_seqscan;

-- A function is not replaced if the user may not call it, or may not call what would take its place.
BEGIN;
GRANT SELECT ON orders TO regress_sno_reader;
REVOKE EXECUTE ON FUNCTION sno_first(timestamptz, boolean), sno_lower(timestamptz) FROM PUBLIC;
SET LOCAL ROLE regress_sno_reader;
SELECT count(*) FROM orders WHERE sno_time(id) >= now() OR id >= now();
--> 0
RESET ROLE;
GRANT EXECUTE ON FUNCTION sno_first(timestamptz, boolean), sno_lower(timestamptz) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION sno_internal.sno_ge(sno, sno) FROM PUBLIC;
SET LOCAL ROLE regress_sno_reader;
SELECT count(*) FROM orders WHERE sno_time(id) >= '2026-01-07 22:00Z' AND id >= timestamptz '2026-01-07 22:00Z';
--> 40
RESET ROLE;
GRANT EXECUTE ON FUNCTION sno_internal.sno_ge(sno, sno) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION sno_time(sno), sno_internal.sno_ge_time(sno, timestamptz) FROM PUBLIC;
SET LOCAL ROLE regress_sno_reader;
SAVEPOINT s;
SELECT count(*) FROM orders WHERE sno_time(id) >= '2026-01-07 22:00Z';
--> ERROR:  permission denied for function sno_time
ROLLBACK TO s;
SELECT count(*) FROM orders WHERE sno_time(id) IS NOT NULL;
--> ERROR:  permission denied for function sno_time
ROLLBACK TO s;
SELECT count(*) FROM orders WHERE id >= timestamptz '2026-01-07 22:00Z';
--> ERROR:  permission denied for function sno_ge_time
ROLLBACK;

-- It can be switched off.
SET sno.enable_time_conditions = off;
SELECT plan($$SELECT * FROM feed WHERE created_at >= '2026-01-03Z' ORDER BY created_at LIMIT 20$$);
--> Limit / Sort / Sort Key: (sno_time(events.id)) / Seq Scan on events / Filter: (sno_time(id) >= '2026-01-03 00:00:00+00'::timestamp with time zone)
RESET sno.enable_time_conditions;

DROP TABLE events, listed, parent, days, old_style, parts, shifts, orders, by_time, by_kind CASCADE;
--> NOTICE:  drop cascades to 4 other objects
--> DETAIL:  drop cascades to table child
--> drop cascades to view feed
--> drop cascades to view feed_utc
--> drop cascades to view all_events
DROP DOMAIN order_id;
DROP ROLE regress_sno_reader;
