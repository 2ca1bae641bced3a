--
-- Rows that several servers commit
--

-- A horizon speaks for the transactions of one server. A table whose rows several servers commit needs a scope, which
-- knows these: an extension that has the functions sno_internal.scope_horizon(interval, sno, text) and
-- sno_internal.scope_read(regclass), as sno_citus does. Without one there is no feed of such a table.

CREATE FUNCTION sno_internal.sno_first(timestamptz, exclusive boolean) RETURNS sno
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_first(timestamptz, boolean) IS 'internal: sno_first()';
CREATE FUNCTION sno_internal.sno_partition(sno) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_partition(sno) IS 'internal: sno_partition()';

-- Distributed and reference tables of Citus, those in its metadata, and the shards of all of them. With the schema
-- before the name: where Citus is not there, the name alone would be that of a caller's temporary table.
CREATE FUNCTION sno_internal.is_distributed(relation oid) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result boolean;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1)
        OR pg_catalog.relation_is_a_known_shard($1)' INTO result USING relation;
    RETURN result;
END
$$;
COMMENT ON FUNCTION sno_internal.is_distributed(oid) IS 'internal: whether Citus distributes a table, or it is a shard';

-- The functions of the scope, for all roles: as the owner of these, a superuser, and only if they belong to an
-- extension.
--
-- A horizon for such rows, below which no row is missing and none will come; but not before what was read, up to an ID.
-- Null while that is not known. `known` is what an earlier answer said of the servers that were asked, and `servers`
-- the same of this one. If a server was not among the known ones, it may have rows that were not read below `after`:
-- after `since`, if that is known, in these partitions.
CREATE FUNCTION sno_internal.sno_scope_horizon(
        margin interval, after sno, known text, OUT horizon sno, OUT servers text, OUT since sno,
        OUT partitions int4multirange
    ) RETURNS record
    AS 'MODULE_PATHNAME', 'sno_in_scope' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_internal.sno_scope_horizon(interval, sno, text) IS
    'internal: scope_horizon() of the extension that knows all servers';
-- Up to which ID all feeds of all servers have read the rows of a table.
CREATE FUNCTION sno_internal.sno_scope_read(source regclass) RETURNS sno
    AS 'MODULE_PATHNAME', 'sno_in_scope' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_internal.sno_scope_read(regclass) IS
    'internal: scope_read() of the extension that knows all servers';
