DECLARE
    statement text;
BEGIN
    -- Whoever could write here, by default privileges, would say what the owner runs.
    FOR statement IN
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', c.oid::regclass,
            CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END)
        FROM pg_class c, aclexplode(relacl) x WHERE c.oid = ANY (ARRAY[{}]::regclass[]) AND x.grantee <> relowner
    LOOP
        EXECUTE statement;
    END LOOP;
END
