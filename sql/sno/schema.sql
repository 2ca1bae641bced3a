--
-- What the functions in PL/pgSQL need of the above, whatever the schema of the extension is called
--

CREATE FUNCTION sno_internal.id_type() RETURNS oid
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN 'sno'::regtype::oid;
COMMENT ON FUNCTION sno_internal.id_type() IS 'internal: the type sno';
-- From the type down to the one it is over: any role can create domains over sno, as many as it likes.
CREATE FUNCTION sno_internal.is_id_type(type oid) RETURNS boolean
    LANGUAGE SQL STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE base(oid) AS (
        SELECT is_id_type.type
        UNION
        SELECT t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.oid AND t.typtype = 'd'
    )
    SELECT EXISTS (SELECT FROM base b WHERE b.oid = sno_internal.id_type());
END;
COMMENT ON FUNCTION sno_internal.is_id_type(oid) IS 'internal: whether a type is sno or a domain over it';
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
