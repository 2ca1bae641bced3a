-- What moving the keys of a database to sno will meet: docs/moving.md. It needs psql, PostgreSQL 15 or later, and no rights of its own;
-- it reads the catalogs, creates nothing, and runs on a standby, too.
--
--     psql -X -d shop -f sql/moving-check.sql
--     psql -X -d shop -v keys='orders customers' -f sql/moving-check.sql        only these tables, and what refers to them
--     psql -X -d shop -v from=sno -f sql/moving-check.sql                       from sno to another type: docs/moving-back.md

\if :{?keys}
\else
    \set keys ''
\endif
\if :{?from}
\else
    \set from others
\endif
\pset footer off
\set QUIET on
BEGIN TRANSACTION READ ONLY;

-- Each query below begins with these. A key is a primary key's column that is generated, or a uuid, or a text called id. The columns that
-- move are the keys, and what refers to them by foreign keys, to any depth.
SELECT $$
    rel AS (
        SELECT c.oid AS rel, relname, relkind, greatest(reltuples, 0)::bigint AS rows FROM pg_class c
        WHERE relkind IN ('r', 'p') AND relpersistence <> 't' AND NOT relispartition
          AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')),
    col AS (
        SELECT rel, relname, relkind, rows, attnum, attname, attacl, rel::regclass || '.' || quote_ident(attname) AS name,
               format_type(atttypid, NULL) AS type, pg_get_expr(adbin, adrelid) AS expression, attgenerated,
               attidentity <> '' OR coalesce(pg_get_expr(adbin, adrelid) LIKE '%(%', false) AS generated,
               CASE WHEN b.oid IN (20, 21, 23) THEN 'integer' WHEN b.oid = 2950 THEN 'uuid'
                    WHEN b.oid IN (25, 1042, 1043) THEN 'text' WHEN b.typname = 'sno' THEN 'sno' END AS family
        FROM rel JOIN pg_attribute a ON attrelid = rel AND attnum > 0 AND NOT attisdropped
        JOIN pg_type t ON t.oid = atttypid JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
        LEFT JOIN pg_attrdef ON adrelid = rel AND adnum = attnum),
    fkey AS (
        SELECT c.oid, conname, conrelid, confrelid, cardinality(conkey) AS columns, column_number, referenced
        FROM pg_constraint c, unnest(conkey, confkey) u(column_number, referenced) WHERE contype = 'f' AND conparentid = 0),
    key AS (
        SELECT col.* FROM col JOIN pg_constraint ON conrelid = rel AND contype = 'p' AND attnum = ANY (conkey)
        WHERE (rel, attnum) NOT IN (SELECT conrelid, column_number FROM fkey)
          AND (family IN ('integer', 'uuid') AND generated OR family IN ('uuid', 'text') AND attname = 'id' OR family = 'sno')
          AND (family = 'sno') = (:'from' = 'sno')
          AND (:'keys' = '' OR rel IN (SELECT to_regclass(n) FROM unnest(string_to_array(:'keys', ' ')) n))),
    moved AS (
        SELECT rel, attnum, true AS is_key FROM key
        UNION SELECT conrelid, column_number, false FROM moved JOIN fkey ON confrelid = rel AND referenced = attnum),
    mcol AS (SELECT * FROM moved JOIN col USING (rel, attnum)),
    birth AS (
        SELECT DISTINCT ON (rel) c.* FROM col c JOIN key USING (rel)
        WHERE lower(c.attname) ~ '^((created?|creation|inserted|insert)(_?(at|on|time|date|ts|ms|timestamp))?|date_created)$'
        ORDER BY rel, lower(c.attname) NOT LIKE '%at', c.attnum),
    index AS (
        SELECT indexrelid, indrelid AS rel, indkey[0] AS first, indpred IS NULL AS is_whole, regexp_replace(pg_get_indexdef(indexrelid), '^CREATE ', '') AS definition,
               indisprimary, indnatts = 1 AND NOT indisexclusion AND indpred IS NULL AND indexprs IS NULL AND amname = 'btree' AS is_simple
        FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = relam WHERE indrelid IN (SELECT rel FROM rel)),
    need AS (  -- what depends on a column, and what depends on these views
        SELECT refobjid AS rel, refobjsubid AS attnum, classid, objid FROM pg_depend
        WHERE refclassid = 'pg_class'::regclass AND refobjsubid > 0 AND deptype IN ('n', 'a')
        UNION
        SELECT need.rel, need.attnum, d.classid, d.objid FROM need JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = ev_class AND d.deptype = 'n'),
    needs AS (  -- but for indexes, keys and the column's own default
        SELECT DISTINCT rel, attnum, CASE classid WHEN 'pg_rewrite'::regclass THEN pg_describe_object('pg_class'::regclass, ev_class, 0)
                                     ELSE pg_describe_object(classid, objid, 0) END AS object
        FROM need
        LEFT JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid
        LEFT JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
        LEFT JOIN pg_attrdef f ON classid = 'pg_attrdef'::regclass AND f.oid = objid
        WHERE classid <> 'pg_class'::regclass AND coalesce(contype IN ('c', 't'), true) AND (adrelid, adnum) IS DISTINCT FROM (rel, attnum)),
    func AS (  -- its body as SQL sees it, or as it is written
        SELECT p.oid::regprocedure::text AS name, coalesce(pg_get_function_sqlbody(p.oid), prosrc) AS body
        FROM pg_proc p JOIN pg_language l ON l.oid = prolang
        WHERE lanname NOT IN ('c', 'internal') AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e'))
$$ AS found \gset

\echo '* Keys that could move'
WITH RECURSIVE :found
SELECT key.rel::regclass AS "table", key.attname AS key, key.type, key.rows, coalesce(birth.attname, '-') AS creation_time,
       coalesce((SELECT string_agg(DISTINCT col.name, ', ') FROM fkey JOIN col ON col.rel = conrelid AND col.attnum = column_number
                 WHERE confrelid = key.rel AND referenced = key.attnum), '-') AS "references"
FROM key LEFT JOIN birth USING (rel) ORDER BY 1::text;

\echo '* What there is to do, by the steps of docs/moving.md'
WITH RECURSIVE :found
SELECT 0 AS step, 'partitioned table' AS what, rel::regclass::text AS object, 'see Partitioned tables' AS action FROM mcol WHERE relkind = 'p'
UNION
SELECT 0, 'published', format('%s by %I', mcol.rel::regclass, pubname), 'add the columns on the subscribers first'
FROM mcol JOIN pg_class c ON c.oid = rel JOIN pg_publication_tables p ON p.tablename = c.relname AND p.schemaname = relnamespace::regnamespace::text
UNION
SELECT 1, 'reference without a foreign key', format('%s %s', name, type), 'of which table? one that another column names needs a trigger with CASE'
FROM col WHERE attname ~ '(_ids?|[a-z]Ids?)$' AND attgenerated = ''
    AND (family IN (SELECT family FROM key) OR type IN (SELECT key.type || '[]' FROM key))
    AND (rel, attnum) NOT IN (SELECT conrelid, column_number FROM fkey) AND (rel, attnum) NOT IN (SELECT rel, attnum FROM moved)
UNION
SELECT 2, 'no creation time', key.rel::regclass::text, 'sno_new() gives IDs of today; for a uuid of version 7 or a ULID, see there'
FROM key LEFT JOIN birth USING (rel) WHERE birth.rel IS NULL AND key.family <> 'sno'
UNION
SELECT 2, 'creation time', format('%s %s', name, type), 'of which time zone? many rows of one time? a number: in which unit?'
FROM birth WHERE type <> 'timestamp with time zone' AND :'from' <> 'sno'
UNION
SELECT 2, 'no index', name, 'fill_... needs an index that begins with it'
FROM mcol WHERE NOT EXISTS (SELECT FROM index WHERE index.rel = mcol.rel AND first = attnum AND is_whole)
UNION
SELECT 3, 'index', definition, 'the same on the new column; for GiST and GIN with a cast to uuid'
FROM index JOIN mcol USING (rel) WHERE relkind = 'r' AND NOT (is_simple AND (NOT indisprimary OR is_key))
    AND EXISTS (SELECT FROM pg_depend WHERE objid = indexrelid AND refobjid = mcol.rel AND refobjsubid = attnum
                UNION ALL SELECT FROM pg_constraint JOIN pg_depend ON objid = pg_constraint.oid
                WHERE conindid = indexrelid AND conrelid = mcol.rel AND refobjid = mcol.rel AND refobjsubid = attnum)
UNION
SELECT 3, 'foreign key', format('%s of %s', conname, conrelid::regclass), 'repeat ' || pg_get_constraintdef(oid)
FROM fkey JOIN mcol ON rel = conrelid AND attnum = column_number
WHERE columns > 1 OR pg_get_constraintdef(oid) ~ ' (ON (DELETE|UPDATE)|MATCH|DEFERRABLE|NOT VALID)'
UNION
SELECT 5, 'uses old columns', object, 'create it again in the switch: ' || string_agg(DISTINCT name, ', ' ORDER BY name)
FROM needs JOIN mcol USING (rel, attnum) GROUP BY object
UNION
SELECT 5, 'default', format('%s DEFAULT %s', name, expression), 'a constant: the first ID is 2222222222222222'
FROM mcol WHERE expression IS NOT NULL AND attgenerated = '' AND NOT generated
UNION
SELECT 5, 'grants on a column', name, 'repeat them' FROM mcol WHERE attacl IS NOT NULL
UNION
SELECT 5, 'function', func.name, 'read it, create it again if it has the old type, and call it: ' || string_agg(DISTINCT relname, ', ' ORDER BY relname)
FROM func JOIN mcol ON body ~ ('\m' || relname || '\M') OR attname <> 'id' AND body ~ ('\m' || attname || '\M') GROUP BY func.name
UNION
SELECT 6, 'uses the creation time', object, 'if the column is dropped: sno_time(id)' FROM needs JOIN birth USING (rel, attnum)
UNION
SELECT 6, 'uses the creation time', definition, 'vanishes with the column: the same with the key in its place'
FROM index JOIN birth USING (rel) JOIN pg_depend ON objid = indexrelid AND refobjid = birth.rel AND refobjsubid = birth.attnum
ORDER BY step, what, object;

\echo '* It does not see'
\echo 'statements of the application, IDs in JSON and text, on subscribers, in queues and caches, and what functions build with EXECUTE'
COMMIT;
