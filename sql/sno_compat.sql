-- The SQL objects of the extension sno_compat.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sno_compat" to load this file. \quit

-- The schema that the extension goes to is searched before that of the extension sno, and may belong to anyone: the
-- library's functions must not be declared with another type of that name. (Only exact types here: nothing else there
-- can be a better match than PostgreSQL's own.)
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
        WHERE d.classid = 'pg_catalog.pg_type'::regclass::oid AND d.objid = 'sno'::regtype::oid
            AND d.refclassid = 'pg_catalog.pg_extension'::regclass::oid AND d.deptype = 'e'::"char" AND e.extname = 'sno'::name
    ) THEN
        RAISE EXCEPTION 'type "sno" of the chosen schema is not that of the extension sno'
            USING ERRCODE = 'duplicate_object', HINT = 'Create the extension in another schema.';
    END IF;
END
$$;

--
-- Snowflake-SI: a bigint. What depends on settings is STABLE, and comes again with arguments for them, IMMUTABLE
--

CREATE FUNCTION snowflake_si_new() RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_new() IS 'new unique Snowflake-SI ID';

CREATE FUNCTION snowflake_si_time(id bigint) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_time(bigint) IS 'when the Snowflake-SI ID was made, by this server''s base clock';

CREATE FUNCTION snowflake_si_time(id bigint, base_clock timestamptz) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'snowflake_si_time_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_time(bigint, timestamptz) IS 'when the Snowflake-SI ID was made, by a base clock';

CREATE FUNCTION snowflake_si_machine(id bigint) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_machine(bigint) IS 'machine that made the Snowflake-SI ID, by this server''s setting';

CREATE FUNCTION snowflake_si_machine(id bigint, machine_bits integer) RETURNS integer
    AS 'MODULE_PATHNAME', 'snowflake_si_machine_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_machine(bigint, integer) IS 'machine that made the Snowflake-SI ID, in so many bits';

CREATE FUNCTION snowflake_si_index(id bigint) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_index(bigint) IS 'number within millisecond and machine, by this server''s setting';

CREATE FUNCTION snowflake_si_index(id bigint, machine_bits integer) RETURNS integer
    AS 'MODULE_PATHNAME', 'snowflake_si_index_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_index(bigint, integer) IS 'number within millisecond and machine, where the machine has so many bits';

CREATE FUNCTION snowflake_si_inspect(
        id bigint, OUT "time" timestamptz, OUT machine integer, OUT index integer
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_inspect(bigint) IS 'all parts of a Snowflake-SI ID, by this server''s settings';

CREATE FUNCTION snowflake_si_inspect(
        id bigint, base_clock timestamptz, machine_bits integer,
        OUT "time" timestamptz, OUT machine integer, OUT index integer
    ) RETURNS record
    AS 'MODULE_PATHNAME', 'snowflake_si_inspect_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_inspect(bigint, timestamptz, integer) IS 'all parts of a Snowflake-SI ID';

CREATE FUNCTION snowflake_si_make(at timestamptz, machine integer, index integer) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_make(timestamptz, integer, integer) IS 'Snowflake-SI ID of these parts, by this server''s settings';

CREATE FUNCTION snowflake_si_make(
        at timestamptz, machine integer, index integer, base_clock timestamptz, machine_bits integer
    ) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_si_make_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_make(timestamptz, integer, integer, timestamptz, integer) IS 'Snowflake-SI ID of these parts';

CREATE FUNCTION snowflake_si_lower(at timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_lower(timestamptz) IS 'smallest Snowflake-SI ID at or after a time, by this server''s base clock';

CREATE FUNCTION snowflake_si_lower(at timestamptz, base_clock timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_si_lower_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_lower(timestamptz, timestamptz) IS 'smallest Snowflake-SI ID at or after a time, by a base clock';

CREATE FUNCTION snowflake_si_upper(at timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_upper(timestamptz) IS 'largest Snowflake-SI ID at or before a time, by this server''s base clock';

CREATE FUNCTION snowflake_si_upper(at timestamptz, base_clock timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_si_upper_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_upper(timestamptz, timestamptz) IS 'largest Snowflake-SI ID at or before a time, by a base clock';

CREATE FUNCTION snowflake_si_to_sno(id bigint, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_to_sno(bigint, integer) IS 'the same ID as a sno, by this server''s base clock';

CREATE FUNCTION snowflake_si_to_sno(id bigint, metabyte integer, base_clock timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME', 'snowflake_si_to_sno_by' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_to_sno(bigint, integer, timestamptz) IS 'the same ID as a sno, by a base clock';

--
-- uid60: the type, its input and output
--

CREATE TYPE uid60;

CREATE FUNCTION uid60_in(cstring) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_in(cstring) IS 'I/O';

CREATE FUNCTION uid60_out(uid60) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_out(uid60) IS 'I/O';

CREATE FUNCTION uid60_recv(internal) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_recv(internal) IS 'I/O';

CREATE FUNCTION uid60_send(uid60) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_send(uid60) IS 'I/O';

CREATE TYPE uid60 (
    INPUT = uid60_in,
    OUTPUT = uid60_out,
    RECEIVE = uid60_recv,
    SEND = uid60_send,
    INTERNALLENGTH = 8,
    PASSEDBYVALUE,
    ALIGNMENT = double,
    STORAGE = plain
);
COMMENT ON TYPE uid60 IS 'unique ID of 60 bits and 10 characters that sorts by time';

--
-- uid60: comparison
--

CREATE FUNCTION uid60_eq(uid60, uid60) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_eq(uid60, uid60) IS 'implementation of = operator';

CREATE FUNCTION uid60_ne(uid60, uid60) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_ne(uid60, uid60) IS 'implementation of <> operator';

CREATE FUNCTION uid60_lt(uid60, uid60) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_lt(uid60, uid60) IS 'implementation of < operator';

CREATE FUNCTION uid60_le(uid60, uid60) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_le(uid60, uid60) IS 'implementation of <= operator';

CREATE FUNCTION uid60_gt(uid60, uid60) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_gt(uid60, uid60) IS 'implementation of > operator';

CREATE FUNCTION uid60_ge(uid60, uid60) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_ge(uid60, uid60) IS 'implementation of >= operator';

CREATE OPERATOR = (
    LEFTARG = uid60, RIGHTARG = uid60, FUNCTION = uid60_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (uid60, uid60) IS 'equal';

CREATE OPERATOR <> (
    LEFTARG = uid60, RIGHTARG = uid60, FUNCTION = uid60_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (uid60, uid60) IS 'not equal';

CREATE OPERATOR < (
    LEFTARG = uid60, RIGHTARG = uid60, FUNCTION = uid60_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (uid60, uid60) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = uid60, RIGHTARG = uid60, FUNCTION = uid60_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (uid60, uid60) IS 'less than or equal';

CREATE OPERATOR > (
    LEFTARG = uid60, RIGHTARG = uid60, FUNCTION = uid60_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (uid60, uid60) IS 'greater than';

CREATE OPERATOR >= (
    LEFTARG = uid60, RIGHTARG = uid60, FUNCTION = uid60_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (uid60, uid60) IS 'greater than or equal';

--
-- uid60: index support
--

CREATE FUNCTION uid60_cmp(uid60, uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_cmp(uid60, uid60) IS 'less-equal-greater';

CREATE FUNCTION uid60_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_sortsupport(internal) IS 'sort support';

CREATE OPERATOR FAMILY uid60_ops USING btree;
COMMENT ON OPERATOR FAMILY uid60_ops USING btree IS 'order of the numbers, which is that of time';

CREATE OPERATOR CLASS uid60_ops DEFAULT FOR TYPE uid60 USING btree FAMILY uid60_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 uid60_cmp(uid60, uid60),
    FUNCTION 2 uid60_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS uid60_ops USING btree IS 'order of the numbers, which is that of time';

CREATE FUNCTION uid60_hash(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_hash(uid60) IS 'hash';

CREATE FUNCTION uid60_hash_extended(uid60, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_hash_extended(uid60, bigint) IS 'hash';

CREATE OPERATOR FAMILY uid60_ops USING hash;
COMMENT ON OPERATOR FAMILY uid60_ops USING hash IS 'equality of uid60';

CREATE OPERATOR CLASS uid60_ops DEFAULT FOR TYPE uid60 USING hash FAMILY uid60_ops AS
    OPERATOR 1 =,
    FUNCTION 1 uid60_hash(uid60),
    FUNCTION 2 uid60_hash_extended(uid60, bigint);
COMMENT ON OPERATOR CLASS uid60_ops USING hash IS 'equality of uid60';

CREATE OPERATOR CLASS uid60_minmax_ops DEFAULT FOR TYPE uid60 USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS uid60_minmax_ops USING brin IS 'first and last uid60 of each range of pages';
COMMENT ON OPERATOR FAMILY uid60_minmax_ops USING brin IS 'first and last uid60 of each range of pages';

CREATE OPERATOR CLASS uid60_bloom_ops FOR TYPE uid60 USING brin AS
    OPERATOR 1 =,
    FUNCTION 1 brin_bloom_opcinfo(internal),
    FUNCTION 2 brin_bloom_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_bloom_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_bloom_union(internal, internal, internal),
    FUNCTION 5 brin_bloom_options(internal),
    FUNCTION 11 uid60_hash(uid60);
COMMENT ON OPERATOR CLASS uid60_bloom_ops USING brin IS 'Bloom filter of the uid60 of each range of pages';
COMMENT ON OPERATOR FAMILY uid60_bloom_ops USING brin IS 'Bloom filter of the uid60 of each range of pages';

--
-- uid60: aggregates
--

CREATE FUNCTION uid60_larger(uid60, uid60) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_larger(uid60, uid60) IS 'larger of two';

CREATE FUNCTION uid60_smaller(uid60, uid60) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_smaller(uid60, uid60) IS 'smaller of two';

CREATE AGGREGATE max(uid60) (
    SFUNC = uid60_larger, STYPE = uid60, COMBINEFUNC = uid60_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(uid60) IS 'maximum of all input uid60';

CREATE AGGREGATE min(uid60) (
    SFUNC = uid60_smaller, STYPE = uid60, COMBINEFUNC = uid60_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(uid60) IS 'minimum of all input uid60';

--
-- uid60: generation, parts, bounds, casts
--

CREATE FUNCTION uid60_new() RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_new() IS 'new unique uid60';

CREATE FUNCTION uid60_time(uid60) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_time(uid60) IS 'when the uid60 was made, to the second';

CREATE FUNCTION uid60_worker(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_worker(uid60) IS 'worker that made the uid60';

CREATE FUNCTION uid60_sequence(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_sequence(uid60) IS 'number within second and worker';

CREATE FUNCTION uid60_random(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_random(uid60) IS 'the random bits of the uid60';

CREATE FUNCTION uid60_inspect(
        uid60, OUT "time" timestamptz, OUT worker integer, OUT sequence integer, OUT random integer
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_inspect(uid60) IS 'all parts of a uid60';

CREATE FUNCTION uid60_make(at timestamptz, worker integer, sequence integer, random integer) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_make(timestamptz, integer, integer, integer) IS 'uid60 of these parts';

CREATE FUNCTION uid60_lower(timestamptz) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_lower(timestamptz) IS 'smallest uid60 at or after a time';

CREATE FUNCTION uid60_upper(timestamptz) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_upper(timestamptz) IS 'largest uid60 at or before a time';

CREATE FUNCTION uid60_to_bigint(uid60) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_to_bigint(uid60) IS 'the number of a uid60';

CREATE FUNCTION uid60_from_bigint(bigint) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_from_bigint(bigint) IS 'the uid60 of a number';

CREATE FUNCTION uid60_to_bytea(uid60) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_to_bytea(uid60) IS 'the number of a uid60 as eight bytes';

CREATE FUNCTION uid60_from_bytea(bytea) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_from_bytea(bytea) IS 'the uid60 of eight bytes';

CREATE FUNCTION uid60_to_sno(uid60, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_to_sno(uid60, integer) IS 'the same ID as a sno';

CREATE CAST (uid60 AS text) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (uid60 AS text) IS 'the 10 characters';
CREATE CAST (text AS uid60) WITH INOUT;
COMMENT ON CAST (text AS uid60) IS 'from 10 characters';
CREATE CAST (uid60 AS bigint) WITH FUNCTION uid60_to_bigint(uid60);
COMMENT ON CAST (uid60 AS bigint) IS 'the number';
CREATE CAST (bigint AS uid60) WITH FUNCTION uid60_from_bigint(bigint);
COMMENT ON CAST (bigint AS uid60) IS 'from a number of 60 bits';
CREATE CAST (uid60 AS bytea) WITH FUNCTION uid60_to_bytea(uid60);
COMMENT ON CAST (uid60 AS bytea) IS 'the number as eight bytes';
CREATE CAST (bytea AS uid60) WITH FUNCTION uid60_from_bytea(bytea);
COMMENT ON CAST (bytea AS uid60) IS 'from eight bytes';
CREATE CAST (uid60 AS timestamptz) WITH FUNCTION uid60_time(uid60);
COMMENT ON CAST (uid60 AS timestamptz) IS 'when the ID was made, to the second';

--
-- uniqueid: the type, its input and output
--

CREATE TYPE uniqueid;

CREATE FUNCTION uniqueid_in(cstring) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_in(cstring) IS 'I/O';

CREATE FUNCTION uniqueid_out(uniqueid) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_out(uniqueid) IS 'I/O';

CREATE FUNCTION uniqueid_recv(internal) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_recv(internal) IS 'I/O';

CREATE FUNCTION uniqueid_send(uniqueid) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_send(uniqueid) IS 'I/O';

CREATE TYPE uniqueid (
    INPUT = uniqueid_in,
    OUTPUT = uniqueid_out,
    RECEIVE = uniqueid_recv,
    SEND = uniqueid_send,
    INTERNALLENGTH = 8,
    PASSEDBYVALUE,
    ALIGNMENT = double,
    STORAGE = plain
);
COMMENT ON TYPE uniqueid IS 'unique ID of 8 bytes and 16 hexadecimal digits';

--
-- uniqueid: comparison
--

CREATE FUNCTION uniqueid_eq(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_eq(uniqueid, uniqueid) IS 'implementation of = operator';

CREATE FUNCTION uniqueid_ne(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_ne(uniqueid, uniqueid) IS 'implementation of <> operator';

CREATE FUNCTION uniqueid_lt(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_lt(uniqueid, uniqueid) IS 'implementation of < operator';

CREATE FUNCTION uniqueid_le(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_le(uniqueid, uniqueid) IS 'implementation of <= operator';

CREATE FUNCTION uniqueid_gt(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_gt(uniqueid, uniqueid) IS 'implementation of > operator';

CREATE FUNCTION uniqueid_ge(uniqueid, uniqueid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_ge(uniqueid, uniqueid) IS 'implementation of >= operator';

CREATE OPERATOR = (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (uniqueid, uniqueid) IS 'equal';

CREATE OPERATOR <> (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (uniqueid, uniqueid) IS 'not equal';

CREATE OPERATOR < (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (uniqueid, uniqueid) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (uniqueid, uniqueid) IS 'less than or equal';

CREATE OPERATOR > (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (uniqueid, uniqueid) IS 'greater than';

CREATE OPERATOR >= (
    LEFTARG = uniqueid, RIGHTARG = uniqueid, FUNCTION = uniqueid_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (uniqueid, uniqueid) IS 'greater than or equal';

--
-- uniqueid: index support
--

CREATE FUNCTION uniqueid_cmp(uniqueid, uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_cmp(uniqueid, uniqueid) IS 'less-equal-greater';

CREATE FUNCTION uniqueid_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_sortsupport(internal) IS 'sort support';

CREATE OPERATOR FAMILY uniqueid_ops USING btree;
COMMENT ON OPERATOR FAMILY uniqueid_ops USING btree IS 'order of the bytes, which is that of time for time-sequential IDs';

CREATE OPERATOR CLASS uniqueid_ops DEFAULT FOR TYPE uniqueid USING btree FAMILY uniqueid_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 uniqueid_cmp(uniqueid, uniqueid),
    FUNCTION 2 uniqueid_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS uniqueid_ops USING btree IS 'order of the bytes, which is that of time for time-sequential IDs';

CREATE FUNCTION uniqueid_hash(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_hash(uniqueid) IS 'hash';

CREATE FUNCTION uniqueid_hash_extended(uniqueid, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_hash_extended(uniqueid, bigint) IS 'hash';

CREATE OPERATOR FAMILY uniqueid_ops USING hash;
COMMENT ON OPERATOR FAMILY uniqueid_ops USING hash IS 'equality of uniqueid';

CREATE OPERATOR CLASS uniqueid_ops DEFAULT FOR TYPE uniqueid USING hash FAMILY uniqueid_ops AS
    OPERATOR 1 =,
    FUNCTION 1 uniqueid_hash(uniqueid),
    FUNCTION 2 uniqueid_hash_extended(uniqueid, bigint);
COMMENT ON OPERATOR CLASS uniqueid_ops USING hash IS 'equality of uniqueid';

-- Small values for ranges of pages, of tables of time-sequential IDs. Spread ones have no such order: they take
-- a Bloom filter.
CREATE OPERATOR CLASS uniqueid_minmax_ops DEFAULT FOR TYPE uniqueid USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS uniqueid_minmax_ops USING brin IS 'first and last uniqueid of each range of pages';
COMMENT ON OPERATOR FAMILY uniqueid_minmax_ops USING brin IS 'first and last uniqueid of each range of pages';

CREATE OPERATOR CLASS uniqueid_bloom_ops FOR TYPE uniqueid USING brin AS
    OPERATOR 1 =,
    FUNCTION 1 brin_bloom_opcinfo(internal),
    FUNCTION 2 brin_bloom_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_bloom_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_bloom_union(internal, internal, internal),
    FUNCTION 5 brin_bloom_options(internal),
    FUNCTION 11 uniqueid_hash(uniqueid);
COMMENT ON OPERATOR CLASS uniqueid_bloom_ops USING brin IS 'Bloom filter of the uniqueid of each range of pages';
COMMENT ON OPERATOR FAMILY uniqueid_bloom_ops USING brin IS 'Bloom filter of the uniqueid of each range of pages';

--
-- uniqueid: aggregates
--

CREATE FUNCTION uniqueid_larger(uniqueid, uniqueid) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_larger(uniqueid, uniqueid) IS 'larger of two';

CREATE FUNCTION uniqueid_smaller(uniqueid, uniqueid) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_smaller(uniqueid, uniqueid) IS 'smaller of two';

CREATE AGGREGATE max(uniqueid) (
    SFUNC = uniqueid_larger, STYPE = uniqueid, COMBINEFUNC = uniqueid_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(uniqueid) IS 'maximum of all input uniqueid';

CREATE AGGREGATE min(uniqueid) (
    SFUNC = uniqueid_smaller, STYPE = uniqueid, COMBINEFUNC = uniqueid_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(uniqueid) IS 'minimum of all input uniqueid';

--
-- uniqueid: generation, parts, bounds, casts
--

CREATE FUNCTION uniqueid_new() RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_new() IS 'new unique uniqueid';

CREATE FUNCTION uniqueid_time(uniqueid) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_time(uniqueid) IS 'when the uniqueid was made, to the millisecond';

CREATE FUNCTION uniqueid_sequence(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_sequence(uniqueid) IS 'number within millisecond and generator';

CREATE FUNCTION uniqueid_generator(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_generator(uniqueid) IS 'generator that made the uniqueid';

CREATE FUNCTION uniqueid_cluster(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_cluster(uniqueid) IS 'where the uniqueid was made';

CREATE FUNCTION uniqueid_form(uniqueid) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_form(uniqueid) IS 'spread or time_sequential';

CREATE FUNCTION uniqueid_inspect(
        uniqueid, OUT "time" timestamptz, OUT sequence integer, OUT generator integer, OUT cluster integer,
        OUT form text
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_inspect(uniqueid) IS 'all parts of a uniqueid';

CREATE FUNCTION uniqueid_make(
        at timestamptz, sequence integer, generator integer, cluster integer, form text
    ) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_make(timestamptz, integer, integer, integer, text) IS 'uniqueid of these parts';

CREATE FUNCTION uniqueid_lower(timestamptz) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_lower(timestamptz) IS 'smallest time-sequential uniqueid at or after a time';

CREATE FUNCTION uniqueid_upper(timestamptz) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_upper(timestamptz) IS 'largest time-sequential uniqueid at or before a time';

CREATE FUNCTION uniqueid_to_bytea(uniqueid) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_to_bytea(uniqueid) IS 'the eight bytes of a uniqueid';

CREATE FUNCTION uniqueid_from_bytea(bytea) RETURNS uniqueid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_from_bytea(bytea) IS 'the uniqueid of eight bytes';

CREATE FUNCTION uniqueid_to_sno(uniqueid, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_to_sno(uniqueid, integer) IS 'the same ID as a sno';

CREATE CAST (uniqueid AS text) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (uniqueid AS text) IS 'the 16 digits';
CREATE CAST (text AS uniqueid) WITH INOUT;
COMMENT ON CAST (text AS uniqueid) IS 'from 16 hexadecimal digits';
CREATE CAST (uniqueid AS bytea) WITH FUNCTION uniqueid_to_bytea(uniqueid);
COMMENT ON CAST (uniqueid AS bytea) IS 'the eight bytes';
CREATE CAST (bytea AS uniqueid) WITH FUNCTION uniqueid_from_bytea(bytea);
COMMENT ON CAST (bytea AS uniqueid) IS 'from eight bytes';
CREATE CAST (uniqueid AS timestamptz) WITH FUNCTION uniqueid_time(uniqueid);
COMMENT ON CAST (uniqueid AS timestamptz) IS 'when the ID was made, to the millisecond';

--
-- gid: the type, its input and output
--

CREATE TYPE gid;

CREATE FUNCTION gid_in(cstring) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_in(cstring) IS 'I/O';

CREATE FUNCTION gid_out(gid) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_out(gid) IS 'I/O';

CREATE FUNCTION gid_recv(internal) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_recv(internal) IS 'I/O';

CREATE FUNCTION gid_send(gid) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_send(gid) IS 'I/O';

CREATE TYPE gid (
    INPUT = gid_in,
    OUTPUT = gid_out,
    RECEIVE = gid_recv,
    SEND = gid_send,
    INTERNALLENGTH = 16,
    ALIGNMENT = char,
    STORAGE = plain
);
COMMENT ON TYPE gid IS 'unique ID of 16 bytes and 24 characters that sorts by prefix, then by time';

--
-- gid: comparison
--

CREATE FUNCTION gid_eq(gid, gid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_eq(gid, gid) IS 'implementation of = operator';

CREATE FUNCTION gid_ne(gid, gid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_ne(gid, gid) IS 'implementation of <> operator';

CREATE FUNCTION gid_lt(gid, gid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_lt(gid, gid) IS 'implementation of < operator';

CREATE FUNCTION gid_le(gid, gid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_le(gid, gid) IS 'implementation of <= operator';

CREATE FUNCTION gid_gt(gid, gid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_gt(gid, gid) IS 'implementation of > operator';

CREATE FUNCTION gid_ge(gid, gid) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_ge(gid, gid) IS 'implementation of >= operator';

CREATE OPERATOR = (
    LEFTARG = gid, RIGHTARG = gid, FUNCTION = gid_eq,
    COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (gid, gid) IS 'equal';

CREATE OPERATOR <> (
    LEFTARG = gid, RIGHTARG = gid, FUNCTION = gid_ne,
    COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (gid, gid) IS 'not equal';

CREATE OPERATOR < (
    LEFTARG = gid, RIGHTARG = gid, FUNCTION = gid_lt,
    COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (gid, gid) IS 'less than';

CREATE OPERATOR <= (
    LEFTARG = gid, RIGHTARG = gid, FUNCTION = gid_le,
    COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (gid, gid) IS 'less than or equal';

CREATE OPERATOR > (
    LEFTARG = gid, RIGHTARG = gid, FUNCTION = gid_gt,
    COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (gid, gid) IS 'greater than';

CREATE OPERATOR >= (
    LEFTARG = gid, RIGHTARG = gid, FUNCTION = gid_ge,
    COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (gid, gid) IS 'greater than or equal';

--
-- gid: index support
--

CREATE FUNCTION gid_cmp(gid, gid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_cmp(gid, gid) IS 'less-equal-greater';

CREATE FUNCTION gid_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_sortsupport(internal) IS 'sort support';

CREATE OPERATOR FAMILY gid_ops USING btree;
COMMENT ON OPERATOR FAMILY gid_ops USING btree IS 'order of the bytes, which is that of prefix and time';

CREATE OPERATOR CLASS gid_ops DEFAULT FOR TYPE gid USING btree FAMILY gid_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 gid_cmp(gid, gid),
    FUNCTION 2 gid_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS gid_ops USING btree IS 'order of the bytes, which is that of prefix and time';

CREATE FUNCTION gid_hash(gid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_hash(gid) IS 'hash';

CREATE FUNCTION gid_hash_extended(gid, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_hash_extended(gid, bigint) IS 'hash';

CREATE OPERATOR FAMILY gid_ops USING hash;
COMMENT ON OPERATOR FAMILY gid_ops USING hash IS 'equality of gid';

CREATE OPERATOR CLASS gid_ops DEFAULT FOR TYPE gid USING hash FAMILY gid_ops AS
    OPERATOR 1 =,
    FUNCTION 1 gid_hash(gid),
    FUNCTION 2 gid_hash_extended(gid, bigint);
COMMENT ON OPERATOR CLASS gid_ops USING hash IS 'equality of gid';

CREATE OPERATOR CLASS gid_minmax_ops DEFAULT FOR TYPE gid USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS gid_minmax_ops USING brin IS 'first and last gid of each range of pages';
COMMENT ON OPERATOR FAMILY gid_minmax_ops USING brin IS 'first and last gid of each range of pages';

CREATE OPERATOR CLASS gid_bloom_ops FOR TYPE gid USING brin AS
    OPERATOR 1 =,
    FUNCTION 1 brin_bloom_opcinfo(internal),
    FUNCTION 2 brin_bloom_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_bloom_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_bloom_union(internal, internal, internal),
    FUNCTION 5 brin_bloom_options(internal),
    FUNCTION 11 gid_hash(gid);
COMMENT ON OPERATOR CLASS gid_bloom_ops USING brin IS 'Bloom filter of the gid of each range of pages';
COMMENT ON OPERATOR FAMILY gid_bloom_ops USING brin IS 'Bloom filter of the gid of each range of pages';

--
-- gid: aggregates
--

CREATE FUNCTION gid_larger(gid, gid) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_larger(gid, gid) IS 'larger of two';

CREATE FUNCTION gid_smaller(gid, gid) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_smaller(gid, gid) IS 'smaller of two';

CREATE AGGREGATE max(gid) (
    SFUNC = gid_larger, STYPE = gid, COMBINEFUNC = gid_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(gid) IS 'maximum of all input gid';

CREATE AGGREGATE min(gid) (
    SFUNC = gid_smaller, STYPE = gid, COMBINEFUNC = gid_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(gid) IS 'minimum of all input gid';

--
-- gid: generation, parts, bounds, casts
--

CREATE FUNCTION gid_new(prefix text) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_new(text) IS 'new gid of a prefix: volume, log or segment';

CREATE FUNCTION gid_prefix(gid) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_prefix(gid) IS 'volume, log or segment';

CREATE FUNCTION gid_time(gid) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_time(gid) IS 'when the gid was made, to the millisecond';

CREATE FUNCTION gid_tail(gid) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_tail(gid) IS 'the last nine bytes of a gid: the random part, and the byte before it';

CREATE FUNCTION gid_inspect(
        gid, OUT prefix text, OUT "time" timestamptz, OUT tail bytea
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_inspect(gid) IS 'all parts of a gid';

CREATE FUNCTION gid_make(prefix text, at timestamptz, tail bytea) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_make(text, timestamptz, bytea) IS 'gid of these parts';

CREATE FUNCTION gid_lower(prefix text, at timestamptz) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_lower(text, timestamptz) IS 'smallest gid of a prefix at or after a time';

CREATE FUNCTION gid_upper(prefix text, at timestamptz) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_upper(text, timestamptz) IS 'largest gid of a prefix at or before a time';

CREATE FUNCTION gid_to_bytea(gid) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_to_bytea(gid) IS 'the 16 bytes of a gid';

CREATE FUNCTION gid_from_bytea(bytea) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_from_bytea(bytea) IS 'the gid of 16 bytes';

CREATE FUNCTION gid_from_uuid(uuid) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_from_uuid(uuid) IS 'the gid whose 16 bytes a uuid has';

CREATE CAST (gid AS text) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (gid AS text) IS 'the 24 characters';
CREATE CAST (text AS gid) WITH INOUT;
COMMENT ON CAST (text AS gid) IS 'from 24 characters';
CREATE CAST (gid AS bytea) WITH FUNCTION gid_to_bytea(gid);
COMMENT ON CAST (gid AS bytea) IS 'the 16 bytes';
CREATE CAST (bytea AS gid) WITH FUNCTION gid_from_bytea(bytea);
COMMENT ON CAST (bytea AS gid) IS 'from 16 bytes';
CREATE CAST (gid AS uuid) WITHOUT FUNCTION;
COMMENT ON CAST (gid AS uuid) IS 'the 16 bytes, in the same order';
CREATE CAST (uuid AS gid) WITH FUNCTION gid_from_uuid(uuid);
COMMENT ON CAST (uuid AS gid) IS 'from a uuid that was made from a gid';
CREATE CAST (gid AS timestamptz) WITH FUNCTION gid_time(gid);
COMMENT ON CAST (gid AS timestamptz) IS 'when the ID was made, to the millisecond';

--
-- What the generators show
--

CREATE FUNCTION sno_compat_generators(
        OUT system text, OUT slot integer, OUT number integer, OUT last_time timestamptz, OUT sequence integer,
        OUT safe_time timestamptz, OUT overflows bigint, OUT waited interval
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION sno_compat_generators() IS 'generators in use since the server started';

CREATE VIEW sno_compat_generators AS
    SELECT system, slot, number, last_time, sequence, safe_time, overflows, waited FROM sno_compat_generators();
GRANT SELECT ON sno_compat_generators TO PUBLIC;
COMMENT ON VIEW sno_compat_generators IS 'generators in use since the server started';
COMMENT ON COLUMN sno_compat_generators.system IS 'which of the systems';
COMMENT ON COLUMN sno_compat_generators.slot IS 'place in the system''s table of generators';
COMMENT ON COLUMN sno_compat_generators.number IS 'machine, worker or generator that used it last';
COMMENT ON COLUMN sno_compat_generators.last_time IS 'time of its last ID';
COMMENT ON COLUMN sno_compat_generators.sequence IS 'number of its last ID';
COMMENT ON COLUMN sno_compat_generators.safe_time IS 'it waits while the clock is before this time';
COMMENT ON COLUMN sno_compat_generators.overflows IS 'how often a caller found all numbers of a tick taken';
COMMENT ON COLUMN sno_compat_generators.waited IS 'time that backends spent waiting for it, in total';
