--
-- What the functions in PL/pgSQL need of the above, whatever the schema of the extension is called
--

CREATE FUNCTION sno_internal.id_type() RETURNS oid
    LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN 'sno'::regtype::oid;
-- The type sno, and all domains over it.
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
CREATE FUNCTION sno_internal.schema() RETURNS regnamespace
    LANGUAGE SQL STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT t.typnamespace::regnamespace FROM pg_type t WHERE t.oid = sno_internal.id_type();
END;
CREATE FUNCTION sno_internal.sno_new(metabyte integer) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION sno_internal.sno_horizon(margin interval) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION sno_internal.sno_last(timestamptz, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
