SELECT i.indexrelid AS oid, indrelid AS rel, n.nspname::text AS schema, c.relname::text AS name,
    c.relkind::text AS kind, amname::text AS method, indisunique AS is_unique,
       indisvalid AND indisready AS is_valid, indisclustered AS is_clustered, indisreplident AS is_replica_identity,
       (SELECT inhparent FROM pg_inherits WHERE inhrelid = i.indexrelid) AS parent, conname::text AS constraint_name,
           contype::text AS constraint_type,
       concat(CASE WHEN condeferrable THEN ' DEFERRABLE' END, CASE
           WHEN condeferred THEN ' INITIALLY DEFERRED' END) AS deferrable,
       pg_get_constraintdef(k.oid) AS constraint_definition, obj_description(k.oid,
           'pg_constraint') AS constraint_comment, obj_description(i.indexrelid, 'pg_class') AS comment,
       CASE WHEN indpred IS NULL THEN tail ELSE left(tail, length(tail) - length(' WHERE ' || pg_get_expr(indpred,
           indrelid))) END AS definition,
       pg_get_expr(indpred, indrelid) AS condition, (SELECT spcname::text FROM pg_tablespace
           WHERE oid = c.reltablespace) AS tablespace,
       ARRAY(SELECT DISTINCT n FROM (
           SELECT unnest(indkey::int2[]) UNION SELECT refobjsubid::int2 FROM pg_depend
               WHERE classid = 'pg_class'::regclass AND objid = i.indexrelid AND refobjid = indrelid
           UNION SELECT d.refobjsubid::int2 FROM pg_depend d WHERE d.classid = 'pg_constraint'::regclass
               AND d.objid = k.oid AND d.refobjid = indrelid) u(n) WHERE n > 0) AS columns,
       (indkey::int2[])[0:indnkeyatts - 1] AS keys, coalesce((indkey::int2[])[indnkeyatts:], '{}') AS included,
       ARRAY(SELECT indkey[n] FROM generate_series(0, indnkeyatts - 1) n LEFT JOIN pg_opclass o ON o.oid = indclass[n]
             LEFT JOIN pg_attribute a ON attrelid = indrelid AND attnum = indkey[n] LEFT
                 JOIN pg_type t ON t.oid = atttypid
             WHERE indkey[n] > 0 AND (NOT opcdefault OR indcollation[n] <> 0
                 AND indcollation[n] <> attcollation)) AS special,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = i.indexrelid AND attstattarget >= 0) AS statistics,
       EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = i.indexrelid
           AND deptype = 'x') AS needs_extension
FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
    JOIN pg_am ON pg_am.oid = relam
LEFT JOIN pg_constraint k ON conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u', 'x')
JOIN pg_class r ON r.oid = indrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
-- By the length of what comes before it, since a name can contain anything.
CROSS JOIN LATERAL (SELECT substr(pg_get_indexdef(i.indexrelid), 1 + length(concat('CREATE ', CASE
    WHEN indisunique THEN 'UNIQUE ' END, 'INDEX ', quote_ident(c.relname), ' ON ',
    CASE c.relkind WHEN 'I' THEN 'ONLY ' END, quote_ident(rn.nspname), '.', quote_ident(r.relname), ' ')))) s(tail)
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast' AND r.relkind IN ('r', 'p')
ORDER BY i.indexrelid
