--
-- What only sno has
--

COMMENT ON TYPE sno IS 'unique ID of 10 bytes that sorts by time and has one byte for the application';
COMMENT ON OPERATOR FAMILY sno_ops USING btree IS 'by time, then by the other fields';
COMMENT ON OPERATOR CLASS sno_ops USING btree IS 'by time, then by the other fields';

CREATE FUNCTION sno_internal.sno_ineqsel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_ineqsel(internal, oid, internal, integer) IS
    'internal: restriction selectivity of <, <=, > and >= operators on sno';

CREATE FUNCTION sno_internal.sno_ineqjoinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_ineqjoinsel(internal, oid, internal, smallint, internal) IS
    'internal: join selectivity of <, <=, > and >= operators on sno';

ALTER OPERATOR pg_catalog.< (sno, sno) SET (RESTRICT = sno_internal.sno_ineqsel, JOIN = sno_internal.sno_ineqjoinsel);
ALTER OPERATOR pg_catalog.<= (sno, sno) SET (RESTRICT = sno_internal.sno_ineqsel, JOIN = sno_internal.sno_ineqjoinsel);
ALTER OPERATOR pg_catalog.> (sno, sno) SET (RESTRICT = sno_internal.sno_ineqsel, JOIN = sno_internal.sno_ineqjoinsel);
ALTER OPERATOR pg_catalog.>= (sno, sno) SET (RESTRICT = sno_internal.sno_ineqsel, JOIN = sno_internal.sno_ineqjoinsel);

-- Stable, since the length of a day depends on the time zone.
CREATE FUNCTION sno_internal.sno_in_range(sno, sno, interval, boolean, boolean) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_in_range(sno, sno, interval, boolean, boolean) IS 'internal: window RANGE support';
ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 3
    (sno, interval) sno_internal.sno_in_range(sno, sno, interval, boolean, boolean);

-- Skip scans came with PostgreSQL 18.
DO $do$
BEGIN
    IF pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 180000 THEN
        EXECUTE $sql$
            CREATE FUNCTION sno_internal.sno_skipsupport(internal) RETURNS void
                AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
        $sql$;
        COMMENT ON FUNCTION sno_internal.sno_skipsupport(internal) IS 'internal: skip support';
        ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 6 (sno, sno) sno_internal.sno_skipsupport(internal);
    END IF;
END
$do$;

CREATE FUNCTION sno_internal.sno_brin_distance(sno, sno) RETURNS double precision
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_brin_distance(sno, sno) IS 'internal: BRIN multi minmax distance';

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
    FUNCTION 11 sno_internal.sno_brin_distance(sno, sno);
COMMENT ON OPERATOR CLASS sno_minmax_multi_ops USING brin IS 'several spans of sno for each range of pages';
COMMENT ON OPERATOR FAMILY sno_minmax_multi_ops USING brin IS 'several spans of sno for each range of pages';
