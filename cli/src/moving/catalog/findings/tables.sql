-- Which tables cannot move as they are.
WITH RECURSIVE
-- Types that have others in them, and those that have rows of the tables in them: as such, in arrays, domains, rows.
inside AS (
    SELECT oid AS whole, typelem AS part FROM pg_type WHERE typelem <> 0 AND typlen = -1
    UNION ALL SELECT oid, typbasetype FROM pg_type WHERE typbasetype <> 0
    UNION ALL SELECT reltype, atttypid FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relkind = 'c'),
has_rows AS (
    SELECT shown, reltype AS type FROM part WHERE reltype <> 0
    UNION SELECT shown, whole FROM has_rows JOIN inside ON inside.part = type)
SELECT 'refused', 'inheritance', format('%s of %s', inhrelid::regclass, inhparent::regclass),
    'a key is unique in one table only, and triggers do not fire in the others: leave out what refers to it'
FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
WHERE NOT relispartition AND (inhrelid = ANY ($1) OR inhparent = ANY ($1)) AND relkind IN ('r', 'p', 'f')
UNION ALL SELECT 'refused', 'typed table', shown, 'columns cannot be added: ALTER TABLE ... NOT OF first'
FROM part WHERE reloftype <> 0
UNION ALL SELECT 'refused', 'foreign table', shown, 'is a partition whose rows are elsewhere: detach it first'
FROM part WHERE relkind = 'f'
UNION ALL SELECT 'refused', 'forced row security', shown,
    'its owner does not see all of its rows: NO FORCE ROW LEVEL SECURITY first'
FROM part WHERE relrowsecurity AND relforcerowsecurity AND NOT owner_sees_all
UNION ALL SELECT 'note', 'partitioned table', shown,
    'stays partitioned as it is; no partition may come or go between the steps columns and switch'
FROM part WHERE relkind = 'p' AND NOT relispartition
UNION ALL SELECT 'refused', 'name of the steps', c.relname, 'is that of something else: rename it, or drop it, first'
FROM part JOIN pg_class c USING (relnamespace)
WHERE part.oid = ($1)[1] AND c.relname IN ('sno_move_plan', 'sno_move_progress', 'sno_move_before',
        'sno_move_state') AND NOT $7
UNION ALL SELECT 'refused', 'rows in a column', format('%s.%I of %s', attrelid::regclass, attname, shown),
    'old keys inside of it would be lost: give it another type, or drop it, first'
FROM has_rows JOIN pg_attribute ON atttypid = type AND attnum > 0 AND NOT attisdropped
JOIN pg_class c ON c.oid = attrelid WHERE relkind IN ('r', 'p', 'm', 'f')
