-- Which functions name what moves, by the name of a table or column, or by a type.
-- In languages that name tables and types: as SQL sees it, or as it is written.
WITH function AS (
    SELECT p.oid, p.oid::regprocedure::text AS shown,
        EXISTS (SELECT FROM unnest($8::text[]) name WHERE strpos(body, name) > 0
            AND body ~ concat('(?<!\w)', regexp_replace(name, '(\W)', '\\\1', 'g'), '(?!\w)')) AS names,
        EXISTS (SELECT FROM unnest(coalesce(proallargtypes, proargtypes::oid[]) || prorettype) t
            WHERE format_type(t, NULL) = ANY ($9::text[])) AS has_type
    FROM pg_proc p JOIN pg_language l ON l.oid = prolang JOIN pg_namespace n ON n.oid = pronamespace,
    LATERAL (SELECT coalesce(pg_get_function_sqlbody(p.oid), prosrc)) b(body)
    WHERE lanname NOT IN ('c', 'internal') AND nspname NOT IN ('pg_catalog', 'information_schema')
        AND nspname !~ '^pg_temp' AND p.oid <> ALL ($11::oid[])
        AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e'))
SELECT 'refused', 'second function', p.oid::regprocedure::text,
    'makes a call of that of the extension ambiguous: DROP it first, and REVOKE CREATE ON SCHEMA from its owner'
FROM pg_proc p JOIN pg_extension ON extname = 'sno' AND extnamespace = pronamespace WHERE proname = 'sno_new'
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
UNION ALL SELECT 'to do', 'function', shown, 'names what moves: read it, change it if it has the old type, and call it'
FROM function WHERE names
UNION ALL SELECT 'to do', 'function by its type', shown,
    'its arguments or its result have the old type: name it with --function'
FROM function WHERE has_type AND (names OR oid = ANY ($10::oid[]))
-- A table of another role stops no move: any role could have one that looks as if the function read it.
UNION ALL SELECT DISTINCT CASE WHEN is_ours THEN 'refused' ELSE 'to do' END, 'name that is also a type',
    format('%s in %s', n.shown, p.oid::regprocedure),
    'would be taken for the type, and changed, too: write the column in quotes in the function, or after its table and '
    'a point, first; give an argument another name'
FROM pg_proc p CROSS JOIN me, LATERAL (SELECT coalesce(pg_get_function_sqlbody(p.oid), prosrc)) b(body),
LATERAL (SELECT 'argument ' || name AS shown, name, true AS is_ours FROM unnest(proargnames) name
    UNION ALL SELECT format('column %s of %s', attname, c.oid::regclass), attname, relowner IN (proowner, me.oid)
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE attnum > 0 AND relkind IN ('r', 'p', 'v', 'm', 'f') AND attname = ANY ($9::text[])
        AND body ~* concat('(?<!\w)', regexp_replace(relname, '(\W)', '\\\1', 'g'), '(?!\w)')
        AND body ~ concat('(?<![\w.":])', attname, '(?!\w)')) n
WHERE p.oid = ANY ($11::oid[]) AND n.name = ANY ($9::text[])
