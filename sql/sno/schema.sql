--
-- What the functions in PL/pgSQL need of the above, whatever the schema of the extension is called
--

CREATE FUNCTION sno_internal.id_type() RETURNS oid
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN 'sno'::regtype::oid;
COMMENT ON FUNCTION sno_internal.id_type() IS 'internal: the type sno';
CREATE FUNCTION sno_internal.id_types() RETURNS SETOF oid
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    WITH RECURSIVE own(type) AS (
        SELECT sno_internal.id_type()
        UNION
        SELECT t.oid FROM own o JOIN pg_type t ON t.typbasetype = o.type AND t.typtype = 'd'
    )
    SELECT o.type FROM own o;
END;
COMMENT ON FUNCTION sno_internal.id_types() IS 'internal: the type sno and all domains over it';
CREATE FUNCTION sno_internal.schema() RETURNS regnamespace
    LANGUAGE SQL STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT t.typnamespace::regnamespace FROM pg_type t WHERE t.oid = sno_internal.id_type();
END;
COMMENT ON FUNCTION sno_internal.schema() IS 'internal: the schema of the extension';
CREATE FUNCTION sno_internal.sno_new(metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_internal.sno_new(integer) IS 'internal: sno_new()';
CREATE FUNCTION sno_internal.sno_horizon(margin interval) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_internal.sno_horizon(interval) IS 'internal: sno_horizon()';
CREATE FUNCTION sno_internal.sno_last(timestamptz, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_last(timestamptz, boolean) IS 'internal: sno_last()';
