-- Ranges of time on an ID: operators with timestamptz, and the plans that they allow.

-- One ID a minute for a week.
CREATE TABLE events (id sno PRIMARY KEY, n integer NOT NULL);
INSERT INTO events
    SELECT sno_make('2026-11-01 00:00Z'::timestamptz + n * interval '1 min', n % 4, 42 << 8, 0), n
    FROM generate_series(0, 7 * 24 * 60 - 1) n;
VACUUM ANALYZE events;

-- Functions are index conditions, as operators are.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan('SELECT id FROM events WHERE sno_between(id, ''2026-11-03 00:00Z'', ''2026-11-04 00:00Z'')');
--> plan
--> Index Only Scan using events_pkey on events / Index Cond: ((id >= '9pfu872222222222'::sno) AND (id < '9ph7eii222222222'::sno))
SELECT plan('SELECT id FROM events WHERE sno_between(id, now(), ''infinity'')');
--> plan
--> Index Only Scan using events_pkey on events / Index Cond: ((id >= sno_lower(now())) AND (id < 'xxxxxxxxxxxxxxxx'::sno))
SELECT plan('SELECT id FROM events WHERE id BETWEEN sno_lower(''2026-11-03 00:00Z'') AND sno_upper(''2026-11-04 00:00Z'')');
--> plan
--> Index Only Scan using events_pkey on events / Index Cond: ((id >= '9pfu872222222222'::sno) AND (id <= '9ph7eii3xxxxxxxx'::sno))
SELECT plan('SELECT max(id) FROM events WHERE id < ''2026-11-03 00:00Z''::timestamptz');
--> plan
--> Result / InitPlan 1 / Limit / Index Only Scan Backward using events_pkey on events / Index Cond: (id < '9pfu872222222222'::sno)
RESET enable_seqscan;
RESET enable_bitmapscan;

-- They are exact, at the edges too.
SELECT count(*) FILTER (WHERE sno_between(id, '2026-11-03 00:00Z', '2026-11-04 00:00Z')) AS day,
       count(*) FILTER (WHERE sno_between(id, '2026-11-04 00:00Z', '2026-11-03 00:00Z')) AS inverted
FROM events;
--> day|inverted
--> 1440|0
SELECT at, id >= at AS since, id < at AS before, at <= id AS not_after, at > id AS after,
    id <= at AS until, id > at AS later, at >= id AS not_before, at < id AS earlier
FROM (VALUES (sno_make('2026-11-03 00:00:00.004Z', 255, 65535, 65535, true))) v(id),
    unnest(ARRAY['-infinity', '2009-12-31 23:59:59Z', '2026-11-03 00:00:00.003999Z', '2026-11-03 00:00:00.004Z',
        '2026-11-03 00:00:00.004001Z', '2026-11-03 00:00:00.008Z', '2080-01-01 00:00Z', 'infinity', NULL]::timestamptz[]) at;
--> at|since|before|not_after|after|until|later|not_before|earlier
--> -infinity|t|f|t|f|f|t|f|t
--> 2009-12-31 23:59:59+00|t|f|t|f|f|t|f|t
--> 2026-11-03 00:00:00.003999+00|t|f|t|f|f|t|f|t
--> 2026-11-03 00:00:00.004+00|t|f|t|f|t|f|t|f
--> 2026-11-03 00:00:00.004001+00|f|t|f|t|t|f|t|f
--> 2026-11-03 00:00:00.008+00|f|t|f|t|t|f|t|f
--> 2080-01-01 00:00:00+00|f|t|f|t|t|f|t|f
--> infinity|f|t|f|t|t|f|t|f
--> ||||||||
-- They are what the times say, for random IDs and times to 4 ms.
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE (id >= at) IS DISTINCT FROM (sno_time(id) >= at)
           OR (id < at) IS DISTINCT FROM (sno_time(id) < at)
           OR (at <= id) IS DISTINCT FROM (at <= sno_time(id))
           OR (at > id) IS DISTINCT FROM (at > sno_time(id))
           OR (id <= at) IS DISTINCT FROM (sno_time(id) <= at)
           OR (id > at) IS DISTINCT FROM (sno_time(id) > at)
           OR (at >= id) IS DISTINCT FROM (at >= sno_time(id))
           OR (at < id) IS DISTINCT FROM (at < sno_time(id))
           OR (id BETWEEN at AND at + '1 day') IS DISTINCT FROM (sno_time(id) BETWEEN at AND at + '1 day')
           OR (id NOT BETWEEN at AND at + '1 day') IS DISTINCT FROM (sno_time(id) NOT BETWEEN at AND at + '1 day')
           OR sno_between(id, at, at + '1 day') IS DISTINCT FROM (sno_time(id) >= at AND sno_time(id) < at + '1 day')) AS wrong
FROM (SELECT decode(substr(md5(n::text), 1, 20), 'hex')::sno AS id FROM generate_series(1, 300) n) ids,
     (SELECT sno_time(decode(substr(md5(n::text), 1, 20), 'hex')::sno) + (n % 3 - 1) * interval '0.001 s' AS at
      FROM generate_series(1, 300) n
      UNION ALL SELECT unnest(ARRAY['-infinity', '2010-01-01 00:00Z', 'infinity', NULL]::timestamptz[])) times;
--> pairs|wrong
--> 91200|0
-- So are the functions themselves, which are called for members of arrays, at the edges of a tick.
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE (id < ANY (ARRAY[at])) IS DISTINCT FROM (sno_time(id) < at)
           OR (id <= ANY (ARRAY[at])) IS DISTINCT FROM (sno_time(id) <= at)
           OR (id >= ANY (ARRAY[at])) IS DISTINCT FROM (sno_time(id) >= at)
           OR (id > ANY (ARRAY[at])) IS DISTINCT FROM (sno_time(id) > at)
           OR (at < ANY (ARRAY[id])) IS DISTINCT FROM (at < sno_time(id))
           OR (at <= ANY (ARRAY[id])) IS DISTINCT FROM (at <= sno_time(id))
           OR (at >= ANY (ARRAY[id])) IS DISTINCT FROM (at >= sno_time(id))
           OR (at > ANY (ARRAY[id])) IS DISTINCT FROM (at > sno_time(id))) AS wrong
FROM (SELECT '2026-11-03 00:00Z'::timestamptz + n * interval '0.001 s' AS at FROM generate_series(-9, 9) n) times,
     (SELECT unnest(ARRAY[sno_lower(at), sno_upper(at)]) AS id
      FROM (SELECT '2026-11-03 00:00Z'::timestamptz + n * interval '0.004 s' AS at FROM generate_series(-3, 3) n) ticks) ids;
--> pairs|wrong
--> 266|0
-- Times beyond the epoch are its ends, the first ID and the last: those two equal all times out there, no other does.
SELECT id, at, id < at AS lt, id <= at AS le, id > at AS gt, id >= at AS ge,
    sno_time(id) < at AS "time lt", sno_time(id) <= at AS "time le", sno_time(id) > at AS "time gt", sno_time(id) >= at AS "time ge"
FROM unnest(ARRAY['2222222222222222', '2222222222222223', 'xxxxxxxxxxxxxxxw', 'xxxxxxxxxxxxxxxx']::sno[]) WITH ORDINALITY i(id, n),
    unnest(ARRAY['-infinity', '2009-12-31 23:59:59.999999Z', '2010-01-01 00:00Z', '2079-09-07 15:47:35.548Z',
        '2079-09-07 15:47:35.551999Z', '2079-09-07 15:47:35.552Z', 'infinity']::timestamptz[]) at
WHERE (n < 3) = (at < '2050-01-01Z')
ORDER BY n, at;
--> id|at|lt|le|gt|ge|time lt|time le|time gt|time ge
--> 2222222222222222|-infinity|f|t|f|t|f|f|t|t
--> 2222222222222222|2009-12-31 23:59:59.999999+00|f|t|f|t|f|f|t|t
--> 2222222222222222|2010-01-01 00:00:00+00|f|t|f|t|f|t|f|t
--> 2222222222222223|-infinity|f|f|t|t|f|f|t|t
--> 2222222222222223|2009-12-31 23:59:59.999999+00|f|f|t|t|f|f|t|t
--> 2222222222222223|2010-01-01 00:00:00+00|f|t|f|t|f|t|f|t
--> xxxxxxxxxxxxxxxw|2079-09-07 15:47:35.548+00|f|t|f|t|f|t|f|t
--> xxxxxxxxxxxxxxxw|2079-09-07 15:47:35.551999+00|t|t|f|f|t|t|f|f
--> xxxxxxxxxxxxxxxw|2079-09-07 15:47:35.552+00|t|t|f|f|t|t|f|f
--> xxxxxxxxxxxxxxxw|infinity|t|t|f|f|t|t|f|f
--> xxxxxxxxxxxxxxxx|2079-09-07 15:47:35.548+00|f|t|f|t|f|t|f|t
--> xxxxxxxxxxxxxxxx|2079-09-07 15:47:35.551999+00|f|t|f|t|t|t|f|f
--> xxxxxxxxxxxxxxxx|2079-09-07 15:47:35.552+00|f|t|f|t|t|t|f|f
--> xxxxxxxxxxxxxxxx|infinity|f|t|f|t|t|t|f|f
-- Nulls, as in any comparison; sno_between is an AND of two.
SELECT NULL::sno > now() AS gt, now() >= NULL::sno AS ge, '2222222222222222'::sno <= NULL::timestamptz AS le;
--> gt|ge|le
--> ||
SELECT NULL::sno < now() AS a, '2222222222222222'::sno < NULL::timestamptz AS b, sno_between(NULL, now(), now()) AS c,
       sno_between('2222222222222222', NULL, '2026-01-01 00:00Z') AS d, sno_between('xxxxxxxxxxxxxxxx', NULL, '2026-01-01 00:00Z') AS e,
       sno_between('2222222222222222', '2026-01-01 00:00Z', NULL) AS f, sno_between(sno_new(), NULL, now() - interval '1 hour') AS g;
--> a|b|c|d|e|f|g
--> ||||f|f|f
-- Of a column, whose condition planner support rewrites.
SELECT plan('SELECT FROM events WHERE sno_between(id, NULL, ''2026-11-04Z'')');
--> plan
--> Index Only Scan using events_pkey on events / Index Cond: ((id >= NULL::sno) AND (id < '9ph7eii222222222'::sno))
SELECT count(*) FILTER (WHERE sno_between(id, NULL, '2026-11-04Z')) AS a, count(*) FILTER (WHERE NOT sno_between(id, NULL, '2026-11-04Z')) AS b,
       count(*) FILTER (WHERE sno_between(id, '2026-11-04Z', NULL)) AS c, count(*) FILTER (WHERE NOT sno_between(id, '2026-11-04Z', NULL)) AS d,
       count(*) FILTER (WHERE sno_between(id, NULL, NULL) IS NULL) AS e, count(*) FILTER (WHERE id < NULL::timestamptz IS NULL) AS f
FROM events;
--> a|b|c|d|e|f
--> 0|5760|0|4320|10080|10080
-- An argument that is volatile or a subquery must be evaluated only once, so the call is not rewritten.
SELECT plan('SELECT sno_between(sno_new(), now(), now())', 'verbose, costs off');
--> plan
--> Result / Output: sno_between(sno_new(0), now(), now())
SELECT plan('SELECT sno_new() >= now()', 'verbose, costs off');
--> plan
--> Result / Output: (sno_new(0) >= sno_lower(now()))

-- A view with a security barrier: conditions go down into it, since nothing in them can leak a row. A BRIN index.
CREATE VIEW barrier WITH (security_barrier) AS SELECT id FROM events WHERE sno_metabyte(id) < 200;
SELECT plan('SELECT id FROM barrier WHERE id BETWEEN ''2026-11-02Z''::timestamptz AND now() AND sno_metabyte(id) > 3 AND sno_sequence(id) > 7 AND NOT sno_tick_tock(id)');
--> plan
--> Seq Scan on events / Filter: ((id >= '9pekxri222222222'::sno) AND (NOT sno_tick_tock(id)) AND (sno_metabyte(id) < 200) AND (sno_metabyte(id) > 3) AND (sno_sequence(id) > 7) AND (id <= sno_upper(now())))
DROP VIEW barrier;
BEGIN;
ALTER TABLE events DROP CONSTRAINT events_pkey;
CREATE INDEX ON events USING brin (id);
SET LOCAL enable_seqscan = off;
SELECT plan('SELECT id FROM events WHERE id BETWEEN ''2026-11-02Z''::timestamptz AND ''2026-11-02 01:00Z''::timestamptz');
--> plan
--> Bitmap Heap Scan on events / Recheck Cond: ((id >= '9pekxri222222222'::sno) AND (id <= '9pemopc3xxxxxxxx'::sno)) / Bitmap Index Scan on events_id_idx / Index Cond: ((id >= '9pekxri222222222'::sno) AND (id <= '9pemopc3xxxxxxxx'::sno))
ROLLBACK;

-- A text is an ID, with a HINT if it is like a time, and an untyped parameter is one.
SELECT answer($$SELECT id FROM events WHERE id >= '2026-01-02'$$);
--> answer
--> 22P02: invalid input syntax for type sno: "2026-01-02" / A sno is 16 characters, or \x and 20 hexadecimal digits. / To compare with a time, write its type: timestamptz '2026-01-02'.
PREPARE untyped AS SELECT id FROM events WHERE id <= $1;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
--> parameter_types
--> {sno}

-- No time is an ID, and no index knows an order between the two types, so these say so.
\set VERBOSITY terse
SELECT '2222222222222222'::sno = now();
--> ERROR:  operator does not exist: sno = timestamp with time zone at character 32
\set VERBOSITY default
SELECT ('2222222222222222'::sno, 1) >= (now(), 1);
--> ERROR:  could not determine interpretation of row comparison operator >=
--> LINE 1: SELECT ('2222222222222222'::sno, 1) >= (now(), 1);
-->                                             ^
--> HINT:  Row comparison operators must be associated with btree operator families.
-- Elements of an array are compared one by one.
SELECT count(*) FROM events WHERE id >= ANY (ARRAY['2026-11-07 00:00Z', '2026-11-06 00:00Z']::timestamptz[]);
--> count
--> 2880
SELECT count(*) FROM events WHERE id < ALL (ARRAY['2026-11-07 00:00Z', '2026-11-06 00:00Z']::timestamptz[]);
--> count
--> 7200
SELECT count(*) FROM events WHERE id <= ALL (ARRAY['2026-11-07 00:00Z', '2026-11-06 00:00Z']::timestamptz[]);
--> count
--> 7201
SELECT plan('SELECT id FROM events WHERE (id, n) < (''9q7k4op826n2g222'', 5)');
--> plan
--> Seq Scan on events / Filter: (ROW(id, n) < ROW('9q7k4op826n2g222'::sno, 5))

-- Times in windows, groups and buckets.
SELECT date_trunc('day', sno_time(id)) AS day, count(*) FROM events GROUP BY 1 ORDER BY 1;
--> day|count
--> 2026-11-01 00:00:00+00|1440
--> 2026-11-02 00:00:00+00|1440
--> 2026-11-03 00:00:00+00|1440
--> 2026-11-04 00:00:00+00|1440
--> 2026-11-05 00:00:00+00|1440
--> 2026-11-06 00:00:00+00|1440
--> 2026-11-07 00:00:00+00|1440
SELECT sno_time(id), count(*) OVER last, count(*) OVER around, count(*) OVER fixed
FROM events WHERE id < '2026-11-01 00:05Z'::timestamptz
WINDOW last AS (ORDER BY id RANGE BETWEEN '2 minutes' PRECEDING AND CURRENT ROW),
       around AS (ORDER BY id DESC RANGE BETWEEN '1 minute' PRECEDING AND '1 minute' FOLLOWING),
       fixed AS (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND '0 minutes' FOLLOWING)
ORDER BY id;
--> sno_time|count|count|count
--> 2026-11-01 00:00:00+00|1|2|1
--> 2026-11-01 00:01:00+00|2|3|2
--> 2026-11-01 00:02:00+00|3|3|3
--> 2026-11-01 00:03:00+00|3|3|4
--> 2026-11-01 00:04:00+00|3|2|5
-- the same as by the times, with days whose length depends on the time zone
SET timezone = 'America/New_York';
SELECT count(*) FILTER (WHERE by_id <> by_time) AS different, sum(by_id) FROM (
    SELECT count(*) OVER (ORDER BY id RANGE BETWEEN '1 day' PRECEDING AND '3 hours' FOLLOWING) AS by_id,
           count(*) OVER (ORDER BY sno_time(id) RANGE BETWEEN '1 day' PRECEDING AND '3 hours' FOLLOWING) AS by_time
    FROM events) frames;
--> different|sum
--> 0|15305640
RESET timezone;
SELECT count(*) OVER (ORDER BY id RANGE BETWEEN '-1 day' PRECEDING AND CURRENT ROW) FROM events;
--> ERROR:  invalid preceding or following size in window function

-- Partitions of time are pruned: by constants when a query is planned, by others when it runs.
CREATE TABLE log (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM ('2222222222222222') TO ('9pdbrg2222222222');
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (sno_lower('2026-11-01 00:00Z')) TO (sno_lower('2026-11-03 00:00Z'));
CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM (sno_lower('2026-11-03 00:00Z')) TO (sno_lower('2026-11-05 00:00Z'));
CREATE TABLE log_4 PARTITION OF log FOR VALUES FROM (sno_lower('2026-11-05 00:00Z')) TO (sno_lower('infinity'));
INSERT INTO log SELECT * FROM events;
ANALYZE log;
SELECT tableoid::regclass, count(*) FROM log GROUP BY 1 ORDER BY 1;
--> tableoid|count
--> log_2|2880
--> log_3|2880
--> log_4|4320
SELECT plan('SELECT * FROM log WHERE id > ''2026-11-04 23:59:59.995Z''::timestamptz AND id <= ''2026-11-05 00:00Z''::timestamptz');
--> plan
--> Append / Index Scan using log_3_pkey on log_3 log_1 / Index Cond: ((id > '9pigktxvxxxxxxxx'::sno) AND (id <= '9pigku23xxxxxxxx'::sno)) / Index Scan using log_4_pkey on log_4 log_2 / Index Cond: ((id > '9pigktxvxxxxxxxx'::sno) AND (id <= '9pigku23xxxxxxxx'::sno))
-- stable at run time
CREATE FUNCTION today() RETURNS timestamptz STABLE LANGUAGE plpgsql AS 'BEGIN RETURN ''2026-11-05 12:00Z''; END';
SELECT plan('SELECT * FROM log WHERE id >= today() AND id < today() + interval ''1 hour''', 'analyze, costs off, timing off, summary off');
--> plan
--> Append (actual rows=60 loops=1) / Subplans Removed: 3 / Index Scan using log_4_pkey on log_4 log_1 (actual rows=60 loops=1) / Index Cond: ((id >= sno_lower(today())) AND (id < sno_lower((today() + '01:00:00'::interval))))
SET plan_cache_mode = force_generic_plan;
PREPARE log_hour (timestamptz) AS SELECT * FROM log WHERE sno_between(id, $1, $1 + '1 hour');
SELECT plan('EXECUTE log_hour (''2026-11-04 00:00Z'')');
--> plan
--> Append / Subplans Removed: 3 / Index Scan using log_3_pkey on log_3 log_1 / Index Cond: ((id >= sno_lower($1)) AND (id < sno_lower(($1 + '01:00:00'::interval))))
RESET plan_cache_mode;

-- An index on the metabyte and the key, for one kind in a range of time.
CREATE INDEX events_metabyte ON events (sno_metabyte(id), id);
VACUUM ANALYZE events;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan('SELECT id FROM events WHERE sno_metabyte(id) = 3 AND id >= ''2026-11-07 00:00Z''::timestamptz');
--> plan
--> Index Only Scan using events_metabyte on events / Index Cond: (((sno_metabyte(id)) = 3) AND (id >= '9pl2xl2222222222'::sno))
RESET ALL;

-- the time in a sub-select, the newest of all
SELECT plan('SELECT * FROM log WHERE sno_time(id) > (SELECT max(sno_time(id)) FROM events)');
--> plan
--> Append / InitPlan 2 / Result / InitPlan 1 / Limit / Index Only Scan Backward using events_pkey on events / Seq Scan on log_1 / Filter: (id >= sno_first($1, true)) / Index Scan using log_2_pkey on log_2 / Index Cond: (id >= sno_first($1, true)) / Index Scan using log_3_pkey on log_3 / Index Cond: (id >= sno_first($1, true)) / Index Scan using log_4_pkey on log_4 / Index Cond: (id >= sno_first($1, true))

DROP TABLE events, log;
DROP FUNCTION today;

-- A function that has taken over the name of sno_lower is not called.
BEGIN;
ALTER FUNCTION sno_lower(timestamptz) RENAME TO sno_lower_before;
CREATE FUNCTION sno_lower(timestamptz) RETURNS text LANGUAGE SQL VOLATILE RETURN 'decoy';
SELECT count(*) FROM (SELECT sno_lower_before('2026-01-01Z') AS id OFFSET 0) ids WHERE id < now();
--> count
--> 1
ROLLBACK;
BEGIN;
ALTER FUNCTION sno_upper(timestamptz) RENAME TO sno_upper_before;
CREATE FUNCTION sno_upper(timestamptz) RETURNS text LANGUAGE SQL VOLATILE RETURN 'decoy';
SELECT count(*) FROM (SELECT sno_lower('2026-01-01Z') AS id OFFSET 0) ids WHERE id <= now();
--> count
--> 1
ROLLBACK;
