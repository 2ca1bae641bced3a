-- Columns that have whole rows of tables in them: as such, in arrays, in domains, in other rows.
WITH RECURSIVE inside AS (
    SELECT oid AS whole, typelem AS part FROM pg_type WHERE typelem <> 0 AND typlen = -1
    UNION ALL SELECT oid, typbasetype FROM pg_type WHERE typbasetype <> 0
    UNION ALL SELECT reltype, atttypid FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relkind = 'c'),
has AS (
    SELECT oid AS rel, reltype AS type FROM pg_class WHERE relkind IN ('r', 'p') AND reltype <> 0
        AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
    UNION SELECT rel, whole FROM has JOIN inside ON part = type)
SELECT has.rel, format('%s.%I', attrelid::regclass, attname) AS shown
FROM has JOIN pg_attribute ON atttypid = type AND attnum > 0 AND NOT attisdropped JOIN pg_class c ON c.oid = attrelid
WHERE relkind IN ('r', 'p', 'm', 'f') ORDER BY 2
