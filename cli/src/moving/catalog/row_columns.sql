-- Columns that have whole rows of tables in them: as such, in arrays, in domains, in other rows.
WITH RECURSIVE has AS (
    SELECT oid AS rel, reltype AS type FROM pg_class WHERE relkind IN ('r', 'p') AND reltype <> 0
        AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')
    UNION SELECT has.rel, t.oid FROM has JOIN pg_type t ON t.typelem = type AND t.typlen = -1 OR t.typbasetype = type
        OR t.typtype = 'c' AND EXISTS (SELECT FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
            WHERE attrelid = t.typrelid AND atttypid = type AND relkind = 'c'))
SELECT has.rel, format('%s.%I', attrelid::regclass, attname) AS shown
FROM has JOIN pg_attribute ON atttypid = type AND attnum > 0 AND NOT attisdropped JOIN pg_class c ON c.oid = attrelid
WHERE relkind IN ('r', 'p', 'm', 'f') ORDER BY 2
