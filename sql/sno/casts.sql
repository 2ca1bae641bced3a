--
-- Casts to and from other types, all explicit
--

CREATE FUNCTION sno_internal.sno_to_uuid(sno) RETURNS uuid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_to_uuid(sno) IS 'internal: the characters of an ID as the bytes of a uuid';
CREATE FUNCTION sno_internal.sno_from_uuid(uuid) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_from_uuid(uuid) IS 'internal: the ID whose characters are the bytes of a uuid';
CREATE FUNCTION sno_to_uuidv7(sno) RETURNS uuid
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuidv7(sno) IS 'a uuid of version 7 with the fields of an ID';
CREATE FUNCTION uuidv7_to_sno(uuid) RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuidv7_to_sno(uuid) IS 'the ID that sno_to_uuidv7 turned into a uuid';

CREATE CAST (sno AS uuid) WITH FUNCTION sno_internal.sno_to_uuid(sno);
COMMENT ON CAST (sno AS uuid) IS 'the 16 characters as 16 bytes, in the same order';
CREATE CAST (uuid AS sno) WITH FUNCTION sno_internal.sno_from_uuid(uuid);
COMMENT ON CAST (uuid AS sno) IS 'from a uuid that was converted from a sno';
CREATE CAST (timestamptz AS sno) WITH FUNCTION sno_lower(timestamptz);
COMMENT ON CAST (timestamptz AS sno) IS 'smallest ID not generated before';
