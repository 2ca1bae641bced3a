//! What a move will meet: what forbids it, what the application or the DBA has to do, and what the steps do
//! by themselves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::catalog::{Catalog, Column, Family, Index, Relation};
use super::model::{Finding, Kind, Model, Reached, birth_column, birth_of};
use super::objects::Form;
use super::wishes::{Wishes, name_parts};

pub(super) fn findings(catalog: &Catalog, wishes: &Wishes, model: &Model, reached: &Reached) -> Vec<Finding> {
    let mut found = Found { all: Vec::new() };
    session(&mut found, catalog, wishes, model);
    for table in &model.tables {
        tables(&mut found, catalog, model, table);
    }
    for moved in &model.columns {
        columns(&mut found, catalog, model, moved);
    }
    for index in &model.indexes {
        indexes(&mut found, catalog, model, index);
    }
    foreign_keys(&mut found, catalog, model);
    objects(&mut found, model);
    others(&mut found, catalog, wishes, model, reached);
    found.all
}

struct Found {
    all: Vec<Finding>,
}

impl Found {
    fn refuse(&mut self, what: &'static str, object: impl ToString, action: &'static str) {
        self.all.push(Finding { kind: Kind::Refused, what, action, object: object.to_string() });
    }
    /// For each of these reasons that is so.
    fn refuse_if<const N: usize>(
        &mut self,
        object: impl ToString,
        reasons: [(bool, &'static str, &'static str); N],
    ) {
        for (_, what, action) in reasons.into_iter().filter(|(is_so, ..)| *is_so) {
            self.refuse(what, object.to_string(), action);
        }
    }
    fn notice(&mut self, what: &'static str, object: impl ToString, action: &'static str) {
        self.all.push(Finding { kind: Kind::ToDo, what, action, object: object.to_string() });
    }
    fn note(&mut self, what: &'static str, object: impl ToString, action: &'static str) {
        self.all.push(Finding { kind: Kind::Note, what, action, object: object.to_string() });
    }
}

fn session(found: &mut Found, catalog: &Catalog, wishes: &Wishes, model: &Model) {
    if catalog.session.sno.is_none() {
        found.refuse("no extension", &catalog.session.database, "say CREATE EXTENSION sno first");
    }
    if catalog.session.all_can_generate == Some(false) && !wishes.back && wishes.value.is_none() {
        let action = "is the default from step 1 on: GRANT EXECUTE on it to all who insert first";
        found.notice("rights on a function", "sno_new()", action);
    }
    if let Some(schema) = &catalog.session.under_way {
        found.refuse("another move", schema, "is under way: sno move run end, or sno move undo, first");
    }
    for name in ["sno_move_plan", "sno_move_progress", "sno_move_before"] {
        let is_taken = |table: &super::model::Table| {
            let name = table.relation.name.beside(super::sql::Ident(name.to_owned()));
            catalog.session.under_way.is_none() && catalog.relations.iter().any(|other| other.name == name)
        };
        if model.tables.first().is_some_and(is_taken) {
            found.refuse("name of the steps", name, "is that of another table: rename it, or drop it, first");
        }
    }
    if model.columns.is_empty() {
        found.refuse("nothing to move", &catalog.session.database, "no key is found: name one with --key");
    }
    for (name, function) in &catalog.session.functions {
        if function.is_none() {
            found.refuse("not found", name, "no such function: with the types of its arguments");
        }
    }
    for line in &wishes.times {
        if name_parts(line).and_then(|(table, _)| catalog.table(&table)).is_none() {
            found.refuse("not found", line, "no such table");
        }
    }
    for trigger in &catalog.session.event_triggers {
        found.notice(
            "event trigger",
            trigger,
            "fires for the statements of the steps: try them on a restored backup",
        );
    }
}

fn tables(found: &mut Found, catalog: &Catalog, model: &Model, table: &super::model::Table) {
    for part in &table.parts {
        parts(found, catalog, part);
    }
    if table.relation.kind == "p" {
        let action =
            "stays partitioned as it is; no partition may come or go between the steps columns and switch";
        found.note("partitioned table", &table.relation.name, action);
    }
    for n in &table.parts[1..] {
        for moved in model.columns.iter().filter(|moved| moved.column.rel == table.relation.oid) {
            let own = catalog.at(&(n.oid, moved.column.name.clone()));
            if own.is_some_and(|own| own.is_not_null) && !moved.column.is_not_null {
                let action = "is not kept: say it of the whole table, or DROP NOT NULL, first";
                found.refuse(
                    "NOT NULL of a partition alone",
                    format!("{}.{}", n.name, moved.column.name),
                    action,
                );
            }
        }
    }
}

fn parts(found: &mut Found, catalog: &Catalog, part: &Relation) {
    let name = &part.name;
    if let Some(pair) = &part.inherits {
        let action = "a key is unique in one table only, and triggers do not fire in the others: \
                      leave out what refers to it";
        found.refuse("inheritance", pair, action);
    }
    for trigger in &part.late_triggers {
        let action = "BEFORE EACH ROW, it could change a row after the trigger that fills it: rename it to a name \
                      before zz_generated";
        found.refuse("late trigger", format!("{trigger} on {name}"), action);
    }
    for function in &part.foreign_functions {
        let action = "would run with your rights as superuser: make it a superuser's, or SECURITY DEFINER, or connect as \
                      a role that owns the tables and is none";
        found.refuse("function of another role", format!("{function} of {name}"), action);
    }
    if let Some(schema) = &part.foreign_schema {
        let action = "its owner could put others in the place of a superuser's tables: ALTER SCHEMA ... OWNER TO, or \
                      connect as a role that owns the tables and is none";
        found.refuse("schema of another role", schema, action);
    }
    for trigger in &part.statement_triggers {
        let action =
            "fires in the step fill with search_path = pg_catalog: ALTER FUNCTION ... SET search_path first";
        found.notice("statement trigger", format!("{trigger} on {name}"), action);
    }
    for rule in &part.update_rules {
        let action = "the step fill would follow it: DISABLE RULE first, and enable it again after the move";
        found.refuse("rule on UPDATE", format!("{rule} on {name}"), action);
    }
    if part.is_subscribed {
        let action =
            "its rows come by a subscription, for which no trigger fires: they need the publisher's columns";
        found.notice("subscribed", name, action);
    }
    for (_, column) in catalog.row_columns.iter().filter(|(rel, _)| *rel == part.oid) {
        let action = "old keys inside of it would be lost: give it another type first";
        found.refuse("rows in a column", format!("{column} of {name}"), action);
    }
    if part.owner.0 != catalog.session.user {
        let action = "the steps call functions of the tables: connect as the owner";
        found.refuse("other owner", format!("{name} of {}", part.owner), action);
    }
    found.refuse_if(
        name,
        [
            (part.is_typed, "typed table", "columns cannot be added: ALTER TABLE ... NOT OF first"),
            (
                part.has_no_identity,
                "published without a replica identity",
                "no row of it can be changed, so the step fill could not: say REPLICA IDENTITY first",
            ),
            (part.kind == "f", "foreign table", "is a partition whose rows are elsewhere: detach it first"),
            (
                part.is_forced && !part.owner_sees_all,
                "forced row security",
                "its owner does not see all of its rows: NO FORCE ROW LEVEL SECURITY first",
            ),
        ],
    );
}

fn columns(found: &mut Found, catalog: &Catalog, model: &Model, moved: &super::model::Moved) {
    let column = &moved.column;
    let shown = catalog.shown(column);
    let of_parts =
        model.table(moved).parts.iter().filter_map(|part| catalog.at(&(part.oid, column.name.clone())));
    for own in of_parts {
        let label = "is not kept: SECURITY LABEL ... IS NULL first, and set it again after the switch";
        let not_null = "NOT VALID, NO INHERIT and comments are not kept: make it an ordinary one first";
        found.refuse_if(
            catalog.shown(own),
            [
                (own.has_label, "security label", label),
                (own.has_special_not_null, "constraint NOT NULL", not_null),
            ],
        );
    }
    found.refuse_if(
        &shown,
        [
            (
                column.shares_sequence,
                "shared sequence",
                "is used by another table, too, but goes with this column: ALTER SEQUENCE ... OWNED BY NONE first",
            ),
            (
                column.is_not_null_by_domain,
                "NOT NULL of a domain",
                "only its domain says so, which does not move: say SET NOT NULL of the column, too",
            ),
            (
                column.in_partition_key,
                "partition key",
                "no row may change its partition: see Partitioned tables in docs/moving.md",
            ),
        ],
    );
    if moved.is_key {
        key(found, catalog, model, moved, &shown);
        return;
    }
    if column.is_generated {
        let action = "becomes a column that a trigger fills, and its values change with the keys";
        found.notice("generated column", &shown, action);
        return;
    }
    for lookup in &moved.lookups {
        let key = &model.columns[lookup.key].column;
        if !column.family.is_like(key.family) {
            let shown = format!("{shown} {}", column.type_name.0);
            found.refuse(
                "reference of another type",
                shown,
                "is not of the type of its key: change it first",
            );
        } else if column.collation != key.collation {
            let action = "could not be compared with its key: give both the same COLLATE first";
            found.refuse("reference of another collation", &shown, action);
        }
    }
    let empty = |default: &str| default.starts_with("NULL") || default.starts_with("'{}'");
    if column.default.as_ref().is_some_and(|default| !empty(&default.0)) {
        let action = "is an old key: DROP DEFAULT first, and set another one after the switch";
        found.refuse("default of a reference", &shown, action);
    }
}

fn key(found: &mut Found, catalog: &Catalog, model: &Model, moved: &super::model::Moved, shown: &str) {
    let column = &moved.column;
    let is_alone = |index: &Index| {
        index.rel == column.rel
            && index.is_unique
            && index.is_valid
            && index.condition.is_none()
            && index.keys == [column.attnum]
    };
    let map = model.map(moved);
    if model.keeps_map && catalog.relations.iter().any(|relation| relation.name == map) {
        let action = "keeps the keys of an earlier move: rename it, or drop it, or say --no-map";
        found.refuse("table with old and new keys", &map, action);
    }
    if model.table(moved).relation.kind == "r" && !catalog.indexes.iter().any(is_alone) {
        found.refuse(
            "part of a key",
            shown,
            "no unique index has it alone, so rows could share it: create one first",
        );
    }
    if !column.is_made() && [Family::Integer, Family::Text, Family::Varchar].contains(&column.family) {
        found.notice(
            "key without a default",
            shown,
            "the first row that is inserted after the switch ends the undo: give it a default first",
        );
    }
    if model.is_back {
        return;
    }
    let birth = birth_column(catalog, column.rel);
    match (&moved.birth, birth) {
        (None, None) => {
            found.note("no creation time", shown, "IDs of rows that are there get today's time; see --time")
        }
        (None, Some(birth)) => found.refuse(
            "creation time",
            catalog.shown(birth),
            "has a type of which the time is not clear: say it with --time",
        ),
        (Some(_), Some(birth)) if birth_of(birth).is_some() && birth.family != Family::Timestamptz => {
            found.notice(
                "creation time",
                catalog.shown(birth),
                "is taken as UTC, a number as milliseconds: else say it with --time",
            );
        }
        _ => {}
    }
}

fn indexes(found: &mut Found, catalog: &Catalog, model: &Model, index: &Index) {
    let moves = |n: &i16| {
        let name = catalog.named(index.rel, *n).map(|column| &column.name);
        let table = model.table_of(index.rel).map(|(table, _)| table);
        model.columns.iter().any(|moved| Some(moved.table) == table && Some(&moved.column.name) == name)
    };
    let shown = &index.name;
    let cannot_include = ["gist", "spgist"].contains(&index.method.as_str());
    let is_temporal = index.method == "gist" && (index.is_of('p') || index.is_of('u'));
    found.refuse_if(
        shown,
        [
            (!index.is_valid, "invalid index", "was not built to its end: drop it, or REINDEX it, first"),
            (
                index.special.iter().any(moves),
                "operator class or collation",
                "IDs have none of this name: drop the index first; an ID is found by the index of its key",
            ),
            (
                cannot_include && index.included.iter().any(moves),
                "INCLUDE of an ID",
                "an index of this kind cannot have one: drop it first",
            ),
            (is_temporal, "temporal key", "WITHOUT OVERLAPS reads all rows under a lock"),
            (
                index.statistics,
                "statistics target of an index",
                "is not kept: ALTER INDEX ... SET STATISTICS -1 first",
            ),
            (
                index.needs_extension,
                "index that needs an extension",
                "DEPENDS ON EXTENSION is not kept: say NO DEPENDS ON EXTENSION first",
            ),
        ],
    );
    if index.is_of('x') {
        found.notice("exclusion constraint", shown, "the step indexes locks its table while it is built");
    }
    if ["gin", "gist", "spgist"].contains(&index.method.as_str()) {
        found.notice("index with a cast", shown, "has the ID as ID::uuid: say so in conditions, too");
    }
}

fn foreign_keys(found: &mut Found, catalog: &Catalog, model: &Model) {
    // Of tables that no step knows, such as those of an extension.
    for key in catalog.foreign_keys.iter().filter(|key| catalog.relation(key.rel).is_none()) {
        let moves = |n: &i16| {
            let column = catalog.named(key.to, *n);
            column.is_some_and(|column| {
                let table = model.table_of(key.to).map(|(table, _)| table);
                model.columns.iter().any(|m| Some(m.table) == table && m.column.name == column.name)
            })
        };
        if key.to_columns.iter().any(moves) {
            let action = "belongs to a table of an extension, which no step changes: drop it first";
            found.refuse("foreign key", &key.name, action);
        }
    }
    for key in &model.foreign_keys {
        let name = format!("{} of {}", key.name, model.name_of(key.rel));
        if key.is_deferrable {
            found.notice(
                "deferred foreign key",
                &name,
                "a row before the row that it refers to gets no ID: change such statements first",
            );
        }
        if key.definition.0.contains(" PERIOD ") || key.definition.0.ends_with(" NOT ENFORCED") {
            found.refuse("foreign key", &name, "is of a kind that no step knows: drop it first");
        }
    }
    for (n, moved) in model.columns.iter().enumerate() {
        let to: std::collections::BTreeSet<_> = model
            .foreign_keys
            .iter()
            .flat_map(|key| key.columns.iter().zip(&key.to_columns).map(move |pair| (key, pair)))
            .filter(|(key, (from, _))| {
                model.table_of(key.rel).is_some_and(|(table, _)| table == moved.table)
                    && catalog.named(key.rel, **from).is_some_and(|column| column.name == moved.column.name)
            })
            .filter_map(|(key, (_, to))| {
                Some((model.table_of(key.to)?.0, catalog.named(key.to, *to)?.name.clone()))
            })
            .collect();
        // To one key, also by what refers to that.
        let keys: std::collections::BTreeSet<_> = to
            .iter()
            .filter_map(|(table, name)| {
                let other = model.columns.iter().position(|c| c.table == *table && c.column.name == *name)?;
                Some(if model.columns[other].is_key {
                    other
                } else {
                    model.columns[other].lookups.first()?.key
                })
            })
            .filter(|key| *key != n)
            .collect();
        if keys.len() > 1 {
            found.refuse(
                "reference to two keys",
                catalog.shown(&moved.column),
                "both move, and would get other IDs: leave one of them out",
            );
        }
    }
}

fn objects(found: &mut Found, model: &Model) {
    for object in &model.objects {
        match &object.form {
            Form::Unknown(why) => found.refuse("unknown object", &object.shown, why),
            Form::Known(known) if known.is_materialized => {
                found.notice(
                    "materialized view",
                    &object.shown,
                    "is empty from the switch until the REFRESH after it (55000)",
                );
            }
            Form::Known(_) => found.note(
                "uses keys",
                &object.shown,
                "made again in the switch, with owner, rights and comments",
            ),
        }
    }
}

/// What does not move, but could have to.
fn others(found: &mut Found, catalog: &Catalog, wishes: &Wishes, model: &Model, reached: &Reached) {
    let is_moved = |column: &Column| model.columns.iter().any(|moved| moved.column.place() == column.place());
    let is_referring = |column: &Column| {
        catalog.foreign_keys.iter().any(|key| key.rel == column.rel && key.columns.contains(&column.attnum))
    };
    if wishes.keys.is_empty() && !wishes.back {
        for index in catalog.indexes.iter().filter(|index| index.is_of('p') && index.columns.len() == 1) {
            let Some(column) = catalog.named(index.rel, index.columns[0]) else { continue };
            let can = [Family::Integer, Family::Uuid, Family::Text, Family::Varchar].contains(&column.family);
            if can && !is_moved(column) && !is_referring(column) && !column.is_inherited {
                found.note(
                    "key that stays",
                    catalog.shown(column),
                    "has no default, or is not called id: name it with --key",
                );
            }
        }
    }
    let keys = &reached.keys;
    for column in &catalog.columns {
        if column.is_generated || column.is_inherited || is_moved(column) || is_referring(column) {
            continue;
        }
        let name = &column.name.0;
        let is_named = ["_id", "_ids", "Id", "Ids"].iter().any(|end| name.ends_with(end));
        let is_like = keys.iter().any(|key| key.family.is_like(column.family));
        let is_table = keys.iter().any(|key| {
            let table =
                catalog.relation(key.rel).map(|relation| relation.name.name.0.clone()).unwrap_or_default();
            key.type_name == column.type_name && (table == *name || table.strip_suffix('s') == Some(name))
        });
        let is_of_table = catalog.relation(column.rel).is_some_and(|relation| relation.root == relation.oid);
        if is_of_table && (is_named && is_like || is_table && !column.is_array) {
            let shown = format!("{} {}", catalog.shown(column), column.type_name.0);
            found.notice(
                "reference without a foreign key?",
                shown,
                "of which table? name it with --reference",
            );
        }
    }
    for (table, publication) in &catalog.session.published {
        if model.tables.iter().any(|t| t.relation.name == *table) {
            let action = "add the columns on the subscribers first; they switch when their apply has stopped, \
                          never before";
            found.notice("published", format!("{table} by {publication}"), action);
        }
    }
    functions(found, catalog, model);
}

fn functions(found: &mut Found, catalog: &Catalog, model: &Model) {
    let is_word = |text: &str, word: &str| {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside))
    };
    for function in &catalog.functions {
        if catalog.session.functions.iter().any(|(_, oid)| *oid == Some(function.oid)) {
            continue;
        }
        let names = model.columns.iter().any(|moved| {
            let column = &moved.column.name.0;
            is_word(&function.body, &model.table(moved).relation.name.name.0)
                || column != "id" && is_word(&function.body, column)
        });
        let typed = model.keys().any(|key| function.types.contains(&key.column.type_name.0));
        if names {
            found.notice(
                "function",
                &function.shown,
                "names what moves: read it, change it if it has the old type, and call it",
            );
        }
        if typed
            && (names
                || model.objects.iter().any(|object| {
                    object.class == "pg_proc" && object.oid == function.oid
                        || object.calls.contains(&function.oid)
                }))
        {
            found.notice(
                "function by its type",
                &function.shown,
                "its arguments or its result have the old type: name it with --function",
            );
        }
    }
}

/// For people: each fact once.
pub(super) fn report(model: &Model) -> String {
    let mut text = String::new();
    let mut groups: BTreeMap<(Kind, &str, &str), Vec<&str>> = BTreeMap::new();
    for finding in &model.findings {
        groups.entry((finding.kind, finding.what, finding.action)).or_default().push(&finding.object);
    }
    let mut last = None;
    for ((kind, what, action), objects) in groups {
        if last != Some(kind) {
            let head = match kind {
                Kind::Refused => "This cannot move:",
                Kind::ToDo => "This is for you to do, or to know:",
                Kind::Note => "The steps do this:",
            };
            let _ = writeln!(text, "{head}");
            last = Some(kind);
        }
        let _ = writeln!(text, "  {what}: {action}");
        for object in objects {
            let _ = writeln!(text, "    {}", object.replace(|c: char| c.is_control(), " "));
        }
    }
    let _ = writeln!(text, "These keys move, with what refers to them:");
    for (n, key) in model.columns.iter().enumerate().filter(|(_, moved)| moved.is_key) {
        let references: Vec<_> = model
            .columns
            .iter()
            .filter(|moved| moved.lookups.iter().any(|lookup| lookup.key == n))
            .map(|moved| format!("{}.{}", model.table(moved).relation.name, moved.column.name))
            .collect();
        let table = &model.table(key).relation;
        let line = format!(
            "  {}.{} {}, {} rows: {}",
            table.name,
            key.column.name,
            key.column.type_name.0,
            table.rows,
            references.join(", ")
        );
        let _ = writeln!(text, "{}", line.replace(|c: char| c.is_control(), " "));
    }
    text.push_str(
        "Not seen: statements of the application; IDs in JSON and text, on subscribers, in queues and caches;\n\
         constants, as in CHECK (id <> 1); what functions build with EXECUTE; references whose names say nothing,\n\
         such as parent or created_by.\n\
         Slower: until the step fill has been at a row, an UPDATE of it looks its references up, and can take two\n\
         and a half times as long.\n",
    );
    text
}

impl Model {
    pub(super) fn refusals(&self) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| finding.kind == Kind::Refused).collect()
    }
}
