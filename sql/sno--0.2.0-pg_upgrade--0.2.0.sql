-- What the new server's version of PostgreSQL has beyond the old one's, after pg_upgrade. It changes nothing
-- where nothing is missing.

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sno UPDATE" to load this file. \quit

-- Skip scans came with PostgreSQL 18.
DO $do$
BEGIN
    IF current_setting('server_version_num')::integer >= 180000
        AND to_regprocedure('sno_skipsupport(internal)') IS NULL
    THEN
        EXECUTE $sql$
            CREATE FUNCTION sno_skipsupport(internal) RETURNS void
                AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
        $sql$;
        COMMENT ON FUNCTION sno_skipsupport(internal) IS 'skip support';
        ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 6 (sno, sno) sno_skipsupport(internal);
    END IF;
END
$do$;
