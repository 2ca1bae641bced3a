SELECT attrelid AS rel, attnum, attname::text AS name, quote_ident(attname) AS shown, format_type(atttypid,
    atttypmod) AS full_type, format_type(atttypid, NULL) AS type_name,
       tn.nspname::text AS cast_schema, t.typname::text AS cast_name,
       (SELECT b.typname::text FROM pg_type b WHERE b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype
           WHEN t.typelem <> 0 AND t.typlen = -1 THEN t.typelem ELSE t.oid END) AS family,
       t.typelem <> 0 AND t.typlen = -1 AS is_array, CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype,
           NULL) END AS domain_base, attnotnull AS is_not_null,
       (SELECT conname::text FROM pg_constraint WHERE conrelid = attrelid AND contype = 'n'
           AND conkey = ARRAY[attnum]) AS not_null,
       EXISTS (SELECT FROM pg_constraint k WHERE conrelid = attrelid AND contype = 'n' AND conkey = ARRAY[attnum]
           AND (NOT convalidated OR connoinherit OR obj_description(k.oid, 'pg_constraint') IS NOT NULL))
           AS has_special_not_null,
       t.typnotnull AND NOT attnotnull AS is_not_null_by_domain, attcollation AS collation,
       EXISTS (SELECT FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = attrelid
           AND objsubid = attnum) AS has_label,
       attidentity <> '' AS identity, attgenerated <> '' AS is_generated, pg_get_expr(adbin, adrelid) AS expression,
       ARRAY(SELECT f.adnum FROM pg_depend d JOIN pg_attrdef f ON f.oid = d.objid AND f.adrelid = attrelid
           JOIN pg_attribute g ON g.attrelid = f.adrelid AND g.attnum = f.adnum
             WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
                 AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
               AND g.attgenerated <> '' AND g.attnum <> a.attnum) AS readers,
       attinhcount > 0 AS is_inherited,
       EXISTS (SELECT FROM pg_depend s JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass
           AND d.refobjid = s.objid AND d.classid = 'pg_attrdef'::regclass
               JOIN pg_attrdef f ON f.oid = d.objid JOIN pg_class q ON q.oid = s.objid AND q.relkind = 'S'
               WHERE s.classid = 'pg_class'::regclass AND s.refclassid = 'pg_class'::regclass
                   AND s.refobjid = a.attrelid AND s.refobjsubid = a.attnum
                 AND s.deptype IN ('a', 'i') AND (f.adrelid, f.adnum) <> (a.attrelid, a.attnum)
                 AND f.adrelid NOT IN (SELECT relid FROM pg_partition_tree(a.attrelid))) AS shares_sequence,
       EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = attrelid AND a.attnum = ANY (partattrs))
           OR c.relkind = 'p' AND EXISTS (
           SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = attrelid AND objsubid = 0
               AND refobjid = attrelid AND refobjsubid = attnum) AS in_partition_key,
       col_description(attrelid, attnum) AS comment, coalesce(attstattarget, -1)::integer AS statistics,
       (SELECT string_agg(option, ', ') FROM unnest(attoptions) option WHERE option LIKE 'n\_distinct%') AS options,
       ARRAY(SELECT privilege_type FROM aclexplode(attacl) x ORDER BY x.grantee, privilege_type) AS privileges,
       ARRAY(SELECT CASE x.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(x.grantee)::text END
           FROM aclexplode(attacl) x ORDER BY x.grantee, privilege_type) AS grantees,
       ARRAY(SELECT is_grantable FROM aclexplode(attacl) x ORDER BY x.grantee, privilege_type) AS grants
FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_type t ON t.oid = atttypid
    JOIN pg_namespace tn ON tn.oid = t.typnamespace
JOIN pg_namespace n ON n.oid = relnamespace LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p', 'f') AND relpersistence <> 't'
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'
ORDER BY attrelid, attnum
