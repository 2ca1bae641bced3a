--
-- Feeds
--

-- A time within these bounds: one beyond them would make every query of sno_feeds fail, for all roles. It is a domain,
-- and a trigger checks what only an INSERT can set, since each UPDATE would parse a CHECK of the table again, which
-- takes as long as the rest of the UPDATE.
CREATE DOMAIN sno_internal.feed_time AS timestamptz CHECK (VALUE BETWEEN '2010-01-01 00:00Z' AND '2079-09-08 00:00Z');
COMMENT ON DOMAIN sno_internal.feed_time IS 'internal: when a position was stored';

-- Up to which ID the rows of each feed were read. The primary key has the owner, so that no role can take a name from
-- another. Only the role that restores a dump has a right to write here: src/sno/feed/lookup.rs decides who may use a
-- feed, and ledger.rs beside it writes as the owner of the table.
CREATE TABLE sno_internal.feed_positions (
    -- In a dump by its name alone, since a name that is not there would be an error for the rows of
    -- all feeds. The first column, so that each row of a dump begins with \N: where this table is missing, psql takes
    -- the rows of COPY for commands, and it discards a line that begins with a command that it does not know. Otherwise
    -- it would skip what follows, up to the next semicolon.
    source regclass,
    feed text NOT NULL,
    -- A name, since a dump must load where the role does not exist.
    owner name NOT NULL DEFAULT current_user,
    source_name text,
    key name NOT NULL,
    margin interval NOT NULL,
    position sno,
    moved sno_internal.feed_time NOT NULL DEFAULT clock_timestamp(),
    -- Up to here a peek returns its rows one by one, since one of them has failed.
    careful_until sno,
    -- The number of the last lowering of the horizons before the position was read: see sno_goes_on_after().
    lowering bigint NOT NULL DEFAULT 0,
    -- The number of the key among the columns of the source: if another column gets its name, this shows it.
    key_number smallint,
    -- The servers whose horizons the position is below, if others than this one commit its rows: see
    -- sno_internal.sno_scope_horizon().
    servers text,
    PRIMARY KEY (feed, owner)
);
COMMENT ON TABLE sno_internal.feed_positions IS 'internal: positions of feeds';
-- pg_dump appends the condition to "SELECT ... FROM sno_internal.feed_positions", so it dumps the present names of the
-- sources. Feeds of dropped sources are left out: they would go on with another table of the same name. add_feed()
-- says what `lowering` is on the other server.
SELECT pg_catalog.pg_extension_config_dump('sno_internal.feed_positions',
    $$WHERE false
    UNION ALL
    SELECT NULL, p.feed, p.owner, coalesce(p.source_name, pg_catalog.format('%I.%I', n.nspname, c.relname)), p.key,
        p.margin, p.position, p.moved,
        NULL, 0, NULL, NULL
    FROM sno_internal.feed_positions p
    LEFT JOIN pg_catalog.pg_class c ON c.oid = p.source AND c.relkind IN ('r', 'p', 'v') AND c.relpersistence <> 't'
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE p.source_name IS NOT NULL OR c.oid IS NOT NULL$$);

-- The row at which each feed fails. Not in feed_positions, which all roles can read, since an error can have values of
-- the row. Not dumped.
CREATE TABLE sno_internal.feed_failures (
    feed text,
    owner name,
    failing sno NOT NULL,
    attempts integer NOT NULL,
    since timestamptz NOT NULL,
    retry_at timestamptz NOT NULL,
    error text,
    PRIMARY KEY (feed, owner)
);
COMMENT ON TABLE sno_internal.feed_failures IS 'internal: rows of feeds that fail';

-- Revokes whatever ALTER DEFAULT PRIVILEGES has granted. Operators are named with their schema, since search_path has
-- that of the extension here, where others may have created operators.
DO $$
DECLARE
    role pg_catalog.text;
BEGIN
    FOR role IN
        SELECT DISTINCT CASE WHEN a.grantee OPERATOR(pg_catalog.=) '0'::pg_catalog.oid THEN 'PUBLIC'
            ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END
        FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
        WHERE c.relnamespace OPERATOR(pg_catalog.=) 'sno_internal'::pg_catalog.regnamespace::pg_catalog.oid
            AND a.grantee OPERATOR(pg_catalog.<>) c.relowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON sno_internal.feed_positions, sno_internal.feed_failures FROM %s',
            role);
    END LOOP;
END
$$;
-- Any role may dump the database, which reads feed_positions; the role that restores a dump has created the extension.
GRANT SELECT ON sno_internal.feed_positions TO PUBLIC;
GRANT INSERT ON sno_internal.feed_positions TO @extowner@;

CREATE FUNCTION sno_internal.feed_failures(
        OUT feed text, OUT owner name, OUT failing sno, OUT attempts integer, OUT failing_since timestamptz,
        OUT retry_at timestamptz,
        OUT last_error text
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'sno_feed_failures' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION sno_internal.feed_failures()
    IS 'internal: rows of feeds that fail, with the errors of those that the role may use';

CREATE FUNCTION sno_internal.restore_feed(feed text, owner name, source_name text) RETURNS regclass
    AS 'MODULE_PATHNAME', 'sno_restore_feed' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.restore_feed(text, name, text)
    IS 'internal: drops the feed that a row of a dump replaces, and finds its source';
CREATE FUNCTION sno_internal.add_feed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.margin NOT BETWEEN '-100 years' AND '100 years' THEN
        RAISE EXCEPTION 'margin of feed "%" out of range: "%"', NEW.feed, NEW.margin USING ERRCODE = 'check_violation';
    ELSIF num_nonnulls(NEW.source, NEW.source_name) <> 1 THEN
        RAISE EXCEPTION 'feed "%" must have either a source or its name', NEW.feed USING ERRCODE = 'check_violation';
    END IF;
    -- The source of a superuser's feed is read with the rights of the superuser. So if another role restores the dump,
    -- it becomes the owner of the feed.
    IF EXISTS (SELECT FROM pg_roles r WHERE r.rolname = NEW.owner AND r.rolsuper)
        AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = current_user AND r.rolsuper)
    THEN
        NEW.owner := current_user;
    END IF;
    IF NEW.source IS NULL THEN
        -- A text that is no name would be an error of all who ask for the feeds of any table.
        PERFORM parse_ident(NEW.source_name);
        NEW.source := sno_internal.restore_feed(NEW.feed, NEW.owner, NEW.source_name);
        IF NEW.source IS NOT NULL THEN
            NEW.source_name := NULL;
        END IF;
        -- New rows would have IDs before a position in the future, and be missed.
        IF NEW.position > sno_internal.sno_last(clock_timestamp(), true) THEN
            RAISE WARNING 'feed "%" of role "%" was read up to "%", which is ahead of the clock', NEW.feed, NEW.owner,
                NEW.position
                USING DETAIL = 'It goes on with the rows from now on: those that it had read come again.';
            NEW.position := sno_internal.sno_last(clock_timestamp(), true);
        END IF;
        -- As for a feed that was read here: inserts wait for a clock that is set back, or sno_lower_horizon() leads it
        -- back.
        NEW.lowering := sno_internal.sno_give_horizon();
    ELSIF (SELECT count(*) FROM sno_internal.feed_positions p WHERE p.owner = NEW.owner) >= 1000 THEN
        RAISE EXCEPTION 'role "%" has too many feeds', NEW.owner USING ERRCODE = 'configuration_limit_exceeded',
            DETAIL = 'A role can have 1000 feeds in a database.', HINT = 'Drop those that nobody reads.';
    END IF;
    NEW.key_number := (SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = NEW.source AND a.attname = NEW.key
        AND NOT a.attisdropped);
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION sno_internal.add_feed() IS 'internal: trigger function of sno_internal.feed_positions';
CREATE TRIGGER add_feed BEFORE INSERT ON sno_internal.feed_positions FOR EACH ROW
    EXECUTE FUNCTION sno_internal.add_feed();
ALTER TABLE sno_internal.feed_positions ENABLE ALWAYS TRIGGER add_feed;
COMMENT ON TRIGGER add_feed ON sno_internal.feed_positions
    IS 'internal: checks new feeds, finds the sources of restored ones';

CREATE FUNCTION sno_feeds(
        OUT feed text, OUT source regclass, OUT owner name, OUT margin interval, OUT "position" sno, OUT lag interval,
        OUT moved timestamptz,
        OUT held_by text, OUT held_since timestamptz, OUT failing sno, OUT attempts integer,
        OUT failing_since timestamptz,
        OUT retry_at timestamptz, OUT last_error text
    ) RETURNS SETOF record
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT p.feed, p.source, p.owner, p.margin, p.position, clock_timestamp() - sno_time(p.position),
        p.moved::timestamptz, h.held_by, h.held_since,
        f.failing, f.attempts, f.failing_since, f.retry_at, f.last_error
    FROM sno_internal.feed_positions p
    LEFT JOIN sno_internal.feed_failures() f ON f.feed = p.feed AND f.owner = p.owner
    LEFT JOIN (
        SELECT coalesce(gid, pid::text) AS held_by, since AS held_since FROM sno_horizon_holders()
            ORDER BY since LIMIT 1
    ) h ON clock_timestamp() - h.held_since > p.margin;
END;
COMMENT ON FUNCTION sno_feeds() IS 'feeds, how far each was read, what holds it back, and what fails';

-- Whether the rows of a source come from all servers of a scope. An error if a feed would miss rows of it: asked when a
-- feed is created, and at each call after something has changed in the catalogs.
CREATE FUNCTION sno_internal.check_source(source regclass, key name) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_table regclass := sno_internal.table_of(source);
    other record;
BEGIN
    IF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class c WHERE c.oid = of_table) THEN
        RAISE EXCEPTION '"%" cannot be the source of a feed', source USING ERRCODE = 'wrong_object_type',
            DETAIL = 'A feed reads a table, or the view that sno_track_changes() has created.',
            HINT = 'Have the feed read the table. The program that reads it can skip rows, and its statement join '
                'other tables by LEFT JOIN.';
    ELSIF EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
        WHERE i.inhparent = of_table AND c.relkind = 'r') THEN
        RAISE EXCEPTION '"%" cannot be the source of a feed', source USING ERRCODE = 'wrong_object_type',
            DETAIL = 'Other tables inherit from it.',
            HINT = 'Use partitions; or ALTER TABLE ... NO INHERIT, and a feed of each table.';
    ELSIF (SELECT c.relispartition FROM pg_class c WHERE c.oid = of_table) THEN
        RAISE EXCEPTION '"%" cannot be the source of a feed', source USING ERRCODE = 'wrong_object_type',
            DETAIL = 'It is a partition: an UPDATE can move rows into it when the feed is past their keys.',
            HINT = 'Have the feed read the table that it is a partition of.';
    -- Whose feeds do not keep rows of the log.
    ELSIF (SELECT min(c.relowner) <> max(c.relowner) FROM pg_class c WHERE c.oid IN (source, of_table)) THEN
        RAISE EXCEPTION 'view "%" is of another owner than the log "%"', source, of_table
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Give the table, its partitions, the log and the view of the changes one owner.';
    ELSIF EXISTS (SELECT FROM pg_attribute a
        WHERE of_table = source AND a.attrelid = source AND a.attname = check_source.key AND (NOT a.attnotnull
            -- NOT VALID, of PostgreSQL 18.
            OR EXISTS (SELECT FROM pg_constraint n WHERE n.conrelid = source AND n.contype = 'n'
                AND a.attnum = ANY (n.conkey) AND NOT n.convalidated))) THEN
        RAISE EXCEPTION 'key "%" of "%" can be null', key, source USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'A feed would not return rows without a key.', HINT = 'Declare the column NOT NULL.';
    END IF;
    -- Hardly any database has rows that others commit, so first a quick look at whether it can.
    IF NOT EXISTS (SELECT FROM pg_subscription_rel) AND NOT EXISTS (SELECT FROM pg_foreign_table)
        AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        RETURN false;
    END IF;
    SELECT i.relation, k.kind INTO other
    FROM sno_internal.inheritors(of_table) i JOIN pg_class c ON c.oid = i.relation
    CROSS JOIN LATERAL (SELECT CASE WHEN c.relkind = 'f' THEN 'foreign'
        WHEN EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = c.oid) THEN 'subscribed'
        WHEN sno_internal.is_distributed(c.oid) THEN 'distributed' END) k(kind)
    WHERE k.kind IS NOT NULL ORDER BY k.kind = 'distributed', k.kind LIMIT 1;
    IF other.kind <> 'distributed' THEN
        RAISE EXCEPTION 'feed cannot read % rows: "%"', other.kind, other.relation
            USING ERRCODE = CASE other.kind WHEN 'subscribed' THEN 'object_not_in_prerequisite_state'
                ELSE 'wrong_object_type' END,
            DETAIL = 'Such rows can come below the horizon of this server.',
            HINT = CASE other.kind WHEN 'subscribed'
                THEN
    'Create a feed of the table on the server of these rows, or have sno_track_changes() log them here.'
                ELSE 'Create a feed of the table on its own server.' END;
    END IF;
    RETURN other.kind IS NOT NULL;
END
$$;
COMMENT ON FUNCTION sno_internal.check_source(regclass, name) IS
    'internal: whether the horizon of a scope counts for the rows of a feed; fails if it would miss some';

-- The new position of a feed that is at the position `present`: below the first row since a time, or an ID. Not above
-- the horizon, since rows can still come there.
CREATE FUNCTION sno_internal.position_of(
        source regclass, key name, margin interval, present sno, since timestamptz, after sno, OUT "position" sno,
            OUT servers text
    ) RETURNS record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    horizon present%TYPE;
BEGIN
    IF since > clock_timestamp() THEN
        RAISE EXCEPTION 'feed cannot start in the future: "%"', since USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF sno_internal.check_source(source, key) THEN
        SELECT s.horizon, s.servers INTO horizon, servers
        FROM sno_internal.sno_scope_horizon(margin, CASE WHEN after <= present THEN present END, NULL) s;
        -- The position has to be below the horizons of all servers that `servers` names.
        IF horizon IS NULL OR after <= present AND horizon <= after THEN
            RAISE EXCEPTION 'transactions of the cluster are still being committed'
                USING ERRCODE = 'lock_not_available';
        END IF;
    -- A position that the feed has passed is below a horizon already.
    ELSIF after > present OR present IS NULL OR after IS NULL THEN
        horizon := sno_internal.sno_horizon(margin);
    END IF;
    "position" := CASE WHEN after IS NULL THEN sno_internal.sno_last(least(since, horizon::timestamptz), true)
        ELSE least(after, sno_internal.sno_last(horizon::timestamptz, true)) END;
    IF "position" IS DISTINCT FROM present AND present IS NOT NULL
        AND coalesce("position" < least(present, sno_internal.sno_last(now() - interval '1 hour', true)), true)
        AND EXISTS (SELECT FROM sno_internal.log_read(source)) THEN
        RAISE WARNING 'log of changes may lack what all feeds had read' USING
            DETAIL = 'Changes that are older than an hour are deleted from the log once all feeds have read them.',
            HINT = 'To have all rows returned, put the keys of the table into the log once more.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.position_of(regclass, name, interval, sno, timestamptz, sno) IS
    'internal: position of a feed that is to return the rows since a time, or after an ID';

-- Whether a source has rows after one ID and up to another; null if the role cannot read it now.
CREATE FUNCTION sno_internal.has_rows(source regclass, key name, after sno, upto sno) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET row_security = off
    SET enable_seqscan = off SET lock_timeout = '100ms'
AS $$
DECLARE
    first after%TYPE;
BEGIN
    EXECUTE format('SELECT t.%1$I FROM %2$s t WHERE t.%1$I > $1 AND t.%1$I <= $2 ORDER BY 1 LIMIT 1', key, source)
        INTO first USING after, upto;
    RETURN first IS NOT NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION sno_internal.has_rows(regclass, name, sno, sno)
    IS 'internal: whether a source has rows after one ID and up to another';

-- The key of a new feed, or the error that says why its source can have none.
CREATE FUNCTION sno_internal.key_of(feed text, source regclass, since timestamptz, key name, margin interval)
    RETURNS name
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys name[] := sno_internal.possible_keys(source, key);
BEGIN
    IF num_nulls(feed, source, since, margin) > 0 THEN
        RAISE EXCEPTION 'name, source, start and margin of a feed must not be null'
            USING ERRCODE = 'null_value_not_allowed';
    ELSIF octet_length(feed) > 255 THEN
        RAISE EXCEPTION 'name of a feed is too long' USING ERRCODE = 'name_too_long',
            DETAIL = 'It can have 255 bytes.';
    ELSIF margin > '100 years' THEN
        RAISE EXCEPTION 'margin must not be longer than 100 years: "%"', margin
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF since > '-infinity' AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot create a feed that begins at a time in a transaction with isolation level %',
            upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state',
            DETAIL = 'A copy of the table in this transaction would lack rows that the feed does not return.',
            HINT = 'Use READ COMMITTED.';
    ELSIF (SELECT relpersistence = 't' FROM pg_class WHERE oid = source) THEN
        RAISE EXCEPTION 'cannot create a feed of a temporary table: "%"', source USING ERRCODE = 'wrong_object_type',
            DETAIL = 'A feed outlives the session.', HINT = 'Use an ordinary table.';
    END IF;
    PERFORM sno_internal.check_source(source, keys[1]);
    IF cardinality(keys) IS DISTINCT FROM 1 THEN
        RAISE EXCEPTION 'no single key of type sno in "%"', source USING ERRCODE = 'undefined_column',
            HINT = CASE WHEN cardinality(keys) > 1 THEN format('Name the column, as in key => %L.', keys[1])
                ELSE 'The key is a column of type sno in the primary key, or another one that is named.' END;
    ELSIF sno_internal.table_of(source) = source AND NOT sno_internal.has_index(source, keys[1]) THEN
        RAISE EXCEPTION 'no index of "%" begins with "%"', source, keys[1]
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'Each call of sno_feed() would read the whole table.',
            HINT = 'Create an index that begins with the key.';
    END IF;
    RETURN keys[1];
END
$$;
COMMENT ON FUNCTION sno_internal.key_of(text, regclass, timestamptz, name, interval)
    IS 'internal: key of a table, or a view of changes, that can have a feed';

CREATE FUNCTION sno_create_feed(
        feed text, source regclass, since timestamptz DEFAULT '-infinity', key name DEFAULT NULL,
            margin interval DEFAULT '0.1 s',
        if_not_exists boolean DEFAULT false, refuse_old_keys boolean DEFAULT true
    ) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE SUPPORT sno_internal.sno_horizon_support;
COMMENT ON FUNCTION sno_create_feed(text, regclass, timestamptz, name, interval, boolean, boolean)
    IS 'create a feed of the rows of a table; returns the ID after which it begins, or null';

CREATE FUNCTION sno_seek_feed(feed text, since timestamptz DEFAULT NULL, after sno DEFAULT NULL,
    source regclass DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_seek_feed(text, timestamptz, sno, regclass)
    IS 'continue a feed with the rows since a time, or after an ID';

CREATE FUNCTION sno_drop_feed(feed text, owner name DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_drop_feed(text, name)
    IS 'drop a feed; with an owner, that of another role over a table of one''s own';
