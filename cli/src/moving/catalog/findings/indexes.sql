-- Which indexes cannot be built on the new columns, or not without more.
WITH index AS (
    SELECT concat(nullif(nspname, 'public') || '.', relname) AS shown, amname, contype, i.*
    FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace
    JOIN pg_am ON pg_am.oid = relam LEFT JOIN pg_constraint ON conindid = indexrelid AND conrelid = indrelid
        AND contype IN ('p', 'u', 'x') WHERE indexrelid = ANY ($5::oid[]))
SELECT 'refused', 'invalid index', shown, 'was not built to its end: drop it, or REINDEX it, first'
FROM index WHERE NOT (indisvalid AND indisready)
UNION ALL SELECT 'refused', 'operator class or collation', shown,
    'IDs have none of this name: drop the index first; an ID is found by the index of its key'
FROM index CROSS JOIN generate_series(0, indnkeyatts - 1) n JOIN moved ON attrelid = indrelid AND attnum = indkey[n]
JOIN pg_opclass o ON o.oid = indclass[n] WHERE NOT opcdefault OR indcollation[n] NOT IN (0, attcollation)
UNION ALL SELECT 'refused', 'INCLUDE of an ID', shown, 'an index of this kind cannot have one: drop it first'
FROM index JOIN moved ON attrelid = indrelid AND attnum = ANY ((indkey::int2[])[indnkeyatts:])
WHERE amname IN ('gist', 'spgist')
UNION ALL SELECT 'refused', 'foreign key by an index with an ID', format('%s of %s', conname, conrelid::regclass),
    'refers to a unique constraint that is made again, since it has the ID in INCLUDE: drop one of them first'
FROM pg_constraint JOIN index ON indexrelid = conindid WHERE pg_constraint.contype = 'f' AND conparentid = 0
    AND pg_constraint.oid <> ALL ($6)
UNION ALL SELECT 'refused', 'temporal key', shown, 'WITHOUT OVERLAPS reads all rows under a lock'
FROM index WHERE amname = 'gist' AND contype IN ('p', 'u')
UNION ALL SELECT 'refused', 'statistics target of an index', shown,
    'is not kept: ALTER INDEX ... SET STATISTICS -1 first'
FROM index JOIN pg_attribute ON attrelid = indexrelid AND attstattarget >= 0
UNION ALL SELECT 'refused', 'index that needs an extension', shown,
    'DEPENDS ON EXTENSION is not kept: say NO DEPENDS ON EXTENSION first'
FROM index JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = indexrelid AND deptype = 'x'
UNION ALL SELECT 'to do', 'exclusion constraint', shown, 'the step indexes locks its table while it is built'
FROM index WHERE contype = 'x'
UNION ALL SELECT 'to do', 'index with a cast', shown, 'has the ID as ID::uuid: say so in conditions, too'
FROM index WHERE amname IN ('gin', 'gist', 'spgist')
