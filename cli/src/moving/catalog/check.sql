SELECT format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I;', conrelid::regclass, conname) AS "drop",
    format('ALTER TABLE %s ADD CONSTRAINT %I ', conrelid::regclass, conname) AS before,
    regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '') AS definition,
    concat(E' NOT VALID;\n', format('COMMENT ON CONSTRAINT %I ON %s IS ', conname, conrelid::regclass)
        || quote_literal(obj_description(k.oid, 'pg_constraint')) || ';') AS after,
    CASE WHEN convalidated THEN format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', conrelid::regclass, conname) END
        AS later,
    format('NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass(%L) AND conname = %L
        AND NOT convalidated)', conrelid::regclass, conname) AS later_unless,
    -- Whose functions the validation calls, with the rights of who moves.
    CASE WHEN pg_get_userbyid(relowner) <> current_user
        THEN 'is of a table of another role: drop it before, and make it again after' END AS why
FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid WHERE k.oid = $1 AND contype = 'c'
