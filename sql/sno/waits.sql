-- Waits are procedures, which end the transaction while they wait. These cannot be STRICT: nulls are zeros.
CREATE PROCEDURE sno_internal.wait_ids(margin bigint, until timestamptz, is_new boolean, INOUT reach sno)
    AS 'MODULE_PATHNAME', 'sno_wait_ids' LANGUAGE C;
COMMENT ON PROCEDURE sno_internal.wait_ids(bigint, timestamptz, boolean, sno) IS 'internal: wait until rows may be there, and below which ID';

CREATE PROCEDURE sno_internal.wait_millis(integer) AS 'MODULE_PATHNAME', 'sno_wait_millis' LANGUAGE C;
COMMENT ON PROCEDURE sno_internal.wait_millis(integer) IS 'internal: wait for so many milliseconds';

CREATE FUNCTION sno_internal.has_row(query text, after sno, before sno) RETURNS boolean
    AS 'MODULE_PATHNAME', 'sno_has_row' LANGUAGE C STABLE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.has_row(text, sno, sno) IS 'internal: whether a query with two IDs returns a row; its plan is kept';

-- Whether the feed has a row below an ID, and its margin in microseconds. Planned as the statements of sno_feed().
CREATE FUNCTION sno_internal.look_at_feed(feed text, reach sno, OUT ready boolean, OUT margin bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET enable_sort = off SET jit = off
AS $$
DECLARE
    f sno_internal.feed_positions := sno_internal.find_feed(feed);
BEGIN
    IF f.margin IS NULL THEN
        RAISE EXCEPTION 'cannot wait for feed "%", whose horizons are given', feed USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'It has rows of other servers.', HINT = 'Ask these servers for horizons, and call sno_feed() with them.';
    END IF;
    f.source := coalesce(f.source, pg_catalog.to_regclass(f.source_name));
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) f.source) THEN
        RAISE EXCEPTION 'source of feed "%" does not exist', feed USING ERRCODE = 'undefined_table',
            HINT = 'Restore it, or use sno_drop_feed() and sno_create_feed().';
    END IF;
    f.source_name := f.source::pg_catalog.text;
    margin := pg_catalog.extract('epoch', f.margin) OPERATOR(pg_catalog.*) 1000000;
    ready := coalesce(sno_internal.has_row(
        pg_catalog.format(
            'SELECT FROM %1$s WHERE %2$I OPERATOR(pg_catalog.%3$s) $1 AND %2$I OPERATOR(pg_catalog.<) $2
             ORDER BY %2$I USING OPERATOR(pg_catalog.<) LIMIT 1',
            f.source_name, f.key, CASE WHEN f.position IS NULL THEN '>=' ELSE '>' END),
        coalesce(f.position, '2222222222222222'), reach), false);
END
$$;
COMMENT ON FUNCTION sno_internal.look_at_feed(text, sno) IS 'internal: whether a feed has a row below an ID';

CREATE PROCEDURE sno_wait_feed(feed text, timeout interval DEFAULT '30 s', INOUT ready boolean DEFAULT NULL)
    LANGUAGE plpgsql
AS $$
DECLARE
    until pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) timeout;
    margin pg_catalog.int8;
    reach sno_internal.feed_positions.position%TYPE;
    is_new pg_catalog.bool := true;
BEGIN
    IF until IS NULL THEN
        RAISE EXCEPTION 'timeout must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    LOOP
        SELECT l.ready, l.margin INTO ready, margin FROM sno_internal.look_at_feed(feed, reach) l;
        EXIT WHEN ready;
        CALL sno_internal.wait_ids(margin, until, is_new, reach);
        EXIT WHEN reach IS NULL;
        is_new := false;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE sno_wait_feed(text, interval, boolean) IS 'wait until a feed probably has a row to read, or for a time';

CREATE PROCEDURE sno_wait_read(feed text, id sno, timeout interval DEFAULT '30 s', INOUT read boolean DEFAULT NULL)
    LANGUAGE plpgsql
AS $$
DECLARE
    until pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) timeout;
    step pg_catalog.int4 := 1;
    f sno_internal.feed_positions;
BEGIN
    IF id IS NULL OR until IS NULL THEN
        RAISE EXCEPTION 'ID and timeout must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    LOOP
        f := sno_internal.find_feed(feed);
        read := coalesce(f.position OPERATOR(pg_catalog.>=) id, false);
        EXIT WHEN read OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) until;
        CALL sno_internal.wait_millis(step);
        step := least(step OPERATOR(pg_catalog.*) 2, 50);
    END LOOP;
END
$$;
COMMENT ON PROCEDURE sno_wait_read(text, sno, interval, boolean) IS 'wait until a feed has read an ID, or for a time';
