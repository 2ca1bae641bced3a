-- Columns of a domain, with its base type, and of varchar, that an object ($1 class, $2), or what is part of a view, reads:
-- PostgreSQL shows a cast for each use. Where it shows that of another type's column of this name, too, no cast can go.
WITH part AS (
    SELECT $1::text::regclass::oid AS classid, $2::oid AS objid
    UNION ALL SELECT d.classid, d.objid FROM pg_depend d JOIN pg_class c ON c.oid = refobjid AND relkind IN ('v', 'm')
    WHERE refclassid = 'pg_class'::regclass AND refclassid = $1::text::regclass AND refobjid = $2
        AND deptype IN ('a', 'i')),
of_column AS (
    SELECT DISTINCT quote_ident(attname) AS name, atttypid AS type,
        CASE typtype WHEN 'd' THEN format_type(typbasetype, NULL) END AS base,
        CASE typtype WHEN 'd' THEN typbasetype WHEN 'b' THEN t.oid END AS plain
    FROM part JOIN pg_depend d USING (classid, objid)
    JOIN pg_attribute ON refclassid = 'pg_class'::regclass AND attrelid = refobjid AND attnum = refobjsubid
    JOIN pg_type t ON t.oid = atttypid)
SELECT DISTINCT name, base FROM of_column c
WHERE (base IS NOT NULL OR type = 'varchar'::regtype) AND NOT EXISTS (SELECT FROM of_column o WHERE o.name = c.name
    AND o.plain IS DISTINCT FROM c.plain)
