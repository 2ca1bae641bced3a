--
-- The parts of an ID
--

CREATE FUNCTION sno_tick_tock(sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_tick_tock(sno) IS 'the bit of the ID that changes when the clock steps back';
CREATE FUNCTION sno_metabyte(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_metabyte(sno) IS 'the byte of the application';
CREATE FUNCTION sno_partition(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_partition(sno) IS 'partition: the server and the generator of the ID';
CREATE FUNCTION sno_sequence(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_sequence(sno) IS 'number of the ID within its tick of 4 ms and its partition';

CREATE FUNCTION sno_inspect(
        sno, OUT "time" timestamptz, OUT tick_tock boolean, OUT metabyte integer,
        OUT partition integer, OUT sequence integer
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_inspect(sno) IS 'all fields of an ID';

CREATE FUNCTION sno_make(
        at timestamptz, metabyte integer, partition integer, sequence integer,
        tick_tock boolean DEFAULT false
    ) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_make(timestamptz, integer, integer, integer, boolean)
    IS 'ID of a time, a metabyte of 0 to 255, a partition and a sequence number of 0 to 65535';
CREATE FUNCTION sno_with_metabyte(sno, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_metabyte(sno, integer) IS 'the same ID with another metabyte';
