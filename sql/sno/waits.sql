-- Waits are procedures, which end the transaction while they wait.
CREATE PROCEDURE sno_wait_feed(feed text, timeout interval DEFAULT '30 s', INOUT ready boolean DEFAULT NULL,
    source regclass DEFAULT NULL)
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE sno_wait_feed(text, interval, boolean, regclass)
    IS 'wait until a feed probably has a row to read, or for a time';

CREATE PROCEDURE sno_wait_read(feed text, id sno, timeout interval DEFAULT '30 s', INOUT read boolean DEFAULT NULL,
    source regclass DEFAULT NULL)
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE sno_wait_read(text, sno, interval, boolean, regclass)
    IS 'wait until a feed has read an ID, or for a time';
