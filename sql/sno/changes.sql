--
-- Changes: updates and deletes as a feed
--

-- A log of primary keys, which triggers write in the transaction that changes a row, and a view that shows each change with its row as it
-- is now. Nothing that is returned later is older, so the order of the IDs need not be the order of the changes.

-- The log, the view and the function of a table whose changes are tracked; nulls if they are not. The trigger leads to the function, and its
-- name to the others, so that the table can be renamed. All are of one owner: who can create a trigger would otherwise choose what a
-- superuser replaces or drops.
CREATE FUNCTION sno_internal.tracked(source regclass, OUT log regclass, OUT changes regclass, OUT logger regprocedure) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
BEGIN
    SELECT p.oid, p.proname AS name, p.pronamespace AS schema, c.relowner AS owner, p.proowner = c.relowner AS is_owners,
        regexp_replace(p.proname, '_log$', '_changes') AS view_name
    INTO t
    FROM pg_class c JOIN pg_trigger g ON g.tgrelid = c.oid AND g.tgname = 'sno_log' JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE c.oid = source AND g.tgparentid = 0;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    logger := t.oid;
    SELECT oid INTO log FROM pg_class WHERE relnamespace = t.schema AND relname = t.name AND relkind = 'r' AND relowner = t.owner;
    SELECT oid INTO changes FROM pg_class WHERE relnamespace = t.schema AND relname = t.view_name AND relkind = 'v' AND relowner = t.owner;
    IF log IS NULL OR changes IS NULL OR NOT t.is_owners THEN
        RAISE EXCEPTION 'log of the changes of "%" is incomplete', source USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('The owner of the table must own the table %1$s.%2$I, the function %1$s.%2$I() and the view %1$s.%3$I.',
                t.schema::regnamespace, t.name, t.view_name),
            HINT = format('ALTER TABLE %1$s.%2$I OWNER TO %4$s; ALTER FUNCTION %1$s.%2$I() OWNER TO %4$s; ALTER VIEW %1$s.%3$I OWNER TO %4$s',
                t.schema::regnamespace, t.name, t.view_name, t.owner::regrole);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.tracked(regclass) IS 'internal: what sno_track_changes() has created for a table';

-- Whether the rows of a table come with new keys of this server, wherever they come from.
CREATE FUNCTION sno_internal.is_logged(relation regclass, source regclass, key name) RETURNS boolean
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((SELECT t.log FROM sno_internal.tracked(coalesce(pg_partition_root(relation), relation)) t)
        = (SELECT o.source FROM sno_internal.origin(source, key) o), false)
$$;
COMMENT ON FUNCTION sno_internal.is_logged(regclass, regclass, name) IS 'internal: whether the key of a feed is that of the log of the changes of a table';

-- Why the changes of a table cannot be tracked, and what to do; nulls if they can.
CREATE FUNCTION sno_internal.tracking_fault(source regclass, OUT fault text, OUT hint text)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
BEGIN
    SELECT c.oid, c.relkind AS kind, c.relpersistence AS persistence, c.relispartition AS is_partition,
        c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid) AS is_parent,
        c.relforcerowsecurity AND NOT (SELECT r.rolsuper OR r.rolbypassrls FROM pg_roles r WHERE r.oid = c.relowner) AS hides_rows,
        (SELECT m.amname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam WHERE i.indrelid = c.oid AND i.indisprimary) AS index_kind
    INTO t
    FROM pg_class c WHERE c.oid = source;
    fault := CASE
        WHEN t.oid IS NULL THEN 'It does not exist.'
        WHEN source::oid < 16384 THEN 'It is a system catalog.'
        WHEN t.kind = 'f' THEN 'It is a foreign table.'
        WHEN t.kind NOT IN ('r', 'p') THEN 'It is not a table.'
        WHEN t.persistence = 't' THEN 'It is a temporary table.'
        WHEN t.persistence = 'u' THEN 'It is an unlogged table, which a crash empties.'
        WHEN t.is_partition THEN 'It is a partition.'
        WHEN t.is_parent THEN 'Other tables inherit from it.'
        WHEN t.index_kind IS NULL THEN 'It has no primary key.'
        WHEN t.index_kind <> 'btree' THEN 'Its primary key has WITHOUT OVERLAPS.'
        WHEN t.hides_rows THEN 'FORCE ROW LEVEL SECURITY hides rows from its owner: they would look deleted.'
    END;
    hint := CASE
        WHEN fault = 'It is a partition.' THEN 'Track the changes of the table that it is a partition of.'
        WHEN fault = 'Other tables inherit from it.' THEN 'Track the changes of these tables, or use partitions.'
        WHEN fault = 'It has no primary key.' THEN 'Add a primary key.'
        WHEN fault LIKE 'FORCE%' THEN 'Its owner can be a role with BYPASSRLS.'
    END;
END
$$;
COMMENT ON FUNCTION sno_internal.tracking_fault(regclass) IS 'internal: why the changes of a table cannot be tracked';

-- The partitions with rows that a table has, and those that its log knows: the function of the log that has an argument depends on these. So
-- PostgreSQL dumps and restores what is known, and refuses to drop such a partition before its rows are logged as deleted.
CREATE FUNCTION sno_internal.partitions(source regclass, OUT relation regclass, OUT is_there boolean, OUT is_known boolean) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE part(oid) AS (
            SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = source
            UNION ALL SELECT i.inhrelid FROM part p JOIN pg_inherits i ON i.inhparent = p.oid
        ), known(oid) AS (
            SELECT DISTINCT d.refobjid
            FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
            JOIN pg_proc q ON q.proname = p.proname AND q.pronamespace = p.pronamespace AND q.pronargs = 1 AND q.proargtypes[0] = 'regclass'::regtype
            JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = q.oid AND d.refclassid = 'pg_class'::regclass
            WHERE g.tgrelid = source AND g.tgname = 'sno_log'
        )
        SELECT coalesce(t.oid, k.oid)::regclass, t.oid IS NOT NULL, k.oid IS NOT NULL
        FROM (SELECT c.oid FROM part JOIN pg_class c USING (oid) WHERE c.relkind = 'r') t FULL JOIN known k ON k.oid = t.oid;
END
$$;
COMMENT ON FUNCTION sno_internal.partitions(regclass) IS 'internal: partitions of a table, and those that the log of its changes knows';

-- Whether the primary key of a table still has the columns of which the view of the changes knows, whatever they are called.
CREATE FUNCTION sno_internal.has_key_of_log(source regclass, changes regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known integer[] := ARRAY(
        SELECT DISTINCT d.refobjsubid
        FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        WHERE r.ev_class = changes AND d.refclassid = 'pg_class'::regclass AND d.refobjid = source AND d.refobjsubid > 0 ORDER BY 1
    );
BEGIN
    RETURN known = '{}' OR known = ARRAY(
        SELECT unnest(i.indkey[0:i.indnkeyatts - 1])::integer FROM pg_index i WHERE i.indrelid = source AND i.indisprimary ORDER BY 1
    );
END
$$;
COMMENT ON FUNCTION sno_internal.has_key_of_log(regclass, regclass) IS 'internal: whether the primary key of a table has the columns of its log';

-- Asked by each query of a view of changes, once. A partition that was created when it was attached had no rows, and its triggers have seen all
-- since then: both are of one transaction. Others may have had rows.
CREATE FUNCTION sno_internal.check_changes(source regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fault text;
    hint text;
    bad record;
BEGIN
    SELECT f.fault, f.hint INTO fault, hint FROM sno_internal.tracking_fault(source) f;
    IF fault IS NULL AND EXISTS (SELECT FROM pg_class WHERE oid = source AND relkind = 'p') THEN
        IF NOT EXISTS (
            SELECT FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
            JOIN pg_proc q ON q.proname = p.proname AND q.pronamespace = p.pronamespace AND q.pronargs = 1 AND q.proargtypes[0] = 'regclass'::regtype
            WHERE g.tgrelid = source AND g.tgname = 'sno_log'
        ) THEN
            fault := 'Partitions were dropped with CASCADE, so that their rows are not logged as deleted.';
            hint := format('Delete from copies what the table does not have, then call sno_track_changes(%L).', source);
        END IF;
        SELECT p.* INTO bad FROM sno_internal.partitions(source) p
        WHERE NOT p.is_there OR NOT p.is_known AND EXISTS (
            SELECT FROM pg_attribute a JOIN pg_trigger g ON g.tgrelid = a.attrelid AND g.tgname = 'sno_log'
            WHERE a.attrelid = p.relation AND a.attnum = -1 AND a.xmin::text <> g.xmin::text
        ) LIMIT 1;
        IF fault IS NULL AND FOUND THEN
            fault := format(CASE WHEN bad.is_there THEN 'Table "%s" was attached: its rows are not in the log.'
                ELSE 'Table "%s" was detached: its rows are not logged as deleted.' END, bad.relation);
            hint := format('SELECT sno_track_changes(%L) logs them.', source);
        END IF;
    END IF;
    -- PostgreSQL refuses to drop any other primary key, since the view depends on it.
    IF fault IS NULL AND EXISTS (SELECT FROM pg_constraint o WHERE o.conrelid = source AND o.contype = 'p' AND o.condeferrable)
        AND NOT sno_internal.has_key_of_log(source, (sno_internal.tracked(source)).changes) THEN
        fault := 'Its primary key has other columns than the log.';
        hint := 'Drop the feeds, then use sno_untrack_changes() and sno_track_changes().';
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'changes of "%" are not complete', source USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = fault,
            HINT = coalesce(hint, 'Undo this, or drop the feeds and use sno_untrack_changes().');
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sno_internal.check_changes(regclass) IS 'internal: fails if the log of the changes of a table lacks changes';

-- Logs the rows of partitions that have come or gone since the last call, unless this is the first one, and notes which there are.
CREATE FUNCTION sno_internal.follow_partitions(source regclass, is_first boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(source)).log;
    part record;
    insert text;
BEGIN
    IF log IS NULL OR NOT EXISTS (SELECT FROM sno_internal.partitions(source) p WHERE NOT (p.is_there AND p.is_known))
        AND to_regprocedure(log || '(regclass)') IS NOT NULL OR NOT EXISTS (SELECT FROM pg_class WHERE oid = source AND relkind = 'p') THEN
        RETURN;
    END IF;
    SELECT format('INSERT INTO %s (%s) SELECT %s FROM ONLY ', log, string_agg(quote_ident(b.attname), ', ' ORDER BY n),
        string_agg(format('t.%I', a.attname), ', ' ORDER BY n)) INTO insert
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY u(attnum, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum JOIN pg_attribute b ON b.attrelid = log AND b.attnum = n + 1
    WHERE i.indrelid = source AND i.indisprimary;
    FOR part IN SELECT * FROM sno_internal.partitions(source) p WHERE NOT (p.is_there AND p.is_known) LOOP
        IF NOT is_first THEN
            EXECUTE concat(insert, part.relation, ' t');
        END IF;
        -- TRUNCATE of a partition fires its own triggers only.
        IF part.is_there THEN
            EXECUTE format('CREATE OR REPLACE TRIGGER sno_log_truncate BEFORE TRUNCATE ON %1$s FOR EACH STATEMENT EXECUTE FUNCTION %2$s();
                ALTER TABLE %1$s ENABLE ALWAYS TRIGGER sno_log_truncate', part.relation, log);
        ELSE
            EXECUTE format('DROP TRIGGER IF EXISTS sno_log_truncate ON %s', part.relation);
        END IF;
    END LOOP;
    EXECUTE format('CREATE OR REPLACE FUNCTION %s(regclass) RETURNS void LANGUAGE sql BEGIN ATOMIC %s END', log,
        (SELECT string_agg(format('SELECT FROM ONLY %s WHERE false;', p.relation), ' ') FROM sno_internal.partitions(source) p WHERE p.is_there));
    EXECUTE format('ALTER FUNCTION %1$s(regclass) OWNER TO %2$s; REVOKE ALL ON FUNCTION %1$s(regclass) FROM PUBLIC; COMMENT ON FUNCTION %1$s(regclass) IS %3$L',
        log, (SELECT c.relowner::regrole FROM pg_class c WHERE c.oid = source), 'partitions that the log of changes knows: see sno_track_changes()');
END
$$;
COMMENT ON FUNCTION sno_internal.follow_partitions(regclass, boolean) IS 'internal: log the rows of partitions that were attached or detached';

-- What TRUNCATE of a table deletes, but for the partitions that log it themselves.
CREATE FUNCTION sno_internal.truncated(relation regclass) RETURNS SETOF regclass
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT b.relation FROM sno_internal.base_relations(truncated.relation) b JOIN pg_class c ON c.oid = b.relation AND c.relkind = 'r'
    WHERE b.relation = truncated.relation
        OR NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = b.relation AND g.tgname = 'sno_log_truncate')
$$;
COMMENT ON FUNCTION sno_internal.truncated(regclass) IS 'internal: tables whose rows the trigger of a TRUNCATE logs';

CREATE FUNCTION sno_track_changes(source regclass, metabyte integer DEFAULT NULL) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
    k record;
    tracked record;
    fault record;
    log text;
    changes text;
    object text;
    alone text;
    other regclass;
BEGIN
    IF source IS NULL THEN
        RAISE EXCEPTION 'table must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    SELECT * INTO fault FROM sno_internal.tracking_fault(source);
    SELECT c.relname AS name, c.relkind AS kind, c.relowner AS owner, s.nspname AS schema INTO t
    FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.oid = source;
    IF fault.fault IS NOT NULL THEN
        RAISE EXCEPTION 'cannot track changes of "%"', source USING ERRCODE = 'wrong_object_type', DETAIL = fault.fault,
            HINT = coalesce(fault.hint, 'Only changes of permanent tables with a primary key can be tracked.');
    ELSIF NOT pg_has_role(t.owner, 'USAGE') THEN
        RAISE EXCEPTION 'must be owner of table "%"', source USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- An ID now, rather than an error in each statement that will change the table.
    PERFORM sno_internal.sno_new(coalesce(metabyte, 0));
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', source);
    tracked := sno_internal.tracked(source);
    log := coalesce(tracked.log::text, format('%I.%I', t.schema, t.name || '_log'));
    changes := coalesce(tracked.changes::text, format('%I.%I', t.schema, t.name || '_changes'));
    alone := CASE t.kind WHEN 'r' THEN 'ONLY ' ELSE '' END;

    -- The columns of the primary key, also if they were renamed, and the operators of its index: those of others' types may be anywhere.
    SELECT string_agg(quote_ident(l.name), ', ' ORDER BY n) AS logged,
        string_agg(format('l.%I', l.name), ', ' ORDER BY n) AS shown,
        string_agg(format('t.%I', a.attname), ', ' ORDER BY n) AS present,
        string_agg(format('OLD.%I', a.attname), ', ' ORDER BY n) AS old,
        string_agg(format('NEW.%I', a.attname), ', ' ORDER BY n) AS new,
        string_agg(format('%I %s%s NOT NULL', a.attname, format_type(a.atttypid, a.atttypmod),
            (SELECT format(' COLLATE %s.%I', collnamespace::regnamespace, collname) FROM pg_collation WHERE oid = a.attcollation)),
            ', ' ORDER BY n) AS columns,
        string_agg(format('t.%I%s OPERATOR(%s.%s) l.%I%2$s', a.attname, cast_to, o.oprnamespace::regnamespace, o.oprname, l.name), ' AND ' ORDER BY n) AS equal,
        bool_and(tracked.log IS NULL OR (b.atttypid, b.atttypmod, b.attcollation) = (a.atttypid, a.atttypmod, a.attcollation))
            AND (tracked.log IS NULL OR count(*) + 1 = (SELECT count(*) FROM pg_attribute WHERE attrelid = tracked.log AND attnum > 0 AND attnotnull)) AS is_same,
        min(l.name) FILTER (WHERE l.name IN ('changed', 'record')) AS taken,
        -- The same names in another order: a DEFERRABLE primary key, which PostgreSQL lets go, had its columns exchanged.
        array_agg(a.attname ORDER BY n) <> array_agg(l.name ORDER BY n) AND array_agg(a.attname ORDER BY a.attname) = array_agg(l.name ORDER BY l.name) AS is_exchanged,
        CASE WHEN bool_and(i.indimmediate) THEN format('(SELECT t.*::%1$s FROM %2$s%1$s t WHERE false GROUP BY %3$s)', source, alone,
            string_agg(format('t.%I', a.attname), ', ' ORDER BY n)) ELSE 'NULL' END AS key_of_table
    INTO k
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1], i.indclass[0:i.indnkeyatts - 1]) WITH ORDINALITY u(attnum, opclass, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum
    JOIN pg_opclass c ON c.oid = u.opclass JOIN pg_type y ON y.oid = c.opcintype
    JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
    JOIN pg_operator o ON o.oid = m.amopopr
    LEFT JOIN pg_attribute b ON b.attrelid = tracked.log AND b.attnum = n + 1 AND NOT b.attisdropped
    CROSS JOIN LATERAL (SELECT coalesce(b.attname, a.attname), CASE WHEN y.typtype = 'p' THEN '' ELSE '::' || format_type(y.oid, -1) END) l(name, cast_to)
    WHERE i.indrelid = source AND i.indisprimary;
    IF tracked.log IS NOT NULL AND (k.is_same IS NOT TRUE OR k.is_exchanged OR NOT sno_internal.has_key_of_log(source, tracked.changes)) THEN
        RAISE EXCEPTION 'primary key of "%" differs from the columns of its log', source
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Use sno_untrack_changes(), then sno_track_changes().';
    ELSIF k.taken IS NOT NULL THEN
        RAISE EXCEPTION 'primary key of "%" has a column named "%"', source, k.taken USING ERRCODE = 'duplicate_column',
            DETAIL = 'The view of its changes has a column of this name.', HINT = 'Rename the column.';
    ELSIF tracked.log IS NULL THEN
        IF octet_length(t.name) > 55 THEN
            RAISE EXCEPTION 'name of table "%" is too long for the name of its log', t.name USING ERRCODE = 'name_too_long',
                DETAIL = 'The name of the view is the name of the table and "_changes".';
        END IF;
        FOREACH object IN ARRAY ARRAY[log, changes, log || '()', log || '(regclass)'] LOOP
            IF (CASE WHEN object LIKE '%)' THEN to_regprocedure(object)::oid ELSE to_regclass(object) END) IS NOT NULL THEN
                SELECT g.tgrelid INTO other FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
                WHERE g.tgname = 'sno_log' AND g.tgparentid = 0 AND p.pronamespace = t.schema::regnamespace AND p.proname = t.name || '_log';
                RAISE EXCEPTION '"%" already exists', object USING ERRCODE = 'duplicate_object',
                    DETAIL = format(CASE WHEN other IS NULL THEN '"%s" needs this name for the log of its changes.'
                        ELSE 'It belongs to the log of the changes of "%2$s".' END, source, other),
                    HINT = CASE WHEN other IS NULL THEN 'Rename it, or drop it.' ELSE 'Use sno_untrack_changes() for that table, or rename this one.' END;
            END IF;
        END LOOP;
        EXECUTE format('CREATE TABLE %s (changed %s.sno PRIMARY KEY DEFAULT %2$s.sno_new(%s), %s)', log, sno_internal.schema(), coalesce(metabyte, 0), k.columns);
        EXECUTE format('COMMENT ON TABLE %s IS %L', log, 'keys of changed rows, written by triggers: see sno_track_changes()');
    ELSIF metabyte IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ALTER changed SET DEFAULT %s.sno_new(%s)', log, sno_internal.schema(), metabyte);
    END IF;

    -- As the owner, since who changes the table need not have rights on the log; with a path that nobody else can put anything in.
    EXECUTE format('CREATE %s FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS %L',
        CASE WHEN tracked.log IS NULL THEN '' ELSE 'OR REPLACE' END, log, format($body$
DECLARE
    part regclass;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
            RAISE EXCEPTION 'cannot truncate a table whose changes are tracked in a transaction with isolation level %%',
                upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state',
                DETAIL = 'Such a transaction does not see rows that others have inserted since it began.', HINT = 'Use READ COMMITTED.';
        END IF;
        FOR part IN SELECT sno_internal.truncated(TG_RELID) LOOP
            EXECUTE concat(%5$L, part, ' t');
        END LOOP;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO %1$s (%2$s) VALUES (%3$s);
    END IF;
    -- The images, which are compared without operators of others' types.
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NOT ROW(%3$s)::record *= ROW(%4$s)::record THEN
        INSERT INTO %1$s (%2$s) VALUES (%4$s);
    END IF;
    RETURN NULL;
END
$body$, log, k.logged, k.old, k.new, format('INSERT INTO %s (%s) SELECT %s FROM ONLY ', log, k.logged, k.present)));
    -- A subquery, not a join: whatever the statistics say, a batch in the order of the log needs no sort. The whole row, so that columns can be
    -- added, dropped and altered. What the planner leaves out, GROUP BY the key, is only to depend on the primary key: so PostgreSQL refuses to
    -- drop or to change it.
    EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT l.changed, %s, CASE WHEN true THEN (SELECT t.*::%3$s FROM %4$s%3$s t WHERE %5$s) ELSE %7$s END AS record
        FROM %6$s l WHERE sno_internal.check_changes(%8$L)', changes, k.shown, source, alone, k.equal, log, k.key_of_table, source);
    IF tracked.log IS NULL THEN
        EXECUTE format('COMMENT ON VIEW %s IS %L', changes, 'changed rows, each as it is now: see sno_track_changes()');
        EXECUTE format('COMMENT ON FUNCTION %s() IS %L', log, 'writes the log of changes: see sno_track_changes()');
        -- Nobody else may attach it to a table whose values have other types, and so casts.
        EXECUTE format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', log);
        IF t.owner <> current_user::regrole THEN
            EXECUTE format('ALTER TABLE %1$s OWNER TO %2$s; ALTER FUNCTION %1$s() OWNER TO %2$s; ALTER VIEW %3$s OWNER TO %2$s', log, t.owner::regrole, changes);
        END IF;
    END IF;
    -- For each row, since replication and partitions fire no other triggers; always, so also for replication.
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s()', source, log);
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()', source, log);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_log, ENABLE ALWAYS TRIGGER sno_log_truncate', source);
    PERFORM sno_internal.follow_partitions(source, tracked.log IS NULL);
    RETURN changes;
END
$$;
COMMENT ON FUNCTION sno_track_changes(regclass, integer) IS 'log the keys of all rows of a table that are inserted, updated or deleted, for feeds of its changes';

-- What a change leaves unread, it would leave for ever: nothing is deleted that one feed has not read.
CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(source)).log;
    last sno_internal.feed_positions.position%TYPE := sno_internal.read_by_all(log);
    forgotten bigint;
BEGIN
    IF log IS NULL THEN
        RAISE EXCEPTION 'changes of "%" are not tracked', source USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Use sno_track_changes().';
    END IF;
    IF to_regprocedure(log || '(regclass)') IS NOT NULL THEN
        PERFORM sno_internal.follow_partitions(source);
    END IF;
    PERFORM sno_internal.check_changes(source);
    EXECUTE format('DELETE FROM %s WHERE changed OPERATOR(pg_catalog.<=) $1', log) USING last;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END
$$;
COMMENT ON FUNCTION sno_forget_changes(regclass) IS 'delete from the log of changes what all feeds of them have read; returns how many';

CREATE FUNCTION sno_untrack_changes(source regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tracked record := sno_internal.tracked(source);
    reader text;
    part regclass;
BEGIN
    IF tracked.log IS NULL THEN
        RAISE EXCEPTION 'changes of "%" are not tracked', source USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT f.feed INTO reader FROM sno_internal.feed_positions f WHERE f.source IN (tracked.changes, tracked.log) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'changes of "%" are read by the feed "%"', source, reader USING ERRCODE = 'dependent_objects_still_exist',
            HINT = 'Use sno_drop_feed().';
    END IF;
    FOR part IN SELECT p.relation FROM sno_internal.partitions(source) p WHERE p.is_known LOOP
        EXECUTE format('DROP TRIGGER IF EXISTS sno_log_truncate ON %s', part);
    END LOOP;
    IF to_regprocedure(tracked.log || '(regclass)') IS NOT NULL THEN
        EXECUTE format('DROP FUNCTION %s(regclass)', tracked.log);
    END IF;
    EXECUTE format('DROP TRIGGER sno_log ON %1$s; DROP TRIGGER sno_log_truncate ON %1$s; DROP VIEW %2$s; DROP FUNCTION %3$s; DROP TABLE %4$s', source, tracked.changes, tracked.logger, tracked.log);
END
$$;
COMMENT ON FUNCTION sno_untrack_changes(regclass) IS 'drop what sno_track_changes() has created for a table';
