-- Of a materialized view, with which it goes away.
SELECT '' AS "drop", '' AS before, pg_get_indexdef(indexrelid) AS definition, concat(E';\n',
        CASE WHEN indisclustered THEN format(E'ALTER TABLE %s CLUSTER ON %I;\n', indrelid::regclass, relname) END,
        format('COMMENT ON INDEX %s IS ', indexrelid::regclass)
            || quote_literal(obj_description(indexrelid, 'pg_class')) || E';\n') AS after
FROM pg_index JOIN pg_class i ON i.oid = indexrelid WHERE indexrelid = $1
