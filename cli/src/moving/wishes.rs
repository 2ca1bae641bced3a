//! What the DBA says, beyond what the catalogs do.

use clap::Args;

use super::catalog::{Catalog, Column, Relation};
use super::model::ColumnId;
use super::sql::Expression;

/// Which keys move, to what, and what the catalogs don't say.
#[derive(Args, Default, Clone, Debug)]
pub struct Wishes {
    /// A key: orders.id, or orders for all keys of this table. Without any, all keys that are found
    #[arg(short, long = "key", value_name = "KEY")]
    pub keys: Vec<String>,
    /// A column that refers to a key without a foreign key, also an array; with a condition if it refers to
    /// several tables:
    /// "notes.subject_id orders.id subject_type = 'Order'"
    #[arg(short, long = "reference", value_name = "COLUMN KEY [CONDITION]")]
    pub references: Vec<String>,
    /// When rows of a table were created: "orders placed_at AT TIME ZONE 'UTC'"
    #[arg(short, long = "time", value_name = "TABLE EXPRESSION")]
    pub times: Vec<String>,
    /// A function whose arguments, result or body name the old type: "current_account()"
    #[arg(short, long = "function", value_name = "FUNCTION")]
    pub functions: Vec<String>,
    /// From sno to another type
    #[arg(long)]
    pub back: bool,
    /// The new type of --back: uuid or bigint
    #[arg(long, value_name = "TYPE", requires = "back")]
    pub to: Option<Target>,
    /// The new key as an expression of the old one, which is called id: "uuidv7_to_sno(id)"
    #[arg(long, value_name = "EXPRESSION")]
    pub value: Option<String>,
    /// References without a foreign key to rows that are gone become NULL. Without this, they stop the last
    /// step
    #[arg(long)]
    pub dangling_to_null: bool,
    /// Leaves no table with the old and the new keys when the old columns are dropped
    #[arg(long)]
    pub no_map: bool,
}

/// The type of new keys.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// IDs of the extension.
    #[value(skip)]
    Sno,
    /// Of version 7, with the times of the IDs.
    Uuid,
    /// Numbers in the order of the IDs.
    Bigint,
}

impl Wishes {
    pub(super) fn target(&self) -> Target {
        if self.back { self.to.unwrap_or(Target::Uuid) } else { Target::Sno }
    }
}

/// The parts of a name as SQL reads it, and what comes after it: `"Shop".orders.id rest`.
pub(super) fn name_parts(text: &str) -> Option<(Vec<String>, &str)> {
    let mut rest = text.trim_start();
    let mut parts = Vec::new();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (mut part, mut after) = (String::new(), quoted);
            loop {
                let end = after.find('"')?;
                part.push_str(&after[..end]);
                after = &after[end + 1..];
                let Some(more) = after.strip_prefix('"') else { break };
                part.push('"');
                after = more;
            }
            parts.push(part);
            rest = after;
        } else {
            let end =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            parts.push(rest[..end].to_lowercase());
            rest = &rest[end..];
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => return Some((parts, rest)),
        }
    }
}

/// The names in a `search_path`, in which `$user` can be one.
pub(super) fn path_names(path: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = path;
    while let Some((parts, after)) = name_parts(rest.trim_start_matches(['$', ','])) {
        names.extend(parts);
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    names
}

impl Catalog {
    /// The table of this name, as the session finds it.
    pub(super) fn table(&self, parts: &[String]) -> Option<&Relation> {
        let found = |schema: &str, name: &str| {
            self.relations.iter().find(|r| r.name.schema.0 == schema && r.name.name.0 == name)
        };
        match parts {
            [name] => self.session.path.iter().find_map(|schema| found(schema, name)),
            [schema, name] => found(schema, name),
            _ => None,
        }
    }

    /// The column of this name.
    pub(super) fn column(&self, parts: &[String]) -> Option<&Column> {
        let (last, table) = parts.split_last()?;
        let rel = self.table(table)?.oid;
        self.columns.iter().find(|c| c.rel == rel && c.name.0 == *last)
    }
}

/// A reference that the DBA names: the column, its key, the condition.
pub(super) fn said(catalog: &Catalog, line: &str) -> Option<(ColumnId, ColumnId, Option<Expression>)> {
    let (column, rest) = name_parts(line)?;
    let (key, rest) = name_parts(rest)?;
    let condition = Some(rest.trim()).filter(|rest| !rest.is_empty());
    let condition = condition.map(|condition| Expression(condition.to_owned()));
    Some((catalog.column(&column)?.id(), catalog.column(&key)?.id(), condition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_reads_them() {
        let read = |text| name_parts(text).map(|(parts, rest)| (parts.join("|"), rest.to_owned()));
        assert_eq!(read("Orders.ID x"), Some(("orders|id".to_owned(), " x".to_owned())));
        assert_eq!(read("\"a \"\"b.\".c"), Some(("a \"b.|c".to_owned(), String::new())));
        assert_eq!(path_names("\"$user\", \"a, b\",public"), ["$user", "a, b", "public"]);
        assert_eq!(read("'x'"), None);
        assert_eq!(read("\"x"), None);
    }
}
