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
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_out(sno) IS 'I/O';

CREATE FUNCTION sno_recv(internal) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_recv(internal) IS 'I/O';

CREATE FUNCTION sno_send(sno) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
COMMENT ON TYPE sno IS 'unique ID of 10 bytes that sorts by time and has one byte for the application';

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

-- BRIN stores the smallest and the largest ID of each range of pages. In a table that is only appended to, IDs are in
-- the order of time, so these ranges hardly overlap.
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
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_larger(sno, sno) IS 'larger of two';

CREATE FUNCTION sno_smaller(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION sno_generators() IS 'generators in use since the server started';

CREATE VIEW sno_generators AS
    SELECT slot, partition, last_time, tick_tock, sequence, safe_time, drifts, overflows, waited
    FROM sno_generators();
GRANT SELECT ON sno_generators TO PUBLIC;
COMMENT ON VIEW sno_generators IS 'generators in use since the server started';
COMMENT ON COLUMN sno_generators.slot IS 'generator number: the low byte of its partitions';
COMMENT ON COLUMN sno_generators.partition IS 'partition of its last ID';
COMMENT ON COLUMN sno_generators.last_time IS 'time of its last ID';
COMMENT ON COLUMN sno_generators.tick_tock IS 'tick-tock bit of its last ID';
COMMENT ON COLUMN sno_generators.sequence IS 'sequence number of its last ID';
COMMENT ON COLUMN sno_generators.safe_time IS 'it waits while the clock is earlier than this';
COMMENT ON COLUMN sno_generators.drifts IS 'backward steps of the clock for which it changed the tick-tock bit';
COMMENT ON COLUMN sno_generators.overflows IS 'how often a caller found all sequence numbers of a tick of 4 ms taken';
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
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_time(sno) IS 'when the ID was made, to 4 ms';

CREATE FUNCTION sno_tick_tock(sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_tick_tock(sno) IS 'the bit of the ID that changes when the clock steps back';

CREATE FUNCTION sno_metabyte(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_metabyte(sno) IS 'the byte of the application';

CREATE FUNCTION sno_partition(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_partition(sno) IS 'server and generator that made the ID';

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
COMMENT ON FUNCTION sno_make(timestamptz, integer, integer, integer, boolean) IS 'ID of these fields';

CREATE FUNCTION sno_with_metabyte(sno, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_metabyte(sno, integer) IS 'the same ID with another metabyte';

--
-- Masked IDs, for those who are not to see the time
--

-- A cost of 20, since a call takes as long as some twenty operators: so the planner masks after a sort and a LIMIT.

CREATE FUNCTION sno_mask(id sno, key bytea, context text DEFAULT '') RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sno_mask(sno, bytea, text) IS 'the ID encrypted with a key, as 16 characters of the same alphabet';

CREATE FUNCTION sno_unmask(masked text, key bytea, context text DEFAULT '') RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sno_unmask(text, bytea, text) IS 'the ID that sno_mask has encrypted with the same key and context';

--
-- Bounds for range scans and partitions
--

CREATE FUNCTION sno_lower(timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_lower(timestamptz) IS 'smallest ID at or after a time';

CREATE FUNCTION sno_upper(timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_upper(timestamptz) IS 'largest ID at or before a time';

-- Comparisons with a time, which the planner's support function replaces by comparisons with an ID, so that any index can
-- be used. The operators are in no operator family, since no index knows an order between an ID and a time. There is no =
-- with a time: that would be a range of IDs, too.

CREATE FUNCTION sno_time_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_time_support(internal) IS 'planner support for comparisons of sno and timestamptz';

CREATE FUNCTION sno_lt_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_lt_time(sno, timestamptz) IS 'implementation of < operator';

CREATE FUNCTION sno_ge_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_ge_time(sno, timestamptz) IS 'implementation of >= operator';

CREATE FUNCTION time_gt_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_gt_sno(timestamptz, sno) IS 'implementation of > operator';

CREATE FUNCTION time_le_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_le_sno(timestamptz, sno) IS 'implementation of <= operator';

CREATE FUNCTION sno_le_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_le_time(sno, timestamptz) IS 'implementation of <= operator';

CREATE FUNCTION sno_gt_time(sno, timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION sno_gt_time(sno, timestamptz) IS 'implementation of > operator';

CREATE FUNCTION time_ge_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_ge_sno(timestamptz, sno) IS 'implementation of >= operator';

CREATE FUNCTION time_lt_sno(timestamptz, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support;
COMMENT ON FUNCTION time_lt_sno(timestamptz, sno) IS 'implementation of < operator';

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

CREATE OPERATOR <= (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_le_time, COMMUTATOR = >=, NEGATOR = >
);
COMMENT ON OPERATOR <= (sno, timestamptz) IS 'made then or earlier';

CREATE OPERATOR > (
    LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_gt_time, COMMUTATOR = <, NEGATOR = <=
);
COMMENT ON OPERATOR > (sno, timestamptz) IS 'made after';

CREATE OPERATOR >= (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_ge_sno, COMMUTATOR = <=, NEGATOR = <
);
COMMENT ON OPERATOR >= (timestamptz, sno) IS 'not before it was made';

CREATE OPERATOR < (
    LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = time_lt_sno, COMMUTATOR = >, NEGATOR = >=
);
COMMENT ON OPERATOR < (timestamptz, sno) IS 'before it was made';

CREATE FUNCTION sno_between(id sno, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT sno_time_support
    RETURN id >= sno_lower(since) AND id < sno_lower(until);
COMMENT ON FUNCTION sno_between(sno, timestamptz, timestamptz) IS 'whether an ID is at or after a time and before another';

--
-- Partitions by time
--

-- Everything that knows the type is in SQL bodies, whose names are resolved once, when the extension is created: so
-- they work wherever the extension is moved to, and nobody can slip in a function of the same name. plpgsql makes
-- the checks and the DDL, and sees nothing but pg_catalog.

CREATE FUNCTION sno_is_partition_key(parent regclass) RETURNS boolean
    LANGUAGE SQL STABLE PARALLEL SAFE
    RETURN EXISTS (
        SELECT FROM pg_partitioned_table p
        JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
        WHERE p.partrelid = parent::oid AND p.partstrat = 'r'::"char" AND p.partnatts = 1::int2 AND a.atttypid = 'sno'::regtype::oid
    );
COMMENT ON FUNCTION sno_is_partition_key(regclass) IS 'whether a table is partitioned by ranges of a column of type sno';

CREATE FUNCTION sno_partitions(
        parent regclass, OUT partition regclass, OUT since timestamptz, OUT until timestamptz
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT child, coalesce(sno_time(lower::sno), '-infinity'::timestamptz),
           -- A bound in the middle of a tick, made by hand: not all of the tick is before it.
           coalesce(sno_time(upper::sno)
                + CASE WHEN upper::sno > sno_lower(sno_time(upper::sno)) THEN '4 ms'::interval ELSE '0'::interval END,
                'infinity'::timestamptz)
    FROM (
        SELECT c.oid::regclass AS child, b.parts[1] AS lower, b.parts[2] AS upper
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid,
        regexp_match(pg_get_expr(c.relpartbound, c.oid),
            $re$^FOR VALUES FROM \((?:'([2-9a-x]{16})'|MINVALUE)\) TO \((?:'([2-9a-x]{16})'|MAXVALUE)\)$$re$::text) b(parts)
        WHERE i.inhparent = parent::oid AND b.parts IS NOT NULL AND sno_is_partition_key(parent)
    ) children
    ORDER BY 2;
END;
COMMENT ON FUNCTION sno_partitions(regclass) IS 'partitions of a table that is partitioned by sno, with the times that they are for, except the default one';

CREATE FUNCTION sno_partition_spans(
        width interval, since timestamptz, until timestamptz,
        OUT since timestamptz, OUT until timestamptz
    ) RETURNS SETOF record
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT s AT TIME ZONE 'UTC'::text, (s + $1) AT TIME ZONE 'UTC'::text
    FROM (SELECT
            extract(year FROM $1)::integer * 12 + extract(month FROM $1)::integer AS width,
            extract(year FROM $2 AT TIME ZONE 'UTC'::text)::integer * 12
                + extract(month FROM $2 AT TIME ZONE 'UTC'::text)::integer - (2010 * 12 + 1) AS since) months,
        generate_series(
            CASE WHEN months.width > 0
                THEN '2010-01-01'::timestamp + $1 * (months.since / months.width)::double precision
                -- From a Monday on. The planner may try out what it does not need, so this is never given months.
                ELSE date_bin(CASE WHEN months.width > 0 THEN '1 day'::interval ELSE $1 END,
                    $2 AT TIME ZONE 'UTC'::text, '2001-01-01'::timestamp)
            END,
            $3 AT TIME ZONE 'UTC'::text, $1) s
    WHERE s < $3 AT TIME ZONE 'UTC'::text;
END;
COMMENT ON FUNCTION sno_partition_spans(interval, timestamptz, timestamptz) IS 'spans of time of a width that meet a range, from midnight UTC, Monday or the first of a month on';

CREATE FUNCTION sno_partition_bounds(since timestamptz, until timestamptz) RETURNS text
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN pg_catalog.format('FOR VALUES FROM (%L) TO (%L)'::text, sno_lower(since)::text, sno_lower(until)::text);
COMMENT ON FUNCTION sno_partition_bounds(timestamptz, timestamptz) IS 'partition bounds for a range of time, as ALTER TABLE ... ATTACH PARTITION takes them';

CREATE FUNCTION sno_partition_gaps(
        parent regclass, width interval, since timestamptz, until timestamptz,
        OUT since timestamptz, OUT until timestamptz, OUT bounds text
    ) RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    -- What of a span has no partition yet: all of it, or what is left between others.
    SELECT pg_catalog.lower(gap), pg_catalog.upper(gap), sno_partition_bounds(pg_catalog.lower(gap), pg_catalog.upper(gap))
    FROM sno_partition_spans($2, $3, $4) s,
        pg_catalog.unnest(tstzmultirange(tstzrange(s.since, s.until)) OPERATOR(pg_catalog.-) coalesce(
            (SELECT pg_catalog.range_agg(tstzrange(p.since, p.until)) FROM sno_partitions($1) p), '{}'::tstzmultirange)) gap
    -- None is for less than 4 ms, nor for what no ID can hold.
    WHERE sno_lower(pg_catalog.lower(gap)) < sno_lower(pg_catalog.upper(gap))
    ORDER BY 1;
END;
COMMENT ON FUNCTION sno_partition_gaps(regclass, interval, timestamptz, timestamptz) IS 'the partitions that a table lacks for a range of time, with their bounds';

-- Volatile, so that it sees what the calling statement has made.
CREATE FUNCTION sno_partition_name(partition regclass) RETURNS text
    LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE
    RETURN (
        SELECT pg_catalog.format('%I.%I'::text, n.nspname, c.relname)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = partition::oid
    );
COMMENT ON FUNCTION sno_partition_name(regclass) IS 'name of a table with its schema, with any search path';

CREATE FUNCTION sno_check_spans(width interval, since timestamptz, until timestamptz) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    months integer;
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
        RAISE EXCEPTION 'partitions would end before they start: "%" to "%"', since, until
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF since < '2010-01-01 00:00Z' OR until > '2079-09-07 15:47:35.548Z' THEN
        RAISE EXCEPTION 'timestamp out of range for type sno: "%"', CASE WHEN since < '2010-01-01 00:00Z' THEN since ELSE until END
            USING ERRCODE = 'datetime_field_overflow',
                DETAIL = 'A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.';
    END IF;
    -- In UTC, as the spans are.
    IF until AT TIME ZONE 'UTC' > since AT TIME ZONE 'UTC' + width * 1000 THEN
        RAISE EXCEPTION 'more than 1000 partitions from "%" to "%"', since, until
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Give a larger width, or a shorter time.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_check_spans(interval, timestamptz, timestamptz) IS 'fail unless partitions of a width can be made for a range of time';

-- Locks a table for changes of its partitions: against others who make them, but not against readers and writers. With a
-- change, also the tables that this will lock and that others use: the partitions to be removed, the default partition, and
-- what foreign keys lead from and to. It waits for a lock only while it holds none of them: if one can't be had at once, it
-- gives all of them back, and waits for that one. Tables that are always in use can't be had so: after 20 attempts it waits for
-- each up to 100 ms. What the caller may not lock is left to the change.
CREATE FUNCTION sno_lock_partitions(parent regclass, is_key boolean, change text, removed regclass[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    timeout text := current_setting('lock_timeout');
    patience interval := nullif(timeout, '0')::interval;
    began timestamptz := clock_timestamp();
    attempt integer := 0;
    patient boolean;
    missed text;
    wanted record;
    pending record;
BEGIN
    IF parent IS NULL THEN
        RAISE EXCEPTION 'table must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF NOT is_key THEN
        RAISE EXCEPTION 'table "%" is not partitioned by range of a single column of type sno',
            coalesce((SELECT relname FROM pg_class WHERE oid = parent), parent::text)
            USING ERRCODE = 'wrong_object_type',
                HINT = 'Create it with PARTITION BY RANGE (id).';
    END IF;
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'cannot change partitions in a transaction with isolation level %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state',
                DETAIL = 'Such a transaction would not see the partitions that others have made or removed meanwhile.',
                HINT = 'Use READ COMMITTED.';
    END IF;
    LOOP
        patient := true;
        attempt := attempt + 1;
        BEGIN
            -- All waits together take as long as one may.
            IF patience IS NOT NULL THEN
                PERFORM set_config('lock_timeout',
                    ceil(greatest(extract(epoch FROM patience - (clock_timestamp() - began)) * 1000, 1)) || 'ms', true);
            END IF;
            FOR wanted IN
                SELECT l.related, command
                FROM (
                    SELECT 1, parent::oid, true, CASE WHEN change IN ('detach', 'drop') THEN 'ACCESS EXCLUSIVE' ELSE 'SHARE UPDATE EXCLUSIVE' END
                    UNION ALL
                    SELECT 2, inhrelid, false, 'ACCESS EXCLUSIVE' FROM pg_inherits WHERE inhparent = parent AND inhrelid = ANY (removed)
                    UNION ALL
                    SELECT 3, partdefid, false, 'ACCESS EXCLUSIVE' FROM pg_partitioned_table WHERE partrelid = parent AND change IS NOT NULL
                    UNION ALL
                    SELECT 4, conrelid, true, CASE change WHEN 'attach' THEN 'SHARE ROW EXCLUSIVE' ELSE 'ACCESS EXCLUSIVE' END
                    FROM pg_constraint WHERE confrelid = parent AND contype = 'f' AND change IS NOT NULL
                    UNION ALL
                    SELECT 5, confrelid, false, CASE change WHEN 'drop' THEN 'ACCESS EXCLUSIVE' ELSE 'SHARE ROW EXCLUSIVE' END
                    FROM pg_constraint WHERE conrelid = parent AND contype = 'f' AND change IS NOT NULL
                ) l(place, related, alone, mode)
                JOIN pg_class c ON c.oid = l.related JOIN pg_namespace n ON n.oid = c.relnamespace,
                    format('LOCK TABLE %s%I.%I IN %s MODE', CASE WHEN l.alone THEN 'ONLY ' ELSE '' END, n.nspname, c.relname, l.mode) command
                WHERE l.place = 1 OR c.relkind IN ('r', 'p') AND NOT (l.place = 4 AND c.relispartition)
                    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE')
                -- The one that is waited for comes first.
                ORDER BY command <> missed, l.place
            LOOP
                EXECUTE wanted.command || CASE WHEN patient OR attempt > 20 THEN '' ELSE ' NOWAIT' END;
                patient := false;
                IF attempt > 20 THEN
                    PERFORM set_config('lock_timeout', '100ms', true);
                END IF;
            END LOOP;
            PERFORM set_config('lock_timeout', timeout, true);
            EXIT;
        EXCEPTION
            WHEN lock_not_available THEN
                IF patient THEN
                    RAISE;
                END IF;
                missed := wanted.command;
            WHEN undefined_table OR invalid_schema_name THEN
                -- Somebody has dropped it. Of the table itself that is an error.
                IF wanted.related = parent THEN
                    RAISE;
                END IF;
        END;
    END LOOP;
    IF patient THEN
        RAISE EXCEPTION 'relation with OID % does not exist', parent::oid USING ERRCODE = 'undefined_table';
    END IF;
    SELECT c.relname, c.oid::regclass AS partition INTO pending FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent AND i.inhdetachpending;
    IF FOUND THEN
        RAISE EXCEPTION 'partition "%" has been detached only in part', pending.relname
            USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = 'DETACH PARTITION ... CONCURRENTLY was interrupted.',
                HINT = format('Run ALTER TABLE %s DETACH PARTITION %s FINALIZE.', parent, pending.partition);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_lock_partitions(regclass, boolean, text, regclass[]) IS 'lock a table for a change of its partitions, and the tables that the change concerns, without a deadlock';

CREATE FUNCTION sno_add_partition(
        parent regclass, width interval, since timestamptz, until timestamptz, bounds text
    ) RETURNS regclass
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    options text;
    schema name;
    table_name name;
    owner name;
    child name;
BEGIN
    SELECT n.nspname, c.relname, r.rolname,
           coalesce(' USING ' || quote_ident(a.amname), '') || coalesce(' TABLESPACE ' || quote_ident(t.spcname), '')
    INTO schema, table_name, owner, options
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
    LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
    WHERE c.oid = parent;
    child := table_name || to_char(since AT TIME ZONE 'UTC', CASE
        WHEN width >= '1 day' AND since = date_trunc('day', since, 'UTC') THEN '_YYYYMMDD'
        WHEN since = date_trunc('minute', since) THEN '_YYYYMMDD_HH24MI'
        ELSE '_YYYYMMDD_HH24MISSMS' END);
    IF octet_length(table_name) > 43 THEN
        RAISE EXCEPTION 'name of table "%" is too long to name partitions after', table_name
            USING ERRCODE = 'name_too_long', DETAIL = 'There must be room for the time.';
    END IF;
    IF to_regclass(format('%I.%I', schema, child)) IS NOT NULL THEN
        RAISE EXCEPTION 'relation "%" already exists', child
            USING ERRCODE = 'duplicate_table',
                DETAIL = format('It is not the partition of "%s" from %s to %s.', table_name, since, until),
                HINT = 'It may have been detached: attach it again, rename it, or drop it.';
    END IF;
    -- Not PARTITION OF, whose lock waits for all readers and lets no other pass meanwhile.
    EXECUTE format('CREATE TABLE %I.%I (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED '
        'INCLUDING STORAGE INCLUDING COMPRESSION)%s', schema, child, parent, options);
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE %I.%I OWNER TO %I', schema, child, owner);
    END IF;
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %I.%I %s', parent, schema, child, bounds);
    RETURN format('%I.%I', schema, child)::regclass;
END
$$;
COMMENT ON FUNCTION sno_add_partition(regclass, interval, timestamptz, timestamptz, text) IS 'create a table and attach it as a partition';

CREATE FUNCTION sno_create_partitions(
        parent regclass, width interval, since timestamptz, until timestamptz
    ) RETURNS SETOF regclass
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT sno_check_spans(width, since, until);
    SELECT sno_lock_partitions(parent, sno_is_partition_key(parent),
        CASE WHEN EXISTS (SELECT FROM sno_partition_gaps(parent, $2, $3, $4)) THEN 'attach'::text END, '{}'::regclass[]);
    -- By way of an array, so that all are made, however many rows the caller takes.
    SELECT pg_catalog.unnest(ARRAY(
        SELECT sno_add_partition(parent, $2, gap.since, gap.until, gap.bounds) FROM sno_partition_gaps(parent, $2, $3, $4) gap));
END;
COMMENT ON FUNCTION sno_create_partitions(regclass, interval, timestamptz, timestamptz) IS 'create the partitions that a table lacks for a range of time';

CREATE FUNCTION sno_check_expiry(before timestamptz, drop_them boolean) RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF before IS NULL OR drop_them IS NULL THEN
        RAISE EXCEPTION 'time and kind of expiry must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF before > now() THEN
        RAISE EXCEPTION 'partitions cannot expire before their time: "%"', before
            USING ERRCODE = 'invalid_parameter_value', DETAIL = 'The time is in the future.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_check_expiry(timestamptz, boolean) IS 'fail unless partitions that end before a time may expire';

CREATE FUNCTION sno_remove_partition(parent regclass, partition regclass, drop_it boolean) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    child text;
    kind text;
BEGIN
    SELECT format('%I.%I', n.nspname, c.relname), CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END
    INTO child, kind
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = partition;
    EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', parent, child);
    IF drop_it THEN
        EXECUTE format('DROP %s %s', kind, child);
    END IF;
    RETURN child;
END
$$;
COMMENT ON FUNCTION sno_remove_partition(regclass, regclass, boolean) IS 'detach a partition, and drop it only if drop_it is true';

CREATE FUNCTION sno_expire_partitions(
        parent regclass, before timestamptz, drop_them boolean DEFAULT false
    ) RETURNS SETOF text
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT sno_check_expiry(before, drop_them);
    SELECT sno_lock_partitions(parent, sno_is_partition_key(parent), CASE
            WHEN old.partitions OPERATOR(pg_catalog.=) '{}'::regclass[] THEN NULL
            WHEN drop_them THEN 'drop'::text
            ELSE 'detach'::text
        END, old.partitions)
    FROM (SELECT ARRAY(SELECT p.partition FROM sno_partitions(parent) p WHERE p.until <= before)) old(partitions);
    SELECT pg_catalog.unnest(ARRAY(
        SELECT sno_remove_partition(parent, p.partition, drop_them) FROM sno_partitions(parent) p WHERE p.until <= before));
END;
COMMENT ON FUNCTION sno_expire_partitions(regclass, timestamptz, boolean) IS 'detach the partitions that end before a time, and drop them only if drop_them is true';

CREATE FUNCTION sno_check_upkeep(ahead integer, retention interval, drop_expired boolean) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF ahead IS NULL OR ahead < 0 THEN
        RAISE EXCEPTION 'invalid number of partitions ahead: %', coalesce(ahead::text, 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF retention <= '0' THEN
        RAISE EXCEPTION 'retention must be longer than nothing: "%"', retention
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF drop_expired AND retention IS NULL THEN
        RAISE EXCEPTION 'nothing expires without a retention' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Give a retention, or leave drop_expired alone.';
    END IF;
END
$$;
COMMENT ON FUNCTION sno_check_upkeep(integer, interval, boolean) IS 'fail unless these are arguments of sno_maintain_partitions';

CREATE FUNCTION sno_upkeep_until(width interval, ahead integer) RETURNS timestamptz
    LANGUAGE SQL STABLE PARALLEL SAFE
    RETURN greatest((now() AT TIME ZONE 'UTC'::text + width * ahead::double precision) AT TIME ZONE 'UTC'::text, now() + '1 us'::interval);
COMMENT ON FUNCTION sno_upkeep_until(interval, integer) IS 'end of the time for which upkeep creates partitions, in UTC';

CREATE FUNCTION sno_maintain_partitions(
        parent regclass, width interval, ahead integer DEFAULT 3,
        retention interval DEFAULT NULL, drop_expired boolean DEFAULT false,
        OUT action text, OUT partition text
    ) RETURNS SETOF record
    LANGUAGE SQL VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT sno_check_upkeep(ahead, retention, drop_expired);
    SELECT sno_check_spans(width, now(), sno_upkeep_until(width, ahead));
    -- For both steps at once.
    SELECT sno_lock_partitions(parent, sno_is_partition_key(parent), CASE
            WHEN old.partitions OPERATOR(pg_catalog.<>) '{}'::regclass[] THEN CASE WHEN drop_expired THEN 'drop'::text ELSE 'detach'::text END
            WHEN EXISTS (SELECT FROM sno_partition_gaps(parent, width, now(), sno_upkeep_until(width, ahead))) THEN 'attach'::text
        END, old.partitions)
    FROM (SELECT ARRAY(SELECT p.partition FROM sno_partitions(parent) p
        WHERE p.until <= (now() AT TIME ZONE 'UTC'::text - retention) AT TIME ZONE 'UTC'::text)) old(partitions);
    -- Sorted, so that all is done, however many rows the caller takes.
    SELECT done.action, done.partition
    FROM (
        SELECT 'created'::text, sno_partition_name(c.partition), 1, c.place
        FROM sno_create_partitions(parent, width, now(), sno_upkeep_until(width, ahead)) WITH ORDINALITY c(partition, place)
        UNION ALL
        SELECT CASE WHEN drop_expired THEN 'dropped'::text ELSE 'detached'::text END, e.partition, 2, e.place
        FROM (SELECT (now() AT TIME ZONE 'UTC'::text - retention) AT TIME ZONE 'UTC'::text WHERE retention IS NOT NULL) old(before),
            sno_expire_partitions(parent, old.before, drop_expired) WITH ORDINALITY e(partition, place)
    ) done(action, partition, step, place)
    ORDER BY done.step, done.place;
END;
COMMENT ON FUNCTION sno_maintain_partitions(regclass, interval, integer, interval, boolean) IS 'create the partitions for now and the time ahead, and detach or drop those that are entirely older than a retention';

--
-- Casts: explicit, but for that to text, which is an assignment as every type's is
--

CREATE FUNCTION sno_to_bytea(sno) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_bytea(sno) IS 'the ten bytes of an ID';

CREATE FUNCTION sno_from_bytea(bytea) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_bytea(bytea) IS 'the ID of ten bytes';

CREATE FUNCTION sno_to_uuid(sno) RETURNS uuid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuid(sno) IS 'the characters of an ID as the bytes of a uuid';

CREATE FUNCTION sno_from_uuid(uuid) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_uuid(uuid) IS 'the ID whose characters are the bytes of a uuid';

CREATE CAST (sno AS text) WITH INOUT AS ASSIGNMENT;
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
CREATE CAST (timestamptz AS sno) WITH FUNCTION sno_lower(timestamptz);
COMMENT ON CAST (timestamptz AS sno) IS 'smallest ID not made before';
