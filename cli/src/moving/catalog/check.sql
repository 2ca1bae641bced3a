SELECT format('ALTER TABLE %s DROP CONSTRAINT %I;', conrelid::regclass, conname) AS "drop",
    ARRAY[format('ALTER TABLE %s ADD CONSTRAINT %I ', conrelid::regclass, conname),
        regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', ''), concat(E' NOT VALID;\n',
        format('COMMENT ON CONSTRAINT %I ON %s IS ', conname, conrelid::regclass)
            || quote_literal(obj_description(oid, 'pg_constraint')) || ';')] AS make,
    CASE WHEN convalidated THEN format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', conrelid::regclass, conname) END
        AS later
FROM pg_constraint WHERE oid = $1 AND contype = 'c'
