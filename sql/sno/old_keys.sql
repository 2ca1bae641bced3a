--
-- Keys that were generated in an earlier transaction, or elsewhere: feeds can be past them, so triggers refuse them
--

-- VOLATILE, so that it sees what the statement has done by then.
CREATE FUNCTION sno_internal.rows_of_key(relation regclass, key name, id sno) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rows bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %s WHERE %I = $1', relation, key) INTO rows USING id;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION sno_internal.rows_of_key(regclass, name, sno)
    IS 'internal: how many rows have a key after the statement that inserts one';

-- STABLE, so that it sees what the statement sees.
CREATE FUNCTION sno_internal.refuse_old_key() RETURNS trigger
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    key name;
    is_old boolean;
    were_there bigint;
    are_there bigint;
    is_replicated boolean := current_setting('session_replication_role') = 'replica';
BEGIN
    -- Into a table without a feed anything may be replicated; quickly where there is none, as on a server to take over.
    IF is_replicated AND (NOT EXISTS (SELECT FROM sno_internal.feed_positions)
        OR NOT EXISTS (SELECT FROM sno_internal.readers(TG_RELID))) THEN
        RETURN NULL;
    END IF;
    FOR key IN SELECT g.key FROM sno_internal.guards(TG_RELID) g WHERE g.trigger = TG_NAME LOOP
        EXECUTE format('SELECT NOT %s.sno_holds_horizon(($1).%I::%1$s.sno)', sno_internal.schema(), key)
            INTO is_old USING NEW;
        CONTINUE WHEN is_old IS NOT TRUE OR TG_OP = 'UPDATE' AND to_jsonb(NEW) -> key = to_jsonb(OLD) -> key;
        -- A row that an update moves to another partition is inserted there. The statement sees it where it was, and
        -- leaves no more rows with the key than it has found: otherwise it has copied one.
        IF TG_OP = 'INSERT' AND (SELECT c.relispartition FROM pg_class c WHERE c.oid = TG_RELID) THEN
            -- Jobs of pg_restore create the triggers of the table before they load all partitions, whose primary keys
            -- come after that: the table's is not valid until it has all of them.
            CONTINUE WHEN EXISTS (SELECT FROM pg_index i
                WHERE i.indrelid = pg_partition_root(TG_RELID) AND i.indisprimary AND NOT i.indisvalid);
            BEGIN
                EXECUTE format('SELECT count(*), sno_internal.rows_of_key($2, $3, ($1).%I)
                    FROM %s WHERE %1$I = ($1).%1$I', key, pg_partition_root(TG_RELID))
                    INTO were_there, are_there USING NEW, pg_partition_root(TG_RELID), key;
            EXCEPTION WHEN insufficient_privilege THEN
                were_there := 0;
            END;
            CONTINUE WHEN were_there > 0 AND are_there <= were_there;
        END IF;
        RAISE EXCEPTION 'key of a row of "%" was not generated in this transaction: "%"', TG_RELID::regclass,
            to_jsonb(NEW) ->> key
            USING ERRCODE = 'check_violation', COLUMN = key,
            DETAIL = 'Feeds can be past this key, and would miss the row.',
                HINT = CASE WHEN is_replicated THEN 'Have its feeds on the server where rows are inserted, not here.'
                    ELSE 'Have the default generate the key, or call sno_new() in the transaction that inserts the '
                        'row.' END;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION sno_internal.refuse_old_key() IS 'internal: what the triggers of sno_refuse_old_keys() do';

-- The triggers on a table, and which keys each of them guards: by the columns that its condition depends on, since
-- columns are renamed. Those of partitions have come from one that has dependencies.
CREATE FUNCTION sno_internal.guards(relation regclass) RETURNS TABLE (trigger name, key name)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 2 SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE above AS (
        SELECT g.tgname, g.oid, g.tgrelid, g.tgparentid
        FROM pg_trigger g WHERE g.tgrelid = relation AND g.tgfoid = 'sno_internal.refuse_old_key()'::regprocedure
            AND g.tgenabled IN ('O', 'A')
        UNION ALL
        SELECT a.tgname, g.oid, g.tgrelid, g.tgparentid FROM above a JOIN pg_trigger g ON g.oid = a.tgparentid
    )
    SELECT DISTINCT a.tgname, c.attname
    FROM above a JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = a.oid
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = a.tgrelid
    JOIN pg_attribute c ON c.attrelid = a.tgrelid AND c.attnum = d.refobjsubid
    WHERE a.tgparentid = 0
$$;
COMMENT ON FUNCTION sno_internal.guards(regclass) IS 'internal: triggers that refuse keys of earlier transactions';

-- By conditions of the triggers, which cost a tenth of what a function in PL/pgSQL costs for each row. AFTER, so that
-- they see the key as it is stored, and not that of an INSERT with ON CONFLICT which stores no new row. ALWAYS, since
-- feeds would miss rows that are replicated, too. Keys that are guarded already stay so.
CREATE FUNCTION sno_internal.create_guard(source regclass, key name) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    is_old text;
    is_changed text;
BEGIN
    -- The type itself: for a domain over it, somebody may have another function of this name.
    SELECT string_agg(k.is_old, ' OR '),
        string_agg(format('NEW.%I IS DISTINCT FROM OLD.%1$I AND %s', k.key, k.is_old), ' OR ')
    INTO is_old, is_changed
    FROM (
        SELECT n.key, format('NOT %1$s.sno_holds_horizon(NEW.%2$I::%1$s.sno)', sno_internal.schema(), n.key) AS is_old
        FROM (SELECT create_guard.key UNION SELECT g.key FROM sno_internal.guards(source) g) n
    ) k;
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_own_keys AFTER INSERT ON %s FOR EACH ROW WHEN (%s)
        EXECUTE FUNCTION sno_internal.refuse_old_key()', source, is_old);
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_changed_keys AFTER UPDATE ON %s FOR EACH ROW WHEN (%s)
        EXECUTE FUNCTION sno_internal.refuse_old_key()', source, is_changed);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_own_keys, ENABLE ALWAYS TRIGGER sno_changed_keys', source);
END
$$;
COMMENT ON FUNCTION sno_internal.create_guard(regclass, name) IS
    'internal: creates the triggers that refuse keys of earlier transactions';

CREATE FUNCTION sno_refuse_old_keys(source regclass, key name DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys name[] := sno_internal.possible_keys(source, key);
BEGIN
    IF (SELECT c.relispartition FROM pg_class c WHERE c.oid = source) THEN
        RAISE EXCEPTION '"%" is a partition', source USING ERRCODE = 'wrong_object_type',
            HINT = 'Name the table that it is a partition of.';
    END IF;
    IF cardinality(keys) IS DISTINCT FROM 1 THEN
        RAISE EXCEPTION 'no single key of type sno in "%"', source USING ERRCODE = 'undefined_column',
            HINT = 'Name the column.';
    END IF;
    PERFORM sno_internal.create_guard(source, keys[1]);
END
$$;
COMMENT ON FUNCTION sno_refuse_old_keys(regclass, name)
    IS 'creates triggers that refuse rows whose keys were not generated in their transaction';

-- For a new feed: has its table guarded. Who creates the feed is often not the owner, and cannot change it. Nor are
-- there triggers where Citus distributes a table. Logs of changes get their keys from triggers. Unless it creates
-- triggers, it says that there are none.
CREATE FUNCTION sno_internal.guard_keys(source regclass, key name, creates boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    is_distributed boolean := sno_internal.is_distributed(source);
BEGIN
    IF (SELECT count(*) = 2 FROM sno_internal.guards(source) g WHERE g.key = guard_keys.key)
        OR EXISTS (SELECT FROM sno_internal.log_read(source)) THEN
        RETURN;
    END IF;
    IF creates AND NOT is_distributed AND (SELECT bool_and(pg_has_role(c.relowner, 'USAGE'))
        FROM sno_internal.inheritors(source) i JOIN pg_class c ON c.oid = i.relation) THEN
        PERFORM sno_internal.create_guard(source, key);
        RAISE NOTICE 'triggers on "%" refuse rows whose keys were not generated in their transaction', source;
    ELSE
        RAISE WARNING 'rows of "%" with keys from earlier transactions would be missed', source
            USING DETAIL = CASE WHEN is_distributed THEN 'Citus has no triggers on it to refuse such keys.'
                ELSE 'No triggers refuse such keys.' END,
            HINT = CASE WHEN is_distributed THEN 'Generate each key in the transaction that inserts its row.'
                ELSE format('Have the owner of the table call %s.sno_refuse_old_keys(%L, %L).',
                    sno_internal.schema(), source, key) END;
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.guard_keys(regclass, name, boolean)
    IS 'internal: has rows refused that a new feed would miss, or says that they are not';

-- A publication FOR ALL TABLES has the positions of feeds, too. By the catalogs, since pg_publication_tables locks all
-- tables. Of the tables that such a publication names, it leaves out each (EXCEPT, of PostgreSQL 19).
CREATE FUNCTION sno_internal.tell_of_publications() RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    publication name;
BEGIN
    FOR publication IN
        SELECT p.pubname FROM pg_publication p
        WHERE p.puballtables <> EXISTS (SELECT FROM pg_publication_rel r
                WHERE r.prpubid = p.oid AND r.prrelid = 'sno_internal.feed_positions'::regclass)
            OR EXISTS (SELECT FROM pg_publication_namespace n
                WHERE n.pnpubid = p.oid AND n.pnnspid = 'sno_internal'::regnamespace)
        ORDER BY p.pubname
    LOOP
        RAISE WARNING 'publication "%" has the positions of feeds', publication
            USING DETAIL = 'What is read here moves feeds of the same names on subscribers.',
                HINT = 'Publish your tables by name or schema, unless a subscriber is to take over.';
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.tell_of_publications() IS
    'internal: warns of publications by which a server moves feeds of another';

-- Rows that a new feed will not return, whoever inserts them. A log of changes has what has changed since the tracking
-- began, and was not cleared.
CREATE FUNCTION sno_internal.tell_of_missed(feed text, source regclass, since timestamptz) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    l record;
BEGIN
    PERFORM sno_internal.tell_of_publications();
    SELECT * INTO l FROM sno_internal.log_read(source);
    IF EXISTS (SELECT FROM pg_partition_tree(l.of_table) p WHERE pg_relation_size(p.relid) > 0
        UNION ALL SELECT WHERE pg_relation_size(l.of_table) > 0) THEN
        RAISE WARNING 'rows that "%" has already are not in its log of changes', l.of_table
            USING HINT = format('To have them returned, too, say as its owner: %s',
                sno_internal.logging(l.of_table, l.log));
    -- Also where a feed was dropped, or left out of a dump, and had read them.
    ELSIF since = '-infinity' AND l.log IS NULL AND EXISTS (
        SELECT FROM sno_internal.inheritors(source) i WHERE pg_relation_size(i.relation) > 0
    ) THEN
        RAISE NOTICE 'feed "%" begins with the rows that "%" has already', feed, source
            USING HINT =
    'To begin with the next one: since => now(). To go on where another feed was: sno_seek_feed().';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.tell_of_missed(text, regclass, timestamptz)
    IS 'internal: says what a new feed does not return, and where it begins';
