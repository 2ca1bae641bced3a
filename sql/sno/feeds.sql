--
-- Feeds
--

-- Bounded, as all times here: one beyond these would make every query of sno_feeds fail, for all roles. A domain, and a trigger for what only an
-- INSERT can set, since each UPDATE parses the conditions of CHECKs again, which takes as long as the rest of it.
CREATE DOMAIN sno_internal.feed_time AS timestamptz CHECK (VALUE BETWEEN '2010-01-01 00:00Z' AND '2079-09-08 00:00Z');
COMMENT ON DOMAIN sno_internal.feed_time IS 'internal: when a position was stored';

-- Up to which ID the rows of each feed were read. The key has the owner, so that no role can take a name from another.
CREATE TABLE sno_internal.feed_positions (
    -- The table or view: in a dump by its name alone, since a name that is not there would be an error for the rows of all feeds. The first
    -- column, so that each row of a dump begins with \N: where this table is missing, psql takes the rows of COPY for commands, and it
    -- discards a line that begins with a command that it does not know. Otherwise it would skip what follows, up to the next semicolon.
    source regclass,
    feed text NOT NULL,
    -- A name, since a dump must load where the role does not exist.
    owner name NOT NULL DEFAULT current_user,
    source_name text,
    key name NOT NULL,
    margin interval,
    position sno,
    moved sno_internal.feed_time NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (feed, owner)
);
COMMENT ON TABLE sno_internal.feed_positions IS 'internal: positions of feeds';
-- Every role that dumps the database reads it, and the one that restores the dump has created the extension.
GRANT SELECT ON sno_internal.feed_positions TO PUBLIC;
GRANT INSERT ON sno_internal.feed_positions TO @extowner@;
-- pg_dump appends the condition to "SELECT ... FROM sno_internal.feed_positions": it reads the names that the sources have then. Without sources that
-- were dropped, so that a feed does not go on with another table of the same name.
SELECT pg_catalog.pg_extension_config_dump('sno_internal.feed_positions',
    $$WHERE false
    UNION ALL
    SELECT NULL, p.feed, p.owner, coalesce(p.source_name, pg_catalog.format('%I.%I', n.nspname, c.relname)), p.key, p.margin, p.position, p.moved
    FROM sno_internal.feed_positions p
    LEFT JOIN pg_catalog.pg_class c ON c.oid = p.source AND c.relkind IN ('r', 'p', 'v') AND c.relpersistence <> 't'
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE p.source_name IS NOT NULL OR c.oid IS NOT NULL$$);

-- With the rights of its owner, since the role that restores a dump may only insert. Nobody else can attach it to a table.
CREATE FUNCTION sno_internal.add_feed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.margin NOT BETWEEN '-100 years' AND '100 years' THEN
        RAISE EXCEPTION 'margin of feed "%" out of range: "%"', NEW.feed, NEW.margin USING ERRCODE = 'check_violation';
    ELSIF num_nonnulls(NEW.source, NEW.source_name) <> 1 THEN
        RAISE EXCEPTION 'feed "%" must have either a source or its name', NEW.feed USING ERRCODE = 'check_violation';
    ELSIF NEW.source IS NULL THEN
        -- From a dump: it takes the place of a feed that migrations may have created.
        DELETE FROM sno_internal.feed_positions p WHERE p.feed = NEW.feed AND p.owner = NEW.owner;
        NEW.source := to_regclass(NEW.source_name);
        IF NEW.source IS NOT NULL THEN
            NEW.source_name := NULL;
        END IF;
    ELSIF (SELECT count(*) FROM sno_internal.feed_positions p WHERE p.owner = NEW.owner) >= 1000 THEN
        RAISE EXCEPTION 'role "%" has too many feeds', NEW.owner USING ERRCODE = 'configuration_limit_exceeded',
            DETAIL = 'A role can have 1000 feeds in a database.', HINT = 'Drop those that nobody reads.';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION sno_internal.add_feed() IS 'internal: trigger function of sno_internal.feed_positions';
REVOKE EXECUTE ON FUNCTION sno_internal.add_feed() FROM PUBLIC;
CREATE TRIGGER add_feed BEFORE INSERT ON sno_internal.feed_positions FOR EACH ROW EXECUTE FUNCTION sno_internal.add_feed();
ALTER TABLE sno_internal.feed_positions ENABLE ALWAYS TRIGGER add_feed;
COMMENT ON TRIGGER add_feed ON sno_internal.feed_positions IS 'internal: checks new feeds, finds the sources of restored ones';

-- Who may use a feed: the role that created it, and its members; and, since names of roles do not follow what happens to roles and objects, also
-- who owns its source, and who owns the extension. So a restore with --no-owner, REASSIGN OWNED, a renamed or a dropped role leave no feed to
-- nobody. Each role changes its feeds through these views. Row security would make pg_dump fail. Rights are on columns only, because a right to
-- update or delete in the whole table would also allow LOCK TABLE; so a feed is dropped by an UPDATE that a rule turns into a DELETE.
CREATE VIEW sno_internal.own_feeds AS
    SELECT source, feed, owner, source_name, key, margin, position, moved
    FROM sno_internal.feed_positions
    WHERE owner = current_user OR pg_has_role(to_regrole(quote_ident(owner::text))::oid, 'USAGE'::text)
        OR pg_has_role((SELECT c.relowner FROM pg_class c WHERE c.oid = source::oid), 'USAGE'::text)
        OR pg_has_role((SELECT e.extowner FROM pg_extension e WHERE e.extname = 'sno'), 'USAGE'::text);
GRANT SELECT, UPDATE (position, moved) ON sno_internal.own_feeds TO PUBLIC;
COMMENT ON VIEW sno_internal.own_feeds IS 'internal: feeds that the role may use';

-- Apart from the view for updates: a role that may not read the source any more can still seek and drop its feed.
CREATE VIEW sno_internal.new_feeds AS
    SELECT feed, source, key, margin
    FROM sno_internal.own_feeds
    -- With the exact types, since the functions in a view run as the caller, and the owner of the schema could have better matches.
    WHERE NOT EXISTS (
        SELECT FROM pg_attribute a
        WHERE a.attrelid = source::oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT has_column_privilege(source::oid, a.attnum, 'SELECT'::text)
    ) AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = source::oid AND a.attname = key)
    WITH CHECK OPTION;
GRANT SELECT, INSERT (feed, source, key, margin) ON sno_internal.new_feeds TO PUBLIC;
COMMENT ON VIEW sno_internal.new_feeds IS 'internal: feeds that the role may create';

CREATE VIEW sno_feeds AS
    SELECT feed, source, owner, margin, position, clock_timestamp() - sno_time(position) AS lag, moved::timestamptz, held_by, held_since
    FROM sno_internal.feed_positions
    LEFT JOIN (
        SELECT coalesce(gid, pid::text) AS held_by, since AS held_since FROM sno_horizon_holders ORDER BY since LIMIT 1
    ) holder ON clock_timestamp() - held_since > margin;
GRANT SELECT ON sno_feeds TO PUBLIC;
COMMENT ON VIEW sno_feeds IS 'feeds, how far each was read, and what holds it back';
COMMENT ON COLUMN sno_feeds.feed IS 'name of the feed';
COMMENT ON COLUMN sno_feeds.source IS 'table or view whose rows it returns; null if a restore did not find it';
COMMENT ON COLUMN sno_feeds.owner IS 'role that created it; its members can use it';
COMMENT ON COLUMN sno_feeds.margin IS 'margin of its horizon; null if its horizons are given';
COMMENT ON COLUMN sno_feeds.position IS 'ID up to which rows were read; null at the start';
COMMENT ON COLUMN sno_feeds.lag IS 'time since this ID';
COMMENT ON COLUMN sno_feeds.moved IS 'when the position was stored: every 10 seconds at least while the feed is read';
COMMENT ON COLUMN sno_feeds.held_by IS 'oldest transaction that holds it back: its process ID, or its identifier if it is prepared';
COMMENT ON COLUMN sno_feeds.held_since IS 'time of the first ID of this transaction';

-- The feed that a role means by a name: its own, or else that of a role whose member it is, or else one that it may use for another reason.
-- Everything that is given a feed's name begins here.
CREATE FUNCTION sno_internal.find_feed(feed text) RETURNS sno_internal.feed_positions
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found_feed sno_internal.feed_positions;
    owners name[];
BEGIN
    IF feed IS NULL THEN
        RAISE EXCEPTION 'name of a feed must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    SELECT * INTO found_feed FROM sno_internal.own_feeds o WHERE o.feed = find_feed.feed AND o.owner = current_user;
    IF FOUND THEN
        RETURN found_feed;
    END IF;
    SELECT array_agg(o.owner) FILTER (WHERE pg_has_role(to_regrole(quote_ident(o.owner)), 'USAGE')) INTO owners
    FROM sno_internal.own_feeds o WHERE o.feed = find_feed.feed;
    IF owners IS NULL THEN
        SELECT array_agg(o.owner) INTO owners FROM sno_internal.own_feeds o WHERE o.feed = find_feed.feed;
    END IF;
    IF owners IS NULL THEN
        SELECT array_agg(p.owner) INTO owners FROM sno_internal.feed_positions p WHERE p.feed = find_feed.feed;
        IF owners IS NOT NULL THEN
            RAISE EXCEPTION 'must be a member of role "%" to use feed "%"', owners[1], feed USING ERRCODE = 'insufficient_privilege';
        END IF;
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    ELSIF cardinality(owners) > 1 THEN
        RAISE EXCEPTION 'several roles have a feed "%"', feed USING ERRCODE = 'ambiguous_alias',
            DETAIL = format('Role "%s" has one, and role "%s" has one.', least(owners[1], owners[2]), greatest(owners[1], owners[2])),
            HINT = 'Use SET ROLE to select one, or drop one by sno_drop_feed(feed, owner).';
    END IF;
    SELECT * INTO found_feed FROM sno_internal.own_feeds o WHERE o.feed = find_feed.feed AND o.owner = owners[1];
    RETURN found_feed;
END
$$;
COMMENT ON FUNCTION sno_internal.find_feed(text) IS 'internal: the feed of a name that the role may use';

-- What is read in the end: the source itself, the tables of a view, the partitions and children of a table. With the kind of rows that can
-- come below the horizon of this server, or are not there for all sessions; null for all others.
CREATE FUNCTION sno_internal.base_relations(source regclass) RETURNS TABLE (relation regclass, kind text)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE base(oid) AS (
        SELECT source::oid
        UNION
        SELECT n.oid
        FROM base b, LATERAL (
            SELECT d.refobjid
            FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            WHERE r.ev_class = b.oid AND r.ev_type = '1' AND d.refclassid = 'pg_class'::regclass
            UNION ALL
            SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = b.oid
        ) n(oid)
    )
    SELECT c.oid::regclass,
        CASE WHEN c.relpersistence = 't' THEN 'temporary' WHEN c.relkind = 'm' THEN 'materialized'
            WHEN c.relkind = 'f' THEN 'foreign'
            -- A view that calls a function of dblink.
            WHEN c.relkind = 'v' AND EXISTS (
                SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_proc'::regclass
                JOIN pg_depend e ON e.classid = 'pg_proc'::regclass AND e.objid = d.refobjid AND e.deptype = 'e'
                WHERE r.ev_class = c.oid AND e.refobjid = (SELECT x.oid FROM pg_extension x WHERE x.extname = 'dblink')
            ) THEN 'foreign'
            -- A partition gets rows of the table that is subscribed to.
            WHEN EXISTS (
                SELECT FROM pg_subscription_rel s WHERE s.srrelid = c.oid
                UNION ALL
                SELECT FROM pg_partition_ancestors(c.oid) a JOIN pg_subscription_rel s ON s.srrelid = a.relid
            ) THEN 'subscribed'
            WHEN sno_internal.is_of_citus(c.oid) THEN 'distributed' END
    FROM base JOIN pg_class c USING (oid)
$$;
COMMENT ON FUNCTION sno_internal.base_relations(regclass) IS 'internal: relations below a table or view';

-- Whose horizon counts for the rows of a source, asked at each call: that of this server, "o" for own; "c" for that of all nodes of a cluster; "g" for
-- one that must be given, since other servers commit its rows. For rows of a foreign table there is none.
CREATE FUNCTION sno_internal.whose_horizon(source regclass, key name, margin interval) RETURNS "char"
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    other record;
BEGIN
    -- Hardly any database has such rows.
    IF EXISTS (SELECT FROM pg_subscription_rel) OR EXISTS (SELECT FROM pg_foreign_table) OR EXISTS (SELECT FROM pg_extension WHERE extname IN ('citus', 'dblink')) THEN
        SELECT * INTO other FROM sno_internal.base_relations(source) b
        WHERE b.kind = 'foreign' OR b.kind IN ('subscribed', 'distributed') AND NOT sno_internal.is_logged(b.relation, source, key)
        ORDER BY b.kind = 'distributed', b.kind LIMIT 1;
        IF other.kind = 'foreign' THEN
            RAISE EXCEPTION 'cannot read a feed of foreign rows: "%"', other.relation USING ERRCODE = 'wrong_object_type',
                DETAIL = 'Such rows can come below the horizon of this server.';
        ELSIF other.kind = 'distributed' AND margin IS NULL THEN
            RAISE EXCEPTION 'cannot read a feed of distributed rows without a margin: "%"', other.relation USING ERRCODE = 'wrong_object_type',
                DETAIL = 'Their horizon is that of all nodes, which the feed asks itself.', HINT = 'Drop the feed, and create it with a margin.';
        END IF;
        RETURN CASE other.kind WHEN 'subscribed' THEN 'g' WHEN 'distributed' THEN 'c' ELSE 'o' END;
    END IF;
    RETURN 'o';
END
$$;
COMMENT ON FUNCTION sno_internal.whose_horizon(regclass, name, interval) IS 'internal: whose horizon counts for the rows of a table or view';

-- Who owns a table below the source may drop the feed, too, since it holds back what the owner deletes.
CREATE VIEW sno_internal.dropped_feeds AS
    SELECT feed, owner
    FROM sno_internal.feed_positions p
    WHERE EXISTS (SELECT FROM sno_internal.own_feeds o WHERE o.feed = p.feed AND o.owner = p.owner)
        OR EXISTS (
            SELECT FROM sno_internal.base_relations(p.source) b JOIN pg_class c ON c.oid = b.relation::oid WHERE pg_has_role(c.relowner, 'USAGE'::text)
        );
CREATE RULE drop_feed AS ON UPDATE TO sno_internal.dropped_feeds
    DO INSTEAD DELETE FROM sno_internal.feed_positions p WHERE p.feed = OLD.feed AND p.owner = OLD.owner;
GRANT SELECT, UPDATE (feed) ON sno_internal.dropped_feeds TO PUBLIC;
COMMENT ON VIEW sno_internal.dropped_feeds IS 'internal: feeds that the role may drop; an update drops one';

-- At the horizon at most, since rows can still come above it.
CREATE FUNCTION sno_internal.set_position(feed text, owner name, since timestamptz, after sno) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f record;
    horizon sno_internal.feed_positions.position%TYPE;
BEGIN
    IF since > clock_timestamp() THEN
        RAISE EXCEPTION 'feed cannot start in the future: "%"', since USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT * INTO f FROM sno_internal.own_feeds o WHERE o.feed = set_position.feed AND o.owner = set_position.owner;
    -- What was read is below a horizon.
    IF after > f.position OR f.position IS NULL OR after IS NULL THEN
        IF sno_internal.whose_horizon(f.source, f.key, f.margin) = 'c' THEN
            horizon := sno_internal.horizon_of_nodes(f.margin, NULL);
            IF horizon IS NULL THEN
                RAISE EXCEPTION 'transactions of the cluster are still being committed' USING ERRCODE = 'lock_not_available';
            END IF;
        ELSE
            horizon := sno_internal.sno_horizon(f.margin);
        END IF;
    END IF;
    UPDATE sno_internal.own_feeds o SET moved = clock_timestamp(), position = CASE
        WHEN after IS NULL THEN sno_internal.sno_last(least(since, horizon::timestamptz), true)
        ELSE least(after, sno_internal.sno_last(horizon::timestamptz, true)) END
    WHERE o.feed = set_position.feed AND o.owner = set_position.owner;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.set_position(text, name, timestamptz, sno) IS 'internal: continue a feed with the rows since a time, or after an ID';

CREATE FUNCTION sno_internal.create_feed(feed text, source regclass, since timestamptz, key name, margin interval) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys name[];
    bad record;
BEGIN
    IF num_nulls(feed, source, since) > 0 THEN
        RAISE EXCEPTION 'name, source and start of a feed must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF margin > '100 years' THEN
        RAISE EXCEPTION 'margin must not be longer than 100 years: "%"', margin USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- The type and all domains over it. Not a foreign key, unless it is named: its values are older than the rows.
    WITH RECURSIVE own_type(oid) AS (
        SELECT sno_internal.id_type()
        UNION
        SELECT t.oid FROM own_type o JOIN pg_type t ON t.typbasetype = o.oid AND t.typtype = 'd'
    )
    SELECT array_agg(a.attname ORDER BY a.attnum) INTO keys
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.oid = source AND c.relkind IN ('r', 'p', 'v') AND a.atttypid IN (SELECT o.oid FROM own_type o)
        AND a.attname = coalesce(create_feed.key, a.attname)
        AND (c.relkind = 'v' OR a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
        AND (create_feed.key IS NOT NULL
            OR NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND a.attnum = ANY (f.conkey)));
    SELECT * INTO bad FROM sno_internal.base_relations(source) b
    WHERE b.kind IS NOT NULL AND CASE b.kind
        WHEN 'subscribed' THEN margin IS NOT NULL AND NOT sno_internal.is_logged(b.relation, source, keys[1])
        WHEN 'distributed' THEN margin IS NULL
        ELSE true END LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'cannot create a feed of % rows: "%"', bad.kind, bad.relation USING ERRCODE = 'wrong_object_type',
            DETAIL = CASE bad.kind WHEN 'temporary' THEN 'A feed outlives the session.'
                WHEN 'distributed' THEN 'Their horizon is that of all nodes, which the feed asks itself.'
                ELSE 'Such rows can come below the horizon of this server.' END,
            HINT = CASE bad.kind WHEN 'subscribed' THEN 'Use margin => NULL, and give the horizons of the servers of these rows to sno_feed().'
                WHEN 'distributed' THEN 'Give it a margin.'
                WHEN 'foreign' THEN 'Create the feed on the server of the table.'
                WHEN 'materialized' THEN 'Create a feed of the tables that it is made from.' ELSE 'Use an ordinary table.' END;
    END IF;
    IF cardinality(keys) IS DISTINCT FROM 1 THEN
        RAISE EXCEPTION 'no single key of type sno in "%"', source USING ERRCODE = 'undefined_column',
            HINT = CASE WHEN cardinality(keys) > 1 THEN format('Name the column, as in key => %L.', keys[1])
                ELSE 'The key of a table is a column of type sno in its primary key, the key of a view any such column.' END;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_class c WHERE c.oid = source AND c.relkind = 'v'
        UNION ALL
        SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = source AND a.attname = keys[1] AND m.amname = 'btree' AND i.indpred IS NULL AND i.indisvalid
    ) THEN
        RAISE EXCEPTION 'no index of "%" begins with "%"', source, keys[1] USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'Each call of sno_feed() would read the whole table.', HINT = 'Create an index that begins with the key.';
    END IF;
    BEGIN
        INSERT INTO sno_internal.new_feeds (feed, source, key, margin) VALUES (feed, source, keys[1], margin);
    EXCEPTION
        WHEN unique_violation THEN
            RAISE EXCEPTION 'feed "%" already exists', feed USING ERRCODE = 'duplicate_object';
        WHEN with_check_option_violation THEN
            RAISE EXCEPTION 'permission denied for "%"', source USING ERRCODE = 'insufficient_privilege',
                DETAIL = 'A feed returns all columns.';
    END;
    PERFORM sno_internal.set_position(feed, current_user, since, NULL);
END
$$;
COMMENT ON FUNCTION sno_internal.create_feed(text, regclass, timestamptz, name, interval) IS 'internal: create a feed, but for the rights on what is below a view';

-- Functions in a view can rely on the caller's search_path, as in sno_feed(): so this function and sno_seek_feed() have none of their own.
CREATE FUNCTION sno_create_feed(
        feed text, source regclass, since timestamptz DEFAULT '-infinity', key name DEFAULT NULL, margin interval DEFAULT '0.1 s'
    ) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
BEGIN
    PERFORM sno_internal.create_feed(feed, source, since, key, margin);
    -- The executor checks the rights on all tables below a view.
    EXECUTE pg_catalog.format('SELECT FROM %s LIMIT 0', source);
END
$$;
COMMENT ON FUNCTION sno_create_feed(text, regclass, timestamptz, name, interval) IS 'create a feed of the rows of a table or view';

-- Whether `xmin` of the feed's row is this transaction or one of its subtransactions: the versions of other transactions in progress are not
-- visible.
CREATE FUNCTION sno_internal.moved_by_this_transaction(feed text, owner name) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- pg_xact_status() takes numbers of 64 bits: the largest number whose low 32 bits are `xmin`.
    RETURN pg_current_xact_id_if_assigned() IS NOT NULL AND EXISTS (
        SELECT FROM sno_internal.feed_positions p, (SELECT pg_current_xact_id()::text::bigint + 2147483648 OFFSET 0) x(n)
        WHERE p.feed = moved_by_this_transaction.feed AND p.owner = moved_by_this_transaction.owner
            AND pg_xact_status((n - ((n - p.xmin::text::bigint) & 4294967295))::text::xid8) = 'in progress'
    );
END
$$;
COMMENT ON FUNCTION sno_internal.moved_by_this_transaction(text, name) IS 'internal: whether this transaction has moved a feed';

CREATE FUNCTION sno_seek_feed(feed text, since timestamptz DEFAULT NULL, after sno DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    f sno_internal.feed_positions := sno_internal.find_feed(feed);
    has_several_rows pg_catalog.bool := false;
BEGIN
    IF pg_catalog.num_nonnulls(since, after) OPERATOR(pg_catalog.<>) 1 THEN
        RAISE EXCEPTION 'either a time or an ID must be given' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A consumer that gives back the rest of its batch may have got some of the rows of this ID only.
    IF after IS NOT NULL AND sno_internal.moved_by_this_transaction(f.feed, f.owner)
        AND EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) f.source AND c.relkind OPERATOR(pg_catalog.=) 'v') THEN
        EXECUTE pg_catalog.format('SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 FROM (SELECT FROM %s WHERE %I OPERATOR(pg_catalog.=) $1 LIMIT 2) r',
            f.source, f.key) INTO has_several_rows USING after;
    END IF;
    IF has_several_rows THEN
        RAISE EXCEPTION 'cannot give back rows of feed "%" after "%"', feed, after USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'The view has several rows with this ID.', HINT = 'Give back all of them: use the ID before it.';
    END IF;
    PERFORM sno_internal.set_position(f.feed, f.owner, since, after);
END
$$;
COMMENT ON FUNCTION sno_seek_feed(text, timestamptz, sno) IS 'continue a feed with the rows since a time, or after an ID';

CREATE FUNCTION sno_drop_feed(feed text, owner name DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF owner IS NULL AND NOT EXISTS (SELECT FROM sno_internal.own_feeds o WHERE o.feed = sno_drop_feed.feed) THEN
        SELECT min(d.owner::text) INTO owner FROM sno_internal.dropped_feeds d WHERE d.feed = sno_drop_feed.feed HAVING count(*) = 1;
    END IF;
    owner := coalesce(owner, (sno_internal.find_feed(feed)).owner);
    PERFORM FROM sno_internal.dropped_feeds d WHERE d.feed = sno_drop_feed.feed AND d.owner = sno_drop_feed.owner FOR UPDATE;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM sno_internal.feed_positions p WHERE p.feed = sno_drop_feed.feed AND p.owner = sno_drop_feed.owner) THEN
            RAISE EXCEPTION 'must be a member of role "%" to drop feed "%"', owner, feed USING ERRCODE = 'insufficient_privilege',
                HINT = 'Who owns its source, a table below it, or the extension can also drop it.';
        END IF;
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    ELSIF current_setting('session_replication_role') = 'replica' THEN
        RAISE EXCEPTION 'cannot drop a feed while "session_replication_role" is "replica"' USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'The rule that drops it would not fire.';
    END IF;
    UPDATE sno_internal.dropped_feeds d SET feed = d.feed WHERE d.feed = sno_drop_feed.feed AND d.owner = sno_drop_feed.owner;
END
$$;
COMMENT ON FUNCTION sno_drop_feed(text, name) IS 'drop a feed; with an owner, that of another role over a table of one''s own';
