SELECT format('DROP POLICY IF EXISTS %I ON %s;', polname, polrelid::regclass) AS "drop",
    format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', polname, polrelid::regclass,
        CASE WHEN polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
        CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
            ELSE 'ALL' END,
        (SELECT string_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(role)) END, ', ')
            FROM unnest(polroles) role)) AS before,
    concat(' USING (' || pg_get_expr(polqual, polrelid) || ')', ' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid)
        || ')') AS definition,
    concat(E';\n', format('COMMENT ON POLICY %I ON %s IS ', polname, polrelid::regclass)
        || quote_literal(obj_description(oid, 'pg_policy')) || ';') AS after
FROM pg_policy WHERE oid = $1
