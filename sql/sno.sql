-- The SQL objects of the extension sno.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sno" to load this file. \quit

-- What every type has. dev/install makes the types of sno_compat of this part, too, with their names in place of this one.

--
-- The type, its input and output
--

CREATE TYPE sno;

CREATE FUNCTION sno_in(cstring) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_in(cstring) IS 'internal: I/O';
CREATE FUNCTION sno_out(sno) RETURNS cstring AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_out(sno) IS 'internal: I/O';
CREATE FUNCTION sno_recv(internal) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_recv(internal) IS 'internal: I/O';
CREATE FUNCTION sno_send(sno) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_send(sno) IS 'internal: I/O';

CREATE TYPE sno (
    INPUT = sno_in,
    OUTPUT = sno_out,
    RECEIVE = sno_recv,
    SEND = sno_send,
    INTERNALLENGTH = 10,
    ALIGNMENT = char,
    STORAGE = plain
);

--
-- Comparison
--

CREATE FUNCTION sno_eq(sno, sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_eq(sno, sno) IS 'internal: implementation of = operator';
CREATE FUNCTION sno_ne(sno, sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_ne(sno, sno) IS 'internal: implementation of <> operator';
CREATE FUNCTION sno_lt(sno, sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_lt(sno, sno) IS 'internal: implementation of < operator';
CREATE FUNCTION sno_le(sno, sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_le(sno, sno) IS 'internal: implementation of <= operator';
CREATE FUNCTION sno_gt(sno, sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_gt(sno, sno) IS 'internal: implementation of > operator';
CREATE FUNCTION sno_ge(sno, sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_ge(sno, sno) IS 'internal: implementation of >= operator';

CREATE OPERATOR pg_catalog.= (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_eq,
    COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (sno, sno) IS 'equal';
CREATE OPERATOR pg_catalog.<> (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_ne,
    COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=), RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR pg_catalog.<> (sno, sno) IS 'not equal';
CREATE OPERATOR pg_catalog.< (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_lt,
    COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=), RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR pg_catalog.< (sno, sno) IS 'less than';
CREATE OPERATOR pg_catalog.<= (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_le,
    COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>), RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR pg_catalog.<= (sno, sno) IS 'less than or equal';
CREATE OPERATOR pg_catalog.> (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_gt,
    COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=), RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR pg_catalog.> (sno, sno) IS 'greater than';
CREATE OPERATOR pg_catalog.>= (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_ge,
    COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<), RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR pg_catalog.>= (sno, sno) IS 'greater than or equal';

--
-- Index support
--

CREATE FUNCTION sno_cmp(sno, sno) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_cmp(sno, sno) IS 'internal: less-equal-greater';
CREATE FUNCTION sno_sortsupport(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_sortsupport(internal) IS 'internal: sort support';

CREATE OPERATOR FAMILY sno_ops USING btree;

CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING btree FAMILY sno_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 sno_cmp(sno, sno),
    FUNCTION 2 sno_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);

CREATE FUNCTION sno_hash(sno) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_hash(sno) IS 'internal: hash';
CREATE FUNCTION sno_hash_extended(sno, bigint) RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_hash_extended(sno, bigint) IS 'internal: hash';

CREATE OPERATOR FAMILY sno_ops USING hash;
COMMENT ON OPERATOR FAMILY sno_ops USING hash IS 'equality of sno';
CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING hash FAMILY sno_ops AS
    OPERATOR 1 =,
    FUNCTION 1 sno_hash(sno),
    FUNCTION 2 sno_hash_extended(sno, bigint);
COMMENT ON OPERATOR CLASS sno_ops USING hash IS 'equality of sno';
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

CREATE FUNCTION sno_larger(sno, sno) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_larger(sno, sno) IS 'internal: larger of two';
CREATE FUNCTION sno_smaller(sno, sno) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_smaller(sno, sno) IS 'internal: smaller of two';

CREATE AGGREGATE pg_catalog.max(sno) (
    SFUNC = sno_larger, STYPE = sno, COMBINEFUNC = sno_larger, SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.max(sno) IS 'maximum of all input sno';

CREATE AGGREGATE pg_catalog.min(sno) (
    SFUNC = sno_smaller, STYPE = sno, COMBINEFUNC = sno_smaller, SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.min(sno) IS 'minimum of all input sno';

--
-- Time and bytes; those to and from text are PostgreSQL's own for every type: explicit, and assignments to text
--

CREATE FUNCTION sno_time(sno) RETURNS timestamptz AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_time(sno) IS 'when the ID was generated, to 4 ms';
CREATE FUNCTION sno_to_bytea(sno) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_bytea(sno) IS 'internal: the bytes of a sno, most significant first';
CREATE FUNCTION sno_from_bytea(bytea) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_bytea(bytea) IS 'internal: the sno of these bytes';

CREATE CAST (sno AS timestamptz) WITH FUNCTION sno_time(sno);
COMMENT ON CAST (sno AS timestamptz) IS 'when the ID was generated, to 4 ms';
CREATE CAST (sno AS bytea) WITH FUNCTION sno_to_bytea(sno);
COMMENT ON CAST (sno AS bytea) IS 'the bytes, most significant first';
CREATE CAST (bytea AS sno) WITH FUNCTION sno_from_bytea(bytea);
COMMENT ON CAST (bytea AS sno) IS 'from these bytes';

--
-- What only sno has
--

COMMENT ON TYPE sno IS 'unique ID of 10 bytes that sorts by time and has one byte for the application';
COMMENT ON OPERATOR FAMILY sno_ops USING btree IS 'by time, then by the other fields';
COMMENT ON OPERATOR CLASS sno_ops USING btree IS 'by time, then by the other fields';

CREATE FUNCTION sno_ineqsel(internal, oid, internal, integer) RETURNS double precision AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_ineqsel(internal, oid, internal, integer) IS
    'internal: restriction selectivity of <, <=, > and >= operators on sno';

CREATE FUNCTION sno_ineqjoinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_ineqjoinsel(internal, oid, internal, smallint, internal) IS
    'internal: join selectivity of <, <=, > and >= operators on sno';

ALTER OPERATOR pg_catalog.< (sno, sno) SET (RESTRICT = sno_ineqsel, JOIN = sno_ineqjoinsel);
ALTER OPERATOR pg_catalog.<= (sno, sno) SET (RESTRICT = sno_ineqsel, JOIN = sno_ineqjoinsel);
ALTER OPERATOR pg_catalog.> (sno, sno) SET (RESTRICT = sno_ineqsel, JOIN = sno_ineqjoinsel);
ALTER OPERATOR pg_catalog.>= (sno, sno) SET (RESTRICT = sno_ineqsel, JOIN = sno_ineqjoinsel);

-- Stable, since the length of a day depends on the time zone.
CREATE FUNCTION sno_in_range(sno, sno, interval, boolean, boolean) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_in_range(sno, sno, interval, boolean, boolean) IS 'internal: window RANGE support';
ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 3 (sno, interval) sno_in_range(sno, sno, interval, boolean, boolean);

-- Skip scans came with PostgreSQL 18.
DO $do$
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        EXECUTE $sql$
            CREATE FUNCTION sno_skipsupport(internal) RETURNS void
                AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
        $sql$;
        COMMENT ON FUNCTION sno_skipsupport(internal) IS 'internal: skip support';
        ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 6 (sno, sno) sno_skipsupport(internal);
    END IF;
END
$do$;

CREATE FUNCTION sno_brin_distance(sno, sno) RETURNS double precision AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_brin_distance(sno, sno) IS 'internal: BRIN multi minmax distance';

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

--
-- Generation
--

CREATE FUNCTION sno_new(metabyte integer DEFAULT 0) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_new(integer) IS 'new unique ID with this metabyte';
CREATE FUNCTION sno_new(metabyte integer, at timestamptz) RETURNS sno AS 'MODULE_PATHNAME', 'sno_new_at' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_new(integer, timestamptz) IS 'new ID of a given time, for rows from elsewhere';

--
-- The horizon
--

CREATE FUNCTION sno_horizon(margin interval DEFAULT '1 s') RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_horizon(interval) IS 'below this ID no row is missing and none will come';
CREATE FUNCTION sno_holds_horizon(sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_holds_horizon(sno) IS 'no sno_horizon() passes this ID before this transaction ends';

CREATE FUNCTION sno_horizon_holders(OUT pid integer, OUT transaction xid, OUT since timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION sno_horizon_holders() IS 'internal: open transactions that have IDs';

CREATE VIEW sno_horizon_holders AS
    SELECT pid, gid, since FROM sno_horizon_holders() LEFT JOIN pg_prepared_xacts USING (transaction);
GRANT SELECT ON sno_horizon_holders TO PUBLIC;
COMMENT ON VIEW sno_horizon_holders IS 'open transactions that have IDs: sno_horizon() is before them';
COMMENT ON COLUMN sno_horizon_holders.pid IS 'process of the transaction; null if it is prepared';
COMMENT ON COLUMN sno_horizon_holders.gid IS 'identifier of the prepared transaction';
COMMENT ON COLUMN sno_horizon_holders.since IS 'time of its first ID, or the time that it waits for';

--
-- Monitoring
--

CREATE FUNCTION sno_generators(
        OUT generator integer, OUT partition integer, OUT last_time timestamptz, OUT tick_tock boolean,
        OUT sequence integer, OUT safe_time timestamptz, OUT drifts bigint, OUT overflows bigint,
        OUT waited interval
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION sno_generators() IS 'internal: generators in use since the server started';

CREATE VIEW sno_generators AS
    SELECT generator, partition, last_time, tick_tock, sequence, safe_time, drifts, overflows, waited
    FROM sno_generators();
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

--
-- The parts of an ID
--

CREATE FUNCTION sno_time_support(internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_time_support(internal) IS 'internal: planner support for the times of sno';
ALTER FUNCTION sno_time(sno) SUPPORT sno_time_support;

CREATE FUNCTION sno_tick_tock(sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_tick_tock(sno) IS 'the bit of the ID that changes when the clock steps back';
CREATE FUNCTION sno_metabyte(sno) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_metabyte(sno) IS 'the byte of the application';
CREATE FUNCTION sno_partition(sno) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_partition(sno) IS 'partition: the server and the generator of the ID';
CREATE FUNCTION sno_sequence(sno) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
COMMENT ON FUNCTION sno_make(timestamptz, integer, integer, integer, boolean) IS 'ID of a time, a metabyte of 0 to 255, a partition and a sequence number of 0 to 65535';
CREATE FUNCTION sno_with_metabyte(sno, metabyte integer) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_metabyte(sno, integer) IS 'the same ID with another metabyte';

--
-- Masked IDs, for those who are not to see the time
--

-- A cost of 20, since a call takes as long as some twenty operators: so the planner masks after a sort and a LIMIT.

CREATE FUNCTION sno_mask(id sno, key bytea, context text DEFAULT '') RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sno_mask(sno, bytea, text) IS 'the ID encrypted with a key of 16, 24 or 32 bytes, as 16 characters of the same alphabet';

CREATE FUNCTION sno_unmask(masked text, key bytea, context text DEFAULT '') RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sno_unmask(text, bytea, text) IS 'the ID that sno_mask has encrypted with the same key and context';

--
-- Bounds for range scans and partitions
--

CREATE FUNCTION sno_lower(timestamptz) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_lower(timestamptz) IS 'smallest ID at or after a time';
CREATE FUNCTION sno_upper(timestamptz) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_upper(timestamptz) IS 'largest ID at or before a time';

-- The bounds of sno_time(id) < t and the like, for which the planner compares the ID itself: null where no ID has such a time.

CREATE FUNCTION sno_first(timestamptz, exclusive boolean) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_first(timestamptz, boolean) IS 'first ID at or after a time; if exclusive, after it';

CREATE FUNCTION sno_first(timestamp, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_first_timestamp' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_first(timestamp, boolean) IS 'first ID at or after a time; if exclusive, after it';

CREATE FUNCTION sno_first(date, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_first_date' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_first(date, boolean) IS 'first ID at or after a time; if exclusive, after it';
CREATE FUNCTION sno_last(timestamptz, exclusive boolean) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_last(timestamptz, boolean) IS 'last ID at or before a time; if exclusive, before it';

CREATE FUNCTION sno_last(timestamp, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_last_timestamp' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_last(timestamp, boolean) IS 'last ID at or before a time; if exclusive, before it';
CREATE FUNCTION sno_last(date, exclusive boolean) RETURNS sno AS 'MODULE_PATHNAME', 'sno_last_date' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_last(date, boolean) IS 'last ID at or before a time; if exclusive, before it';

-- Comparisons with a time, which the planner's support function replaces by comparisons with an ID, so that any index can
-- be used. The operators are in no operator family, since no index knows an order between an ID and a time. There is no =
-- with a time: that would be a range of IDs, too.

CREATE FUNCTION sno_lt_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_lt_time(sno, timestamptz) IS 'internal: implementation of < operator';

CREATE FUNCTION sno_ge_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_ge_time(sno, timestamptz) IS 'internal: implementation of >= operator';

CREATE FUNCTION time_gt_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_gt_sno(timestamptz, sno) IS 'internal: implementation of > operator';

CREATE FUNCTION time_le_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_le_sno(timestamptz, sno) IS 'internal: implementation of <= operator';

CREATE FUNCTION sno_le_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_le_time(sno, timestamptz) IS 'internal: implementation of <= operator';

CREATE FUNCTION sno_gt_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_gt_time(sno, timestamptz) IS 'internal: implementation of > operator';

CREATE FUNCTION time_ge_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_ge_sno(timestamptz, sno) IS 'internal: implementation of >= operator';

CREATE FUNCTION time_lt_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_lt_sno(timestamptz, sno) IS 'internal: implementation of < operator';

CREATE OPERATOR pg_catalog.< (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_lt_time,
    COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=));
COMMENT ON OPERATOR pg_catalog.< (sno, timestamptz) IS 'generated before';
CREATE OPERATOR pg_catalog.>= (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_ge_time,
    COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<));
COMMENT ON OPERATOR pg_catalog.>= (sno, timestamptz) IS 'generated then or later';
CREATE OPERATOR pg_catalog.> (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_gt_sno,
    COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=));
COMMENT ON OPERATOR pg_catalog.> (timestamptz, sno) IS 'after it was generated';
CREATE OPERATOR pg_catalog.<= (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_le_sno,
    COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>));
COMMENT ON OPERATOR pg_catalog.<= (timestamptz, sno) IS 'not after it was generated';
CREATE OPERATOR pg_catalog.<= (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_le_time,
    COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>));
COMMENT ON OPERATOR pg_catalog.<= (sno, timestamptz) IS 'generated then or earlier';
CREATE OPERATOR pg_catalog.> (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_gt_time,
    COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=));
COMMENT ON OPERATOR pg_catalog.> (sno, timestamptz) IS 'generated after';
CREATE OPERATOR pg_catalog.>= (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_ge_sno,
    COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<));
COMMENT ON OPERATOR pg_catalog.>= (timestamptz, sno) IS 'not before it was generated';
CREATE OPERATOR pg_catalog.< (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_lt_sno,
    COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=));
COMMENT ON OPERATOR pg_catalog.< (timestamptz, sno) IS 'before it was generated';

CREATE FUNCTION sno_between(id sno, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support
    RETURN id >= sno_lower(since) AND id < sno_lower(until);
COMMENT ON FUNCTION sno_between(sno, timestamptz, timestamptz) IS 'whether an ID is at or after a time and before another';

--
-- Partitions by time
--

-- The functions in plpgsql see only pg_catalog, so that nobody can slip in a function of the same name. What they need of the
-- extension, they name with its schema.

CREATE FUNCTION sno_partition_bounds(parent regclass, OUT partition regclass, OUT lower sno, OUT upper sno) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT c.oid::regclass, b.parts[1]::sno, b.parts[2]::sno
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] AND a.atttypid = 'sno'::regtype::oid
    JOIN pg_inherits i ON i.inhparent = p.partrelid
    JOIN pg_class c ON c.oid = i.inhrelid,
    regexp_match(pg_get_expr(c.relpartbound, c.oid),
        $re$^FOR VALUES FROM \((?:'([2-9a-x]{16})'|MINVALUE)\) TO \((?:'([2-9a-x]{16})'|MAXVALUE)\)$$re$::text) b(parts)
    WHERE p.partrelid = parent::oid AND b.parts IS NOT NULL;
END;
COMMENT ON FUNCTION sno_partition_bounds(regclass) IS 'internal: partitions of a table that is partitioned by sno, with their bounds, except the default one';

CREATE FUNCTION sno_partitions(
        parent regclass, OUT partition regclass, OUT since timestamptz, OUT until timestamptz
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT b.partition, coalesce(sno_time(b.lower), '-infinity'::timestamptz),
           -- With a bound in the middle of a tick, not all of the tick is before it.
           coalesce(sno_time(b.upper) + CASE WHEN b.upper > sno_lower(sno_time(b.upper)) THEN '4 ms'::interval ELSE '0'::interval END,
               'infinity'::timestamptz)
    FROM sno_partition_bounds(parent) b
    -- As text, which has the same order: pg_upgrade restores this before it knows how to sort a sno.
    ORDER BY b.lower::text COLLATE pg_catalog."C" NULLS FIRST;
END;
COMMENT ON FUNCTION sno_partitions(regclass) IS 'partitions of a table that is partitioned by sno, with the times that they are for, except the default one';

CREATE FUNCTION sno_partition_gaps(
        parent regclass, start timestamp, stop timestamp, width interval, OUT lower sno, OUT upper sno
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT g.lower, g.upper
    FROM generate_series(start, stop, width) span(start), (
        SELECT lag(b.upper, 1, sno_lower('-infinity'::timestamptz)) OVER (ORDER BY b.lower::text COLLATE pg_catalog."C"), b.lower
        FROM (
            SELECT coalesce(p.lower, sno_lower('-infinity'::timestamptz)) AS lower, coalesce(p.upper, sno_lower('infinity'::timestamptz)) AS upper
            FROM sno_partition_bounds(parent) p
            UNION ALL SELECT sno_lower('infinity'::timestamptz) AS lower, NULL::sno AS upper
        ) b
    ) free(lower, upper),
    LATERAL (SELECT greatest(free.lower, sno_lower(span.start AT TIME ZONE 'UTC'::text)),
                    least(free.upper, sno_lower((span.start + width) AT TIME ZONE 'UTC'::text))) g(lower, upper)
    WHERE span.start < stop AND free.lower < free.upper AND g.lower < g.upper
    ORDER BY g.lower::text COLLATE pg_catalog."C";
END;
COMMENT ON FUNCTION sno_partition_gaps(regclass, timestamp, timestamp, interval) IS 'internal: what of each span of time is in no partition yet, in UTC: all of it, or what the others leave';

-- What each change of partitions begins with: calls for one table take turns.
CREATE FUNCTION sno_lock_partitioned(parent regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF parent IS NULL THEN
        RAISE EXCEPTION 'table must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
        WHERE p.partrelid = parent AND p.partstrat = 'r' AND p.partnatts = 1 AND a.atttypid = '@extschema@.sno'::regtype
    ) THEN
        RAISE EXCEPTION 'table "%" is not partitioned by range of a single column of type sno',
            coalesce((SELECT relname FROM pg_class WHERE oid = parent), parent::text)
            USING ERRCODE = 'wrong_object_type', HINT = 'Create it with PARTITION BY RANGE (id).';
    END IF;
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot change partitions in a transaction with isolation level %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED.',
                DETAIL = 'Such a transaction would not see partitions that others have created or removed since it began.';
    END IF;
    -- Neither readers nor writers wait for this lock.
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', parent);
END
$$;
COMMENT ON FUNCTION sno_lock_partitioned(regclass) IS 'internal: lock a table that is partitioned by sno, for a change of its partitions';

-- While a statement waits for a lock, others queue behind it. So this one waits for each lock as long as the caller's lock_timeout says, or
-- half a second: less than deadlock_timeout, so that in a deadlock it is this one that gives way.
CREATE FUNCTION sno_alter_partitions(command text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    timeout text := current_setting('lock_timeout');
BEGIN
    IF timeout = '0' THEN
        PERFORM set_config('lock_timeout', '500ms', true);
    END IF;
    EXECUTE command;
    PERFORM set_config('lock_timeout', timeout, true);
EXCEPTION
    WHEN lock_not_available THEN
        RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'lock_not_available', DETAIL = format('Others use a table that "%s" needs.', command),
            HINT = 'Nothing was changed. Call it again later, or with a longer "lock_timeout".';
END
$$;
COMMENT ON FUNCTION sno_alter_partitions(text) IS 'internal: run a statement that changes partitions, with a limit for its waits';

CREATE FUNCTION sno_create_partitions(
        parent regclass, width interval, since timestamptz, until timestamptz
    ) RETURNS SETOF regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    start timestamp := since AT TIME ZONE 'UTC';
    stop timestamp := until AT TIME ZONE 'UTC';
    months integer;
    info record;
    gap record;
    name text;
    child text;
    identity text;
BEGIN
    IF width IS NULL OR since IS NULL OR until IS NULL THEN
        RAISE EXCEPTION 'width and times of partitions must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF width BETWEEN '1 second' AND '100 years' THEN
        months := extract(year FROM width) * 12 + extract(month FROM width);
    END IF;
    IF months IS NULL OR months <> 0 AND width <> make_interval(months => months) THEN
        RAISE EXCEPTION 'invalid width of partitions: "%"', width USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'A width is a number of months, or of days, hours, minutes and seconds, of 1 second to 100 years.';
    END IF;
    IF since >= until THEN
        RAISE EXCEPTION 'partitions must start before they end: "%" to "%"', since, until
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF since < '2010-01-01 00:00Z' OR until > '2079-09-07 15:47:35.548Z' THEN
        RAISE EXCEPTION 'timestamp out of range for type sno: "%"', CASE WHEN since < '2010-01-01 00:00Z' THEN since ELSE until END
            USING ERRCODE = 'datetime_field_overflow',
                DETAIL = 'A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.';
    END IF;
    IF stop > start + width * 1000 THEN
        RAISE EXCEPTION 'more than 1000 partitions from "%" to "%"', since, until
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Use a larger width, or a shorter range of time.';
    END IF;
    -- Spans start at midnight UTC, on a Monday, or with the month.
    IF months > 0 THEN
        start := '2010-01-01'::timestamp
            + width * (((extract(year FROM start) - 2010) * 12 + extract(month FROM start) - 1)::integer / months);
    ELSE
        start := date_bin(width, start, '2001-01-01');
    END IF;

    PERFORM @extschema@.sno_lock_partitioned(parent);
    SELECT n.nspname AS schema, c.relname AS name, r.rolname AS owner, c.relreplident AS identity,
        coalesce(' USING ' || quote_ident(a.amname), '') || coalesce(' TABLESPACE ' || quote_ident(t.spcname), '') AS options
    INTO info
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
    LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
    WHERE c.oid = parent;
    FOR gap IN
        SELECT lower, upper, @extschema@.sno_time(lower) AS since, @extschema@.sno_time(upper) AS until
        FROM @extschema@.sno_partition_gaps(parent, start, stop, width)
    LOOP
        IF octet_length(info.name) > 43 THEN
            RAISE EXCEPTION 'name of table "%" is too long for the names of its partitions', info.name
                USING ERRCODE = 'name_too_long', DETAIL = 'Each name is the name of the table and a time.';
        END IF;
        -- After its time, or, if it is within one tick, after its first ID.
        name := info.name || CASE
            WHEN gap.since = gap.until THEN '_' || gap.lower::text
            ELSE to_char(gap.since AT TIME ZONE 'UTC', CASE
                WHEN width >= '1 day' AND gap.since = date_trunc('day', gap.since, 'UTC') THEN '_YYYYMMDD'
                WHEN gap.since = date_trunc('minute', gap.since) THEN '_YYYYMMDD_HH24MI'
                ELSE '_YYYYMMDD_HH24MISSMS' END)
        END;
        child := format('%I.%I', info.schema, name);
        IF to_regclass(child) IS NOT NULL THEN
            RAISE EXCEPTION 'relation "%" already exists', name
                USING ERRCODE = 'duplicate_table',
                    DETAIL = format('It is not the partition of "%s" from %s to %s.', info.name, gap.since, gap.until),
                    HINT = 'It may have been detached: attach it again, rename it, or drop it.';
        END IF;
        -- Not PARTITION OF, whose lock waits for all readers, and which new readers wait for.
        EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED '
            'INCLUDING STORAGE INCLUDING COMPRESSION)%s', child, parent, info.options);
        IF info.owner <> current_user THEN
            EXECUTE format('ALTER TABLE %s OWNER TO %I', child, info.owner);
        END IF;
        PERFORM @extschema@.sno_alter_partitions(
            format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', parent, child, gap.lower, gap.upper));
        -- Which ATTACH does not pass on: the index is the one that ATTACH has found or made for the table's.
        identity := CASE info.identity WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' WHEN 'i' THEN 'USING INDEX ' || (
            SELECT quote_ident(c.relname)
            FROM pg_index x JOIN pg_inherits i ON i.inhparent = x.indexrelid
            JOIN pg_index y ON y.indexrelid = i.inhrelid JOIN pg_class c ON c.oid = y.indexrelid
            WHERE x.indrelid = parent AND x.indisreplident AND y.indrelid = child::regclass) END;
        IF identity IS NOT NULL THEN
            EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', child, identity);
        END IF;
        RETURN NEXT child::regclass;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_create_partitions(regclass, interval, timestamptz, timestamptz) IS 'create the partitions that a table lacks for a range of time';

CREATE FUNCTION sno_expire_partitions(
        parent regclass, before timestamptz, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT false
    ) RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    child record;
    all_read timestamptz;
BEGIN
    IF num_nulls(before, drop_expired, read_by_all) > 0 THEN
        RAISE EXCEPTION 'time and kind of expiry must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF before > now() THEN
        RAISE EXCEPTION 'cannot expire partitions before "%"', before
            USING ERRCODE = 'invalid_parameter_value', DETAIL = 'The time is in the future.';
    END IF;
    PERFORM @extschema@.sno_lock_partitioned(parent);
    IF read_by_all THEN
        all_read := @extschema@.sno_time(@extschema@.sno_read_by_all(parent));
        -- Null if one feed has read nothing: no partition ends before that.
        before := CASE WHEN all_read IS NOT NULL THEN least(before, all_read) END;
    END IF;
    FOR child IN
        SELECT p.partition, c.relkind
        FROM @extschema@.sno_partitions(parent) p JOIN pg_class c ON c.oid = p.partition
        WHERE p.until <= before
    LOOP
        RETURN NEXT child.partition;
        PERFORM @extschema@.sno_alter_partitions(format('ALTER TABLE %s DETACH PARTITION %s', parent, child.partition));
        IF drop_expired THEN
            PERFORM @extschema@.sno_alter_partitions(
                format('DROP %s %s', CASE child.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, child.partition));
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_expire_partitions(regclass, timestamptz, boolean, boolean) IS
    'detach the partitions that end before a time, and drop them only if drop_expired is true; with read_by_all, only those that all feeds have read';

CREATE FUNCTION sno_maintain_partitions(
        parent regclass, width interval, ahead integer DEFAULT 3,
        retention interval DEFAULT NULL, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT false,
        OUT action text, OUT partition text
    ) RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Days and months are in UTC, as the partitions are.
    today timestamp := now() AT TIME ZONE 'UTC';
    before timestamptz := (today - retention) AT TIME ZONE 'UTC';
BEGIN
    IF ahead IS NULL OR ahead < 0 THEN
        RAISE EXCEPTION 'invalid number of partitions ahead: %', coalesce(ahead::text, 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF retention <= '0' THEN
        RAISE EXCEPTION 'retention must be greater than zero: "%"', retention
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF (drop_expired OR read_by_all) AND retention IS NULL THEN
        RAISE EXCEPTION 'cannot expire partitions without a retention' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Give a retention, or leave out drop_expired and read_by_all.';
    END IF;
    -- First, since it needs the stronger lock on the table.
    IF before IS NOT NULL THEN
        RETURN QUERY SELECT CASE WHEN drop_expired THEN 'dropped' ELSE 'detached' END, p
            FROM @extschema@.sno_expire_partitions(parent, before, drop_expired, read_by_all) p;
    END IF;
    RETURN QUERY SELECT 'created', p::text
        FROM @extschema@.sno_create_partitions(parent, width, now(),
            -- No partition ends later.
            least(greatest((today + width * ahead) AT TIME ZONE 'UTC', now() + '1 us'), '2079-09-07 15:47:35.548Z')) p;
END
$$;
COMMENT ON FUNCTION sno_maintain_partitions(regclass, interval, integer, interval, boolean, boolean) IS
    'create the partitions for now and the time ahead, and detach or drop those that are entirely older than a retention; with read_by_all, only those that all feeds have read';

--
-- Feeds
--

-- Up to which ID the rows of each feed were read. The key has the owner, so that no role can take a name from another.
CREATE TABLE sno_feed_positions (
    feed text NOT NULL,
    -- A name, since a dump must load where the role does not exist.
    owner name NOT NULL DEFAULT current_user,
    -- The table or view: in a dump by its name alone, since a name that is not there would be an error for the rows of all feeds.
    source regclass,
    source_name text,
    key name NOT NULL,
    -- Bounded, as all times here: one beyond these would make every query of sno_feeds fail, for all roles.
    margin interval CHECK (margin BETWEEN '-100 years' AND '100 years'),
    position sno,
    moved timestamptz NOT NULL DEFAULT clock_timestamp() CHECK (moved BETWEEN '2010-01-01 00:00Z' AND '2079-09-08 00:00Z'),
    PRIMARY KEY (feed, owner),
    -- By operators with these very types: the owner of the schema could have a better match for a function.
    CHECK ((source IS NULL) <> (source_name IS NULL))
);
COMMENT ON TABLE sno_feed_positions IS 'internal: positions of feeds';
-- Every role that dumps the database reads it, and the one that restores the dump has created the extension.
GRANT SELECT ON sno_feed_positions TO PUBLIC;
GRANT INSERT ON sno_feed_positions TO @extowner@;
-- pg_dump appends the condition to "SELECT ... FROM sno_feed_positions": it reads the names that the sources have then. Without sources that
-- were dropped, so that a feed does not go on with another table of the same name.
SELECT pg_catalog.pg_extension_config_dump('sno_feed_positions',
    $$WHERE false
    UNION ALL
    SELECT p.feed, p.owner, NULL, coalesce(p.source_name, pg_catalog.format('%I.%I', n.nspname, c.relname)), p.key, p.margin, p.position, p.moved
    FROM @extschema@.sno_feed_positions p
    LEFT JOIN pg_catalog.pg_class c ON c.oid = p.source AND c.relkind IN ('r', 'p', 'v') AND c.relpersistence <> 't'
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE p.source_name IS NOT NULL OR c.oid IS NOT NULL$$);

-- With the rights of its owner, since the role that restores a dump may only insert. Nobody else can attach it to a table.
CREATE FUNCTION sno_add_feed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.source IS NULL THEN
        -- From a dump: it takes the place of a feed that migrations may have created.
        DELETE FROM @extschema@.sno_feed_positions p WHERE p.feed = NEW.feed AND p.owner = NEW.owner;
        NEW.source := to_regclass(NEW.source_name);
        IF NEW.source IS NOT NULL THEN
            NEW.source_name := NULL;
        END IF;
    ELSIF (SELECT count(*) FROM @extschema@.sno_feed_positions p WHERE p.owner = NEW.owner) >= 1000 THEN
        RAISE EXCEPTION 'role "%" has too many feeds', NEW.owner USING ERRCODE = 'configuration_limit_exceeded',
            DETAIL = 'A role can have 1000 feeds in a database.', HINT = 'Drop those that nobody reads.';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION sno_add_feed() IS 'internal: trigger function of sno_feed_positions';
REVOKE EXECUTE ON FUNCTION sno_add_feed() FROM PUBLIC;
CREATE TRIGGER add_feed BEFORE INSERT ON sno_feed_positions FOR EACH ROW EXECUTE FUNCTION sno_add_feed();
COMMENT ON TRIGGER add_feed ON sno_feed_positions IS 'internal: finds the sources of restored feeds, limits the number of new ones';

-- Every role may change its own feeds, through these views. Row security would make pg_dump fail. Rights are on columns only, because a
-- right to update or delete in the whole table would also allow LOCK TABLE; so a feed is dropped by an UPDATE that a rule turns into a DELETE.
CREATE VIEW sno_own_feeds AS
    SELECT feed, owner, source, source_name, key, margin, position, moved
    FROM sno_feed_positions
    -- A dump may be restored without its roles.
    WHERE pg_has_role(coalesce(to_regrole(quote_ident(owner::text))::oid, (SELECT extowner FROM pg_extension WHERE extname = 'sno')), 'USAGE'::text);
GRANT SELECT, UPDATE (position, moved) ON sno_own_feeds TO PUBLIC;
COMMENT ON VIEW sno_own_feeds IS 'internal: feeds that the role may use';

-- Apart from the view for updates: a role that may not read the source any more can still seek and drop its feed.
CREATE VIEW sno_new_feeds AS
    SELECT feed, source, key, margin
    FROM sno_own_feeds
    -- With the exact types, since the functions in a view run as the caller, and the owner of the schema could have better matches.
    WHERE NOT EXISTS (
        SELECT FROM pg_attribute a
        WHERE a.attrelid = source::oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT has_column_privilege(source::oid, a.attnum, 'SELECT'::text)
    ) AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = source::oid AND a.attname = key)
    WITH CHECK OPTION;
GRANT SELECT, INSERT (feed, source, key, margin) ON sno_new_feeds TO PUBLIC;
COMMENT ON VIEW sno_new_feeds IS 'internal: feeds that the role may create';

CREATE VIEW sno_dropped_feeds AS SELECT feed, owner FROM sno_own_feeds;
CREATE RULE drop_feed AS ON UPDATE TO sno_dropped_feeds
    DO INSTEAD DELETE FROM sno_feed_positions p WHERE p.feed = OLD.feed AND p.owner = OLD.owner;
GRANT SELECT, UPDATE (feed) ON sno_dropped_feeds TO PUBLIC;
COMMENT ON VIEW sno_dropped_feeds IS 'internal: an update drops a feed';

CREATE VIEW sno_feeds AS
    SELECT feed, source, owner, margin, position, clock_timestamp() - sno_time(position) AS lag, moved, held_by, held_since
    FROM sno_feed_positions
    LEFT JOIN (
        SELECT coalesce(gid, pid::text) AS held_by, since AS held_since FROM sno_horizon_holders ORDER BY since LIMIT 1
    ) holder ON clock_timestamp() - held_since > margin;
GRANT SELECT ON sno_feeds TO PUBLIC;
COMMENT ON VIEW sno_feeds IS 'feeds, how far each was read, and what holds it back';
COMMENT ON COLUMN sno_feeds.feed IS 'name of the feed';
COMMENT ON COLUMN sno_feeds.source IS 'table or view whose rows it returns; null if a restore did not find it';
COMMENT ON COLUMN sno_feeds.owner IS 'role that created it; its members can use it';
COMMENT ON COLUMN sno_feeds.margin IS 'margin of its horizon; null if its horizons are given';
COMMENT ON COLUMN sno_feeds.position IS 'ID up to which rows were read; null at the start';
COMMENT ON COLUMN sno_feeds.lag IS 'time since this ID';
COMMENT ON COLUMN sno_feeds.moved IS 'when the position was stored: every 10 seconds at least while the feed is read';
COMMENT ON COLUMN sno_feeds.held_by IS 'oldest transaction that holds it back: its process ID, or its identifier if it is prepared';
COMMENT ON COLUMN sno_feeds.held_since IS 'time of the first ID of this transaction';

-- The feed that a role means by a name: its own, or else that of a role whose member it is. Everything that is given a feed's name begins here.
CREATE FUNCTION sno_find_feed(feed text) RETURNS sno_feed_positions
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found_feed @extschema@.sno_feed_positions;
    other_owner name;
BEGIN
    IF feed IS NULL THEN
        RAISE EXCEPTION 'name of a feed must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    SELECT * INTO found_feed FROM @extschema@.sno_feed_positions p WHERE p.feed = sno_find_feed.feed AND p.owner = current_user;
    IF FOUND THEN
        RETURN found_feed;
    END IF;
    SELECT * INTO found_feed FROM @extschema@.sno_own_feeds o WHERE o.feed = sno_find_feed.feed;
    IF NOT FOUND THEN
        SELECT min(p.owner::text) INTO other_owner FROM @extschema@.sno_feed_positions p WHERE p.feed = sno_find_feed.feed;
        IF other_owner IS NOT NULL THEN
            RAISE EXCEPTION 'must be a member of role "%" to use feed "%"', other_owner, feed USING ERRCODE = 'insufficient_privilege';
        END IF;
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    END IF;
    SELECT o.owner INTO other_owner FROM @extschema@.sno_own_feeds o WHERE o.feed = sno_find_feed.feed AND o.owner <> found_feed.owner LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'several roles have a feed "%"', feed USING ERRCODE = 'ambiguous_alias',
            DETAIL = format('Role "%s" has one, and role "%s" has one.', least(found_feed.owner, other_owner), greatest(found_feed.owner, other_owner)),
            HINT = 'Use SET ROLE to select one.';
    END IF;
    RETURN found_feed;
END
$$;
COMMENT ON FUNCTION sno_find_feed(text) IS 'internal: the feed of a name that the role may use';

-- What is read in the end: the source itself, the tables of a view, the partitions and children of a table. With the kind of rows that can
-- come below the horizon of this server, or are not there for all sessions; null for all others.
CREATE FUNCTION sno_base_relations(source regclass) RETURNS TABLE (relation regclass, kind text)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE base(oid) AS (
        SELECT source::oid
        UNION
        SELECT n.oid
        FROM base b, LATERAL (
            SELECT d.refobjid
            FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            WHERE r.ev_class = b.oid AND r.ev_type = '1' AND d.refclassid = 'pg_class'::regclass
            UNION ALL
            SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = b.oid
        ) n(oid)
    )
    SELECT c.oid::regclass,
        CASE WHEN c.relpersistence = 't' THEN 'temporary' WHEN c.relkind = 'f' THEN 'foreign' WHEN c.relkind = 'm' THEN 'materialized'
            WHEN EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = c.oid) THEN 'subscribed' END
    FROM base JOIN pg_class c USING (oid)
$$;
COMMENT ON FUNCTION sno_base_relations(regclass) IS 'internal: relations below a table or view';

CREATE FUNCTION sno_create_feed(
        feed text, source regclass, since timestamptz DEFAULT '-infinity', key name DEFAULT NULL, margin interval DEFAULT '1 s'
    ) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys name[];
    bad record;
BEGIN
    IF num_nulls(feed, source, since) > 0 THEN
        RAISE EXCEPTION 'name, source and start of a feed must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF margin > '100 years' THEN
        RAISE EXCEPTION 'margin must not be longer than 100 years: "%"', margin USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- The type and all domains over it. Not a foreign key, unless it is named: its values are older than the rows.
    WITH RECURSIVE own_type(oid) AS (
        SELECT '@extschema@.sno'::regtype::oid
        UNION
        SELECT t.oid FROM own_type o JOIN pg_type t ON t.typbasetype = o.oid AND t.typtype = 'd'
    )
    SELECT array_agg(a.attname ORDER BY a.attnum) INTO keys
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.oid = source AND c.relkind IN ('r', 'p', 'v') AND a.atttypid IN (SELECT o.oid FROM own_type o)
        AND a.attname = coalesce(sno_create_feed.key, a.attname)
        AND (c.relkind = 'v' OR a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]))
        AND (sno_create_feed.key IS NOT NULL
            OR NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND a.attnum = ANY (f.conkey)));
    SELECT * INTO bad FROM @extschema@.sno_base_relations(source) b
    WHERE b.kind IS NOT NULL AND (b.kind <> 'subscribed' OR margin IS NOT NULL AND NOT @extschema@.sno_is_logged(b.relation, source, keys[1])) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'cannot create a feed of % rows: "%"', bad.kind, bad.relation USING ERRCODE = 'wrong_object_type',
            DETAIL = CASE bad.kind WHEN 'temporary' THEN 'A feed outlives the session.'
                ELSE 'Such rows can come below the horizon of this server.' END;
    END IF;
    IF cardinality(keys) IS DISTINCT FROM 1 THEN
        RAISE EXCEPTION 'no single key of type sno in "%"', source USING ERRCODE = 'undefined_column',
            HINT = CASE WHEN cardinality(keys) > 1 THEN format('Name the column, as in key => %L.', keys[1])
                ELSE 'The key of a table is a column of type sno in its primary key, the key of a view any such column.' END;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_class c WHERE c.oid = source AND c.relkind = 'v'
        UNION ALL
        SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = source AND a.attname = keys[1] AND m.amname = 'btree' AND i.indpred IS NULL AND i.indisvalid
    ) THEN
        RAISE EXCEPTION 'no index of "%" begins with "%"', source, keys[1] USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'Each call of sno_feed() would read the whole table.', HINT = 'Create an index that begins with the key.';
    END IF;
    BEGIN
        INSERT INTO @extschema@.sno_new_feeds (feed, source, key, margin) VALUES (feed, source, keys[1], margin);
    EXCEPTION
        WHEN unique_violation THEN
            RAISE EXCEPTION 'feed "%" already exists', feed USING ERRCODE = 'duplicate_object';
        WHEN with_check_option_violation THEN
            RAISE EXCEPTION 'permission denied for "%"', source USING ERRCODE = 'insufficient_privilege',
                DETAIL = 'A feed returns all columns.';
    END;
    PERFORM @extschema@.sno_seek_feed(feed, since, NULL::@extschema@.sno);
END
$$;
COMMENT ON FUNCTION sno_create_feed(text, regclass, timestamptz, name, interval) IS 'create a feed of the rows of a table or view';

-- Of the row's present version: only one's own transaction can be in progress.
CREATE FUNCTION sno_moved_by_this_transaction(f sno_feed_positions) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- The full number of its transaction or subtransaction: the latest with its 32 bits.
    RETURN pg_current_xact_id_if_assigned() IS NOT NULL AND EXISTS (
        SELECT FROM @extschema@.sno_feed_positions p, (SELECT pg_current_xact_id()::text::bigint + 2147483648 OFFSET 0) x(n)
        WHERE p.feed = f.feed AND p.owner = f.owner
            AND pg_xact_status((n - ((n - p.xmin::text::bigint) & 4294967295))::text::xid8) = 'in progress'
    );
END
$$;
COMMENT ON FUNCTION sno_moved_by_this_transaction(sno_feed_positions) IS 'internal: whether this transaction has moved a feed';

-- Without a path of its own, as in sno_feed().
CREATE FUNCTION sno_has_several_rows(f sno_feed_positions, id sno) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    result pg_catalog.bool;
BEGIN
    EXECUTE pg_catalog.format('SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 FROM (SELECT FROM %s WHERE %I OPERATOR(pg_catalog.=) $1 LIMIT 2) r',
        f.source, f.key) INTO result USING id;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_has_several_rows(sno_feed_positions, sno) IS 'internal: whether a feed has several rows of an ID';

CREATE FUNCTION sno_seek_feed(feed text, since timestamptz DEFAULT NULL, after sno DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f @extschema@.sno_feed_positions := @extschema@.sno_find_feed(feed);
BEGIN
    IF num_nonnulls(since, after) <> 1 THEN
        RAISE EXCEPTION 'either a time or an ID must be given' USING ERRCODE = 'invalid_parameter_value';
    ELSIF since > clock_timestamp() THEN
        RAISE EXCEPTION 'feed cannot start in the future: "%"', since USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A consumer that gives back the rest of its batch may have got some of the rows of this ID only.
    IF after IS NOT NULL AND EXISTS (SELECT FROM pg_class c WHERE c.oid = f.source AND c.relkind = 'v')
        AND @extschema@.sno_moved_by_this_transaction(f) AND @extschema@.sno_has_several_rows(f, after) THEN
        RAISE EXCEPTION 'cannot give back rows of feed "%" after "%"', feed, after USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'The view has several rows with this ID.', HINT = 'Give back all of them: use the ID before it.';
    END IF;
    -- At the horizon at most, since rows can still come above it.
    UPDATE @extschema@.sno_own_feeds o SET moved = clock_timestamp(), position = CASE
        WHEN after IS NULL THEN @extschema@.sno_last(least(since, @extschema@.sno_time(@extschema@.sno_horizon(o.margin))), true)
        ELSE least(after, @extschema@.sno_last(@extschema@.sno_time(@extschema@.sno_horizon(o.margin)), true)) END
    WHERE o.feed = f.feed AND o.owner = f.owner;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_seek_feed(text, timestamptz, sno) IS 'continue a feed with the rows since a time, or after an ID';

CREATE FUNCTION sno_drop_feed(feed text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f @extschema@.sno_feed_positions := @extschema@.sno_find_feed(feed);
BEGIN
    PERFORM FROM @extschema@.sno_own_feeds o WHERE o.feed = f.feed AND o.owner = f.owner FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'feed "%" does not exist', feed USING ERRCODE = 'undefined_object';
    END IF;
    UPDATE @extschema@.sno_dropped_feeds d SET feed = d.feed WHERE d.feed = f.feed AND d.owner = f.owner;
END
$$;
COMMENT ON FUNCTION sno_drop_feed(text) IS 'drop a feed';

-- The feed as the calling statement sees it, with the name of its source, and the horizon, which is later than the snapshot of this statement.
CREATE FUNCTION sno_open_feed(feed text, row_type regtype, batch_size integer, INOUT horizon sno, OUT f sno_feed_positions)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    isolation text := current_setting('transaction_isolation');
    is_given boolean := horizon IS NOT NULL;
    bad record;
BEGIN
    IF batch_size IS NULL THEN
        RAISE EXCEPTION 'size of a batch must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF batch_size < 1 THEN
        RAISE EXCEPTION 'invalid size of a batch: %', batch_size USING ERRCODE = 'invalid_parameter_value';
    ELSIF isolation IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot read a feed in a transaction with isolation level %', upper(isolation)
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Use READ COMMITTED.',
                DETAIL = 'All statements of such a transaction have one snapshot, which is older than the horizon.';
    ELSIF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot read a feed in a read-only transaction'
            USING ERRCODE = 'read_only_sql_transaction', DETAIL = 'The position of the feed is stored.';
    END IF;
    f := @extschema@.sno_find_feed(feed);
    horizon := coalesce(horizon, @extschema@.sno_horizon(f.margin));
    IF f.source IS NULL THEN
        f.source := to_regclass(f.source_name);
        IF f.source IS NULL THEN
            RAISE EXCEPTION 'source of feed "%" does not exist: "%"', feed, f.source_name USING ERRCODE = 'undefined_table',
                DETAIL = 'The feed was restored without it.', HINT = 'Restore it, or use sno_drop_feed() and sno_create_feed().';
        END IF;
    END IF;
    f.source_name := f.source::text;
    IF f.source::oid IS DISTINCT FROM (SELECT t.typrelid FROM pg_type t WHERE t.oid = row_type) THEN
        RAISE EXCEPTION 'feed "%" returns rows of "%", not of "%"', feed, f.source, row_type
            USING ERRCODE = 'datatype_mismatch', DETAIL = 'If its table was dropped, drop the feed and create it again.',
                HINT = CASE WHEN to_regclass(f.source_name) IS NULL THEN 'Use sno_drop_feed() and sno_create_feed().'
                    ELSE format('Use SELECT * FROM sno_feed(%L, NULL::%s).', feed, f.source) END;
    END IF;
    -- What the source has got since the feed was created. Hardly any database has such rows.
    IF EXISTS (SELECT FROM pg_subscription_rel) OR EXISTS (SELECT FROM pg_foreign_table) THEN
        SELECT * INTO bad FROM @extschema@.sno_base_relations(f.source) b
        WHERE b.kind = 'foreign' OR b.kind = 'subscribed' AND NOT @extschema@.sno_is_logged(b.relation, f.source, f.key) ORDER BY b.kind LIMIT 1;
        IF bad.kind = 'foreign' THEN
            RAISE EXCEPTION 'cannot read a feed of foreign rows: "%"', bad.relation USING ERRCODE = 'wrong_object_type',
                DETAIL = 'Such rows can come below the horizon of this server.';
        ELSIF bad.kind = 'subscribed' THEN
            f.margin := NULL;
        END IF;
    END IF;
    IF f.margin IS NULL AND NOT is_given THEN
        RAISE EXCEPTION 'horizon must be given for feed "%"', feed USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'It has rows of other servers.';
    ELSIF f.margin IS NOT NULL AND is_given THEN
        RAISE EXCEPTION 'horizon cannot be given for feed "%"', feed USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'The feed has a margin, and so the horizon of this server.';
    ELSIF f.position >= horizon THEN
        RAISE EXCEPTION 'feed "%" was read up to "%", which is not before the horizon "%"', feed, f.position, horizon
            USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Rows that were not read can come before this position.',
                HINT = CASE WHEN is_given THEN 'Ask the server of the rows for its horizon again.' ELSE
                    'Check the clock. Then call sno_seek_feed() with a time before such rows: what was read since then comes again.' END;
    END IF;
END
$$;
COMMENT ON FUNCTION sno_open_feed(text, regtype, integer, sno) IS 'internal: the feed that sno_feed reads, and its horizon';

-- VOLATILE, so that it sees what was committed up to now: the first row that the calling statement, with its snapshot, does not see.
CREATE FUNCTION sno_unseen_key(f sno_feed_positions, last sno, seen sno[], snapshot text) RETURNS sno
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
AS $$
DECLARE
    unseen @extschema@.sno;
BEGIN
    -- Most often no transaction has ended since.
    IF pg_catalog.pg_current_snapshot()::pg_catalog.text OPERATOR(pg_catalog.=) snapshot THEN
        RETURN NULL;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT %1$I FROM %2$s
         WHERE (%1$I OPERATOR(pg_catalog.>) $1 OR $1 IS NULL) AND %1$I OPERATOR(pg_catalog.<=) $2 AND NOT %1$I OPERATOR(pg_catalog.=) ANY ($3)
         ORDER BY %1$I USING OPERATOR(pg_catalog.<) LIMIT 1', f.key, f.source_name)
        INTO unseen USING f.position, last, coalesce(seen, '{}');
    RETURN unseen;
END
$$;
COMMENT ON FUNCTION sno_unseen_key(sno_feed_positions, sno, sno[], text) IS 'internal: the first row that the calling statement does not see';

-- Moves the feed from where the calling statement sees it, unless it is elsewhere by now. VOLATILE for the same reason.
CREATE FUNCTION sno_move_feed(f sno_feed_positions, last sno, is_idle boolean) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Others may have moved the feed, and are waited for, unless there is only a position to store.
    IF is_idle THEN
        PERFORM FROM @extschema@.sno_own_feeds o WHERE o.feed = f.feed AND o.owner = f.owner FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    -- What was read is locked by now, so its name tells whether it was the source.
    UPDATE @extschema@.sno_own_feeds o SET moved = clock_timestamp(), position = last
    WHERE o.feed = f.feed AND o.owner = f.owner AND o.moved = f.moved AND o.position IS NOT DISTINCT FROM f.position
        AND to_regclass(f.source_name) = f.source;
    IF FOUND THEN
        RETURN true;
    END IF;
    -- A transaction that has ended may have moved the feed after the calling statement began, which then does not see what it did with its
    -- rows either: nothing is returned. If it was this transaction, the statement calls the function again.
    IF NOT is_idle AND @extschema@.sno_moved_by_this_transaction(f) THEN
        RAISE EXCEPTION 'statement cannot read feed "%" again', f.feed USING ERRCODE = 'serialization_failure',
            DETAIL = 'Its transaction has moved the feed since the statement began.', HINT = 'Call sno_feed() in FROM, once for each feed.';
    END IF;
    RETURN false;
END
$$;
COMMENT ON FUNCTION sno_move_feed(sno_feed_positions, sno, boolean) IS 'internal: moves a feed';

-- STABLE, so that its statements see what the calling statement sees: the position, the rows, and with them all that their transactions and
-- earlier consumers wrote. With the caller's search_path, which functions in a view may need, so that all names and operators are qualified.
-- enable_sort = off: a scan of an index in the order of the keys reads only the batch. With bad statistics the planner would read and sort
-- all rows that are left.
CREATE FUNCTION sno_feed(feed text, row_type anyelement, batch_size integer DEFAULT 1000, horizon sno DEFAULT NULL) RETURNS SETOF anyelement
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 1000 SET enable_sort = off SET jit = off
AS $$
DECLARE
    opened pg_catalog.record;
    f @extschema@.sno_feed_positions;
    seen @extschema@.sno[];
    last @extschema@.sno;
    unseen @extschema@.sno;
BEGIN
    SELECT * INTO opened FROM @extschema@.sno_open_feed(feed, pg_catalog.pg_typeof(row_type), batch_size, horizon);
    f := opened.f;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(k) FROM (
             SELECT %1$I FROM %2$s
             WHERE (%1$I OPERATOR(pg_catalog.>) $1 OR $1 IS NULL) AND %1$I OPERATOR(pg_catalog.<) $2
             ORDER BY %1$I USING OPERATOR(pg_catalog.<) LIMIT $3
         ) rows(k)', f.key, f.source_name)
        INTO seen USING f.position, opened.horizon, batch_size;
    -- Without rows there is nothing to write, but for those who watch, and for views that leave out most rows.
    IF seen IS NULL AND f.moved OPERATOR(pg_catalog.>=) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) '10 s'::pg_catalog.interval) THEN
        RETURN;
    END IF;
    -- The end of a full batch, or of the IDs below the horizon, where no row comes any more. But before the first row that the calling
    -- statement does not see, since it was committed later: it is left for the next call, with all that follow.
    last := coalesce(seen[batch_size], @extschema@.sno_last(@extschema@.sno_time(opened.horizon), true));
    unseen := @extschema@.sno_unseen_key(f, last, seen, pg_catalog.pg_current_snapshot()::pg_catalog.text);
    IF unseen IS NOT NULL THEN
        last := (SELECT pg_catalog.max(k) FROM pg_catalog.unnest(seen) k WHERE k OPERATOR(pg_catalog.<) unseen);
    END IF;
    IF last IS NULL OR NOT @extschema@.sno_move_feed(f, last, seen IS NULL) OR seen IS NULL THEN
        RETURN;
    END IF;
    -- With all rows of the last key, of which a view can have several.
    RETURN QUERY EXECUTE pg_catalog.format(
        'SELECT * FROM %2$s
         WHERE (%1$I OPERATOR(pg_catalog.>) $1 OR $1 IS NULL) AND %1$I OPERATOR(pg_catalog.<=) $2
         ORDER BY %1$I USING OPERATOR(pg_catalog.<)', f.key, f.source_name)
        USING f.position, last;
END
$$;
COMMENT ON FUNCTION sno_feed(text, anyelement, integer, sno) IS 'the next rows of a feed, in the order of their IDs: each once, if the transaction commits';

-- Waits are procedures, which end the transaction while they wait. These cannot be STRICT: nulls are zeros.
CREATE PROCEDURE sno_wait_ids(margin bigint, until timestamptz, is_new boolean, INOUT reach sno)
    AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE sno_wait_ids(bigint, timestamptz, boolean, sno) IS 'internal: wait until rows may be there, and below which ID';

CREATE PROCEDURE sno_wait_millis(integer) AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE sno_wait_millis(integer) IS 'internal: wait for so many milliseconds';

CREATE FUNCTION sno_has_row(query text, after sno, before sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_has_row(text, sno, sno) IS 'internal: whether a query with two IDs returns a row; its plan is kept';

-- Whether the feed has a row below an ID, and its margin in microseconds. Planned as the statements of sno_feed().
CREATE FUNCTION sno_look_at_feed(feed text, reach sno, OUT ready boolean, OUT margin bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET enable_sort = off SET jit = off
AS $$
DECLARE
    f @extschema@.sno_feed_positions := @extschema@.sno_find_feed(feed);
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
    ready := coalesce(@extschema@.sno_has_row(
        pg_catalog.format(
            'SELECT FROM %1$s WHERE %2$I OPERATOR(pg_catalog.%3$s) $1 AND %2$I OPERATOR(pg_catalog.<) $2
             ORDER BY %2$I USING OPERATOR(pg_catalog.<) LIMIT 1',
            f.source_name, f.key, CASE WHEN f.position IS NULL THEN '>=' ELSE '>' END),
        coalesce(f.position, @extschema@.sno_lower('-infinity')), reach), false);
END
$$;
COMMENT ON FUNCTION sno_look_at_feed(text, sno) IS 'internal: whether a feed has a row below an ID';

CREATE PROCEDURE sno_wait_feed(feed text, timeout interval DEFAULT '30 s', INOUT ready boolean DEFAULT NULL)
    LANGUAGE plpgsql
AS $$
DECLARE
    until pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) timeout;
    margin pg_catalog.int8;
    reach @extschema@.sno;
    is_new pg_catalog.bool := true;
BEGIN
    IF until IS NULL THEN
        RAISE EXCEPTION 'timeout must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    LOOP
        SELECT l.ready, l.margin INTO ready, margin FROM @extschema@.sno_look_at_feed(feed, reach) l;
        EXIT WHEN ready;
        CALL @extschema@.sno_wait_ids(margin, until, is_new, reach);
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
    f @extschema@.sno_feed_positions;
BEGIN
    IF id IS NULL OR until IS NULL THEN
        RAISE EXCEPTION 'ID and timeout must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    LOOP
        f := @extschema@.sno_find_feed(feed);
        read := coalesce(f.position OPERATOR(pg_catalog.>=) id, false);
        EXIT WHEN read OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) until;
        CALL @extschema@.sno_wait_millis(step);
        step := least(step OPERATOR(pg_catalog.*) 2, 50);
    END LOOP;
END
$$;
COMMENT ON PROCEDURE sno_wait_read(text, sno, interval, boolean) IS 'wait until a feed has read an ID, or for a time';

-- The column of a table that a column of a view shows, as its rule has it; nulls if it shows something else, or if another column somewhere in the
-- rule has the name too and shows another.
CREATE FUNCTION sno_origin(INOUT source regclass, INOUT key name) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    origins text[];
BEGIN
    WHILE EXISTS (SELECT FROM pg_class WHERE oid = source AND relkind = 'v') LOOP
        SELECT array_agg(DISTINCT o) INTO origins
        FROM pg_rewrite r, regexp_matches(r.ev_action::text, ' :resname (\S+) \S+ \d+ :resorigtbl (\d+) :resorigcol (\d+) ', 'g') o
        WHERE r.ev_class = source AND r.ev_type = '1' AND o[1] = key;
        SELECT attrelid, attname INTO source, key FROM pg_attribute
        WHERE cardinality(origins) = 3 AND attrelid = origins[1][2]::oid AND attnum = origins[1][3]::smallint AND attnum > 0;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_origin(regclass, name) IS 'internal: the column of a table that a column of a view shows';

CREATE FUNCTION sno_read_by_all(source regclass) RETURNS sno
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        WITH RECURSIVE own_type(oid) AS (
            SELECT '@extschema@.sno'::regtype::oid
            UNION
            SELECT t.oid FROM own_type o JOIN pg_type t ON t.typbasetype = o.oid AND t.typtype = 'd'
        ), own_key AS (
            SELECT min(a.attname::text) AS name
            FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
            WHERE i.indrelid = sno_read_by_all.source AND i.indisprimary AND a.atttypid IN (SELECT o.oid FROM own_type o)
            HAVING count(*) = 1
        )
        -- A feed of the table reads the rows of its partitions, and a feed of a partition some of the table's.
        SELECT CASE WHEN bool_and(coalesce(f.position IS NOT NULL AND o.key = (SELECT k.name FROM own_key k) AND (
            o.source IN (SELECT b.relation FROM @extschema@.sno_base_relations(sno_read_by_all.source) b)
            OR sno_read_by_all.source IN (SELECT b.relation FROM @extschema@.sno_base_relations(o.source) b)
        ), false)) THEN min(f.position) END
        FROM @extschema@.sno_feed_positions f
        CROSS JOIN LATERAL (SELECT coalesce(f.source, to_regclass(f.source_name))) s(source)
        CROSS JOIN LATERAL @extschema@.sno_origin(s.source, f.key) o
        WHERE EXISTS (
            SELECT b.relation FROM @extschema@.sno_base_relations(s.source) b
            INTERSECT SELECT b.relation FROM @extschema@.sno_base_relations(sno_read_by_all.source) b
        )
    );
END
$$;
COMMENT ON FUNCTION sno_read_by_all(regclass) IS
    'ID up to which all feeds of a table have read its rows; null if there is none, or if one has read nothing or has another key';

--
-- Changes: updates and deletes as a feed
--

-- A log of primary keys, which triggers write in the transaction that changes a row, and a view that shows each change with its row as it
-- is now. Nothing that is returned later is older, so the order of the IDs need not be the order of the changes.

-- The log, the view and the function of a table whose changes are tracked; nulls if they are not. The trigger leads to the function, and its
-- name to the others, so that the table can be renamed. All are of one owner: who can create a trigger would otherwise choose what a
-- superuser replaces or drops.
CREATE FUNCTION sno_tracked(source regclass, OUT log regclass, OUT changes regclass, OUT logger regprocedure) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
BEGIN
    SELECT p.oid, p.proname AS name, p.pronamespace AS schema, c.relowner AS owner, p.proowner = c.relowner AS is_owners,
        regexp_replace(p.proname, '_log$', '_changes') AS view_name
    INTO t
    FROM pg_class c JOIN pg_trigger g ON g.tgrelid = c.oid AND g.tgname = 'sno_log' JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE c.oid = source AND g.tgparentid = 0;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    logger := t.oid;
    SELECT oid INTO log FROM pg_class WHERE relnamespace = t.schema AND relname = t.name AND relkind = 'r' AND relowner = t.owner;
    SELECT oid INTO changes FROM pg_class WHERE relnamespace = t.schema AND relname = t.view_name AND relkind = 'v' AND relowner = t.owner;
    IF log IS NULL OR changes IS NULL OR NOT t.is_owners THEN
        RAISE EXCEPTION 'log of the changes of "%" is incomplete', source USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('The owner of the table must own the table %1$s.%2$I, the function %1$s.%2$I() and the view %1$s.%3$I.',
                t.schema::regnamespace, t.name, t.view_name);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_tracked(regclass) IS 'internal: what sno_track_changes() has created for a table';

-- Whether the rows of a table come with new keys of this server, wherever they come from.
CREATE FUNCTION sno_is_logged(relation regclass, source regclass, key name) RETURNS boolean
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((SELECT t.log FROM @extschema@.sno_tracked(coalesce(pg_partition_root(relation), relation)) t)
        = (SELECT o.source FROM @extschema@.sno_origin(source, key) o), false)
$$;
COMMENT ON FUNCTION sno_is_logged(regclass, regclass, name) IS 'internal: whether the key of a feed is that of the log of the changes of a table';

CREATE FUNCTION sno_track_changes(source regclass, metabyte integer DEFAULT NULL) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
    k record;
    tracked record;
    fault text;
    log text;
    changes text;
    object text;
    alone text;
BEGIN
    SELECT c.relname AS name, c.relkind AS kind, c.relowner AS owner, s.nspname AS schema, c.relpersistence AS persistence,
        c.relispartition AS is_partition, c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid) AS is_parent,
        c.relforcerowsecurity AND NOT (r.rolsuper OR r.rolbypassrls) AS hides_rows, am.amname AS index_kind
    INTO t
    FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary LEFT JOIN pg_class x ON x.oid = i.indexrelid LEFT JOIN pg_am am ON am.oid = x.relam
    WHERE c.oid = source;
    fault := CASE
        WHEN t.kind IS NULL THEN 'It does not exist.'
        WHEN source::oid < 16384 THEN 'It is a system catalog.'
        WHEN t.kind = 'f' THEN 'It is a foreign table.'
        WHEN t.kind NOT IN ('r', 'p') THEN 'It is not a table.'
        WHEN t.persistence = 't' THEN 'It is a temporary table.'
        WHEN t.persistence = 'u' THEN 'It is an unlogged table, which a crash empties.'
        WHEN t.is_partition THEN 'It is a partition.'
        WHEN t.is_parent THEN 'Other tables inherit from it.'
        WHEN t.index_kind IS NULL THEN 'It has no primary key.'
        WHEN t.index_kind <> 'btree' THEN 'Its primary key has WITHOUT OVERLAPS.'
        WHEN t.hides_rows THEN 'FORCE ROW LEVEL SECURITY hides rows from its owner: they would look deleted.'
    END;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'cannot track changes of "%"', source USING ERRCODE = 'wrong_object_type', DETAIL = fault, HINT = CASE
            WHEN t.is_partition THEN 'Track the changes of the table that it is a partition of.'
            WHEN t.is_parent THEN 'Track the changes of these tables, or use partitions.'
            WHEN t.index_kind IS NULL AND t.kind IN ('r', 'p') THEN 'Add a primary key.'
            WHEN t.hides_rows THEN 'Its owner can be a role with BYPASSRLS.'
            ELSE 'Only changes of permanent tables with a primary key can be tracked.' END;
    ELSIF NOT pg_has_role(t.owner, 'USAGE') THEN
        RAISE EXCEPTION 'must be owner of table "%"', source USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- An ID now, rather than an error in each statement that will change the table.
    PERFORM @extschema@.sno_new(coalesce(metabyte, 0));
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', source);
    tracked := @extschema@.sno_tracked(source);
    log := coalesce(tracked.log::text, format('%I.%I', t.schema, t.name || '_log'));
    changes := coalesce(tracked.changes::text, format('%I.%I', t.schema, t.name || '_changes'));
    alone := CASE t.kind WHEN 'r' THEN 'ONLY ' ELSE '' END;

    -- The columns of the primary key, also if they were renamed, and the operators of its index: those of others' types may be anywhere.
    SELECT string_agg(quote_ident(l.name), ', ' ORDER BY n) AS logged,
        string_agg(format('l.%I', l.name), ', ' ORDER BY n) AS shown,
        string_agg(format('t.%I', a.attname), ', ' ORDER BY n) AS present,
        string_agg(format('OLD.%I', a.attname), ', ' ORDER BY n) AS old,
        string_agg(format('NEW.%I', a.attname), ', ' ORDER BY n) AS new,
        string_agg(format('%I %s%s NOT NULL', a.attname, format_type(a.atttypid, a.atttypmod),
            (SELECT format(' COLLATE %s.%I', collnamespace::regnamespace, collname) FROM pg_collation WHERE oid = a.attcollation)),
            ', ' ORDER BY n) AS columns,
        string_agg(format('t.%I%s OPERATOR(%s.%s) l.%I%2$s', a.attname, cast_to, o.oprnamespace::regnamespace, o.oprname, l.name), ' AND ' ORDER BY n) AS equal,
        bool_and(tracked.log IS NULL OR (b.atttypid, b.atttypmod, b.attcollation) = (a.atttypid, a.atttypmod, a.attcollation))
            AND (tracked.log IS NULL OR count(*) + 1 = (SELECT count(*) FROM pg_attribute WHERE attrelid = tracked.log AND attnum > 0 AND attnotnull)) AS is_same,
        min(l.name) FILTER (WHERE l.name IN ('changed', 'record')) AS taken
    INTO k
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1], i.indclass[0:i.indnkeyatts - 1]) WITH ORDINALITY u(attnum, opclass, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = u.attnum
    JOIN pg_opclass c ON c.oid = u.opclass JOIN pg_type y ON y.oid = c.opcintype
    JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
    JOIN pg_operator o ON o.oid = m.amopopr
    LEFT JOIN pg_attribute b ON b.attrelid = tracked.log AND b.attnum = n + 1 AND NOT b.attisdropped
    CROSS JOIN LATERAL (SELECT coalesce(b.attname, a.attname), CASE WHEN y.typtype = 'p' THEN '' ELSE '::' || format_type(y.oid, -1) END) l(name, cast_to)
    WHERE i.indrelid = source AND i.indisprimary;
    IF tracked.log IS NOT NULL AND k.is_same IS NOT TRUE THEN
        RAISE EXCEPTION 'primary key of "%" differs from the columns of its log', source
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Use sno_untrack_changes(), then sno_track_changes().';
    ELSIF k.taken IS NOT NULL THEN
        RAISE EXCEPTION 'primary key of "%" has a column named "%"', source, k.taken USING ERRCODE = 'duplicate_column',
            DETAIL = 'The view of its changes has a column of this name.', HINT = 'Rename the column.';
    ELSIF tracked.log IS NULL THEN
        IF octet_length(t.name) > 55 THEN
            RAISE EXCEPTION 'name of table "%" is too long for the name of its log', t.name USING ERRCODE = 'name_too_long',
                DETAIL = 'The name of the view is the name of the table and "_changes".';
        END IF;
        FOREACH object IN ARRAY ARRAY[log, changes, log || '()'] LOOP
            IF (CASE WHEN object LIKE '%()' THEN to_regprocedure(object)::oid ELSE to_regclass(object) END) IS NOT NULL THEN
                RAISE EXCEPTION '"%" already exists', object USING ERRCODE = 'duplicate_object',
                    DETAIL = format('"%s" needs this name for the log of its changes.', source), HINT = 'Rename it, or drop it.';
            END IF;
        END LOOP;
        EXECUTE format('CREATE TABLE %s (changed %s.sno PRIMARY KEY DEFAULT %2$s.sno_new(%s), %s)', log, '@extschema@', coalesce(metabyte, 0), k.columns);
        EXECUTE format('COMMENT ON TABLE %s IS %L', log, 'keys of changed rows, written by triggers: see sno_track_changes()');
    ELSIF metabyte IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ALTER changed SET DEFAULT %s.sno_new(%s)', log, '@extschema@', metabyte);
    END IF;

    -- As the owner, since who changes the table need not have rights on the log; with a path that nobody else can put anything in.
    EXECUTE format('CREATE %s FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS %L',
        CASE WHEN tracked.log IS NULL THEN '' ELSE 'OR REPLACE' END, log, format($body$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
            RAISE EXCEPTION 'cannot truncate a table whose changes are tracked in a transaction with isolation level %%',
                upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state',
                DETAIL = 'Such a transaction does not see rows that others have inserted since it began.', HINT = 'Use READ COMMITTED.';
        END IF;
        EXECUTE concat(%5$L, quote_ident(TG_TABLE_SCHEMA), '.', quote_ident(TG_TABLE_NAME), ' t');
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO %1$s (%2$s) VALUES (%3$s);
    END IF;
    -- The images, which are compared without operators of others' types.
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NOT ROW(%3$s)::record *= ROW(%4$s)::record THEN
        INSERT INTO %1$s (%2$s) VALUES (%4$s);
    END IF;
    RETURN NULL;
END
$body$, log, k.logged, k.old, k.new, format('INSERT INTO %s (%s) SELECT %s FROM %s', log, k.logged, k.present, alone)));
    -- A subquery, not a join: whatever the statistics say, a batch in the order of the log needs no sort. The whole row, so that columns can be
    -- added, dropped and altered.
    EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT l.changed, %s, (SELECT t.*::%3$s FROM %4$s%3$s t WHERE %5$s) AS record FROM %6$s l',
        changes, k.shown, source, alone, k.equal, log);
    IF tracked.log IS NULL THEN
        EXECUTE format('COMMENT ON VIEW %s IS %L', changes, 'changed rows, each as it is now: see sno_track_changes()');
        EXECUTE format('COMMENT ON FUNCTION %s() IS %L', log, 'writes the log of changes: see sno_track_changes()');
        -- Nobody else may attach it to a table whose values have other types, and so casts.
        EXECUTE format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', log);
        IF t.owner <> current_user::regrole THEN
            EXECUTE format('ALTER TABLE %1$s OWNER TO %2$s; ALTER FUNCTION %1$s() OWNER TO %2$s; ALTER VIEW %3$s OWNER TO %2$s', log, t.owner::regrole, changes);
        END IF;
    END IF;
    -- For each row, since replication and partitions fire no other triggers; always, so also for replication.
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s()', source, log);
    EXECUTE format('CREATE OR REPLACE TRIGGER sno_log_truncate BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()', source, log);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER sno_log, ENABLE ALWAYS TRIGGER sno_log_truncate', source);
    RETURN changes;
END
$$;
COMMENT ON FUNCTION sno_track_changes(regclass, integer) IS 'log the keys of all rows of a table that are inserted, updated or deleted, for feeds of its changes';

-- What a change leaves unread, it would leave for ever: nothing is deleted that one feed has not read.
CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    log regclass := (@extschema@.sno_tracked(source)).log;
    last @extschema@.sno := @extschema@.sno_read_by_all(log);
    forgotten bigint;
BEGIN
    IF log IS NULL THEN
        RAISE EXCEPTION 'changes of "%" are not tracked', source USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Use sno_track_changes().';
    END IF;
    EXECUTE format('DELETE FROM %s WHERE changed OPERATOR(pg_catalog.<=) $1', log) USING last;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END
$$;
COMMENT ON FUNCTION sno_forget_changes(regclass) IS 'delete from the log of changes what all feeds of them have read; returns how many';

CREATE FUNCTION sno_untrack_changes(source regclass) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tracked record := @extschema@.sno_tracked(source);
    reader text;
BEGIN
    IF tracked.log IS NULL THEN
        RAISE EXCEPTION 'changes of "%" are not tracked', source USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT f.feed INTO reader FROM @extschema@.sno_feed_positions f WHERE f.source IN (tracked.changes, tracked.log) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'changes of "%" are read by the feed "%"', source, reader USING ERRCODE = 'dependent_objects_still_exist',
            HINT = 'Use sno_drop_feed().';
    END IF;
    EXECUTE format('DROP TRIGGER sno_log ON %1$s; DROP TRIGGER sno_log_truncate ON %1$s; DROP VIEW %2$s; DROP FUNCTION %3$s; DROP TABLE %4$s',
        source, tracked.changes, tracked.logger, tracked.log);
END
$$;
COMMENT ON FUNCTION sno_untrack_changes(regclass) IS 'drop what sno_track_changes() has created for a table';

--
-- Casts to and from other types, all explicit
--

CREATE FUNCTION sno_to_uuid(sno) RETURNS uuid AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuid(sno) IS 'internal: the characters of an ID as the bytes of a uuid';
CREATE FUNCTION sno_from_uuid(uuid) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_uuid(uuid) IS 'internal: the ID whose characters are the bytes of a uuid';
CREATE FUNCTION sno_to_uuidv7(sno) RETURNS uuid AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuidv7(sno) IS 'a uuid of version 7 with the fields of an ID';
CREATE FUNCTION uuidv7_to_sno(uuid) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuidv7_to_sno(uuid) IS 'the ID that sno_to_uuidv7 turned into a uuid';

CREATE CAST (sno AS uuid) WITH FUNCTION sno_to_uuid(sno);
COMMENT ON CAST (sno AS uuid) IS 'the 16 characters as 16 bytes, in the same order';
CREATE CAST (uuid AS sno) WITH FUNCTION sno_from_uuid(uuid);
COMMENT ON CAST (uuid AS sno) IS 'from a uuid that was converted from a sno';
CREATE CAST (timestamptz AS sno) WITH FUNCTION sno_lower(timestamptz);
COMMENT ON CAST (timestamptz AS sno) IS 'smallest ID not generated before';

-- Who has forgotten it should not find out by the first INSERT. A restore or an upgrade goes on.
DO $do$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name = 'sno.partition_prefix' AND context = 'sighup') THEN
        RAISE WARNING 'sno is not loaded via "shared_preload_libraries"' USING
            DETAIL = 'A server that does not preload sno can store, compare and convert IDs, but not generate any.',
            HINT = 'Add "sno" to "shared_preload_libraries" in postgresql.conf, and restart the server.';
    END IF;
END $do$;
