-- Row estimates and costs wherever conditions may stand, beside those of a timestamptz for the same query.
--
-- A query is written once: e is the table, id its key, and at(…) a bound, which is sno_lower(…) on one table and the time itself on
-- the other. Compared are the rows expected of the scan of e and the cost of the plan, first with all plans allowed, then with
-- index scans only. good: within 3 of timestamptz's. Where timestamptz's rows are further from the truth than 3, ours may be
-- anything that is closer to it. One cost need not be good: a clause below OR is estimated by itself, also where a partial
-- index is used for it whose predicate is the other bound.

CREATE TABLE es (id sno PRIMARY KEY, n integer, v integer);
CREATE TABLE et (id timestamptz PRIMARY KEY, n integer, v integer);
INSERT INTO es SELECT sno_make('2026-01-01 00:00Z'::timestamptz + k * interval '10 s', 0, 42 << 8, 0), k % 1000, k
    FROM generate_series(0, 199999) k;
INSERT INTO et SELECT sno_time(id), n, v FROM es;
CREATE FUNCTION at(timestamptz) RETURNS timestamptz LANGUAGE SQL IMMUTABLE RETURN $1;
CREATE TABLE big AS SELECT k AS k, k % 10 AS v, '2026-01-13Z'::timestamptz + k * interval '1 s' AS since FROM generate_series(0, 9999) k;
CREATE TABLE small AS SELECT * FROM big WHERE k % 1000 = 0;
-- Predicates: from a time on, before a time, a day; for indexes of the key and of another column.
CREATE INDEX es_from ON es (n, id) WHERE id >= sno_lower('2026-01-13Z');
CREATE INDEX et_from ON et (n, id) WHERE id >= '2026-01-13Z'::timestamptz;
CREATE INDEX es_since ON es (id) WHERE id >= sno_lower('2026-01-13Z');
CREATE INDEX et_since ON et (id) WHERE id >= '2026-01-13Z'::timestamptz;
CREATE INDEX es_before ON es (id, n) WHERE id < sno_lower('2026-01-14 00:00Z');
CREATE INDEX et_before ON et (id, n) WHERE id < '2026-01-14 00:00Z'::timestamptz;
CREATE INDEX es_day ON es (n) WHERE id >= sno_lower('2026-01-10Z') AND id < sno_lower('2026-01-11Z');
CREATE INDEX et_day ON et (n) WHERE id >= '2026-01-10Z'::timestamptz AND id < '2026-01-11Z'::timestamptz;
VACUUM ANALYZE es, et, big, small;

-- Rows of the scan of a table, as expected and as they were, and the cost of the plan.
CREATE FUNCTION measure(query text, tab text, OUT rows numeric, OUT actual numeric, OUT cost numeric) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    cost := plan->0->'Plan'->>'Total Cost';
    WITH RECURSIVE nodes AS (
        SELECT (plan->0->'Plan')::jsonb AS node
        UNION ALL SELECT jsonb_array_elements(node->'Plans') FROM nodes
    )
    SELECT sum((node->>'Plan Rows')::numeric) INTO rows FROM nodes WHERE node->>'Relation Name' = tab;
    EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO actual;
END
$$;
CREATE FUNCTION off(a numeric, b numeric) RETURNS numeric LANGUAGE SQL IMMUTABLE
    RETURN greatest(a, b, 1) / greatest(least(a, b), 1);
CREATE FUNCTION beside(query text, OUT rows text, OUT cost text) LANGUAGE plpgsql AS $$
DECLARE
    ours record;
    theirs record;
    better boolean;
BEGIN
    SELECT * INTO ours FROM measure(replace(regexp_replace(query, '\me\M', 'es', 'g'), 'at(', 'sno_lower('), 'es');
    SELECT * INTO theirs FROM measure(regexp_replace(query, '\me\M', 'et', 'g'), 'et');
    better := off(theirs.rows, ours.actual) > 3 AND off(ours.rows, ours.actual) < off(theirs.rows, ours.actual);
    rows := CASE WHEN better OR off(ours.rows, theirs.rows) <= 3 THEN 'good'
        ELSE format('%s, timestamptz %s, in truth %s', ours.rows, theirs.rows, ours.actual) END;
    cost := CASE WHEN better OR off(ours.cost, theirs.cost) <= 3 THEN 'good' ELSE 'not good' END;
END
$$;

CREATE TABLE queries (number serial, condition text);
INSERT INTO queries (condition) VALUES
    -- a day, half an hour; in either order; with the operands the other way round
    ($$id >= at('2026-01-13Z') AND id < at('2026-01-14Z')$$),
    ($$id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')$$),
    ($$id < at('2026-01-13 00:30Z') AND id >= at('2026-01-13Z')$$),
    ($$at('2026-01-13 00:30Z') > id AND at('2026-01-13Z') <= id$$),
    ($$id BETWEEN at('2026-01-13Z') AND at('2026-01-13 00:30Z')$$),
    -- the operators with a time, which are the same on both tables
    ($$id BETWEEN '2026-01-13Z'::timestamptz AND '2026-01-13 00:30Z'::timestamptz$$),
    ($$id > '2026-01-13Z'::timestamptz AND '2026-01-13 00:30Z'::timestamptz >= id AND id <= '2026-01-15Z'::timestamptz$$),
    ($$id NOT BETWEEN '2026-01-01 00:30Z'::timestamptz AND '2026-01-23Z'::timestamptz$$),
    ($$id BETWEEN '2026-01-13Z'::timestamptz AND (SELECT '2026-01-13 00:30Z'::timestamptz)$$),
    ($$id > '2026-01-23Z'::timestamptz AND id <= now()$$),
    ($$id > '2026-01-23Z'::timestamptz AND id <= clock_timestamp()$$),
    ($$(id BETWEEN '2026-01-13Z'::timestamptz AND '2026-01-13 00:30Z'::timestamptz AND n < 500) OR (id > '2026-01-14Z'::timestamptz AND id <= '2026-01-14 00:30Z'::timestamptz AND v > 5)$$),
    ($$n = 5 AND id > '2026-01-13Z'::timestamptz AND id <= '2026-01-13 00:30Z'::timestamptz$$),
    ($$n < 30 AND id BETWEEN '2026-01-10 23:30Z'::timestamptz AND '2026-01-10 23:59Z'::timestamptz$$),
    -- some of them redundant, unknown, impossible
    ($$id >= at('2026-01-12Z') AND id >= at('2026-01-13Z') AND id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z') AND id < at('2026-01-14Z')$$),
    ($$id >= at('2026-01-13Z') AND id < at((SELECT '2026-01-13 00:30Z'::timestamptz))$$),
    ($$id >= at((SELECT '2026-01-13Z'::timestamptz)) AND id < at((SELECT '2026-01-13 00:30Z'::timestamptz))$$),
    ($$id >= at('2026-01-23Z') AND id >= at((SELECT '2026-01-13Z'::timestamptz)) AND id < at(now())$$),
    ($$id >= at('2026-01-14Z') AND id < at('2026-01-13Z')$$),
    -- known at execution only: now() and parameters are taken as they are, volatile functions can't be known
    ($$id >= at('2026-01-13Z') AND id < at(now())$$),
    ($$id < at(clock_timestamp()) AND id >= at('2026-01-03Z')$$),
    ($$id >= at('2026-01-03Z') AND id < at(clock_timestamp())$$),
    ($$id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z') AND id < at(clock_timestamp())$$),
    -- below IS NOT TRUE, NOT, OR
    ($$(id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')) IS NOT TRUE$$),
    ($$NOT (id < at('2026-01-13Z') OR id >= at('2026-01-13 00:30Z'))$$),
    ($$(id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')) OR (id >= at('2026-01-14Z') AND id < at('2026-01-14 00:30Z'))$$),
    ($$(id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z') AND n < 500) OR (id >= at('2026-01-14Z') AND id < at('2026-01-14 00:30Z') AND v > 5)$$),
    ($$id >= at('2026-01-13Z') AND (id < at('2026-01-13 00:30Z') OR n = 3)$$),
    ($$((id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')) OR n = 3) AND v > 0$$),
    ($$CASE WHEN id >= at('2026-01-13Z') THEN id < at('2026-01-13 00:30Z') ELSE false END$$),
    ($$COALESCE(id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z'), false)$$),
    -- the predicates of partial indexes: equal, wider, of other columns
    ($$n = 5 AND id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')$$),
    ($$n = 5 AND id < at('2026-01-14Z') AND id >= at('2026-01-13Z')$$),
    ($$id < at('2026-01-14 00:00Z') AND id >= at('2026-01-13 23:30Z')$$),
    ($$id >= at('2026-01-13 23:30Z') AND id < at('2026-01-14 00:00Z') AND n < 900$$),
    ($$id >= at('2026-01-10Z') AND id < at('2026-01-11Z') AND n = 3$$),
    ($$n = 3 AND id < at('2026-01-10 00:30Z') AND id >= at('2026-01-10Z')$$),
    ($$n < 30 AND id >= at('2026-01-10 23:30Z') AND id < at('2026-01-11Z')$$);

SELECT condition, rows, cost FROM queries, beside('SELECT FROM e WHERE ' || condition)
WHERE rows <> 'good' OR cost <> 'good' AND condition !~ '\(id < .* OR n = 3\)' ORDER BY number;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT condition, rows, cost FROM queries, beside('SELECT FROM e WHERE ' || condition)
WHERE rows <> 'good' OR cost <> 'good' AND condition !~ '\(id < .* OR n = 3\)' ORDER BY number;
RESET ALL;

-- Whole queries: joins, groups, subqueries.
CREATE TABLE whole (number serial, query text);
INSERT INTO whole (query) VALUES
    ($$SELECT FROM e JOIN big ON big.k = e.n WHERE (e.id >= at('2026-01-13Z') AND e.id < at('2026-01-13 00:30Z') AND big.v = 1)
        OR (e.id >= at('2026-01-14Z') AND e.id < at('2026-01-14 00:30Z') AND big.v = 2)$$),
    ($$SELECT FROM e JOIN big ON big.k = e.n WHERE e.id < at('2026-01-15Z') AND ((e.id >= at('2026-01-13Z') AND e.id < at('2026-01-13 00:30Z') AND big.v = 1)
        OR (e.id >= at('2026-01-14Z') AND big.v = 2))$$),
    ($$SELECT FROM e JOIN small ON e.id >= at(small.since) AND e.id < at(small.since + interval '30 min')$$),
    ($$SELECT FROM e JOIN small ON e.id BETWEEN small.since AND small.since + interval '30 min'$$),
    ($$SELECT FROM e JOIN small ON e.id > small.since WHERE e.id <= '2026-01-13 00:30Z'::timestamptz$$),
    ($$SELECT FROM e JOIN small ON e.id >= at(small.since) WHERE e.id < at('2026-01-13 00:30Z')$$),
    ($$SELECT FROM e JOIN small ON e.id < at(small.since) WHERE e.id >= at('2026-01-12 23:30Z')$$),
    ($$SELECT FROM small LEFT JOIN e ON e.n = small.k AND e.id >= at('2026-01-13Z') AND e.id < at('2026-01-13 00:30Z')$$),
    ($$SELECT FROM e LEFT JOIN small ON e.n = small.k AND e.id >= at('2026-01-13Z') AND e.id < at('2026-01-13 00:30Z')$$),
    ($$SELECT FROM small WHERE EXISTS (SELECT FROM e WHERE e.n = small.k AND e.id < at('2026-01-13 00:30Z') AND e.id >= at('2026-01-13Z'))$$),
    ($$SELECT FROM small WHERE NOT EXISTS (SELECT FROM e WHERE e.n = small.k AND e.id < at('2026-01-13 00:30Z') AND e.id >= at('2026-01-13Z'))$$),
    ($$SELECT FROM (SELECT * FROM e OFFSET 0) q WHERE id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')$$),
    ($$WITH q AS MATERIALIZED (SELECT * FROM e) SELECT FROM q WHERE id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')$$),
    ($$SELECT FROM (SELECT id, n FROM e UNION ALL SELECT id, v FROM e) q WHERE id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z')$$),
    ($$SELECT FROM e GROUP BY n HAVING max(id) >= at('2026-01-13Z') AND max(id) < at('2026-01-13 00:30Z')$$),
    ($$SELECT FROM e WHERE id >= at('2026-01-13Z') AND id < at('2026-01-13 00:30Z') GROUP BY n HAVING max(id) >= at('2026-01-13Z')$$);
SELECT query, rows, cost FROM whole, beside(query) WHERE rows <> 'good' OR cost <> 'good' ORDER BY number;

-- A role that may see some rows only is shown no statistics by functions that are not leakproof.
CREATE ROLE regress_sno_some;
GRANT SELECT ON es, et, queries TO regress_sno_some;
ALTER TABLE es ENABLE ROW LEVEL SECURITY;
ALTER TABLE et ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON es USING (n < 1000);
CREATE POLICY visible ON et USING (n < 1000);
SET ROLE regress_sno_some;
SELECT condition, rows, cost FROM queries, beside('SELECT FROM e WHERE ' || condition)
WHERE (rows <> 'good' OR cost <> 'good') AND condition !~ 'clock|CASE|COALESCE|OR n = 3' ORDER BY number;
RESET ROLE;
BEGIN;
ALTER FUNCTION sno_internal.sno_lt NOT LEAKPROOF;
ALTER FUNCTION sno_internal.sno_ge NOT LEAKPROOF;
ALTER FUNCTION timestamptz_lt NOT LEAKPROOF;
ALTER FUNCTION timestamptz_ge NOT LEAKPROOF;
SET LOCAL ROLE regress_sno_some;
SELECT rows, cost FROM beside($$SELECT FROM e WHERE id >= at('2026-01-22Z')$$);
ROLLBACK;

DROP TABLE es, et, big, small, queries, whole;
DROP ROLE regress_sno_some;
DROP FUNCTION at, measure, off, beside;
