-- What others own or have written, and the steps would run or meet, above all with a superuser's rights.
SELECT 'refused', 'other owner', format('%s of %s', shown, owner),
    'the steps call functions of the tables: connect as the owner of all of them, or drop its foreign key first'
FROM part WHERE owner <> current_user
UNION ALL SELECT 'refused', 'schema of another role', format('%s of %s', nspname, f.rolname),
    'its owner could put others in the place of a superuser''s tables: ALTER SCHEMA ... OWNER TO, or connect as a role '
    'that owns the tables and is none'
FROM part JOIN pg_database b ON datname = current_database() JOIN pg_roles f ON f.oid = CASE nspowner
    WHEN 'pg_database_owner'::regrole THEN datdba ELSE nspowner END JOIN me ON me.rolsuper
WHERE NOT f.rolsuper
UNION ALL SELECT 'refused', 'right to create triggers', format('%s of %s', CASE grantee WHEN 0 THEN 'PUBLIC'
        ELSE f.rolname END, shown),
    'a trigger would run with your rights as superuser: REVOKE TRIGGER first, or connect as a role that owns the '
    'tables and is none'
FROM part CROSS JOIN LATERAL aclexplode(relacl) LEFT JOIN pg_roles f ON f.oid = grantee JOIN me ON me.rolsuper
WHERE privilege_type = 'TRIGGER' AND f.rolsuper IS NOT TRUE
UNION ALL SELECT DISTINCT 'refused', 'function of another role', format('%s of %s', p.oid::regprocedure, shown),
    'would run with your rights as superuser: make it a superuser''s, or SECURITY DEFINER, or connect as a role that '
    'owns the tables and is none'
-- Of triggers, defaults, constraints, domains, indexes.
FROM part JOIN (SELECT 'pg_trigger'::regclass AS class, oid, tgrelid AS rel FROM pg_trigger
    UNION ALL SELECT 'pg_attrdef'::regclass, oid, adrelid FROM pg_attrdef
    UNION ALL SELECT 'pg_constraint'::regclass, oid, conrelid FROM pg_constraint
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid, attrelid FROM pg_attribute JOIN pg_constraint k
        ON contypid = atttypid WHERE atttypid <> 0
    UNION ALL SELECT 'pg_class'::regclass, indexrelid, indrelid FROM pg_index) o ON rel = part.oid
JOIN pg_depend d ON d.classid = class AND d.objid = o.oid
LEFT JOIN pg_operator r ON d.refclassid = 'pg_operator'::regclass AND r.oid = d.refobjid
JOIN pg_proc p ON p.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE oprcode END
JOIN pg_roles f ON f.oid = proowner JOIN me ON me.rolsuper
WHERE NOT prosecdef AND NOT f.rolsuper
UNION ALL SELECT 'refused', 'function that others can overload', format('%s by %s', o.shown, (SELECT min(rolname)
        FROM pg_roles r WHERE r.oid = ANY (creators))),
    'one made for IDs would be called in its place: REVOKE CREATE ON SCHEMA first'
-- Whatever reads columns that move, or is made again.
FROM (SELECT DISTINCT refclassid, refobjid FROM pg_depend WHERE (classid, objid) IN (SELECT d.classid, d.objid
        FROM pg_depend d JOIN moved ON d.refclassid = 'pg_class'::regclass AND d.refobjid = attrelid
            AND d.refobjsubid = attnum) AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
    UNION SELECT 'pg_proc'::regclass, unnest($10::oid[])) d
JOIN (SELECT 'pg_proc'::regclass AS class, oid, oid::regprocedure::text AS shown, pronamespace AS namespace,
        proowner AS owner, proargtypes::oid[] AS types FROM pg_proc WHERE oid <> ALL ($11)
    UNION ALL SELECT 'pg_operator'::regclass, oid, oid::regoperator::text, oprnamespace, oprowner,
        ARRAY[oprleft, oprright] FROM pg_operator) o ON o.class = refclassid AND o.oid = refobjid
CROSS JOIN LATERAL (SELECT ARRAY(SELECT r.oid FROM pg_roles r WHERE NOT rolsuper AND rolname NOT IN (current_user,
    'pg_database_owner') AND r.oid <> owner AND has_schema_privilege(r.oid, namespace, 'CREATE'))) c(creators)
WHERE cardinality(creators) > 0 AND EXISTS (SELECT FROM unnest(types) t JOIN pg_type y ON y.oid = t
    WHERE typtype = 'p' OR t IN (SELECT atttypid FROM moved UNION SELECT typbasetype FROM moved JOIN pg_type b
        ON b.oid = atttypid))
