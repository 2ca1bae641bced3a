SELECT current_user::text AS user, current_database()::text AS database, ARRAY(
           SELECT nspname::text FROM unnest($2::text[]) WITH ORDINALITY u(shown, n)
           JOIN pg_namespace ON nspname = CASE shown WHEN '$user' THEN current_user ELSE shown END ORDER BY n) AS path,
       current_setting('server_version_num')::integer AS version,
       (SELECT nspname::text FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
           WHERE extname = 'sno') AS sno,
       -- All of its forms with defaults.
       (SELECT bool_and(has_function_privilege('public', p.oid, 'EXECUTE')) FROM pg_proc p JOIN pg_extension e
           ON pronamespace = extnamespace AND extname = 'sno' WHERE proname = 'sno_new'
           AND pronargs = pronargdefaults) AS all_can_generate,
       (SELECT format('%I.sno', nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
           WHERE extname = 'sno') AS sno_type,
       (SELECT nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
           WHERE relname = 'sno_move_plan' AND relkind = 'r' AND relowner = current_user::regrole
           LIMIT 1) AS under_way,
       ARRAY(SELECT evtname::text FROM pg_event_trigger e WHERE evtenabled <> 'D' AND NOT EXISTS (
           SELECT FROM pg_depend d WHERE d.classid = 'pg_event_trigger'::regclass
               AND d.objid = e.oid AND d.deptype = 'e')) AS event_triggers,
       ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace <> 'pg_catalog'::regnamespace
           UNION SELECT conname::text FROM pg_constraint WHERE connamespace <> 'pg_catalog'::regnamespace
           UNION SELECT proname::text FROM pg_proc WHERE pronamespace <> 'pg_catalog'::regnamespace
               AND pronargs = 0) AS taken,
       (SELECT nspname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
           JOIN pg_roles f ON f.oid = proowner
           WHERE proname = $1::text AND nspname = ANY ($2) AND (rolsuper OR rolname = current_user)
           ORDER BY array_position($2, nspname::text) LIMIT 1) AS value_schema
