//! Code that runs with another's rights.

use super::{CHANGES, FEED_RIGHTS, FILES, NODES, OfFile, PLANTED, RIGHTS, Suite};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("shared/src/pg/rights.rs", &[
        ("what runs as another role finds names by the caller's path", &[Suite("server", "changes::rights")],
            "c\"pg_catalog, pg_temp\".as_ptr()", "raw::psprintf(c\"%s\".as_ptr(), pg_sys::namespace_search_path)"),
        ("who was another role for a while stays it", &[RIGHTS],
            "    raw::SetUserIdAndSecContext(caller, context);\n    result", "    result"),
        ("what was set as another role stays", &[RIGHTS],
            "raw::AtEOXact_GUC(false, level);", "let _ = level;"),
        ("what the other role has set stays", &[RIGHTS],
            "raw::AtEOXact_GUC(false, level);", "raw::AtEOXact_GUC(true, level);"),
        ("what runs as another role leaves something to run later", &[RIGHTS],
            "let restricted = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;",
            "let restricted = pg_sys::SECURITY_LOCAL_USERID_CHANGE;"),
    ]),
    ("src/sno/maintenance.rs", &[
        ("everybody has DROP of others' tables refused", &[CHANGES],
            "    lock(part, false);\n", ""),
        ("everybody maintains every table", &[RIGHTS],
            "owner != Oid::INVALID && !raw::has_privs_of_role(raw::GetUserId(), owner)", "owner == Oid::INVALID && !raw::has_privs_of_role(raw::GetUserId(), owner)"),
        ("members that do not inherit maintain a table", &[RIGHTS],
            "!raw::has_privs_of_role(raw::GetUserId(), owner)", "!raw::is_member_of_role_nosuper(raw::GetUserId(), owner) && !raw::superuser_arg(raw::GetUserId())"),
        ("the owner of before the wait maintains a table", &[RIGHTS],
            "    raw::LockRelationOid(table, mode as _);\n    check_owner(table)", "    let owner = owner_of(table);\n    raw::LockRelationOid(table, mode as _);\n    owner"),
        ("who may not maintain a table waits for it", &[RIGHTS],
            "    check_owner(table);\n    let mode", "    let mode"),
        ("maintenance runs as the caller", &[RIGHTS],
            "call_as(owner, counterpart(fcinfo), fcinfo)", "call_as(if owner == Oid::INVALID { owner } else { raw::GetUserId() }, counterpart(fcinfo), fcinfo)"),
    ]),
    ("src/sno/feed/ledger.rs", &[
        ("the ledger is written as the caller", &[FEED_RIGHTS],
            "as_role(owner_of(table), || query(text, params, sees))", "as_role(if table == Oid::INVALID { table } else { raw::GetUserId() }, || query(text, params, sees))"),
    ]),
    ("src/sno/feed/lookup.rs", &[
        ("members that do not inherit use a feed", &[FEED_RIGHTS],
            "let is = |other: Oid| other != Oid::INVALID && raw::has_privs_of_role(role, other);",
            "let is = |other: Oid| other != Oid::INVALID && (raw::superuser_arg(role) || raw::is_member_of_role_nosuper(role, other));"),
        ("a superuser reads whatever has a name", &[FEED_RIGHTS],
            "raw::is_member_of_role_nosuper(raw::GetUserId(), other);", "raw::superuser_arg(raw::GetUserId()) || raw::is_member_of_role_nosuper(raw::GetUserId(), other);"),
        ("anybody makes a name that a superuser has mean another feed", &[FEED_RIGHTS],
            "                        && (right != Right::Creator || is_member(role, other.owner))\n", "                        && (right >= Right::Creator || is_member(role, other.owner))\n"),
    ]),
    ("src/sno/feed/manage.rs", &[
        ("a feed belongs to the role of the session", &[FEED_RIGHTS],
            "$5), current_user\"", "$5), session_user\""),
    ]),
    ("sql/sno_citus.sql", &[
        ("everybody can ask the nodes by functions of one's own", &[NODES],
            "REVOKE EXECUTE ON FUNCTION sno_internal.timeline(),", "REVOKE EXECUTE ON FUNCTION"),
    ]),
    ("sql/sno/horizon.sql", &[
        ("everybody lowers horizons", &[PLANTED],
            "REVOKE EXECUTE ON FUNCTION sno_lower_horizon() FROM PUBLIC;", ""),
        ("everybody lowers horizons by an internal function", &[PLANTED],
            "REVOKE EXECUTE ON FUNCTION sno_internal.sno_lower_horizons() FROM PUBLIC;", ""),
    ]),
    ("sql/sno/feeds.sql", &[
        ("a feed that somebody restores for a superuser is the superuser's", &[FEED_RIGHTS],
            "        NEW.owner := current_user;", "        NEW.owner := NEW.owner;"),
        ("default privileges hold for the ledger", &[FEED_RIGHTS],
            "AND a.grantee OPERATOR(pg_catalog.<>) c.relowner", "AND a.grantee OPERATOR(pg_catalog.=) c.relowner"),
        ("everybody inserts feeds of others", &[PLANTED],
            "GRANT INSERT ON sno_internal.feed_positions TO @extowner@;", "GRANT INSERT ON sno_internal.feed_positions TO PUBLIC;"),
        ("everybody reads the errors of others", &[PLANTED],
            "GRANT SELECT ON sno_internal.feed_positions TO PUBLIC;", "GRANT SELECT ON sno_internal.feed_positions, sno_internal.feed_failures TO PUBLIC;"),
    ]),
    ("sql/sno/type.sql", &[
        ("everybody creates functions in the extension's schema", &[PLANTED],
            "GRANT USAGE ON SCHEMA sno_internal TO PUBLIC;", "GRANT ALL ON SCHEMA sno_internal TO PUBLIC;"),
    ]),
    ("sql/sno/changes.sql", &[
        ("a log is cleared as the caller", &[RIGHTS],
            "CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint\n    AS 'MODULE_PATHNAME', 'sno_as_owner_concurrently' LANGUAGE C",
            "CREATE FUNCTION sno_forget_changes(source regclass) RETURNS bigint\n    AS 'SELECT sno_internal.forget_changes($1)' LANGUAGE SQL"),
    ]),
    ("sql/uuidv7.sql", &[
        ("what others own is replaced", &[RIGHTS],
            "AND pg_get_userbyid(o.owner) <> current_user AND", "AND pg_get_userbyid(o.owner) <> o.name AND pg_get_userbyid(o.owner) = current_user AND"),
        ("a feed counts by the function of whoever may create", &[FILES],
            "seen[pg_catalog.cardinality(seen)]", "seen[cardinality(seen)]"),
        ("objects are described by the function of whoever may create", &[FILES],
            "pg_describe_object(o.class, o.id, 0)", "pg_describe_object(o.class::regclass, o.id, 0)"),
    ]),
    ("sql/stand-in.sql", &[
        ("errors are formatted by the function of whoever may create", &[FILES],
            "pg_catalog.format('metabyte out of range: %s', metabyte)", "format('metabyte out of range: %s', metabyte)"),
    ]),
    ("sql/sno/partitions.sql", &[
        ("partitions expire as the caller", &[RIGHTS],
            "        parent regclass, before timestamptz, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT NULL\n    ) RETURNS SETOF text\n    AS 'MODULE_PATHNAME', 'sno_as_owner' LANGUAGE C",
            "        parent regclass, before timestamptz, drop_expired boolean DEFAULT false, read_by_all boolean DEFAULT NULL\n    ) RETURNS SETOF text\n    AS 'SELECT sno_internal.expire_partitions($1, $2, $3, $4)' LANGUAGE SQL"),
    ]),
];
