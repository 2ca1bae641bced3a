-- The feeds that read rows of a table, or of its partitions. Also a feed that its role may not read at
-- present: rows that it has not read are kept until the role may again, or until the owner of the table drops the feed.
-- `upto` is of the feed's own key, and `read` of the key of the table.
CREATE FUNCTION sno_internal.readers(of_table regclass)
    RETURNS TABLE (feed text, owner name, source regclass, key name, upto sno, read sno)
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
    WITH own_key AS (
        SELECT k[1] AS name FROM sno_internal.possible_keys(of_table, NULL) k WHERE cardinality(k) = 1
    ), family AS MATERIALIZED (
        SELECT i.relation FROM sno_internal.inheritors(of_table) i
        UNION SELECT a.relid FROM pg_partition_ancestors(of_table) a
    ), near AS MATERIALIZED (
        SELECT f.feed, f.owner, f.key, f.key_number, f.position, f.lowering, s.source
        FROM sno_internal.feed_positions f
        -- By the catalogs, since who asks may have no right to the schema.
        CROSS JOIN LATERAL (SELECT coalesce(f.source, (
            SELECT c.oid::regclass FROM parse_ident(f.source_name) i(name)
            JOIN pg_namespace n ON n.nspname = i.name[1]
            JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = i.name[2]
        ))) s(source)
        -- Of views those of the table's owner, who can drop their feeds: anybody can replace his by one of any table.
        WHERE s.source IN (SELECT f.relation FROM family f) OR EXISTS (
            SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            JOIN pg_class v ON v.oid = r.ev_class JOIN pg_class t ON t.oid = d.refobjid AND t.relowner = v.relowner
            WHERE r.ev_class = s.source AND r.ev_type = '1' AND d.refclassid = 'pg_class'::regclass
                AND d.refobjid::regclass IN (SELECT f.relation FROM family f))
    )
    -- A feed of the table reads the rows of its partitions, and a feed of a partition some of the table's. A feed whose
    -- position is ahead of the clock, after that was fast, has not read the rows of the present.
    SELECT n.feed, n.owner, n.source, n.key, u.upto,
        CASE WHEN (n.source <> t.read OR n.key = (SELECT k.name FROM own_key k))
            AND t.read IN (SELECT f.relation FROM family f) THEN u.upto END
    FROM near n CROSS JOIN LATERAL (SELECT sno_internal.table_of(n.source)) t(read)
    -- Nor is it known of which rows, where another column has the name of its key by now.
    CROSS JOIN LATERAL (SELECT CASE WHEN n.position <= sno_internal.sno_last(clock_timestamp(), true)
            AND (n.key_number IS NULL OR EXISTS (SELECT FROM pg_attribute a
                WHERE a.attrelid = n.source AND a.attname = n.key AND a.attnum = n.key_number))
        THEN sno_internal.sno_goes_on_after(n.position, n.lowering) END) u(upto)
    -- Changes of the table do not need its rows: what is deleted is a change, too. A view that was replaced, which its
    -- feed refuses to read until it is one of changes again, keeps all of them.
    WHERE t.read = n.source OR t.read IN (SELECT f.relation FROM family f)
$$;
COMMENT ON FUNCTION sno_internal.readers(regclass) IS 'internal: the feeds that read rows of a table';

CREATE FUNCTION sno_readers(of_table regclass, OUT feed text, OUT owner name, OUT source regclass, OUT read sno)
    RETURNS SETOF record
    LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT r.feed, r.owner, r.source, r.read FROM sno_internal.readers(of_table) r;
END;
COMMENT ON FUNCTION sno_readers(regclass) IS
    'feeds that read rows of a table, and up to which ID; null if a feed has read nothing, has '
    'another key or is ahead of the clock';

CREATE FUNCTION sno_internal.read_by_all(source regclass) RETURNS sno
    LANGUAGE SQL STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN (SELECT bool_or(sno_internal.is_distributed(i.relation)) FROM sno_internal.inheritors(source) i)
        THEN sno_internal.sno_scope_read(source)
        ELSE (SELECT CASE WHEN bool_and(r.read IS NOT NULL) THEN min(r.read) END
            FROM sno_internal.readers(source) r) END
$$;
COMMENT ON FUNCTION sno_internal.read_by_all(regclass)
    IS 'internal: ID up to which all feeds of a table have read its rows';

CREATE FUNCTION sno_read_by_all(source regclass) RETURNS sno
    LANGUAGE SQL STABLE PARALLEL RESTRICTED
    RETURN sno_internal.read_by_all(source);
COMMENT ON FUNCTION sno_read_by_all(regclass) IS
    'ID up to which all feeds of a table have read its rows; null if there is none, or if one has read nothing, has '
    'another key or is ahead of the clock';
