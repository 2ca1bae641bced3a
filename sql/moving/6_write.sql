-- What is written, part 4: the switch, its undo, the end, and the files.

\if :{?write}

-- What is to be equal before and after: owners, rights, options, row security, comments, and all that hangs on the tables and views.
CREATE FUNCTION pg_temp.state_function() RETURNS text LANGUAGE sql
RETURN pg_temp.put($$CREATE OR REPLACE FUNCTION {state}() RETURNS TABLE (object text, property text, value text) LANGUAGE sql STABLE SET search_path = pg_catalog AS $state$
    WITH r AS (SELECT n, c.* FROM unnest(ARRAY[{relations}]) n JOIN pg_class c ON c.oid = to_regclass(n)),
         a AS (SELECT n, attname::text, attnum, relowner, attrelid, attacl FROM r JOIN pg_attribute ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped WHERE attname <> ALL (ARRAY[{columns}]))
    SELECT n, 'owner, options', concat_ws(', ', relowner::regrole, array_to_string(reloptions, ', '), relrowsecurity, relforcerowsecurity, relreplident) FROM r
    UNION ALL SELECT n, 'rights of ' || grantee::regrole, string_agg(privilege_type || is_grantable, ', ' ORDER BY privilege_type) FROM r, aclexplode(coalesce(relacl, acldefault('r', relowner))) GROUP BY n, grantee
    UNION ALL SELECT n, format('rights of %s on %I', grantee::regrole, attname), string_agg(privilege_type || is_grantable, ', ' ORDER BY privilege_type) FROM a, aclexplode(attacl) GROUP BY n, attname, grantee
    UNION ALL SELECT n, 'comment', obj_description(r.oid, 'pg_class') FROM r
    UNION ALL SELECT n, 'comment on ' || attname, col_description(attrelid, attnum) FROM a
    UNION ALL SELECT n, 'constraint ' || conname, regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '') || coalesce(obj_description(k.oid, 'pg_constraint'), '')
              FROM r JOIN pg_constraint k ON conrelid = r.oid WHERE contype <> 'n' AND conparentid = 0 AND conname <> ALL (ARRAY[{own}])
    UNION ALL SELECT n, 'index ' || i.relname, pg_get_indexdef(indexrelid) || indisclustered || indisreplident || coalesce(obj_description(indexrelid, 'pg_class'), '')
              FROM r JOIN pg_index ON indrelid = r.oid JOIN pg_class i ON i.oid = indexrelid WHERE i.relname <> ALL (ARRAY[{own}])
    UNION ALL SELECT n, 'trigger ' || tgname, pg_get_triggerdef(t.oid) || tgenabled::text || coalesce(obj_description(t.oid, 'pg_trigger'), '') FROM r JOIN pg_trigger t ON tgrelid = r.oid WHERE NOT tgisinternal AND tgname !~ '^zz_(moving|moved|generated)$'
    UNION ALL SELECT n, 'policy ' || polname, concat_ws(', ', polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid), obj_description(p.oid, 'pg_policy'))
              FROM r JOIN pg_policy p ON polrelid = r.oid
    UNION ALL SELECT n, 'rule ' || rulename, pg_get_ruledef(w.oid) FROM r JOIN pg_rewrite w ON ev_class = r.oid
    UNION ALL SELECT n, 'statistics ' || stxname, pg_get_statisticsobjdef(s.oid) || stxowner::regrole FROM r JOIN pg_statistic_ext s ON stxrelid = r.oid
    UNION ALL SELECT n, 'publication ' || pubname, concat_ws(', ', (SELECT array_agg(attname ORDER BY attname) FROM pg_attribute WHERE attrelid = r.oid AND attnum = ANY (prattrs)), pg_get_expr(prqual, prrelid))
              FROM r JOIN pg_publication_rel ON prrelid = r.oid JOIN pg_publication b ON b.oid = prpubid
    UNION ALL SELECT 'function ' || proname, 'owner, rights', concat_ws(', ', proowner::regrole, ARRAY (SELECT a::text FROM unnest(coalesce(proacl, acldefault('f', proowner))) a ORDER BY 1), prosecdef, proconfig, obj_description(oid, 'pg_proc')) FROM pg_proc WHERE proname = ANY (ARRAY[{functions}]::name[])
$state$;$$, jsonb_build_object('state', pg_temp.names('state'),
    'relations', (SELECT string_agg(quote_literal(name), ', ' ORDER BY name) FROM (SELECT t AS name FROM parts UNION SELECT objid::regclass::text FROM objects WHERE classid = 'pg_class'::regclass) r),
    'columns', (SELECT string_agg(quote_literal(name), ', ' ORDER BY name) FROM (SELECT unnest(ARRAY[new, old]) AS name FROM columns) r),
    'own', (SELECT string_agg(quote_literal(name), ', ' ORDER BY name) FROM (
        SELECT unnest(parse_ident(new) || parse_ident(old)) AS name FROM indexes UNION SELECT unnest(parse_ident(new)) FROM fkeys UNION SELECT pg_temp.set_name(columns) FROM columns) r),
    'functions', coalesce((SELECT string_agg(DISTINCT quote_literal(proname), ', ') FROM objects JOIN pg_proc ON oid = objid WHERE classid = 'pg_proc'::regclass), '')));
CREATE FUNCTION pg_temp.compare() RETURNS text LANGUAGE sql
RETURN pg_temp.put($$\echo 'What differs from before, but for the columns themselves:'
SELECT coalesce(a.object, b.object) AS object, coalesce(a.property, b.property) AS property, b.value AS before, a.value AS now
FROM {state}() a FULL JOIN {before} b ON (a.object, a.property) = (b.object, b.property) WHERE a.value IS DISTINCT FROM b.value ORDER BY 1, 2;$$,
    jsonb_build_object('state', pg_temp.names('state'), 'before', pg_temp.names('before')));

-- What belongs to an index or to its constraint.
CREATE FUNCTION pg_temp.index_state(of indexes) RETURNS text LANGUAGE sql
RETURN CASE WHEN of.indisclustered THEN format(E'\nALTER TABLE %s CLUSTER ON %I;', of.t, of.relname) ELSE '' END
    || CASE WHEN of.indisreplident THEN format(E'\nALTER TABLE %s REPLICA IDENTITY USING INDEX %I;', of.t, of.relname) ELSE '' END
    || pg_temp.comment('INDEX', format('%s.%I', of.nsp, of.relname), obj_description(of.indexrelid, 'pg_class'))
    || CASE WHEN of.conname IS NULL THEN '' ELSE pg_temp.comment('CONSTRAINT', format('%I ON %s', of.conname, of.t),
        (SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conindid = of.indexrelid AND conrelid = of.part AND contype = of.contype)) END;

-- Constraints by the index of this name, and those of partitioned tables, which take the constraints of their partitions.
CREATE FUNCTION pg_temp.add_constraints(back boolean) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s%s%s;', t, conname,
        CASE WHEN isleaf THEN format('%s USING INDEX %s', CASE contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, CASE WHEN back THEN old ELSE new END) ELSE constraint_tail END,
        CASE WHEN isleaf AND condeferrable THEN ' DEFERRABLE' END, CASE WHEN isleaf AND condeferred THEN ' INITIALLY DEFERRED' END) || CASE WHEN back THEN '' ELSE pg_temp.index_state(indexes) END
    FROM indexes WHERE contype = 'p' OR contype = 'u' AND NOT back ORDER BY place, level DESC, indexrelid
$$;

-- What is dropped or gets back its name: first is what has it now.
CREATE FUNCTION pg_temp.rename_indexes(kinds text, back boolean) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT CASE WHEN contype = 'u' AND back THEN
            CASE WHEN is_attached THEN '' ELSE format(E'ALTER TABLE %s DROP CONSTRAINT %I;\n', t, conname) END || format('ALTER INDEX %s.%s RENAME TO %I;', nsp, old, relname)
        WHEN contype = 'u' THEN format('ALTER INDEX %s.%I RENAME TO %s;', nsp, relname, old)
        ELSE format(E'ALTER INDEX %1$s.%2$I RENAME TO %3$s;\nALTER INDEX %1$s.%4$s RENAME TO %2$I;', nsp, relname, CASE WHEN back THEN new ELSE old END, CASE WHEN back THEN old ELSE new END)
            || CASE WHEN back THEN '' ELSE pg_temp.index_state(indexes) END END
    FROM indexes WHERE coalesce(contype, 'i') = ANY (string_to_array(kinds, NULL)) ORDER BY place, level, indexrelid
$$;

-- In open sessions, PL/pgSQL has expressions with the types of NEW and OLD that were (42804), until their function is changed in some way.
CREATE FUNCTION pg_temp.renew_trigger_functions() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT DISTINCT format('ALTER FUNCTION %s COST %s;', p.oid::regprocedure, procost)
    FROM parts JOIN pg_trigger ON tgrelid = part JOIN pg_proc p ON p.oid = tgfoid WHERE NOT tgisinternal ORDER BY 1
$$;

-- A column of a replica identity has to stay NOT NULL; the index of the new one gets it later.
CREATE FUNCTION pg_temp.without_replica_identity() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('ALTER TABLE %s REPLICA IDENTITY FULL;', t) FROM indexes WHERE indisreplident ORDER BY place
$$;

CREATE FUNCTION pg_temp.switch() RETURNS SETOF text LANGUAGE plpgsql AS $step$
DECLARE
    opt options;
BEGIN
    SELECT * INTO opt FROM options;
    RETURN NEXT E'-- psql -v end=ROLLBACK tries it.\n\\if :{?end}\n\\else\n    \\set end COMMIT\n\\endif\nSET client_min_messages = warning;\nSET check_function_bodies = off;';
    RETURN NEXT pg_temp.unless(pg_temp.is_switched());
    RETURN QUERY SELECT pg_temp.begin();
    RETURN QUERY SELECT drops FROM objects WHERE drops IS NOT NULL ORDER BY level DESC, objid DESC;
    RETURN QUERY SELECT pg_temp.drop_trigger(tables, 'moving') FROM tables WHERE pg_temp.create_trigger(tables, 'moving') IS NOT NULL ORDER BY place;
    RETURN QUERY SELECT pg_temp.without_replica_identity();
    RETURN QUERY SELECT format('ALTER TABLE %s DROP CONSTRAINT %s;', t, old) FROM fkeys ORDER BY oid;
    RETURN QUERY SELECT format('ALTER TABLE %s DROP CONSTRAINT %I;', t, conname) FROM indexes WHERE contype = 'p' AND NOT is_attached ORDER BY place;
    RETURN QUERY SELECT pg_temp.rename_indexes('u', false);
    RETURN QUERY SELECT concat_ws(E'\n',
            CASE WHEN attnotnull AND NOT keeps_old THEN format('ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL;', t, c)
                 WHEN not_null IS NOT NULL THEN format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I;', t, not_null, old_not_null) END,
            CASE WHEN not_null IS NOT NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I NOT NULL %s;', t, not_null, n)
                 WHEN attnotnull THEN format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', t, n) END,
            CASE WHEN attnotnull THEN format('ALTER TABLE %s DROP CONSTRAINT %I;', t, pg_temp.set_name(columns)) END,
            CASE WHEN filled_as LIKE 'uuid w%' THEN format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT gen_random_uuid();', t, c)
                 WHEN filled_as LIKE 'sno w%' THEN format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %ssno_new();', t, c, opt.schema) END,
            CASE WHEN is_key AND opt.value IS NOT NULL THEN format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s;', t, n, pg_temp.new_default(columns)) END,
            CASE WHEN is_key AND opt.type IN ('bigint', 'integer') AND opt.value IS NULL THEN format('ALTER SEQUENCE %s OWNED BY %s.%s;', pg_temp.sequence(columns), t, n) END,
            CASE WHEN NOT is_key AND attgenerated = '' AND expression IS NOT NULL THEN pg_temp.remark(format('BY HAND: ALTER TABLE %s ALTER COLUMN %s SET DEFAULT the ID in the place of %s;', t, n, expression)) END,
            format(E'ALTER TABLE %1$s RENAME COLUMN %2$s TO %3$s;\nALTER TABLE %1$s RENAME COLUMN %4$s TO %2$s;', t, c, o, n))
        FROM columns ORDER BY place, attnum;
    RETURN QUERY SELECT ltrim(s, E'\n') FROM parts p JOIN columns c USING (rel) JOIN pg_attribute a ON attrelid = part AND a.attname = c.attname JOIN pg_class k ON k.oid = part,
        pg_temp.column_state(p.t, relowner, a, c.c) s WHERE s <> '' ORDER BY p.place, c.attnum;
    RETURN QUERY SELECT pg_temp.add_constraints(false);
    RETURN QUERY SELECT pg_temp.rename_indexes('ix', false);
    RETURN QUERY SELECT format('ALTER TABLE %s RENAME CONSTRAINT %s TO %s;', t, new, old) FROM pg_temp.leaf_fkeys() WHERE NOT to_partitions;
    RETURN QUERY SELECT format('ALTER TABLE %s RENAME CONSTRAINT %s TO %s;', t, new, old) FROM fkeys WHERE of_partitions AND NOT to_partitions;
    RETURN QUERY SELECT format('ALTER TABLE %s ADD CONSTRAINT %s %s NOT VALID;', t, old, old_definition) FROM pg_temp.leaf_fkeys() WHERE to_partitions;
    RETURN QUERY SELECT ltrim(pg_temp.comment('CONSTRAINT', old || ' ON ' || t, description), E'\n') FROM fkeys WHERE description IS NOT NULL AND NOT (of_partitions AND to_partitions);
    RETURN QUERY SELECT s FROM tables, LATERAL (VALUES (pg_temp.create_trigger(tables, 'moved')), (pg_temp.create_trigger(tables, 'generated'))) v(s) WHERE s IS NOT NULL ORDER BY place;
    RETURN QUERY SELECT creates FROM objects ORDER BY level, objid;
    RETURN QUERY SELECT pg_temp.renew_trigger_functions();
    RETURN NEXT E':end;\n\\endif';
    RETURN NEXT E'SET statement_timeout = 0;';
    RETURN QUERY SELECT later FROM objects WHERE later IS NOT NULL ORDER BY level, objid;
    RETURN QUERY SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %s;', t, old) FROM pg_temp.leaf_fkeys() WHERE to_partitions AND convalidated;
    RETURN QUERY SELECT pg_temp.table_fkeys(true, false);
    RETURN NEXT pg_temp.compare();
END
$step$;

CREATE FUNCTION pg_temp.undo() RETURNS SETOF text LANGUAGE plpgsql AS $step$
DECLARE
    opt options;
BEGIN
    SELECT * INTO opt FROM options;
    RETURN NEXT E'SET client_min_messages = warning;\nSET check_function_bodies = off;';
    RETURN NEXT pg_temp.unless('NOT ' || pg_temp.is_switched());
    RETURN QUERY SELECT pg_temp.begin();
    RETURN QUERY SELECT undrops FROM objects WHERE undrops IS NOT NULL ORDER BY level DESC, objid DESC;
    RETURN QUERY SELECT pg_temp.drop_trigger(tables, kind) FROM tables, unnest(ARRAY['moved', 'generated']) kind WHERE pg_temp.create_trigger(tables, kind) IS NOT NULL ORDER BY place, kind;
    RETURN QUERY SELECT pg_temp.without_replica_identity();
    RETURN QUERY SELECT format('ALTER TABLE %s DROP CONSTRAINT %s;', t, old) FROM fkeys ORDER BY oid;
    RETURN QUERY SELECT format('ALTER TABLE %s DROP CONSTRAINT %I;', t, conname) FROM indexes WHERE contype = 'p' AND NOT is_attached ORDER BY place;
    RETURN QUERY SELECT concat_ws(E'\n',
            format(E'ALTER TABLE %1$s RENAME COLUMN %2$s TO %3$s;\nALTER TABLE %1$s RENAME COLUMN %4$s TO %2$s;', t, c, n, o),
            CASE WHEN attnotnull THEN format('ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL;', t, n) END,
            CASE WHEN not_null IS NOT NULL AND keeps_old THEN format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I;', t, old_not_null, not_null)
                 WHEN not_null IS NOT NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I NOT NULL %s;', t, not_null, c)
                 WHEN attnotnull AND NOT keeps_old THEN format('ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;', t, c) END,
            CASE WHEN filled_as LIKE '% without%' THEN format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT;', t, c) END,
            CASE WHEN is_key AND opt.value IS NOT NULL THEN format('ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT;', t, n) END)
        FROM columns ORDER BY place, attnum;
    RETURN QUERY SELECT pg_temp.rename_indexes('u', true);
    RETURN QUERY SELECT pg_temp.add_constraints(true);
    RETURN QUERY SELECT pg_temp.rename_indexes('ix', true);
    RETURN QUERY SELECT format('ALTER TABLE %s ADD CONSTRAINT %s %s NOT VALID;', t, old, old_definition) FROM pg_temp.leaf_fkeys();
    RETURN QUERY SELECT ltrim(pg_temp.index_state(indexes), E'\n') FROM indexes WHERE pg_temp.index_state(indexes) <> '';
    RETURN QUERY SELECT ltrim(pg_temp.comment('CONSTRAINT', old || ' ON ' || t, description), E'\n') FROM fkeys WHERE description IS NOT NULL AND NOT of_partitions;
    RETURN QUERY SELECT s FROM tables, pg_temp.create_trigger(tables, 'moving') s WHERE s IS NOT NULL ORDER BY place;
    RETURN QUERY SELECT undone FROM objects ORDER BY level, objid;
    RETURN QUERY SELECT pg_temp.renew_trigger_functions();
    RETURN NEXT E'COMMIT;\n\\endif';
    RETURN NEXT E'SET statement_timeout = 0;';
    RETURN QUERY SELECT later FROM objects WHERE later IS NOT NULL ORDER BY level, objid;
    RETURN QUERY SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %s;', t, old) FROM pg_temp.leaf_fkeys() WHERE convalidated;
    RETURN QUERY SELECT pg_temp.table_fkeys(true, true);
    RETURN NEXT pg_temp.compare();
END
$step$;

CREATE FUNCTION pg_temp.step_6() RETURNS SETOF text LANGUAGE plpgsql AS $step$
BEGIN
    RETURN NEXT pg_temp.compare();
    RETURN QUERY SELECT pg_temp.begin();
    RETURN QUERY SELECT pg_temp.drop_trigger(tables, 'moved') FROM tables WHERE pg_temp.create_trigger(tables, 'moved') IS NOT NULL ORDER BY place;
    RETURN QUERY SELECT format('ALTER TABLE %s DROP CONSTRAINT %s;', t, old) FROM indexes WHERE contype = 'x' ORDER BY place;
    RETURN QUERY SELECT format('ALTER TABLE %s DROP COLUMN %s;', t, o) FROM columns ORDER BY place, attgenerated DESC, attnum;
    RETURN QUERY SELECT format('DROP SEQUENCE %s;', pg_temp.sequence(columns, '_first_seq')) FROM columns, options WHERE is_key AND value IS NULL AND options.type IN ('bigint', 'integer');
    RETURN NEXT pg_temp.put('DROP TABLE {progress}, {before};
DROP PROCEDURE {fill_keys}, {fill_pages};
DROP FUNCTION {report}, {state};
COMMIT;', (SELECT jsonb_object_agg(kind, pg_temp.names(kind)) FROM unnest(ARRAY['progress', 'before', 'report', 'state', 'fill_keys', 'fill_pages']) kind));
END
$step$;

-- The files.
CREATE FUNCTION pg_temp.file(title text) RETURNS text LANGUAGE sql
RETURN concat_ws(E'\n', pg_temp.remark(title), pg_temp.remark(format('Keys: %s. Written by moving.sql from the database %s, for psql -X -f: read it first.',
    (SELECT string_agg(t || '.' || c, ', ' ORDER BY place) FROM columns WHERE is_key), current_database())),
    -- A role that row security hides rows from fails with it.
    E'\\set ON_ERROR_STOP on\nSET search_path = pg_catalog, pg_temp;\nSET row_security = off;',
    format('DO %L;', format('BEGIN IF current_user <> %L THEN RAISE insufficient_privilege USING MESSAGE = ''must be run as the owner of the tables, whose functions it calls''; END IF; END', current_user)));
SELECT NOT EXISTS (SELECT FROM columns) AS nothing, :'write' = '-' AS stream \gset
\if :nothing
    \warn 'No key is to move: nothing is written.'
\else
\pset format unaligned
\pset tuples_only on
\if :stream
    \set out '|cat #'
\else
    \setenv MOVING_FOLDER :write
    \! mkdir -p "$MOVING_FOLDER"
    \set out :write /
\endif
\set file :out 1_columns.sql
SELECT pg_temp.file('Step 1 of 6: new columns, which triggers fill in rows that are written. Waits half a second for its locks: if it fails, run it again; what is done is not done twice.') UNION ALL SELECT pg_temp.step_1() \g :file
\set file :out 2_fill.sql
SELECT pg_temp.file('Step 2 of 6: fills the new columns of rows that are there. If it is interrupted, run it again.') UNION ALL SELECT pg_temp.step_2() \g :file
\set file :out 3_indexes.sql
SELECT pg_temp.file('Step 3 of 6: indexes and constraints of the new columns. If it is interrupted, run it again.') UNION ALL SELECT pg_temp.step_3() \g :file
\set file :out 4_check.sql
SELECT pg_temp.file('Step 4 of 6: fails if a row has no new key, or a wrong one. Run it after step 3, and right before the switch.') UNION ALL SELECT pg_temp.step_4() \g :file
\set file :out 5_switch.sql
SELECT pg_temp.file('Step 5 of 6: the new columns get the names of the old ones. Waits half a second for its locks: if it fails, run it again; what is done is not done twice.') UNION ALL SELECT pg_temp.switch() \g :file
\set file :out 5u_undo.sql
SELECT pg_temp.file('Undoes step 5, until step 6; steps 3 to 5 can follow again. Waits half a second for its locks: if it fails, run it again; what is done is not done twice.') UNION ALL SELECT pg_temp.undo() \g :file
\set file :out 6_end.sql
SELECT pg_temp.file('Step 6 of 6: drops the old columns. Only a backup brings them back.') UNION ALL SELECT pg_temp.step_6() \g :file
\pset tuples_only off
\pset format aligned
\endif
RESET search_path;
\endif
