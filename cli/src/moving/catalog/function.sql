SELECT concat_ws('|', pg_get_userbyid(proowner), proname) AS function, format('DROP %s IF EXISTS %s;', kind, signature) AS "drop",
    -- CREATE alone, not in the place of one that is there. Roles are in quotes, as no type is.
    '' AS before, concat(regexp_replace(rtrim(CASE WHEN prokind <> 'a' THEN pg_get_functiondef(p.oid) END, E';\n'),
            '^CREATE OR REPLACE ', 'CREATE '), E';\n',
        format(E'ALTER %s %s OWNER TO "%s";\n', kind, signature, replace(pg_get_userbyid(proowner), '"', '""')),
        -- What its owner has, and CREATE and default privileges have granted before, goes away.
        (SELECT string_agg(format(E'REVOKE ALL ON ROUTINE %s FROM %s;\n', signature, role), '' ORDER BY role) FROM (
            SELECT x.grantee FROM pg_default_acl, aclexplode(defaclacl) x
                WHERE defaclobjtype = 'f' UNION SELECT proowner UNION SELECT 0) g, LATERAL (SELECT CASE grantee WHEN 0 THEN 'PUBLIC'
                ELSE '"' || replace(pg_get_userbyid(grantee), '"', '""') || '"' END) r(role)),
        (SELECT string_agg(format(E'GRANT %s ON ROUTINE %s TO %s%s;\n', privilege_type, signature,
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE '"' || replace(pg_get_userbyid(grantee), '"', '""') || '"' END,
            CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), '' ORDER BY grantee)
        FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))),
        format('COMMENT ON %s %s IS ', kind, signature)) AS definition,
    coalesce(quote_literal(obj_description(p.oid, 'pg_proc')), 'NULL') || ';' AS after,
    CASE WHEN prokind = 'a' THEN 'is an aggregate: drop it before, and make it again after'
        END AS why
FROM pg_proc p,
LATERAL (SELECT CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, p.oid::regprocedure) o(kind, signature)
WHERE p.oid = $1
