-- The SQL objects of the extension sno.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sno" to load this file. \quit

--
-- The type, its input and output
--

CREATE TYPE sno;

CREATE FUNCTION sno_in(cstring) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_in(cstring) IS 'I/O';

CREATE FUNCTION sno_out(sno) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_out(sno) IS 'I/O';

CREATE FUNCTION sno_recv(internal) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_recv(internal) IS 'I/O';

CREATE FUNCTION sno_send(sno) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_send(sno) IS 'I/O';

CREATE TYPE sno (
    INPUT = sno_in,
    OUTPUT = sno_out,
    RECEIVE = sno_recv,
    SEND = sno_send,
    INTERNALLENGTH = 10,
    ALIGNMENT = char,
    STORAGE = plain
);
COMMENT ON TYPE sno IS 'unique ID of 10 bytes that sorts by time and carries a byte of the application''s own';

--
-- Comparison
--

CREATE FUNCTION sno_eq(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_eq(sno, sno) IS 'implementation of = operator';

CREATE FUNCTION sno_ne(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_ne(sno, sno) IS 'implementation of <> operator';

CREATE FUNCTION sno_lt(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_lt(sno, sno) IS 'implementation of < operator';

CREATE FUNCTION sno_le(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_le(sno, sno) IS 'implementation of <= operator';

CREATE FUNCTION sno_gt(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_gt(sno, sno) IS 'implementation of > operator';

CREATE FUNCTION sno_ge(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_ge(sno, sno) IS 'implementation of >= operator';

CREATE FUNCTION sno_ineqsel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_ineqsel(internal, oid, internal, integer) IS
    'restriction selectivity of <, <=, > and >= operators on sno';

CREATE OPERATOR = (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (sno, sno) IS 'equal';

CREATE OPERATOR <> (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sno, sno) IS 'not equal';

CREATE OPERATOR < (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = sno_ineqsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (sno, sno) IS 'less than: made earlier, or before it in the same 4 ms';

CREATE OPERATOR <= (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = sno_ineqsel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (sno, sno) IS 'less than or equal';

CREATE OPERATOR > (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = sno_ineqsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (sno, sno) IS 'greater than: made later, or after it in the same 4 ms';

CREATE OPERATOR >= (
    LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = sno_ineqsel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (sno, sno) IS 'greater than or equal';

--
-- Index support
--

CREATE FUNCTION sno_cmp(sno, sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_cmp(sno, sno) IS 'less-equal-greater';

CREATE FUNCTION sno_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_sortsupport(internal) IS 'sort support';

-- Stable, since the length of a day depends on the time zone.
CREATE FUNCTION sno_in_range(sno, sno, interval, boolean, boolean) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_in_range(sno, sno, interval, boolean, boolean) IS 'window RANGE support';

CREATE OPERATOR FAMILY sno_ops USING btree;
COMMENT ON OPERATOR FAMILY sno_ops USING btree IS 'order of sno, which is that of time';

CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING btree FAMILY sno_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 sno_cmp(sno, sno),
    FUNCTION 2 sno_sortsupport(internal),
    FUNCTION 3 (sno, interval) sno_in_range(sno, sno, interval, boolean, boolean),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS sno_ops USING btree IS 'order of sno, which is that of time';

-- Skip scans came with PostgreSQL 18.
DO $do$
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        EXECUTE $sql$
            CREATE FUNCTION sno_skipsupport(internal) RETURNS void
                AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
        $sql$;
        COMMENT ON FUNCTION sno_skipsupport(internal) IS 'skip support';
        ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 6 (sno, sno) sno_skipsupport(internal);
    END IF;
END
$do$;

CREATE FUNCTION sno_hash(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_hash(sno) IS 'hash';

CREATE FUNCTION sno_hash_extended(sno, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_hash_extended(sno, bigint) IS 'hash';

CREATE OPERATOR FAMILY sno_ops USING hash;
COMMENT ON OPERATOR FAMILY sno_ops USING hash IS 'equality of sno';

CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING hash FAMILY sno_ops AS
    OPERATOR 1 =,
    FUNCTION 1 sno_hash(sno),
    FUNCTION 2 sno_hash_extended(sno, bigint);
COMMENT ON OPERATOR CLASS sno_ops USING hash IS 'equality of sno';

-- Small values for ranges of pages. Since IDs come in the order of time, so do those of a table that is only
-- appended to.
CREATE OPERATOR CLASS sno_minmax_ops DEFAULT FOR TYPE sno USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS sno_minmax_ops USING brin IS 'first and last sno of each range of pages';
COMMENT ON OPERATOR FAMILY sno_minmax_ops USING brin IS 'first and last sno of each range of pages';

CREATE FUNCTION sno_brin_distance(sno, sno) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_brin_distance(sno, sno) IS 'BRIN multi minmax distance';

CREATE OPERATOR CLASS sno_minmax_multi_ops FOR TYPE sno USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 sno_brin_distance(sno, sno);
COMMENT ON OPERATOR CLASS sno_minmax_multi_ops USING brin IS 'several spans of sno for each range of pages';
COMMENT ON OPERATOR FAMILY sno_minmax_multi_ops USING brin IS 'several spans of sno for each range of pages';

CREATE OPERATOR CLASS sno_bloom_ops FOR TYPE sno USING brin AS
    OPERATOR 1 =,
    FUNCTION 1 brin_bloom_opcinfo(internal),
    FUNCTION 2 brin_bloom_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_bloom_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_bloom_union(internal, internal, internal),
    FUNCTION 5 brin_bloom_options(internal),
    FUNCTION 11 sno_hash(sno);
COMMENT ON OPERATOR CLASS sno_bloom_ops USING brin IS 'Bloom filter of the sno of each range of pages';
COMMENT ON OPERATOR FAMILY sno_bloom_ops USING brin IS 'Bloom filter of the sno of each range of pages';

--
-- Aggregates
--

CREATE FUNCTION sno_larger(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_larger(sno, sno) IS 'larger of two';

CREATE FUNCTION sno_smaller(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_smaller(sno, sno) IS 'smaller of two';

CREATE AGGREGATE max(sno) (
    SFUNC = sno_larger, STYPE = sno, COMBINEFUNC = sno_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(sno) IS 'maximum of all input sno: the latest';

CREATE AGGREGATE min(sno) (
    SFUNC = sno_smaller, STYPE = sno, COMBINEFUNC = sno_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(sno) IS 'minimum of all input sno: the earliest';

--
-- Generation
--

CREATE FUNCTION sno_new(metabyte integer DEFAULT 0) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_new(integer) IS 'new unique ID with this metabyte';

CREATE FUNCTION sno_new(metabyte integer, at timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_new_at' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_new(integer, timestamptz) IS 'new ID of a given time, for rows from elsewhere';

CREATE FUNCTION sno_generators(
        OUT slot integer, OUT partition integer, OUT last_time timestamptz, OUT tick_tock boolean,
        OUT sequence integer, OUT safe_time timestamptz, OUT drifts bigint, OUT overflows bigint,
        OUT waited interval
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_generators() IS 'generators in use since the server started';

CREATE VIEW sno_generators AS
    SELECT slot, partition, last_time, tick_tock, sequence, safe_time, drifts, overflows, waited
    FROM sno_generators();
GRANT SELECT ON sno_generators TO PUBLIC;
COMMENT ON VIEW sno_generators IS 'generators in use since the server started';
COMMENT ON COLUMN sno_generators.slot IS 'place in the server''s table of generators: the low byte of its partitions';
COMMENT ON COLUMN sno_generators.partition IS 'partition that used it last';
COMMENT ON COLUMN sno_generators.last_time IS 'time of its last ID';
COMMENT ON COLUMN sno_generators.tick_tock IS 'timeline of its last ID';
COMMENT ON COLUMN sno_generators.sequence IS 'sequence number of its last ID';
COMMENT ON COLUMN sno_generators.safe_time IS 'it waits while the clock is before this time';
COMMENT ON COLUMN sno_generators.drifts IS 'how often the clock went back and the timeline changed';
COMMENT ON COLUMN sno_generators.overflows IS 'how often all sequence numbers of a tick were taken';
COMMENT ON COLUMN sno_generators.waited IS 'time that backends spent waiting for it, in total';

CREATE FUNCTION sno_generator(
        OUT slot integer, OUT partition integer, OUT prefix integer, OUT prefix_bits integer,
        OUT sequence_lower integer, OUT sequence_upper integer, OUT max_clock_wait interval,
        OUT last_time timestamptz, OUT tick_tock boolean, OUT sequence integer,
        OUT safe_time timestamptz, OUT drifts bigint, OUT overflows bigint, OUT waited interval
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_generator() IS 'generator and settings of this session';

--
-- The parts of an ID
--

CREATE FUNCTION sno_time(sno) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_time(sno) IS 'when the ID was made, to 4 ms';

CREATE FUNCTION sno_tick_tock(sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_tick_tock(sno) IS 'which of the two timelines the ID belongs to';

CREATE FUNCTION sno_metabyte(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_metabyte(sno) IS 'the application''s own byte';

CREATE FUNCTION sno_partition(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_partition(sno) IS 'who made the ID';

CREATE FUNCTION sno_sequence(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_sequence(sno) IS 'number within 4 ms and partition';

CREATE FUNCTION sno_inspect(
        sno, OUT "time" timestamptz, OUT tick_tock boolean, OUT metabyte integer,
        OUT partition integer, OUT sequence integer
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_inspect(sno) IS 'all parts of an ID';

CREATE FUNCTION sno_make(
        at timestamptz, metabyte integer, partition integer, sequence integer,
        tick_tock boolean DEFAULT false
    ) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_make(timestamptz, integer, integer, integer, boolean) IS 'ID of these parts';

CREATE FUNCTION sno_with_metabyte(sno, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_metabyte(sno, integer) IS 'the same ID with another metabyte';

--
-- Bounds for range scans and partitions
--

CREATE FUNCTION sno_lower(timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_lower(timestamptz) IS 'smallest ID not made before';

CREATE FUNCTION sno_upper(timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_upper(timestamptz) IS 'largest ID not made after';

-- A half-open range of time is two conditions that any index can use: the planner replaces these functions by
-- their bodies, or their support functions do the same in less time. There are no other such operators than
-- < and >=, since a time is not an ID: no index knows an order between the two, and only on half-open ranges
-- is the comparison exact.

CREATE FUNCTION sno_before_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_before_support(internal) IS 'planner support for < between sno and timestamptz';

CREATE FUNCTION sno_since_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_since_support(internal) IS 'planner support for >= between sno and timestamptz';

CREATE FUNCTION sno_between_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_between_support(internal) IS 'planner support for sno_between';

CREATE FUNCTION sno_lt_time(sno, timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE SUPPORT sno_before_support
    RETURN $1 < sno_lower($2);
COMMENT ON FUNCTION sno_lt_time(sno, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION sno_ge_time(sno, timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE SUPPORT sno_since_support
    RETURN $1 >= sno_lower($2);
COMMENT ON FUNCTION sno_ge_time(sno, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_sno(timestamptz, sno) RETURNS boolean
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE SUPPORT sno_before_support
    RETURN $2 < sno_lower($1);
COMMENT ON FUNCTION time_gt_sno(timestamptz, sno) IS 'implementation of > operator';

CREATE FUNCTION time_le_sno(timestamptz, sno) RETURNS boolean
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE SUPPORT sno_since_support
    RETURN $2 >= sno_lower($1);
COMMENT ON FUNCTION time_le_sno(timestamptz, sno) IS 'implementation of <= operator';

CREATE OPERATOR < (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_lt_time, COMMUTATOR = >, NEGATOR = >=
);
COMMENT ON OPERATOR < (sno, timestamptz) IS 'made before';

CREATE OPERATOR >= (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_ge_time, COMMUTATOR = <=, NEGATOR = <
);
COMMENT ON OPERATOR >= (sno, timestamptz) IS 'made then or later';

CREATE OPERATOR > (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_gt_sno, COMMUTATOR = <, NEGATOR = <=
);
COMMENT ON OPERATOR > (timestamptz, sno) IS 'after it was made';

CREATE OPERATOR <= (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_le_sno, COMMUTATOR = >=, NEGATOR = >
);
COMMENT ON OPERATOR <= (timestamptz, sno) IS 'not after it was made';

CREATE FUNCTION sno_between(id sno, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE SUPPORT sno_between_support
    RETURN id >= sno_lower(since) AND id < sno_lower(until);
COMMENT ON FUNCTION sno_between(sno, timestamptz, timestamptz) IS 'made since a time, and before another';

--
-- Casts, all explicit
--

CREATE FUNCTION sno_to_bytea(sno) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_bytea(sno) IS 'the ten bytes of an ID';

CREATE FUNCTION sno_from_bytea(bytea) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_bytea(bytea) IS 'the ID of ten bytes';

CREATE FUNCTION sno_to_uuid(sno) RETURNS uuid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuid(sno) IS 'the characters of an ID as the bytes of a uuid';

CREATE FUNCTION sno_from_uuid(uuid) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_uuid(uuid) IS 'the ID whose characters are the bytes of a uuid';

CREATE CAST (sno AS text) WITH INOUT;
COMMENT ON CAST (sno AS text) IS 'the 16 characters';
CREATE CAST (text AS sno) WITH INOUT;
COMMENT ON CAST (text AS sno) IS 'from 16 characters, or \x and 20 hexadecimal digits';
CREATE CAST (sno AS bytea) WITH FUNCTION sno_to_bytea(sno);
COMMENT ON CAST (sno AS bytea) IS 'the ten bytes';
CREATE CAST (bytea AS sno) WITH FUNCTION sno_from_bytea(bytea);
COMMENT ON CAST (bytea AS sno) IS 'from ten bytes';
CREATE CAST (sno AS uuid) WITH FUNCTION sno_to_uuid(sno);
COMMENT ON CAST (sno AS uuid) IS 'the 16 characters as 16 bytes, in the same order';
CREATE CAST (uuid AS sno) WITH FUNCTION sno_from_uuid(uuid);
COMMENT ON CAST (uuid AS sno) IS 'from a uuid that was made from a sno';
CREATE CAST (sno AS timestamptz) WITH FUNCTION sno_time(sno);
COMMENT ON CAST (sno AS timestamptz) IS 'when the ID was made, to 4 ms';
