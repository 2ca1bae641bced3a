-- Tables and their partitions, but for those of extensions.
SELECT c.oid, nspname::text AS schema, relname::text AS name, relkind::text AS kind, root.oid AS root,
       CASE WHEN relispartition THEN (SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid) END AS parent,
       CASE WHEN relispartition THEN (SELECT level FROM pg_partition_tree(root.oid) WHERE relid = c.oid)
           ELSE 0 END AS level,
       o.rolname::text AS owner, o.rolsuper OR o.rolbypassrls AS owner_sees_all, relrowsecurity
           AND relforcerowsecurity AS is_forced, reloftype <> 0 AS is_typed,
       (SELECT format('%s of %s', inhrelid::regclass, inhparent::regclass) FROM pg_inherits i
           JOIN pg_class k ON k.oid = inhrelid
        WHERE NOT k.relispartition AND (inhrelid = c.oid OR inhparent = c.oid) LIMIT 1) AS inherits,
       greatest(reltuples, 0)::bigint AS rows, EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid
           AND NOT tgisinternal) AS has_triggers,
       -- BEFORE EACH ROW, after those of the steps in the order of their names.
       ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = c.oid AND tgparentid = 0 AND NOT tgisinternal
           AND tgtype & 3 = 3 AND tgname::text COLLATE "C" > 'zz_generated') AS late_triggers,
       -- BEFORE STATEMENT, with a function that searches where the session does.
       ARRAY(SELECT tgname::text FROM pg_trigger t JOIN pg_proc p ON p.oid = tgfoid WHERE tgrelid = c.oid
           AND NOT tgisinternal AND tgtype & 3 = 2 AND tgtype & 16 > 0 AND NOT EXISTS (
           SELECT FROM unnest(proconfig) u WHERE u LIKE 'search\_path=%')) AS statement_triggers,
       -- What would run with the rights of a superuser: functions of triggers, defaults, constraints, domains, indexes.
       ARRAY(SELECT DISTINCT p.oid::regprocedure::text FROM (
           SELECT 'pg_trigger'::regclass AS class, oid FROM pg_trigger WHERE tgrelid = c.oid
           UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = c.oid
           UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = c.oid
           UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_attribute JOIN pg_constraint k
               ON contypid = atttypid WHERE attrelid = c.oid AND atttypid <> 0
           UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = c.oid) o(class, oid)
           JOIN pg_depend d ON d.classid = class AND d.objid = o.oid
           LEFT JOIN pg_operator r ON d.refclassid = 'pg_operator'::regclass AND r.oid = d.refobjid
           JOIN pg_proc p ON p.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE oprcode END
           JOIN pg_roles f ON f.oid = proowner
           WHERE NOT prosecdef AND NOT f.rolsuper AND me.rolsuper ORDER BY 1) AS foreign_functions,
       -- Who could put other tables in the place of a superuser's.
       CASE WHEN me.rolsuper THEN (SELECT format('%s of %s', nspname, f.rolname) FROM pg_roles f JOIN pg_database b
           ON b.datname = current_database() AND f.oid = CASE nspowner WHEN 'pg_database_owner'::regrole THEN datdba
               ELSE nspowner END WHERE NOT f.rolsuper) END AS foreign_schema,
       -- What an UPDATE would do instead or also, and what forbids one.
       ARRAY(SELECT rulename::text FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = '2'
           AND ev_enabled <> 'D') AS update_rules,
       c.relkind = 'r' AND (relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS (
           SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)) AND EXISTS (
           SELECT FROM pg_publication b WHERE pubupdate AND (puballtables
               OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = b.oid AND pnnspid = relnamespace)
               OR EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = b.oid AND prrelid IN (
                   SELECT c.oid UNION ALL SELECT pg_partition_ancestors(c.oid))))) AS has_no_identity,
       EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = c.oid) AS is_subscribed
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_roles o ON o.oid = relowner
JOIN pg_roles me ON me.rolname = current_user
CROSS JOIN LATERAL (SELECT CASE WHEN relispartition THEN pg_partition_root(c.oid)::oid ELSE c.oid END AS oid) root
WHERE relkind IN ('r', 'p', 'f') AND relpersistence <> 't' AND nspname NOT IN ('pg_catalog', 'information_schema')
    AND nspname !~ '^pg_toast'
  AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
ORDER BY c.oid
