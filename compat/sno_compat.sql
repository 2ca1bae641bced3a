-- The SQL objects of the extension sno_compat. "@type NAME LIKE UNIT" stands for what sno/type.sql has for every type:
-- dev/install puts it there.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sno_compat" to load this file. \quit

-- The schema that the extension goes to is searched before the schema of the extension sno, and may belong to anyone:
-- the library's functions must not be declared with another type of that name.
DO $$
BEGIN
    IF 'sno'::pg_catalog.regtype::pg_catalog.oid OPERATOR(pg_catalog.<>) sno_internal.id_type() THEN
        RAISE EXCEPTION 'type "sno" of the chosen schema does not belong to the extension sno'
            USING ERRCODE = 'duplicate_object', HINT = 'Create the extension in another schema.';
    END IF;
END
$$;

--
-- Snowflake-SI: a bigint. It does not show by which base clock and bits it was made: without an argument for these,
-- this server's settings count
--

CREATE FUNCTION sno_internal.snowflake_si_base_clock() RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.snowflake_si_base_clock() IS 'internal: base clock of this server, from its settings';
CREATE FUNCTION sno_internal.snowflake_si_machine_bits() RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.snowflake_si_machine_bits()
    IS 'internal: number of machine bits of this server, from its settings';
CREATE FUNCTION snowflake_si_new() RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_new() IS 'new unique Snowflake-SI ID';

CREATE FUNCTION snowflake_si_time(id bigint, base_clock timestamptz DEFAULT sno_internal.snowflake_si_base_clock())
    RETURNS timestamptz
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_time(bigint, timestamptz)
    IS 'when the Snowflake-SI ID was generated, to the millisecond';

CREATE FUNCTION snowflake_si_machine(id bigint, machine_bits integer DEFAULT sno_internal.snowflake_si_machine_bits())
    RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_machine(bigint, integer) IS 'machine of the Snowflake-SI ID';

CREATE FUNCTION snowflake_si_index(id bigint, machine_bits integer DEFAULT sno_internal.snowflake_si_machine_bits())
    RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_index(bigint, integer) IS 'number within millisecond and machine';

CREATE FUNCTION snowflake_si_inspect(
        id bigint, base_clock timestamptz DEFAULT sno_internal.snowflake_si_base_clock(),
        machine_bits integer DEFAULT sno_internal.snowflake_si_machine_bits(),
        OUT "time" timestamptz, OUT machine integer, OUT index integer
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_inspect(bigint, timestamptz, integer) IS 'all parts of a Snowflake-SI ID';

CREATE FUNCTION snowflake_si_make(
        at timestamptz, machine integer, index integer,
            base_clock timestamptz DEFAULT sno_internal.snowflake_si_base_clock(),
        machine_bits integer DEFAULT sno_internal.snowflake_si_machine_bits()
    ) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_make(timestamptz, integer, integer, timestamptz, integer)
    IS 'Snowflake-SI ID of these parts';

CREATE FUNCTION snowflake_si_lower(at timestamptz,
    base_clock timestamptz DEFAULT sno_internal.snowflake_si_base_clock()) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_lower(timestamptz, timestamptz) IS 'smallest Snowflake-SI ID at or after a time';

CREATE FUNCTION snowflake_si_upper(at timestamptz,
    base_clock timestamptz DEFAULT sno_internal.snowflake_si_base_clock()) RETURNS bigint
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_upper(timestamptz, timestamptz) IS 'largest Snowflake-SI ID at or before a time';

CREATE FUNCTION snowflake_si_to_sno(
        id bigint, metabyte integer, base_clock timestamptz DEFAULT sno_internal.snowflake_si_base_clock()
    ) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION snowflake_si_to_sno(bigint, integer, timestamptz) IS 'the same ID as a sno';

--
-- uid60
--

@type uid60 bigint second

COMMENT ON TYPE uid60 IS 'unique ID of 60 bits and 10 characters that sorts by time';
COMMENT ON OPERATOR FAMILY uid60_ops USING btree IS 'order of the numbers, and so of time';
COMMENT ON OPERATOR CLASS uid60_ops USING btree IS 'order of the numbers, and so of time';

CREATE FUNCTION uid60_new() RETURNS uid60 AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_new() IS 'new unique uid60';
CREATE FUNCTION uid60_worker(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_worker(uid60) IS 'worker of the uid60';
CREATE FUNCTION uid60_sequence(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_sequence(uid60) IS 'number within second and worker';
CREATE FUNCTION uid60_random(uid60) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uid60_random(uid60) IS 'the random bits of the uid60';

CREATE FUNCTION uid60_inspect(
        uid60, OUT "time" timestamptz, OUT worker integer, OUT sequence integer, OUT random integer
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
CREATE FUNCTION sno_internal.uid60_from_bigint(bigint) RETURNS uid60
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.uid60_from_bigint(bigint) IS 'internal: the uid60 of a number';
CREATE FUNCTION uid60_to_sno(uid60, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uid60_to_sno(uid60, integer) IS 'the same ID as a sno';

CREATE CAST (uid60 AS bigint) WITHOUT FUNCTION;
COMMENT ON CAST (uid60 AS bigint) IS 'the number';
CREATE CAST (bigint AS uid60) WITH FUNCTION sno_internal.uid60_from_bigint(bigint);
COMMENT ON CAST (bigint AS uid60) IS 'from a number of 60 bits';

--
-- uniqueid
--

-- minmax, the default for BRIN, is for time-sequential IDs. Spread ones have no small values for a range of pages: they
-- take a Bloom filter.
@type uniqueid bigint millisecond

COMMENT ON TYPE uniqueid IS 'unique ID of 8 bytes and 16 hexadecimal digits';
COMMENT ON OPERATOR FAMILY uniqueid_ops USING btree IS 'order of the bytes, and so of time for time-sequential IDs';
COMMENT ON OPERATOR CLASS uniqueid_ops USING btree IS 'order of the bytes, and so of time for time-sequential IDs';

CREATE FUNCTION uniqueid_new() RETURNS uniqueid AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_new() IS 'new unique uniqueid';
CREATE FUNCTION uniqueid_sequence(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_sequence(uniqueid) IS 'number within millisecond and generator';
CREATE FUNCTION uniqueid_generator(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_generator(uniqueid) IS 'generator of the uniqueid';
CREATE FUNCTION uniqueid_cluster(uniqueid) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_cluster(uniqueid) IS 'where the uniqueid was generated';
CREATE FUNCTION uniqueid_form(uniqueid) RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_form(uniqueid) IS 'spread or time_sequential';

CREATE FUNCTION uniqueid_inspect(
        uniqueid, OUT "time" timestamptz, OUT sequence integer, OUT generator integer, OUT cluster integer,
        OUT form text
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
CREATE FUNCTION uniqueid_to_sno(uniqueid, metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uniqueid_to_sno(uniqueid, integer) IS 'the same ID as a sno';

CREATE CAST (uniqueid AS bigint) WITHOUT FUNCTION;
COMMENT ON CAST (uniqueid AS bigint) IS 'the 8 bytes as a signed number';
CREATE CAST (bigint AS uniqueid) WITHOUT FUNCTION;
COMMENT ON CAST (bigint AS uniqueid) IS 'from a number of the same 8 bytes';

--
-- gid
--

@type gid uuid millisecond

COMMENT ON TYPE gid IS 'unique ID of 16 bytes and 24 characters that sorts by prefix, then by time';
COMMENT ON OPERATOR FAMILY gid_ops USING btree IS 'order of the bytes, and so of prefix and time';
COMMENT ON OPERATOR CLASS gid_ops USING btree IS 'order of the bytes, and so of prefix and time';

CREATE FUNCTION gid_new(prefix text) RETURNS gid AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION gid_new(text) IS 'new gid of a prefix: volume, log or segment';
CREATE FUNCTION gid_prefix(gid) RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_prefix(gid) IS 'volume, log or segment';
CREATE FUNCTION gid_tail(gid) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION gid_tail(gid) IS 'the last nine bytes of a gid: the random part, and the byte before it';

CREATE FUNCTION gid_inspect(
        gid, OUT prefix text, OUT "time" timestamptz, OUT tail bytea
    ) RETURNS record
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
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
CREATE FUNCTION sno_internal.gid_from_uuid(uuid) RETURNS gid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.gid_from_uuid(uuid) IS 'internal: the gid whose 16 bytes a uuid has';

CREATE CAST (gid AS uuid) WITHOUT FUNCTION;
COMMENT ON CAST (gid AS uuid) IS 'the 16 bytes, in the same order';
CREATE CAST (uuid AS gid) WITH FUNCTION sno_internal.gid_from_uuid(uuid);
COMMENT ON CAST (uuid AS gid) IS 'from a uuid that was converted from a gid';

--
-- What the generators show
--

CREATE FUNCTION sno_compat_generators(
        OUT scheme text, OUT generator integer, OUT number integer, OUT last_time timestamptz, OUT sequence integer,
        OUT safe_time timestamptz, OUT overflows bigint, OUT waited interval
    ) RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION sno_compat_generators() IS 'generators in use since the server started';

-- As of sno.
DO $do$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_settings
        WHERE name OPERATOR(pg_catalog.=) 'sno_compat.uid60_workers' AND context OPERATOR(pg_catalog.=) 'sighup'
    ) THEN
        RAISE WARNING 'sno_compat is not loaded via "shared_preload_libraries"' USING
            DETAIL = 'A server that does not preload sno_compat can store, compare and convert IDs, but not generate '
                'any.',
            HINT = 'Add "sno_compat" to "shared_preload_libraries" in postgresql.conf, and restart the server.';
    END IF;
END $do$;
