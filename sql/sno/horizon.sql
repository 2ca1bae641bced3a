--
-- The horizon
--

CREATE FUNCTION sno_internal.sno_horizon_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_horizon_support(internal)
    IS 'internal: refuses a position in a condition on a table';
CREATE FUNCTION sno_horizon(margin interval DEFAULT '0.1 s') RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED SUPPORT sno_internal.sno_horizon_support;
COMMENT ON FUNCTION sno_horizon(interval) IS 'below this ID no row is missing and none will come';
CREATE FUNCTION sno_holds_horizon(sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_holds_horizon(sno) IS 'no sno_horizon() passes this ID before this transaction ends';

-- For superusers, since this concerns all databases.
CREATE FUNCTION sno_internal.sno_lower_horizons(OUT number bigint, OUT safe timestamptz)
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_lower_horizons() IS 'internal: lower the horizons of all databases to the clock';
REVOKE EXECUTE ON FUNCTION sno_internal.sno_lower_horizons() FROM PUBLIC;
CREATE FUNCTION sno_internal.sno_goes_on_after(sno, lowering bigint) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_goes_on_after(sno, bigint)
    IS 'internal: after which ID a feed goes on, which may have been read by a fast clock';

CREATE FUNCTION sno_internal.sno_give_horizon() RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_give_horizon()
    IS 'internal: has no ID generated below the horizon any more, if it can; the number of the last lowering before';

CREATE FUNCTION sno_internal.sno_horizon_holders(OUT pid integer, OUT transaction xid, OUT since timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION sno_internal.sno_horizon_holders() IS 'internal: open transactions that have IDs';
CREATE FUNCTION sno_horizon_holders(OUT pid integer, OUT gid text, OUT since timestamptz) RETURNS SETOF record
    LANGUAGE SQL VOLATILE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT h.pid, p.gid, h.since FROM sno_internal.sno_horizon_holders() h LEFT
        JOIN pg_prepared_xacts p ON p.transaction = h.transaction;
END;
COMMENT ON FUNCTION sno_horizon_holders() IS 'open transactions that have IDs: sno_horizon() is before them';

-- After a fast clock was corrected: lowers the horizons to the clock, so that IDs are generated again, below horizons
-- that readers were given. So feeds that were read up to the future go back to where such IDs begin, and return their
-- rows of the future again. Feeds of this database go back now, so that standbys have their positions; those of other
-- databases at their next call.
CREATE FUNCTION sno_lower_horizon(OUT feed text, OUT owner name, OUT read_up_to sno, OUT goes_on_after sno)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    present record;
    f record;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'cannot lower horizons in a transaction with isolation level %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED.';
    END IF;
    SELECT * INTO present FROM sno_internal.sno_lower_horizons();
    FOR f IN SELECT * FROM sno_internal.feed_positions p ORDER BY p.owner, p.feed FOR UPDATE LOOP
        feed := f.feed;
        owner := f.owner;
        read_up_to := f.position;
        goes_on_after := sno_internal.sno_goes_on_after(f.position, f.lowering);
        IF f.lowering < present.number THEN
            -- Also a feed that stays where it is: a statement that reads it up to an earlier horizon has to notice.
            UPDATE sno_internal.feed_positions p SET moved = clock_timestamp(), position = goes_on_after,
                lowering = present.number
            WHERE p.feed = f.feed AND p.owner = f.owner;
            IF goes_on_after < read_up_to THEN
                RAISE WARNING 'feed "%" of role "%" goes back from "%" to "%"', feed, owner, read_up_to, goes_on_after
                    USING DETAIL = 'Its rows between these IDs come again when the clock reaches them.',
                        HINT = 'By then, have its consumer ignore the rows that it has. Programs that have stored a '
                            'horizon go back, too.';
                RETURN NEXT;
            END IF;
        ELSIF read_up_to > sno_internal.sno_last(clock_timestamp(), true) THEN
            RAISE WARNING 'feed "%" of role "%" was read up to "%", which is ahead of the clock', feed, owner,
                read_up_to
                USING DETAIL = 'Since when rows before this position can have been generated is not known.',
                    HINT = 'If the clock is right, call sno_seek_feed() with a time before such rows.';
        END IF;
    END LOOP;
    IF present.safe > clock_timestamp() THEN
        RAISE WARNING 'generation waits until %', present.safe USING
            DETAIL = 'Both tick-tock sides have IDs of the future.',
            HINT = 'Wait. Another server number alone does not help, since the marks hold for all numbers.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_lower_horizon() IS
    'after a fast clock was corrected: generate IDs again, in all databases; returns the feeds of this one that were '
    'read up to the future';
REVOKE EXECUTE ON FUNCTION sno_lower_horizon() FROM PUBLIC;
