-- Which columns cannot move as they are, or become something else.
SELECT DISTINCT 'refused', 'key of a feed', name,
    'feeds end at the switch, and triggers keep the type of the key: have the feeds read to the end, sno_drop_feed(), '
    'then DROP TRIGGER sno_own_keys and sno_changed_keys'
FROM moved JOIN pg_trigger g ON tgrelid = attrelid AND tgparentid = 0
JOIN pg_proc p ON p.oid = tgfoid AND proname = 'refuse_old_key'
JOIN pg_namespace n ON n.oid = pronamespace AND nspname = 'sno_internal'
JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND objid = g.oid AND d.refclassid = 'pg_class'::regclass
    AND refobjid = attrelid AND refobjsubid = attnum
UNION ALL SELECT 'refused', 'partition key', name,
    'no row may change its partition: see Partitioned tables in docs/moving.md'
FROM moved WHERE relkind = 'p' AND (EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = attrelid
        AND attnum = ANY (partattrs)) OR EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
        AND objid = attrelid AND objsubid = 0 AND refobjid = attrelid AND refobjsubid = attnum))
UNION ALL SELECT 'refused', 'part of a key', name,
    'no unique index has it alone, so rows could share it: create one first'
FROM moved WHERE is_key AND relkind = 'r' AND NOT relispartition AND NOT EXISTS (SELECT FROM pg_index
    WHERE indrelid = attrelid AND indisunique AND indisvalid AND indisready AND indpred IS NULL
        AND indnkeyatts = 1 AND indkey[0] = attnum)
UNION ALL SELECT 'refused', 'shared sequence',
    concat(name, ' with ', pg_describe_object(d.classid, d.objid, d.objsubid)),
    'is used by something else, too, but goes with this column: ALTER SEQUENCE ... OWNED BY NONE first'
FROM moved JOIN pg_depend s ON s.classid = 'pg_class'::regclass AND s.refclassid = 'pg_class'::regclass
    AND s.refobjid = attrelid AND s.refobjsubid = attnum AND s.deptype IN ('a', 'i')
JOIN pg_class q ON q.oid = s.objid AND q.relkind = 'S'
JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = s.objid AND d.deptype = 'n'
LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
WHERE f.oid IS NULL OR (adrelid, adnum) <> (attrelid, attnum)
    AND adrelid NOT IN (SELECT relid FROM pg_partition_tree(attrelid))
UNION ALL SELECT 'refused', 'default of a reference', name,
    'is an old key: DROP DEFAULT first, and set another one after the switch'
FROM moved JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE NOT is_key AND attgenerated = '' AND pg_get_expr(adbin, adrelid) !~ '^(NULL|''{}'')'
UNION ALL SELECT 'to do', 'generated column', name,
    'becomes a column that a trigger fills, and its values change with the keys'
FROM moved WHERE attgenerated <> '' AND NOT relispartition
UNION ALL SELECT 'refused', 'constraint NOT NULL', name,
    'NOT VALID, NO INHERIT and comments are not kept: make it an ordinary one first'
FROM moved JOIN pg_constraint k ON conrelid = attrelid AND contype = 'n' AND conkey = ARRAY[attnum]
WHERE NOT convalidated OR connoinherit OR obj_description(k.oid, 'pg_constraint') IS NOT NULL
UNION ALL SELECT 'refused', 'NOT NULL of a partition alone', m.name,
    'is not kept: say it of the whole table, or DROP NOT NULL, first'
FROM moved m JOIN moved whole ON whole.attrelid = pg_partition_root(m.attrelid) AND whole.attname = m.attname
WHERE m.relispartition AND m.attnotnull AND NOT whole.attnotnull
UNION ALL SELECT 'refused', 'NOT NULL of a domain', name,
    'only its domain says so, which does not move: say SET NOT NULL of the column, too'
FROM moved JOIN pg_type t ON t.oid = atttypid WHERE typnotnull AND NOT attnotnull
UNION ALL SELECT 'refused', 'security label', name,
    'is not kept: SECURITY LABEL ... IS NULL first, and set it again after the switch'
FROM moved JOIN pg_seclabel ON (classoid, objoid, objsubid) = ('pg_class'::regclass, attrelid, attnum)
