-- What depends on these columns ($1 tables and partitions, $2 numbers) or on these functions ($3), and what depends
-- on these views and functions, or, for GROUP BY and ON CONFLICT, on a unique constraint. What the steps know by
-- another query is left out: indexes, keys and foreign keys, the columns' own defaults and sequences, what a
-- partition has from its table, and triggers and rules of views.
--
--   part       the columns
--   edge       what depends on what, with a view in the place of its rule
--   need       the objects to drop and make again, from one edge to the next; their order is that of their levels
--   link       the same as edge, but of all kinds, and from a type to what it is made of
--   used       of each object of need: itself and its parts, what these name, and what is in the types of that
--   of_others  why it is not made again: another role could change what it uses
WITH RECURSIVE part AS (SELECT rel, attnum FROM unnest($1::oid[], $2::int2[]) u(rel, attnum)),
edge AS (
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
        OR edge.refclassid = 'pg_type'::regclass AND edge.refobjid IN (c.reltype,
            (SELECT typarray FROM pg_type y WHERE y.oid = c.reltype)))
    WHERE (need.classid IN ('pg_proc'::regclass, 'pg_constraint'::regclass) OR c.relkind IN ('v', 'm')) AND level < 50),
link AS (
    SELECT classid, objid, refclassid, refobjid FROM pg_depend WHERE deptype <> 'e'
    UNION ALL SELECT 'pg_type'::regclass, oid, 'pg_class'::regclass, typrelid FROM pg_type WHERE typrelid <> 0
    UNION ALL SELECT 'pg_type'::regclass, contypid, 'pg_constraint'::regclass, oid FROM pg_constraint
        WHERE contypid <> 0),
used AS (  -- the parts of a view are its rules, defaults, triggers, statistics, indexes
    SELECT classid AS class, objid AS object, classid, objid, true AS is_part FROM need
        WHERE classid <> 'pg_class'::regclass
    UNION
    SELECT need.classid, need.objid, d.classid, d.objid, true FROM need
    JOIN pg_class c ON need.classid = 'pg_class'::regclass AND c.oid = need.objid AND relkind IN ('v', 'm')
    JOIN pg_depend d ON d.refclassid = need.classid AND d.refobjid = need.objid AND d.deptype IN ('a', 'i')
        AND d.classid <> 'pg_type'::regclass
    UNION
    SELECT class, object, link.refclassid, link.refobjid, false FROM used JOIN link USING (classid, objid)
    WHERE (is_part OR classid IN ('pg_type'::regclass, 'pg_class'::regclass, 'pg_constraint'::regclass))
        -- Rows are read with the rights of a view's owner. But who has a schema could exchange a type in it.
        AND (classid = 'pg_type'::regclass OR refclassid NOT IN ('pg_class'::regclass, 'pg_namespace'::regclass))),
of_others AS (  -- Reading a statement, PostgreSQL makes values of the strings in it, which calls what a domain checks.
    SELECT class, object, min(format('is, or uses, %s of %s, whose code could run with your rights: drop it before, '
        'and make it again after', pg_describe_object(used.classid, used.objid, 0), rolname)) AS why
    FROM used JOIN pg_shdepend s ON s.classid = used.classid AND s.objid = used.objid AND s.deptype = 'o'
        AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    JOIN pg_roles r ON r.oid = s.refobjid
    WHERE NOT rolsuper AND rolname <> current_user AND (NOT is_part OR used.classid = 'pg_proc'::regclass)
    GROUP BY class, object)
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
        THEN 'could not be made again: GRANT CREATE on its schema to you and to its owner first'
        ELSE of_others.why END AS why
FROM need LEFT JOIN of_others ON class = classid AND object = objid
LEFT JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
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
WHERE NOT coalesce(c.relkind IN ('i', 'I') AND (level = 0 OR EXISTS (SELECT FROM pg_index JOIN pg_class m
        ON m.oid = indrelid WHERE indexrelid = need.objid AND m.relkind = 'm'))
    OR c.relkind = 'S' OR c.relkind IN ('r', 'p') AND need.objid = ANY ($1::oid[]) AND level = 0, false)
  AND coalesce(contype NOT IN ('p', 'u', 'x', 'f', 'n') AND coninhcount = 0, true) AND coalesce(tgparentid = 0
      AND NOT tgisinternal, true)
  AND (on_what.relkind IN ('v', 'm') AND adrelid IS NULL) IS NOT TRUE AND (o.rel IS NULL OR level > 0)
GROUP BY classid, objid, owner, namespace, of_others.why ORDER BY max(level), objid
