SELECT nspname::text AS schema, proname::text AS name, prokind::text AS kind,
       -- Not in the place of one that is there.
       regexp_replace(rtrim(pg_get_functiondef(p.oid), E';\n'), '^CREATE OR REPLACE ', 'CREATE ') AS definition,
       p.oid::regprocedure::text AS signature,
       pg_get_userbyid(proowner)::text AS owner, pg_has_role(current_user, proowner, 'MEMBER') AS is_ours,
           obj_description(p.oid, 'pg_proc') AS comment,
       has_schema_privilege(n.oid, 'CREATE') AND (proowner = current_user::regrole OR (SELECT rolsuper FROM pg_roles
           WHERE rolname = current_user) OR has_schema_privilege(proowner, n.oid, 'CREATE')) AS can_create,
       ARRAY(SELECT privilege_type FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) x
           WHERE x.grantee <> proowner ORDER BY x.grantee) AS privileges,
       ARRAY(SELECT CASE x.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(x.grantee)::text END
           FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) x
             WHERE x.grantee <> proowner ORDER BY x.grantee) AS grantees,
       ARRAY(SELECT is_grantable FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) x
           WHERE x.grantee <> proowner ORDER BY x.grantee) AS grants,
       ARRAY(SELECT DISTINCT CASE x.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(x.grantee)::text END
           FROM pg_default_acl, aclexplode(defaclacl) x
             WHERE defaclobjtype = 'f' AND x.grantee <> proowner UNION SELECT NULL) AS revoked
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE p.oid = $1
