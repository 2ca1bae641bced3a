-- The SQL objects of the extension sno.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sno" to load this file. \quit

-- What users never call is in a schema of its own. Only the extension's script creates it, so nobody else can put
-- anything in there, and its name stays: the functions' texts name it, and never the schema of the extension, which may
-- be renamed.
CREATE SCHEMA sno_internal;
COMMENT ON SCHEMA sno_internal IS 'internals of the extension sno';
GRANT USAGE ON SCHEMA sno_internal TO PUBLIC;

-- What every type has. dev/install makes the types of sno_compat of this part, too, with their names in place of this
-- one.

--
-- The type, its input and output
--

CREATE TYPE sno;

CREATE FUNCTION sno_internal.sno_in(cstring) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_in(cstring) IS 'internal: I/O';
CREATE FUNCTION sno_internal.sno_out(sno) RETURNS cstring
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_out(sno) IS 'internal: I/O';
CREATE FUNCTION sno_internal.sno_recv(internal) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_recv(internal) IS 'internal: I/O';
CREATE FUNCTION sno_internal.sno_send(sno) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_send(sno) IS 'internal: I/O';

CREATE TYPE sno (
    INPUT = sno_internal.sno_in,
    OUTPUT = sno_internal.sno_out,
    RECEIVE = sno_internal.sno_recv,
    SEND = sno_internal.sno_send,
    INTERNALLENGTH = 10,
    ALIGNMENT = char,
    STORAGE = plain
);

--
-- Comparison
--

CREATE FUNCTION sno_internal.sno_eq(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_eq(sno, sno) IS 'internal: implementation of = operator';
CREATE FUNCTION sno_internal.sno_ne(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_ne(sno, sno) IS 'internal: implementation of <> operator';
CREATE FUNCTION sno_internal.sno_lt(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_lt(sno, sno) IS 'internal: implementation of < operator';
CREATE FUNCTION sno_internal.sno_le(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_le(sno, sno) IS 'internal: implementation of <= operator';
CREATE FUNCTION sno_internal.sno_gt(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_gt(sno, sno) IS 'internal: implementation of > operator';
CREATE FUNCTION sno_internal.sno_ge(sno, sno) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_ge(sno, sno) IS 'internal: implementation of >= operator';

CREATE OPERATOR pg_catalog.= (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_internal.sno_eq,
    COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>), RESTRICT = eqsel,
        JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (sno, sno) IS 'equal';
CREATE OPERATOR pg_catalog.<> (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_internal.sno_ne,
    COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=), RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR pg_catalog.<> (sno, sno) IS 'not equal';
CREATE OPERATOR pg_catalog.< (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_internal.sno_lt,
    COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=), RESTRICT = scalarltsel,
        JOIN = scalarltjoinsel);
COMMENT ON OPERATOR pg_catalog.< (sno, sno) IS 'less than';
CREATE OPERATOR pg_catalog.<= (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_internal.sno_le,
    COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>), RESTRICT = scalarlesel,
        JOIN = scalarlejoinsel);
COMMENT ON OPERATOR pg_catalog.<= (sno, sno) IS 'less than or equal';
CREATE OPERATOR pg_catalog.> (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_internal.sno_gt,
    COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=), RESTRICT = scalargtsel,
        JOIN = scalargtjoinsel);
COMMENT ON OPERATOR pg_catalog.> (sno, sno) IS 'greater than';
CREATE OPERATOR pg_catalog.>= (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_internal.sno_ge,
    COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<), RESTRICT = scalargesel,
        JOIN = scalargejoinsel);
COMMENT ON OPERATOR pg_catalog.>= (sno, sno) IS 'greater than or equal';

--
-- Index support
--

CREATE FUNCTION sno_internal.sno_cmp(sno, sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_cmp(sno, sno) IS 'internal: less-equal-greater';
CREATE FUNCTION sno_internal.sno_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_sortsupport(internal) IS 'internal: sort support';

CREATE OPERATOR FAMILY sno_ops USING btree;

CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING btree FAMILY sno_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 sno_internal.sno_cmp(sno, sno),
    FUNCTION 2 sno_internal.sno_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);

CREATE FUNCTION sno_internal.sno_hash(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_hash(sno) IS 'internal: hash';
CREATE FUNCTION sno_internal.sno_hash_extended(sno, bigint) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_hash_extended(sno, bigint) IS 'internal: hash';

CREATE OPERATOR FAMILY sno_ops USING hash;
COMMENT ON OPERATOR FAMILY sno_ops USING hash IS 'equality of sno';
CREATE OPERATOR CLASS sno_ops DEFAULT FOR TYPE sno USING hash FAMILY sno_ops AS
    OPERATOR 1 =,
    FUNCTION 1 sno_internal.sno_hash(sno),
    FUNCTION 2 sno_internal.sno_hash_extended(sno, bigint);
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
    FUNCTION 11 sno_internal.sno_hash(sno);
COMMENT ON OPERATOR CLASS sno_bloom_ops USING brin IS 'Bloom filter of the sno of each range of pages';
COMMENT ON OPERATOR FAMILY sno_bloom_ops USING brin IS 'Bloom filter of the sno of each range of pages';

--
-- Aggregates
--

CREATE FUNCTION sno_internal.sno_larger(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_larger(sno, sno) IS 'internal: larger of two';
CREATE FUNCTION sno_internal.sno_smaller(sno, sno) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_smaller(sno, sno) IS 'internal: smaller of two';

CREATE AGGREGATE pg_catalog.max(sno) (
    SFUNC = sno_internal.sno_larger, STYPE = sno, COMBINEFUNC = sno_internal.sno_larger,
        SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.max(sno) IS 'maximum of all input sno';

CREATE AGGREGATE pg_catalog.min(sno) (
    SFUNC = sno_internal.sno_smaller, STYPE = sno, COMBINEFUNC = sno_internal.sno_smaller,
        SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.min(sno) IS 'minimum of all input sno';

--
-- Time and bytes; those to and from text are PostgreSQL's own for every type: explicit, and assignments to text
--

CREATE FUNCTION sno_time(sno) RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_time(sno) IS 'when the ID was generated, to 4 ms';
CREATE FUNCTION sno_internal.sno_to_bytea(sno) RETURNS bytea
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_to_bytea(sno) IS 'internal: the bytes of a sno, most significant first';
CREATE FUNCTION sno_internal.sno_from_bytea(bytea) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_from_bytea(bytea) IS 'internal: the sno of these bytes';

CREATE CAST (sno AS timestamptz) WITH FUNCTION sno_time(sno);
COMMENT ON CAST (sno AS timestamptz) IS 'when the ID was generated, to 4 ms';
CREATE CAST (sno AS bytea) WITH FUNCTION sno_internal.sno_to_bytea(sno);
COMMENT ON CAST (sno AS bytea) IS 'the bytes, most significant first';
CREATE CAST (bytea AS sno) WITH FUNCTION sno_internal.sno_from_bytea(bytea);
COMMENT ON CAST (bytea AS sno) IS 'from these bytes';
