--
-- Bounds for range scans and partitions
--

CREATE FUNCTION sno_lower(timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_lower(timestamptz) IS 'smallest ID at or after a time';
CREATE FUNCTION sno_upper(timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_upper(timestamptz) IS 'largest ID at or before a time';

-- The bounds of sno_time(id) < t and the like, for which the planner compares the ID itself: null where no ID has such
-- a time.

CREATE FUNCTION sno_first(timestamptz, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_first(timestamptz, boolean) IS 'first ID at or after a time; if exclusive, after it';

CREATE FUNCTION sno_first(timestamp, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_first_timestamp' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_first(timestamp, boolean) IS 'first ID at or after a time; if exclusive, after it';

CREATE FUNCTION sno_first(date, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_first_date' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_first(date, boolean) IS 'first ID at or after a time; if exclusive, after it';
CREATE FUNCTION sno_last(timestamptz, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_last(timestamptz, boolean) IS 'last ID at or before a time; if exclusive, before it';

CREATE FUNCTION sno_last(timestamp, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_last_timestamp' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_last(timestamp, boolean) IS 'last ID at or before a time; if exclusive, before it';
CREATE FUNCTION sno_last(date, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_last_date' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_last(date, boolean) IS 'last ID at or before a time; if exclusive, before it';

-- Comparisons with a time, which the planner's support function replaces by comparisons with an ID, so that any index
-- can be used. The operators are in no operator family, since no index knows an order between an ID and a time. There
-- is no = with a time: that would be a range of IDs, too.

CREATE FUNCTION sno_internal.sno_time_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_time_support(internal) IS 'internal: planner support for comparisons with a time';

CREATE FUNCTION sno_internal.sno_lt_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.sno_lt_time(sno, timestamptz) IS 'internal: implementation of < operator';

CREATE FUNCTION sno_internal.sno_ge_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.sno_ge_time(sno, timestamptz) IS 'internal: implementation of >= operator';

CREATE FUNCTION sno_internal.time_gt_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.time_gt_sno(timestamptz, sno) IS 'internal: implementation of > operator';

CREATE FUNCTION sno_internal.time_le_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.time_le_sno(timestamptz, sno) IS 'internal: implementation of <= operator';

CREATE FUNCTION sno_internal.sno_le_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.sno_le_time(sno, timestamptz) IS 'internal: implementation of <= operator';

CREATE FUNCTION sno_internal.sno_gt_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.sno_gt_time(sno, timestamptz) IS 'internal: implementation of > operator';

CREATE FUNCTION sno_internal.time_ge_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.time_ge_sno(timestamptz, sno) IS 'internal: implementation of >= operator';

CREATE FUNCTION sno_internal.time_lt_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support;
COMMENT ON FUNCTION sno_internal.time_lt_sno(timestamptz, sno) IS 'internal: implementation of < operator';

CREATE OPERATOR pg_catalog.< (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_internal.sno_lt_time,
    COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=));
COMMENT ON OPERATOR pg_catalog.< (sno, timestamptz) IS 'generated before';
CREATE OPERATOR pg_catalog.>= (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_internal.sno_ge_time,
    COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<));
COMMENT ON OPERATOR pg_catalog.>= (sno, timestamptz) IS 'generated then or later';
CREATE OPERATOR pg_catalog.> (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = sno_internal.time_gt_sno,
    COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=));
COMMENT ON OPERATOR pg_catalog.> (timestamptz, sno) IS 'after it was generated';
CREATE OPERATOR pg_catalog.<= (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = sno_internal.time_le_sno,
    COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>));
COMMENT ON OPERATOR pg_catalog.<= (timestamptz, sno) IS 'not after it was generated';
CREATE OPERATOR pg_catalog.<= (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_internal.sno_le_time,
    COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>));
COMMENT ON OPERATOR pg_catalog.<= (sno, timestamptz) IS 'generated then or earlier';
CREATE OPERATOR pg_catalog.> (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_internal.sno_gt_time,
    COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=));
COMMENT ON OPERATOR pg_catalog.> (sno, timestamptz) IS 'generated after';
CREATE OPERATOR pg_catalog.>= (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = sno_internal.time_ge_sno,
    COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<));
COMMENT ON OPERATOR pg_catalog.>= (timestamptz, sno) IS 'not before it was generated';
CREATE OPERATOR pg_catalog.< (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = sno_internal.time_lt_sno,
    COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=));
COMMENT ON OPERATOR pg_catalog.< (timestamptz, sno) IS 'before it was generated';

CREATE FUNCTION sno_between(id sno, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT sno_internal.sno_time_support
    RETURN id >= sno_lower(since) AND id < sno_lower(until);
COMMENT ON FUNCTION sno_between(sno, timestamptz, timestamptz)
    IS 'whether an ID is at or after a time and before another';
