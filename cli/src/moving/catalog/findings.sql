-- What the catalogs say of tables and partitions ($1), of their columns that move ($2 tables, $3 numbers, $4 whether
-- a key), of the indexes that read these ($5), of the foreign keys between these ($6), and of functions: 0 forbids a
-- move, 1 is for the DBA to do, 2 is what the steps do. $7: a move is under way; $8: names that move; $9: their types;
-- $10: functions that objects call; $11: those that the DBA names.
WITH RECURSIVE me AS (SELECT * FROM pg_roles WHERE rolname = current_user),
part AS (
    SELECT concat(nullif(nspname, 'public') || '.', relname) AS shown, nspname, nspowner, rolname AS owner,
        rolsuper OR rolbypassrls AS owner_sees_all, c.*
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_roles o ON o.oid = relowner
    WHERE c.oid = ANY ($1::oid[])),
moved AS (
    SELECT concat(shown, '.', attname) AS name, relkind, relispartition, is_key, a.*
    FROM unnest($2::oid[], $3::int2[], $4::boolean[]) u(rel, n, is_key) JOIN part ON part.oid = rel
    JOIN pg_attribute a ON attrelid = rel AND attnum = n),
index AS (
    SELECT concat(nullif(nspname, 'public') || '.', relname) AS shown, amname, contype, i.*
    FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
    JOIN pg_am ON pg_am.oid = relam LEFT JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid
        AND contype IN ('p', 'u', 'x') WHERE indexrelid = ANY ($5::oid[])),
key AS (
    SELECT concat(conname, ' of ', shown) AS shown, k.* FROM pg_constraint k JOIN part ON part.oid = conrelid
    WHERE k.oid = ANY ($6::oid[])),
-- Types that have others in them, and those that have rows of the tables in them: as such, in arrays, domains, rows.
inside AS (
    SELECT oid AS whole, typelem AS part FROM pg_type WHERE typelem <> 0 AND typlen = -1
    UNION ALL SELECT oid, typbasetype FROM pg_type WHERE typbasetype <> 0
    UNION ALL SELECT reltype, atttypid FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relkind = 'c'),
has_rows AS (
    SELECT shown, reltype AS type FROM part WHERE reltype <> 0
    UNION SELECT shown, whole FROM has_rows JOIN inside ON inside.part = type),
-- In languages that name tables and types: as SQL sees it, or as it is written.
function AS (
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

-- Of tables.
SELECT 0 AS kind, 'inheritance' AS what, format('%s of %s', inhrelid::regclass, inhparent::regclass) AS object,
    'a key is unique in one table only, and triggers do not fire in the others: leave out what refers to it' AS action
FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
WHERE NOT relispartition AND (inhrelid = ANY ($1) OR inhparent = ANY ($1)) AND relkind IN ('r', 'p', 'f')
UNION ALL SELECT 0, 'late trigger', format('%s on %s', tgname, shown),
    'BEFORE EACH ROW, it could change a row after the trigger that fills it: rename it to a name before zz_generated'
FROM part JOIN pg_trigger ON tgrelid = part.oid
WHERE tgparentid = 0 AND NOT tgisinternal AND tgtype & 3 = 3 AND tgname::text COLLATE "C" > 'zz_generated'
UNION ALL SELECT DISTINCT 0, 'function of another role', format('%s of %s', p.oid::regprocedure, shown),
    'would run with your rights as superuser: make it a superuser''s, or SECURITY DEFINER, or connect as a role that '
    'owns the tables and is none'
-- Of triggers, defaults, constraints, domains, indexes.
FROM part JOIN (SELECT 'pg_trigger'::regclass AS class, oid, tgrelid AS rel FROM pg_trigger
    UNION ALL SELECT 'pg_attrdef'::regclass, oid, adrelid FROM pg_attrdef
    UNION ALL SELECT 'pg_constraint'::regclass, oid, conrelid FROM pg_constraint
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid, attrelid FROM pg_attribute JOIN pg_constraint k
        ON contypid = atttypid WHERE atttypid <> 0
    UNION ALL SELECT 'pg_class'::regclass, indexrelid, indrelid FROM pg_index) o ON rel = part.oid
JOIN pg_depend d ON d.classid = class AND d.objid = o.oid
LEFT JOIN pg_operator r ON d.refclassid = 'pg_operator'::regclass AND r.oid = d.refobjid
JOIN pg_proc p ON p.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE oprcode END
JOIN pg_roles f ON f.oid = proowner JOIN me ON me.rolsuper
WHERE NOT prosecdef AND NOT f.rolsuper
UNION ALL SELECT 0, 'right to create triggers', format('%s of %s', CASE grantee WHEN 0 THEN 'PUBLIC'
        ELSE f.rolname END, shown),
    'a trigger would run with your rights as superuser: REVOKE TRIGGER first, or connect as a role that owns the '
    'tables and is none'
FROM part CROSS JOIN LATERAL aclexplode(relacl) LEFT JOIN pg_roles f ON f.oid = grantee JOIN me ON me.rolsuper
WHERE privilege_type = 'TRIGGER' AND f.rolsuper IS NOT TRUE
UNION ALL SELECT 0, 'function that others can overload', format('%s by %s', o.shown, (SELECT min(rolname)
        FROM pg_roles r WHERE r.oid = ANY (creators))),
    'one made for IDs would be called in its place: REVOKE CREATE ON SCHEMA first'
-- Whatever reads columns that move, or is made again.
FROM (SELECT DISTINCT refclassid, refobjid FROM pg_depend WHERE (classid, objid) IN (SELECT d.classid, d.objid
        FROM pg_depend d JOIN moved ON d.refclassid = 'pg_class'::regclass AND d.refobjid = attrelid
            AND d.refobjsubid = attnum) AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
    UNION SELECT 'pg_proc'::regclass, unnest($10::oid[])) d
JOIN (SELECT 'pg_proc'::regclass AS class, oid, oid::regprocedure::text AS shown, pronamespace AS namespace,
        proowner AS owner, proargtypes::oid[] AS types FROM pg_proc WHERE oid <> ALL ($11)
    UNION ALL SELECT 'pg_operator'::regclass, oid, oid::regoperator::text, oprnamespace, oprowner,
        ARRAY[oprleft, oprright] FROM pg_operator) o ON o.class = refclassid AND o.oid = refobjid
CROSS JOIN LATERAL (SELECT ARRAY(SELECT r.oid FROM pg_roles r WHERE NOT rolsuper AND rolname NOT IN (current_user,
    'pg_database_owner') AND r.oid <> owner AND has_schema_privilege(r.oid, namespace, 'CREATE'))) c(creators)
WHERE cardinality(creators) > 0 AND EXISTS (SELECT FROM unnest(types) t JOIN pg_type y ON y.oid = t
    WHERE typtype = 'p' OR t IN (SELECT atttypid FROM moved UNION SELECT typbasetype FROM moved JOIN pg_type b
        ON b.oid = atttypid))
UNION ALL SELECT 0, 'schema of another role', format('%s of %s', nspname, f.rolname),
    'its owner could put others in the place of a superuser''s tables: ALTER SCHEMA ... OWNER TO, or connect as a role '
    'that owns the tables and is none'
FROM part JOIN pg_database b ON datname = current_database() JOIN pg_roles f ON f.oid = CASE nspowner
    WHEN 'pg_database_owner'::regrole THEN datdba ELSE nspowner END JOIN me ON me.rolsuper
WHERE NOT f.rolsuper
UNION ALL SELECT 1, 'statement trigger', format('%s on %s', tgname, shown),
    'fires in the step fill with search_path = pg_catalog: ALTER FUNCTION ... SET search_path first'
FROM part JOIN pg_trigger ON tgrelid = part.oid JOIN pg_proc p ON p.oid = tgfoid
WHERE NOT tgisinternal AND tgtype & 3 = 2 AND tgtype & 16 > 0
    AND NOT EXISTS (SELECT FROM unnest(proconfig) u WHERE u LIKE 'search\_path=%')
UNION ALL SELECT 0, 'rule on UPDATE', format('%s on %s', rulename, shown),
    'the step fill would follow it: DISABLE RULE first, and enable it again after the move'
FROM part JOIN pg_rewrite ON ev_class = part.oid WHERE ev_type = '2' AND ev_enabled <> 'D'
UNION ALL SELECT 1, 'subscribed', shown,
    'its rows come by a subscription, for which no trigger fires: they need the publisher''s columns'
FROM part JOIN pg_subscription_rel ON srrelid = part.oid
UNION ALL SELECT 1, 'published', format('%s by %s', shown, pubname),
    'add the columns on the subscribers first; they switch when their apply has stopped, never before'
FROM part JOIN pg_publication_tables ON (schemaname, tablename) = (nspname, relname)
UNION ALL SELECT 0, 'published without a replica identity', shown,
    'no row of it can be changed, so the step fill could not: say REPLICA IDENTITY first'
FROM part WHERE relkind = 'r' AND (relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS (
        SELECT FROM pg_index WHERE indrelid = part.oid AND indisprimary)) AND EXISTS (
    SELECT FROM pg_publication b WHERE pubupdate AND (puballtables
        OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = b.oid AND pnnspid = relnamespace)
        OR EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = b.oid AND prrelid IN (
            SELECT part.oid UNION ALL SELECT pg_partition_ancestors(part.oid)))))
UNION ALL SELECT 0, 'rows in a column', format('%s.%I of %s', attrelid::regclass, attname, shown),
    'old keys inside of it would be lost: give it another type, or drop it, first'
FROM has_rows JOIN pg_attribute ON atttypid = type AND attnum > 0 AND NOT attisdropped
JOIN pg_class c ON c.oid = attrelid WHERE relkind IN ('r', 'p', 'm', 'f')
UNION ALL SELECT 0, 'other owner', format('%s of %s', shown, owner),
    'the steps call functions of the tables: connect as the owner of all of them, or drop its foreign key first'
FROM part WHERE owner <> current_user
UNION ALL SELECT 0, 'typed table', shown, 'columns cannot be added: ALTER TABLE ... NOT OF first'
FROM part WHERE reloftype <> 0
UNION ALL SELECT 0, 'foreign table', shown, 'is a partition whose rows are elsewhere: detach it first'
FROM part WHERE relkind = 'f'
UNION ALL SELECT 0, 'forced row security', shown,
    'its owner does not see all of its rows: NO FORCE ROW LEVEL SECURITY first'
FROM part WHERE relrowsecurity AND relforcerowsecurity AND NOT owner_sees_all
UNION ALL SELECT 2, 'partitioned table', shown,
    'stays partitioned as it is; no partition may come or go between the steps columns and switch'
FROM part WHERE relkind = 'p' AND NOT relispartition
UNION ALL SELECT 0, 'name of the steps', c.relname, 'is that of something else: rename it, or drop it, first'
FROM part JOIN pg_class c USING (relnamespace) 
WHERE part.oid = ($1)[1] AND c.relname IN ('sno_move_plan', 'sno_move_progress', 'sno_move_before',
        'sno_move_state') AND NOT $7
UNION ALL SELECT 1, 'event trigger', evtname, 'fires for the statements of the steps: try them on a restored backup'
FROM pg_event_trigger e WHERE evtenabled <> 'D' AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid AND d.deptype = 'e')

-- Of columns.
UNION ALL SELECT DISTINCT 0, 'key of a feed', name,
    'feeds end at the switch, and triggers keep the type of the key: have the feeds read to the end, sno_drop_feed(), '
    'then DROP TRIGGER sno_own_keys and sno_changed_keys'
FROM moved JOIN pg_trigger g ON tgrelid = attrelid AND tgparentid = 0
JOIN pg_proc p ON p.oid = tgfoid AND proname = 'refuse_old_key'
JOIN pg_namespace n ON n.oid = pronamespace AND nspname = 'sno_internal'
JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND objid = g.oid AND d.refclassid = 'pg_class'::regclass
    AND refobjid = attrelid AND refobjsubid = attnum
UNION ALL SELECT 0, 'published by a key', format('%s by %s', name, pubname),
    'is in the WHERE of a publication, which can have no ID: DROP TABLE it there first, and add it without'
FROM moved JOIN pg_publication_rel ON prrelid = attrelid AND prqual::text ~ format(':varattno %s ', attnum)
JOIN pg_publication p ON p.oid = prpubid
UNION ALL SELECT 0, 'security label', name,
    'is not kept: SECURITY LABEL ... IS NULL first, and set it again after the switch'
FROM moved JOIN pg_seclabel ON (classoid, objoid, objsubid) = ('pg_class'::regclass, attrelid, attnum)
UNION ALL SELECT 0, 'constraint NOT NULL', name,
    'NOT VALID, NO INHERIT and comments are not kept: make it an ordinary one first'
FROM moved JOIN pg_constraint k ON conrelid = attrelid AND contype = 'n' AND conkey = ARRAY[attnum]
WHERE NOT convalidated OR connoinherit OR obj_description(k.oid, 'pg_constraint') IS NOT NULL
UNION ALL SELECT 0, 'NOT NULL of a partition alone', m.name,
    'is not kept: say it of the whole table, or DROP NOT NULL, first'
FROM moved m JOIN moved whole ON whole.attrelid = pg_partition_root(m.attrelid) AND whole.attname = m.attname
WHERE m.relispartition AND m.attnotnull AND NOT whole.attnotnull
UNION ALL SELECT 0, 'shared sequence', concat(name, ' with ', pg_describe_object(d.classid, d.objid, d.objsubid)),
    'is used by something else, too, but goes with this column: ALTER SEQUENCE ... OWNED BY NONE first'
FROM moved JOIN pg_depend s ON s.classid = 'pg_class'::regclass AND s.refclassid = 'pg_class'::regclass
    AND s.refobjid = attrelid AND s.refobjsubid = attnum AND s.deptype IN ('a', 'i')
JOIN pg_class q ON q.oid = s.objid AND q.relkind = 'S'
JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = s.objid AND d.deptype = 'n'
LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
WHERE f.oid IS NULL OR (adrelid, adnum) <> (attrelid, attnum)
    AND adrelid NOT IN (SELECT relid FROM pg_partition_tree(attrelid))
UNION ALL SELECT 0, 'NOT NULL of a domain', name,
    'only its domain says so, which does not move: say SET NOT NULL of the column, too'
FROM moved JOIN pg_type t ON t.oid = atttypid WHERE typnotnull AND NOT attnotnull
UNION ALL SELECT 0, 'partition key', name, 'no row may change its partition: see Partitioned tables in docs/moving.md'
FROM moved WHERE relkind = 'p' AND (EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = attrelid
        AND attnum = ANY (partattrs)) OR EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
        AND objid = attrelid AND objsubid = 0 AND refobjid = attrelid AND refobjsubid = attnum))
UNION ALL SELECT 0, 'part of a key', name, 'no unique index has it alone, so rows could share it: create one first'
FROM moved WHERE is_key AND relkind = 'r' AND NOT relispartition AND NOT EXISTS (SELECT FROM pg_index
    WHERE indrelid = attrelid AND indisunique AND indisvalid AND indisready AND indpred IS NULL
        AND indnkeyatts = 1 AND indkey[0] = attnum)
UNION ALL SELECT 1, 'generated column', name,
    'becomes a column that a trigger fills, and its values change with the keys'
FROM moved WHERE attgenerated <> '' AND NOT relispartition
UNION ALL SELECT 0, 'default of a reference', name,
    'is an old key: DROP DEFAULT first, and set another one after the switch'
FROM moved JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE NOT is_key AND attgenerated = '' AND pg_get_expr(adbin, adrelid) !~ '^(NULL|''{}'')'
UNION ALL SELECT 1, 'column that a trigger fills', format('%s on %s', tgname, shown),
    'has the old keys until its row is written again: UPDATE all rows after the switch'
FROM part JOIN pg_trigger ON tgrelid = part.oid WHERE tgname = 'zz_generated' AND tgparentid = 0

-- Of indexes and foreign keys.
UNION ALL SELECT 0, 'invalid index', shown, 'was not built to its end: drop it, or REINDEX it, first'
FROM index WHERE NOT (indisvalid AND indisready)
UNION ALL SELECT 0, 'operator class or collation', shown,
    'IDs have none of this name: drop the index first; an ID is found by the index of its key'
FROM index CROSS JOIN generate_series(0, indnkeyatts - 1) n JOIN moved ON attrelid = indrelid AND attnum = indkey[n]
JOIN pg_opclass o ON o.oid = indclass[n] WHERE NOT opcdefault OR indcollation[n] NOT IN (0, attcollation)
UNION ALL SELECT 0, 'INCLUDE of an ID', shown, 'an index of this kind cannot have one: drop it first'
FROM index JOIN moved ON attrelid = indrelid AND attnum = ANY ((indkey::int2[])[indnkeyatts:])
WHERE amname IN ('gist', 'spgist')
UNION ALL SELECT 0, 'temporal key', shown, 'WITHOUT OVERLAPS reads all rows under a lock'
FROM index WHERE amname = 'gist' AND contype IN ('p', 'u')
UNION ALL SELECT 0, 'statistics target of an index', shown, 'is not kept: ALTER INDEX ... SET STATISTICS -1 first'
FROM index JOIN pg_attribute ON attrelid = indexrelid AND attstattarget >= 0
UNION ALL SELECT 0, 'index that needs an extension', shown,
    'DEPENDS ON EXTENSION is not kept: say NO DEPENDS ON EXTENSION first'
FROM index JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = indexrelid AND deptype = 'x'
UNION ALL SELECT 1, 'exclusion constraint', shown, 'the step indexes locks its table while it is built'
FROM index WHERE contype = 'x'
UNION ALL SELECT 1, 'index with a cast', shown, 'has the ID as ID::uuid: say so in conditions, too'
FROM index WHERE amname IN ('gin', 'gist', 'spgist')
UNION ALL SELECT 0, 'foreign key', conname, 'belongs to a table of an extension, which no step changes: drop it first'
FROM pg_constraint JOIN moved ON attrelid = confrelid AND attnum = ANY (confkey)
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = conrelid AND d.deptype = 'e'
WHERE contype = 'f' AND conparentid = 0
UNION ALL SELECT 0, 'foreign key by an index with an ID', format('%s of %s', conname, conrelid::regclass),
    'refers to a unique constraint that is made again, since it has the ID in INCLUDE: drop one of them first'
FROM pg_constraint JOIN index ON indexrelid = conindid WHERE pg_constraint.contype = 'f' AND conparentid = 0
    AND pg_constraint.oid <> ALL ($6)
UNION ALL SELECT DISTINCT 0, 'foreign key', format('%s of %s', conname, conrelid::regclass),
    'has triggers that are disabled or fire always, which is not kept: ALTER TABLE ... ENABLE TRIGGER ALL first'
FROM pg_constraint k JOIN moved ON attrelid = conrelid AND attnum = ANY (conkey)
JOIN pg_trigger ON tgconstraint = k.oid WHERE contype = 'f' AND tgenabled <> 'O'
UNION ALL SELECT 1, 'deferred foreign key', shown,
    'a row before the row that it refers to gets no ID: change such statements first'
FROM key WHERE condeferrable
UNION ALL SELECT 0, 'foreign key', shown, 'is of a kind that no step knows: drop it first'
FROM key WHERE pg_get_constraintdef(oid) ~ ' PERIOD | NOT ENFORCED'

-- Of functions.
UNION ALL SELECT 0, 'second function', p.oid::regprocedure::text,
    'makes a call of that of the extension ambiguous: DROP it first, and REVOKE CREATE ON SCHEMA from its owner'
FROM pg_proc p JOIN pg_extension ON extname = 'sno' AND extnamespace = pronamespace WHERE proname = 'sno_new'
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
UNION ALL SELECT 1, 'function', shown, 'names what moves: read it, change it if it has the old type, and call it'
FROM function WHERE names
UNION ALL SELECT 1, 'function by its type', shown,
    'its arguments or its result have the old type: name it with --function'
FROM function WHERE has_type AND (names OR oid = ANY ($10::oid[]))
-- A table of another role stops no move: any role could have one that looks as if the function read it.
UNION ALL SELECT DISTINCT CASE WHEN is_ours THEN 0 ELSE 1 END, 'name that is also a type',
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
