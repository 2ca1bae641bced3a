--
-- Changes: updates and deletes as a feed
--

-- A log of primary keys, which triggers write in the transaction that changes a row, and a view that shows each change with its row as it
-- is now. Nothing that is returned later is older, so the order of the IDs need not be the order of the changes.

-- The columns of the primary key, also if they were renamed, and the operators of its index, as parts of statements: those of others' types
-- may be anywhere. `log` is NULL before it is created.
CREATE FUNCTION sno_internal.key_of_log(source regclass, log regclass, OUT logged text, OUT shown text, OUT present text, OUT old text,
    OUT new text, OUT has_names text, OUT definitions text, OUT equal text, OUT key_of_table text, OUT taken name, OUT is_same boolean) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT string_agg(quote_ident(l.name), ', ' ORDER BY n),
        string_agg(format('l.%I', l.name), ', ' ORDER BY n),
        string_agg(format('t.%I', a.attname), ', ' ORDER BY n),
        string_agg(format('OLD.%I', a.attname), ', ' ORDER BY n),
        string_agg(format('NEW.%I', a.attname), ', ' ORDER BY n),
        string_agg(format('sno_internal.sno_is_column(%s, %s, %L)', source::oid, a.attnum, a.attname), ' AND ' ORDER BY n),
        string_agg(format('%I %s%s NOT NULL', a.attname, format_type(a.atttypid, a.atttypmod),
            (SELECT format(' COLLATE %s.%I', collnamespace::regnamespace, collname) FROM pg_collation WHERE oid = a.attcollation)), ', ' ORDER BY n),
        string_agg(format('t.%I%s OPERATOR(%s.%s) l.%I%2$s', a.attname, cast_to, o.oprnamespace::regnamespace, o.oprname, l.name), ' AND ' ORDER BY n),
        -- None where Citus reads a subquery, which has no key and another type, instead of a table in its metadata.
        CASE WHEN bool_and(i.indimmediate) AND NOT sno_internal.is_distributed(source) THEN
            format('(SELECT t.*::%1$s FROM %2$s%1$s t WHERE false GROUP BY %3$s)', source,
            sno_internal.alone(source), string_agg(format('t.%I', a.attname), ', ' ORDER BY n)) END,
        min(l.name) FILTER (WHERE l.name IN ('changed', 'record')),
        -- The same names in another order: a DEFERRABLE primary key, which PostgreSQL lets go, had its columns exchanged.
        bool_and((b.atttypid, b.atttypmod, b.attcollation) = (a.atttypid, a.atttypmod, a.attcollation))
            AND count(*) + 1 = (SELECT count(*) FROM pg_attribute WHERE attrelid = log AND attnum > 0 AND attnotnull)
            AND (array_agg(a.attname ORDER BY n) = array_agg(l.name ORDER BY n)
                OR array_agg(a.attname ORDER BY a.attname) <> array_agg(l.name ORDER BY l.name))
    INTO logged, shown, present, old, new, has_names, definitions, equal, key_of_table, taken, is_same
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1], i.indclass[0:i.indnkeyatts - 1]) WITH ORDINALITY u(attnum, opclass, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum
    JOIN pg_opclass c ON c.oid = u.opclass JOIN pg_type y ON y.oid = c.opcintype
    JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
    JOIN pg_operator o ON o.oid = m.amopopr
    LEFT JOIN pg_attribute b ON b.attrelid = log AND b.attnum = n + 1 AND NOT b.attisdropped
    CROSS JOIN LATERAL (SELECT coalesce(b.attname, a.attname), CASE WHEN y.typtype = 'p' THEN '' ELSE '::' || format_type(y.oid, -1) END) l(name, cast_to)
    WHERE i.indrelid = source AND i.indisprimary;
END
$$;
COMMENT ON FUNCTION sno_internal.key_of_log(regclass, regclass) IS 'internal: the primary key of a table as the statements of its log write it';

-- Rows of tables that inherit are not of the table; rows of partitions are.
CREATE FUNCTION sno_internal.alone(source regclass) RETURNS text
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE c.relkind WHEN 'p' THEN '' ELSE 'ONLY ' END FROM pg_class c WHERE c.oid = source
$$;
COMMENT ON FUNCTION sno_internal.alone(regclass) IS 'internal: ONLY, unless a table is partitioned';

-- The log of a table, whose names must be free.
CREATE FUNCTION sno_internal.create_log(source regclass, metabyte integer, log text, changes text, definitions text) RETURNS void
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
    FOREACH object IN ARRAY ARRAY[log, changes, log || '()', log || '(regclass)'] LOOP
        IF (CASE WHEN object LIKE '%)' THEN to_regprocedure(object)::oid ELSE to_regclass(object) END) IS NOT NULL THEN
            SELECT g.tgrelid INTO other FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
            WHERE g.tgname = 'sno_log' AND g.tgparentid = 0 AND p.pronamespace = t.schema AND p.proname = t.name || '_log';
            RAISE EXCEPTION '"%" already exists', object USING ERRCODE = 'duplicate_object',
                DETAIL = format(CASE WHEN other IS NULL THEN '"%s" needs this name for the log of its changes.'
                    ELSE 'It belongs to the log of the changes of "%2$s".' END, source, other),
                HINT = CASE WHEN other IS NULL THEN 'Rename it.' ELSE 'Rename this table.' END;
        END IF;
    END LOOP;
    EXECUTE format('CREATE TABLE %s (changed %s.sno PRIMARY KEY DEFAULT %2$s.sno_new(%s), %s)', log, sno_internal.schema(), coalesce(metabyte, 0), definitions);
    EXECUTE format('COMMENT ON TABLE %s IS %L', log, 'keys of changed rows, written by triggers: see sno_track_changes()');
END
$$;
COMMENT ON FUNCTION sno_internal.create_log(regclass, integer, text, text, text) IS 'internal: create the log of the changes of a table';

-- The function of the triggers. As the owner, since who changes the table need not have rights on the log; with a path that nobody else can put
-- anything in.
CREATE FUNCTION sno_internal.sno_is_column(relation regclass, number integer, name name) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_is_column(regclass, integer, name) IS 'internal: whether a column still has its name';

CREATE FUNCTION sno_internal.create_logger(
        source regclass, log text, is_first boolean, logged text, present text, old text, new text, has_names text
    ) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('CREATE %s FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS %L',
        CASE WHEN is_first THEN '' ELSE 'OR REPLACE' END, log, format($body$
DECLARE
    part regclass;
BEGIN
    -- Otherwise a column that has got the name of another one would be logged for it. After a restore, the table has another OID.
    IF (TG_RELID = %6$s OR pg_partition_root(TG_RELID) = %6$s::regclass) AND NOT (%7$s) THEN
        RAISE EXCEPTION 'column of the primary key of "%%" was renamed', %6$s::regclass USING ERRCODE = 'undefined_column',
            HINT = format('SELECT sno_track_changes(%%L)', %6$s::regclass);
    END IF;
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
$body$, log, logged, old, new, format('INSERT INTO %s (%s) SELECT %s FROM ONLY ', log, logged, present),
        source::oid, has_names));
    IF is_first THEN
        EXECUTE format('COMMENT ON FUNCTION %s() IS %L', log, 'writes the log of changes: see sno_track_changes()');
        -- Nobody else may attach it to a table whose values have other types, and so casts.
        EXECUTE format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', log);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.create_logger(regclass, text, boolean, text, text, text, text, text) IS
    'internal: create the function that writes the log of the changes of a table';

CREATE FUNCTION sno_internal.track_changes(source regclass, metabyte integer) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
    k record;
    tracked record;
    fault record;
    log text;
    changes text;
    present text;
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
    k := sno_internal.key_of_log(source, tracked.log);
    IF tracked.log IS NOT NULL AND (k.is_same IS NOT TRUE OR NOT sno_internal.has_key_of_log(source, tracked.changes)) THEN
        RAISE EXCEPTION 'primary key of "%" differs from the columns of its log', source
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Drop the feeds, use sno_untrack_changes() and sno_track_changes(), create the feeds, and fill the copies from the table.';
    ELSIF k.taken IS NOT NULL THEN
        RAISE EXCEPTION 'primary key of "%" has a column named "%"', source, k.taken USING ERRCODE = 'duplicate_column',
            DETAIL = 'The view of its changes has a column of this name.', HINT = 'Rename the column.';
    ELSIF tracked.log IS NULL THEN
        PERFORM sno_internal.create_log(source, metabyte, log, changes, k.definitions);
    ELSIF metabyte IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ALTER changed SET DEFAULT %s.sno_new(%s)', log, sno_internal.schema(), metabyte);
    END IF;
    PERFORM sno_internal.create_logger(source, log, tracked.log IS NULL, k.logged, k.present, k.old, k.new, k.has_names);
    -- A subquery, not a join: whatever the statistics say, a batch in the order of the log needs no sort. The whole row, so that columns can be
    -- added, dropped and altered. What the planner leaves out, GROUP BY the key, is only to depend on the primary key: so PostgreSQL refuses to
    -- drop or to change it.
    present := format('(SELECT t.*::%1$s FROM %2$s%1$s t WHERE %3$s)', source, sno_internal.alone(source), k.equal);
    EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT l.changed, %s, %s AS record FROM %s l WHERE sno_internal.check_changes(%L)',
        changes, k.shown, coalesce('CASE WHEN true THEN ' || present || ' ELSE ' || k.key_of_table || ' END', present), log, source);
    IF tracked.log IS NULL THEN
        EXECUTE format('COMMENT ON VIEW %s IS %L', changes, 'changed rows, each as it is now: see sno_track_changes()');
    END IF;
    -- For each row, since replication and partitions fire no other triggers; always, so also for replication.
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s()', source, log);
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()', source, log);
    -- One by one: Citus takes no more at once for tables in its metadata.
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_log', source);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_log_truncate', source);
    PERFORM sno_internal.follow_partitions(source, tracked.log IS NULL);
    RETURN changes;
END
$$;
COMMENT ON FUNCTION sno_internal.track_changes(regclass, integer) IS 'internal: sno_track_changes()';
CREATE FUNCTION sno_track_changes(source regclass, metabyte integer DEFAULT NULL) RETURNS regclass
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_track_changes(regclass, integer) IS 'log the keys of all rows of a table that are inserted, updated or deleted, for feeds of its changes';

-- Deletes only what every feed has read: a change that is deleted unread is lost, since the log has no second row for it.
CREATE FUNCTION sno_internal.forget_changes(source regclass) RETURNS bigint
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
COMMENT ON FUNCTION sno_internal.forget_changes(regclass) IS 'internal: sno_forget_changes()';
CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_forget_changes(regclass) IS 'delete from the log of changes what all feeds of them have read; returns how many';

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
    SELECT f.feed INTO reader FROM sno_internal.feed_positions f WHERE f.source IN (tracked.changes, tracked.log) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'changes of "%" are read by the feed "%"', source, reader USING ERRCODE = 'dependent_objects_still_exist',
            HINT = 'If no copy is kept by this feed any more, use sno_drop_feed().';
    END IF;
    FOR part IN SELECT p.relation FROM sno_internal.partitions(source) p WHERE p.is_known LOOP
        EXECUTE format('DROP TRIGGER IF EXISTS sno_log_truncate ON %s', part);
    END LOOP;
    IF to_regprocedure(tracked.log || '(regclass)') IS NOT NULL THEN
        EXECUTE format('DROP FUNCTION %s(regclass)', tracked.log);
    END IF;
    -- One by one, as they were created.
    EXECUTE format('DROP TRIGGER sno_log ON %s', source);
    EXECUTE format('DROP TRIGGER sno_log_truncate ON %s', source);
    EXECUTE format('DROP VIEW %s', tracked.changes);
    EXECUTE format('DROP FUNCTION %s', tracked.logger);
    EXECUTE format('DROP TABLE %s', tracked.log);
END
$$;
COMMENT ON FUNCTION sno_internal.untrack_changes(regclass) IS 'internal: sno_untrack_changes()';
CREATE FUNCTION sno_untrack_changes(source regclass) RETURNS void
    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_untrack_changes(regclass) IS 'drop what sno_track_changes() has created for a table';
