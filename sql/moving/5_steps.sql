-- What is written, part 3: the statements of each step.

\if :{?write}

-- Indexes that read moved columns, also of constraints: their new names, and what they are on the new columns.
CREATE TEMP TABLE indexes AS
    SELECT i.indexrelid, part, rel, p.t, nsp, p.place, level, c.relname, c.relkind, isleaf, indisunique, indisclustered, indisreplident, conname, contype,
           EXISTS (SELECT FROM pg_inherits WHERE inhrelid = i.indexrelid) AS is_attached, condeferrable, condeferred,
           substring(pg_get_indexdef(i.indexrelid) FROM ' (USING .*)$') AS tail, pg_get_constraintdef(k.oid) AS constraint_tail,
           (SELECT jsonb_object_agg(o.c, CASE WHEN amname IN ('gin', 'gist', 'spgist') AND source <> 'sno' AND NOT is_array THEN format('((%s)::uuid)', n) ELSE n END)
            FROM columns o, options WHERE o.rel = p.rel) AS names,
           pg_temp.relation_name(nsp, c.relname, suffix, c.oid::bigint) AS new, pg_temp.relation_name(nsp, 'old_' || c.relname, '', c.oid::bigint) AS old
    FROM parts p JOIN pg_index i ON indrelid = part JOIN pg_class c ON c.oid = indexrelid JOIN pg_am ON pg_am.oid = relam CROSS JOIN options
    LEFT JOIN pg_constraint k ON conindid = indexrelid AND conrelid = part AND contype IN ('p', 'u', 'x')
    WHERE EXISTS (SELECT FROM pg_attribute a JOIN columns ON columns.rel = p.rel AND columns.attname = a.attname WHERE attrelid = part
                  AND (a.attnum = ANY (indkey) OR EXISTS (SELECT FROM pg_depend WHERE objid = indexrelid AND refobjid = part AND refobjsubid = a.attnum)));
-- The definition on the new columns.
ALTER TABLE indexes ADD new_tail text;
UPDATE indexes SET new_tail = pg_temp.renamed(pg_temp.without_casts(coalesce(CASE contype WHEN 'x' THEN constraint_tail END, tail)), names);

-- From PostgreSQL 18 on, NOT NULL has a name, which partitions can have chosen for themselves.
ALTER TABLE columns ADD not_null text, ADD old_not_null text;
UPDATE columns SET not_null = found.conname, old_not_null = pg_temp.name('old_' || found.conname, '', columns.attnum)
FROM pg_constraint found WHERE conrelid = rel AND contype = 'n' AND conkey = ARRAY[attnum] AND relkind = 'r';

-- Foreign keys between moved columns; kind: 'of partitions', where the table is partitioned; 'to partitions', where the other one is.
CREATE TEMP TABLE fkeys AS
    SELECT k.oid, conname, conrelid, conrelid::regclass::text AS t, quote_ident(conname) AS old, quote_ident(pg_temp.name(conname, suffix, k.oid::bigint)) AS new, convalidated,
           regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '') AS old_definition, NULL::text AS definition, p.rel,
           r.relkind = 'p' AS of_partitions, f.relkind = 'p' OR f.relispartition AS to_partitions, q.rel AS key_rel, obj_description(k.oid, 'pg_constraint') AS description
    FROM found_fkeys JOIN pg_constraint k USING (oid) JOIN parts p ON part = conrelid JOIN parts q ON q.part = confrelid
    JOIN pg_class r ON r.oid = conrelid JOIN pg_class f ON f.oid = confrelid CROSS JOIN options;
UPDATE fkeys SET definition = (
    SELECT format('FOREIGN KEY (%s) REFERENCES %s(%s)%s', pg_temp.renamed(m[1], pg_temp.row_names(rel, '', true)), m[2],
                  pg_temp.renamed(m[3], pg_temp.row_names(key_rel, '', true)), pg_temp.renamed(m[4], pg_temp.row_names(rel, '', true)))
    FROM regexp_match(old_definition, '^FOREIGN KEY \((.*?)\) REFERENCES (.*?)\((.*?)\)(.*)$') m);

CREATE FUNCTION pg_temp.names(kind text) RETURNS text LANGUAGE sql
RETURN (SELECT coalesce(min(nsp), 'public') || '.moving_' || kind FROM tables WHERE place = 1);

CREATE FUNCTION pg_temp.begin() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT 'BEGIN;' UNION ALL SELECT 'SET LOCAL statement_timeout = ''500ms'';'
    UNION ALL SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;', string_agg(t, ', ' ORDER BY place)) FROM tables
$$;

-- What an earlier run of a file has done is not done again: \endif ends it.
CREATE FUNCTION pg_temp.unless(condition text) RETURNS text LANGUAGE sql
RETURN format(E'SELECT NOT %s AS is_to_do \\gset\n\\if :is_to_do', condition);
CREATE FUNCTION pg_temp.has_constraint(t text, quoted text) RETURNS text LANGUAGE sql
RETURN format('EXISTS (SELECT FROM pg_constraint WHERE conrelid = %L::regclass AND conname = %L)', t, (parse_ident(quoted))[1]);
CREATE FUNCTION pg_temp.is_switched() RETURNS text LANGUAGE sql
RETURN (SELECT format('EXISTS (SELECT FROM pg_attribute WHERE attrelid = %L::regclass AND attname = %L AND NOT attisdropped)', t, (parse_ident(o))[1]) FROM columns ORDER BY place, attnum LIMIT 1);

-- Step 1. The ID of a row that is new, and of one that is there.
CREATE FUNCTION pg_temp.sequence(of columns, suffix text DEFAULT '_seq') RETURNS text LANGUAGE sql
RETURN of.nsp || '.' || pg_temp.relation_name(of.nsp, of.relname || '_' || of.attname, suffix, of.rel::bigint);
CREATE FUNCTION pg_temp.new_default(of columns) RETURNS text LANGUAGE sql
RETURN (SELECT CASE WHEN type IN ('bigint', 'integer') THEN format('nextval(%L)', pg_temp.sequence(of)) ELSE key_default END FROM options);

CREATE FUNCTION pg_temp.step_1() RETURNS SETOF text LANGUAGE plpgsql AS $step$
DECLARE
    col columns;
    tab tables;
    opt options;
BEGIN
    SELECT * INTO opt FROM options;
    RETURN NEXT pg_temp.state_function();
    RETURN NEXT format(E'DROP TABLE IF EXISTS %1$s;\nCREATE TABLE %1$s AS SELECT * FROM %2$s();', pg_temp.names('before'), pg_temp.names('state'));
    FOR col IN SELECT * FROM columns WHERE is_key AND opt.type IN ('bigint', 'integer') ORDER BY place LOOP
        RETURN NEXT format($s$-- Rows that are there get the numbers from 1, in the order of their keys, new ones those above.
CREATE SEQUENCE IF NOT EXISTS %1$s;
SELECT setval('%1$s', (SELECT count(*) + count(*) / 10 + 100000 FROM %2$s)) AS above \gset
CREATE SEQUENCE IF NOT EXISTS %3$s;
ALTER SEQUENCE %1$s OWNER TO %4$s;$s$, pg_temp.sequence(col), col.t, pg_temp.sequence(col, '_first_seq'), (SELECT relowner::regrole FROM pg_class WHERE oid = col.rel));
        RETURN QUERY SELECT DISTINCT format('GRANT USAGE ON SEQUENCE %s TO %s;', pg_temp.sequence(col), CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
            FROM pg_class, aclexplode(relacl) WHERE oid = col.rel AND privilege_type = 'INSERT' AND grantee <> relowner;
    END LOOP;
    RETURN QUERY SELECT pg_temp.begin();
    RETURN NEXT pg_temp.own_objects();
    FOR tab IN SELECT * FROM tables ORDER BY place LOOP
        -- With the default in the same statement, the table would be rewritten.
        RETURN QUERY SELECT format('ALTER TABLE %s ADD COLUMN %s %s;', t, n, CASE WHEN attgenerated <> '' THEN format_type(atttypid, atttypmod) WHEN is_array THEN opt.type || '[]' ELSE opt.type END)
            FROM columns WHERE rel = tab.rel ORDER BY attnum;
        RETURN QUERY SELECT format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s;', t, n, pg_temp.new_default(columns)) FROM columns WHERE rel = tab.rel AND is_key AND opt.value IS NULL;
        RETURN QUERY SELECT text FROM pg_temp.create_trigger(tab, 'moving') text WHERE text IS NOT NULL;
    END LOOP;
    -- What a trigger could not evaluate fails here, not in the application.
    RETURN QUERY SELECT format('SELECT %s FROM %s AS new WHERE false;', string_agg(pg_temp.value(columns, 'NEW.', false), ', ' ORDER BY attgenerated, attnum), tables.t)
        FROM tables JOIN columns USING (rel) WHERE NOT is_key OR opt.value IS NOT NULL GROUP BY tables.t, tables.place ORDER BY tables.place;
    RETURN NEXT 'COMMIT;';
END
$step$;

-- Step 2. What is different from one table to the next stands in braces.
-- In one pass: what a part has in braces is a part of a name.
CREATE FUNCTION pg_temp.put(template text, parts jsonb) RETURNS text LANGUAGE sql IMMUTABLE
RETURN (SELECT string_agg(coalesce(parts ->> substring(token FROM '^\{(\w+)\}$'), token), '' ORDER BY n)
        FROM regexp_matches(template, '\{\w+\}|[^{]+|\{', 'g') WITH ORDINALITY found(m, n), LATERAL (SELECT m[1]) t(token));

-- What the steps need for themselves; step 6 drops it.
CREATE FUNCTION pg_temp.own_objects() RETURNS text LANGUAGE sql
RETURN pg_temp.put($$-- How far step 2 is: TABLE {progress} in any session.
CREATE TABLE {progress} (part text PRIMARY KEY, last text, done bigint, of bigint, unit text, per_second bigint, time_left interval, at timestamptz, told timestamptz);
CREATE FUNCTION {report}(which text, last_one text, is_done bigint, of_all bigint, of_unit text, since timestamptz, at_first bigint) RETURNS void LANGUAGE plpgsql AS $report$
DECLARE
    rate CONSTANT numeric := (is_done - at_first) / greatest(extract(epoch FROM clock_timestamp() - since), 0.001);
    row {progress};
BEGIN
    INSERT INTO {progress} AS p VALUES (which, last_one, is_done, of_all, of_unit, rate, (of_all - is_done) / nullif(rate, 0) * interval '1 second', clock_timestamp(), since)
    ON CONFLICT (part) DO UPDATE SET last = excluded.last, done = excluded.done, of = excluded.of, per_second = excluded.per_second, time_left = excluded.time_left,
        at = excluded.at, told = CASE WHEN p.told < clock_timestamp() - interval '5 seconds' OR excluded.done >= excluded.of THEN excluded.at ELSE p.told END
    RETURNING * INTO row;
    IF row.told = row.at THEN
        RAISE NOTICE '%: % of % %, % a second, % left', which, row.done, row.of, row.unit, row.per_second, coalesce(date_trunc('second', row.time_left), '0');
    END IF;
END
$report$;
-- Runs a statement for the rows of a table in batches, in the order of a key: $1 and $2 in it are the first and the last key of one, as texts.
CREATE PROCEDURE {fill_keys}(of regclass, key text, type text, statement text, batch integer) LANGUAGE plpgsql AS $fill$
DECLARE
    which CONSTANT text := of || '.' || key;
    began CONSTANT timestamptz := clock_timestamp();
    since text;
    until text;
    stop text;
    done bigint;
    rows bigint;
    at_first bigint;
BEGIN
    EXECUTE format('SELECT count(*), (SELECT %1$s::text FROM %2$s t ORDER BY t.%1$s LIMIT 1), (SELECT %1$s::text FROM %2$s t ORDER BY t.%1$s DESC LIMIT 1) FROM %2$s', key, of)
    INTO rows, since, stop;
    SELECT p.done, last INTO at_first, until FROM {progress} p WHERE part = which AND last IS NOT NULL;  -- where an earlier run was interrupted
    since := coalesce(until, since);
    at_first := coalesce(at_first, 0);
    done := at_first;
    WHILE since IS NOT NULL LOOP
        EXECUTE format('SELECT %1$s::text FROM (SELECT %1$s FROM %2$s WHERE %1$s >= $1::%3$s AND %1$s <= $2::%3$s ORDER BY %1$s LIMIT $3) b ORDER BY b.%1$s DESC LIMIT 1', key, of, type)
        INTO until USING since, stop, batch;
        EXIT WHEN until IS NULL;
        EXECUTE statement USING since, until;
        done := least(done + batch, rows);
        EXECUTE format('SELECT %1$s::text FROM %2$s t WHERE %1$s > $1::%3$s AND %1$s <= $2::%3$s ORDER BY t.%1$s LIMIT 1', key, of, type) INTO since USING until, stop;
        PERFORM {report}(which, since, CASE WHEN since IS NULL THEN rows ELSE done END, rows, 'rows', began, at_first);
        COMMIT;
    END LOOP;
END
$fill$;
-- The same page by page, which needs no index: the table, or a partition of it, stands between the texts.
CREATE PROCEDURE {fill_pages}(of regclass, begins text, rest text, batch integer) LANGUAGE plpgsql AS $fill$
DECLARE
    began CONSTANT timestamptz := clock_timestamp();
    leaf regclass;
    page bigint;
    stop bigint;
    at_first bigint;
BEGIN
    FOR leaf IN SELECT oid FROM pg_class WHERE oid = of AND relkind = 'r' UNION ALL SELECT relid FROM pg_partition_tree(of) WHERE isleaf AND relid <> of LOOP
        stop := pg_relation_size(leaf) / current_setting('block_size')::bigint;
        at_first := coalesce((SELECT last::bigint FROM {progress} WHERE part = leaf::text), 0);  -- where an earlier run was interrupted
        page := at_first;
        WHILE page < stop LOOP
            EXECUTE begins || leaf::text || rest USING format('(%s,0)', page)::tid, format('(%s,0)', page + batch)::tid;
            page := least(page + batch, stop);
            PERFORM {report}(leaf::text, CASE WHEN page < stop THEN page::text END, page, stop, 'pages', began, at_first);
            COMMIT;
        END LOOP;
    END LOOP;
END
$fill$;$$, (SELECT jsonb_object_agg(kind, pg_temp.names(kind)) FROM unnest(ARRAY['progress', 'report', 'fill_keys', 'fill_pages']) kind));

-- When rows were created, as a timestamptz.
CREATE FUNCTION pg_temp.time(of columns) RETURNS text LANGUAGE sql
RETURN coalesce((SELECT expression FROM said_times WHERE rel = of.rel), CASE
    WHEN of.birth_type = 'timestamp without time zone' THEN format('%I AT TIME ZONE ''UTC''', of.birth)
    WHEN of.birth_type = 'date' THEN format('%I::timestamp AT TIME ZONE ''UTC''', of.birth)
    WHEN of.birth_type ~ 'int|numeric' THEN format('to_timestamp(%I / 1000.0)', of.birth)
    WHEN of.birth_type = 'timestamp with time zone' THEN quote_ident(of.birth) END);

CREATE FUNCTION pg_temp.fill_key(of columns) RETURNS SETOF text LANGUAGE plpgsql AS $step$
DECLARE
    opt options;
    born text := pg_temp.time(of);
    value text;
    statement text := 'UPDATE {table} SET {new} = {value} WHERE {id} >= $1::{type} AND {id} <= $2::{type} AND {new} IS NULL';
    parts jsonb;
BEGIN
    SELECT * INTO opt FROM options;
    IF opt.value IS NOT NULL THEN
        value := pg_temp.value(of, '', false);
        statement := replace(statement, 'IS NULL', 'IS DISTINCT FROM {value}');
    ELSIF opt.type IN ('bigint', 'integer') THEN
        value := '';
        statement := 'UPDATE {table} t SET {new} = n.number
    FROM (SELECT {id}, nextval({first}) AS number FROM (SELECT {id} FROM {table} WHERE {id} >= $1::{type} AND {id} <= $2::{type} AND {new} IS NULL ORDER BY {id}) x) n WHERE n.{id} = t.{id}';
    ELSIF born IS NULL OR opt.type !~ '(^|\.)sno$' THEN
        born := NULL;
        value := opt.key_default;
    ELSE
        value := format('%ssno_new(0, %s)', opt.schema, born);
        RETURN NEXT pg_temp.remark(format('Is this when a row of %s was created? %s', of.t, born));
        RETURN NEXT '--     A time before 2010 has no ID (22008): greatest(…, ''2010-01-01Z'').';
        IF EXISTS (SELECT FROM said_times WHERE rel = of.rel) OR NOT of.birth_notnull THEN
            value := format('coalesce(%s, %s)', value, opt.key_default);
        END IF;
    END IF;
    parts := jsonb_build_object('type', (SELECT format('%I.%I', nspname, typname) FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace WHERE t.oid = of.atttypid), 'table', of.t, 'id', of.c, 'new', of.n, 'value', value, 'first', quote_literal(pg_temp.sequence(of, '_first_seq')));
    RETURN NEXT format(E'CALL %s(%L, %L, %L, %L, 1000);', pg_temp.names('fill_keys'), of.t, of.c, parts ->> 'type', E'\n    ' || pg_temp.put(statement, parts));
    IF born IS NOT NULL AND opt.value IS NULL AND value <> '' THEN
        RETURN NEXT E'-- Rows of one time can have one ID: such rows get others.\nDO ' || quote_literal(pg_temp.put($t$
DECLARE
    changed bigint;
BEGIN
    LOOP
        UPDATE {table} SET {new} = {value} WHERE {id} IN (
            SELECT {id} FROM (SELECT {id}, row_number() OVER (PARTITION BY {new} ORDER BY {id}) FROM {table} WHERE {new} IS NOT NULL) same WHERE row_number > 1);
        GET DIAGNOSTICS changed = ROW_COUNT;
        COMMIT;
        EXIT WHEN changed = 0;
    END LOOP;
END
$t$, parts)) || ';';
    END IF;
END
$step$;

-- The other columns of a table.
CREATE FUNCTION pg_temp.fill_table(of tables) RETURNS SETOF text LANGUAGE sql AS $step$
    SELECT format(E'CALL %s(%L, ''UPDATE '', %L, 20);', pg_temp.names('fill_pages'), of.t, format(E' t SET %s\n    WHERE ctid >= $1 AND ctid < $2 AND (%s) IS DISTINCT FROM (%s)',
        string_agg(format('%s = %s', n, pg_temp.value(columns, 't.', false)), E',\n        ' ORDER BY attnum), string_agg('t.' || n, ', ' ORDER BY attnum),
        string_agg(pg_temp.value(columns, 't.', false), E',\n        ' ORDER BY attnum)))
    FROM columns WHERE rel = of.rel AND NOT is_key HAVING count(*) > 0
$step$;

CREATE FUNCTION pg_temp.step_2() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    col columns;
    tab tables;
BEGIN
    RETURN NEXT E'SET statement_timeout = 0;\nSET jit = off;\n-- As a superuser, to spare the tables'' own triggers:\n-- SET session_replication_role = replica;\n-- The last arguments are rows and pages of one transaction: smaller ones, if applications lock several rows in one.';
    RETURN QUERY SELECT format(E'-- For the tables'' own triggers, which fire:\nSELECT set_config(''search_path'', %L, false);', path) FROM options
    WHERE EXISTS (SELECT FROM pg_trigger JOIN parts ON part = tgrelid WHERE NOT tgisinternal);
    FOR col IN SELECT * FROM columns WHERE is_key ORDER BY place LOOP
        RETURN QUERY SELECT pg_temp.fill_key(col);
    END LOOP;
    FOR tab IN SELECT * FROM tables ORDER BY place LOOP
        RETURN QUERY SELECT pg_temp.fill_table(tab);
        RETURN NEXT format('ANALYZE %s;', tab.t);
    END LOOP;
END
$$;

-- Step 3. Whatever is there from an earlier run stays, but for indexes whose building was interrupted.
CREATE FUNCTION pg_temp.step_3() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT 'SET statement_timeout = 0;';
    RETURN NEXT format(E'SELECT format(''DROP INDEX CONCURRENTLY %%s'', indexrelid::regclass) FROM pg_index\nWHERE NOT indisvalid AND indexrelid = ANY (ARRAY[%s]::regclass[]) \\gexec',
        (SELECT string_agg(format('to_regclass(%L)', nsp || '.' || name), ', ') FROM indexes, LATERAL (VALUES (new), (CASE contype WHEN 'p' THEN old END)) v(name) WHERE isleaf AND name IS NOT NULL));
    RETURN QUERY SELECT format('CREATE %sINDEX CONCURRENTLY IF NOT EXISTS %s ON %s %s;', CASE WHEN indisunique THEN 'UNIQUE ' END, new, t, new_tail)
        FROM indexes WHERE isleaf AND contype IS DISTINCT FROM 'x' ORDER BY place, indexrelid;
    RETURN QUERY SELECT '-- For the undo, and to find rows by their old keys.' WHERE EXISTS (SELECT FROM indexes WHERE contype = 'p');
    RETURN QUERY SELECT format('CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS %s ON %s %s;', old, t, tail) FROM indexes WHERE isleaf AND contype = 'p' ORDER BY place, indexrelid;
    RETURN QUERY SELECT format('CREATE %sINDEX IF NOT EXISTS %s ON %s %s;  -- takes those of the partitions', CASE WHEN indisunique THEN 'UNIQUE ' END, new, t, new_tail)
        FROM indexes WHERE relkind = 'I' AND contype IS NULL ORDER BY place, level DESC, indexrelid;
    RETURN QUERY SELECT pg_temp.unless(pg_temp.has_constraint(t, quote_ident(pg_temp.set_name(columns)))) FROM columns WHERE is_key ORDER BY place LIMIT 1;
    RETURN QUERY SELECT pg_temp.begin();
    RETURN QUERY SELECT format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s IS NOT NULL) NOT VALID;', t, pg_temp.set_name(columns), n) FROM columns WHERE attnotnull ORDER BY place, attnum;
    RETURN QUERY SELECT format('ALTER TABLE %s ADD CONSTRAINT %s %s NOT VALID;', t, new, definition) FROM pg_temp.leaf_fkeys() WHERE NOT to_partitions;
    RETURN NEXT E'COMMIT;\n\\endif';
    RETURN QUERY SELECT E'-- Locks the table while it is built.\n' || pg_temp.unless(pg_temp.has_constraint(t, new)) || format(E'\n    ALTER TABLE %s ADD CONSTRAINT %s %s;\n\\endif', t, new, new_tail)
        FROM indexes WHERE contype = 'x' ORDER BY place;
    RETURN QUERY SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I;', t, pg_temp.set_name(columns)) FROM columns WHERE attnotnull ORDER BY place, attnum;
    RETURN QUERY SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %s;', t, new) FROM pg_temp.leaf_fkeys() WHERE NOT to_partitions AND convalidated;
    RETURN QUERY SELECT pg_temp.table_fkeys(false, false);
END
$$;
CREATE FUNCTION pg_temp.set_name(of columns) RETURNS text LANGUAGE sql RETURN pg_temp.name(of.relname || '_' || of.new, '_set', of.attnum);
-- A foreign key of a partitioned table is added to each partition first, as it can't be NOT VALID (before 18); then the table's own takes these,
-- and reads no rows.
CREATE FUNCTION pg_temp.leaf_fkeys() RETURNS TABLE (t text, new text, old text, definition text, old_definition text, convalidated boolean, to_partitions boolean) LANGUAGE sql AS $$
    SELECT coalesce(p.t, f.t), f.new, f.old, f.definition, f.old_definition, f.convalidated, f.to_partitions FROM fkeys f LEFT JOIN parts p ON of_partitions AND p.rel = f.rel AND isleaf ORDER BY f.oid
$$;
CREATE FUNCTION pg_temp.table_fkeys(which boolean, back boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    key record;
BEGIN
    FOR key IN SELECT *, CASE WHEN which OR back THEN old ELSE new END AS name, CASE WHEN which OR back THEN old_definition ELSE definition END AS added
               FROM fkeys WHERE of_partitions AND (back OR to_partitions = which) ORDER BY oid LOOP
        RETURN QUERY SELECT pg_temp.unless(pg_temp.has_constraint(key.t, key.name));
        RETURN QUERY SELECT pg_temp.begin();
        RETURN NEXT format(E'ALTER TABLE %s ADD CONSTRAINT %s %s;\nCOMMIT;\n\\endif', key.t, key.name, key.added);
    END LOOP;
END
$$;

-- Step 4.
CREATE FUNCTION pg_temp.step_4() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT E'SET statement_timeout = 0;\nSET jit = off;\nCREATE TEMP TABLE moving_left AS';
    RETURN QUERY SELECT CASE WHEN 1 < row_number() OVER (ORDER BY place, attnum) THEN 'UNION ALL ' ELSE '' END || CASE WHEN is_key
            THEN format('SELECT ''%1$s.%2$s'' AS "column", count(*) FILTER (WHERE %3$s IS %4$s) AS "left", 0::bigint AS dangling FROM %1$s t', t, attname, n,
                        coalesce('DISTINCT FROM ' || CASE WHEN value IS NOT NULL THEN pg_temp.value(columns, 't.', false) END, 'NULL'))
            ELSE format(E'SELECT ''%1$s.%2$s'' AS "column", count(*) FILTER (WHERE t.%3$s IS DISTINCT FROM v AND NOT %4$s) AS "left", count(*) FILTER (WHERE %4$s) AS dangling\nFROM %1$s t CROSS JOIN LATERAL (SELECT %5$s AS v) v',
                        t, attname, n, format(CASE WHEN is_array THEN '(cardinality(array_positions(v, NULL)) > cardinality(array_positions(t.%1$s, NULL))) IS TRUE' ELSE '(t.%1$s IS NOT NULL AND v IS NULL)' END, c),
                        pg_temp.value(columns, 't.', false)) END
        FROM columns, options ORDER BY place, attnum;
    RETURN NEXT $t$;
SELECT * FROM moving_left WHERE "left" > 0 OR dangling > 0;
SELECT coalesce(sum("left"), 0) > 0 AS is_left, coalesce(sum(dangling), 0) > 0 AS is_dangling FROM moving_left \gset
\if :is_dangling
    \echo 'dangling: rows that refer to a row that is gone. Delete them, or keep the old column after step 6: the new one is NULL.'
\endif
\if :is_left
    DO $left$BEGIN RAISE EXCEPTION 'rows are left: run step 2 again'; END$left$;
\else
    \echo 'Nothing is left.'
\endif$t$;
END
$$;
\endif
