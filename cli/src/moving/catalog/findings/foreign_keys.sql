-- Which foreign keys cannot be made again, or would keep a statement from running.
WITH key AS (
    SELECT concat(conname, ' of ', shown) AS shown, k.* FROM pg_constraint k JOIN part ON part.oid = conrelid
    WHERE k.oid = ANY ($6::oid[]))
SELECT 'refused', 'foreign key', conname, 'belongs to a table of an extension, which no step changes: drop it first'
FROM pg_constraint JOIN moved ON attrelid = confrelid AND attnum = ANY (confkey)
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = conrelid AND d.deptype = 'e'
WHERE contype = 'f' AND conparentid = 0
UNION ALL SELECT DISTINCT 'refused', 'foreign key', format('%s of %s', conname, conrelid::regclass),
    'has triggers that are disabled or fire always, which is not kept: ALTER TABLE ... ENABLE TRIGGER ALL first'
FROM pg_constraint k JOIN moved ON attrelid = conrelid AND attnum = ANY (conkey)
JOIN pg_trigger ON tgconstraint = k.oid WHERE contype = 'f' AND tgenabled <> 'O'
UNION ALL SELECT 'refused', 'foreign key', shown, 'is of a kind that no step knows: drop it first'
FROM key WHERE pg_get_constraintdef(oid) ~ ' PERIOD | NOT ENFORCED'
UNION ALL SELECT 'to do', 'deferred foreign key', shown,
    'a row before the row that it refers to gets no ID: change such statements first'
FROM key WHERE condeferrable
