SELECT attrelid AS rel, attnum, attname AS name, quote_ident(attname) AS shown,
    format_type(atttypid, atttypmod) AS full_type, format_type(atttypid, NULL) AS type_name,
    ARRAY[(SELECT nspname FROM pg_namespace WHERE oid = t.typnamespace), typname]::text[] AS "cast",
    (SELECT typname FROM pg_type b WHERE b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype
        WHEN t.typelem <> 0 AND t.typlen = -1 THEN t.typelem ELSE t.oid END) AS family,
    t.typelem <> 0 AND t.typlen = -1 AS is_array,
    CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, NULL) END AS domain_base, attnotnull AS is_not_null,
    (SELECT conname FROM pg_constraint WHERE conrelid = attrelid AND contype = 'n' AND conkey = ARRAY[attnum])
        AS not_null,
    attcollation AS collation, attidentity <> '' AS identity, attgenerated <> '' AS is_generated,
    pg_get_expr(adbin, adrelid) AS "default",
    ARRAY(SELECT f.adnum FROM pg_depend d JOIN pg_attrdef f ON f.oid = d.objid AND f.adrelid = attrelid
        JOIN pg_attribute g ON g.attrelid = f.adrelid AND g.attnum = f.adnum
        WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
            AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
            AND g.attgenerated <> '' AND g.attnum <> a.attnum) AS readers,
    attinhcount > 0 AS is_inherited, {state} AS state
FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped AND attrelid = ANY ($1::oid[])
ORDER BY attrelid, attnum
