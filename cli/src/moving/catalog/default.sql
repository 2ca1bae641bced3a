SELECT format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT;', adrelid::regclass, attname) AS "drop",
    format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT ', adrelid::regclass, attname) AS before,
    pg_get_expr(adbin, adrelid) AS definition, ';' AS after,
    CASE WHEN attgenerated <> '' THEN 'is a generated column that reads a function or view to be made again' END AS why
FROM pg_attrdef f JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE f.oid = $1
