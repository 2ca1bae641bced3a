-- Tables and their partitions, but for those of extensions.
SELECT c.oid, ARRAY[nspname, relname]::text[] AS name, relkind::text AS kind, root.oid AS root,
    CASE WHEN relispartition THEN (SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid) END AS parent,
    CASE WHEN relispartition THEN (SELECT level FROM pg_partition_tree(root.oid) WHERE relid = c.oid)
        ELSE 0 END AS level,
    greatest(reltuples, 0)::bigint AS rows,
    EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal) AS has_triggers
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
CROSS JOIN LATERAL (SELECT CASE WHEN relispartition THEN pg_partition_root(c.oid)::oid ELSE c.oid END AS oid) root
WHERE relkind IN ('r', 'p', 'f') AND relpersistence <> 't' AND nspname NOT IN ('pg_catalog', 'information_schema')
    AND nspname !~ '^pg_toast'
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
ORDER BY c.oid
