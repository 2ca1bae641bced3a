SELECT k.oid, conrelid AS rel, conname::text AS name, conkey AS columns, confrelid AS to_rel, confkey AS to_columns,
       regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '') AS definition,
       concat(CASE confmatchtype WHEN 'f' THEN ' MATCH FULL' END, ' ON UPDATE ' || upd.action,
           ' ON DELETE ' || del.action) AS actions,
       coalesce(confdelsetcols, '{}') AS set_columns, condeferrable AS is_deferrable,
       concat(CASE WHEN condeferrable THEN ' DEFERRABLE' END, CASE
           WHEN condeferred THEN ' INITIALLY DEFERRED' END) AS deferrable,
       convalidated AS is_validated, obj_description(k.oid, 'pg_constraint') AS comment
FROM pg_constraint k CROSS JOIN LATERAL (
    SELECT CASE confupdtype WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL'
        WHEN 'd' THEN 'SET DEFAULT' END) upd(action)
CROSS JOIN LATERAL (SELECT CASE confdeltype WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE'
    WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' END) del(action)
WHERE contype = 'f' AND conparentid = 0 ORDER BY k.oid
