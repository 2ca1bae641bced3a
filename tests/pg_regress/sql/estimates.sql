-- Row estimates: as good as those of a timestamptz, whose conditions run beside.

CREATE TABLE s (id sno PRIMARY KEY);
CREATE TABLE t (id timestamptz PRIMARY KEY);
-- One row in 10 s, all of which ANALYZE looks at: about 40 minutes to a bucket of the histogram.
INSERT INTO s SELECT sno_make('2026-01-01 00:00Z'::timestamptz + n * interval '10 s', n % 256, 42 << 8, 0)
    FROM generate_series(0, 24999) n;
INSERT INTO t SELECT sno_time(id) FROM s;
VACUUM ANALYZE s, t;
-- In order, in time, unique.
SELECT correlation, n_distinct, null_frac, array_length(bounds, 1), sno_time(bounds[1]), sno_time(bounds[101])
FROM pg_stats, CAST(histogram_bounds::text AS sno[]) bounds WHERE tablename = 's';

CREATE FUNCTION estimate(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan->0->'Plan'->'Plan Rows';
END
$$;
-- Conditions that mean the same on both; good: within 1.5 of the truth or of timestamptz.
CREATE FUNCTION judge(condition text, OUT rows bigint, OUT "of sno is" text) LANGUAGE plpgsql AS $$
DECLARE
    ours bigint := estimate('SELECT FROM s WHERE ' || condition);
    other bigint := estimate('SELECT FROM t WHERE ' || replace(condition, 'sno_between(id, ', 'between_times(id, '));
BEGIN
    EXECUTE 'SELECT count(*) FROM s WHERE ' || condition INTO rows;
    "of sno is" := CASE WHEN greatest(rows, 1) / 1.5 <= ours AND ours <= greatest(rows, 1) * 1.5 THEN 'true'
        WHEN other / 1.5 <= ours AND ours <= other * 1.5 THEN 'as for timestamptz'
        ELSE format('%s, for timestamptz %s', ours, other) END;
END
$$;
CREATE FUNCTION between_times(id timestamptz, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE RETURN id >= since AND id < until;

SELECT condition, judge.* FROM unnest(ARRAY[
    $$id >= '2026-01-02 00:00Z'::timestamptz$$,
    $$id < '2026-01-02 00:00Z'::timestamptz$$,
    $$'2026-01-02 00:00Z'::timestamptz <= id$$,
    $$'2026-01-02 00:00Z'::timestamptz > id$$,
    $$id <= '2026-01-02 00:00Z'::timestamptz$$,
    $$id > '2026-01-02 00:00Z'::timestamptz$$,
    $$'2026-01-02 00:00Z'::timestamptz >= id$$,
    $$'2026-01-02 00:00Z'::timestamptz < id$$,
    $$id BETWEEN '2026-01-02 00:00Z'::timestamptz AND '2026-01-02 00:10Z'::timestamptz$$,
    $$id BETWEEN '2026-01-02 00:00Z'::timestamptz AND '2026-01-02 00:00Z'::timestamptz$$,
    $$id > '2026-01-02 00:00Z'::timestamptz AND id <= '2026-01-02 00:10Z'::timestamptz$$,
    $$id > '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-02 00:10Z'::timestamptz$$,
    $$id NOT BETWEEN '2026-01-02 00:00Z'::timestamptz AND '2026-01-02 00:10Z'::timestamptz$$,
    $$id BETWEEN '2026-01-03 20:00Z'::timestamptz AND '2026-01-03 20:10Z'::timestamptz$$,
    $$id BETWEEN '-infinity'::timestamptz AND 'infinity'::timestamptz$$,
    $$id <= '2025-01-01 00:00Z'::timestamptz$$,
    $$id > '2027-01-01 00:00Z'::timestamptz$$,
    $$id BETWEEN '2026-01-02 00:00Z'::timestamptz AND now()$$,
    $$id BETWEEN (SELECT '2026-01-02 00:00Z'::timestamptz) AND (SELECT '2026-01-02 00:10Z'::timestamptz)$$,
    -- a day, an hour, ten minutes
    $$id >= '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-03 00:00Z'::timestamptz$$,
    $$id >= '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-02 01:00Z'::timestamptz$$,
    $$id < '2026-01-02 00:10Z'::timestamptz AND id >= '2026-01-02 00:00Z'::timestamptz$$,
    $$sno_between(id, '2026-01-02 00:00Z', '2026-01-02 00:10Z')$$,
    -- redundant, empty, alternative
    $$id >= '2026-01-01 00:00Z'::timestamptz AND id >= '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-02 01:00Z'::timestamptz AND id < now()$$,
    $$id < '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-02 00:00Z'::timestamptz$$,
    $$id >= '2026-01-03 00:00Z'::timestamptz AND id >= '2026-01-03 00:00Z'::timestamptz$$,
    $$id <= '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-02 00:00Z'::timestamptz$$,
    $$id >= '2026-01-03 00:00Z'::timestamptz AND id < '2026-01-02 00:00Z'::timestamptz$$,
    $$sno_between(id, '2026-01-02 00:00Z', '2026-01-02 00:10Z') OR sno_between(id, '2026-01-03 00:00Z', '2026-01-03 00:10Z')$$,
    $$NOT sno_between(id, '2026-01-02 00:00Z', '2026-01-02 00:10Z')$$,
    -- the ends, and past them
    $$id >= '2026-01-03 20:00Z'::timestamptz$$,
    $$id >= '2026-01-03 20:26:30Z'::timestamptz$$,
    $$id >= '2026-01-03 20:00Z'::timestamptz AND id < '2026-01-03 20:10Z'::timestamptz$$,
    $$id >= '2026-01-04 00:00Z'::timestamptz$$,
    $$id >= '2026-01-04 00:00Z'::timestamptz AND id < '2026-01-04 01:00Z'::timestamptz$$,
    $$id < '2026-01-01 00:10Z'::timestamptz$$,
    $$id < '2025-01-01 00:00Z'::timestamptz$$,
    $$id >= '-infinity'::timestamptz AND id < 'infinity'::timestamptz$$,
    $$sno_between(id, '2025-12-31 00:00Z', '2026-01-01 00:10Z')$$,
    $$id < NULL::timestamptz$$,
    -- known only when the query runs, or not before
    $$id >= now() - interval '1 hour'$$,
    $$id < now() AND id >= '2026-01-02 00:00Z'::timestamptz$$,
    $$id >= (SELECT '2026-01-02 00:00Z'::timestamptz)$$,
    $$id >= (SELECT '2026-01-02 00:00Z'::timestamptz) AND id < (SELECT '2026-01-02 00:10Z'::timestamptz)$$
]) condition, judge(condition);

-- Rows that came after ANALYZE: the ends are looked up in the index.
INSERT INTO s SELECT sno_make('2026-01-03 22:00Z'::timestamptz + n * interval '10 s', 0, 42 << 8, 0) FROM generate_series(0, 359) n;
INSERT INTO t SELECT '2026-01-03 22:00Z'::timestamptz + n * interval '10 s' FROM generate_series(0, 359) n;
SELECT estimate($$SELECT FROM s WHERE id >= '2026-01-03 22:00Z'::timestamptz$$) BETWEEN
    estimate($$SELECT FROM t WHERE id >= '2026-01-03 22:00Z'::timestamptz$$) / 1.5 AND
    estimate($$SELECT FROM t WHERE id >= '2026-01-03 22:00Z'::timestamptz$$) * 1.5 AS as_for_timestamptz;

-- Under a row security policy, where statistics are shown to leakproof functions only.
CREATE ROLE regress_sno_reader;
GRANT SELECT ON s, t TO regress_sno_reader;
ALTER TABLE s ENABLE ROW LEVEL SECURITY;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON s USING (id IS NOT NULL);
CREATE POLICY all_rows ON t USING (id IS NOT NULL);
SET ROLE regress_sno_reader;
SELECT condition, judge.* FROM unnest(ARRAY[
    $$id >= '2026-01-02 00:00Z'::timestamptz AND id < '2026-01-02 01:00Z'::timestamptz$$,
    $$id >= '2026-01-03 22:00Z'::timestamptz$$,
    $$id >= '2026-01-03 20:00Z'::timestamptz AND id < now()$$,
    $$id BETWEEN '2026-01-02 00:00Z'::timestamptz AND '2026-01-02 01:00Z'::timestamptz$$
]) condition, judge(condition);
RESET ROLE;
ALTER TABLE s DISABLE ROW LEVEL SECURITY;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;

-- An operator with one operand that has this estimator, too.
CREATE FUNCTION odd(sno) RETURNS boolean LANGUAGE SQL IMMUTABLE RETURN sno_metabyte($1) % 2 = 1;
CREATE OPERATOR !!! (FUNCTION = odd, RIGHTARG = sno, RESTRICT = sno_internal.sno_ineqsel);
SELECT estimate($$SELECT FROM s WHERE !!! id AND id < '2026-01-02 00:00Z'::timestamptz$$) > 0 AS one_operand;
DROP FUNCTION odd CASCADE;

-- Conditions on sno_time(id): a time that is not known yet, and those of two tables.
CREATE VIEW v AS SELECT sno_time(id) AS at FROM s;
CREATE VIEW u AS SELECT id AS at FROM t;
SELECT query, ours BETWEEN theirs / 1.5 AND theirs * 1.5 AS as_for_timestamptz
FROM unnest(ARRAY[
    $$SELECT FROM v WHERE at = (SELECT '2026-01-02 00:00Z'::timestamptz)$$,
    $$SELECT FROM v WHERE at = (SELECT '2026-01-02 00:00Z'::timestamptz) AND at < '2026-01-03 00:00Z'$$,
    $$SELECT FROM v WHERE at >= (SELECT '2026-01-02 00:00Z'::timestamptz) AND at <= (SELECT '2026-01-03 00:00Z'::timestamptz)$$,
    $$SELECT FROM v a JOIN v b ON a.at < b.at$$,
    $$SELECT FROM v a JOIN v b ON b.at >= a.at AND b.at < a.at + interval '1 min' WHERE a.at < '2026-01-02 00:00Z'$$,
    $$SELECT FROM v a LEFT JOIN v b ON a.at > b.at$$
]) query, estimate(query) ours, estimate(regexp_replace(query, '\mv\M', 'u', 'g')) theirs;

-- (sno, sno), both inclusive or not.
SELECT n, estimate(format('SELECT FROM s WHERE id %s %L AND id %s %L', low, sno_lower('2026-01-02 00:00Z'), high, sno_lower('2026-01-02 01:00Z'))) BETWEEN 240 AND 540 AS good
FROM (VALUES (1, '>=', '<'), (2, '>', '<='), (3, '>', '<'), (4, '>=', '<=')) v(n, low, high);

-- Generic plans, and bounds from another table.
SET plan_cache_mode = force_generic_plan;
PREPARE s_one (timestamptz) AS SELECT FROM s WHERE id >= $1;
PREPARE t_one (timestamptz) AS SELECT FROM t WHERE id >= $1;
PREPARE s_two (timestamptz, timestamptz) AS SELECT FROM s WHERE id >= $1 AND id < $2;
PREPARE t_two (timestamptz, timestamptz) AS SELECT FROM t WHERE id >= $1 AND id < $2;
PREPARE s_both (timestamptz, timestamptz) AS SELECT FROM s WHERE id BETWEEN $1 AND $2;
PREPARE t_both (timestamptz, timestamptz) AS SELECT FROM t WHERE id BETWEEN $1 AND $2;
SELECT round(estimate('EXECUTE s_both (now(), now())')::numeric / estimate('EXECUTE t_both (now(), now())'), 1) AS between;
SELECT round(estimate('EXECUTE s_one (now())')::numeric / estimate('EXECUTE t_one (now())'), 1) AS one,
       round(estimate('EXECUTE s_two (now(), now())')::numeric / estimate('EXECUTE t_two (now(), now())'), 1) AS two;
RESET plan_cache_mode;
CREATE TABLE w AS SELECT '2026-01-02 00:00Z'::timestamptz + n * interval '1 hour' AS at FROM generate_series(1, 10) n;
ANALYZE w;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE FUNCTION inner_rows(tab text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT json) SELECT FROM w JOIN %I ON id >= at AND id < at + interval ''1 hour''', tab) INTO plan;
    RETURN plan->0->'Plan'->'Plans'->1->'Plan Rows';
END
$$;
-- (timestamptz's bounds are not paired here)
SELECT inner_rows('s') BETWEEN 1 AND inner_rows('t') AS nested_loop;
RESET ALL;

-- Values that are common, and nulls.
CREATE TABLE refs AS
    SELECT CASE WHEN n % 10 = 0 THEN NULL
        ELSE sno_make('2026-01-01 00:00Z'::timestamptz + least(n % 7, 3) * interval '1 hour' + (n % 7 / 6) * n * interval '1 s', 0, 0, 0) END AS id
    FROM generate_series(1, 20000) n;
ANALYZE refs;
SELECT condition, estimate('SELECT FROM refs WHERE ' || condition) BETWEEN rows / 1.5 AND rows * 1.5 AS good
FROM (VALUES
    ($$id < '2026-01-01 01:00Z'::timestamptz$$, (SELECT count(*) FROM refs WHERE id < '2026-01-01 01:00Z'::timestamptz)),
    ($$id >= '2026-01-01 01:00Z'::timestamptz$$, (SELECT count(*) FROM refs WHERE id >= '2026-01-01 01:00Z'::timestamptz)),
    ($$sno_between(id, '2026-01-01 00:30Z', '2026-01-01 02:30Z')$$, (SELECT count(*) FROM refs WHERE sno_between(id, '2026-01-01 00:30Z', '2026-01-01 02:30Z'))),
    ($$sno_between(id, '2026-01-01 04:00Z', '2026-01-01 06:00Z')$$, (SELECT count(*) FROM refs WHERE sno_between(id, '2026-01-01 04:00Z', '2026-01-01 06:00Z')))
) v(condition, rows);

-- Values that come equally often: the rows of one value count at an inclusive bound.
CREATE TABLE often AS SELECT sno_make('2026-01-01 00:00Z'::timestamptz + n % 500 * interval '1 hour', 0, 0, 0) AS id
    FROM generate_series(1, 20000) n;
ANALYZE often;
SELECT n, estimate(format('SELECT FROM often WHERE id BETWEEN %1$L AND %1$L', sno_lower('2026-01-01 00:00Z'::timestamptz + n * interval '1 hour')))
    BETWEEN 27 AND 60 AS good
FROM generate_series(50, 450, 100) n;

-- Without statistics.
CREATE TABLE unknown_s (id sno);
CREATE TABLE unknown_t (id timestamptz);
SELECT estimate('SELECT FROM unknown_s WHERE id >= now()') > 1 AS one, estimate('SELECT FROM unknown_s WHERE sno_between(id, now(), now())') >= 1 AS two;

-- Where the conditions are made up for an estimate.
SELECT count(*) FROM s WHERE id >= ANY (ARRAY[sno_lower('2026-01-02 00:00Z')]);

-- As many ranges as there are in a long list of alternatives.
SELECT estimate('SELECT FROM s WHERE ' || string_agg(format('sno_between(id, %L, %L)', at, at + interval '1 minute'), ' OR ')) BETWEEN 3000 AND 12000 AS good
FROM generate_series('2026-01-01 00:00Z'::timestamptz, '2026-01-03 20:00Z', '4 minutes') at;

DROP VIEW u, v;
DROP TABLE s, t, w, refs, often, unknown_s, unknown_t;
DROP ROLE regress_sno_reader;
DROP FUNCTION estimate, judge, between_times, inner_rows;
