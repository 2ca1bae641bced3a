DECLARE
    statement text;
BEGIN
    -- Whoever could write here, by default privileges, would say what the owner runs; so would whoever could create a
    -- trigger on a table with old and new keys, which the owner fills in the end.
    FOR statement IN
        SELECT DISTINCT format('REVOKE %s ON %s FROM %s', CASE WHEN c.oid = ANY (ARRAY[{own}]::regclass[]) THEN 'ALL'
            ELSE 'TRIGGER' END, c.oid::regclass,
            CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
        FROM pg_class c, aclexplode(relacl) x WHERE c.oid = ANY (ARRAY[{tables}]::regclass[]) AND x.grantee <> relowner
    LOOP
        EXECUTE statement;
    END LOOP;
END
