SELECT polname::text AS name, nspname::text AS schema, relname::text AS "table", polpermissive AS is_permissive,
    polcmd::text AS command,
       ARRAY(SELECT CASE role WHEN 0 THEN NULL ELSE pg_get_userbyid(role)::text END
           FROM unnest(polroles) role) AS roles,
       pg_get_expr(polqual, polrelid) AS condition, pg_get_expr(polwithcheck, polrelid) AS "check",
           obj_description(p.oid, 'pg_policy') AS comment
FROM pg_policy p JOIN pg_class c ON c.oid = polrelid JOIN pg_namespace n ON n.oid = relnamespace WHERE p.oid = $1
