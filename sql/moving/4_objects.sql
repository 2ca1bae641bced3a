-- What is written, part 2: what uses moved columns and is dropped and created again in the switch, as pg_dump would print it, with owner,
-- rights, options and comments.

\if :{?write}

CREATE FUNCTION pg_temp.comment(kind text, object text, description text) RETURNS text LANGUAGE sql
RETURN CASE WHEN description IS NULL THEN '' ELSE format(E'\nCOMMENT ON %s %s IS %L;', kind, object, description) END;

-- Who may do what. What CREATE and default privileges have granted before goes away.
CREATE FUNCTION pg_temp.rights(kind text, object text, of oid, acl aclitem[], columns text DEFAULT '') RETURNS text LANGUAGE sql
RETURN coalesce((
    SELECT string_agg(format(E'\nREVOKE ALL ON %s%s FROM %s;', CASE kind WHEN 'FUNCTION' THEN 'ROUTINE ' END, object, g), '' ORDER BY g)
    FROM (SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS g, grantee
          FROM (SELECT aclexplode(defaclacl) AS a FROM pg_default_acl WHERE defaclobjtype = CASE kind WHEN 'FUNCTION' THEN 'f' ELSE 'r' END) d, LATERAL (SELECT (a).grantee) x
          UNION SELECT 'PUBLIC', 0 WHERE kind = 'FUNCTION' AND acl IS NOT NULL) r
    WHERE grantee <> of AND columns = ''), '') || coalesce((
    SELECT string_agg(format(E'\nGRANT %s ON %s%s TO %s%s;', privileges, CASE kind WHEN 'FUNCTION' THEN 'ROUTINE ' END, object, g, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), '' ORDER BY g, privileges)
    FROM (SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS g, is_grantable, string_agg(privilege_type || columns, ', ' ORDER BY privilege_type) AS privileges
          FROM aclexplode(coalesce(acl, CASE WHEN kind = 'FUNCTION' AND EXISTS (SELECT FROM pg_default_acl WHERE defaclobjtype = 'f') THEN acldefault('f', of) END)) WHERE grantee <> of GROUP BY grantee, is_grantable) r), '');

-- The comment, rights and statistics of a column, for a column that takes its place.
CREATE FUNCTION pg_temp.column_state(t text, of oid, attribute pg_attribute, c text) RETURNS text LANGUAGE sql
RETURN pg_temp.comment('COLUMN', t || '.' || c, col_description(attribute.attrelid, attribute.attnum))
    || pg_temp.rights('TABLE', t, of, attribute.attacl, format(' (%s)', c))
    || CASE WHEN attribute.attstattarget >= 0 THEN format(E'\nALTER TABLE %s ALTER COLUMN %s SET STATISTICS %s;', t, c, attribute.attstattarget) ELSE '' END
    || coalesce((SELECT format(E'\nALTER TABLE %s ALTER COLUMN %s SET (%s);', t, c, string_agg(option, ', '))  -- PostgreSQL 15.20 has one of its own in each view
                 FROM unnest(attribute.attoptions) option WHERE option LIKE 'n\_distinct%' HAVING count(*) > 0), '');

CREATE FUNCTION pg_temp.view_statements(view pg_class, OUT drops text, OUT creates text, OUT later text) LANGUAGE plpgsql AS $$
DECLARE
    kind text := CASE view.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END;
    name text := view.oid::regclass::text;
BEGIN
    drops := format('DROP %s %s;', kind, name);
    creates := format(E'CREATE %s %s%s AS\n%s%s;', kind, name, ' WITH (' || array_to_string(view.reloptions, ', ') || ')', rtrim(pg_get_viewdef(view.oid), ';'),
                      CASE view.relkind WHEN 'm' THEN E'\nWITH NO DATA' END)
        || format(E'\nALTER %s %s OWNER TO %s;', kind, name, view.relowner::regrole)
        || pg_temp.rights(kind, name, view.relowner, view.relacl) || pg_temp.comment(kind, name, obj_description(view.oid, 'pg_class'));
    creates := creates
        || coalesce((SELECT string_agg(pg_temp.column_state(name, view.relowner, a, quote_ident(attname)), '' ORDER BY attnum) FROM pg_attribute a WHERE attrelid = view.oid AND attnum > 0), '')
        || coalesce((SELECT string_agg(format(E'\nALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s;', name, attname, pg_get_expr(adbin, adrelid)), '')
                     FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = view.oid), '')
        || coalesce((SELECT string_agg(format(E'\n%s;%s', pg_get_indexdef(indexrelid), CASE WHEN indisclustered THEN format(E'\nALTER TABLE %s CLUSTER ON %I;', name, relname) END)
                         || pg_temp.comment('INDEX', indexrelid::regclass::text, obj_description(indexrelid, 'pg_class')), '')
                     FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = view.oid), '')
        || coalesce((SELECT string_agg(E'\n' || pg_get_triggerdef(oid) || ';' || pg_temp.trigger_state(t), '') FROM pg_trigger t WHERE tgrelid = view.oid AND NOT tgisinternal), '')
        || coalesce((SELECT string_agg(E'\n' || pg_get_ruledef(oid), '') FROM pg_rewrite WHERE ev_class = view.oid AND rulename <> '_RETURN'), '');
    later := CASE view.relkind WHEN 'm' THEN format('REFRESH MATERIALIZED VIEW %s;', name) END;
END
$$;

CREATE FUNCTION pg_temp.trigger_state(of pg_trigger) RETURNS text LANGUAGE sql
RETURN CASE WHEN of.tgenabled = 'O' THEN '' ELSE
    format(E'\nALTER TABLE %s %s TRIGGER %I;', of.tgrelid::regclass, CASE of.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END, of.tgname) END
    || pg_temp.comment('TRIGGER', format('%I ON %s', of.tgname, of.tgrelid::regclass), obj_description(of.oid, 'pg_trigger'));

-- For functions that are to have the new type in the place of the old ones.
CREATE FUNCTION pg_temp.retyped(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    old text;
BEGIN
    FOR old IN SELECT DISTINCT format_type(atttypid, NULL) FROM columns WHERE is_key LOOP
        definition := regexp_replace(definition, '(^|[^[:alnum:]_."])' || old || '\M', '\1' || (SELECT type FROM options), 'g');
    END LOOP;
    RETURN definition;
END
$$;
CREATE FUNCTION pg_temp.function_statements(of pg_proc, retyped boolean, OUT drops text, OUT creates text) LANGUAGE plpgsql AS $$
DECLARE
    name text := of.oid::regprocedure::text;
    kind text := CASE of.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END;
    new text;
BEGIN
    drops := format('DROP %s %s;', kind, name);
    creates := regexp_replace(rtrim(pg_get_functiondef(of.oid), E'\n'), ';?$', ';');
    IF retyped THEN
        creates := pg_temp.retyped(creates);
        name := pg_temp.retyped(name);
    END IF;
    creates := creates || format(E'\nALTER %s %s OWNER TO %s;', kind, name, of.proowner::regrole)
        || pg_temp.rights('FUNCTION', name, of.proowner, of.proacl) || pg_temp.comment(kind, name, obj_description(of.oid, 'pg_proc'));
END
$$;

CREATE FUNCTION pg_temp.policy_statements(of pg_policy, OUT drops text, OUT creates text) LANGUAGE sql
RETURN (format('DROP POLICY %I ON %s;', of.polname, of.polrelid::regclass),
    format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', of.polname, of.polrelid::regclass, CASE WHEN of.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
           CASE of.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
           (SELECT string_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END, ', ') FROM unnest(of.polroles) role))
    || coalesce(' USING (' || pg_get_expr(of.polqual, of.polrelid) || ')', '') || coalesce(' WITH CHECK (' || pg_get_expr(of.polwithcheck, of.polrelid) || ')', '') || ';'
    || pg_temp.comment('POLICY', format('%I ON %s', of.polname, of.polrelid::regclass), obj_description(of.oid, 'pg_policy')));

CREATE FUNCTION pg_temp.publication_statements(of pg_publication_rel, OUT drops text, OUT creates text) LANGUAGE sql
RETURN (SELECT (format('ALTER PUBLICATION %I DROP TABLE %s;', pubname, of.prrelid::regclass),
    format('ALTER PUBLICATION %I ADD TABLE %s', pubname, of.prrelid::regclass)
    || coalesce((SELECT ' (' || string_agg(quote_ident(attname), ', ' ORDER BY attnum) || ')' FROM pg_attribute WHERE attrelid = of.prrelid AND attnum = ANY (of.prattrs)), '')
    || coalesce(' WHERE (' || pg_get_expr(of.prqual, of.prrelid) || ')', '') || ';') FROM pg_publication WHERE oid = of.prpubid);

-- How one object goes and comes back; later: after the COMMIT. Undone is how it was.
CREATE FUNCTION pg_temp.statements(class oid, object oid, OUT drops text, OUT creates text, OUT later text, OUT undrops text, OUT undone text) LANGUAGE plpgsql AS $$
DECLARE
    is_retyped CONSTANT boolean := class = 'pg_proc'::regclass AND object IN (SELECT func FROM replaced_functions);
BEGIN
    CASE class::regclass::text
    WHEN 'pg_class' THEN SELECT s.* INTO drops, creates, later FROM pg_class c, pg_temp.view_statements(c) s WHERE oid = object;
    WHEN 'pg_rewrite' THEN SELECT format('DROP RULE %I ON %s;', rulename, ev_class::regclass), pg_get_ruledef(oid) INTO drops, creates FROM pg_rewrite WHERE oid = object;
    WHEN 'pg_proc' THEN
        SELECT s.* INTO drops, undone FROM pg_proc p, pg_temp.function_statements(p, false) s WHERE oid = object;
        SELECT s.creates INTO creates FROM pg_proc p, pg_temp.function_statements(p, is_retyped) s WHERE oid = object;
        undrops := CASE WHEN is_retyped THEN pg_temp.retyped(drops) END;
    WHEN 'pg_policy' THEN SELECT s.* INTO drops, creates FROM pg_policy p, pg_temp.policy_statements(p) s WHERE oid = object;
    WHEN 'pg_publication_rel' THEN SELECT s.* INTO drops, creates FROM pg_publication_rel p, pg_temp.publication_statements(p) s WHERE oid = object;
    WHEN 'pg_trigger' THEN
        SELECT format('DROP TRIGGER %I ON %s;', tgname, tgrelid::regclass), pg_get_triggerdef(oid) || ';' || pg_temp.trigger_state(t) INTO drops, creates FROM pg_trigger t WHERE oid = object;
    WHEN 'pg_statistic_ext' THEN
        SELECT format('DROP STATISTICS %I.%I;', nspname, stxname),
               pg_get_statisticsobjdef(s.oid) || format(E';\nALTER STATISTICS %I.%I OWNER TO %s;', nspname, stxname, stxowner::regrole)
               || CASE WHEN stxstattarget >= 0 THEN format(E'\nALTER STATISTICS %I.%I SET STATISTICS %s;', nspname, stxname, stxstattarget) ELSE '' END
               || pg_temp.comment('STATISTICS', format('%I.%I', nspname, stxname), obj_description(s.oid, 'pg_statistic_ext'))
        INTO drops, creates FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace WHERE s.oid = object;
    WHEN 'pg_constraint' THEN
        SELECT format('ALTER TABLE %s DROP CONSTRAINT %I;', conrelid::regclass, conname),
               format('ALTER TABLE %s ADD CONSTRAINT %I %s%s;', conrelid::regclass, conname, pg_get_constraintdef(oid), CASE WHEN convalidated THEN ' NOT VALID' END)
               || pg_temp.comment('CONSTRAINT', format('%I ON %s', conname, conrelid::regclass), obj_description(oid, 'pg_constraint')),
               CASE WHEN convalidated THEN format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', conrelid::regclass, conname) END
        INTO drops, creates, later FROM pg_constraint WHERE oid = object;
    WHEN 'pg_attrdef' THEN
        SELECT format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT;', adrelid::regclass, attname),
               format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s;', adrelid::regclass, attname, pg_get_expr(adbin, adrelid))
        INTO drops, creates FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE pg_attrdef.oid = object;
    ELSE creates := pg_temp.remark('BY HAND: ' || pg_describe_object(class, object, 0));
    END CASE;
    undrops := coalesce(undrops, drops);
    undone := coalesce(undone, creates);
    creates := pg_temp.without_casts(creates);
END
$$;
CREATE TEMP TABLE objects AS SELECT classid, objid, level, s.* FROM found_objects, pg_temp.statements(classid, objid) s;
\endif
