SELECT DISTINCT refobjid FROM pg_depend d LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass
    AND r.oid = d.objid
WHERE refclassid = 'pg_proc'::regclass AND (d.classid::regclass::text = $1 AND d.objid = $2 OR $1 = 'pg_class'
    AND ev_class = $2)
