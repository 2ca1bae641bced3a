//! Code that runs with another's rights.

use super::{FEEDS, OfFile, PLANTED, RIGHTS};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("shared/src/pg/rights.rs", &[
        ("what runs as another role finds names by the caller's path", &[FEEDS],
            "c\"pg_catalog, pg_temp\".as_ptr()", "raw::psprintf(c\"%s\".as_ptr(), pg_sys::namespace_search_path)"),
    ]),
    ("sql/sno/nodes.sql", &[
        ("everybody can ask the nodes by functions of one's own", &[PLANTED],
            "    sno_internal.open_on_node(bigint), sno_internal.open_on_nodes(), sno_internal.horizon_of_nodes(interval, sno) FROM PUBLIC;",
            "    sno_internal.open_on_node(bigint), sno_internal.open_on_nodes() FROM PUBLIC;"),
    ]),
    ("sql/sno/read_by_all.sql", &[
        ("a plain function passes a look-up for the definer", &[PLANTED],
            "LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET", "LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER SET"),
    ]),
    ("sql/sno/horizon.sql", &[
        ("everybody lowers horizons", &[PLANTED],
            "REVOKE EXECUTE ON FUNCTION sno_lower_horizon() FROM PUBLIC;", ""),
    ]),
    ("sql/sno/feeds.sql", &[
        ("everybody inserts feeds of others", &[PLANTED],
            "GRANT INSERT ON sno_internal.feed_positions TO @extowner@;", "GRANT INSERT ON sno_internal.feed_positions TO PUBLIC;"),
        ("everybody reads the errors of others", &[PLANTED],
            "COMMENT ON TABLE sno_internal.feed_failures IS 'internal: rows of feeds that fail';",
            "COMMENT ON TABLE sno_internal.feed_failures IS 'internal: rows of feeds that fail'; GRANT SELECT ON sno_internal.feed_failures TO PUBLIC;"),
    ]),
    ("sql/sno/type.sql", &[
        ("everybody creates functions in the extension's schema", &[PLANTED],
            "GRANT USAGE ON SCHEMA sno_internal TO PUBLIC;", "GRANT ALL ON SCHEMA sno_internal TO PUBLIC;"),
    ]),
    ("sql/sno/changes.sql", &[
        ("a log is cleared as the caller", &[RIGHTS],
            "CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint\n    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C",
            "CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint\n    AS 'SELECT sno_internal.forget_changes($1)' LANGUAGE SQL"),
        ("changes are tracked as the caller", &[RIGHTS],
            "CREATE FUNCTION sno_track_changes(source regclass, metabyte integer DEFAULT NULL) RETURNS regclass\n    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C",
            "CREATE FUNCTION sno_track_changes(source regclass, metabyte integer DEFAULT NULL) RETURNS regclass\n    AS 'SELECT sno_internal.track_changes($1, $2)' LANGUAGE SQL"),
    ]),
    ("sql/sno/tracked.sql", &[
        ("everybody can call the function that knows the partitions", &[RIGHTS],
            "'REVOKE ALL ON FUNCTION %1$s(regclass) FROM PUBLIC; COMMENT", "'COMMENT"),
    ]),
    ("sql/sno/partitions.sql", &[
        ("partitions are created as the caller", &[RIGHTS],
            "CREATE FUNCTION sno_create_partitions(parent regclass, width interval, since timestamptz, until timestamptz)\n    RETURNS SETOF regclass\n    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C",
            "CREATE FUNCTION sno_create_partitions(parent regclass, width interval, since timestamptz, until timestamptz)\n    RETURNS SETOF regclass\n    AS 'SELECT sno_internal.create_partitions($1, $2, $3, $4)' LANGUAGE SQL"),
        ("partitions expire as the caller", &[RIGHTS],
            "        parent regclass, before timestamptz, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT false\n    ) RETURNS SETOF text\n    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C",
            "        parent regclass, before timestamptz, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT false\n    ) RETURNS SETOF text\n    AS 'SELECT sno_internal.expire_partitions($1, $2, $3, $4)' LANGUAGE SQL"),
    ]),
];
