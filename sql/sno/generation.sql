--
-- Generation
--

CREATE FUNCTION sno_new(metabyte integer DEFAULT 0) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_new(integer) IS 'new unique ID with this metabyte';
CREATE FUNCTION sno_new(metabyte integer, at timestamptz) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_new_at' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_new(integer, timestamptz) IS 'new ID of a given time, for rows from elsewhere';
