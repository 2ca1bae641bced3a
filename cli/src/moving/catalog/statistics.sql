SELECT format('DROP STATISTICS IF EXISTS %s;', name) AS "drop",
    '' AS before, pg_get_statisticsobjdef(s.oid) AS definition, concat(format(E';\nALTER STATISTICS %s OWNER TO %I;\n', name,
            pg_get_userbyid(stxowner)),
        CASE WHEN stxstattarget >= 0 THEN format(E'ALTER STATISTICS %s SET STATISTICS %s;\n', name, stxstattarget) END,
        format('COMMENT ON STATISTICS %s IS ', name) || quote_literal(obj_description(s.oid, 'pg_statistic_ext'))
            || ';') AS after
FROM pg_statistic_ext s, LATERAL (SELECT format('%s.%I', stxnamespace::regnamespace, stxname)) n(name) WHERE s.oid = $1
