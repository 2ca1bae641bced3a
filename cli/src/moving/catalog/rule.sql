SELECT format('DROP RULE IF EXISTS %I ON %s;', rulename, ev_class::regclass) AS "drop",
    '' AS before, rtrim(pg_get_ruledef(oid), ';') AS definition, concat(E';\n',
        CASE WHEN ev_enabled <> 'O' THEN format(E'ALTER TABLE %s %s RULE %I;\n', ev_class::regclass, CASE ev_enabled
            WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END, rulename) END,
        format('COMMENT ON RULE %I ON %s IS ', rulename, ev_class::regclass)
            || quote_literal(obj_description(oid, 'pg_rewrite')) || ';') AS after
FROM pg_rewrite WHERE oid = $1
