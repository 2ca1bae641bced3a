--
-- Monitoring
--

CREATE FUNCTION sno_generators(
        OUT generator integer, OUT partition integer, OUT last_time timestamptz, OUT tick_tock boolean,
        OUT sequence integer, OUT safe_time timestamptz, OUT drifts bigint, OUT overflows bigint,
        OUT waited interval
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION sno_generators() IS 'generators in use since the server started';

CREATE FUNCTION sno_generator(
        OUT generator integer, OUT partition integer, OUT prefix integer, OUT prefix_bits integer,
        OUT prefix_auto boolean, OUT sequence_lower integer, OUT sequence_upper integer, OUT max_clock_wait interval
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_generator() IS 'generator and settings of this session';
