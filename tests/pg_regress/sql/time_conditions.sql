-- Every form of a condition on time, on an ID and beside it on a timestamptz: the conditions in the plan, the rows, and how
-- many the planner expects.

CREATE TABLE s (id sno PRIMARY KEY);
CREATE TABLE t (id timestamptz PRIMARY KEY);
-- One row in 4 s. Their times are starts of ticks, so that both tables hold the same.
INSERT INTO s SELECT sno_make('2026-01-01 00:00Z'::timestamptz + n * interval '4 s', n % 256, 42 << 8, n, n % 3 = 0) FROM generate_series(0, 49999) n;
INSERT INTO t SELECT sno_time(id) FROM s;
VACUUM ANALYZE s, t;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

CREATE FUNCTION measure(query text, OUT condition text, OUT expected numeric, OUT rows text) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    plan := plan->0->'Plan';
    expected := plan->>'Plan Rows';
    -- A subquery's result is named after its plan from PostgreSQL 17 on.
    condition := regexp_replace(coalesce('index: ' || (plan->>'Index Cond'), 'filter: ' || (plan->>'Filter'), plan->>'Node Type'), '\(InitPlan (expr_)?\d\)\.col1|\$\d', '?', 'g');
    EXECUTE format('SELECT concat(count(*), '' '', min(at), '' '', max(at)) FROM (SELECT id::timestamptz AS at FROM (%s) q) q', query) INTO rows;
END
$$;
-- good: within 1.2 of what is expected of timestamptz, or of the truth if that is further off.
CREATE FUNCTION beside(condition text, OUT "on sno" text, OUT rows text, OUT "as timestamptz" text, OUT estimate text) LANGUAGE plpgsql AS $$
DECLARE
    ours record;
    theirs record;
    truth numeric;
BEGIN
    SELECT * INTO ours FROM measure('SELECT id FROM s WHERE ' || condition);
    SELECT * INTO theirs FROM measure('SELECT id FROM t WHERE ' || condition);
    truth := greatest(split_part(theirs.rows, ' ', 1)::numeric, 1);
    "on sno" := ours.condition;
    rows := split_part(ours.rows, ' ', 1);
    "as timestamptz" := CASE WHEN ours.rows = theirs.rows THEN 'same' ELSE format('%s, not %s', theirs.rows, ours.rows) END;
    estimate := CASE WHEN ours.expected BETWEEN theirs.expected / 1.2 AND theirs.expected * 1.2
        OR ours.expected BETWEEN truth / 1.2 AND truth * 1.2 THEN 'good'
        ELSE format('%s, timestamptz %s', ours.expected, theirs.expected) END;
END
$$;

SELECT condition, b.* FROM unnest(ARRAY[
    -- the four comparisons, in both orders of their operands
    $$id < '2026-01-02Z'::timestamptz$$,
    $$id <= '2026-01-02Z'::timestamptz$$,
    $$id > '2026-01-02Z'::timestamptz$$,
    $$id >= '2026-01-02Z'::timestamptz$$,
    $$'2026-01-02Z'::timestamptz > id$$,
    $$'2026-01-02Z'::timestamptz >= id$$,
    $$'2026-01-02Z'::timestamptz < id$$,
    $$'2026-01-02Z'::timestamptz <= id$$,
    -- negated
    $$NOT id < '2026-01-02Z'::timestamptz$$,
    $$NOT id <= '2026-01-02Z'::timestamptz$$,
    $$NOT id > '2026-01-02Z'::timestamptz$$,
    $$NOT id >= '2026-01-02Z'::timestamptz$$,
    $$NOT '2026-01-02Z'::timestamptz < id$$,
    $$NOT '2026-01-02Z'::timestamptz <= id$$,
    $$NOT '2026-01-02Z'::timestamptz > id$$,
    $$NOT '2026-01-02Z'::timestamptz >= id$$,
    -- ranges, with their ends or without
    $$id >= '2026-01-02Z'::timestamptz AND id < '2026-01-02 01:00Z'::timestamptz$$,
    $$id >= '2026-01-02Z'::timestamptz AND id <= '2026-01-02 01:00Z'::timestamptz$$,
    $$id > '2026-01-02Z'::timestamptz AND id < '2026-01-02 01:00Z'::timestamptz$$,
    $$id > '2026-01-02Z'::timestamptz AND id <= '2026-01-02 01:00Z'::timestamptz$$,
    $$id BETWEEN '2026-01-02Z'::timestamptz AND '2026-01-02 01:00Z'::timestamptz$$,
    $$id BETWEEN '2026-01-02Z'::timestamptz AND '2026-01-02Z'::timestamptz$$,
    $$id BETWEEN '2026-01-02 01:00Z'::timestamptz AND '2026-01-02Z'::timestamptz$$,
    $$id BETWEEN SYMMETRIC '2026-01-02 01:00Z'::timestamptz AND '2026-01-02Z'::timestamptz$$,
    $$id NOT BETWEEN '2026-01-01 01:00Z'::timestamptz AND '2026-01-03Z'::timestamptz$$,
    -- times within 4 ms, and others than timestamptz
    $$id BETWEEN '2026-01-02 00:00:00.001Z'::timestamptz AND '2026-01-02 00:00:04.001Z'::timestamptz$$,
    $$id BETWEEN '2026-01-01 23:59:59.999999Z'::timestamptz AND '2026-01-02 00:00:03.999999Z'::timestamptz$$,
    $$id > '2026-01-02 00:00:00.003999Z'::timestamptz AND id <= '2026-01-02 00:01Z'::timestamptz$$,
    $$id BETWEEN '2026-01-02'::date AND '2026-01-03'::date$$,
    $$id > '2026-01-02 12:00'::timestamp$$,
    -- the ends of the epoch
    $$id BETWEEN '-infinity'::timestamptz AND 'infinity'::timestamptz$$,
    $$id <= '2009-12-31Z'::timestamptz$$,
    $$id > '2080-01-01Z'::timestamptz$$,
    $$id > NULL::timestamptz$$,
    -- known when the query runs
    $$id <= now()$$,
    $$id > now() - interval '1 hour'$$,
    $$id BETWEEN '2026-01-03 00:00Z'::timestamptz AND now()$$,
    $$id BETWEEN (SELECT '2026-01-02Z'::timestamptz) AND (SELECT '2026-01-02 01:00Z'::timestamptz)$$
]) WITH ORDINALITY list(condition, place), beside(condition) b
ORDER BY place;

-- A text is an ID, with a HINT if it is like a time.
SELECT answer($$SELECT id FROM s WHERE id >= '2026-01-02'$$);
-- Parameters are of the type that they have on the other side, so of sno; with their type they are times.
PREPARE untyped AS SELECT id FROM s WHERE id <= $1;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
SET plan_cache_mode = force_generic_plan;
PREPARE s_hour (timestamptz) AS SELECT id FROM s WHERE id > $1 AND id <= $1 + interval '1 hour';
PREPARE t_hour (timestamptz) AS SELECT id FROM t WHERE id > $1 AND id <= $1 + interval '1 hour';
EXPLAIN (COSTS OFF) EXECUTE s_hour ('2026-01-02Z');
EXPLAIN (COSTS OFF) EXECUTE t_hour ('2026-01-02Z');
RESET plan_cache_mode;

-- BRIN, and a join by time.
CREATE INDEX s_brin ON s USING brin (id);
BEGIN;
ALTER TABLE s DROP CONSTRAINT s_pkey;
SET LOCAL enable_bitmapscan = on;
EXPLAIN (COSTS OFF) SELECT id FROM s WHERE id BETWEEN '2026-01-02Z'::timestamptz AND '2026-01-02 01:00Z'::timestamptz;
SELECT count(*) FROM s WHERE id BETWEEN '2026-01-02Z'::timestamptz AND '2026-01-02 01:00Z'::timestamptz;
ROLLBACK;
RESET enable_seqscan;
CREATE TABLE days AS SELECT day, day + interval '1 hour' AS until FROM generate_series('2026-01-01Z'::timestamptz, '2026-01-02Z', '1 day') day;
EXPLAIN (COSTS OFF) SELECT * FROM days JOIN s ON id > day AND until >= id;
SELECT day, count(*), min(sno_time(id)), max(sno_time(id)) FROM days JOIN s ON id > day AND until >= id GROUP BY day ORDER BY day;
-- A view with a security barrier: conditions go down into it, since nothing in them can leak a row.
CREATE VIEW barrier WITH (security_barrier) AS SELECT id FROM s WHERE sno_metabyte(id) < 200;
EXPLAIN (COSTS OFF) SELECT id FROM barrier WHERE id BETWEEN '2026-01-02Z'::timestamptz AND now() AND sno_metabyte(id) > 3 AND sno_sequence(id) > 7 AND NOT sno_tick_tock(id);

DROP VIEW barrier;
DROP TABLE s, t, days;
DROP FUNCTION measure, beside;
