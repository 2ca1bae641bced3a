SELECT tgname::text AS name, nspname::text AS schema, relname::text AS "table", pg_get_triggerdef(t.oid) AS definition,
    tgenabled::text AS enabled, obj_description(t.oid, 'pg_trigger') AS comment
FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid JOIN pg_namespace n ON n.oid = relnamespace WHERE t.oid = $1
