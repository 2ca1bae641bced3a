--
-- Masked IDs, for those who are not to see the time
--

-- A cost of 20, since a call takes as long as some twenty operators: so the planner masks after a sort and a LIMIT.

CREATE FUNCTION sno_mask(id sno, key bytea, context text DEFAULT '') RETURNS text
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sno_mask(sno, bytea, text)
    IS 'the ID encrypted with a key of 16, 24 or 32 bytes, as 16 characters of the same alphabet';

CREATE FUNCTION sno_unmask(masked text, key bytea, context text DEFAULT '') RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sno_unmask(text, bytea, text) IS 'the ID that sno_mask has encrypted with the same key and context';
