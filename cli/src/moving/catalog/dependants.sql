-- What depends on these columns ($1 tables and partitions, $2 numbers) or on these functions ($3), and what depends
-- on these views and functions, or, for GROUP BY and ON CONFLICT, on a unique constraint. What the steps know by
-- another query is left out: indexes, keys and foreign keys, the columns' own defaults and sequences, what a
-- partition has from its table, and triggers and rules of views.
WITH RECURSIVE part AS (SELECT rel, attnum FROM unnest($1::oid[], $2::int2[]) u(rel, attnum)),
edge AS (  -- a view in the place of its rule
    SELECT CASE WHEN ev_class IS NULL OR rulename <> '_RETURN' THEN d.classid ELSE 'pg_class'::regclass END AS classid,
           CASE WHEN ev_class IS NULL OR rulename <> '_RETURN' THEN d.objid ELSE ev_class END AS objid, d.objsubid,
               d.refclassid, d.refobjid, d.refobjsubid, d.deptype
    FROM pg_depend d LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid 
    WHERE deptype IN ('n', 'a', 'i', 'P', 'S') AND NOT (refclassid = 'pg_class'::regclass AND refobjid = ev_class
        AND rulename = '_RETURN' AND ev_class IS NOT NULL)),
need AS (
    SELECT classid, objid, objsubid, 0 AS level FROM part JOIN edge ON refclassid = 'pg_class'::regclass
        AND refobjid = rel AND refobjsubid = attnum
    UNION
    SELECT 'pg_proc'::regclass, func, 0, 0 FROM unnest($3::oid[]) func
    UNION
    SELECT edge.classid, edge.objid, edge.objsubid, level + 1
    FROM need LEFT JOIN pg_class c ON need.classid = 'pg_class'::regclass AND c.oid = need.objid
    JOIN edge ON edge.deptype = 'n' AND (edge.refclassid = need.classid AND edge.refobjid = need.objid
        OR edge.refclassid = 'pg_type'::regclass AND edge.refobjid = c.reltype)
    WHERE (need.classid IN ('pg_proc'::regclass, 'pg_constraint'::regclass) OR c.relkind IN ('v', 'm')) AND level < 50)
SELECT classid::regclass::text AS class, objid AS oid, pg_describe_object(classid, objid, 0) AS shown,
    ARRAY(SELECT DISTINCT d.refobjid FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass
            AND w.oid = d.objid
        WHERE refclassid = 'pg_proc'::regclass AND ((d.classid, d.objid) = (need.classid, need.objid)
            OR need.classid = 'pg_class'::regclass AND ev_class = need.objid)
        UNION SELECT need.objid WHERE need.classid = 'pg_proc'::regclass) AS calls,
    CASE WHEN (pg_identify_object_as_address(classid, objid, 0)).object_names[1] ~ '^pg_temp'
        THEN 'is temporary: end the session that has it'
        WHEN EXISTS (SELECT FROM pg_depend d WHERE (d.classid, d.objid, d.deptype) = (need.classid, need.objid, 'e'))
        THEN 'belongs to an extension: ALTER EXTENSION ... DROP it first'
        WHEN EXISTS (SELECT FROM pg_depend d WHERE (d.classid, d.objid, d.deptype) = (need.classid, need.objid, 'x'))
        THEN 'DEPENDS ON EXTENSION, which is not kept: say NO DEPENDS ON EXTENSION first'
        WHEN EXISTS (SELECT FROM pg_seclabel WHERE classoid = classid AND objoid = need.objid)
        THEN 'has a security label, which is not kept: SECURITY LABEL ... IS NULL first'
        WHEN NOT pg_has_role(owner, 'MEMBER') THEN 'belongs to a role that you are not: be a member of it, or have it '
            'dropped'
        WHEN NOT has_schema_privilege(namespace, 'CREATE') OR NOT (has_schema_privilege(owner, namespace, 'CREATE')
            OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))
        THEN 'could not be made again: GRANT CREATE on its schema to you and to its owner first' END AS why
FROM need LEFT JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
LEFT JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
LEFT JOIN pg_trigger t ON classid = 'pg_trigger'::regclass AND t.oid = objid
LEFT JOIN pg_rewrite w ON classid = 'pg_rewrite'::regclass AND w.oid = objid
LEFT JOIN pg_attrdef f ON classid = 'pg_attrdef'::regclass AND f.oid = objid LEFT JOIN part o ON o.rel = adrelid
    AND o.attnum = adnum
LEFT JOIN pg_policy l ON classid = 'pg_policy'::regclass AND l.oid = objid
LEFT JOIN pg_class on_what ON on_what.oid = coalesce(ev_class, tgrelid, adrelid, polrelid)
LEFT JOIN pg_proc p ON classid = 'pg_proc'::regclass AND p.oid = objid
LEFT JOIN pg_statistic_ext s ON classid = 'pg_statistic_ext'::regclass AND s.oid = objid
LEFT JOIN pg_publication_rel r ON classid = 'pg_publication_rel'::regclass AND r.oid = objid
LEFT JOIN pg_publication b ON b.oid = prpubid
CROSS JOIN LATERAL (SELECT coalesce(c.relowner, on_what.relowner, proowner, stxowner, pubowner),
    coalesce(c.relnamespace, pronamespace, stxnamespace)) u(owner, namespace)
WHERE NOT coalesce(c.relkind IN ('i', 'I') OR c.relkind = 'S' OR c.relkind IN ('r', 'p')
    AND need.objid = ANY ($1::oid[]) AND level = 0, false)
  AND coalesce(contype NOT IN ('p', 'u', 'x', 'f', 'n') AND coninhcount = 0, true) AND coalesce(tgparentid = 0
      AND NOT tgisinternal, true)
  AND (on_what.relkind IN ('v', 'm') AND adrelid IS NULL) IS NOT TRUE AND (o.rel IS NULL OR level > 0)
GROUP BY classid, objid, owner, namespace ORDER BY max(level), objid
