-- What is below and above a table or view, and which column of a table its key is.

-- The relations that a query of a source reads in the end: the source itself, the tables of a view, the partitions and
-- children of a table. `kind` is not null if their rows can come below the horizon of this server.
CREATE FUNCTION sno_internal.base_relations(source regclass) RETURNS TABLE (relation regclass, kind text)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE base(oid) AS (
        SELECT source::oid
        UNION
        SELECT n.oid
        FROM base b, LATERAL (
            SELECT d.refobjid
            FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            WHERE r.ev_class = b.oid AND r.ev_type = '1' AND d.refclassid = 'pg_class'::regclass
            UNION ALL
            SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = b.oid
        ) n(oid)
    )
    SELECT c.oid::regclass,
        CASE WHEN c.relkind = 'm' THEN 'materialized' WHEN c.relkind = 'f' THEN 'foreign'
            -- A view that calls a function of dblink.
            WHEN c.relkind = 'v' AND EXISTS (
                SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                    AND d.refclassid = 'pg_proc'::regclass
                JOIN pg_depend e ON e.classid = 'pg_proc'::regclass AND e.objid = d.refobjid AND e.deptype = 'e'
                WHERE r.ev_class = c.oid AND e.refobjid = (SELECT x.oid FROM pg_extension x WHERE x.extname = 'dblink')
            ) THEN 'foreign'
            -- Also a partition: the subscription writes its rows by the table above.
            WHEN EXISTS (
                SELECT FROM pg_subscription_rel s WHERE s.srrelid = c.oid
                UNION ALL
                SELECT FROM pg_partition_ancestors(c.oid) a JOIN pg_subscription_rel s ON s.srrelid = a.relid
            ) THEN 'subscribed'
            WHEN sno_internal.is_distributed(c.oid) THEN 'distributed' END
    FROM base JOIN pg_class c USING (oid)
$$;
COMMENT ON FUNCTION sno_internal.base_relations(regclass) IS 'internal: relations below a table or view';

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

-- The tables and views through which rows of a table can be read, with the table itself: there are fewer of them than
-- feeds.
CREATE FUNCTION sno_internal.above(of_table regclass) RETURNS TABLE (relation regclass)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE above(oid) AS (
        SELECT b.relation::oid FROM sno_internal.base_relations(of_table) b
        UNION
        SELECT n.oid
        FROM above a, LATERAL (
            SELECT r.ev_class
            FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_type = '1'
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = a.oid AND d.classid = 'pg_rewrite'::regclass
            UNION ALL
            SELECT i.inhparent FROM pg_inherits i WHERE i.inhrelid = a.oid
        ) n(oid)
    )
    SELECT a.oid::regclass FROM above a
$$;
COMMENT ON FUNCTION sno_internal.above(regclass)
    IS 'internal: tables and views through which rows of a table, its partitions or its children can be read';

CREATE FUNCTION sno_internal.sno_origin(
        source regclass, number integer, waits boolean, OUT relation regclass, OUT number_there integer,
        OUT view regclass, OUT fault text, OUT hint text, OUT passing regclass, OUT by_table regclass,
        OUT by_number integer
    )
    AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_internal.sno_origin(regclass, integer, boolean) IS
    'internal: the column of a table that a column shows, why it cannot be the key of a feed, and which view has rows '
    'that come later than with their keys, by which column';

-- The column of a table that a column of a view shows. NULL if it is an expression, or one of several tables; or if
-- somebody has locked the view, unless the function waits.
CREATE FUNCTION sno_internal.origin(INOUT source regclass, INOUT key name, waits boolean DEFAULT true,
        OUT view regclass, OUT fault text, OUT hint text, OUT passing regclass, OUT by_table regclass,
            OUT by_column name)
    RETURNS record
    LANGUAGE SQL STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT o.relation, (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = o.relation
        AND a.attnum = o.number_there), o.view, o.fault, o.hint, o.passing, o.by_table,
        (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = o.by_table AND a.attnum = o.by_number)
    FROM (SELECT) one
    LEFT JOIN pg_attribute k ON k.attrelid = origin.source AND k.attname = origin.key
    LEFT JOIN LATERAL sno_internal.sno_origin(origin.source, k.attnum, origin.waits) o ON true
$$;
COMMENT ON FUNCTION sno_internal.origin(regclass, name, boolean)
    IS 'internal: the column of a table that a column of a view shows, or the view that keeps it from being a key';

-- The column of a table that the key of a source shows; nulls if it is an expression. An error if a feed with this key
-- would miss rows. Called again when the catalogs have changed, since views can be replaced.
CREATE FUNCTION sno_internal.check_origin(source regclass, key name, OUT of_table regclass, OUT "column" name)
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    o record;
BEGIN
    SELECT * INTO o FROM sno_internal.origin(source, key);
    IF o.fault IS NOT NULL THEN
        RAISE EXCEPTION 'rows of "%" cannot be those of a feed', o.view USING ERRCODE = 'wrong_object_type',
            DETAIL = o.fault, HINT = o.hint;
    END IF;
    of_table := o.source;
    "column" := o.key;
END
$$;
COMMENT ON FUNCTION sno_internal.check_origin(regclass, name)
    IS 'internal: fails if a feed with this key would miss rows of a table or view';
