-- From 0.1.0 to 0.2.0: what ALTER EXTENSION sno UPDATE runs.

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sno UPDATE" to load this file. \quit

-- A server that was upgraded to PostgreSQL 18 by pg_upgrade lacks what 18 brought: see
-- sno--0.2.0-pg_upgrade--0.2.0.sql, which is the same.
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
