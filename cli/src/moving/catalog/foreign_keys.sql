SELECT oid, conrelid AS rel, conname AS name, conkey AS columns, confrelid AS "to", confkey AS to_columns,
    regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', '') AS definition, convalidated AS is_validated,
    format('COMMENT ON CONSTRAINT %I ON %s IS ', conname, conrelid::regclass)
        || quote_literal(obj_description(oid, 'pg_constraint')) || ';' AS comment
FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND conrelid = ANY ($1::oid[]) ORDER BY oid
