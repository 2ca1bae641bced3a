SELECT current_user AS user, current_database() AS database, ARRAY(
        SELECT nspname FROM unnest($2::text[]) WITH ORDINALITY u(shown, n)
        JOIN pg_namespace ON nspname = CASE shown WHEN '$user' THEN current_user ELSE shown END ORDER BY n) AS path,
    current_setting('server_version_num')::integer AS version, sno.nspname AS sno,
    quote_ident(sno.nspname) || '.sno' AS sno_type,
    -- All of its forms with defaults.
    (SELECT bool_and(has_function_privilege('public', oid, 'EXECUTE')) FROM pg_proc
        WHERE pronamespace = sno.oid AND proname = 'sno_new' AND pronargs = pronargdefaults) AS all_can_generate,
    ({plan}) AS under_way,
    ARRAY(SELECT relname FROM pg_class WHERE relnamespace <> 'pg_catalog'::regnamespace
        UNION SELECT conname FROM pg_constraint WHERE connamespace <> 'pg_catalog'::regnamespace
        UNION SELECT proname FROM pg_proc WHERE pronamespace <> 'pg_catalog'::regnamespace AND pronargs = 0) AS taken,
    (SELECT nspname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace JOIN pg_roles f ON f.oid = proowner
        WHERE proname = $1::text AND nspname = ANY ($2) AND (rolsuper OR rolname = current_user)
        ORDER BY array_position($2, nspname::text) LIMIT 1) AS value_schema
FROM (SELECT) one LEFT JOIN (SELECT n.* FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
    WHERE extname = 'sno') sno ON true
