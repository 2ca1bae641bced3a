DECLARE
    grantee text;
BEGIN
    -- Whoever could call it, by default privileges, could look keys up by a trigger of another table.
    FOR grantee IN SELECT DISTINCT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END
        FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) x
        WHERE p.oid = {function}::regprocedure AND x.grantee <> proowner
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', {function}, grantee);
    END LOOP;
END
