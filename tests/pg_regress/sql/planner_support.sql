-- Conditions with a time become conditions with an ID in two ways: by planner support, and where that does not apply by the SQL
-- bodies of the functions. Here it is planner support alone, since functions with a SET clause are not inlined.
CREATE TABLE supported (id sno PRIMARY KEY);
INSERT INTO supported SELECT sno_make('2026-01-01Z'::timestamptz + n * interval '1 h', 0, 1, 0) FROM generate_series(0, 999) n;
ANALYZE supported;

BEGIN;
DO $$
DECLARE
    function regprocedure;
BEGIN
    FOR function IN SELECT oid FROM pg_proc WHERE prosupport::text LIKE 'sno\_%' LOOP
        EXECUTE format('ALTER FUNCTION %s SET work_mem = ''4MB''', function);
    END LOOP;
END $$;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL plan_cache_mode = force_generic_plan;
PREPARE since(timestamptz) AS SELECT count(*) FROM supported WHERE id >= $1;
PREPARE before(timestamptz) AS SELECT count(*) FROM supported WHERE $1 > id;
PREPARE within(timestamptz, timestamptz) AS SELECT count(*) FROM supported WHERE sno_between(id, $1, $2);
EXPLAIN (COSTS off) EXECUTE since('2026-01-02Z');
EXPLAIN (COSTS off) EXECUTE before('2026-01-02Z');
EXPLAIN (COSTS off) EXECUTE within('2026-01-02Z', '2026-01-03Z');
EXECUTE since('2026-01-02Z');
EXECUTE before('2026-01-02Z');
EXECUTE within('2026-01-02Z', '2026-01-03Z');
ROLLBACK;
DEALLOCATE ALL;
DROP TABLE supported;
