--
-- Reading: src/sno/feed/mod.rs says what each step sees, locks and stores
--

-- STABLE, so that it sees what the calling statement sees: the position, the rows, and with them all that their transactions and earlier consumers
-- wrote. With the caller's search_path, which functions in a view may need.
CREATE FUNCTION sno_feed(feed text, row_type anyelement, batch_size integer DEFAULT 1000, horizon sno DEFAULT NULL) RETURNS SETOF anyelement
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 1000;
COMMENT ON FUNCTION sno_feed(text, anyelement, integer, sno) IS 'the next rows of a feed, in the order of their IDs: each once, if the transaction commits';
