SELECT conname::text AS name, nspname::text AS schema, relname::text AS "table",
    regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '') AS definition, convalidated AS is_validated,
       obj_description(k.oid, 'pg_constraint') AS comment
FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid JOIN pg_namespace n ON n.oid = relnamespace
    WHERE k.oid = $1 AND contype = 'c'
