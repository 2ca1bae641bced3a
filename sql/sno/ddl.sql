--
-- Event triggers for DDL of tables that are tracked, or whose keys are guarded. They do what follows from a command, or
-- warn the role that gives it. An error here would keep everybody from working: only a cancellation raises one.
--

CREATE FUNCTION sno_internal.sno_altered(
        OUT relation regclass, OUT child regclass, OUT added smallint, OUT is_detached boolean
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1;
COMMENT ON FUNCTION sno_internal.sno_altered() IS
    'internal: tables that the command of an event trigger has created or altered; which one was attached or detached; '
    'which column was the first that it has added';

-- The table in whose log the changes of a table are: itself, or one that it is a partition of, and which can be a
-- partition, too.
CREATE FUNCTION sno_internal.logged_as(relation regclass) RETURNS regclass
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT g.tgrelid
    FROM (SELECT relation UNION SELECT a.relid FROM pg_partition_ancestors(relation) a) t(oid)
    JOIN pg_trigger g ON g.tgrelid = t.oid AND g.tgname = 'sno_log' AND g.tgparentid = 0
$$;
COMMENT ON FUNCTION sno_internal.logged_as(regclass) IS 'internal: the table in whose log the changes of a table are';

-- Has the changes of a partition logged that was created or attached.
CREATE FUNCTION sno_internal.log_attached(child regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
    root regclass := sno_internal.logged_as(child);
BEGIN
    -- A restore that is under way has created only some of the triggers: it is left alone.
    IF root <> child AND (sno_internal.tracked(root)).log IS NOT NULL
        AND EXISTS (SELECT FROM sno_internal.named(root)) THEN
        IF EXISTS (SELECT FROM pg_partition_tree(child) p JOIN pg_trigger g ON g.tgrelid = p.relid
            WHERE g.tgname = 'sno_log_truncate') THEN
            RAISE WARNING 'log of the changes of "%" does not know what was changed in "%" while it was detached',
                root, child USING HINT = 'If anything was, build the copies again.';
        END IF;
        PERFORM sno_internal.sno_log_new(root, child);
    END IF;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'log of the changes of "%" does not know partition "%"', root, child
        USING DETAIL = split_part(SQLERRM, E'\n', 1),
        HINT = format('Give its partitions the owner of the table, then call %s.sno_track_changes(%L).',
            sno_internal.schema(), root);
END
$$;
COMMENT ON FUNCTION sno_internal.log_attached(regclass) IS
    'internal: follow partitions that were created or attached';

-- The trigger for TRUNCATE of a tracked table depends on its partitions, so that none can be dropped. A dump does not
-- have these dependencies: they are created when a restore has created the trigger.
CREATE FUNCTION sno_internal.restore_dependency(trigger oid) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
    part regclass;
    root regclass;
BEGIN
    SELECT g.tgrelid, r.tgrelid INTO part, root
    FROM pg_trigger g JOIN pg_trigger r ON r.tgrelid = sno_internal.logged_as(g.tgrelid) AND r.tgname = g.tgname
    WHERE g.oid = trigger AND g.tgname = 'sno_log_truncate';
    IF part = root THEN
        PERFORM sno_internal.keep_partitions(root);
    ELSIF part IS NOT NULL THEN
        PERFORM sno_internal.sno_depend(root, part, true);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.restore_dependency(oid) IS
    'internal: makes a restored trigger for TRUNCATE depend on its partition, so that DROP is refused';

-- The first key of a table, or the first one after another.
CREATE FUNCTION sno_internal.first_key(source regclass, key name, after sno) RETURNS sno
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET row_security = off
    SET enable_seqscan = off
AS $$
DECLARE
    first sno_internal.feed_positions.position%TYPE;
BEGIN
    IF NOT sno_internal.has_index(source, key) THEN
        RAISE EXCEPTION 'no index of "%" begins with the key', source USING ERRCODE = 'undefined_object';
    END IF;
    EXECUTE format('SELECT t.%1$I FROM ONLY %2$s t WHERE t.%1$I IS NOT NULL AND ($1 IS NULL OR t.%1$I > $1)
        ORDER BY 1 LIMIT 1', key, source) INTO first USING after;
    RETURN first;
END
$$;
COMMENT ON FUNCTION sno_internal.first_key(regclass, name, sno)
    IS 'internal: the first key of a table, or the first one after another';
CREATE FUNCTION sno_internal.sno_first_key(source regclass, key name, after sno) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_as_owner_concurrently' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_first_key(regclass, name, sno) IS
    'internal: sno_internal.first_key(), as the owner of the table';

-- Warns of rows in a new partition whose keys are below the position of a feed of its parent. These rows may
-- have been read before, in a partition that was detached for a while or that they were moved from: so this is no
-- error.
CREATE FUNCTION sno_internal.warn_of_old_rows(child regclass, key name) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
    feeds sno_internal.feed_positions[];
    first sno_internal.feed_positions.position%TYPE;
    passed record;
BEGIN
    IF NOT EXISTS (SELECT FROM sno_internal.inheritors(child) i WHERE pg_relation_size(i.relation) > 0) THEN
        RETURN;
    END IF;
    SELECT array_agg(f) INTO feeds FROM sno_internal.feed_positions f
    WHERE f.source IN (SELECT a.relid FROM pg_partition_ancestors(child) a) AND f.source <> child
        AND f.key = warn_of_old_rows.key AND f.position IS NOT NULL;
    IF feeds IS NULL THEN
        RETURN;
    END IF;
    SELECT min(sno_internal.sno_first_key(i.relation, key, NULL)) INTO first
    FROM sno_internal.inheritors(child) i JOIN pg_class c ON c.oid = i.relation AND c.relkind = 'r'
    WHERE pg_relation_size(i.relation) > 0;
    SELECT string_agg(format('"%s" of role "%s"', f.feed, f.owner), ', ' ORDER BY f.feed, f.owner) AS feeds,
        string_agg(format('SET ROLE %I; SELECT %s.sno_seek_feed(%L, since => %L)', f.owner, sno_internal.schema(),
            f.feed, first::timestamptz), '; ' ORDER BY f.feed, f.owner) AS seeks
    INTO passed
    FROM unnest(feeds) f WHERE f.position OPERATOR(pg_catalog.>=) first;
    IF passed.feeds IS NOT NULL THEN
        RAISE WARNING 'rows of "%" have keys that feeds have passed', child
            USING DETAIL = format('They are not read by: %s.', passed.feeds),
            HINT = format('If they were not read elsewhere, go back to the first one, from which all rows come again: '
                '%s; RESET ROLE', passed.seeks);
    END IF;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'rows of "%" may have keys that feeds have passed', child
        USING DETAIL = split_part(SQLERRM, E'\n', 1),
        HINT = 'If so, call sno_seek_feed() with a time before them.';
END
$$;
COMMENT ON FUNCTION sno_internal.warn_of_old_rows(regclass, name) IS
    'internal: warn of rows that feeds of a table above theirs have passed';

-- The feeds of a table that have not read all rows of a partition of it; null if there is none. It reads no table of
-- another owner than the parent's: a query runs functions in the indexes of what it reads, which could keep it from
-- ending.
CREATE FUNCTION sno_internal.unread_by(parent regclass, child regclass) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
    unread text;
    other regclass;
BEGIN
    SELECT string_agg(DISTINCT format('"%s" of role "%s"', r.feed, r.owner), ', '),
        min(c.oid) FILTER (WHERE c.relowner <> p.relowner)
    INTO unread, other
    FROM sno_internal.readers(parent) r
    CROSS JOIN sno_internal.inheritors(child) b JOIN pg_class c ON c.oid = b.relation AND c.relkind = 'r'
    JOIN pg_class p ON p.oid = parent
    -- A feed of another partition reads none of these rows.
    WHERE (r.source = parent OR child IN (SELECT a.relid FROM pg_partition_ancestors(r.source) a)
            OR parent NOT IN (SELECT a.relid FROM pg_partition_ancestors(r.source) a))
        AND pg_relation_size(b.relation) > 0 AND CASE WHEN c.relowner = p.relowner
        THEN sno_internal.sno_first_key(b.relation, r.key, r.upto) IS NOT NULL ELSE true END;
    IF other IS NOT NULL THEN
        RAISE EXCEPTION '"%" has another owner than "%"', other, parent;
    END IF;
    RETURN unread;
END
$$;
COMMENT ON FUNCTION sno_internal.unread_by(regclass, regclass) IS
    'internal: feeds that have not read all rows of a partition';

-- Refuses the DROP of a partition with rows that feeds have not read, or of which that cannot be told. Its owner can
-- detach it before. STABLE, as what it calls: it sees what is committed when nobody writes the partition any more.
CREATE FUNCTION sno_internal.check_drop(child regclass) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    hint text := 'Wait until they are read, or detach the partition before.';
    unread text;
BEGIN
    -- For a role without rights to the schema, only tables with the triggers are known to have feeds.
    IF NOT has_schema_privilege('sno_internal', 'USAGE') AND NOT EXISTS (SELECT FROM pg_trigger g
        JOIN pg_proc p ON p.oid = g.tgfoid WHERE g.tgrelid = child AND p.proname = 'refuse_old_key') THEN
        RETURN;
    END IF;
    BEGIN
        SELECT sno_internal.unread_by(i.inhparent, child) INTO unread FROM pg_inherits i WHERE i.inhrelid = child;
    EXCEPTION WHEN OTHERS THEN
        RAISE EXCEPTION 'rows of "%" may not have been read by all feeds', child
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = split_part(SQLERRM, E'\n', 1), HINT = hint;
    END;
    IF unread IS NOT NULL THEN
        RAISE EXCEPTION 'rows of "%" were not read by all feeds', child
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = format('They are missed by: %s.', unread),
            HINT = hint;
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.check_drop(regclass) IS
    'internal: fails if a partition has rows that feeds have not read';

-- Warns of rows in a partition that feeds of its parent have not read, and now will not.
CREATE FUNCTION sno_internal.warn_of_unread_rows(parent regclass, child regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    unread text;
BEGIN
    unread := sno_internal.unread_by(parent, child);
    IF unread IS NOT NULL THEN
        RAISE WARNING 'rows of "%" were not read by all feeds', child
            USING DETAIL = format('They are missed by: %s.', unread),
                HINT = 'Roll back, or attach it again until they have read these rows.';
    END IF;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'rows of "%" may not have been read by all feeds', child USING DETAIL = split_part(SQLERRM, E'\n', 1),
        HINT = 'If so, roll back, or attach it again until they have read these rows.';
END
$$;
COMMENT ON FUNCTION sno_internal.warn_of_unread_rows(regclass, regclass) IS
    'internal: warn of rows that feeds have not read of a partition that was detached';

-- Warns that a command has changed values in all rows of a table. Partitions are rewritten one by one, so this warns
-- once for each statement of a client.
CREATE FUNCTION sno_internal.warn_of_new_values(root regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (sno_internal.tracked(root)).log;
    warning text := format('%s %s', root::oid, statement_timestamp());
BEGIN
    IF log IS NOT NULL AND current_setting('sno_internal.last_warning', true) IS DISTINCT FROM warning THEN
        PERFORM set_config('sno_internal.last_warning', warning, true);
        RAISE WARNING 'rows of "%" were changed, which its log does not know', root
            USING HINT = format('When copies have such columns, log all rows: %s',
                sno_internal.logging(root, log));
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.warn_of_new_values(regclass) IS
    'internal: warn of rows that DDL has changed';

-- The tables with rows to which ADD COLUMN has given values without a rewrite: the table that was altered, its
-- partitions and its children, where the column can have another number. `added` is the number of the first new column.
CREATE FUNCTION sno_internal.new_values(relation regclass, added smallint) RETURNS SETOF regclass
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
    -- For each table apart: where nothing is known of new catalog rows, a join would compare all with all.
    SELECT i.relation
    FROM sno_internal.inheritors(new_values.relation) i
    WHERE pg_relation_size(i.relation) > 0 AND (
        SELECT coalesce(bool_or(a.atthasmissing OR a.attgenerated = 'v'), false)
        FROM pg_attribute n JOIN pg_attribute a ON a.attname = n.attname
        WHERE n.attrelid = new_values.relation AND n.attnum >= added AND a.attrelid = i.relation
    )
$$;
COMMENT ON FUNCTION sno_internal.new_values(regclass, smallint) IS
    'internal: tables in whose rows new columns have values';

-- Warns that a table accepts rows that feeds can miss, when its triggers are disabled. Those that were enabled again by
-- ENABLE TRIGGER fire for replication, too, as they did before.
CREATE FUNCTION sno_internal.after_switch(relation regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    enabled text;
    disabled text;
BEGIN
    SELECT string_agg(format('ENABLE ALWAYS TRIGGER %I', g.tgname), ', ') FILTER (WHERE g.tgenabled = 'O'),
        string_agg(format('ENABLE TRIGGER %I', g.tgname), ', ' ORDER BY g.tgname)
            FILTER (WHERE g.tgenabled IN ('D', 'R'))
    INTO enabled, disabled
    FROM pg_trigger g WHERE g.tgrelid = relation AND g.tgfoid = 'sno_internal.refuse_old_key()'::regprocedure;
    IF enabled IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s %s', relation, enabled);
    END IF;
    IF disabled IS NOT NULL THEN
        RAISE WARNING 'keys of earlier transactions are not refused in "%" now', relation
            USING DETAIL = 'Feeds can miss rows with such keys.',
            HINT = format('Before others write it: ALTER TABLE %s %s', relation, disabled);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.after_switch(regclass) IS
    'internal: warn of a table whose triggers do not refuse keys of earlier transactions';

-- Warns that a table with feeds accepts rows that these can miss, when one of its triggers was dropped, or replaced by
-- another one, which does not guard a key.
CREATE FUNCTION sno_internal.warn_of_lost_guard(relation regclass, replaced oid) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$
DECLARE
    feeds text;
    guards text;
BEGIN
    IF EXISTS (SELECT FROM pg_trigger t JOIN sno_internal.guards(relation) g ON g.trigger = t.tgname
        WHERE t.oid = replaced) THEN
        RETURN;
    END IF;
    SELECT string_agg(format('"%s" of role "%s"', r.feed, r.owner), ', ' ORDER BY r.feed, r.owner),
        string_agg(DISTINCT format('SELECT %s.sno_refuse_old_keys(%L, %L)', sno_internal.schema(), relation, r.key),
            '; ')
    INTO feeds, guards
    FROM sno_internal.readers(relation) r;
    IF feeds IS NOT NULL THEN
        RAISE WARNING 'keys of earlier transactions are not refused in "%" now', relation
            USING DETAIL = format('Rows with such keys can be missed by: %s.', feeds),
            HINT = format('Before others write it, as its owner: %s', guards);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.warn_of_lost_guard(regclass, oid) IS
    'internal: warn of a table with feeds whose trigger for keys of earlier transactions was dropped or replaced';

-- Does what follows from a command on one table.
CREATE FUNCTION sno_internal.after_command(relation regclass, child regclass, added smallint, is_detached boolean)
    RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sno_internal.after_switch(relation);
    IF is_detached THEN
        PERFORM sno_internal.warn_of_unread_rows(relation, child);
    ELSIF child IS NOT NULL THEN
        PERFORM sno_internal.log_attached(child);
        -- Of an ID type: the cast from another type would be a function of the role that has created that type.
        PERFORM sno_internal.warn_of_old_rows(child, f.key)
        FROM (
            SELECT DISTINCT f.key
            FROM pg_partition_ancestors(child) p JOIN sno_internal.feed_positions f ON f.source = p.relid
            JOIN pg_attribute a ON a.attrelid = p.relid AND a.attname = f.key AND sno_internal.is_id_type(a.atttypid)
            WHERE p.relid <> child
        ) f;
    END IF;
    -- ADD COLUMN has locked all partitions and children, so they can be read; ATTACH has not.
    IF added IS NOT NULL THEN
        PERFORM sno_internal.warn_of_new_values(t.root)
        FROM (SELECT DISTINCT sno_internal.logged_as(n) FROM sno_internal.new_values(relation, added) n) t(root);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.after_command(regclass, regclass, smallint, boolean) IS
    'internal: follow what a command has done to a table';

-- Warns of a rewrite for other values or another type (reasons 2 and 4 of PostgreSQL), or of a table that was unlogged
-- (reason 1); not of one that only stores the same rows in another way.
CREATE FUNCTION sno_internal.after_rewrite(relation regclass, reason integer) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF reason & 6 <> 0 AND pg_relation_size(relation) > 0 THEN
        PERFORM sno_internal.warn_of_new_values(sno_internal.logged_as(relation));
    END IF;
    IF reason & 1 <> 0 AND (SELECT c.relpersistence = 'u' FROM pg_class c WHERE c.oid = relation)
        AND (sno_internal.tracked(sno_internal.logged_as(relation))).log IS NOT NULL THEN
        RAISE WARNING 'a crash may have emptied "%", which the log of its changes does not know', relation
            USING HINT = 'If the server has crashed while it was unlogged, build the copies again.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.after_rewrite(regclass, integer) IS
    'internal: warn of a table that a command rewrites with other values';

-- The function of the event triggers. It first asks whether the command concerns a table with the triggers of this
-- extension, or with a feed: for hardly any command it does. The role may have no right to sno_internal. The first
-- queries have no variables, for whose values they would be planned each time. The function sets no search_path, since
-- sno_altered() finds names by that of the command.
CREATE FUNCTION sno_internal.follow_ddl() RETURNS event_trigger
    LANGUAGE plpgsql
AS $$
DECLARE
    altered pg_catalog.oid[];
    guarded pg_catalog.oid;
    has_feeds boolean := false;
BEGIN
    IF TG_EVENT OPERATOR(pg_catalog.=) 'sql_drop' THEN
        FOR guarded IN
            SELECT c.oid FROM pg_catalog.pg_event_trigger_dropped_objects() d
            JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) d.address_names[1]
            JOIN pg_catalog.pg_class c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid
                AND c.relname OPERATOR(pg_catalog.=) d.address_names[2]
            WHERE d.original AND d.object_type OPERATOR(pg_catalog.=) 'trigger'
                AND d.address_names[3] OPERATOR(pg_catalog.=) ANY ('{sno_own_keys,sno_changed_keys}'::pg_catalog.text[])
        LOOP
            PERFORM sno_internal.warn_of_lost_guard(guarded::pg_catalog.regclass, NULL);
        END LOOP;
        RETURN;
    END IF;
    -- For each object apart: a join would read all of a catalog.
    IF TG_EVENT OPERATOR(pg_catalog.=) 'ddl_command_end' AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_event_trigger_ddl_commands() d WHERE coalesce((
            SELECT c.relhassubclass OR c.relhastriggers
                OR EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid OPERATOR(pg_catalog.=) c.oid)
            FROM pg_catalog.pg_class c
            WHERE c.oid OPERATOR(pg_catalog.=) d.objid
                AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
        ), true)
    ) THEN
        RETURN;
    END IF;
    IF TG_TAG OPERATOR(pg_catalog.=) 'ALTER TABLE'
        AND pg_catalog.has_schema_privilege('sno_internal', 'USAGE') THEN
        has_feeds := EXISTS (SELECT FROM sno_internal.feed_positions);
    END IF;
    IF NOT has_feeds AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_depend d ON d.refobjid OPERATOR(pg_catalog.=) p.oid
            AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
            AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_trigger'::pg_catalog.regclass
        WHERE p.proname OPERATOR(pg_catalog.=) ANY ('{sno_log_changes,refuse_old_key}'::pg_catalog.name[])
    ) THEN
        RETURN;
    END IF;
    altered := CASE WHEN TG_EVENT OPERATOR(pg_catalog.=) 'table_rewrite'
        THEN ARRAY[pg_catalog.pg_event_trigger_table_rewrite_oid()]
        ELSE ARRAY(SELECT d.objid FROM pg_catalog.pg_event_trigger_ddl_commands() d) END;
    -- The parents count, too, since their triggers are for new children; so do all tables below, which are altered with
    -- the table.
    altered := altered OPERATOR(pg_catalog.||) ARRAY(
        SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid OPERATOR(pg_catalog.=) ANY (altered)
    ) OPERATOR(pg_catalog.||) ARRAY(
        WITH RECURSIVE below(oid) AS (
            SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent OPERATOR(pg_catalog.=) ANY (altered)
            UNION
            SELECT i.inhrelid FROM below b JOIN pg_catalog.pg_inherits i ON i.inhparent OPERATOR(pg_catalog.=) b.oid
        )
        SELECT b.oid FROM below b
    );
    IF has_feeds THEN
        has_feeds := EXISTS (SELECT FROM sno_internal.feed_positions f
            WHERE f.source::pg_catalog.oid OPERATOR(pg_catalog.=) ANY (altered));
    END IF;
    IF NOT has_feeds AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) g.tgfoid
        WHERE (p.proname OPERATOR(pg_catalog.=) ANY ('{sno_log_changes,refuse_old_key}'::pg_catalog.name[])
                OR g.tgname OPERATOR(pg_catalog.=) ANY ('{sno_own_keys,sno_changed_keys}'::pg_catalog.name[]))
            AND (g.tgrelid OPERATOR(pg_catalog.=) ANY (altered) OR g.oid OPERATOR(pg_catalog.=) ANY (altered))
    ) THEN
        RETURN;
    END IF;
    IF TG_EVENT OPERATOR(pg_catalog.=) 'table_rewrite' THEN
        PERFORM sno_internal.after_rewrite(altered[1]::pg_catalog.regclass,
            pg_catalog.pg_event_trigger_table_rewrite_reason());
    ELSIF TG_TAG OPERATOR(pg_catalog.=) 'CREATE TRIGGER' THEN
        PERFORM sno_internal.restore_dependency(altered[1]);
        PERFORM sno_internal.warn_of_lost_guard(g.tgrelid, g.oid) FROM pg_catalog.pg_trigger g
        WHERE g.oid OPERATOR(pg_catalog.=) altered[1]
            AND g.tgname OPERATOR(pg_catalog.=) ANY ('{sno_own_keys,sno_changed_keys}'::pg_catalog.name[]);
    ELSE
        PERFORM sno_internal.after_command(c.relation, c.child, c.added, c.is_detached)
        FROM sno_internal.sno_altered() c;
    END IF;
EXCEPTION WHEN OTHERS THEN
    -- Without the message of the error, which the client's encoding may not have. The context, which has the command,
    -- may be such a text, too.
    BEGIN
        RAISE WARNING 'logs of changes and feeds may not know what "%" has done', TG_TAG
            USING DETAIL = pg_catalog.concat('SQLSTATE ', SQLSTATE),
            HINT = 'Have the owner of the table call sno_track_changes(), or sno_refuse_old_keys().';
    EXCEPTION WHEN OTHERS THEN
        RAISE LOG 'logs of changes and feeds may not know what "%" has done', TG_TAG;
    END;
END
$$;
COMMENT ON FUNCTION sno_internal.follow_ddl() IS 'internal: what the event triggers of the extension do';

CREATE FUNCTION sno_internal.follow_publication() RETURNS event_trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM sno_internal.feed_positions) THEN
        PERFORM sno_internal.tell_of_publications();
    END IF;
EXCEPTION WHEN OTHERS THEN
    RAISE LOG 'publications may have the positions of feeds';
END
$$;
COMMENT ON FUNCTION sno_internal.follow_publication() IS 'internal: what the event trigger for publications does';

CREATE EVENT TRIGGER sno_follow_ddl ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE SCHEMA', 'CREATE TRIGGER')
    EXECUTE FUNCTION sno_internal.follow_ddl();
COMMENT ON EVENT TRIGGER sno_follow_ddl IS 'follows DDL of tables whose changes are tracked, or that have feeds';
CREATE EVENT TRIGGER sno_follow_drops ON sql_drop WHEN TAG IN ('DROP TRIGGER')
    EXECUTE FUNCTION sno_internal.follow_ddl();
COMMENT ON EVENT TRIGGER sno_follow_drops IS 'warns of DDL that lets tables with feeds have rows that these miss';
CREATE EVENT TRIGGER sno_follow_rewrites ON table_rewrite EXECUTE FUNCTION sno_internal.follow_ddl();
COMMENT ON EVENT TRIGGER sno_follow_rewrites IS 'warns of DDL that changes rows of tables whose changes are tracked';
CREATE EVENT TRIGGER sno_follow_publications ON ddl_command_end WHEN TAG IN ('CREATE PUBLICATION', 'ALTER PUBLICATION')
    EXECUTE FUNCTION sno_internal.follow_publication();
COMMENT ON EVENT TRIGGER sno_follow_publications IS 'warns of publications that have the positions of feeds';
-- ENABLE ALWAYS, so that they also follow DDL that replication applies. They belong to the first superuser, if it still
-- is one, whoever creates the extension: only superusers can own event triggers, so REASSIGN OWNED of another one would
-- fail.
DO $$
DECLARE
    name pg_catalog.name;
BEGIN
    FOREACH name IN ARRAY
        '{sno_follow_ddl,sno_follow_drops,sno_follow_publications,sno_follow_rewrites}'::pg_catalog.name[] LOOP
        EXECUTE pg_catalog.format('ALTER EVENT TRIGGER %I ENABLE ALWAYS', name);
        IF EXISTS (SELECT FROM pg_catalog.pg_roles r
            WHERE r.oid OPERATOR(pg_catalog.=) '10'::pg_catalog.oid AND r.rolsuper) THEN
            EXECUTE pg_catalog.format('ALTER EVENT TRIGGER %I OWNER TO %s', name,
                '10'::pg_catalog.oid::pg_catalog.regrole);
        END IF;
    END LOOP;
END
$$;
