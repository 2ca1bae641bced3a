-- The feed as the calling statement sees it, with the name of its source, and the horizon, which is later than the snapshot of this statement.
CREATE FUNCTION sno_internal.open_feed(feed text, row_type regtype, batch_size integer, INOUT horizon sno, OUT f sno_internal.feed_positions)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    isolation text := current_setting('transaction_isolation');
    is_given boolean := horizon IS NOT NULL;
    bad record;
BEGIN
    IF batch_size IS NULL THEN
        RAISE EXCEPTION 'size of a batch must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF batch_size < 1 THEN
        RAISE EXCEPTION 'invalid size of a batch: %', batch_size USING ERRCODE = 'invalid_parameter_value';
    ELSIF isolation IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot read a feed in a transaction with isolation level %', upper(isolation)
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED.',
                DETAIL = 'All statements of such a transaction have one snapshot, which is older than the horizon.';
    ELSIF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot read a feed in a read-only transaction'
            USING ERRCODE = 'read_only_sql_transaction', DETAIL = 'The position of the feed is stored.';
    END IF;
    f := sno_internal.find_feed(feed);
    horizon := coalesce(horizon, sno_internal.sno_horizon(f.margin));
    IF f.source IS NULL THEN
        f.source := to_regclass(f.source_name);
        IF f.source IS NULL THEN
            RAISE EXCEPTION 'source of feed "%" does not exist: "%"', feed, f.source_name USING ERRCODE = 'undefined_table',
                DETAIL = 'The feed was restored without it.', HINT = 'Restore it, or use sno_drop_feed() and sno_create_feed().';
        END IF;
    END IF;
    f.source_name := f.source::text;
    IF f.source::oid IS DISTINCT FROM (SELECT t.typrelid FROM pg_type t WHERE t.oid = row_type) THEN
        RAISE EXCEPTION 'feed "%" returns rows of "%", not of "%"', feed, f.source, row_type
            USING ERRCODE = 'datatype_mismatch', DETAIL = 'If its table was dropped, drop the feed and create it again.',
                HINT = CASE WHEN to_regclass(f.source_name) IS NULL THEN 'Use sno_drop_feed() and sno_create_feed().'
                    ELSE format('Use SELECT * FROM sno_feed(%L, NULL::%s).', feed, f.source) END;
    END IF;
    -- What the source has got since the feed was created. Hardly any database has such rows.
    IF EXISTS (SELECT FROM pg_subscription_rel) OR EXISTS (SELECT FROM pg_foreign_table) THEN
        SELECT * INTO bad FROM sno_internal.base_relations(f.source) b
        WHERE b.kind = 'foreign' OR b.kind = 'subscribed' AND NOT sno_internal.is_logged(b.relation, f.source, f.key) ORDER BY b.kind LIMIT 1;
        IF bad.kind = 'foreign' THEN
            RAISE EXCEPTION 'cannot read a feed of foreign rows: "%"', bad.relation USING ERRCODE = 'wrong_object_type',
                DETAIL = 'Such rows can come below the horizon of this server.';
        ELSIF bad.kind = 'subscribed' THEN
            f.margin := NULL;
        END IF;
    END IF;
    IF f.margin IS NULL AND NOT is_given THEN
        RAISE EXCEPTION 'horizon must be given for feed "%"', feed USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'It has rows of other servers.';
    ELSIF f.margin IS NOT NULL AND is_given THEN
        RAISE EXCEPTION 'horizon cannot be given for feed "%"', feed USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'The feed has a margin, and so the horizon of this server.';
    ELSIF f.position >= horizon THEN
        RAISE EXCEPTION 'feed "%" was read up to "%", which is not before the horizon "%"', feed, f.position, horizon
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Rows that were not read can come before this position.',
                HINT = CASE WHEN is_given THEN 'Ask the server of the rows for its horizon again.' ELSE
                    'Check the clock. Then call sno_seek_feed() with a time before such rows: what was read since then comes again.' END;
    END IF;
END
$$;
COMMENT ON FUNCTION sno_internal.open_feed(text, regtype, integer, sno) IS 'internal: the feed that sno_feed reads, and its horizon';

-- VOLATILE, so that it sees what was committed up to now: the first row that the calling statement, with its snapshot, does not see.
CREATE FUNCTION sno_internal.unseen_key(f sno_internal.feed_positions, last sno, seen sno[], snapshot text) RETURNS sno
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    unseen sno_internal.feed_positions.position%TYPE;
BEGIN
    -- Most often no transaction has ended since.
    IF pg_catalog.pg_current_snapshot()::pg_catalog.text OPERATOR(pg_catalog.=) snapshot THEN
        RETURN NULL;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT %1$I FROM %2$s
         WHERE (%1$I OPERATOR(pg_catalog.>) $1 OR $1 IS NULL) AND %1$I OPERATOR(pg_catalog.<=) $2 AND NOT %1$I OPERATOR(pg_catalog.=) ANY ($3)
         ORDER BY %1$I USING OPERATOR(pg_catalog.<) LIMIT 1', f.key, f.source_name)
        INTO unseen USING f.position, last, coalesce(seen, '{}');
    RETURN unseen;
END
$$;
COMMENT ON FUNCTION sno_internal.unseen_key(sno_internal.feed_positions, sno, sno[], text) IS 'internal: the first row that the calling statement does not see';

-- Moves the feed from where the calling statement sees it, unless it is elsewhere by now. VOLATILE for the same reason.
CREATE FUNCTION sno_internal.move_feed(f sno_internal.feed_positions, last sno, is_idle boolean) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Others may have moved the feed, and are waited for, unless there is only a position to store.
    IF is_idle THEN
        PERFORM FROM sno_internal.own_feeds o WHERE o.feed = f.feed AND o.owner = f.owner FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    -- What was read is locked by now, so its name tells whether it was the source.
    UPDATE sno_internal.own_feeds o SET moved = clock_timestamp(), position = last
    WHERE o.feed = f.feed AND o.owner = f.owner AND o.moved = f.moved AND o.position IS NOT DISTINCT FROM f.position
        AND to_regclass(f.source_name) = f.source;
    IF FOUND THEN
        RETURN true;
    END IF;
    -- A transaction that has ended may have moved the feed after the calling statement began, which then does not see what it did with its
    -- rows either: nothing is returned. If it was this transaction, the statement calls the function again.
    IF NOT is_idle AND sno_internal.moved_by_this_transaction(f) THEN
        RAISE EXCEPTION 'statement cannot read feed "%" again', f.feed USING ERRCODE = 'serialization_failure',
            DETAIL = 'Its transaction has moved the feed since the statement began.', HINT = 'Call sno_feed() in FROM, once for each feed.';
    END IF;
    RETURN false;
END
$$;
COMMENT ON FUNCTION sno_internal.move_feed(sno_internal.feed_positions, sno, boolean) IS 'internal: moves a feed';

-- STABLE, so that its statements see what the calling statement sees: the position, the rows, and with them all that their transactions and
-- earlier consumers wrote. With the caller's search_path, which functions in a view may need, so that all names and operators are qualified.
-- enable_sort = off: a scan of an index in the order of the keys reads only the batch. With bad statistics the planner would read and sort
-- all rows that are left.
CREATE FUNCTION sno_feed(feed text, row_type anyelement, batch_size integer DEFAULT 1000, horizon sno DEFAULT NULL) RETURNS SETOF anyelement
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 1000 SET enable_sort = off SET jit = off
AS $$
DECLARE
    opened pg_catalog.record;
    f sno_internal.feed_positions;
    found pg_catalog.record;
    last sno_internal.feed_positions.position%TYPE;
    unseen sno_internal.feed_positions.position%TYPE;
BEGIN
    SELECT * INTO opened FROM sno_internal.open_feed(feed, pg_catalog.pg_typeof(row_type), batch_size, horizon);
    f := opened.f;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(k) AS seen FROM (
             SELECT %1$I FROM %2$s
             WHERE (%1$I OPERATOR(pg_catalog.>) $1 OR $1 IS NULL) AND %1$I OPERATOR(pg_catalog.<) $2
             ORDER BY %1$I USING OPERATOR(pg_catalog.<) LIMIT $3
         ) rows(k)', f.key, f.source_name)
        INTO found USING f.position, opened.horizon, batch_size;
    -- Without rows there is nothing to write, but for those who watch, and for views that leave out most rows.
    IF found.seen IS NULL AND f.moved OPERATOR(pg_catalog.>=) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) '10 s'::pg_catalog.interval) THEN
        RETURN;
    END IF;
    -- The end of a full batch, or of the IDs below the horizon, where no row comes any more. But before the first row that the calling
    -- statement does not see, since it was committed later: it is left for the next call, with all that follow.
    last := coalesce((found.seen)[batch_size], sno_internal.sno_last(opened.horizon::pg_catalog.timestamptz, true));
    unseen := sno_internal.unseen_key(f, last, found.seen, pg_catalog.pg_current_snapshot()::pg_catalog.text);
    IF unseen IS NOT NULL THEN
        last := (SELECT pg_catalog.max(k) FROM pg_catalog.unnest(found.seen) k WHERE k OPERATOR(pg_catalog.<) unseen);
    END IF;
    IF last IS NULL OR NOT sno_internal.move_feed(f, last, found.seen IS NULL) OR found.seen IS NULL THEN
        RETURN;
    END IF;
    -- With all rows of the last key, of which a view can have several.
    RETURN QUERY EXECUTE pg_catalog.format(
        'SELECT * FROM %2$s
         WHERE (%1$I OPERATOR(pg_catalog.>) $1 OR $1 IS NULL) AND %1$I OPERATOR(pg_catalog.<=) $2
         ORDER BY %1$I USING OPERATOR(pg_catalog.<)', f.key, f.source_name)
        USING f.position, last;
END
$$;
COMMENT ON FUNCTION sno_feed(text, anyelement, integer, sno) IS 'the next rows of a feed, in the order of their IDs: each once, if the transaction commits';
