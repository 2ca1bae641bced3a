SELECT p.oid, p.oid::regprocedure::text AS shown, coalesce(pg_get_function_sqlbody(p.oid), prosrc) AS body,
       ARRAY(SELECT format_type(t, NULL) FROM unnest(coalesce(proallargtypes,
           proargtypes::oid[]) || prorettype) t) AS types
FROM pg_proc p JOIN pg_language l ON l.oid = prolang JOIN pg_namespace n ON n.oid = pronamespace
WHERE lanname NOT IN ('c', 'internal') AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_temp'
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
ORDER BY p.oid
