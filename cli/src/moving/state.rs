//! What is compared: each old key and reference with its new one, and what hangs on the tables before and
//! after.

use super::model::{Model, Moved};
use super::sql::{Body, Expression, Ident, Literal, Sql, join, sql};
use super::values::{For, Of, comma};

/// What a verification is made before: what would be lost then is named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Switch,
    End,
    /// The undo of the switch, which makes again what the switch has made again, as it was before that.
    Undo,
}

/// What is to be equal before and after: owners, rights, options, row security, comments, and all that
/// hangs on the tables and views.
pub(super) fn query(model: &Model) -> Sql {
    let parts = model.tables.iter().flat_map(|table| &table.parts).map(|part| part.name.literal());
    let views = model.objects.iter().filter_map(|object| object.relation.clone()).map(Literal);
    let relations = comma(parts.chain(views));
    let literals = |names: Vec<Ident>| comma(names.iter().map(Ident::literal).collect::<Vec<_>>());
    let columns = model.columns.iter().flat_map(|moved| [moved.new.clone(), moved.old.clone()]).collect();
    let until_switch = model.columns.iter().flat_map(|moved| {
        let parts = model.table(moved).parts.iter();
        parts.map(|part| Literal([&sql!("{}", part.name).to_string(), "|", &moved.column.name.0].concat()))
    });
    let until_switch = comma(until_switch.collect::<Vec<_>>());
    let mut own: Vec<Ident> =
        model.indexes.iter().flat_map(|i| [model.new_index(i).name, model.old_index(i).name]).collect();
    own.extend(model.columns.iter().map(|moved| moved.set.clone()));
    let functions = comma(model.objects.iter().filter_map(|object| object.function.clone()).map(Literal));
    let (own, columns) = (literals(own), literals(columns));
    sql!(include_str!("steps/state.sql"), [relations, columns, own, functions, until_switch])
}

/// A view, since others could make a second function of its name, and a call would be ambiguous.
pub(super) fn view(model: &Model) -> Sql {
    sql!("CREATE VIEW {} AS\n{};", model.own("sno_move_state"), query(model))
}

/// One value for all of it.
pub(super) fn fingerprint(state: &Sql) -> Sql {
    sql!(
        "SELECT coalesce(md5(string_agg(concat_ws('|', object, property, value), '|'
        ORDER BY object, property, value)), '') FROM ({}) state",
        state
    )
}

/// The first step fails if the schema is another one than that for which it was written.
pub(super) fn unchanged_since_write(model: &Model, written: &str) -> Sql {
    let state = sql!("TABLE {}", model.own("sno_move_state"));
    sql!("DO {};", Body(sql!(
        "BEGIN
    IF ({}) <> {} THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the tables are not as they were when the steps were written', HINT = 'Write them again.';
    END IF;
END",
        fingerprint(&state), Literal(written.to_owned())
    )))
}

/// What PostgreSQL shows in another way for another type is no difference: casts and parentheses.
const PLAIN: &str = r#"regexp_replace(regexp_replace(value, '::("[^"]+"|[a-z_]+)(\.("[^"]+"|[a-z_0-9]+))?'
    '( varying| without time zone| with time zone)?(\(\d+\))?(\[\])?', '', 'g'), '[()\s]', '', 'g')"#;

/// The switch fails if there is something that it does not know, or that has changed.
pub(super) fn unchanged(model: &Model) -> Sql {
    let hint = "Undo, and write the steps again; or set back what has changed.";
    sql!(
        "DO {};",
        Body(sql!(
            "DECLARE
    found text;
BEGIN
    SELECT string_agg(DISTINCT format('%s: %s (before: %s; now: %s)', coalesce(a.object, b.object),
        coalesce(a.property, b.property), left(b.value, 500), left(a.value, 500)), E'\\n') INTO found
    FROM {} a FULL JOIN {} b ON (a.object, a.property) = (b.object, b.property)
        WHERE a.value IS DISTINCT FROM b.value;
    IF found IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'what hangs on the tables has changed since step 1', DETAIL = found, HINT = {};
    END IF;
END",
            model.own("sno_move_state"),
            model.own("sno_move_before"),
            Literal(hint.to_owned())
        ))
    )
}

/// The switch and its undo change functions: what is kept of a definition is what the last of the two has made.
pub(super) fn defined(model: &Model) -> Sql {
    sql!(
        "UPDATE {} b SET value = a.value FROM {} a
    WHERE (a.object, a.property) = (b.object, b.property) AND b.property = 'until the switch, definition';",
        model.own("sno_move_before"),
        model.own("sno_move_state")
    )
}

impl Model {
    /// Fails if anything differs, in one statement, so under one snapshot.
    pub(super) fn verified(&self, before: Before) -> Sql {
        let mut counts: Vec<Sql> =
            self.columns.iter().flat_map(|moved| self.compared(moved, before)).collect();
        if before == Before::End {
            counts.extend(self.led_elsewhere());
            counts.push(self.lost(before));
        }
        self.fails(&counts, before)
    }

    /// Fails if the undo of the switch would give something back: under its locks, so that nobody takes something away
    /// after that.
    pub(super) fn nothing_given_back(&self) -> Sql {
        self.fails(&[self.lost(Before::Undo)], Before::Undo)
    }

    /// What hung on the tables before the switch, and does not hang there as it did.
    fn lost(&self, before: Before) -> Sql {
        // A function that was changed after the switch would come back as it was, too.
        let others = match before {
            Before::Undo => "property NOT SIMILAR TO 'until the switch, (column|what) %'",
            _ => "property NOT LIKE 'until the switch%'",
        };
        sql!(
            "SELECT string_agg(format('%s: %s', object, property), E'\\n'), count(*) FROM
        (SELECT *, {plain} AS plain FROM {before}) b WHERE {others} AND NOT EXISTS (SELECT FROM {state} a
        WHERE (a.object, a.property) = (b.object, b.property) AND {plain} IS NOT DISTINCT FROM b.plain)",
            [others],
            plain = PLAIN,
            before = self.own("sno_move_before"),
            state = self.own("sno_move_state")
        )
    }

    /// After the switch, references whose old values lead to other rows: others can have replaced a row while the switch
    /// verified.
    fn led_elsewhere(&self) -> Vec<Sql> {
        // A new value that was computed, is not for rows that are written after the switch.
        let mut exchanged = Self { value: None, ..self.clone() };
        for moved in &mut exchanged.columns {
            moved.new = std::mem::replace(&mut moved.column.name, moved.old.clone());
        }
        let references =
            exchanged.columns.iter().filter(|moved| !(moved.is_key || moved.column.is_generated));
        references
            .map(|moved| {
                let value = exchanged.value(moved, Of::Table, For::New);
                let what = "references to another row than the old ones";
                self.valued((moved, &moved.new), what, &value, differs(moved, true, &moved.new, &moved.new))
            })
            .collect()
    }

    /// How many rows have a value `v.v` for which this is true.
    fn valued(&self, (moved, own): (&Moved, &Ident), what: &str, value: &Expression, condition: Sql) -> Sql {
        let table = self.table_name(moved);
        let what = Literal(format!("{table}.{own}, {what}"));
        let from = sql!("{} t CROSS JOIN LATERAL (SELECT {} AS v OFFSET 0) v", table, value);
        sql!("SELECT {}, count(*) FROM {} WHERE {}", what, from, condition)
    }

    /// Fails if one of these is not 0.
    fn fails(&self, counts: &[Sql], before: Before) -> Sql {
        let hint = match before {
            Before::Switch => {
                "Run the steps fill and verify again; a reference to a row that is gone is to be deleted or set \
                 to NULL, or say --dangling-to-null."
            }
            Before::End => {
                "Set right what is named. What was changed on purpose: delete its row of sno_move_before. Or \
                 undo the switch."
            }
            Before::Undo => {
                "What was changed after the switch would be as it was before: set it back; or delete its row of \
                 sno_move_before, and change it again after the undo. An old reference that is wrong is found \
                 again when it is set to NULL; one to a row that is gone is to be deleted or set to NULL."
            }
        };
        sql!(
            "DO {};",
            Body(sql!(
                "#variable_conflict use_column
DECLARE
    found text;
BEGIN
    SELECT string_agg(format('%s: %s', what, n), E'\\n') INTO found FROM (
{}
    ) counted(what, n) WHERE n > 0;
    IF found IS NOT NULL THEN
        RAISE data_exception USING MESSAGE = 'old and new differ', DETAIL = found, HINT = {};
    END IF;
END",
                join(counts, "\nUNION ALL "),
                Literal(hint.to_owned())
            ))
        )
    }

    /// How many rows of a column differ, and how.
    fn compared(&self, moved: &Moved, before: Before) -> Vec<Sql> {
        let after = before != Before::Switch;
        let (column, table) = (&moved.column, self.table_name(moved));
        let (own, target) = (&column.name, if after { &moved.old } else { &moved.new });
        let (new, old) = if after { (own, target) } else { (target, own) };
        let what = |text: &str| Literal(format!("{table}.{own}, {text}"));
        let rows = |text, condition: Sql| {
            sql!("SELECT {}, count(*) FROM {} t WHERE {}", what(text), table, condition)
        };
        let twice = |text, of: &Ident| {
            sql!("SELECT {}, count({}) - count(DISTINCT {}) FROM {}", what(text), of, of, table)
        };
        if column.is_generated && after {
            return Vec::new();
        }
        let side = if after && !moved.is_key { For::Old } else { For::New };
        let value = self.value(moved, Of::Table, side);
        if moved.is_key {
            let computed = (!after && self.value.is_some()).then(|| {
                rows("rows with another key than computed", sql!("t.{} IS DISTINCT FROM {}", new, value))
            });
            return [
                rows("rows without a new key", sql!("t.{} IS NULL", new)),
                twice("rows with the new key of another one", new),
                twice("rows with the old key of another one", old),
            ]
            .into_iter()
            .chain(computed)
            .collect();
        }
        let valued = |text, condition: Sql| self.valued((moved, own), text, &value, condition);
        if column.is_generated {
            return vec![valued("values that differ", sql!("t.{} IS DISTINCT FROM v.v", target))];
        }
        let mut all = vec![valued("references to another row", differs(moved, after, own, target))];
        if column.is_array && before != Before::End {
            // Of several dimensions, or not from 1 on: what fills them makes lists.
            let shape = sql!("array_dims(t.{}) IS DISTINCT FROM array_dims(t.{})", own, target);
            all.push(rows("arrays that would become lists", shape));
        }
        if !self.dangling_to_null {
            // The undo takes the new values away, all others the old ones.
            let (old, new) = if before == Before::Undo { (new, old) } else { (old, new) };
            let became_null = sql!("t.{} IS NOT NULL AND t.{} IS NULL", old, new);
            let lost = match column.is_array {
                true => sql!(
                    "(SELECT count(*) FROM unnest(t.{}) e WHERE e IS NULL) > (SELECT count(*) FROM unnest(t.{}) e WHERE e IS NULL)",
                    new,
                    old
                ),
                false => became_null,
            };
            all.push(rows("references to rows that are gone, which become NULL", lost));
        }
        all
    }
}

/// What refers to a row that is gone has no value `v.v` to be compared with.
fn differs(moved: &Moved, after: bool, own: &Ident, target: &Ident) -> Sql {
    match (moved.column.is_array, after) {
        (true, _) => sql!(
            "(t.{} IS NULL) <> (v.v IS NULL) OR EXISTS (SELECT FROM unnest(t.{}, v.v) u(n, v) \
             WHERE u.v IS NOT NULL AND u.n IS DISTINCT FROM u.v)",
            target,
            target
        ),
        (false, true) => sql!("v.v IS NOT NULL AND t.{} IS DISTINCT FROM v.v", target),
        (false, false) => sql!(
            "v.v IS NOT NULL AND t.{target} IS DISTINCT FROM v.v OR t.{own} IS NULL AND t.{target} IS NOT NULL",
            [target, own]
        ),
    }
}
