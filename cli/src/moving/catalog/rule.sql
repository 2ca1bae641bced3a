SELECT rulename::text AS name, nspname::text AS schema, relname::text AS "table", rtrim(pg_get_ruledef(w.oid),
    ';') AS definition, ev_enabled::text AS enabled, obj_description(w.oid, 'pg_rewrite') AS comment
FROM pg_rewrite w JOIN pg_class c ON c.oid = ev_class JOIN pg_namespace n ON n.oid = relnamespace WHERE w.oid = $1
