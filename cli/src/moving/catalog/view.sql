SELECT nspname::text AS schema, relname::text AS name, relkind::text AS kind, array_to_string(reloptions,
    ', ') AS options, rtrim(pg_get_viewdef(c.oid), ';') AS definition,
       pg_get_userbyid(relowner)::text AS owner, pg_has_role(current_user, relowner, 'MEMBER') AS is_ours,
           obj_description(c.oid, 'pg_class') AS comment,
       has_schema_privilege(n.oid, 'CREATE') AND (relowner = current_user::regrole OR (SELECT rolsuper FROM pg_roles
           WHERE rolname = current_user) OR has_schema_privilege(relowner, n.oid, 'CREATE')) AS can_create,
       relkind = 'm' AND relispopulated AS is_populated,
       (SELECT spcname::text FROM pg_tablespace WHERE oid = reltablespace) AS tablespace,
       ARRAY(SELECT privilege_type FROM aclexplode(relacl) x WHERE x.grantee <> relowner ORDER BY x.grantee,
           privilege_type) AS privileges,
       ARRAY(SELECT CASE x.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(x.grantee)::text END
           FROM aclexplode(relacl) x WHERE x.grantee <> relowner ORDER BY x.grantee, privilege_type) AS grantees,
       ARRAY(SELECT is_grantable FROM aclexplode(relacl) x WHERE x.grantee <> relowner ORDER BY x.grantee,
           privilege_type) AS grants,
       ARRAY(SELECT DISTINCT CASE x.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(x.grantee)::text END
           FROM pg_default_acl, aclexplode(defaclacl) x
             WHERE defaclobjtype = 'r' AND x.grantee <> relowner) AS revoked,
       ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = c.oid ORDER BY indexrelid) AS indexes,
       ARRAY(SELECT i.relname::text FROM pg_index JOIN pg_class i ON i.oid = indexrelid WHERE indrelid = c.oid
           ORDER BY indexrelid) AS index_names,
       ARRAY(SELECT obj_description(indexrelid, 'pg_class') FROM pg_index WHERE indrelid = c.oid
           ORDER BY indexrelid) AS index_comments,
       ARRAY(SELECT indisclustered FROM pg_index WHERE indrelid = c.oid ORDER BY indexrelid) AS clustered,
       EXISTS (SELECT FROM pg_index JOIN pg_class i ON i.oid = indexrelid WHERE indrelid = c.oid
           AND (i.reltablespace <> 0 OR EXISTS (
           SELECT FROM pg_attribute WHERE attrelid = i.oid AND attstattarget >= 0))) AS has_special_index,
       ARRAY(SELECT oid FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal ORDER BY oid) AS triggers,
       ARRAY(SELECT oid FROM pg_rewrite WHERE ev_class = c.oid AND rulename <> '_RETURN' ORDER BY oid) AS rules,
       ARRAY(SELECT oid FROM pg_statistic_ext WHERE stxrelid = c.oid ORDER BY oid) AS statistics
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = $1
