SELECT format('ALTER PUBLICATION %I DROP TABLE %s;', pubname, prrelid::regclass) AS "drop",
    concat(format('ALTER PUBLICATION %I ADD TABLE %s', pubname, prrelid::regclass), (SELECT ' ('
        || string_agg(quote_ident(attname), ', ' ORDER BY attnum) || ')' FROM pg_attribute
        WHERE attrelid = prrelid AND attnum = ANY (prattrs))) AS before,
    coalesce(' WHERE (' || pg_get_expr(prqual, prrelid) || ')', '') AS definition, ';' AS after
FROM pg_publication_rel r JOIN pg_publication b ON b.oid = prpubid WHERE r.oid = $1
