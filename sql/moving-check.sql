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
SET LOCAL datestyle = 'ISO';

\echo '* Server'
SELECT current_setting('server_version') AS server, current_user AS role,
       CASE WHEN current_setting('server_version_num')::integer < 150000 THEN 'needs PostgreSQL 15'
            WHEN EXISTS (SELECT FROM pg_extension WHERE extname = 'sno') THEN 'created'
            WHEN EXISTS (SELECT FROM pg_available_extensions WHERE name = 'sno') THEN 'installed, not created in this database'
            ELSE 'not installed on this server' END AS extension,
       coalesce((SELECT CASE WHEN setting ~ '\msno\M' THEN 'yes' ELSE 'no' END FROM pg_settings WHERE name = 'shared_preload_libraries'),
                'not visible to this role') AS preloaded;

-- The columns that move, as psql's variable: each query below begins with it. A key is a primary key's column that is generated, or a
-- uuid, or a text called id. The references follow the foreign keys, to any depth.
SELECT $$
    member AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e'),
    rel AS (
        SELECT c.oid AS rel, relname, relkind, relispartition, greatest(reltuples, 0) AS rows FROM pg_class c
        WHERE relkind IN ('r', 'p') AND relpersistence <> 't' AND NOT relispartition
          AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND ('pg_class'::regclass, c.oid) NOT IN (TABLE member)),
    col AS (
        SELECT rel, relname, relkind, rows, attnum, attname, attnotnull, attgenerated, attacl, t.typcategory = 'A' AS is_array,
               format_type(atttypid, NULL) AS type, pg_get_expr(adbin, adrelid) AS expression,
               attidentity <> '' OR coalesce(attgenerated = '' AND pg_get_expr(adbin, adrelid) ~ '\(.*\)', false) AS generated,
               CASE WHEN b.oid IN (20, 21, 23) THEN 'integer' WHEN b.oid = 2950 THEN 'uuid'
                    WHEN b.oid IN (25, 1042, 1043) THEN 'text' WHEN b.typname = 'sno' THEN 'sno' END AS family
        FROM rel JOIN pg_attribute a ON attrelid = rel AND attnum > 0 AND NOT attisdropped
        JOIN pg_type t ON t.oid = atttypid
        JOIN pg_type b ON b.oid = CASE WHEN t.typcategory = 'A' THEN t.typelem WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
        LEFT JOIN pg_attrdef ON adrelid = rel AND adnum = attnum),
    fkey AS (
        SELECT c.oid, conrelid, confrelid, conkey, confkey, column_number, referenced
        FROM pg_constraint c, unnest(conkey, confkey) u(column_number, referenced)
        WHERE contype = 'f' AND conparentid = 0),
    key AS (
        SELECT col.*, conkey FROM col JOIN pg_constraint p ON conrelid = rel AND contype = 'p' AND attnum = ANY (conkey)
        WHERE NOT is_array AND (rel, attnum) NOT IN (SELECT conrelid, column_number FROM fkey)
          AND (family = 'integer' AND generated
               OR family = 'uuid' AND (generated OR attname = 'id' OR array_length(conkey, 1) = 1
                   AND relname LIKE regexp_replace(attname, '_id$', '') || '%')
               OR family = 'text' AND attname = 'id' OR family = 'sno')
          AND (family = 'sno') = (:'from' = 'sno')
          AND (:'keys' = '' OR relname = ANY (string_to_array(:'keys', ' ')) OR rel::regclass::text = ANY (string_to_array(:'keys', ' ')))),
    moved AS (
        SELECT rel, attnum, family, true AS is_key FROM key
        UNION
        SELECT conrelid, column_number, family, false FROM moved JOIN fkey ON confrelid = rel AND referenced = attnum),
    loose AS (  -- named as a reference, and of a key's type, but in no foreign key
        SELECT c.*, sibling.attname AS type_column, target.rel AS target
        FROM col c
        LEFT JOIN LATERAL (SELECT s.attname FROM col s WHERE s.rel = c.rel AND s.family = 'text' AND NOT s.is_array
                           AND lower(s.attname) = regexp_replace(lower(c.attname), 'ids?$', 'type')) sibling ON true
        LEFT JOIN LATERAL (SELECT k.rel FROM key k WHERE k.family = c.family
                           AND lower(k.relname) LIKE regexp_replace(lower(c.attname), '_?ids?$', '') || '%' ORDER BY k.relname LIMIT 1) target ON true
        WHERE c.attname ~ '(_ids?|[a-z]Ids?)$' AND c.attgenerated = '' AND c.family IN (SELECT family FROM key)
          AND NOT EXISTS (SELECT FROM fkey WHERE conrelid = c.rel AND column_number = c.attnum)
          AND NOT EXISTS (SELECT FROM moved WHERE moved.rel = c.rel AND moved.attnum = c.attnum)
          AND (target.rel IS NOT NULL OR sibling.attname IS NOT NULL OR c.family <> 'text' AND :'keys' = '')),
    mcol AS (SELECT DISTINCT ON (rel, attnum) col.*, is_key, rel::regclass || '.' || attname AS name
             FROM col JOIN (TABLE moved UNION ALL SELECT rel, attnum, family, false FROM loose WHERE target IS NOT NULL OR type_column IS NOT NULL) m
                 USING (rel, attnum, family)),
    birth AS (
        SELECT DISTINCT ON (rel) c.*, c.rel::regclass || '.' || c.attname AS name FROM col c JOIN key USING (rel)
        WHERE lower(c.attname) ~ '^((created?|creation|inserted|insert)(_?(at|on|time|date|ts|ms|timestamp))?|date_created)$'
          AND (c.type LIKE 'timestamp%' OR c.type IN ('date', 'bigint', 'integer', 'numeric', 'double precision'))
        ORDER BY rel, lower(c.attname) NOT LIKE '%at', c.attnum),
    stat AS (
        SELECT birth.*, null_frac, most_common_freqs[1] AS frequency,
               CASE WHEN type LIKE 'timestamp%' OR type = 'date'
                    THEN least((histogram_bounds::text::text[])[1], (most_common_vals::text::text[])[1]) END AS earliest
        FROM birth JOIN pg_class ON oid = rel JOIN pg_stats s
            ON s.schemaname = relnamespace::regnamespace::text AND s.tablename = birth.relname AND s.attname = birth.attname
               AND s.inherited = (birth.relkind = 'p')),
    word AS (
        SELECT '\m(' || string_agg(DISTINCT regexp_replace(attname, '\W', '\\\&', 'g'), '|') FILTER (WHERE length(attname) > 1) || ')\M' AS columns,
               '\m(' || string_agg(DISTINCT regexp_replace(word, '\W', '\\\&', 'g'), '|') FILTER (WHERE word <> 'id') || ')\M' AS any,
               '\m(' || concat_ws('|', CASE WHEN bool_or(family = 'integer') THEN 'bigint|int8|integer|int|int4' END,
                                       CASE WHEN bool_or(family = 'uuid') THEN 'uuid' END, CASE WHEN bool_or(family = 'sno') THEN 'sno' END, 'nothing') || ')\M' AS types,
               bool_or(family = 'integer') AS integers
        FROM mcol, LATERAL (VALUES (relname::text), (attname::text), (format('%s_%s_seq', relname, attname))) v(word)),
    func AS (
        SELECT p.oid, p.oid::regprocedure::text AS name, lanname, prosqlbody IS NOT NULL AS atomic, pg_get_functiondef(p.oid) AS body,
               coalesce(prosrc ~ word.any OR proargnames::text ~ word.any, false)
                   OR EXISTS (SELECT FROM pg_trigger JOIN mcol ON tgrelid = rel WHERE tgfoid = p.oid) AS related
        FROM pg_proc p JOIN pg_language l ON l.oid = prolang, word
        WHERE prokind IN ('f', 'p') AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
          AND lanname NOT IN ('c', 'internal') AND ('pg_proc'::regclass, p.oid) NOT IN (TABLE member)),
    index AS (
        SELECT indexrelid, indrelid AS rel, amname, indisprimary, indisunique, indisexclusion, indnatts, indkey[0] AS first, indkey::smallint[] AS columns,
               indpred IS NOT NULL AS is_partial, indexprs IS NOT NULL AS has_expressions, pg_get_indexdef(indexrelid) AS definition
        FROM pg_index JOIN rel ON indrelid = rel JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = relam),
    need AS (  -- what depends on a column, and what depends on these views
        SELECT refobjid AS rel, refobjsubid AS attnum, classid, objid, objsubid FROM pg_depend
        WHERE refclassid = 'pg_class'::regclass AND refobjsubid > 0 AND deptype IN ('n', 'a')
        UNION
        SELECT need.rel, need.attnum, d.classid, d.objid, d.objsubid FROM need
        JOIN pg_rewrite r ON need.classid = 'pg_rewrite'::regclass AND r.oid = need.objid
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = ev_class AND d.deptype = 'n'),
    needs AS (
        SELECT DISTINCT need.rel, need.attnum,
               CASE WHEN classid = 'pg_rewrite'::regclass AND rulename = '_RETURN'
                    THEN format('%s %s', CASE c.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, ev_class::regclass)
                    WHEN classid = 'pg_attrdef'::regclass THEN format('generated column %s.%I', adrelid::regclass, attname)
                    ELSE pg_describe_object(classid, objid, 0) END AS object,
               CASE WHEN classid = 'pg_rewrite'::regclass AND rulename = '_RETURN' THEN ev_class END AS view
        FROM need
        LEFT JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid
        LEFT JOIN pg_class c ON c.oid = ev_class
        LEFT JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
        LEFT JOIN pg_attrdef f ON classid = 'pg_attrdef'::regclass AND f.oid = objid
        LEFT JOIN pg_attribute a ON attrelid = adrelid AND a.attnum = adnum
        WHERE (classid <> 'pg_class'::regclass) AND (k.oid IS NULL OR contype IN ('c', 't'))
          AND (f.oid IS NULL OR adnum <> need.attnum OR adrelid <> need.rel))
$$ AS found \gset

\echo '* Keys that could move'
WITH RECURSIVE :found
SELECT key.rel::regclass AS "table", key.attname AS key, key.type, key.rows::bigint AS rows, coalesce(birth.attname, '-') AS creation_time,
       coalesce((SELECT string_agg(DISTINCT name, ', ') FROM mcol JOIN fkey ON conrelid = mcol.rel AND column_number = mcol.attnum
                 WHERE confrelid = key.rel AND referenced = key.attnum), '-') AS "references"
FROM key LEFT JOIN birth USING (rel) ORDER BY 1::text;

\echo '* What there is to do, by the steps of docs/moving.md'
WITH RECURSIVE :found,
finding(step, what, object, action) AS (
    -- Before the first step.
    SELECT 0, 'partitioned table', mcol.rel::regclass::text, 'see Partitioned tables'
    FROM mcol WHERE relkind = 'p'
    UNION
    SELECT 0, 'inheritance', inhrelid::regclass::text, 'add the columns, triggers, indexes and constraints to each child'
    FROM mcol JOIN pg_inherits ON inhparent = rel WHERE relkind = 'r'
    UNION
    SELECT 0, 'published', format('%s by %I', mcol.rel::regclass, p.pubname), 'add the columns on the subscribers first'
    FROM mcol JOIN pg_class c ON c.oid = rel
    JOIN pg_publication_tables p ON p.schemaname = c.relnamespace::regnamespace::text AND p.tablename = c.relname
    UNION
    -- 1: references that no foreign key shows.
    SELECT 1, CASE WHEN type_column IS NULL THEN 'reference without a foreign key' ELSE 'polymorphic reference' END,
           format('%s.%I %s', rel::regclass, attname, type),
           CASE WHEN type_column IS NOT NULL THEN format('a trigger that looks at %I', type_column)
                WHEN is_array THEN 'several IDs in one value: a trigger that looks up each'
                WHEN target IS NOT NULL THEN format('of %s, by its name', target::regclass)
                ELSE 'of which table?' END
    FROM loose
    UNION
    -- 2: the times.
    SELECT 2, 'no creation time', key.rel::regclass::text, 'sno_new() gives IDs of today; for a uuid of version 7 or a ULID, see there'
    FROM key LEFT JOIN birth USING (rel) WHERE birth.rel IS NULL AND key.family <> 'sno'
    UNION
    SELECT 2, 'creation time', format('%s %s', name, type),
           CASE WHEN type = 'timestamp without time zone' THEN 'of which time zone? fill_... reads it as UTC'
                WHEN type = 'date' THEN 'many rows of one time: spread them'
                ELSE 'a number: to_timestamp(...), with its unit; keep the column' END
    FROM birth WHERE type <> 'timestamp with time zone' AND :'from' <> 'sno'
    UNION
    SELECT 2, 'rows without a time', name, format('coalesce(%I, ...)', attname) FROM stat WHERE null_frac > 0
    UNION
    SELECT 2, 'rows of one time', name, format('about %s of them: spread them', round(frequency * rows)) FROM stat WHERE frequency * rows > 32768
    UNION
    SELECT 2, 'rows from before 2010', name, format('greatest(%I, ...)', attname) FROM stat
    WHERE earliest NOT IN ('-infinity', 'infinity') AND earliest < '2010' COLLATE "C" OR earliest = '-infinity' OR earliest LIKE '%BC'
    UNION
    SELECT 2, 'no index', name, 'fill_... needs an index that begins with it'
    FROM mcol WHERE NOT is_array AND NOT EXISTS (SELECT FROM index WHERE index.rel = mcol.rel AND first = attnum AND NOT is_partial)
    UNION
    -- 3: indexes and constraints that have more than the column in them.
    SELECT 3, CASE WHEN indisexclusion THEN 'exclusion constraint' WHEN NOT indisprimary THEN 'index'
                   WHEN indnatts > 1 THEN 'primary key of several columns' ELSE 'primary key that is a reference' END,
           regexp_replace(definition, '^CREATE ', ''),
           CASE WHEN amname IN ('gist', 'gin', 'spgist') THEN 'the same with ' || string_agg(format('(%I::uuid)', mcol.attname), ', ')
                WHEN indisprimary THEN 'a unique index on the new column; in the switch PRIMARY KEY USING INDEX'
                ELSE 'the same on the new column' END
    FROM index JOIN mcol ON mcol.rel = index.rel AND (attnum = ANY (columns) OR EXISTS (
        SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid = mcol.rel AND refobjsubid = attnum))
    WHERE relkind = 'r' AND NOT (indisprimary AND indnatts = 1 AND is_key)
      AND (indnatts > 1 OR is_partial OR has_expressions OR indisunique OR amname <> 'btree')
    GROUP BY indexrelid, indisexclusion, indisprimary, indnatts, definition, amname
    UNION
    SELECT 3, CASE WHEN array_length(conkey, 1) > 1 THEN 'foreign key of several columns' ELSE 'foreign key' END,
           format('%s of %s', (SELECT conname FROM pg_constraint WHERE oid = fkey.oid), conrelid::regclass),
           'repeat ' || pg_get_constraintdef(oid)
    FROM fkey JOIN mcol ON rel = conrelid AND attnum = column_number
    WHERE array_length(conkey, 1) > 1 OR pg_get_constraintdef(oid) ~ ' (ON (DELETE|UPDATE)|MATCH|DEFERRABLE|NOT VALID)'
    UNION
    -- 5: what uses the old columns.
    SELECT 5, 'uses old columns', object, 'create it again in the switch: ' || string_agg(DISTINCT name, ', ' ORDER BY name)
    FROM needs JOIN mcol USING (rel, attnum) GROUP BY object
    UNION
    SELECT 5, 'default', format('%s DEFAULT %s', name, expression), 'a constant: the first ID is 2222222222222222'
    FROM mcol WHERE expression IS NOT NULL AND attgenerated = '' AND NOT generated
    UNION
    SELECT 5, 'grants on a column', name, 'repeat them' FROM mcol WHERE attacl IS NOT NULL
    UNION
    SELECT 5, 'function', func.name, concat_ws('; ', 'create it again, and call it',
               CASE WHEN body ~* '\m(currval|lastval|nextval)\M' THEN 'currval, lastval: RETURNING' END,
               CASE WHEN body ~* 'advisory_\w*lock' AND integers THEN 'advisory locks: hashtextextended(id::text, 0)' END,
               CASE WHEN body ~* (columns || '\s*[-+*/%]\s*[0-9]') OR body ~* (columns || '\s+BETWEEN\s+[0-9]') THEN 'arithmetic with IDs' END,
               CASE WHEN body ~* (columns || '\s*,\s*(0|-1|''0)') OR body ~* (columns || '\s*(=|<>|!=|<|>|<=|>=)\s*(-?[0-9]|''0)')
                    THEN 'a constant in place of an ID' END,
               CASE WHEN body ~* '\m(to_jsonb?|row_to_json|jsonb?_build_\w+|jsonb?_agg)\M' AND integers THEN 'JSON: IDs become strings' END,
               CASE WHEN body ~* types THEN 'has the old type: ' || (SELECT string_agg(DISTINCT t, ', ')
                    FROM (SELECT lower(t[1]) FROM regexp_matches(body, types, 'gi') t) m(t)) END)
    FROM func, word
    WHERE related AND (body ~* types OR body ~* '\m(currval|lastval|nextval)\M' OR body ~* 'advisory_\w*lock' AND integers
          OR body ~* (columns || '\s*[-+*/%]\s*[0-9]') OR body ~* (columns || '\s+BETWEEN\s+[0-9]')
          OR body ~* (columns || '\s*,\s*(0|-1|''0)') OR body ~* (columns || '\s*(=|<>|!=|<|>|<=|>=)\s*(-?[0-9]|''0)')
          OR body ~* '\m(to_jsonb?|row_to_json|jsonb?_build_\w+|jsonb?_agg)\M' AND integers)
    UNION
    SELECT 5, 'JSON', object, 'IDs become strings' FROM needs JOIN mcol USING (rel, attnum)
    WHERE family = 'integer' AND view IS NOT NULL AND pg_get_viewdef(view) ~* '\m(to_jsonb?|row_to_json|jsonb?_build_\w+|jsonb?_agg)\M'
    UNION
    -- 6: what reads the creation time.
    SELECT 6, 'uses ' || name, object, 'if the column is dropped: sno_time(id)' FROM needs JOIN birth USING (rel, attnum)
    UNION
    SELECT 6, 'uses ' || birth.name, regexp_replace(definition, '^CREATE ', ''), 'vanishes with the column: the same with the key in its place'
    FROM index JOIN birth USING (rel) JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = indexrelid
        AND refobjid = birth.rel AND refobjsubid = birth.attnum
    UNION
    SELECT 6, 'reads ' || string_agg(DISTINCT birth.attname, ', '), func.name, 'fails when it is called, if the column is dropped'
    FROM func JOIN birth ON body ~ ('\m' || birth.attname || '\M') WHERE related GROUP BY func.name)
SELECT * FROM finding ORDER BY step, what, object;

\echo '* What this check could not see'
WITH RECURSIVE :found
SELECT 'statements of the application: casts such as ::bigint and ::uuid, ON CONFLICT ON CONSTRAINT, IDs in its own columns and code' AS "not seen"
UNION ALL SELECT 'IDs in JSON and text, in other databases, on subscribers, in queues and caches'
UNION ALL
SELECT 'statistics of the times, which this role may not read, or no ANALYZE has written: ' || string_agg(birth.name, ', ' ORDER BY birth.name)
FROM birth WHERE NOT EXISTS (SELECT FROM stat WHERE stat.rel = birth.rel) HAVING count(*) > 0
UNION ALL
SELECT func.name || ' builds its statements' FROM func WHERE body ~* '\mEXECUTE\s+(format|''|\w+\s*(\|\||;|USING|INTO))' AND NOT atomic
UNION ALL
SELECT p.oid::regprocedure || ' is in C' FROM pg_proc p JOIN pg_language l ON l.oid = prolang
WHERE lanname = 'c' AND pronamespace <> 'pg_catalog'::regnamespace AND ('pg_proc'::regclass, p.oid) NOT IN (TABLE member);
COMMIT;
