-- Runs a statement for the rows of a table in batches, in the order of a key: $1 and $2 in it are the first and the
-- last key of one, as texts.
DECLARE
    of CONSTANT regclass := {table};
    key CONSTANT text := {key};
    type CONSTANT text := {type};
    statement CONSTANT text := {statement};
    batch CONSTANT integer := 1000;
    which CONSTANT text := of || '.' || key;
    began CONSTANT timestamptz := clock_timestamp();
    since text;
    until text;
    stop text;
    done bigint;
    rows bigint;
    at_first bigint;
BEGIN
    EXECUTE format('SELECT count(*), (SELECT t.%1$s::text FROM %2$s t ORDER BY t.%1$s LIMIT 1),
        (SELECT t.%1$s::text FROM %2$s t ORDER BY t.%1$s DESC LIMIT 1) FROM %2$s', key, of)
    INTO rows, since, stop;
    SELECT p.done, last INTO at_first, until FROM {progress} p WHERE part = which
        AND last IS NOT NULL;  -- where an earlier run was interrupted
    since := coalesce(until, since);
    at_first := coalesce(at_first, 0);
    done := at_first;
    WHILE since IS NOT NULL LOOP
        EXECUTE format('SELECT b.%1$s::text FROM (SELECT %1$s FROM %2$s t WHERE t.%1$s >= $1::%3$s
            AND t.%1$s <= $2::%3$s ORDER BY t.%1$s LIMIT $3) b ORDER BY b.%1$s DESC LIMIT 1', key, of, type)
        INTO until USING since, stop, batch;
        EXIT WHEN until IS NULL;
        SET LOCAL lock_timeout = '500ms';  -- The batch has locks that others wait for.
        EXECUTE statement USING since, until;
        -- Triggers that wait for the COMMIT search as the statement has set; nothing after them does.
        SET CONSTRAINTS ALL IMMEDIATE;
        SET LOCAL search_path = pg_catalog, pg_temp;
        done := least(done + batch, rows);
        EXECUTE format('SELECT t.%1$s::text FROM %2$s t WHERE t.%1$s > $1::%3$s AND t.%1$s <= $2::%3$s
            ORDER BY t.%1$s LIMIT 1', key, of, type) INTO since USING until, stop;
        {report}
        COMMIT;
    END LOOP;
END
