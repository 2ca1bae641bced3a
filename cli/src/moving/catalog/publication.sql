SELECT pubname::text AS name, nspname::text AS schema, relname::text AS "table", pg_get_expr(prqual,
    prrelid) AS condition, pg_has_role(current_user, pubowner, 'MEMBER') AS is_ours,
       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = prrelid AND attnum = ANY (prattrs)
           ORDER BY attnum) AS columns
FROM pg_publication_rel r JOIN pg_publication b ON b.oid = prpubid JOIN pg_class c ON c.oid = prrelid
    JOIN pg_namespace n ON n.oid = relnamespace WHERE r.oid = $1
