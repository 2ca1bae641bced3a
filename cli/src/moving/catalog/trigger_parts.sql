WITH RECURSIVE part AS (SELECT oid, tgrelid, tgenabled, 1 AS level FROM pg_trigger WHERE tgparentid = $1
    UNION ALL SELECT t.oid, t.tgrelid, t.tgenabled, level + 1 FROM part JOIN pg_trigger t ON tgparentid = part.oid)
SELECT nspname::text AS schema, relname::text AS "table", tgenabled::text AS enabled
FROM part JOIN pg_class c ON c.oid = tgrelid JOIN pg_namespace n ON n.oid = relnamespace ORDER BY level, c.oid
