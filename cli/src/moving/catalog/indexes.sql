SELECT indexrelid AS oid, indrelid AS rel, ARRAY[n.nspname, c.relname]::text[] AS name, c.relkind::text AS kind,
    amname AS method, indisunique AS is_unique, indisreplident AS is_replica_identity,
    (SELECT inhparent FROM pg_inherits WHERE inhrelid = indexrelid) AS parent, conname AS "constraint",
    coalesce(contype::text, '') AS constraint_type,
    concat(CASE WHEN condeferrable THEN ' DEFERRABLE' END, CASE WHEN condeferred THEN ' INITIALLY DEFERRED' END)
        AS deferrable, pg_get_constraintdef(k.oid) AS constraint_definition,
    CASE WHEN indpred IS NULL THEN tail ELSE left(tail, length(tail) - length(' WHERE ' || pg_get_expr(indpred,
        indrelid))) END AS definition,
    pg_get_expr(indpred, indrelid) AS condition, (SELECT spcname FROM pg_tablespace
        WHERE oid = c.reltablespace) AS tablespace,
    ARRAY(SELECT DISTINCT n FROM (
        SELECT unnest(indkey::int2[]) UNION SELECT refobjsubid::int2 FROM pg_depend
            WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid = indrelid
        UNION SELECT d.refobjsubid::int2 FROM pg_depend d WHERE d.classid = 'pg_constraint'::regclass
            AND d.objid = k.oid AND d.refobjid = indrelid) u(n) WHERE n > 0) AS columns,
    -- What an index, or its constraint, has that is no part of its definition, as statements.
    concat(CASE WHEN indisclustered THEN format(E'ALTER TABLE %s CLUSTER ON %I;\n', indrelid::regclass, c.relname)
            END,
        CASE WHEN indisreplident THEN format(E'ALTER TABLE %s REPLICA IDENTITY USING INDEX %I;\n', indrelid::regclass,
            c.relname) END,
        format('COMMENT ON INDEX %s IS ', indexrelid::regclass)
            || quote_literal(obj_description(indexrelid, 'pg_class')) || E';\n',
        'COMMENT ON CONSTRAINT ' || quote_ident(conname) || ' ON ' || indrelid::regclass || ' IS '
            || quote_literal(obj_description(k.oid, 'pg_constraint')) || E';\n') AS state
FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
    JOIN pg_am ON pg_am.oid = relam
LEFT JOIN pg_constraint k ON conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u', 'x')
-- By the length of what comes before it, since a name can contain anything.
CROSS JOIN LATERAL (SELECT substr(pg_get_indexdef(indexrelid), 1 + length(concat('CREATE ', CASE
    WHEN indisunique THEN 'UNIQUE ' END, 'INDEX ', quote_ident(c.relname), ' ON ',
    CASE c.relkind WHEN 'I' THEN 'ONLY ' END, indrelid::regclass, ' ')))) s(tail)
WHERE indrelid = ANY ($1::oid[])
ORDER BY indexrelid
