-- The same page by page, which needs no index.
DECLARE
    batch CONSTANT integer := 20;
    began CONSTANT timestamptz := clock_timestamp();
    leaf regclass;
    page bigint;
    stop bigint;
    at_first bigint;
BEGIN
    FOR leaf IN SELECT oid FROM pg_class WHERE oid = {table}::regclass AND relkind = 'r' UNION ALL SELECT relid
        FROM pg_partition_tree({table}) WHERE isleaf AND relid <> {table}::regclass LOOP
        stop := pg_relation_size(leaf) / current_setting('block_size')::bigint;
        at_first := coalesce((SELECT last::bigint FROM {progress} WHERE part = leaf::text),
            0);  -- where an earlier run was interrupted
        page := at_first;
        WHILE page < stop LOOP
            SET LOCAL lock_timeout = '500ms';  -- The batch has locks that others wait for.
            EXECUTE 'UPDATE ' || leaf::text || {update}
            USING format('(%s,0)', page)::tid, format('(%s,0)', page + batch)::tid;
            -- Triggers that wait for the COMMIT search as the statement has set; nothing after them does.
            SET CONSTRAINTS ALL IMMEDIATE;
            SET LOCAL search_path = pg_catalog, pg_temp;
            page := least(page + batch, stop);
            {report}
            COMMIT;
        END LOOP;
    END LOOP;
END
