--
-- Tables whose changes are tracked: what is known of them, and whether their logs are complete
--
-- What sno_track_changes('items') creates, and by what each object names the others. PostgreSQL knows these names as
-- dependencies: it keeps them right when something is renamed, writes them into dumps, and drops no object alone.
--
--   items_log, a table        the ID of the change, then the columns of the primary key of items. Its constraint
--                             "sno_log" names the table: CHECK ('items'::regclass IS NOT NULL).
--   trigger sno_log           for rows of items and, cloned by PostgreSQL, of its partitions. Its condition names the
--                             log: WHEN ('items_log'::regclass IS NOT NULL).
--   trigger sno_log_truncate  the same for TRUNCATE of items, and one for each partition: a partition that has it is
--                             one that the log knows. The one of items also depends on the partitions (sno_depend), so
--                             that DROP is refused, which fires no trigger. A dump lacks these dependencies.
--   items_changes, a view     the log with the rows as they are now. It names both, and items also as a constant:
--                             WHERE sno_internal.check_changes('items'), which fails if the log is incomplete.
--

-- The function of the triggers on such a table and its partitions.
CREATE FUNCTION sno_internal.sno_log_changes() RETURNS trigger
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_log_changes() IS
    'internal: write the keys of changed rows into a log, as the owner of that';

-- The log and the view of a table whose changes are tracked; nulls if they are not. All can be renamed. Two of three
-- signs tell which they are, since one alone can be a copy's, or somebody else's:
--
--   trigger sno_log of  constraint sno_log of  view of the table's owner
--   the table names it  it names the table     that reads both
--   ------------------  ---------------------  -------------------------
--   yes                 yes                    yes                        the log
--   no                  yes                    yes                        the log; its trigger was dropped
--   yes                 no                     yes                        the log; its constraint was dropped
--   yes                 yes                    no                         the log; its view was dropped
--   yes                 no                     no                         what a role names that may create triggers
--   no                  yes                    no                         a copy of the log
--   no                  no                     yes                        another table that the view reads
--
-- A log of another owner is an error: who can create a trigger would otherwise choose what the table's owner, or a
-- superuser, replaces, drops or lets read its rows.
CREATE FUNCTION sno_internal.tracked(source regclass, OUT log regclass, OUT changes regclass) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    owner oid := (SELECT relowner FROM pg_class WHERE oid = source);
    log_owner oid;
BEGIN
    WITH sign(log, what, view) AS (
        SELECT d.refobjid, 'trigger', NULL::oid
        FROM pg_trigger g JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> source
        WHERE g.tgrelid = source AND g.tgname = 'sno_log'
        UNION ALL
        SELECT o.conrelid, 'constraint', NULL
        FROM pg_depend d JOIN pg_constraint o ON o.oid = d.objid AND o.conname = 'sno_log' AND o.contype = 'c'
        WHERE d.classid = 'pg_constraint'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = source
            AND o.conrelid <> source
        UNION ALL
        SELECT d.refobjid, 'view', r.ev_class
        FROM pg_depend s JOIN pg_depend f USING (classid, objid) JOIN pg_depend d USING (classid, objid)
        JOIN pg_rewrite r ON r.oid = s.objid JOIN pg_class v ON v.oid = r.ev_class AND v.relowner = owner
        WHERE s.classid = 'pg_rewrite'::regclass AND s.refclassid = 'pg_class'::regclass AND s.refobjid = source
            AND f.refclassid = 'pg_proc'::regclass
            AND f.refobjid = 'sno_internal.check_changes(regclass)'::regprocedure
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> source
    )
    SELECT c.oid, min(n.view), c.relowner INTO log, changes, log_owner
    FROM sign n JOIN pg_class c ON c.oid = n.log
    GROUP BY c.oid HAVING count(DISTINCT n.what) > 1
    ORDER BY c.relowner = owner DESC, min(n.view) IS NOT NULL DESC, c.oid LIMIT 1;
    IF log_owner <> owner THEN
        RAISE EXCEPTION 'log of the changes of "%" is of another owner', source
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('"%s" is of "%s".', log, log_owner::regrole),
            HINT = 'If sno_track_changes() has created it, give it the owner of the table. If not, somebody else has '
                'created the trigger "sno_log" of the table.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.tracked(regclass) IS 'internal: what sno_track_changes() has created for a table';

-- Why the changes of a table cannot be tracked, and what to do; nulls if they can.
CREATE FUNCTION sno_internal.tracking_fault(source regclass, OUT fault text, OUT hint text)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
BEGIN
    SELECT c.oid, c.relkind AS kind, c.relpersistence AS persistence, c.relispartition AS is_partition,
        c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid) AS is_parent,
        c.relforcerowsecurity
            AND NOT (SELECT r.rolsuper OR r.rolbypassrls FROM pg_roles r WHERE r.oid = c.relowner) AS hides_rows,
        (SELECT m.amname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
            WHERE i.indrelid = c.oid AND i.indisprimary) AS index_kind
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
        WHEN sno_internal.is_distributed(source) THEN 'Citus has it on other nodes, too, but not its log.'
        WHEN t.hides_rows THEN 'FORCE ROW LEVEL SECURITY hides rows from its owner: they would look deleted.'
    END;
    hint := CASE
        WHEN fault = 'It is a partition.' THEN 'Track the changes of the table that it is a partition of.'
        WHEN fault = 'Other tables inherit from it.' THEN 'Track the changes of these tables, or use partitions.'
        WHEN fault LIKE 'Citus%' THEN 'Track the changes of tables that Citus does not know.'
        WHEN fault = 'It has no primary key.' THEN 'Add a primary key.'
        WHEN fault LIKE 'FORCE%' THEN 'Its owner can be a role with BYPASSRLS.'
    END;
END
$$;
COMMENT ON FUNCTION sno_internal.tracking_fault(regclass) IS 'internal: why the changes of a table cannot be tracked';

-- What the trigger for TRUNCATE of a table depends on: its log and partitions. Nothing, once a partition was dropped
-- with CASCADE, and the trigger with it.
CREATE FUNCTION sno_internal.named(source regclass) RETURNS TABLE (oid oid)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.refobjid
    FROM pg_trigger g JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
    WHERE g.tgrelid = source AND g.tgname = 'sno_log_truncate' AND d.refclassid = 'pg_class'::regclass
        AND d.refobjid <> source
$$;
COMMENT ON FUNCTION sno_internal.named(regclass) IS 'internal: what the trigger for TRUNCATE of a table depends on';

-- The partitions with rows that a table has, and those that its log knows: they have triggers for TRUNCATE, which name
-- the log, or the table's depends on them. For this PostgreSQL refuses to drop such a partition before its rows are
-- logged as deleted.
CREATE FUNCTION sno_internal.partitions(
        source regclass, OUT relation regclass, OUT is_there boolean, OUT is_known boolean
    ) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(source)).log;
BEGIN
    RETURN QUERY
        WITH RECURSIVE part(oid) AS (
            SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = source AND NOT i.inhdetachpending
            UNION ALL SELECT i.inhrelid FROM part p JOIN pg_inherits i ON i.inhparent = p.oid AND NOT i.inhdetachpending
        ), known(oid) AS (
            SELECT c.oid
            FROM pg_depend d JOIN pg_trigger g ON g.oid = d.objid JOIN pg_class c ON c.oid = g.tgrelid
            WHERE d.classid = 'pg_trigger'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = log
                AND g.tgname = 'sno_log_truncate' AND g.tgrelid <> source
                AND g.tgfoid = 'sno_internal.sno_log_changes()'::regprocedure
                -- Others can name the log, too.
                AND c.relowner = (SELECT s.relowner FROM pg_class s WHERE s.oid = source)
            UNION SELECT n.oid FROM sno_internal.named(source) n WHERE n.oid <> log
        )
        SELECT coalesce(t.oid, k.oid)::regclass, t.oid IS NOT NULL, k.oid IS NOT NULL
        FROM (SELECT c.oid FROM part JOIN pg_class c USING (oid) WHERE c.relkind = 'r') t
        FULL JOIN known k ON k.oid = t.oid;
END
$$;
COMMENT ON FUNCTION sno_internal.partitions(regclass) IS
    'internal: partitions of a table, and those that the log of its changes knows';

-- Whether the primary key of a table still has the columns of which the view of the changes knows, whatever they are
-- called.
CREATE FUNCTION sno_internal.has_logged_key(source regclass, changes regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known integer[] := ARRAY(
        SELECT DISTINCT d.refobjsubid
        FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        WHERE r.ev_class = changes AND d.refclassid = 'pg_class'::regclass AND d.refobjid = source AND d.refobjsubid > 0
        ORDER BY 1
    );
BEGIN
    RETURN known = '{}' OR known = ARRAY(
        SELECT unnest(i.indkey[0:i.indnkeyatts - 1])::integer
        FROM pg_index i WHERE i.indrelid = source AND i.indisprimary ORDER BY 1
    );
END
$$;
COMMENT ON FUNCTION sno_internal.has_logged_key(regclass, regclass) IS
    'internal: whether the primary key of a table has the columns of its log';

-- Triggers of a log that do not fire always, so that what replication changes is not logged, or that are not there.
CREATE FUNCTION sno_internal.idle_triggers(source regclass) RETURNS TABLE (relation regclass, trigger name)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT t.relation, n.name
    FROM (
        SELECT source
        UNION ALL
        SELECT p.relation FROM pg_class c, sno_internal.partitions(c.oid) p
        WHERE c.oid = source AND c.relkind = 'p' AND p.is_there AND p.is_known
    ) t(relation), unnest('{sno_log,sno_log_truncate}'::name[]) n(name)
    WHERE NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = t.relation AND g.tgname = n.name
        AND g.tgenabled = 'A' AND g.tgfoid = 'sno_internal.sno_log_changes()'::regprocedure)
$$;
COMMENT ON FUNCTION sno_internal.idle_triggers(regclass) IS
    'internal: triggers of the log of the changes of a table that do not fire always';

-- Whether a partition is older than its triggers, and may have had rows before it was attached. One that was created
-- when it was attached had none, and its triggers have seen all since then: both are of one transaction.
CREATE FUNCTION sno_internal.was_there(part regclass) RETURNS boolean
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_attribute a JOIN pg_trigger g ON g.tgrelid = a.attrelid AND g.tgname = 'sno_log'
        WHERE a.attrelid = part AND a.attnum = -1 AND a.xmin::text <> g.xmin::text
    )
$$;
COMMENT ON FUNCTION sno_internal.was_there(regclass) IS 'internal: whether a partition is older than its triggers';

-- Asked by each query of a view of changes, once.
CREATE FUNCTION sno_internal.check_changes(source regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fault text;
    hint text;
    bad record;
    log regclass;
    changes regclass;
BEGIN
    SELECT f.fault, f.hint INTO fault, hint FROM sno_internal.tracking_fault(source) f;
    IF fault IS NULL AND EXISTS (SELECT FROM pg_class WHERE oid = source AND relkind = 'p') THEN
        IF NOT EXISTS (SELECT FROM sno_internal.named(source)) THEN
            fault := 'Partitions were dropped with CASCADE, so that their rows are not logged as deleted.';
            hint := format('Delete from copies what the table does not have, then call %s.sno_track_changes(%L).',
                sno_internal.schema(), source);
        END IF;
        SELECT p.*, p.is_there AND c.relpersistence = 'u' AS is_unlogged INTO bad
        FROM sno_internal.partitions(source) p JOIN pg_class c ON c.oid = p.relation
        WHERE NOT p.is_there OR NOT p.is_known OR c.relpersistence = 'u' LIMIT 1;
        IF fault IS NULL AND FOUND THEN
            fault := format(CASE WHEN bad.is_unlogged THEN 'Table "%s" is unlogged: a crash empties it.'
                WHEN bad.is_there THEN 'Table "%s" was attached: its rows are not in the log.'
                ELSE 'Table "%s" was detached: its rows are not logged as deleted.' END, bad.relation);
            hint := CASE WHEN NOT bad.is_unlogged THEN
                format('SELECT %s.sno_track_changes(%L) logs them.', sno_internal.schema(), source) END;
        END IF;
    END IF;
    IF fault IS NULL THEN
        SELECT t.log, t.changes INTO log, changes FROM sno_internal.tracked(source) t;
    END IF;
    IF fault IS NULL AND EXISTS (SELECT FROM pg_class WHERE oid = log AND relpersistence = 'u') THEN
        fault := 'Their log is unlogged: a crash empties it.';
    END IF;
    IF fault IS NULL AND changes IS NULL THEN
        fault := 'The owner of the table has no view of them.';
        hint := format('Give the view that owner. If there is none any more, SELECT %s.sno_track_changes(%L).',
            sno_internal.schema(), source);
    END IF;
    IF fault IS NULL THEN
        SELECT i.* INTO bad FROM sno_internal.idle_triggers(source) i LIMIT 1;
        IF FOUND THEN
            fault := format('Trigger "%s" of "%s" was disabled or dropped: what was changed meanwhile is not in the '
                'log.', bad.trigger, bad.relation);
            hint := format('SELECT %s.sno_track_changes(%L), put all rows into the log once more. '
                'Delete from copies what the table does not have.', sno_internal.schema(), source);
        END IF;
    END IF;
    IF fault IS NULL AND EXISTS (SELECT FROM pg_event_trigger e
        WHERE e.evtfoid = 'sno_internal.follow_ddl()'::regprocedure AND e.evtenabled IN ('D', 'R')) THEN
        fault := 'An event trigger of the extension is disabled: what DDL does meanwhile is not in the log.';
        hint := format('As a superuser, ALTER EVENT TRIGGER ... ENABLE ALWAYS; then SELECT %s.sno_track_changes(%L), '
            'and put all rows into the log once more.', sno_internal.schema(), source);
    END IF;
    IF fault IS NULL AND EXISTS (SELECT FROM pg_class WHERE oid = source AND relrowsecurity) AND EXISTS (
        SELECT FROM pg_class c, pg_options_to_table(c.reloptions) o
        WHERE c.oid = changes
            AND o.option_name = 'security_invoker' AND o.option_value::boolean
    ) THEN
        fault := 'The view has security_invoker, so that policies hide rows from its reader: they would look deleted.';
        hint := format('ALTER VIEW %s RESET (security_invoker)', changes);
    END IF;
    -- PostgreSQL refuses to drop any other primary key, since the view depends on it.
    IF fault IS NULL AND EXISTS (
            SELECT FROM pg_constraint o WHERE o.conrelid = source AND o.contype = 'p' AND o.condeferrable
        ) AND NOT sno_internal.has_logged_key(source, changes) THEN
        fault := 'Its primary key has other columns than the log.';
        hint := 'Drop the feeds, untrack and track the changes, create the feeds, fill the copies from the table.';
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'changes of "%" are not complete', source
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = fault,
            HINT = coalesce(hint,
                'Undo this. If no copy is kept any more, drop the feeds and use sno_untrack_changes().');
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION sno_internal.check_changes(regclass) IS
    'internal: fails if the log of the changes of a table lacks changes';

-- Rows of tables that inherit are not of the table; rows of partitions are.
CREATE FUNCTION sno_internal.alone(source regclass) RETURNS text
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE c.relkind WHEN 'p' THEN '' ELSE 'ONLY ' END FROM pg_class c WHERE c.oid = source
$$;
COMMENT ON FUNCTION sno_internal.alone(regclass) IS 'internal: ONLY, unless a table is partitioned';

-- The statement that logs rows of a table: all of them, unless it is told which.
CREATE FUNCTION sno_internal.logging(source regclass, log regclass, rows text DEFAULT NULL) RETURNS text
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('INSERT INTO %s (%s) SELECT %s FROM %s t', log,
        string_agg(quote_ident(b.attname), ', ' ORDER BY n),
        string_agg(format('t.%I', a.attname), ', ' ORDER BY n),
        coalesce(rows, sno_internal.alone(source) || source))
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY u(attnum, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum
    JOIN pg_attribute b ON b.attrelid = log AND b.attnum = n + 1
    WHERE i.indrelid = source AND i.indisprimary
$$;
COMMENT ON FUNCTION sno_internal.logging(regclass, regclass, text) IS
    'internal: the statement that logs rows of a table as changed';

-- Logs the rows of a table or of a partition of it. Planning the query runs functions in the indexes of what it reads,
-- as the owner of the log.
CREATE FUNCTION sno_internal.log_rows(source regclass, log regclass, part regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
    level text := current_setting('transaction_isolation');
BEGIN
    IF level IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot log the rows of "%" in a transaction with isolation level %', part, upper(level)
            USING ERRCODE = 'invalid_transaction_state',
            DETAIL = 'Such a transaction does not see rows that others have inserted since it began.',
            HINT = 'Use READ COMMITTED.';
    END IF;
    IF (SELECT relowner FROM pg_class WHERE oid = part) <> (SELECT relowner FROM pg_class WHERE oid = log) THEN
        RAISE EXCEPTION 'table "%" is of another owner than the log of its changes', part
            USING ERRCODE = 'insufficient_privilege',
            HINT = 'Give the table, its partitions, the log and the view of the changes one owner.';
    END IF;
    EXECUTE sno_internal.logging(source, log, format('ONLY %s', part));
END
$$;
COMMENT ON FUNCTION sno_internal.log_rows(regclass, regclass, regclass) IS
    'internal: log the rows of a table as changed';

-- A trigger for TRUNCATE, whose condition names the log.
CREATE FUNCTION sno_internal.create_truncate_trigger(relation regclass, log regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT
        WHEN (%L::regclass IS NOT NULL) EXECUTE FUNCTION sno_internal.sno_log_changes()', relation, log);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_log_truncate', relation);
END
$$;
COMMENT ON FUNCTION sno_internal.create_truncate_trigger(regclass, regclass) IS
    'internal: have TRUNCATE of a table logged';

-- Not that of another log: the table can be tracked itself by now, or be a partition of another table.
CREATE FUNCTION sno_internal.drop_truncate_trigger(relation regclass, log regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_trigger g JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
        WHERE g.tgrelid = relation AND g.tgname = 'sno_log_truncate'
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid = log
    ) THEN
        EXECUTE format('DROP TRIGGER sno_log_truncate ON %s', relation);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.drop_truncate_trigger(regclass, regclass) IS
    'internal: have TRUNCATE of a table not logged any more';

CREATE FUNCTION sno_internal.sno_depend(source regclass, part regclass, depends boolean) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_depend(regclass, regclass, boolean) IS
    'internal: whether the trigger for TRUNCATE of a table depends on a partition';

-- Has PostgreSQL refuse to drop the partitions that a log knows. A dump has only their triggers. What others have
-- locked, or dropped meanwhile, is left for the next time.
CREATE FUNCTION sno_internal.keep_partitions(source regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
    part regclass;
BEGIN
    FOR part IN
        SELECT p.relation FROM sno_internal.partitions(source) p
        WHERE p.is_there AND p.is_known AND p.relation NOT IN (SELECT n.oid FROM sno_internal.named(source) n)
    LOOP
        BEGIN
            PERFORM sno_internal.sno_depend(source, part, true);
        EXCEPTION WHEN lock_not_available OR undefined_table THEN
            NULL;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.keep_partitions(regclass) IS
    'internal: has DROP of partitions refused whose rows would not be logged as deleted';

-- Logs the rows of partitions that have come or gone since the last call, unless this is the first one, and notes which
-- there are. It locks no other tables than these.
CREATE FUNCTION sno_internal.log_changed_partitions(source regclass, is_first boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(source)).log;
    part record;
BEGIN
    -- Once the trigger has gone with a partition, sno_track_changes() alone brings it back: reads report its lack.
    IF log IS NULL OR NOT EXISTS (SELECT FROM sno_internal.named(source) n WHERE n.oid = log) THEN
        RETURN;
    END IF;
    FOR part IN SELECT * FROM sno_internal.partitions(source) p WHERE NOT (p.is_there AND p.is_known) LOOP
        -- TRUNCATE of a partition fires its own triggers only. The trigger comes first, for which PostgreSQL locks the
        -- partition and asks whose it is.
        IF part.is_there THEN
            PERFORM sno_internal.create_truncate_trigger(part.relation, log);
        ELSE
            PERFORM sno_internal.drop_truncate_trigger(part.relation, log);
            PERFORM sno_internal.sno_depend(source, part.relation, false);
        END IF;
        IF NOT is_first AND pg_relation_size(part.relation) > 0 THEN
            PERFORM sno_internal.log_rows(source, log, part.relation);
        END IF;
    END LOOP;
    PERFORM sno_internal.keep_partitions(source);
END
$$;
COMMENT ON FUNCTION sno_internal.log_changed_partitions(regclass, boolean) IS
    'internal: log the rows of partitions that were attached or detached';

-- Partitions of a table that a command has created or attached, if reads would not report them: those that are new or
-- empty. It takes no lock that the command has not taken, and leaves others alone.
CREATE FUNCTION sno_internal.log_new(source regclass, child regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(source)).log;
    part regclass;
BEGIN
    FOR part IN
        SELECT t.oid::regclass FROM (SELECT child UNION SELECT p.relid FROM pg_partition_tree(child) p) t(oid)
        JOIN pg_class c ON c.oid = t.oid AND c.relkind = 'r'
        WHERE NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = t.oid AND g.tgname = 'sno_log_truncate')
            AND (pg_relation_size(t.oid) = 0 OR NOT sno_internal.was_there(t.oid))
    LOOP
        PERFORM sno_internal.create_truncate_trigger(part, log);
        PERFORM sno_internal.sno_depend(source, part, true);
        IF pg_relation_size(part) > 0 THEN
            PERFORM sno_internal.log_rows(source, log, part);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.log_new(regclass, regclass) IS
    'internal: log the rows of partitions that were created or attached by a command';
CREATE FUNCTION sno_internal.sno_log_new(source regclass, child regclass) RETURNS void
    AS 'MODULE_PATHNAME', 'sno_as_owner_concurrently' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_log_new(regclass, regclass) IS
    'internal: sno_internal.log_new(), as the owner of the table';

-- What TRUNCATE of a table deletes, but for the partitions that log it themselves.
CREATE FUNCTION sno_internal.truncated(relation regclass) RETURNS SETOF regclass
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.relation
    FROM sno_internal.inheritors(truncated.relation) i JOIN pg_class c ON c.oid = i.relation AND c.relkind = 'r'
    WHERE i.relation = truncated.relation
        OR NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = i.relation AND g.tgname = 'sno_log_truncate')
$$;
COMMENT ON FUNCTION sno_internal.truncated(regclass) IS 'internal: tables whose rows the trigger of a TRUNCATE logs';

-- Called by a trigger, as the owner of the log.
CREATE FUNCTION sno_internal.log_truncated(relation regclass, log regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sno_internal.log_rows(coalesce(pg_partition_root(relation), relation), log, part)
    FROM sno_internal.truncated(relation) part;
END
$$;
COMMENT ON FUNCTION sno_internal.log_truncated(regclass, regclass) IS
    'internal: log the rows of a table that is truncated';
