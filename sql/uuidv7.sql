-- For servers of PostgreSQL 14 or later where the extension sno cannot be installed: queries by time and feeds for
-- tables with any uuid of version 7, and IDs of sno as such uuids. Run this in each database, as a role that may read
-- pg_stat_activity (pg_read_all_stats), in one transaction: with psql -1 -f, or as a migration. All of it goes to the
-- first schema of the search path. To update it, run the new file with the same path: it replaces the functions, and
-- leaves the feeds, the counter and the server number as they are.
--
--     CREATE TABLE events (id uuid PRIMARY KEY DEFAULT uuidv7(), payload jsonb);    -- before PostgreSQL 18: sno_uuid()
--     SELECT * FROM events WHERE id >= uuidv7_lower(now() - interval '1 hour');
--     INSERT INTO uuidv7_feeds (feed, source) VALUES ('export', 'events');
--     SELECT * FROM uuidv7_peek_feed('export', NULL::events);                       -- the next rows
--     SELECT uuidv7_advance_feed('export', '019a...');                              -- up to this one they are done

-- What is replaced keeps its owner, who could change it later, or has put something else in its place.
DO $do$
DECLARE
    other text;
BEGIN
    SELECT pg_describe_object(o.class, o.id, 0) INTO other
    FROM (
        SELECT 'pg_proc'::regclass::oid, p.oid, p.proname, p.pronamespace, p.proowner FROM pg_proc p
        UNION ALL SELECT 'pg_class'::regclass::oid, c.oid, c.relname, c.relnamespace, c.relowner FROM pg_class c
    ) o(class, id, name, schema, owner) JOIN pg_namespace n ON n.oid = o.schema
    WHERE n.nspname = current_schema() AND pg_get_userbyid(o.owner) <> current_user AND o.name IN (
        'uuidv7_version', 'uuidv7_raise', 'uuidv7_time', 'uuidv7_lower', 'uuidv7_upper', 'uuidv7_between',
            'uuidv7_smaller', 'uuidv7_larger',
        'uuidv7_settled', 'uuidv7_horizon', 'uuidv7_feeds', 'uuidv7_refuse_old_key', 'uuidv7_refuse_old_keys',
        'uuidv7_guard_feed', 'uuidv7_rows_of_key', 'uuidv7_unseen_key', 'uuidv7_lock_feed', 'uuidv7_shown',
        'uuidv7_note_parts',
        'uuidv7_peek_feed', 'uuidv7_advance_feed',
        'sno_uuid_counter', 'sno_uuid_server', 'sno_uuid', 'sno_uuid_metabyte') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'another role owns what this file would replace: %', other
            USING ERRCODE = 'insufficient_privilege',
            HINT = 'Run it as the owner of all of it, or in another schema.';
    END IF;
END
$do$;

CREATE OR REPLACE FUNCTION uuidv7_version() RETURNS text
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN '1.0.0';
COMMENT ON FUNCTION uuidv7_version() IS 'version of this file';

CREATE OR REPLACE FUNCTION uuidv7_raise(message text, state text) RETURNS integer
    LANGUAGE plpgsql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = state;
END
$$;
COMMENT ON FUNCTION uuidv7_raise(text, text) IS 'fail with a message and a SQLSTATE';

--
-- Time
--

CREATE OR REPLACE FUNCTION uuidv7_time(id uuid) RETURNS timestamptz
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN timezone('UTC'::text, '1970-01-01 00:00'::timestamp
        + ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint::double precision * '1 ms'::interval);
COMMENT ON FUNCTION uuidv7_time(uuid) IS 'time in a uuid of version 7, to the millisecond';

-- Times before 1970 and after 10889 have the bounds of the first and of the last millisecond.
CREATE OR REPLACE FUNCTION uuidv7_lower(at timestamptz) RETURNS uuid
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex(ceil(least(greatest(extract(epoch FROM at) * 1000.0, 0), 281474976710655))::bigint), 12, '0')
        || '70008000000000000000')::uuid;
COMMENT ON FUNCTION uuidv7_lower(timestamptz) IS 'smallest uuid of version 7 at or after a time';

CREATE OR REPLACE FUNCTION uuidv7_upper(at timestamptz) RETURNS uuid
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex(floor(least(greatest(extract(epoch FROM at) * 1000.0, 0), 281474976710655))::bigint), 12, '0')
        || '7fffbfffffffffffffff')::uuid;
COMMENT ON FUNCTION uuidv7_upper(timestamptz) IS 'largest uuid of version 7 at or before a time';

CREATE OR REPLACE FUNCTION uuidv7_between(id uuid, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN id >= uuidv7_lower(since) AND id < uuidv7_lower(until);
COMMENT ON FUNCTION uuidv7_between(uuid, timestamptz, timestamptz)
    IS 'whether a uuid of version 7 is at or after a time and before another';

--
-- min(uuid) and max(uuid), unless they are there
--

CREATE OR REPLACE FUNCTION uuidv7_smaller(a uuid, b uuid)
    RETURNS uuid LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE RETURN least(a, b);
COMMENT ON FUNCTION uuidv7_smaller(uuid, uuid) IS 'smaller of two';
CREATE OR REPLACE FUNCTION uuidv7_larger(a uuid, b uuid)
    RETURNS uuid LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE RETURN greatest(a, b);
COMMENT ON FUNCTION uuidv7_larger(uuid, uuid) IS 'larger of two';
DO $$
BEGIN
    IF to_regprocedure('min(uuid)') IS NULL THEN
        CREATE AGGREGATE min(uuid) (SFUNC = uuidv7_smaller, STYPE = uuid, COMBINEFUNC = uuidv7_smaller, SORTOP = <,
            PARALLEL = SAFE);
        COMMENT ON AGGREGATE min(uuid) IS 'minimum of all input uuid';
    END IF;
    IF to_regprocedure('max(uuid)') IS NULL THEN
        CREATE AGGREGATE max(uuid) (SFUNC = uuidv7_larger, STYPE = uuid, COMBINEFUNC = uuidv7_larger, SORTOP = >,
            PARALLEL = SAFE);
        COMMENT ON AGGREGATE max(uuid) IS 'maximum of all input uuid';
    END IF;
END
$$;

--
-- The horizon
--

-- An INSERT holds a ROW EXCLUSIVE lock on the table that it names, from before it computes the first default until its
-- rows are visible to new statements, or gone. So an ID that is generated in an INSERT, and whose row the next
-- statement does not see, is not before the time that is returned:
-- 1. Whoever takes the lock after step 2 generates its IDs after the time of step 1.
-- 2. Whoever holds the lock now is seen: with a pid, or without one if it is prepared. The table may be written by way
--    of its partitions and of the tables that it is a partition of.
-- 3. Each of them generated its IDs after its transaction started. If a process has no transaction any more, that one
--    has ended, and its rows are visible.
-- 4. But not if it was prepared in between, or if its start is hidden from this role. Then it still holds the lock, and
--    there is no answer.
CREATE OR REPLACE FUNCTION uuidv7_settled(of_table regclass) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    isolation text := current_setting('transaction_isolation');
    settled timestamptz;
    pids integer[];
    transactions text[];
    first_seen text[];
    started integer[];
    is_distributed boolean;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'cannot execute uuidv7_settled() during recovery'
            USING ERRCODE = 'read_only_sql_transaction', HINT = 'Ask the primary.';
    ELSIF isolation IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot execute uuidv7_settled() in a transaction with isolation level %', upper(isolation)
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED, or call it before BEGIN.',
                DETAIL = 'The transaction has one snapshot for all statements, which is older than the horizon.';
    ELSIF NOT EXISTS (SELECT FROM pg_class WHERE oid = of_table AND relkind IN ('r', 'p')) THEN
        RAISE EXCEPTION '"%" is not a table', of_table USING ERRCODE = 'wrong_object_type';
    ELSIF EXISTS (
        WITH RECURSIVE part(id) AS (
            SELECT coalesce(pg_partition_root(of_table)::oid, of_table::oid)
            UNION SELECT h.inhrelid FROM part JOIN pg_inherits h ON h.inhparent = part.id
        )
        SELECT FROM part JOIN pg_class c ON c.oid = part.id LEFT JOIN pg_subscription_rel s ON s.srrelid = c.oid
        WHERE c.relkind = 'f' OR s.srrelid IS NOT NULL
    ) THEN
        RAISE EXCEPTION 'cannot tell the horizon of rows of other servers: "%"', of_table
            USING ERRCODE = 'wrong_object_type', DETAIL = 'The table is subscribed, or a part of it is foreign.',
                HINT = 'Ask the server on which these rows are inserted.';
    ELSIF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1)
            AND EXISTS (SELECT FROM pg_catalog.pg_dist_node n
                WHERE n.groupid <> (SELECT g.groupid FROM pg_catalog.pg_dist_local_group g))'
            INTO is_distributed USING of_table;
        IF is_distributed THEN
            RAISE EXCEPTION 'cannot tell the horizon of a table of Citus: "%"', of_table
                USING ERRCODE = 'wrong_object_type',
                DETAIL = 'Other nodes commit its rows.',
                HINT = 'Feed an ordinary table of one node, which its clients fill in the same transaction.';
        END IF;
    END IF;
    PERFORM pg_stat_clear_snapshot();
    settled := clock_timestamp();  -- 1
    FOR look IN 1..2 LOOP
        SELECT array_agg(l.pid), array_agg(l.virtualtransaction) INTO pids, transactions FROM pg_locks l  -- 2, 4
        WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock'
            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            AND l.relation IN (
                WITH RECURSIVE tree(id) AS (
                    SELECT coalesce(pg_partition_root(of_table), of_table)::oid
                    UNION SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.id
                )
                SELECT tree.id FROM tree
            );
        IF look = 1 THEN
            first_seen := transactions;
            SELECT least(settled, min(a.xact_start)), array_agg(a.pid) INTO settled, started  -- 3
            FROM pg_stat_activity a WHERE a.pid = ANY (pids) AND a.xact_start IS NOT NULL;
        END IF;
    END LOOP;
    IF array_position(pids, NULL) > 0 THEN
        RETURN NULL;
    ELSIF EXISTS (
        SELECT FROM unnest(pids, transactions) u(pid, transaction)
        WHERE u.transaction = ANY (first_seen) AND u.pid <> ALL (coalesce(started, '{}'))
    ) THEN
        RAISE EXCEPTION 'cannot see when a transaction started' USING ERRCODE = 'insufficient_privilege',
            HINT = 'The owner of uuidv7_settled() needs the role pg_read_all_stats, and track_activities must be on.';
    END IF;
    RETURN settled;
END
$$;
COMMENT ON FUNCTION uuidv7_settled(regclass) IS 'time before which no row of a table is missing and none will come, '
    'if its INSERT generates the ID; null while one is prepared';

CREATE OR REPLACE FUNCTION uuidv7_horizon(of_table regclass, margin interval DEFAULT '1 s') RETURNS uuid
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE
    RETURN uuidv7_lower(date_bin('4 ms'::interval, uuidv7_settled(of_table), '2010-01-01 00:00Z'::timestamptz)
        - CASE WHEN margin < '0' THEN uuidv7_raise(
            'margin must not be negative: "' || margin::text || '"', '22023')::double precision * margin
            ELSE margin END);
COMMENT ON FUNCTION uuidv7_horizon(regclass, interval)
    IS 'ID below which no row of a table is missing and none will come, if its INSERT generates the ID. Not in the '
        'statement that reads the rows';

--
-- Feeds
--

CREATE TABLE IF NOT EXISTS uuidv7_feeds (
    feed text PRIMARY KEY,
    source regclass NOT NULL,
    key name NOT NULL DEFAULT 'id',
    margin interval NOT NULL DEFAULT '1 s',
    position uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    parts oid[]
);
COMMENT ON TABLE uuidv7_feeds IS 'feeds: table, column of its IDs, margin of the horizon, last ID that was read, the '
    'table with its partitions and children when it was read';

--
-- Keys that were generated before their INSERT, or elsewhere: feeds can be past them, so triggers refuse them
--

-- VOLATILE, so that it sees what the statement has done by then.
CREATE OR REPLACE FUNCTION uuidv7_rows_of_key(of_table regclass, key name, id uuid) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rows bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %s WHERE %I = $1', of_table, key) INTO rows USING id;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION uuidv7_rows_of_key(regclass, name, uuid)
    IS 'internal: how many rows have a key after the statement that inserts one';

-- STABLE, so that it sees what the statement sees: a row that an update moves to another partition is inserted there,
-- and leaves no more rows with the key than there were.
CREATE OR REPLACE FUNCTION uuidv7_refuse_old_key() RETURNS trigger
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own_schema name := (SELECT n.nspname FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
        JOIN pg_namespace n ON n.oid = p.pronamespace WHERE g.tgrelid = TG_RELID AND g.tgname = TG_NAME);
    above oid[] := ARRAY(SELECT TG_RELID UNION SELECT a.relid FROM pg_partition_ancestors(TG_RELID) a);
    is_read boolean;
    were_there bigint;
    are_there bigint;
BEGIN
    -- Into a table that has no feed, or whose feeds are refused since it is subscribed, anything may be replicated.
    IF current_setting('session_replication_role') = 'replica' THEN
        -- Asked first, since subscriptions insert as the owner of the table, who may have no right to uuidv7_feeds.
        IF EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = ANY (above)) THEN
            RETURN NULL;
        END IF;
        EXECUTE format('SELECT EXISTS (SELECT FROM %I.uuidv7_feeds f WHERE f.source::oid = ANY ($1))', own_schema)
            INTO is_read USING above;
        IF NOT is_read THEN
            RETURN NULL;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' AND (SELECT c.relispartition FROM pg_class c WHERE c.oid = TG_RELID) THEN
        -- Jobs of pg_restore create the triggers of the table before they load all partitions, whose primary keys come
        -- after that: the table's is not valid until it has all of them.
        IF EXISTS (SELECT FROM pg_index i
            WHERE i.indrelid = pg_partition_root(TG_RELID) AND i.indisprimary AND NOT i.indisvalid) THEN
            RETURN NULL;
        END IF;
        BEGIN
            EXECUTE format('SELECT count(*), %I.uuidv7_rows_of_key($2, $3, ($1).%I::uuid)
                FROM %s WHERE %2$I = ($1).%2$I', own_schema, TG_ARGV[0], pg_partition_root(TG_RELID))
                INTO were_there, are_there USING NEW, pg_partition_root(TG_RELID), TG_ARGV[0]::name;
        EXCEPTION WHEN insufficient_privilege THEN
            were_there := 0;
        END;
        IF were_there > 0 AND are_there <= were_there THEN
            RETURN NULL;
        END IF;
    END IF;
    RAISE EXCEPTION 'key of a row of "%" was not generated in its statement: "%"', TG_RELID::regclass,
        (SELECT string_agg(to_jsonb(NEW) ->> k, '", "') FROM unnest(TG_ARGV) k)
        USING ERRCODE = 'check_violation', COLUMN = TG_ARGV[0],
        DETAIL = 'Feeds can be past this key, and would miss the row.',
            HINT = 'Have the default generate the key.';
END
$$;
COMMENT ON FUNCTION uuidv7_refuse_old_key() IS 'internal: what the triggers of uuidv7_refuse_old_keys() do';

CREATE OR REPLACE FUNCTION uuidv7_refuse_old_keys(of_table regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    is_old text;
    is_changed text;
    keys text;
BEGIN
    SELECT pg_catalog.string_agg(k.is_old, ' OR '), pg_catalog.string_agg(pg_catalog.quote_literal(k.key::text), ', '),
        pg_catalog.string_agg(pg_catalog.format('NEW.%I IS DISTINCT FROM OLD.%1$I AND %s', k.key, k.is_old), ' OR ')
    INTO is_old, keys, is_changed
    FROM (
        SELECT f.key, pg_catalog.format('%s(NEW.%I) < pg_catalog.date_bin(%L::interval,
            pg_catalog.statement_timestamp(), %L::timestamptz) - %L::interval', 'uuidv7_time'::regproc, f.key, '4 ms',
            '2010-01-01 00:00Z', pg_catalog.min(f.margin)) AS is_old
        FROM uuidv7_feeds f WHERE f.source::oid = of_table::oid GROUP BY f.key
    ) k;
    IF keys IS NULL THEN
        EXECUTE pg_catalog.format('DROP TRIGGER IF EXISTS uuidv7_own_keys ON %s', of_table);
        EXECUTE pg_catalog.format('DROP TRIGGER IF EXISTS uuidv7_changed_keys ON %s', of_table);
    ELSE
        EXECUTE pg_catalog.format('CREATE OR REPLACE TRIGGER uuidv7_own_keys AFTER INSERT ON %s FOR EACH ROW WHEN (%s)
            EXECUTE FUNCTION %s(%s)', of_table, is_old, 'uuidv7_refuse_old_key'::regproc, keys);
        EXECUTE pg_catalog.format('CREATE OR REPLACE TRIGGER uuidv7_changed_keys AFTER UPDATE ON %s FOR EACH ROW
            WHEN (%s) EXECUTE FUNCTION %s(%s)', of_table, is_changed, 'uuidv7_refuse_old_key'::regproc, keys);
        EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER uuidv7_own_keys,
            ENABLE ALWAYS TRIGGER uuidv7_changed_keys', of_table);
    END IF;
END
$$;
COMMENT ON FUNCTION uuidv7_refuse_old_keys(regclass)
    IS 'creates triggers that refuse rows whose keys were generated earlier than the margin of a feed before their '
        'INSERT, or drops them if the table has no feed';

CREATE OR REPLACE FUNCTION uuidv7_guard_feed() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
BEGIN
    -- Those of a partition are the table's.
    IF EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = NEW.source::oid AND g.tgname = 'uuidv7_own_keys'::name
        AND g.tgparentid <> 0::oid) THEN
        RETURN NULL;
    ELSIF EXISTS (SELECT FROM pg_class c
        WHERE c.oid = NEW.source::oid AND pg_catalog.pg_has_role(c.relowner, 'USAGE'::text)) THEN
        BEGIN
            PERFORM uuidv7_refuse_old_keys(NEW.source);
            RAISE NOTICE 'triggers on "%" refuse rows whose keys were not generated in their statement', NEW.source;
            RETURN NULL;
        EXCEPTION WHEN feature_not_supported OR internal_error THEN
            NULL;  -- Citus has none on its tables.
        END;
    END IF;
    RAISE WARNING 'rows of "%" with keys from earlier statements would be missed', NEW.source
        USING HINT = pg_catalog.format('Have the owner of the table call uuidv7_refuse_old_keys(%L).', NEW.source);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION uuidv7_guard_feed() IS 'internal: has rows refused that a new feed would miss';
CREATE OR REPLACE TRIGGER guard AFTER INSERT OR UPDATE OF source, key, margin ON uuidv7_feeds FOR EACH ROW
    EXECUTE FUNCTION uuidv7_guard_feed();
COMMENT ON TRIGGER guard ON uuidv7_feeds IS 'internal: has rows refused that a new feed would miss';

-- VOLATILE, so that it sees what was committed up to now: the first row that the calling statement does not see.
CREATE OR REPLACE FUNCTION uuidv7_unseen_key(f uuidv7_feeds, seen uuid[]) RETURNS uuid
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    unseen uuid;
BEGIN
    EXECUTE pg_catalog.format('SELECT %1$I FROM %2$s WHERE %1$I > $1 AND %1$I < $2 AND NOT %1$I = ANY ($3)
        ORDER BY %1$I LIMIT 1', f.key, f.source)
        INTO unseen USING f.position, seen[pg_catalog.cardinality(seen)], seen;
    RETURN unseen;
END
$$;
COMMENT ON FUNCTION uuidv7_unseen_key(uuidv7_feeds, uuid[])
    IS 'internal: the first row that the calling statement does not see';

-- VOLATILE, too: whoever locks the feed first where its statement sees it has the rows. Others wait for that
-- transaction, and return nothing if it has moved the feed, since their statements do not see what it did with the
-- rows.
CREATE OR REPLACE FUNCTION uuidv7_lock_feed(f uuidv7_feeds) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
BEGIN
    PERFORM FROM uuidv7_feeds u WHERE u.feed = f.feed AND u.position = f.position FOR NO KEY UPDATE;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION uuidv7_lock_feed(uuidv7_feeds)
    IS 'internal: locks a feed that is where the calling statement sees it';

-- PostgreSQL tells nobody of a partition that is attached, so a peek compares them with those of the peek before. Who
-- may not read a partition itself learns only that it is not empty. In a restored dump, all have new numbers.
CREATE OR REPLACE FUNCTION uuidv7_note_parts(f uuidv7_feeds) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    present oid[] := ARRAY(WITH RECURSIVE tree(id) AS (
            SELECT f.source::oid UNION SELECT h.inhrelid FROM tree JOIN pg_inherits h ON h.inhparent = tree.id
        ) SELECT tree.id FROM tree ORDER BY tree.id);
    part regclass;
    is_passed boolean;
BEGIN
    IF present = f.parts THEN
        RETURN;
    END IF;
    FOR part IN SELECT c.oid FROM pg_class c WHERE c.oid = ANY (present) AND c.oid <> ALL (f.parts) AND c.relkind <> 'p'
            AND f.source::oid = ANY (f.parts) LOOP
        BEGIN
            EXECUTE pg_catalog.format('SELECT EXISTS (SELECT FROM %s WHERE %I <= $1)', part, f.key)
                INTO is_passed USING f.position;
        EXCEPTION WHEN insufficient_privilege THEN
            is_passed := pg_catalog.pg_relation_size(part) > 0;
        END;
        IF is_passed THEN
            RAISE WARNING 'rows of "%" can have keys that feed "%" has passed', part, f.feed
                USING DETAIL = 'It was attached after the feed was read.',
                    HINT = 'If they were not read, set the position back: what was read since then comes again.';
        END IF;
    END LOOP;
    UPDATE uuidv7_feeds u SET parts = present WHERE u.feed = f.feed;
END
$$;
COMMENT ON FUNCTION uuidv7_note_parts(uuidv7_feeds)
    IS 'internal: remembers the partitions of a feed, and warns of new ones with rows that it has passed';

-- A setting of the transaction: it forgets a peek that is rolled back.
CREATE OR REPLACE FUNCTION uuidv7_shown(feed text, upto uuid DEFAULT NULL) RETURNS uuid
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    setting text := 'uuidv7.shown_' || to_hex(pg_catalog.hashtextextended(feed, 'uuidv7_feeds'::regclass::bigint));
    shown uuid := greatest(nullif(pg_catalog.current_setting(setting, true), '')::uuid, upto);
BEGIN
    PERFORM pg_catalog.set_config(setting, shown::text, true);
    RETURN shown;
END
$$;
COMMENT ON FUNCTION uuidv7_shown(text, uuid)
    IS 'internal: up to which ID this transaction has peeked at a feed, now that it has up to another';

-- STABLE, so that it sees what the calling statement sees: the position, the rows, and all that their transactions
-- wrote.
CREATE OR REPLACE FUNCTION uuidv7_peek_feed(feed text, row_type anyelement, batch_size integer DEFAULT 1000)
    RETURNS SETOF anyelement
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 1000
AS $$
DECLARE
    given regtype := pg_catalog.pg_typeof(row_type);
    f uuidv7_feeds;
    horizon uuid;
    seen uuid[];
    unseen uuid;
    last uuid;
BEGIN
    IF batch_size < 1 IS NOT FALSE THEN
        RAISE EXCEPTION 'invalid size of a batch: %', batch_size USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO f FROM uuidv7_feeds u WHERE u.feed = uuidv7_peek_feed.feed;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    ELSIF f.source::oid <> (SELECT t.typrelid FROM pg_type t WHERE t.oid = given::oid) THEN
        RAISE EXCEPTION 'feed "%" returns rows of "%", not of "%"', feed, f.source, given
            USING ERRCODE = 'datatype_mismatch';
    ELSIF f.position > uuidv7_upper(clock_timestamp()) THEN
        RAISE EXCEPTION 'feed "%" was read up to "%", which is not before the time of the clock', feed, f.position
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'Rows that were not read can come before this position.',
                HINT = 'Check the clock. Then set the position back: what was read since then comes again.';
    END IF;
    PERFORM uuidv7_note_parts(f);
    PERFORM uuidv7_shown(feed, f.position);
    -- Later than the snapshot of the calling statement, and before the look at the present.
    horizon := uuidv7_horizon(f.source, f.margin);
    EXECUTE pg_catalog.format('SELECT pg_catalog.array_agg(k) FROM (SELECT %1$I FROM %2$s
        WHERE %1$I > $1 AND %1$I < $2 ORDER BY %1$I LIMIT $3) rows(k)', f.key, f.source)
        INTO seen USING f.position, horizon, batch_size;
    IF seen IS NULL THEN
        RETURN;
    END IF;
    -- The batch ends before the first row that was committed after the calling statement began: it is for the next
    -- call.
    unseen := uuidv7_unseen_key(f, seen);
    last := (SELECT k FROM pg_catalog.unnest(seen) k WHERE unseen IS NULL OR k < unseen ORDER BY k DESC LIMIT 1);
    IF last IS NOT NULL AND uuidv7_lock_feed(f) THEN
        PERFORM uuidv7_shown(feed, last);
        RETURN QUERY EXECUTE pg_catalog.format('SELECT * FROM %2$s WHERE %1$I > $1 AND %1$I <= $2 ORDER BY %1$I', f.key,
            f.source)
            USING f.position, last;
    END IF;
END
$$;
COMMENT ON FUNCTION uuidv7_peek_feed(text, anyelement, integer)
    IS 'the next rows of a feed, in the order of their IDs, until uuidv7_advance_feed() says that they are done';

CREATE OR REPLACE FUNCTION uuidv7_advance_feed(feed text, upto uuid) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    shown uuid := uuidv7_shown(feed);
    f uuidv7_feeds;
BEGIN
    SELECT * INTO f FROM uuidv7_feeds u WHERE u.feed = uuidv7_advance_feed.feed;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    -- Not the horizon, which may fall.
    ELSIF upto <= least(shown, uuidv7_upper(clock_timestamp() - f.margin)) IS NOT TRUE THEN
        RAISE EXCEPTION 'cannot advance feed "%" to "%"', feed, upto USING ERRCODE = 'invalid_parameter_value',
            DETAIL = CASE WHEN upto > shown
                THEN pg_catalog.format('This transaction has peeked at the rows up to "%s".', shown)
                ELSE 'No row up to there was returned.' END,
            HINT = 'Use the ID of the last row that is done.';
    END IF;
    UPDATE uuidv7_feeds u SET position = upto WHERE u.feed = uuidv7_advance_feed.feed AND u.position < upto;
    IF NOT FOUND THEN
        RAISE WARNING 'rows of feed "%" up to "%" were done before', feed, upto
            USING DETAIL = 'Another consumer may have got the same rows, and done the same.',
                HINT = 'Peek and advance in one transaction, or start one consumer of a feed only.';
        RETURN false;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION uuidv7_advance_feed(text, uuid)
    IS 'the rows of a feed up to an ID are done; whether they were not yet';

-- What they need is found, and nothing of the same name elsewhere. Rows that row security would hide are an error: they
-- would count as read.
DO $do$
DECLARE
    function regprocedure;
BEGIN
    FOREACH function IN ARRAY ARRAY['uuidv7_unseen_key(uuidv7_feeds, uuid[])', 'uuidv7_lock_feed(uuidv7_feeds)',
        'uuidv7_note_parts(uuidv7_feeds)', 'uuidv7_shown(text, uuid)', 'uuidv7_peek_feed(text, anyelement, integer)',
        'uuidv7_advance_feed(text, uuid)', 'uuidv7_refuse_old_keys(regclass)',
        'uuidv7_guard_feed()']::regprocedure[] LOOP
        EXECUTE pg_catalog.format('ALTER FUNCTION %s SET search_path = pg_catalog, %I, pg_temp', function,
            current_schema());
        EXECUTE pg_catalog.format('ALTER FUNCTION %s SET row_security = off', function);
    END LOOP;
END
$do$;

--
-- IDs of sno as uuids. From the left: 48 bits of Unix milliseconds, a multiple of 4; the version, 7; a zero; 8 bits of
-- metabyte; the upper 3 bits of the server number; the variant, 2 bits; its lower 5 bits; 24 bits of a counter; 33
-- zeros. The extension's sno_to_uuidv7 returns the same, and uuidv7_to_sno converts it.
--

CREATE SEQUENCE IF NOT EXISTS sno_uuid_counter AS bigint;
COMMENT ON SEQUENCE sno_uuid_counter IS 'numbers the IDs of sno_uuid, whatever their time';
GRANT USAGE ON SEQUENCE sno_uuid_counter TO PUBLIC;

-- STABLE, although it is a constant: so a plan in use notices a new one. It is created once, with a number that is
-- drawn, since its owner replaces it. Each node of Citus has the number that Citus gives to it, also one that is added
-- later.
DO $do$
BEGIN
    IF to_regprocedure(pg_catalog.format('%I.sno_uuid_server()', current_schema())) IS NULL THEN
        EXECUTE pg_catalog.format('CREATE FUNCTION sno_uuid_server() RETURNS integer LANGUAGE SQL STABLE PARALLEL SAFE
            RETURN %s', CASE WHEN to_regclass('pg_catalog.pg_dist_local_group') IS NULL
                THEN pg_catalog.floor(pg_catalog.random() * 256::double precision)::text
                ELSE '(SELECT groupid FROM pg_catalog.pg_dist_local_group)' END);
        COMMENT ON FUNCTION sno_uuid_server()
            IS 'number of this server: to change it, replace the function by one that returns another number from 0 '
                'to 255';
    END IF;
END
$do$;

-- The planner inlines it, and computes what depends on the metabyte and the server number once. The counter does not
-- start again in each tick, so it tells IDs apart even if the clock stands or steps back. The milliseconds have eleven
-- digits from 2004 to 2527.
CREATE OR REPLACE FUNCTION sno_uuid(metabyte integer DEFAULT 0) RETURNS uuid
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE
    RETURN ('0' || to_hex((floor(date_part('epoch', clock_timestamp()) * 250.0::double precision)::bigint << 18) + 28672
            + 8 * CASE
                WHEN metabyte NOT BETWEEN 0 AND 255
                    THEN uuidv7_raise('metabyte out of range: ' || metabyte::text, '22003')
                WHEN sno_uuid_server() NOT BETWEEN 0 AND 255
                    THEN uuidv7_raise('invalid server number: ' || sno_uuid_server()::text, '22023')
                ELSE metabyte END
            + sno_uuid_server() / 32)
        || to_hex((((sno_uuid_server() % 32) - 64)::bigint << 57) +
            ((nextval('sno_uuid_counter'::regclass) & 16777215::bigint) << 33)))::uuid;
COMMENT ON FUNCTION sno_uuid(integer) IS 'new ID with a metabyte of 0 to 255, as a uuid of version 7';

CREATE OR REPLACE FUNCTION sno_uuid_metabyte(id uuid) RETURNS integer
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN ('x' || substr(id::text, 16, 3))::bit(12)::integer / 8 % 256;
COMMENT ON FUNCTION sno_uuid_metabyte(uuid) IS 'metabyte of an ID';

CREATE OR REPLACE FUNCTION sno_uuid_server(id uuid) RETURNS integer
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN ('x' || translate(substr(id::text, 18, 4), '-', ''))::bit(12)::integer / 256 % 8 * 32
        + ('x' || substr(id::text, 20, 2))::bit(8)::integer / 2 % 32;
COMMENT ON FUNCTION sno_uuid_server(uuid) IS 'number of the server that generated an ID';
