-- A stand-in for the extension sno, to read its dumps where it is not installed: on PostgreSQL 14 or later, also as a
-- managed service, by any role that may create objects. The type is a text, so rows, keys, indexes and foreign keys are
-- restored as they were, and the functions read the times and other fields of IDs. It generates none. docs/leaving.md
-- says how to use it, and what it cannot do.
--
-- Run this before the restore, in the schema that the extension had, which is the first one of the search_path here:
--
--     psql -1 -v ON_ERROR_STOP=1 -f stand-in.sql
--     pg_restore --no-owner -d target dump       # or psql -f dump.sql

-- With the collation C, texts are in the order of the IDs.
CREATE DOMAIN sno AS text COLLATE "C" CHECK (VALUE ~ '^[2-9a-x]{16}$');
COMMENT ON DOMAIN sno IS 'ID of 16 characters that sorts by time: a stand-in for the type of the extension sno';

--
-- Eight of the sixteen characters are 40 bits: first the time and the tick-tock bit, then the other fields
--

CREATE FUNCTION sno_stand_in_number(half text) RETURNS bigint
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 1, 1)) - 1)::bigint << 35)
        | ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 2, 1)) - 1)::bigint << 30)
        | ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 3, 1)) - 1)::bigint << 25)
        | ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 4, 1)) - 1)::bigint << 20)
        | ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 5, 1)) - 1)::bigint << 15)
        | ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 6, 1)) - 1)::bigint << 10)
        | ((strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 7, 1)) - 1)::bigint << 5)
        | (strpos('23456789abcdefghijklmnopqrstuvwx', substr(half, 8, 1)) - 1)::bigint;
COMMENT ON FUNCTION sno_stand_in_number(text) IS 'internal: 40 bits of 8 characters';

CREATE FUNCTION sno_stand_in_text(number bigint) RETURNS text
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN substr('23456789abcdefghijklmnopqrstuvwx', (number >> 35 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number >> 30 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number >> 25 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number >> 20 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number >> 15 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number >> 10 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number >> 5 & 31::bigint)::integer + 1, 1)
        || substr('23456789abcdefghijklmnopqrstuvwx', (number & 31::bigint)::integer + 1, 1);
COMMENT ON FUNCTION sno_stand_in_text(bigint) IS 'internal: 8 characters of 40 bits';

--
-- The parts of an ID
--

CREATE FUNCTION sno_time(sno) RETURNS timestamptz
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN to_timestamp(
        ((sno_stand_in_number(left($1, 8)) >> 1) * 4 + 1262304000000)::double precision / 1000.0::double precision);
COMMENT ON FUNCTION sno_time(sno) IS 'when the ID was generated, to 4 ms';

CREATE FUNCTION sno_tick_tock(sno) RETURNS boolean
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN sno_stand_in_number(left($1, 8)) & 1::bigint = 1;
COMMENT ON FUNCTION sno_tick_tock(sno) IS 'the bit of the ID that changes when the clock steps back';

CREATE FUNCTION sno_metabyte(sno) RETURNS integer
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN sno_stand_in_number(right($1, 8)) >> 32;
COMMENT ON FUNCTION sno_metabyte(sno) IS 'the byte of the application';

CREATE FUNCTION sno_partition(sno) RETURNS integer
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN sno_stand_in_number(right($1, 8)) >> 16 & 65535::bigint;
COMMENT ON FUNCTION sno_partition(sno) IS 'partition: the server and the generator of the ID';

CREATE FUNCTION sno_sequence(sno) RETURNS integer
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN sno_stand_in_number(right($1, 8)) & 65535::bigint;
COMMENT ON FUNCTION sno_sequence(sno) IS 'number of the ID within its tick of 4 ms and its partition';

CREATE FUNCTION sno_inspect(
        sno, OUT "time" timestamptz, OUT tick_tock boolean, OUT metabyte integer, OUT partition integer,
            OUT sequence integer
    ) RETURNS record
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT sno_time($1), sno_tick_tock($1), sno_metabyte($1), sno_partition($1), sno_sequence($1);
END;
COMMENT ON FUNCTION sno_inspect(sno) IS 'all fields of an ID';

--
-- IDs of given fields, and bounds
--

CREATE FUNCTION sno_stand_in_fail(message text, state text, detail text) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL SAFE
AS $$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = state, DETAIL = detail;
END
$$;
COMMENT ON FUNCTION sno_stand_in_fail(text, text, text) IS 'internal: fail with a message, a SQLSTATE and a detail';

CREATE FUNCTION sno_make(at timestamptz, metabyte integer, partition integer, sequence integer,
    tick_tock boolean DEFAULT false) RETURNS sno
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE
        WHEN at < '2010-01-01 00:00Z' OR at >= '2079-09-07 15:47:35.552Z' THEN
            sno_stand_in_fail(pg_catalog.format('timestamp out of range for type sno: "%s"', at), '22008',
                'A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.')
        WHEN metabyte NOT BETWEEN 0 AND 255 OR partition NOT BETWEEN 0 AND 65535
            OR sequence NOT BETWEEN 0 AND 65535 THEN
            sno_stand_in_fail(pg_catalog.format('metabyte, partition or sequence out of range: %s, %s, %s', metabyte,
                partition, sequence), '22003',
                'A metabyte is between 0 and 255, a partition and a sequence between 0 and 65535.')
        ELSE sno_stand_in_text(floor((extract(epoch FROM at) - 1262304000.0) * 250.0)::bigint * 2 + tick_tock::integer)
            || sno_stand_in_text((metabyte::bigint << 32) | (partition::bigint << 16) | sequence::bigint) END;
COMMENT ON FUNCTION sno_make(timestamptz, integer, integer, integer, boolean)
    IS 'ID of a time, a metabyte of 0 to 255, a partition and a sequence number of 0 to 65535';

CREATE FUNCTION sno_with_metabyte(sno, metabyte integer) RETURNS sno
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE
        WHEN metabyte NOT BETWEEN 0 AND 255 THEN sno_stand_in_fail(
            pg_catalog.format('metabyte out of range: %s', metabyte), '22003', 'A metabyte is between 0 and 255.')
        ELSE left($1, 8) || sno_stand_in_text((metabyte::bigint << 32) |
            (sno_stand_in_number(right($1, 8)) & 4294967295)) END;
COMMENT ON FUNCTION sno_with_metabyte(sno, integer) IS 'the same ID with another metabyte';

CREATE FUNCTION sno_lower(timestamptz) RETURNS sno
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE
        WHEN $1 <= '2010-01-01 00:00Z' THEN '2222222222222222'
        WHEN $1 > '2079-09-07 15:47:35.548Z' THEN 'xxxxxxxxxxxxxxxx'
        ELSE sno_stand_in_text(ceil((extract(epoch FROM $1) - 1262304000.0) * 250.0)::bigint * 2) || '22222222' END;
COMMENT ON FUNCTION sno_lower(timestamptz) IS 'smallest ID at or after a time';

CREATE FUNCTION sno_upper(timestamptz) RETURNS sno
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE
        WHEN $1 < '2010-01-01 00:00Z' THEN '2222222222222222'
        WHEN $1 > '2079-09-07 15:47:35.548Z' THEN 'xxxxxxxxxxxxxxxx'
        ELSE sno_stand_in_text(floor((extract(epoch FROM $1) - 1262304000.0) * 250.0)::bigint * 2 + 1)
            || 'xxxxxxxx' END;
COMMENT ON FUNCTION sno_upper(timestamptz) IS 'largest ID at or before a time';

CREATE FUNCTION sno_between(id sno, since timestamptz, until timestamptz) RETURNS boolean
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN id >= sno_lower(since) AND id < sno_lower(until);
COMMENT ON FUNCTION sno_between(sno, timestamptz, timestamptz)
    IS 'whether an ID is at or after a time and before another';

--
-- Comparisons with a time. A dump names the operators without a schema, so they would have to be in pg_catalog: only a
-- superuser can create them.
--

DO $do$
DECLARE
    o record;
BEGIN
    IF NOT has_schema_privilege('pg_catalog', 'CREATE') THEN
        RAISE NOTICE 'operators between a sno and a time are not created' USING
            DETAIL = 'Only a superuser can create them where a dump finds them: docs/leaving.md says what depends on '
                'them.';
        RETURN;
    END IF;
    FOR o IN
        SELECT * FROM (VALUES ('<', '>', 'lt', 'generated before', 'id < sno_lower(at)'),
            ('<=', '>=', 'le', 'generated then or earlier', 'id <= sno_upper(at)'),
            ('>', '<', 'gt', 'generated after', 'id > sno_upper(at)'),
            ('>=', '<=', 'ge', 'generated then or later', 'id >= sno_lower(at)')
        ) v(operator, commutator, name, comment, body)
    LOOP
        EXECUTE pg_catalog.format($sql$
            CREATE FUNCTION sno_stand_in_%3$s(id sno, at timestamptz) RETURNS boolean
                LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE RETURN %5$s;
            CREATE FUNCTION sno_stand_in_%3$s(at timestamptz, id sno) RETURNS boolean
                LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE RETURN %5$s;
            COMMENT ON FUNCTION sno_stand_in_%3$s(sno, timestamptz) IS 'internal: implementation of %1$s operator';
            COMMENT ON FUNCTION sno_stand_in_%3$s(timestamptz, sno) IS 'internal: implementation of %2$s operator';
            CREATE OPERATOR pg_catalog.%1$s (LEFTARG = sno, RIGHTARG = timestamptz, FUNCTION = sno_stand_in_%3$s);
            CREATE OPERATOR pg_catalog.%2$s (LEFTARG = timestamptz, RIGHTARG = sno, FUNCTION = sno_stand_in_%3$s);
            COMMENT ON OPERATOR pg_catalog.%1$s (sno, timestamptz) IS %4$L;
            COMMENT ON OPERATOR pg_catalog.%2$s (timestamptz, sno) IS %4$L;
        $sql$, o.operator, o.commutator, o.name, o.comment, o.body);
    END LOOP;
END
$do$;

--
-- To and from a uuid of version 7
--

CREATE FUNCTION sno_to_uuidv7(sno) RETURNS uuid
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex((sno_stand_in_number(left($1, 8)) >> 1) * 4 + 1262304000000), 12, '0')
        || '7' || lpad(to_hex(((sno_stand_in_number(left($1, 8)) & 1::bigint) << 11) |
            (sno_stand_in_number(right($1, 8)) >> 29)), 3, '0')
        || to_hex(2147483648 | ((sno_stand_in_number(right($1, 8)) & 536870911::bigint) << 1)) || '00000000')::uuid;
COMMENT ON FUNCTION sno_to_uuidv7(sno) IS 'a uuid of version 7 with the fields of an ID';

CREATE FUNCTION uuidv7_to_sno(uuid) RETURNS sno
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT
AS $$
DECLARE
    digits text := translate($1::text, '-', '');
    high bigint := ('x' || substr(digits, 14, 3))::bit(12)::bigint;
    low bigint := ('x' || substr(digits, 17, 8))::bit(32)::bigint;
    tick bigint := (('x' || left(digits, 12))::bit(48)::bigint - 1262304000000) / 4;
    id sno := sno_stand_in_text(tick * 2 + (high >> 11))
        || sno_stand_in_text(((high & 2047::bigint) << 29) | (low >> 1 & 536870911::bigint));
BEGIN
    IF sno_to_uuidv7(id) <> $1 THEN
        RAISE EXCEPTION 'uuid does not hold a sno: "%"', $1 USING ERRCODE = 'invalid_text_representation',
            DETAIL = 'It is not a result of sno_to_uuidv7.';
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION uuidv7_to_sno(uuid) IS 'the ID that sno_to_uuidv7 turned into a uuid';

--
-- What needs the extension: these exist, so that defaults and views that name them are restored, and fail when they are
-- called
--

CREATE FUNCTION sno_new(metabyte integer DEFAULT 0) RETURNS sno
    LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE
    RETURN sno_stand_in_fail('cannot generate a sno without the extension sno', '0A000',
        'This database has its stand-in: docs/leaving.md says how to give a column another type and default.');
COMMENT ON FUNCTION sno_new(integer) IS 'fails: the extension sno is not installed';

CREATE FUNCTION sno_new(metabyte integer, at timestamptz) RETURNS sno
    LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE
    RETURN sno_new(metabyte);
COMMENT ON FUNCTION sno_new(integer, timestamptz) IS 'fails: the extension sno is not installed';

CREATE FUNCTION sno_horizon(margin interval DEFAULT '1 s') RETURNS sno
    LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE
    RETURN sno_stand_in_fail('there is no horizon without the extension sno', '0A000',
        'This database has its stand-in, which knows no transactions.');
COMMENT ON FUNCTION sno_horizon(interval) IS 'fails: the extension sno is not installed';

CREATE FUNCTION sno_holds_horizon(sno) RETURNS boolean
    LANGUAGE SQL VOLATILE STRICT PARALLEL SAFE
    RETURN sno_horizon() < $1;
COMMENT ON FUNCTION sno_holds_horizon(sno) IS 'fails: the extension sno is not installed';

CREATE FUNCTION sno_mask(id sno, key bytea, context text DEFAULT '') RETURNS text
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN sno_stand_in_fail('cannot mask a sno without the extension sno', '0A000',
        'The libraries for Python, JavaScript and Go mask and unmask.');
COMMENT ON FUNCTION sno_mask(sno, bytea, text) IS 'fails: the extension sno is not installed';

CREATE FUNCTION sno_unmask(masked text, key bytea, context text DEFAULT '') RETURNS sno
    LANGUAGE SQL IMMUTABLE STRICT PARALLEL SAFE
    RETURN sno_stand_in_fail('cannot unmask a sno without the extension sno', '0A000',
        'The libraries for Python, JavaScript and Go mask and unmask.');
COMMENT ON FUNCTION sno_unmask(text, bytea, text) IS 'fails: the extension sno is not installed';
