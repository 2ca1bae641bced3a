--
-- Monitoring
--

CREATE FUNCTION sno_internal.sno_generators(
        OUT generator integer, OUT partition integer, OUT last_time timestamptz, OUT tick_tock boolean,
        OUT sequence integer, OUT safe_time timestamptz, OUT drifts bigint, OUT overflows bigint,
        OUT waited interval
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION sno_internal.sno_generators() IS 'internal: generators in use since the server started';

CREATE VIEW sno_generators AS
    SELECT generator, partition, last_time, tick_tock, sequence, safe_time, drifts, overflows, waited
    FROM sno_internal.sno_generators();
GRANT SELECT ON sno_generators TO PUBLIC;
COMMENT ON VIEW sno_generators IS 'generators in use since the server started';
COMMENT ON COLUMN sno_generators.generator IS 'number of the generator: the low byte of its partitions';
COMMENT ON COLUMN sno_generators.partition IS 'partition of its last ID';
COMMENT ON COLUMN sno_generators.last_time IS 'time of its last ID';
COMMENT ON COLUMN sno_generators.tick_tock IS 'tick-tock bit of its last ID';
COMMENT ON COLUMN sno_generators.sequence IS 'sequence number of its last ID';
COMMENT ON COLUMN sno_generators.safe_time IS 'generation waits while the clock is before this time';
COMMENT ON COLUMN sno_generators.drifts IS 'how often it changed the tick-tock bit, since the clock was behind its last ID';
COMMENT ON COLUMN sno_generators.overflows IS 'how often a caller found all sequence numbers of a tick of 4 ms taken';
COMMENT ON COLUMN sno_generators.waited IS 'time that backends spent waiting for it, in total';

CREATE FUNCTION sno_generator(
        OUT generator integer, OUT partition integer, OUT prefix integer, OUT prefix_bits integer,
        OUT prefix_auto boolean, OUT sequence_lower integer, OUT sequence_upper integer, OUT max_clock_wait interval
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_generator() IS 'generator and settings of this session';
