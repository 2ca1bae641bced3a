-- With those of partitions, which get that of their table, but can fire at other times.
WITH RECURSIVE part AS (
    SELECT oid, tgrelid, tgenabled, 0 AS level FROM pg_trigger WHERE oid = $1
    UNION ALL SELECT t.oid, t.tgrelid, t.tgenabled, level + 1 FROM part JOIN pg_trigger t ON tgparentid = part.oid)
SELECT format('DROP TRIGGER IF EXISTS %I ON %s;', tgname, tgrelid::regclass) AS "drop",
    '' AS before, pg_get_triggerdef(oid) AS definition, concat(E';\n', (
            SELECT string_agg(format(E'ALTER TABLE %s %s TRIGGER %I;\n', part.tgrelid::regclass, CASE part.tgenabled
                WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE' END,
                tgname), '' ORDER BY level, part.oid)
            FROM part WHERE level > 0 OR part.tgenabled <> 'O'),
        format('COMMENT ON TRIGGER %I ON %s IS ', tgname, tgrelid::regclass)
            || quote_literal(obj_description(oid, 'pg_trigger')) || ';') AS after
FROM pg_trigger WHERE oid = $1
