-- The column of a table that a column of a view shows, as its rule has it; nulls if it shows something else, or if another column somewhere in the
-- rule has the name too and shows another.
CREATE FUNCTION sno_internal.origin(INOUT source regclass, INOUT key name) RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    origins text[];
BEGIN
    WHILE EXISTS (SELECT FROM pg_class WHERE oid = source AND relkind = 'v') LOOP
        SELECT array_agg(DISTINCT o) INTO origins
        FROM pg_rewrite r, regexp_matches(r.ev_action::text, ' :resname ([^ ]+) [^ ]+ [0-9]+ :resorigtbl ([0-9]+) :resorigcol ([0-9]+) ', 'g') o
        WHERE r.ev_class = source AND r.ev_type = '1' AND o[1] = key;
        SELECT attrelid, attname INTO source, key FROM pg_attribute
        WHERE cardinality(origins) = 3 AND attrelid = origins[1][2]::oid AND attnum = origins[1][3]::smallint AND attnum > 0;
    END LOOP;
END
$$;
COMMENT ON FUNCTION sno_internal.origin(regclass, name) IS 'internal: the column of a table that a column of a view shows';

CREATE FUNCTION sno_internal.read_by_all(source regclass) RETURNS sno
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        WITH RECURSIVE own_type(oid) AS (
            SELECT sno_internal.id_type()
            UNION
            SELECT t.oid FROM own_type o JOIN pg_type t ON t.typbasetype = o.oid AND t.typtype = 'd'
        ), own_key AS (
            SELECT min(a.attname::text) AS name
            FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
            WHERE i.indrelid = read_by_all.source AND i.indisprimary AND a.atttypid IN (SELECT o.oid FROM own_type o)
            HAVING count(*) = 1
        )
        -- A feed of the table reads the rows of its partitions, and a feed of a partition some of the table's.
        SELECT CASE WHEN bool_and(coalesce(f.position IS NOT NULL AND o.key = (SELECT k.name FROM own_key k) AND (
            o.source IN (SELECT b.relation FROM sno_internal.base_relations(read_by_all.source) b)
            OR read_by_all.source IN (SELECT b.relation FROM sno_internal.base_relations(o.source) b)
        ), false)) THEN min(f.position) END
        FROM sno_internal.feed_positions f
        CROSS JOIN LATERAL (SELECT coalesce(f.source, to_regclass(f.source_name))) s(source)
        CROSS JOIN LATERAL sno_internal.origin(s.source, f.key) o
        WHERE EXISTS (
            SELECT b.relation FROM sno_internal.base_relations(s.source) b
            INTERSECT SELECT b.relation FROM sno_internal.base_relations(read_by_all.source) b
        )
    );
END
$$;
COMMENT ON FUNCTION sno_internal.read_by_all(regclass) IS 'internal: ID up to which all feeds of a table have read its rows';

CREATE FUNCTION sno_read_by_all(source regclass) RETURNS sno
    LANGUAGE SQL STABLE PARALLEL SAFE
    RETURN sno_internal.read_by_all(source);
COMMENT ON FUNCTION sno_read_by_all(regclass) IS
    'ID up to which all feeds of a table have read its rows; null if there is none, or if one has read nothing or has another key';
