SELECT attname::text AS name, quote_ident(attname) AS shown, pg_get_expr(adbin, adrelid) AS expression,
    col_description(attrelid, attnum) AS comment,
       coalesce(attstattarget, -1)::integer AS statistics, (SELECT string_agg(option, ', ')
           FROM unnest(attoptions) option WHERE option LIKE 'n\_distinct%') AS options,
       ARRAY(SELECT privilege_type FROM aclexplode(attacl) x ORDER BY x.grantee, privilege_type) AS privileges,
       ARRAY(SELECT CASE x.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(x.grantee)::text END
           FROM aclexplode(attacl) x ORDER BY x.grantee, privilege_type) AS grantees,
       ARRAY(SELECT is_grantable FROM aclexplode(attacl) x ORDER BY x.grantee, privilege_type) AS grants,
       CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, NULL) END AS domain_base,
           t.typname = 'varchar' AS is_varchar
FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum
