DECLARE statement text;
BEGIN
    FOR statement IN SELECT DISTINCT format('ALTER FUNCTION %s COST %s', p.oid::regprocedure, procost)
        FROM pg_trigger JOIN pg_proc p ON p.oid = tgfoid JOIN pg_language l ON l.oid = prolang
            WHERE NOT tgisinternal AND tgrelid = ANY (ARRAY[{tables}]::regclass[]) AND lanname NOT IN ('c', 'internal')
                AND pg_has_role(proowner, 'MEMBER') LOOP
        EXECUTE statement;
    END LOOP;
END
