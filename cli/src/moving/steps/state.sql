WITH r AS (SELECT n, c.* FROM unnest(ARRAY[{relations}]::text[]) n JOIN pg_class c ON c.oid = to_regclass(n)),
     a AS (SELECT n, attname::text, attnum, relowner, attrelid, attacl, attstattarget, attnotnull
         FROM r JOIN pg_attribute ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
         WHERE attname <> ALL (ARRAY[{columns}]::name[]))
SELECT n AS object, 'owner, options' AS property, concat_ws(', ', pg_get_userbyid(relowner),
    array_to_string(reloptions, ', '), relrowsecurity, relforcerowsecurity, relreplident, relhassubclass,
    relpersistence) AS value FROM r
UNION ALL SELECT n, 'partitions', string_agg(inhrelid::regclass::text, ', ' ORDER BY inhrelid) FROM r
    JOIN pg_inherits ON inhparent = r.oid GROUP BY n
UNION ALL SELECT n, 'column ' || attname, concat_ws(', ', attstattarget, attnotnull) FROM a
-- Several roles can have granted one right; what is made again has them from the owner.
UNION ALL SELECT n, 'rights of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END,
    string_agg(privilege_type || is_grantable, ', ' ORDER BY privilege_type) FROM r, LATERAL (SELECT grantee,
        privilege_type, bool_or(is_grantable) AS is_grantable FROM aclexplode(coalesce(relacl,
        acldefault('r', relowner))) GROUP BY 1, 2) x GROUP BY n, grantee
UNION ALL SELECT n, format('rights of %s on %I', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END,
    attname), string_agg(privilege_type || is_grantable, ', ' ORDER BY privilege_type) FROM a, LATERAL (SELECT grantee,
        privilege_type, bool_or(is_grantable) AS is_grantable FROM aclexplode(attacl) GROUP BY 1, 2) x
    GROUP BY n, attname, grantee
UNION ALL SELECT n, 'comment', obj_description(r.oid, 'pg_class') FROM r
UNION ALL SELECT n, 'comment on ' || attname, col_description(attrelid, attnum) FROM a
UNION ALL SELECT n, 'constraint ' || conname, regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$',
    '') || coalesce(obj_description(k.oid, 'pg_constraint'), '') || ARRAY(SELECT tgenabled FROM pg_trigger
    WHERE tgconstraint = k.oid AND tgenabled <> 'O')::text
          FROM r JOIN pg_constraint k ON conrelid = r.oid WHERE contype <> 'n' AND conparentid = 0
              AND conname <> ALL (ARRAY[{own}]::name[])
UNION ALL SELECT n, 'index ' || i.relname, concat(pg_get_indexdef(indexrelid), indisclustered, indisreplident,
    indisvalid, i.reltablespace, obj_description(indexrelid, 'pg_class'))
          FROM r JOIN pg_index ON indrelid = r.oid JOIN pg_class i ON i.oid = indexrelid
              WHERE i.relname <> ALL (ARRAY[{own}]::name[])
UNION ALL SELECT n, 'trigger ' || tgname, concat(pg_get_triggerdef(t.oid), tgenabled, obj_description(t.oid,
    'pg_trigger')) FROM r JOIN pg_trigger t ON tgrelid = r.oid WHERE NOT tgisinternal
    AND tgname !~ '^zz_(moving|moved|generated)$'
UNION ALL SELECT n, 'policy ' || polname, concat_ws(', ', polcmd, polpermissive, ARRAY(SELECT CASE o
    WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(o) END FROM unnest(polroles) o), pg_get_expr(polqual, polrelid),
    pg_get_expr(polwithcheck, polrelid), obj_description(p.oid, 'pg_policy'))
          FROM r JOIN pg_policy p ON polrelid = r.oid
UNION ALL SELECT n, 'rule ' || rulename, concat(pg_get_ruledef(w.oid), ev_enabled,
    obj_description(w.oid, 'pg_rewrite')) FROM r JOIN pg_rewrite w ON ev_class = r.oid
UNION ALL SELECT n, 'statistics ' || stxname, concat_ws(', ', (SELECT array_agg(attname ORDER BY attname)
    FROM pg_attribute WHERE attrelid = r.oid AND attnum = ANY (stxkeys)), pg_get_statisticsobjdef_expressions(s.oid),
    stxkind, stxowner, stxstattarget, obj_description(s.oid, 'pg_statistic_ext'))
    FROM r JOIN pg_statistic_ext s ON stxrelid = r.oid
UNION ALL SELECT n, 'publication ' || pubname, concat_ws(', ', (SELECT array_agg(attname ORDER BY attname)
    FROM pg_attribute WHERE attrelid = r.oid AND attnum = ANY (prattrs)), pg_get_expr(prqual, prrelid))
          FROM r JOIN pg_publication_rel ON prrelid = r.oid JOIN pg_publication b ON b.oid = prpubid
UNION ALL SELECT 'function ' || proname, 'owner, rights', string_agg(concat_ws(', ', proowner,
    ARRAY (SELECT concat(grantee, bool_or(is_grantable)) FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))
        GROUP BY grantee ORDER BY grantee), prosecdef, proconfig,
    obj_description(oid, 'pg_proc')), '; ' ORDER BY prosrc)
          FROM pg_proc WHERE concat_ws('|', pg_get_userbyid(proowner), proname) = ANY (ARRAY[{functions}]::text[])
    GROUP BY proname
-- Only compared until the switch, which changes them, or is given rights by them.
UNION ALL SELECT current_user, 'until the switch, default privileges', string_agg(format('%s %s %s', defaclnamespace,
    defaclobjtype, defaclacl), ', ' ORDER BY defaclnamespace, defaclobjtype)
    FROM pg_default_acl WHERE pg_get_userbyid(defaclrole) = current_user
UNION ALL SELECT n, 'until the switch, column ' || attname, concat_ws(', ', format_type(atttypid, atttypmod),
    attidentity, attgenerated, (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid
    AND adnum = attnum)) FROM r JOIN pg_attribute ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
    WHERE attname <> ALL (ARRAY[{columns}]::name[])
UNION ALL SELECT n, 'until the switch, what uses ' || attname,
    string_agg(DISTINCT pg_describe_object(classid, objid, 0), ', ')
    FROM r JOIN pg_attribute b ON attrelid = r.oid JOIN pg_depend d ON refclassid = 'pg_class'::regclass
        AND refobjid = attrelid AND refobjsubid = attnum AND deptype = 'n'
    LEFT JOIN pg_constraint k ON classid = 'pg_constraint'::regclass AND k.oid = objid
    WHERE n || '|' || attname = ANY (ARRAY[{until_switch}]::text[]) AND coalesce(conparentid, 0) = 0
        AND coalesce(conrelid, 0) NOT IN (SELECT oid FROM r) GROUP BY n, attname
UNION ALL SELECT 'function ' || proname, 'until the switch, definition', md5(string_agg(CASE prokind
    WHEN 'a' THEN '' ELSE pg_get_functiondef(oid) END, '; ' ORDER BY oid::regprocedure::text))
    FROM pg_proc WHERE concat_ws('|', pg_get_userbyid(proowner), proname) = ANY (ARRAY[{functions}]::text[])
    GROUP BY proname
