--
-- Reading: src/sno/feed/mod.rs says what each step sees, locks and writes
--

-- STABLE, so that it sees what the calling statement sees: the position, the rows, and with them all that their
-- transactions and earlier consumers wrote. With the caller's search_path, which functions in expressions of indexes
-- may need.
CREATE FUNCTION sno_feed(feed text, row_type anyelement, batch_size integer DEFAULT 1000)
    RETURNS SETOF anyelement
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 1000;
COMMENT ON FUNCTION sno_feed(text, anyelement, integer)
    IS 'the next rows of a feed, in the order of their IDs: each once, if the transaction commits';

-- Returns the same rows, and leaves the feed where it is.
CREATE FUNCTION sno_peek_feed(feed text, row_type anyelement, batch_size integer DEFAULT 1000)
    RETURNS SETOF anyelement
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 1000;
COMMENT ON FUNCTION sno_peek_feed(text, anyelement, integer) IS
    'the next rows of a feed, in the order of their IDs, until sno_advance_feed() says that they are done';
CREATE FUNCTION sno_advance_feed(feed text, upto sno, source regclass DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_advance_feed(text, sno, regclass)
    IS 'the rows of a feed up to an ID are done; whether they were not yet';
CREATE FUNCTION sno_fail_feed(
        feed text, id sno, error text DEFAULT NULL, upto sno DEFAULT NULL, pause interval DEFAULT NULL,
            source regclass DEFAULT NULL
    ) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_fail_feed(text, sno, text, sno, interval, regclass) IS
    'a row of a feed has failed, or one from there up to another: sno_peek_feed() returns the rows before, later it '
    'alone; how often it has failed';
