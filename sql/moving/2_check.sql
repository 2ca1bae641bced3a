-- What there is to do. What the steps do by themselves is here, too: somebody else may have to know of it.

\pset footer off
BEGIN TRANSACTION READ ONLY;

\echo '* Keys that could move'
WITH RECURSIVE :found
SELECT key.rel::regclass AS "table", key.attname AS key, key.type, key.rows, coalesce(birth.attname, '-') AS creation_time,
       coalesce((SELECT string_agg(DISTINCT format('%s.%I', r.rel::regclass, r.attname), ', ') FROM reference r
                 WHERE r.key_rel = key.rel AND r.key_name = key.attname), '-') AS "references"
FROM key LEFT JOIN birth USING (rel) ORDER BY 1::text;

\echo '* What there is to do, by the steps of docs/moving.md'
WITH RECURSIVE :found
SELECT 0 AS step, what, object, action FROM refused_too
UNION
SELECT 0, 'reads such a table', pg_describe_object('pg_class'::regclass, ev_class, 0), format('goes on reading the old table, without an error: create it again for the new table in the place of %s', rel::regclass)
FROM partition_key JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = rel AND classid = 'pg_rewrite'::regclass JOIN pg_rewrite r ON r.oid = objid
UNION
SELECT 0, 'key without a default', name, 'does not move by itself: name it in keys'
FROM col JOIN pg_constraint ON conrelid = rel AND contype = 'p' AND conkey = ARRAY[attnum]
WHERE family = 'integer' AND NOT generated AND NOT is_inherited AND :'keys' = '' AND (rel, attname) NOT IN (SELECT rel, attname FROM mcol UNION SELECT rel, attname FROM fkey) AND :'from' <> 'sno'
UNION
SELECT 5, 'key without a default', name, 'the first row that is inserted after the switch ends the undo: give it a default before step 1'
FROM mcol WHERE is_key AND NOT generated AND family IN ('integer', 'text') AND :'from' <> 'sno'
UNION
SELECT 0, 'partitioned table', rel::regclass::text, 'stays partitioned as it is: its indexes and foreign keys are built partition by partition'
FROM mcol WHERE relkind = 'p'
UNION
SELECT 0, 'published', format('%s by %I', mcol.rel::regclass, pubname), 'add the columns on the subscribers first; they switch when their apply has stopped, never before'
FROM mcol JOIN pg_class c ON c.oid = rel JOIN pg_publication_tables p ON p.tablename = c.relname AND p.schemaname = relnamespace::regnamespace::text
UNION
SELECT 1, 'reference without a foreign key', format('%s %s', name, type), 'of which table? name it in references'
FROM col WHERE attgenerated = '' AND NOT is_inherited
    AND (attname ~ '(_ids?|[a-z]Ids?)$' AND (family IN (SELECT family FROM key) OR type IN (SELECT key.type || '[]' FROM key))
         OR attname IN (SELECT relname FROM key UNION SELECT regexp_replace(relname, 's$', '') FROM key) AND type IN (SELECT type FROM key))
    AND (rel, attname) NOT IN (SELECT rel, attname FROM fkey) AND (rel, attname) NOT IN (SELECT rel, attname FROM moved)
UNION
SELECT 1, 'deferred foreign key', format('%s of %s', fkey.conname, fkey.conrelid::regclass), 'a row before the row that it refers to gets no ID: change such statements first'
FROM fkey JOIN moved USING (rel, attname) JOIN pg_constraint k ON k.oid = fkey.oid WHERE condeferrable
UNION
SELECT 1, 'generated column', name, 'becomes a column that a trigger fills' FROM mcol WHERE attgenerated <> ''
UNION
SELECT 2, 'no creation time', key.rel::regclass::text, 'sno_new() gives IDs of today; for a uuid of version 7 or a ULID, see there'
FROM key LEFT JOIN birth USING (rel) WHERE birth.rel IS NULL AND key.family <> 'sno'
UNION
SELECT 2, 'creation time', format('%s %s', name, type), 'of which time zone? many rows of one time? a number: in which unit?'
FROM birth WHERE type <> 'timestamp with time zone' AND :'from' <> 'sno'
UNION
SELECT 3, 'index', definition, 'the same on the new column' || CASE WHEN amname IN ('gin', 'gist', 'spgist') THEN ', with a cast to uuid' ELSE '' END
       || CASE WHEN indisexclusion THEN '; locks the table while it is built' ELSE '' END
FROM index JOIN mcol USING (rel) WHERE relkind = 'r' AND NOT (is_simple AND (NOT indisprimary OR is_key))
    AND EXISTS (SELECT FROM pg_depend WHERE objid = indexrelid AND refobjid = mcol.rel AND refobjsubid = attnum
                UNION ALL SELECT FROM pg_constraint JOIN pg_depend ON objid = pg_constraint.oid
                WHERE conindid = indexrelid AND conrelid = mcol.rel AND refobjid = mcol.rel AND refobjsubid = attnum)
UNION
SELECT 3, 'foreign key', format('%s of %s', conname, conrelid::regclass), 'repeats ' || pg_get_constraintdef(oid)
FROM fkey JOIN mcol USING (rel, attname)
WHERE columns > 1 OR conrelid <> rel OR pg_get_constraintdef(oid) ~ ' (ON (DELETE|UPDATE)|MATCH|DEFERRABLE|NOT VALID)'
UNION
SELECT 5, 'uses old columns', CASE WHEN c.relkind IN ('v', 'm') THEN format('%s, of %s%s', pg_describe_object(classid, objid, 0), relowner::regrole, ': ' || array_to_string(reloptions, ', '))
                              ELSE pg_describe_object(classid, objid, 0) END,
       CASE WHEN c.relkind = 'm' THEN 'created again in the switch, empty until the REFRESH after it: '
            WHEN classid = 'pg_publication_rel'::regclass THEN 'added to it again in the switch (no condition may use an ID): '
            ELSE 'created again in the switch: ' END || string_agg(DISTINCT name, ', ' ORDER BY name)
FROM needs JOIN mcol USING (rel, attname) LEFT JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid GROUP BY classid, objid, c.relkind, relowner, reloptions
UNION
SELECT 5, 'default', format('%s DEFAULT %s', name, expression), 'a constant: the first ID is 2222222222222222'
FROM mcol WHERE expression IS NOT NULL AND attgenerated = '' AND NOT generated
UNION
SELECT 5, 'grants on a column', name, 'repeated in the switch' FROM mcol WHERE attacl IS NOT NULL
UNION
SELECT 5, 'function', func.name, 'read it, change it if it has the old type, and call it: ' || string_agg(DISTINCT relname, ', ' ORDER BY relname)
FROM func JOIN mcol ON body ~ ('\m' || relname || '\M') OR attname <> 'id' AND body ~ ('\m' || attname || '\M') GROUP BY func.name
UNION
SELECT 5, 'function by its type', func.name, 'its arguments or its result have the old type: name it in functions'
FROM func WHERE types && ARRAY (SELECT DISTINCT type FROM key) AND func IN (
    SELECT objid FROM needs WHERE classid = 'pg_proc'::regclass
    UNION ALL SELECT refobjid FROM pg_depend JOIN needs USING (classid, objid) WHERE refclassid = 'pg_proc'::regclass)
UNION
SELECT 6, 'filled by a trigger', format('%s by zz_generated', rel::regclass), 'rows that nobody writes keep the values of the old keys: UPDATE them after the switch'
FROM mcol JOIN pg_trigger ON tgrelid = rel WHERE tgname = 'zz_generated'
UNION
SELECT 6, 'uses the creation time', pg_describe_object(classid, objid, 0), 'if the column is dropped: sno_time(id)'
FROM birth JOIN pg_depend d ON refclassid = 'pg_class'::regclass AND refobjid = rel AND refobjsubid = attnum AND classid NOT IN ('pg_class'::regclass, 'pg_rewrite'::regclass)
LEFT JOIN pg_attrdef f ON classid = 'pg_attrdef'::regclass AND f.oid = objid
LEFT JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
WHERE (adrelid, adnum) IS DISTINCT FROM (rel, attnum) AND coalesce(contype IN ('c', 't'), true)
UNION
SELECT 6, 'uses the creation time', pg_describe_object('pg_class'::regclass, ev_class, 0), 'if the column is dropped: sno_time(id)'
FROM birth JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = rel AND refobjsubid = attnum JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid
UNION
SELECT 6, 'uses the creation time', definition, 'vanishes with the column: the same with the key in its place'
FROM index JOIN birth USING (rel) JOIN pg_depend ON objid = indexrelid AND refobjid = birth.rel AND refobjsubid = birth.attnum
ORDER BY step, what, object;

\echo '* It does not see'
\echo 'statements of the application; IDs in JSON and text, on subscribers, in queues and caches; constants, as in CHECK (id <> 1); what functions build'
\echo 'with EXECUTE; references whose names say nothing, such as parent or created_by'
COMMIT;
