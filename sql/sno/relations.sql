-- Which rows the source of a feed has.

-- A table with its partitions and children. It reads a few rows of the catalogs; where these have thousands of
-- partitions, PostgreSQL expects so many that it would compile the query, each time, for hundreds of milliseconds.
CREATE FUNCTION sno_internal.inheritors(of_table regclass) RETURNS TABLE (relation regclass)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
    WITH RECURSIVE tree(oid) AS (
        SELECT of_table::oid
        UNION
        SELECT i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid
    )
    SELECT t.oid::regclass FROM tree t
$$;
COMMENT ON FUNCTION sno_internal.inheritors(regclass) IS 'internal: a table with its partitions and children';

-- Whether an index begins with a column, so that its first values are found at once.
CREATE FUNCTION sno_internal.has_index(source regclass, key name) RETURNS boolean
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = source AND a.attname = has_index.key AND m.amname = 'btree' AND i.indpred IS NULL
            AND i.indisvalid
    )
$$;
COMMENT ON FUNCTION sno_internal.has_index(regclass, name)
    IS 'internal: whether an index of a table begins with a column';

CREATE FUNCTION sno_internal.sno_log_shown(query pg_node_tree) RETURNS regclass
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_log_shown(pg_node_tree) IS
    'internal: the log whose rows the query of a view of sno_track_changes() shows; null for another query';

-- The table that a feed reads: its source, or, of a view of sno_track_changes(), the log that this shows. For any other
-- view the view itself, which check_source() refuses. By the catalogs alone, whoever has locked the view.
CREATE FUNCTION sno_internal.table_of(source regclass) RETURNS regclass
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((
        SELECT o.conrelid::regclass
        FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'
        JOIN pg_constraint o ON o.conrelid = sno_internal.sno_log_shown(r.ev_action) AND o.conname = 'sno_log'
        WHERE c.oid = source AND c.relkind = 'v'
            -- Of the table whose rows the view shows: who replaces a view cannot change the types of its columns.
            AND EXISTS (SELECT FROM pg_depend d JOIN pg_type t ON t.typrelid = d.refobjid
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.atttypid = t.oid
                WHERE d.classid = 'pg_constraint'::regclass AND d.objid = o.oid AND d.refclassid = 'pg_class'::regclass
                    AND d.refobjid <> o.conrelid)
    ), source)
$$;
COMMENT ON FUNCTION sno_internal.table_of(regclass) IS 'internal: the table whose rows a feed of a source returns';

-- The columns that can be the key by which a source is read. Of a table, the column of this name; without one, each in
-- its primary key, but for foreign keys: their values are older than the rows. Of a view of changes the first one, as
-- in its log.
CREATE FUNCTION sno_internal.possible_keys(source regclass, key name) RETURNS name[]
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ARRAY(
        SELECT a.attname
        FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
        WHERE a.attrelid = source AND a.attnum > 0 AND sno_internal.is_id_type(a.atttypid)
            AND a.attname = coalesce(possible_keys.key, a.attname)
            AND CASE WHEN sno_internal.table_of(source) <> source THEN a.attnum = 1
                ELSE possible_keys.key IS NOT NULL OR a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
                    AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = source AND f.contype = 'f'
                        AND a.attnum = ANY (f.conkey)) END
        ORDER BY a.attnum
    )
$$;
COMMENT ON FUNCTION sno_internal.possible_keys(regclass, name)
    IS 'internal: columns that can be the key by which a source is read: of this name, or of any if it is null';
