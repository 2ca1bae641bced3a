//! What the catalogs say of the tables of a database, as values. Names are resolved with `search_path =
//! pg_catalog`, so that all that the server
//! deparses has its schema.

use postgres::types::Oid;
use postgres::{GenericClient, Row};

use super::sql::{Expression, Ident, Name};
use super::wishes::{Wishes, name_parts, path_names};

/// All tables, with what hangs on them.
#[derive(Default, Debug, Clone)]
pub(super) struct Catalog {
    pub(super) relations: Vec<Relation>,
    pub(super) columns: Vec<Column>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) indexes: Vec<Index>,
    pub(super) functions: Vec<Function>,
    /// Tables, and the columns that have whole rows of them.
    pub(super) row_columns: Vec<(Oid, String)>,
    pub(super) session: Session,
}

/// A function in a language that names tables and types.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) oid: Oid,
    pub(super) shown: String,
    /// As SQL sees it, or as it is written.
    pub(super) body: String,
    /// Of arguments and result.
    pub(super) types: Vec<String>,
}

/// Who asks, and where.
#[derive(Default, Debug, Clone)]
pub(super) struct Session {
    pub(super) user: String,
    pub(super) database: String,
    /// The schemas in which names without one are found.
    pub(super) path: Vec<String>,
    /// As it is set.
    pub(super) search_path: String,
    pub(super) version: i32,
    /// The schema of the extension.
    pub(super) sno: Option<String>,
    /// Whether PUBLIC may call `sno_new()`, the default of new keys.
    pub(super) all_can_generate: Option<bool>,
    /// Its type, as the server writes it.
    pub(super) sno_type: Option<String>,
    /// The schema with the tables of a move that is under way.
    pub(super) under_way: Option<String>,
    pub(super) event_triggers: Vec<String>,
    /// Names of relations.
    pub(super) taken: Vec<String>,
    /// Of the function that begins the expression of new keys.
    pub(super) value_schema: Option<String>,
    /// Those that are named, and which they are.
    pub(super) functions: Vec<(String, Option<Oid>)>,
    /// Tables and their publications.
    pub(super) published: Vec<(Name, String)>,
}

#[derive(Default, Debug, Clone)]
pub(super) struct Relation {
    pub(super) oid: Oid,
    pub(super) name: Name,
    /// `r`, `p`, or `f` for a foreign table.
    pub(super) kind: String,
    /// The partitioned table that it is part of, or itself.
    pub(super) root: Oid,
    /// The table that this is a partition of.
    pub(super) parent: Option<Oid>,
    pub(super) level: i32,
    pub(super) owner: Ident,
    pub(super) owner_sees_all: bool,
    pub(super) is_forced: bool,
    pub(super) is_typed: bool,
    /// In inheritance that is no partitioning.
    pub(super) inherits: Option<String>,
    pub(super) rows: i64,
    pub(super) has_triggers: bool,
    /// Triggers that fire after those of the steps, and could change what these have read.
    pub(super) late_triggers: Vec<String>,
    /// Triggers that fire before it is known where names are searched.
    pub(super) statement_triggers: Vec<String>,
    /// Functions that it calls, of a role that has fewer rights than a superuser.
    pub(super) foreign_functions: Vec<String>,
    /// Its schema, if that is of such a role.
    pub(super) foreign_schema: Option<String>,
    /// Rules that an UPDATE follows.
    pub(super) update_rules: Vec<String>,
    /// It is published, and no row of it can be changed.
    pub(super) has_no_identity: bool,
    /// Its rows come from another server.
    pub(super) is_subscribed: bool,
}

#[derive(Default, Debug, Clone)]
pub(super) struct Column {
    pub(super) rel: Oid,
    pub(super) attnum: i16,
    pub(super) name: Ident,
    /// As the server writes it: in quotes only if it needs them.
    pub(super) shown: String,
    /// With its length and so on, and without.
    pub(super) full_type: Expression,
    pub(super) type_name: Expression,
    /// The same for use in `$1::type`.
    pub(super) cast: Name,
    pub(super) family: Family,
    pub(super) is_array: bool,
    pub(super) domain_base: Option<String>,
    pub(super) is_not_null: bool,
    /// Of PostgreSQL 18.
    pub(super) not_null: Option<Ident>,
    /// It is not valid, not inherited, or has a comment.
    pub(super) has_special_not_null: bool,
    pub(super) is_not_null_by_domain: bool,
    pub(super) collation: Oid,
    /// For a security provider.
    pub(super) has_label: bool,
    pub(super) identity: bool,
    pub(super) is_generated: bool,
    pub(super) default: Option<Expression>,
    /// The generated columns that read it.
    pub(super) readers: Vec<i16>,
    pub(super) is_inherited: bool,
    /// Its sequence is used elsewhere, too.
    pub(super) shares_sequence: bool,
    pub(super) in_partition_key: bool,
    pub(super) state: ColumnState,
}

/// What a column has that is no part of its type.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnState {
    pub(super) comment: Option<String>,
    pub(super) statistics: i32,
    /// `n_distinct` and such.
    pub(super) options: Option<String>,
    /// Privileges, for whom.
    pub(super) rights: Vec<Right>,
}

#[derive(Debug, Clone)]
pub(super) struct Right {
    pub(super) privilege: String,
    /// None: PUBLIC.
    pub(super) to: Option<Ident>,
    pub(super) with_grant: bool,
}

/// What kind of type a column, or an element of an array, has.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Integer,
    Uuid,
    Text,
    Varchar,
    Sno,
    Timestamptz,
    Timestamp,
    Date,
    Number,
    #[default]
    Other,
}

#[derive(Default, Debug, Clone)]
pub(super) struct ForeignKey {
    pub(super) oid: Oid,
    pub(super) rel: Oid,
    pub(super) name: Ident,
    pub(super) columns: Vec<i16>,
    pub(super) to: Oid,
    pub(super) to_columns: Vec<i16>,
    pub(super) definition: Expression,
    /// MATCH, ON UPDATE, ON DELETE without its columns.
    pub(super) actions: Expression,
    pub(super) set_columns: Vec<i16>,
    pub(super) deferrable: Expression,
    pub(super) is_deferrable: bool,
    pub(super) is_validated: bool,
    pub(super) comment: Option<String>,
}

#[derive(Default, Debug, Clone)]
pub(super) struct Index {
    pub(super) oid: Oid,
    pub(super) rel: Oid,
    pub(super) name: Name,
    pub(super) kind: String,
    pub(super) method: String,
    pub(super) is_unique: bool,
    pub(super) is_valid: bool,
    pub(super) is_clustered: bool,
    pub(super) is_replica_identity: bool,
    /// The index that it is attached to.
    pub(super) parent: Option<Oid>,
    /// `p`, `u`, `x`, or nothing.
    pub(super) constraint: Option<(Ident, String)>,
    pub(super) deferrable: Expression,
    pub(super) constraint_definition: Option<Expression>,
    pub(super) constraint_comment: Option<String>,
    pub(super) comment: Option<String>,
    /// From USING to before TABLESPACE, and from WHERE.
    pub(super) definition: Expression,
    pub(super) condition: Option<Expression>,
    pub(super) tablespace: Option<Ident>,
    /// All columns that it reads, in any way.
    pub(super) columns: Vec<i16>,
    pub(super) keys: Vec<i16>,
    pub(super) included: Vec<i16>,
    /// Columns with an operator class or a collation that is not the default.
    pub(super) special: Vec<i16>,
    pub(super) statistics: bool,
    pub(super) needs_extension: bool,
}

fn expression(row: &Row, column: &str) -> Option<Expression> {
    row.get::<_, Option<String>>(column).map(Expression)
}
fn name(row: &Row) -> Name {
    Name::new(row.get("schema"), row.get("name"))
}
fn ident(row: &Row, column: &str) -> Ident {
    Ident(row.get(column))
}

impl Family {
    fn of(name: &str) -> Self {
        match name {
            "int2" | "int4" | "int8" => Self::Integer,
            "uuid" => Self::Uuid,
            "text" | "bpchar" => Self::Text,
            "varchar" => Self::Varchar,
            "sno" => Self::Sno,
            "timestamptz" => Self::Timestamptz,
            "timestamp" => Self::Timestamp,
            "date" => Self::Date,
            "numeric" | "float4" | "float8" => Self::Number,
            _ => Self::Other,
        }
    }

    /// Whether values of the two can be compared.
    pub(super) fn is_like(self, other: Self) -> bool {
        let text = [Self::Text, Self::Varchar];
        self == other && self != Self::Other || text.contains(&self) && text.contains(&other)
    }
}

/// Reads all of it. From here on, the session has `search_path = pg_catalog`.
pub(super) fn read(
    client: &mut impl GenericClient,
    wishes: &Wishes,
    settings: &str,
) -> Result<Catalog, postgres::Error> {
    let value = wishes.value.as_deref().and_then(name_parts);
    let begins = value.filter(|(parts, _)| parts.len() == 1).map(|(parts, _)| parts[0].clone());
    // Nothing is resolved by the session's path, which a database's owner may have set, but these functions.
    let search_path: String = client.query_one("SHOW search_path", &[])?.get(0);
    let mut functions = Vec::new();
    for name in &wishes.functions {
        let found = match name.ends_with(')') {
            true => {
                client.query_one("SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid", &[name])?.get(0)
            }
            false => None,
        };
        functions.push((name.clone(), found));
    }
    client.batch_execute(settings)?;
    let path = path_names(&search_path);
    let row = client.query_one(include_str!("catalog/session.sql"), &[&begins, &path])?;
    let mut session = Session {
        user: row.get("user"),
        database: row.get("database"),
        path: row.get("path"),
        search_path,
        version: row.get("version"),
        sno: row.get("sno"),
        all_can_generate: row.get("all_can_generate"),
        sno_type: row.get("sno_type"),
        under_way: row.get("under_way"),
        event_triggers: row.get("event_triggers"),
        taken: row.get("taken"),
        value_schema: row.get("value_schema"),
        functions,
        published: Vec::new(),
    };
    let mut read = |query: &str| client.query(query, &[]);
    let published =
        "SELECT schemaname::text, tablename::text, pubname::text FROM pg_publication_tables ORDER BY 1, 2, 3";
    session.published =
        read(published)?.iter().map(|row| (Name::new(row.get(0), row.get(1)), row.get(2))).collect();
    Ok(Catalog {
        relations: read(include_str!("catalog/relations.sql"))?.iter().map(relation).collect(),
        columns: read(include_str!("catalog/columns.sql"))?.iter().map(column).collect(),
        foreign_keys: read(include_str!("catalog/foreign_keys.sql"))?.iter().map(foreign_key).collect(),
        indexes: read(include_str!("catalog/indexes.sql"))?.iter().map(index).collect(),
        functions: read(include_str!("catalog/functions.sql"))?.iter().map(function).collect(),
        row_columns: read(include_str!("catalog/row_columns.sql"))?
            .iter()
            .map(|row| (row.get("rel"), row.get("shown")))
            .collect(),
        session,
    })
}

fn function(row: &Row) -> Function {
    Function { oid: row.get("oid"), shown: row.get("shown"), body: row.get("body"), types: row.get("types") }
}

fn relation(row: &Row) -> Relation {
    Relation {
        oid: row.get("oid"),
        name: name(row),
        kind: row.get("kind"),
        root: row.get("root"),
        parent: row.get("parent"),
        level: row.get("level"),
        owner: ident(row, "owner"),
        owner_sees_all: row.get("owner_sees_all"),
        is_forced: row.get("is_forced"),
        is_typed: row.get("is_typed"),
        inherits: row.get("inherits"),
        rows: row.get("rows"),
        has_triggers: row.get("has_triggers"),
        late_triggers: row.get("late_triggers"),
        statement_triggers: row.get("statement_triggers"),
        foreign_functions: row.get("foreign_functions"),
        foreign_schema: row.get("foreign_schema"),
        update_rules: row.get("update_rules"),
        has_no_identity: row.get("has_no_identity"),
        is_subscribed: row.get("is_subscribed"),
    }
}

fn column(row: &Row) -> Column {
    Column {
        rel: row.get("rel"),
        attnum: row.get("attnum"),
        name: ident(row, "name"),
        shown: row.get("shown"),
        full_type: Expression(row.get("full_type")),
        type_name: Expression(row.get("type_name")),
        cast: Name::new(row.get("cast_schema"), row.get("cast_name")),
        family: Family::of(row.get("family")),
        is_array: row.get("is_array"),
        domain_base: row.get("domain_base"),
        is_not_null: row.get("is_not_null"),
        not_null: row.get::<_, Option<String>>("not_null").map(Ident),
        has_special_not_null: row.get("has_special_not_null"),
        is_not_null_by_domain: row.get("is_not_null_by_domain"),
        collation: row.get("collation"),
        has_label: row.get("has_label"),
        identity: row.get("identity"),
        is_generated: row.get("is_generated"),
        default: expression(row, "expression"),
        readers: row.get("readers"),
        is_inherited: row.get("is_inherited"),
        shares_sequence: row.get("shares_sequence"),
        in_partition_key: row.get("in_partition_key"),
        state: column_state(row),
    }
}

/// From columns called comment, statistics, options, privileges, grantees, grants.
pub(super) fn column_state(row: &Row) -> ColumnState {
    ColumnState {
        comment: row.get("comment"),
        statistics: row.get("statistics"),
        options: row.get("options"),
        rights: rights(row),
    }
}

pub(super) fn rights(row: &Row) -> Vec<Right> {
    let privileges: Vec<String> = row.get("privileges");
    let grantees: Vec<Option<String>> = row.get("grantees");
    let grants: Vec<bool> = row.get("grants");
    let all = privileges.into_iter().zip(grantees).zip(grants);
    all.map(|((privilege, to), with_grant)| Right { privilege, to: to.map(Ident), with_grant }).collect()
}

fn foreign_key(row: &Row) -> ForeignKey {
    ForeignKey {
        oid: row.get("oid"),
        rel: row.get("rel"),
        name: ident(row, "name"),
        columns: row.get("columns"),
        to: row.get("to_rel"),
        to_columns: row.get("to_columns"),
        definition: Expression(row.get("definition")),
        actions: Expression(row.get("actions")),
        set_columns: row.get("set_columns"),
        deferrable: Expression(row.get("deferrable")),
        is_deferrable: row.get("is_deferrable"),
        is_validated: row.get("is_validated"),
        comment: row.get("comment"),
    }
}

fn index(row: &Row) -> Index {
    let constraint: Option<String> = row.get("constraint_name");
    Index {
        oid: row.get("oid"),
        rel: row.get("rel"),
        name: name(row),
        kind: row.get("kind"),
        method: row.get("method"),
        is_unique: row.get("is_unique"),
        is_valid: row.get("is_valid"),
        is_clustered: row.get("is_clustered"),
        is_replica_identity: row.get("is_replica_identity"),
        parent: row.get("parent"),
        constraint: constraint.map(|name| (Ident(name), row.get("constraint_type"))),
        deferrable: Expression(row.get("deferrable")),
        constraint_definition: expression(row, "constraint_definition"),
        constraint_comment: row.get("constraint_comment"),
        comment: row.get("comment"),
        definition: Expression(row.get("definition")),
        condition: expression(row, "condition"),
        tablespace: row.get::<_, Option<String>>("tablespace").map(Ident),
        columns: row.get("columns"),
        keys: row.get("keys"),
        included: row.get("included"),
        special: row.get("special"),
        statistics: row.get("statistics"),
        needs_extension: row.get("needs_extension"),
    }
}
