//! What depends on columns that move, and is dropped and made again in the switch, with owner, rights, options and
//! comments. The server writes the statements, with all names and strings in quotes.

use postgres::types::{FromSql, Oid};
use postgres::{GenericClient, Row};

use super::expression::Casts;
use super::sql::{Expression, Sql, join, sql};

/// One that depends on a column, or on another object.
#[derive(Debug, Clone, Default)]
pub(super) struct Object {
    /// Functions that it calls, and itself, if it is one.
    pub(super) calls: Vec<Oid>,
    /// For people.
    pub(super) shown: String,
    /// Why it stops a move.
    pub(super) why: Option<String>,
    pub(super) drop: Expression,
    /// What makes it again, and what hangs on it.
    make: Vec<Make>,
    /// What follows after the COMMIT.
    pub(super) later: Option<Expression>,
    /// Whether that was done, as a condition.
    pub(super) later_unless: Option<Expression>,
    /// The name of a view.
    pub(super) relation: Option<String>,
    /// The owner and the name of a function, without its schema.
    pub(super) function: Option<String>,
    pub(super) is_materialized: bool,
    /// A function that is made with the new type in the place of the old one.
    pub(super) is_retyped: bool,
    /// Columns that it reads whose types are a domain, or `varchar`.
    casts: Casts,
}

/// The statements that make something again, as one text in three parts.
#[derive(Debug, Clone)]
struct Make {
    before: Expression,
    /// What the server has deparsed, which may need another form for the new type.
    definition: Expression,
    after: Expression,
}

const UNKNOWN: &str = "is of a kind that no step knows: drop it before, and make it again after";

/// What a column has that is no part of its type, as statements.
pub(super) const COLUMN_STATE: &str = include_str!("catalog/column_state.sql");

/// Reads all of them, in the order of their levels.
pub(super) fn read(
    client: &mut impl GenericClient,
    parts: &[(Oid, i16)],
    functions: &[Oid],
) -> Result<Vec<Object>, postgres::Error> {
    let (rels, numbers): (Vec<Oid>, Vec<i16>) = parts.iter().copied().unzip();
    let rows = client.query(include_str!("catalog/dependants.sql"), &[&rels, &numbers, &functions])?;
    let mut objects = Vec::new();
    for row in rows {
        let (class, oid): (String, Oid) = (row.get("class"), row.get("oid"));
        let object = object(client, &class, oid)?;
        objects.push(Object {
            is_retyped: functions.contains(&oid),
            calls: row.get("calls"),
            casts: casts(client, &class, oid)?,
            shown: row.get("shown"),
            why: row.get::<_, Option<String>>("why").or(object.why),
            ..object
        });
    }
    Ok(objects)
}

/// Casts in what it is made from.
fn casts(client: &mut impl GenericClient, class: &str, oid: Oid) -> Result<Casts, postgres::Error> {
    let mut casts = Casts::default();
    for row in client.query(include_str!("catalog/casts.sql"), &[&class, &oid])? {
        match row.get("base") {
            Some(base) => casts.domains.push((row.get("name"), base)),
            None => casts.varchars.push(row.get("name")),
        }
    }
    Ok(casts)
}

fn object(client: &mut impl GenericClient, class: &str, oid: Oid) -> Result<Object, postgres::Error> {
    let query = match class {
        "pg_class" => sql!(include_str!("catalog/view.sql"), state = COLUMN_STATE).to_string(),
        "pg_proc" => include_str!("catalog/function.sql").to_owned(),
        "pg_policy" => include_str!("catalog/policy.sql").to_owned(),
        "pg_publication_rel" => include_str!("catalog/publication.sql").to_owned(),
        "pg_index" => include_str!("catalog/index.sql").to_owned(),
        "pg_trigger" => include_str!("catalog/trigger.sql").to_owned(),
        "pg_rewrite" => include_str!("catalog/rule.sql").to_owned(),
        "pg_statistic_ext" => include_str!("catalog/statistics.sql").to_owned(),
        "pg_constraint" => include_str!("catalog/check.sql").to_owned(),
        "pg_attrdef" => include_str!("catalog/default.sql").to_owned(),
        _ => "SELECT WHERE $1::oid IS NULL".to_owned(),
    };
    let Some(row) = client.query_opt(&query, &[&oid])? else {
        return Ok(Object { why: Some(UNKNOWN.to_owned()), ..Object::default() });
    };
    let mut made = Object {
        why: optional(&row, "why"),
        drop: row.get("drop"),
        make: vec![Make {
            before: row.get("before"),
            definition: row.get("definition"),
            after: row.get("after"),
        }],
        later: optional(&row, "later"),
        later_unless: optional(&row, "later_unless"),
        relation: optional(&row, "relation"),
        function: optional(&row, "function"),
        is_materialized: optional(&row, "is_materialized").unwrap_or_default(),
        ..Object::default()
    };
    if class == "pg_class" {
        for (class, column) in [
            ("pg_index", "indexes"),
            ("pg_trigger", "triggers"),
            ("pg_rewrite", "rules"),
            ("pg_statistic_ext", "statistics"),
        ] {
            for oid in row.get::<_, Vec<Oid>>(column) {
                made.make.extend(object(client, class, oid)?.make);
            }
        }
    }
    Ok(made)
}

/// What only some of the queries say.
fn optional<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> Option<T> {
    row.try_get::<_, Option<T>>(column).ok().flatten()
}

impl Object {
    /// The statements that make it again; `changed` says what becomes of what the server has deparsed, with the casts in it
    /// that the new type does not have.
    pub(super) fn creates(&self, changed: impl Fn(&Expression, &Casts) -> Expression) -> Sql {
        let make = self.make.iter();
        let definition = |make: &Make| changed(&make.definition, &self.casts);
        join(make.map(|make| sql!("{}{}{}", make.before, definition(make), make.after)), "")
    }
}
