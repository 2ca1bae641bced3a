concat(format('COMMENT ON COLUMN %s.%I IS ', attrelid::regclass, attname) || quote_literal(col_description(attrelid,
        attnum)) || E';\n',
    (SELECT string_agg(format(E'GRANT %s (%I) ON TABLE %s TO %s%s;\n', privilege_type, attname, attrelid::regclass,
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
        CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), '' ORDER BY grantee, privilege_type)
    FROM aclexplode(attacl)),
    CASE WHEN attstattarget >= 0 THEN format(E'ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s;\n',
        attrelid::regclass, attname, attstattarget) END,
    (SELECT format(E'ALTER TABLE %s ALTER COLUMN %I SET (%s);\n', attrelid::regclass, attname,
        string_agg(option, ', ')) FROM unnest(attoptions) option WHERE option LIKE 'n\_distinct%' HAVING count(*) > 0))
