//! How the value of a column is found, in a trigger's row or in an UPDATE.

use std::collections::HashMap;

use super::expression::{Casts, renamed};
use super::model::{Model, Moved};
use super::sql::{Body, Expression, Ident, Literal, Name, Part, Sql, join, sql};

/// The row that an expression reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Of a trigger.
    New,
    /// Of an UPDATE or SELECT, where the table is called `t`.
    Table,
}

/// Which of the two columns a value is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// The new one, until the switch.
    New,
    /// The old one, after the switch, which has exchanged their names.
    Old,
}

/// Which of the columns a trigger fills.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    /// New ones, until the switch.
    Moving,
    /// Old ones, after it.
    Moved,
    /// Those that were generated columns, for good.
    Generated,
}

impl Of {
    pub(super) fn column(self, name: &Ident) -> Sql {
        match self {
            Self::New => sql!("NEW.{}", name),
            Self::Table => sql!("t.{}", name),
        }
    }
}

impl Trigger {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Moving => "zz_moving",
            Self::Moved => "zz_moved",
            Self::Generated => "zz_generated",
        }
    }
}

fn expression(sql: &Sql) -> Expression {
    Expression(sql.to_string())
}

impl Model {
    /// Casts of columns of a table that the new type does not have.
    pub(super) fn casts(&self, table: usize) -> Casts {
        let mut casts = Casts::default();
        for moved in self.of(table) {
            let column = &moved.column;
            if let Some(base) = &column.domain_base {
                casts.domains.push((column.shown.clone(), base.clone()));
            }
            if column.family == super::catalog::Family::Varchar && column.domain_base.is_none() {
                casts.varchars.push(column.shown.clone());
            }
            if self.from_sno {
                casts.uuids.push(column.shown.clone());
            }
        }
        casts
    }

    /// What each column of a table is to be called, by what the server calls it in an expression: a column of the row `of`,
    /// if there is one; columns that move by their new names if they have `moved`.
    pub(super) fn row_names(&self, table: usize, of: Option<Of>, moved: bool) -> HashMap<String, String> {
        let name = |name: &Ident| {
            let found = self.of(table).find(|column| moved && column.column.name == *name);
            let name = found.map_or(name, |column| &column.new);
            of.map_or_else(|| sql!("{}", name), |of| of.column(name)).to_string()
        };
        let rel = self.tables[table].relation.oid;
        let columns = self.catalog.columns.iter().filter(|column| column.rel == rel);
        columns.map(|column| (column.shown.clone(), name(&column.name))).collect()
    }

    /// The value of one of the two columns, found in a row by the other one.
    pub(super) fn value(&self, moved: &Moved, of: Of, side: For) -> Expression {
        let column = &moved.column;
        let own = of.column(&column.name);
        let computed = self.value.as_ref().filter(|_| side == For::New);
        if column.is_generated {
            return self.generated(moved, of, side);
        }
        if let Some(computed) = computed {
            if column.is_array {
                let one = renamed(computed, &HashMap::from([("id".to_owned(), "u.e".to_owned())]));
                return expression(&sql!(
                    "CASE WHEN {own} IS NOT NULL THEN
        ARRAY(SELECT {one} FROM unnest({own}) WITH ORDINALITY u(e, n) ORDER BY u.n) END",
                    [own, one]
                ));
            }
            return renamed(computed, &HashMap::from([("id".to_owned(), own.to_string())]));
        }
        let mut cases = Vec::new();
        for lookup in &moved.lookups {
            let one = self.looked_up(moved, &self.columns[lookup.key], of, side);
            match &lookup.condition {
                None => return expression(&one),
                Some(condition) => {
                    let names = self.row_names(moved.table, Some(of), false);
                    cases.push(sql!(" WHEN {} THEN {}", renamed(condition, &names), one));
                }
            }
        }
        expression(&sql!("CASE{} END", join(cases, "")))
    }

    /// From the row with the old key, or of the new one.
    fn looked_up(&self, moved: &Moved, key: &Moved, of: Of, side: For) -> Sql {
        let own = of.column(&moved.column.name);
        let target = if side == For::Old { &key.old } else { &key.new };
        let (table, name) = (&self.table(key).relation.name, &key.column.name);
        if moved.column.is_array {
            return sql!(
                "CASE WHEN {own} IS NOT NULL THEN ARRAY(SELECT k.{target} FROM unnest({own}) WITH ORDINALITY u(e, n)
        LEFT JOIN {table} k ON k.{key} = u.e ORDER BY u.n) END", [own, target, table], key = name);
        }
        let one = sql!(
            "(SELECT k.{target} FROM {table} k WHERE k.{key} = {own})",
            [target, table, own],
            key = name
        );
        if key.table == moved.table && of == Of::New {
            // The row itself is not in the table yet.
            return sql!("CASE WHEN {} = NEW.{} THEN NEW.{} ELSE {} END", own, name, target, one);
        }
        one
    }

    /// What a generated column computes; in an UPDATE, from values that are not in the row yet.
    fn generated(&self, moved: &Moved, of: Of, side: For) -> Expression {
        let mut names = self.row_names(moved.table, Some(of), side == For::New);
        if of == Of::Table && side == For::New {
            for other in self.of(moved.table).filter(|other| !other.column.is_generated && !other.is_key) {
                names.insert(other.column.shown.clone(), self.value(other, of, side).0);
            }
        }
        let default = moved.column.default.clone().unwrap_or(Expression("NULL".to_owned()));
        renamed(&self.casts(moved.table).removed(&default), &names)
    }

    pub(super) fn trigger_function(&self, table: usize, trigger: Trigger) -> Name {
        let relation = &self.tables[table].relation;
        let suffix = trigger.name().trim_start_matches("zz");
        relation.name.beside(self.catalog.free(&relation.name.name.0, suffix, relation.oid))
    }

    /// What a trigger does, line by line.
    fn assignments(&self, table: usize, trigger: Trigger) -> Vec<Sql> {
        let mut columns: Vec<_> = self.of(table).collect();
        columns.sort_by_key(|moved| (moved.column.is_generated, moved.column.attnum));
        let mut lines = Vec::new();
        for moved in columns {
            let (is_generated, name) = (moved.column.is_generated, &moved.column.name);
            let (filled, side) = match trigger {
                Trigger::Generated if is_generated => (name, For::Old),
                Trigger::Moved if !is_generated && !moved.is_key => (&moved.old, For::Old),
                Trigger::Moving if !moved.is_key || self.value.is_some() => (&moved.new, For::New),
                _ => continue,
            };
            let value = self.value(moved, Of::New, side);
            let assigned = sql!("NEW.{} := {};", filled, value);
            let is_stable = !is_generated && moved.lookups.len() == 1 && moved.lookups[0].condition.is_none();
            lines.push(if is_stable {
                // A reference stays as it is if its row goes, and a row that only something else changes
                // costs no look-up.
                sql!(
                    "IF TG_OP = 'INSERT' OR NEW.{name} IS DISTINCT FROM OLD.{name} OR NEW.{filled} IS NULL THEN
        {assigned}
    END IF;", [name, filled, assigned])
            } else {
                assigned
            });
        }
        lines
    }

    pub(super) fn create_trigger(&self, table: usize, trigger: Trigger) -> Option<Sql> {
        let lines = self.assignments(table, trigger);
        if lines.is_empty() {
            return None;
        }
        let function = self.trigger_function(table, trigger);
        let body = sql!("\nBEGIN\n    {}\n    RETURN NEW;\nEND\n", join(lines, "\n    "));
        // As the server has deparsed them: sessions can have another setting.
        let strings = body.as_str().contains('\\').then(|| sql!(" SET standard_conforming_strings = on"));
        let shown = Literal(sql!("{}()", function).to_string());
        let private = sql!(include_str!("steps/private_function.sql"), function = shown);
        // Who writes a row need not read what it refers to. It belongs to the table's owner, who runs the
        // steps. A generated column refers to nothing, and its trigger stays: whoever owns the table later
        // could change the column's type.
        let definer = if trigger == Trigger::Generated { "" } else { " SECURITY DEFINER" };
        Some(sql!(
            "CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql{definer}
    SET search_path = pg_catalog, pg_temp{strings} AS {body};
DO {private};
CREATE TRIGGER {trigger} BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION {function}();",
            [function, definer, strings],
            body = Body(body),
            private = Body(private),
            trigger = trigger.name(),
            table = self.tables[table].relation.name
        ))
    }

    /// If it was made: a function of this name could be another one's.
    pub(super) fn drop_trigger(&self, table: usize, trigger: Trigger) -> Option<Sql> {
        if self.assignments(table, trigger).is_empty() {
            return None;
        }
        let function = self.trigger_function(table, trigger);
        let name = trigger.name();
        Some(sql!(
            "DROP TRIGGER IF EXISTS {} ON {};\nDROP FUNCTION IF EXISTS {}();",
            name,
            self.tables[table].relation.name,
            function
        ))
    }

    /// Plans what the triggers of the new columns assign, so that what fails does so here and not in the
    /// application.
    pub(super) fn planned(&self, table: usize) -> Option<Sql> {
        let set = |moved: &Moved| sql!("{} = {}", moved.new, self.value(moved, Of::New, For::New));
        let set: Vec<_> =
            self.of(table).filter(|moved| !moved.is_key || self.value.is_some()).map(set).collect();
        (!set.is_empty()).then(|| {
            // As an UPDATE, which casts no more than a column takes; not run, as its triggers would be.
            let update =
                sql!("EXPLAIN UPDATE {} AS new SET {}", self.tables[table].relation.name, comma(set));
            sql!("EXECUTE {};", Literal(update.to_string()))
        })
    }
}

/// Puts parts into a list.
pub(super) fn comma<P: Part>(parts: impl IntoIterator<Item = P>) -> Sql {
    join(parts, ", ")
}
