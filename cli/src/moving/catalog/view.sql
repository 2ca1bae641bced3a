SELECT c.oid::regclass::text AS relation, relkind = 'm' AS is_materialized,
    format('DROP %s IF EXISTS %s;', kind, c.oid::regclass) AS "drop",
    concat('CREATE ', kind, ' ', c.oid::regclass, ' WITH (' || array_to_string(reloptions, ', ') || ')', E' AS\n')
        AS before,
    rtrim(pg_get_viewdef(c.oid), ';') AS definition,
    concat(CASE relkind WHEN 'm' THEN E'\nWITH NO DATA' END, format(E';\nALTER %s %s OWNER TO %I;\n', kind,
            c.oid::regclass, pg_get_userbyid(relowner)),
        -- What its owner has, and default privileges have granted before, goes away.
        (SELECT string_agg(format(E'REVOKE ALL ON TABLE %s FROM %s;\n', c.oid::regclass,
            CASE role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(role)) END), '' ORDER BY role) FROM (
            SELECT grantee FROM pg_default_acl, aclexplode(defaclacl) WHERE defaclobjtype = 'r'
            UNION SELECT relowner) g(role)),
        (SELECT string_agg(format(E'GRANT %s ON TABLE %s TO %s%s;\n', privilege_type, c.oid::regclass,
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
            CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), '' ORDER BY grantee, privilege_type)
        FROM aclexplode(coalesce(relacl, acldefault('r', relowner)))),
        format('COMMENT ON %s %s IS ', kind, c.oid::regclass) || quote_literal(obj_description(c.oid, 'pg_class'))
            || E';\n',
        (SELECT string_agg(concat({state}, format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT ', attrelid::regclass,
            attname) || pg_get_expr(adbin, adrelid) || E';\n'), '' ORDER BY attnum)
        FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = c.oid AND attnum > 0)) AS after,
    CASE WHEN relkind = 'm' AND relispopulated THEN format('REFRESH MATERIALIZED VIEW %s;', c.oid::regclass) END
        AS later,
    format('coalesce((SELECT relispopulated FROM pg_class WHERE oid = to_regclass(%L)), true)', c.oid::regclass)
        AS later_unless,
    CASE WHEN c.reltablespace <> 0 OR relkind = 'm' AND relam <> (SELECT oid FROM pg_am WHERE amname = 'heap')
        OR EXISTS (SELECT FROM pg_class t WHERE t.oid = c.reltoastrelid AND t.reloptions IS NOT NULL)
        OR EXISTS (SELECT FROM pg_attribute a JOIN pg_type y ON y.oid = atttypid WHERE attrelid = c.oid AND attnum > 0
            AND (attstorage <> typstorage OR attcompression <> ''))
        OR EXISTS (SELECT FROM pg_index JOIN pg_class i ON i.oid = indexrelid
            WHERE indrelid = c.oid AND (i.reltablespace <> 0 OR EXISTS (
                SELECT FROM pg_attribute WHERE attrelid = i.oid AND attstattarget >= 0)))
        THEN 'has a tablespace, access method, STORAGE, COMPRESSION or options of a TOAST table of its own, or an index '
            'with a tablespace or statistics target, which are not kept: drop it before, and make it again after'
        END AS why,
    ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid = c.oid ORDER BY indexrelid) AS indexes,
    ARRAY(SELECT oid FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal ORDER BY oid) AS triggers,
    ARRAY(SELECT oid FROM pg_rewrite WHERE ev_class = c.oid AND rulename <> '_RETURN' ORDER BY oid) AS rules,
    ARRAY(SELECT oid FROM pg_statistic_ext WHERE stxrelid = c.oid ORDER BY oid) AS statistics
FROM pg_class c, LATERAL (SELECT CASE relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END) k(kind)
WHERE c.oid = $1 AND relkind IN ('v', 'm')
