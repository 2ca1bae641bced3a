//! What the catalogs say of the tables of a database, as values. Names are resolved with `search_path =
//! pg_catalog`, so that all that the server
//! deparses has its schema.

use std::error::Error;

use postgres::types::{FromSql, Oid, Type};
use postgres::{GenericClient, Row};

use super::objects::COLUMN_STATE;
use super::sql::{Expression, Ident, Name, sql};
use super::wishes::{Wishes, name_parts, path_names};

/// All tables, with what hangs on them.
#[derive(Debug, Clone)]
pub(super) struct Catalog {
    pub(super) relations: Vec<Relation>,
    pub(super) columns: Vec<Column>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) indexes: Vec<Index>,
    pub(super) session: Session,
    /// As it is set.
    pub(super) search_path: String,
    /// Functions that the DBA names, and which they are.
    pub(super) named_functions: Vec<(String, Option<Oid>)>,
}

/// Structs, and how each is read from a row, whose columns have the names of the fields.
macro_rules! rows {
    ($($(#[$doc:meta])* struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(super) struct $name { $($(#[$field_doc])* pub(super) $field: $type,)* }

        impl From<&Row> for $name {
            fn from(row: &Row) -> Self {
                Self { $($field: row.get(stringify!($field)),)* }
            }
        }
    )* };
}

rows! {
    /// Who asks, and where.
    struct Session {
        user: String,
        database: String,
        /// The schemas in which names without one are found.
        path: Vec<String>,
        version: i32,
        /// The schema of the extension.
        sno: Option<Ident>,
        /// Its type, as the server writes it.
        sno_type: Option<Expression>,
        /// Whether PUBLIC may call `sno_new()`, the default of new keys.
        all_can_generate: Option<bool>,
        /// The schema with the tables of a move that is under way.
        under_way: Option<String>,
        /// Names of relations, constraints and functions.
        taken: Vec<String>,
        /// Of the function that begins the expression of new keys.
        value_schema: Option<Ident>,
    }

    struct Relation {
        oid: Oid,
        name: Name,
        /// `r`, `p`, or `f` for a foreign table.
        kind: String,
        /// The partitioned table that it is part of, or itself.
        root: Oid,
        /// The table that this is a partition of.
        parent: Option<Oid>,
        level: i32,
        rows: i64,
        has_triggers: bool,
    }

    struct Column {
        rel: Oid,
        attnum: i16,
        name: Ident,
        /// As the server writes it: in quotes only if it needs them.
        shown: String,
        /// With its length and so on, and without.
        full_type: Expression,
        type_name: Expression,
        /// The same for use in `$1::type`.
        cast: Name,
        family: Family,
        is_array: bool,
        domain_base: Option<String>,
        is_not_null: bool,
        /// Of PostgreSQL 18.
        not_null: Option<Ident>,
        collation: Oid,
        identity: bool,
        is_generated: bool,
        default: Option<Expression>,
        /// The generated columns that read it.
        readers: Vec<i16>,
        is_inherited: bool,
        /// What it has that is no part of its type, as statements: comment, rights, statistics.
        state: Expression,
    }

    struct ForeignKey {
        oid: Oid,
        rel: Oid,
        name: Ident,
        columns: Vec<i16>,
        to: Oid,
        to_columns: Vec<i16>,
        definition: Expression,
        is_validated: bool,
        /// A statement.
        comment: Option<Expression>,
    }

    struct Index {
        oid: Oid,
        rel: Oid,
        name: Name,
        kind: String,
        method: String,
        is_unique: bool,
        is_replica_identity: bool,
        /// The index that it is attached to.
        parent: Option<Oid>,
        constraint: Option<Ident>,
        /// `p`, `u`, `x`, or nothing.
        constraint_type: String,
        deferrable: Expression,
        constraint_definition: Option<Expression>,
        /// From USING to before TABLESPACE, and from WHERE.
        definition: Expression,
        condition: Option<Expression>,
        tablespace: Option<Ident>,
        /// All columns that it reads, in any way.
        columns: Vec<i16>,
        /// What it, or its constraint, has that is no part of the definition, as statements.
        state: Expression,
    }
}

/// What kind of type a column, or an element of an array, has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    Other,
}

macro_rules! from_texts {
    ($($type:ident: $text:ty, $from:expr;)*) => { $(impl<'a> FromSql<'a> for $type {
        fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
            <$text>::from_sql(of, raw).map($from)
        }
        fn accepts(of: &Type) -> bool {
            <$text as FromSql>::accepts(of)
        }
    })* };
}
from_texts! {
    Ident: String, Ident;
    Expression: String, Expression;
    Family: &str, Family::of;
    Name: Vec<&str>, |parts| Name::new(parts[0], parts[1]);
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

/// The schema with the plan of a move that is under way. Another role's could say anything.
pub(super) const PLAN: &str = include_str!("catalog/plan.sql");

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
    let mut named_functions = Vec::new();
    for name in &wishes.functions {
        let found = match name.ends_with(')') {
            true => {
                client.query_one("SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid", &[name])?.get(0)
            }
            false => None,
        };
        named_functions.push((name.clone(), found));
    }
    client.batch_execute(settings)?;
    let path = path_names(&search_path);
    let session = sql!(include_str!("catalog/session.sql"), plan = PLAN);
    let session = Session::from(&client.query_one(session.as_str(), &[&begins, &path])?);
    let columns = sql!(include_str!("catalog/columns.sql"), state = COLUMN_STATE);
    let relations = client.query(include_str!("catalog/relations.sql"), &[])?;
    let relations: Vec<_> = relations.iter().map(Relation::from).collect();
    let rels: Vec<Oid> = relations.iter().map(|relation| relation.oid).collect();
    let mut read = |query: &str| client.query(query, &[&rels]);
    Ok(Catalog {
        relations,
        columns: read(columns.as_str())?.iter().map(Column::from).collect(),
        foreign_keys: read(include_str!("catalog/foreign_keys.sql"))?.iter().map(ForeignKey::from).collect(),
        indexes: read(include_str!("catalog/indexes.sql"))?.iter().map(Index::from).collect(),
        session,
        search_path,
        named_functions,
    })
}
