--
-- Changes: updates and deletes as a feed
--

-- A log of primary keys, which triggers write in the transaction that changes a row, and a view that shows each change
-- with its row as it is now. So no change is returned with an older row than one before it, and the order of the IDs
-- need not be the order of the changes.

-- The columns of the primary key, also if they were renamed, and the operators of its index, as parts of statements:
-- those of others' types may be anywhere. `log` is NULL before it is created.
CREATE FUNCTION sno_internal.log_key(
        source regclass, log regclass, OUT select_list text, OUT column_definitions text, OUT join_condition text,
        OUT key_dependency text, OUT reserved_name name, OUT is_unchanged boolean
    ) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT string_agg(format('l.%I', l.name), ', ' ORDER BY n),
        string_agg(format('%I %s%s NOT NULL', a.attname, format_type(a.atttypid, a.atttypmod),
            (SELECT format(' COLLATE %s.%I', collnamespace::regnamespace, collname)
                FROM pg_collation WHERE oid = a.attcollation)), ', ' ORDER BY n),
        string_agg(format('t.%I%s OPERATOR(%s.%s) l.%I%2$s', a.attname, cast_to, o.oprnamespace::regnamespace,
            o.oprname, l.name), ' AND ' ORDER BY n),
        CASE WHEN bool_and(i.indimmediate) THEN
            format('(SELECT t.*::%1$s FROM %2$s%1$s t WHERE false GROUP BY %3$s)', source,
            sno_internal.alone(source), string_agg(format('t.%I', a.attname), ', ' ORDER BY n)) END,
        min(l.name) FILTER (WHERE l.name IN ('changed', 'record', 'deleted')),
        -- The same names in another order: a DEFERRABLE primary key, which PostgreSQL lets go, had its columns
        -- exchanged.
        bool_and((b.atttypid, b.atttypmod, b.attcollation) = (a.atttypid, a.atttypmod, a.attcollation))
            AND count(*) + 1 = (SELECT count(*) FROM pg_attribute WHERE attrelid = log AND attnum > 0 AND attnotnull)
            AND (array_agg(a.attname ORDER BY n) = array_agg(l.name ORDER BY n)
                OR array_agg(a.attname ORDER BY a.attname) <> array_agg(l.name ORDER BY l.name))
    INTO select_list, column_definitions, join_condition, key_dependency, reserved_name, is_unchanged
    FROM pg_index i
    CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1], i.indclass[0:i.indnkeyatts - 1])
        WITH ORDINALITY u(attnum, opclass, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum
    JOIN pg_opclass c ON c.oid = u.opclass JOIN pg_type y ON y.oid = c.opcintype
    JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype
        AND m.amopstrategy = 3
    JOIN pg_operator o ON o.oid = m.amopopr
    LEFT JOIN pg_attribute b ON b.attrelid = log AND b.attnum = n + 1 AND NOT b.attisdropped
    CROSS JOIN LATERAL (
        SELECT coalesce(b.attname, a.attname), CASE WHEN y.typtype = 'p' THEN '' ELSE '::' || format_type(y.oid, -1) END
    ) l(name, cast_to)
    WHERE i.indrelid = source AND i.indisprimary;
END
$$;
COMMENT ON FUNCTION sno_internal.log_key(regclass, regclass) IS
    'internal: the primary key of a table as the statements of its log write it';

CREATE FUNCTION sno_internal.log_id(log regclass) RETURNS name
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.attname FROM pg_attribute a WHERE a.attrelid = log AND a.attnum = 1
$$;
COMMENT ON FUNCTION sno_internal.log_id(regclass) IS 'internal: the present name of a log''s column "changed"';

-- The log of a table, whose names must be free.
CREATE FUNCTION sno_internal.create_log(source regclass, metabyte integer, log text, changes text, definitions text)
    RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
    object text;
    other regclass;
BEGIN
    SELECT c.relname AS name, c.relnamespace AS schema INTO t FROM pg_class c WHERE c.oid = source;
    IF octet_length(t.name) > 55 THEN
        RAISE EXCEPTION 'name of table "%" is too long for the name of its log', t.name USING ERRCODE = 'name_too_long',
            DETAIL = 'The name of the view is the name of the table and "_changes".';
    END IF;
    FOREACH object IN ARRAY ARRAY[log, changes] LOOP
        IF to_regclass(object) IS NOT NULL THEN
            SELECT g.tgrelid INTO other
            FROM pg_trigger g JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
                AND d.refclassid = 'pg_class'::regclass AND d.refobjid = to_regclass(log)
            WHERE g.tgname = 'sno_log' AND g.tgparentid = 0 AND g.tgrelid <> d.refobjid;
            RAISE EXCEPTION '"%" already exists', object USING ERRCODE = 'duplicate_object',
                DETAIL = format(CASE WHEN other IS NULL THEN '"%s" needs this name for the log of its changes.'
                    ELSE 'It belongs to the log of the changes of "%2$s".' END, source, other),
                HINT = CASE WHEN other IS NULL THEN 'Rename it.' ELSE 'Rename this table.' END;
        END IF;
    END LOOP;
    EXECUTE format('CREATE TABLE %s (changed %s.sno PRIMARY KEY DEFAULT %2$s.sno_new(%s), %s)',
        log, sno_internal.schema(), coalesce(metabyte, 0), definitions);
    EXECUTE format('COMMENT ON TABLE %s IS %L', log,
        'keys of changed rows, written by triggers: see sno_track_changes()');
END
$$;
COMMENT ON FUNCTION sno_internal.create_log(regclass, integer, text, text, text) IS
    'internal: create the log of the changes of a table';

-- A subquery, not a join: whatever the statistics say, a batch in the order of the log needs no sort. The whole row, so
-- that columns can be added, dropped and altered. What the planner leaves out, GROUP BY the key, is only to depend on
-- the primary key: so PostgreSQL refuses to drop or to change it.
CREATE FUNCTION sno_internal.create_changes(source regclass, log regclass, changes text, replaces boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    key record := sno_internal.log_key(source, log);
    of_key text := format('FROM %s%s t WHERE %s', sno_internal.alone(source), source, key.join_condition);
    present text := format('(SELECT t.*::%s %s)', source, of_key);
BEGIN
    IF NOT replaces AND to_regclass(changes) IS NOT NULL THEN
        RAISE EXCEPTION '"%" already exists', changes USING ERRCODE = 'duplicate_object',
            DETAIL = format('"%s" needs this name for the view of its changes.', source),
            HINT = 'If it is this view, give it the owner of the table. Otherwise rename it.';
    END IF;
    EXECUTE format('CREATE %s VIEW %s AS
        SELECT l.%I AS changed, %s, %s AS record, (SELECT true %s) IS NULL AS deleted
        FROM %s l WHERE sno_internal.check_changes(%L)',
        CASE WHEN replaces THEN 'OR REPLACE' END, changes, sno_internal.log_id(log), key.select_list,
        coalesce('CASE WHEN true THEN ' || present || ' ELSE ' || key.key_dependency || ' END', present), of_key, log,
        source);
    IF NOT replaces THEN
        EXECUTE format('COMMENT ON VIEW %s IS %L', changes, 'changed rows, each as it is now: see sno_track_changes()');
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.create_changes(regclass, regclass, text, boolean) IS
    'internal: create or replace the view of the changes of a table';

CREATE FUNCTION sno_internal.track_changes(source regclass, metabyte integer) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
    key record;
    tracked record;
    fault record;
    log text;
    changes text;
    idle record;
BEGIN
    SELECT * INTO fault FROM sno_internal.tracking_fault(source);
    SELECT c.relname AS name, s.nspname AS schema INTO t
    FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE c.oid = source;
    IF fault.fault IS NOT NULL THEN
        RAISE EXCEPTION 'cannot track changes of "%"', source USING ERRCODE = 'wrong_object_type', DETAIL = fault.fault,
            HINT = coalesce(fault.hint, 'Only changes of permanent tables with a primary key can be tracked.');
    END IF;
    -- An ID now, rather than an error in each statement that will change the table.
    PERFORM sno_internal.sno_new(coalesce(metabyte, 0));
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', source);
    tracked := sno_internal.tracked(source);
    log := coalesce(tracked.log::text, format('%I.%I', t.schema, t.name || '_log'));
    changes := coalesce(tracked.changes::text, format('%I.%I', t.schema, t.name || '_changes'));
    key := sno_internal.log_key(source, tracked.log);
    IF tracked.log IS NOT NULL
        AND (key.is_unchanged IS NOT TRUE OR NOT sno_internal.has_logged_key(source, tracked.changes)) THEN
        RAISE EXCEPTION 'primary key of "%" differs from the columns of its log', source
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Drop the feeds, untrack and track the changes, create the feeds, fill the copies from the table.';
    ELSIF key.reserved_name IS NOT NULL THEN
        RAISE EXCEPTION 'primary key of "%" has a column named "%"', source, key.reserved_name
            USING ERRCODE = 'duplicate_column',
            DETAIL = 'The view of its changes has a column of this name.', HINT = 'Rename the column.';
    ELSIF tracked.log IS NULL THEN
        PERFORM sno_internal.create_log(source, metabyte, log, changes, key.column_definitions);
    ELSIF metabyte IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ALTER %I SET DEFAULT %s.sno_new(%s)', log, sno_internal.log_id(tracked.log),
            sno_internal.schema(), metabyte);
    END IF;
    -- The log names the table, so that no other one writes it.
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = log::regclass AND conname = 'sno_log') THEN
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT sno_log CHECK (%L::regclass IS NOT NULL) NOT VALID', log, source);
    END IF;
    PERFORM sno_internal.create_changes(source, log::regclass, changes, tracked.changes IS NOT NULL);
    -- For each row, since replication and partitions fire no other triggers; always, so also for replication.
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW
        WHEN (%L::regclass IS NOT NULL) EXECUTE FUNCTION sno_internal.sno_log_changes()', source, log);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_log', source);
    -- Also if it has that of a log of a table that it was a partition of.
    IF NOT EXISTS (SELECT FROM sno_internal.named(source) n WHERE n.oid = log::regclass) THEN
        PERFORM sno_internal.create_truncate_trigger(source, log::regclass);
    END IF;
    FOR idle IN SELECT * FROM sno_internal.idle_triggers(source) LOOP
        -- As it was: who can create triggers could have replaced it.
        IF idle.trigger = 'sno_log_truncate' THEN
            PERFORM sno_internal.create_truncate_trigger(idle.relation, log::regclass);
        ELSE
            EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', idle.relation, idle.trigger);
        END IF;
    END LOOP;
    PERFORM sno_internal.log_changed_partitions(source, tracked.log IS NULL);
    RETURN changes;
END
$$;
COMMENT ON FUNCTION sno_internal.track_changes(regclass, integer) IS 'internal: sno_track_changes()';
CREATE FUNCTION sno_track_changes(source regclass, metabyte integer DEFAULT NULL) RETURNS regclass
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_track_changes(regclass, integer) IS
    'log the keys of all rows of a table that are inserted, updated or deleted, for feeds of its changes';

-- Deletes only what every feed has read: a change that is deleted unread is lost, since the log has no second row for
-- it. The statement that deletes asks for it, so that both see the same: once the horizons are lowered, rows come below
-- what was read before.
CREATE FUNCTION sno_internal.forget_changes(source regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(source)).log;
    forgotten bigint;
BEGIN
    IF log IS NULL THEN
        RAISE EXCEPTION 'changes of "%" are not tracked', source USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Use sno_track_changes().';
    END IF;
    PERFORM sno_internal.log_changed_partitions(source);
    PERFORM sno_internal.check_changes(source);
    EXECUTE format('DELETE FROM %s WHERE %I OPERATOR(pg_catalog.<=) (SELECT sno_internal.read_by_all($1))', log,
        sno_internal.log_id(log)) USING log;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END
$$;
COMMENT ON FUNCTION sno_internal.forget_changes(regclass) IS 'internal: sno_forget_changes()';
CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint
    AS 'MODULE_PATHNAME', 'sno_as_owner_concurrently' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_forget_changes(regclass) IS
    'delete from the log of changes what all feeds of them have read; returns how many';

-- The log that a feed of a source reads, if it reads one, and the table whose changes are in it. Each names the other:
-- a log that its table does not name is a copy.
CREATE FUNCTION sno_internal.log_read(source regclass) RETURNS TABLE (log regclass, of_table regclass)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT o.conrelid::regclass, named.refobjid::regclass
    FROM pg_constraint o JOIN pg_depend named ON named.classid = 'pg_constraint'::regclass AND named.objid = o.oid
        AND named.refclassid = 'pg_class'::regclass AND named.refobjid <> o.conrelid
    JOIN pg_trigger g ON g.tgrelid = named.refobjid AND g.tgname = 'sno_log'
        AND g.tgfoid = 'sno_internal.sno_log_changes()'::regprocedure
    JOIN pg_depend names ON names.classid = 'pg_trigger'::regclass AND names.objid = g.oid
        AND names.refclassid = 'pg_class'::regclass AND names.refobjid = o.conrelid
    WHERE o.conrelid = sno_internal.table_of(source) AND o.conname = 'sno_log' AND o.contype = 'c'
$$;
COMMENT ON FUNCTION sno_internal.log_read(regclass) IS 'internal: the log of changes that a feed reads, and its table';

-- Called for a feed that moves. Those who do it at the same time do not wait for each other. The last hour is left for
-- feeds that are set back.
CREATE FUNCTION sno_internal.clear_log(log regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- What a feed of the view has not read stays, too, while these are given to another owner one by one.
    IF EXISTS (SELECT FROM sno_internal.log_read(log) l JOIN pg_class c ON c.oid IN (l.log, l.of_table)
        GROUP BY l.of_table HAVING CASE WHEN count(DISTINCT c.relowner) = 1
            THEN (sno_internal.tracked(l.of_table)).changes IS NULL ELSE true END) THEN
        RETURN;
    END IF;
    -- After pg_upgrade, which creates event triggers last.
    PERFORM sno_internal.keep_partitions(l.of_table)
    FROM sno_internal.log_read(log) l JOIN pg_class c ON c.oid = l.of_table AND c.relkind = 'p';
    EXECUTE format('DELETE FROM %1$s WHERE %2$I IN (SELECT l.%2$I FROM %1$s l
        WHERE l.%2$I OPERATOR(pg_catalog.<=) (SELECT sno_internal.read_by_all($1)) AND l.%2$I OPERATOR(pg_catalog.<=) $2
        ORDER BY l.%2$I LIMIT 10000 FOR UPDATE SKIP LOCKED)', log, sno_internal.log_id(log))
        USING log, sno_internal.sno_last(now() - interval '1 hour', true);
END
$$;
COMMENT ON FUNCTION sno_internal.clear_log(regclass) IS
    'internal: delete from a log what all feeds have read, but for the last hour';

CREATE FUNCTION sno_internal.untrack_changes(source regclass) RETURNS void
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
    SELECT f.feed INTO reader
    FROM sno_internal.feed_positions f WHERE f.source IN (tracked.changes, tracked.log) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'changes of "%" are read by the feed "%"', source, reader
            USING ERRCODE = 'dependent_objects_still_exist',
            HINT = 'If no copy is kept by this feed any more, use sno_drop_feed().';
    END IF;
    FOR part IN SELECT p.relation FROM sno_internal.partitions(source) p WHERE p.is_known LOOP
        PERFORM sno_internal.drop_truncate_trigger(part, tracked.log);
    END LOOP;
    -- One by one, as they were created.
    EXECUTE format('DROP TRIGGER IF EXISTS sno_log ON %s', source);
    EXECUTE format('DROP TRIGGER IF EXISTS sno_log_truncate ON %s', source);
    IF tracked.changes IS NOT NULL THEN
        EXECUTE format('DROP VIEW %s', tracked.changes);
    END IF;
    EXECUTE format('DROP TABLE %s', tracked.log);
END
$$;
COMMENT ON FUNCTION sno_internal.untrack_changes(regclass) IS 'internal: sno_untrack_changes()';
CREATE FUNCTION sno_untrack_changes(source regclass) RETURNS void
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_untrack_changes(regclass) IS 'drop what sno_track_changes() has created for a table';
