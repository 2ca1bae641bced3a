SELECT nspname::text AS schema, relname::text AS "table", attname::text AS name, pg_get_expr(adbin,
    adrelid) AS expression, attgenerated <> '' AS is_generated
FROM pg_attrdef f JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum JOIN pg_class c ON c.oid = adrelid
    JOIN pg_namespace n ON n.oid = relnamespace WHERE f.oid = $1
