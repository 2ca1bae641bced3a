-- What the catalogs say: the keys, the columns that move with them, and what depends on these. Columns are known by their names, which table
-- partitions share with their tables; their numbers can differ.

\set QUIET on
\set ON_ERROR_STOP on
\if :{?keys}
\else
    \set keys ''
\endif
\if :{?from}
\else
    \set from others
\endif
\if :{?references}
\else
    \set references ''
\endif
\if :{?times}
\else
    \set times ''
\endif
\if :{?functions}
\else
    \set functions ''
\endif

-- A name, which can be quoted.
\set name '(?:"(?:[^"]|"")*"|[^\\s"])+'

-- Queries begin with these. A key is a primary key's column that is generated, or a uuid, or a text called id, or one that is named. The
-- columns that move are the keys, and what refers to them by foreign keys, to any depth, or is said to refer to them.
SELECT $$
    root AS (  -- of each table; its own, unless it is a table partition
        SELECT oid AS part, CASE WHEN relispartition THEN pg_partition_root(oid) ELSE oid END AS rel, relname, relkind, relispartition,
               greatest(reltuples, 0)::bigint AS rows
        FROM pg_class c
        WHERE relkind IN ('r', 'p') AND relpersistence <> 't'
          AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')),
    col AS (
        SELECT rel, relname, relkind, rows, attnum, attname, attacl, attnotnull, attidentity, rel::regclass || '.' || quote_ident(attname) AS name,
               format_type(atttypid, NULL) AS type, atttypid, attcollation, pg_get_expr(adbin, adrelid) AS expression, attgenerated,
               attidentity <> '' OR coalesce(pg_get_expr(adbin, adrelid) LIKE '%(%', false) AS generated, attinhcount > 0 AS is_inherited,
               CASE WHEN b.oid IN (20, 21, 23) THEN 'integer' WHEN b.oid = 2950 THEN 'uuid'
                    WHEN b.oid IN (25, 1042, 1043) THEN 'text' WHEN b.typname = 'sno' THEN 'sno' END AS family
        FROM root JOIN pg_attribute a ON attrelid = rel AND part = rel AND attnum > 0 AND NOT attisdropped
        JOIN pg_type t ON t.oid = atttypid JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
        LEFT JOIN pg_attrdef ON adrelid = rel AND adnum = attnum),
    fkey AS (  -- column by column
        SELECT c.oid, conname, conrelid, confrelid, r.rel, a.attname, k.rel AS key_rel, b.attname AS key_name, cardinality(conkey) AS columns
        FROM pg_constraint c CROSS JOIN unnest(conkey, confkey) u(n, m)
        JOIN root r ON r.part = conrelid JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = n
        JOIN root k ON k.part = confrelid JOIN pg_attribute b ON b.attrelid = confrelid AND b.attnum = m
        WHERE contype = 'f' AND conparentid = 0),
    line AS (  -- of what the catalogs don't say
        SELECT n, coalesce(m[1], line) AS name, m[2] AS key_name, nullif(m[3], '') AS condition
        FROM regexp_split_to_table(:'references', E'\n') WITH ORDINALITY l(line, n), regexp_match(line, '^\s*(' || :'name' || ')\s+(' || :'name' || ')\s*(.*)$') m
        WHERE line ~ '\S'),
    said AS (
        SELECT r.rel, r.attname, k.rel AS key_rel, k.attname AS key_name, condition, n
        FROM line JOIN col r USING (name) JOIN col k ON k.name = line.key_name),
    wanted AS (  -- orders.id, or all keys of orders
        SELECT n AS wanted, coalesce(whole, to_regclass(array_to_string(words[:last - 1], '.'))) AS rel, CASE WHEN whole IS NULL THEN (parse_ident(n))[last] END AS attname
        FROM regexp_matches(:'keys', :'name', 'g') found(m), LATERAL (SELECT m[1], ARRAY (SELECT quote_ident(word) FROM unnest(parse_ident(m[1])) word)) w(n, words),
            cardinality(words) last, LATERAL (SELECT CASE WHEN last < 3 THEN to_regclass(n) END) r(whole)),
    key AS (
        SELECT col.* FROM col JOIN pg_constraint ON conrelid = rel AND contype = 'p' AND attnum = ANY (conkey)
        LEFT JOIN wanted w ON w.rel = col.rel AND coalesce(w.attname = col.attname, true)
        WHERE (col.rel, col.attname) NOT IN (SELECT rel, attname FROM fkey)
          AND (w.attname IS NOT NULL
               OR (family IN ('integer', 'uuid') AND generated OR family IN ('uuid', 'text') AND col.attname = 'id' OR family = 'sno')
                  AND (family = 'sno') = (:'from' = 'sno') AND NOT is_inherited AND (w.rel IS NOT NULL OR :'keys' = ''))),
    reference AS (
        SELECT rel, attname, key_rel, key_name FROM fkey UNION SELECT rel, attname, key_rel, key_name FROM said),
    reached AS (  -- and from which key
        SELECT rel, attname, rel AS key_rel, attname AS key_name FROM key
        UNION
        SELECT r.rel, r.attname, reached.key_rel, reached.key_name
        FROM reached JOIN reference r ON r.key_rel = reached.rel AND r.key_name = reached.attname),
    moved AS (  -- and the generated columns that read them
        SELECT DISTINCT rel, attname FROM reached
        UNION
        SELECT rel, g.attname FROM reached JOIN col c USING (rel, attname) JOIN pg_depend ON classid = 'pg_attrdef'::regclass
            AND refclassid = 'pg_class'::regclass AND refobjid = rel AND refobjsubid = c.attnum
        JOIN pg_attrdef ON pg_attrdef.oid = objid AND adrelid = rel JOIN col g USING (rel)
        WHERE g.attnum = adnum AND g.attgenerated <> ''),
    mcol AS (SELECT col.*, (rel, attname) IN (SELECT rel, attname FROM key) AS is_key FROM moved JOIN col USING (rel, attname)),
    partition_key AS (
        SELECT rel, name FROM mcol JOIN pg_partitioned_table ON partrelid = rel WHERE attnum = ANY (partattrs)
            OR EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = rel AND objsubid = 0 AND refobjid = rel AND refobjsubid = attnum)),
    refused AS (  -- nothing is written then
        SELECT 'not found' AS what, wanted AS object, 'no such key' AS action
        FROM wanted WHERE NOT EXISTS (SELECT FROM key WHERE key.rel = wanted.rel AND coalesce(key.attname = wanted.attname, true))
        UNION
        SELECT 'not found', format('%s %s', name, key_name), 'no such columns' FROM line WHERE n NOT IN (SELECT n FROM said)
        UNION
        SELECT 'not found', name, 'no such function: with the types of its arguments' FROM replaced WHERE func IS NULL
        UNION
        SELECT 'inheritance', format('%s of %s', inhrelid::regclass, inhparent::regclass), 'not with these steps: a key is unique in one table only, and triggers do not fire in the others'
        FROM pg_inherits JOIN root ON part = inhrelid AND NOT relispartition WHERE inhparent IN (SELECT rel FROM mcol) OR inhrelid IN (SELECT rel FROM mcol)
        UNION
        SELECT 'partition key', name, 'not with these steps, as no row may change its partition: see Partitioned tables' FROM partition_key
        UNION
        SELECT 'temporal key', format('%s of %s', conname, rel::regclass), 'not with these steps: WITHOUT OVERLAPS reads all rows under a lock'
        FROM mcol JOIN pg_constraint ON conrelid = rel AND contype IN ('p', 'u') AND attnum = ANY (conkey) JOIN pg_index ON indexrelid = conindid AND indisexclusion),
    refused_too AS (
        SELECT what, object, action FROM refused
        UNION
        SELECT 'part of a key', name, 'not with these steps, as no unique index has it alone: create one first'
        FROM mcol WHERE is_key AND relkind = 'r' AND NOT EXISTS (
            SELECT FROM pg_index WHERE indrelid = rel AND indisunique AND indisvalid AND indnkeyatts = 1 AND indkey[0] = attnum AND indpred IS NULL)
        UNION
        SELECT 'reference of another type', format('%s %s', r.name, r.type), format('not with these steps: %s is %s', k.name, k.type)
        FROM said s JOIN col r USING (rel, attname) JOIN col k ON k.rel = s.key_rel AND k.attname = s.key_name
        LEFT JOIN pg_type t ON t.oid = r.atttypid AND t.typcategory = 'A'
        WHERE k.family IS DISTINCT FROM CASE WHEN t.oid IS NULL THEN r.family WHEN t.typelem IN (20, 21, 23) THEN 'integer' WHEN t.typelem = 2950 THEN 'uuid'
            WHEN t.typelem IN (25, 1042, 1043) THEN 'text' WHEN t.typelem = k.atttypid THEN k.family END
        UNION
        SELECT 'forced row security', rel::regclass::text, 'not with these steps, as its owner does not see all of its rows: NO FORCE ROW LEVEL SECURITY first'
        FROM mcol JOIN pg_class c ON c.oid = rel JOIN pg_roles o ON o.oid = relowner
        WHERE relrowsecurity AND relforcerowsecurity AND NOT rolsuper AND NOT rolbypassrls),
    part AS (  -- the moved columns of tables and their partitions
        SELECT part, mcol.rel, a.attnum, mcol.attname, name FROM mcol JOIN root USING (rel)
        JOIN pg_attribute a ON attrelid = part AND a.attname = mcol.attname),
    birth AS (
        SELECT DISTINCT ON (rel) c.* FROM col c JOIN key USING (rel)
        WHERE lower(c.attname) ~ '^((created?|creation|inserted|insert)(_?(at|on|time|date|ts|ms|timestamp))?|date_created)$'
        ORDER BY rel, lower(c.attname) NOT LIKE '%at', c.attnum),
    index AS (
        SELECT indexrelid, indrelid AS rel, indkey[0] AS first, indpred IS NULL AS is_whole, regexp_replace(pg_get_indexdef(indexrelid), '^CREATE ', '') AS definition,
               indisprimary, indisexclusion, amname, indnatts = 1 AND NOT indisexclusion AND indpred IS NULL AND indexprs IS NULL AND amname = 'btree' AS is_simple
        FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = relam WHERE indrelid IN (SELECT part FROM root)),
    func AS (  -- its body as SQL sees it, or as it is written
        SELECT p.oid AS func, p.oid::regprocedure::text AS name, coalesce(pg_get_function_sqlbody(p.oid), prosrc) AS body,
               ARRAY (SELECT format_type(t, NULL) FROM unnest(coalesce(proallargtypes, proargtypes::oid[]) || prorettype) t) AS types
        FROM pg_proc p JOIN pg_language l ON l.oid = prolang
        WHERE lanname NOT IN ('c', 'internal') AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')),
    replaced AS (
        SELECT f AS name, CASE WHEN f LIKE '%(%)' THEN to_regprocedure(f)::oid END AS func
        FROM regexp_split_to_table(:'functions', E'\n') l, trim(l) f WHERE f <> ''),
    need AS (  -- what depends on a column or on a function that is replaced, and what depends on these views and functions
        SELECT part.rel, part.attname, CASE WHEN ev_class IS NULL OR rulename <> '_RETURN' THEN d.classid ELSE 'pg_class'::regclass END AS classid,
               CASE WHEN ev_class IS NULL OR rulename <> '_RETURN' THEN d.objid ELSE ev_class END AS objid, 0 AS level
        FROM part JOIN pg_depend d ON refclassid = 'pg_class'::regclass AND refobjid = part AND refobjsubid = attnum AND deptype IN ('n', 'a')
        LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
        UNION
        SELECT NULL, NULL, 'pg_proc'::regclass, func, 0 FROM replaced WHERE func IS NOT NULL
        UNION
        SELECT need.rel, need.attname, CASE WHEN ev_class IS NULL OR rulename <> '_RETURN' THEN d.classid ELSE 'pg_class'::regclass END,
               CASE WHEN ev_class IS NULL OR rulename <> '_RETURN' THEN d.objid ELSE ev_class END, level + 1
        FROM need LEFT JOIN pg_class c ON need.classid = 'pg_class'::regclass AND c.oid = need.objid
        JOIN pg_depend d ON d.deptype = 'n' AND (d.refclassid = need.classid AND d.refobjid = need.objid OR d.refclassid = 'pg_type'::regclass AND d.refobjid = c.reltype)
        LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
        WHERE (need.classid = 'pg_proc'::regclass OR c.relkind IN ('v', 'm')) AND level < 50),
    needs AS (  -- but for indexes, keys, the column's own default, what table partitions have from their table, and triggers and rules of views
        SELECT need.rel, need.attname, classid, objid, max(level) AS level FROM need
        LEFT JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
        LEFT JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
        LEFT JOIN pg_trigger t ON classid = 'pg_trigger'::regclass AND t.oid = objid
        LEFT JOIN pg_rewrite w ON classid = 'pg_rewrite'::regclass AND w.oid = objid LEFT JOIN pg_class on_what ON on_what.oid = coalesce(ev_class, tgrelid)
        LEFT JOIN pg_attrdef f ON classid = 'pg_attrdef'::regclass AND f.oid = objid
        LEFT JOIN part o ON o.part = adrelid AND o.attnum = adnum
        WHERE coalesce(c.relkind IN ('v', 'm'), true) AND coalesce(contype = 'c' AND coninhcount = 0, true)
          AND coalesce(tgparentid = 0 AND NOT tgisinternal, true) AND coalesce(on_what.relkind NOT IN ('v', 'm'), true) AND (o.part IS NULL OR level > 0)
        GROUP BY 1, 2, 3, 4)
$$ AS found \gset
