//! What a move will meet: what forbids it, what the application or the DBA has to do, and what the steps do
//! by themselves.

use std::collections::BTreeMap;

use postgres::GenericClient;
use postgres::types::Oid;

use super::catalog::{Catalog, Column, Family};
use super::model::{Finding, Kind, Model, Moved, Reached, birth_column, birth_of};
use super::sql::one_line;
use super::wishes::{Wishes, name_parts};

/// What the rows of the catalogs say: a query for each question, which reads what `known.sql` has.
const QUESTIONS: [&str; 8] = [
    include_str!("catalog/findings/tables.sql"),
    include_str!("catalog/findings/rights.sql"),
    include_str!("catalog/findings/triggers.sql"),
    include_str!("catalog/findings/replication.sql"),
    include_str!("catalog/findings/columns.sql"),
    include_str!("catalog/findings/indexes.sql"),
    include_str!("catalog/findings/foreign_keys.sql"),
    include_str!("catalog/findings/functions.sql"),
];

/// Asks them.
pub(super) fn read(
    client: &mut impl GenericClient,
    model: &Model,
    reached: &Reached,
) -> Result<Vec<Finding>, postgres::Error> {
    let tables: Vec<Oid> = model.tables.iter().flat_map(|table| &table.parts).map(|part| part.oid).collect();
    let is_key = |column: &Column| {
        let id = model.catalog.root_column(column.rel, column.attnum);
        reached.keys.iter().any(|key| Some(key.id()) == id)
    };
    let moved = reached.parts(&model.catalog).map(|column| ((column.rel, column.attnum), is_key(column)));
    let ((rels, numbers), keys): ((Vec<Oid>, Vec<i16>), Vec<bool>) = moved.unzip();
    let indexes: Vec<Oid> = model.indexes.iter().map(|index| index.oid).collect();
    let foreign_keys: Vec<Oid> = model.foreign_keys.iter().map(|key| key.oid).collect();
    let is_under_way = model.catalog.session.under_way.is_some();
    let columns = model.columns.iter().map(|moved| &moved.column.name.0).filter(|name| *name != "id");
    let names: Vec<_> = model.tables.iter().map(|table| &table.relation.name.name.0).chain(columns).collect();
    let types: Vec<_> = model.keys().map(|key| &key.column.type_name.0).collect();
    let called: Vec<Oid> = model.objects.iter().flat_map(|object| object.calls.iter().copied()).collect();
    let named: Vec<Oid> = model.catalog.named_functions.iter().filter_map(|(_, oid)| *oid).collect();
    let known = include_str!("catalog/findings/known.sql");
    let rows = client.query(
        &format!(
            "{known}, found (kind, what, object, action) AS (({})) SELECT * FROM found",
            QUESTIONS.join(") UNION ALL (")
        ),
        &[
            &tables,
            &rels,
            &numbers,
            &keys,
            &indexes,
            &foreign_keys,
            &is_under_way,
            &names,
            &types,
            &called,
            &named,
        ],
    )?;
    let found = rows.iter().map(|row| Finding {
        kind: match row.get("kind") {
            "refused" => Kind::Refused,
            "to do" => Kind::ToDo,
            _ => Kind::Note,
        },
        what: row.get("what"),
        action: row.get("action"),
        object: row.get("object"),
    });
    Ok(found.collect())
}

/// What follows from the model, and from what the DBA says.
pub(super) fn findings(wishes: &Wishes, model: &Model, reached: &Reached) -> Vec<Finding> {
    let mut found = Found(Vec::new());
    let catalog = &model.catalog;
    session(&mut found, catalog, wishes, model);
    for moved in &model.columns {
        if moved.is_key {
            key(&mut found, catalog, model, moved)
        } else {
            reference(&mut found, model, moved)
        }
    }
    two_keys(&mut found, catalog, reached);
    objects(&mut found, model);
    others(&mut found, catalog, wishes, model, reached);
    found.0
}

struct Found(Vec<Finding>);

impl Found {
    fn refuse(&mut self, what: &str, object: impl ToString, action: &str) {
        self.0.push(Finding::new(Kind::Refused, what, &object, action));
    }
    fn notice(&mut self, what: &str, object: impl ToString, action: &str) {
        self.0.push(Finding::new(Kind::ToDo, what, &object, action));
    }
    fn note(&mut self, what: &str, object: impl ToString, action: &str) {
        self.0.push(Finding::new(Kind::Note, what, &object, action));
    }
}

fn session(found: &mut Found, catalog: &Catalog, wishes: &Wishes, model: &Model) {
    let session = &catalog.session;
    if session.sno.is_none() {
        found.refuse("no extension", &session.database, "say CREATE EXTENSION sno first");
    }
    if session.all_can_generate == Some(false) && !wishes.back && wishes.value.is_none() {
        let action = "is the default from step 1 on: GRANT EXECUTE on it to all who insert first";
        found.notice("rights on a function", "sno_new()", action);
    }
    if let Some(schema) = &session.under_way {
        found.refuse("another move", schema, "is under way: sno move run end, or sno move undo, first");
    }
    if model.columns.is_empty() {
        found.refuse("nothing to move", &session.database, "no key is found: name one with --key");
    }
    for (name, _) in catalog.named_functions.iter().filter(|(_, function)| function.is_none()) {
        found.refuse("not found", name, "no such function: with the types of its arguments");
    }
    for line in &wishes.times {
        if name_parts(line).and_then(|(table, _)| catalog.table(&table)).is_none() {
            found.refuse("not found", line, "no such table");
        }
    }
}

fn reference(found: &mut Found, model: &Model, moved: &Moved) {
    let (column, shown) = (&moved.column, model.catalog.shown(&moved.column));
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
}

fn key(found: &mut Found, catalog: &Catalog, model: &Model, moved: &Moved) {
    let (column, shown) = (&moved.column, &catalog.shown(&moved.column));
    let map = model.map(moved);
    if model.keeps_map && catalog.relations.iter().any(|relation| relation.name == map) {
        let action = "keeps the keys of an earlier move: rename it, or drop it, or say --no-map";
        found.refuse("table with old and new keys", &map, action);
    }
    if !column.is_made() && [Family::Integer, Family::Text, Family::Varchar].contains(&column.family) {
        found.notice(
            "key without a default",
            shown,
            "the first row that is inserted after the switch ends the undo: give it a default first",
        );
    }
    if model.from_sno {
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

/// A column that is said to refer to several has a condition for each.
fn two_keys(found: &mut Found, catalog: &Catalog, reached: &Reached) {
    for (id, _) in reached.references.iter().filter(|(_, keys)| keys.len() > 1) {
        if let Some(column) = catalog.at(id).filter(|_| reached.said.iter().all(|(from, ..)| from != id)) {
            let action = "both move, and would get other IDs: leave one of them out";
            found.refuse("reference to two keys", catalog.shown(column), action);
        }
    }
}

fn objects(found: &mut Found, model: &Model) {
    for object in &model.objects {
        match &object.why {
            Some(why) => found.refuse("unknown object", &object.shown, why),
            None if object.is_materialized => found.notice(
                "materialized view",
                &object.shown,
                "is empty from the switch until the REFRESH after it (55000)",
            ),
            None => found.note(
                "uses keys",
                &object.shown,
                "made again in the switch, with owner, rights and comments",
            ),
        }
    }
}

/// What does not move, but could have to.
fn others(found: &mut Found, catalog: &Catalog, wishes: &Wishes, model: &Model, reached: &Reached) {
    let is_moved = |column: &Column| model.columns.iter().any(|moved| moved.column.id() == column.id());
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
}

/// For people: each fact of these kinds once, a line each.
fn listed(model: &Model, kinds: &[Kind]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut groups: BTreeMap<(Kind, &str, &str), Vec<&str>> = BTreeMap::new();
    for finding in model.findings.iter().filter(|finding| kinds.contains(&finding.kind)) {
        groups.entry((finding.kind, &finding.what, &finding.action)).or_default().push(&finding.object);
    }
    let mut last = None;
    for ((kind, what, action), objects) in groups {
        if last != Some(kind) {
            let head = match kind {
                Kind::Refused => "This cannot move:",
                Kind::ToDo => "This is for you to do, or to know:",
                Kind::Note => "The steps do this:",
            };
            lines.push(head.to_owned());
            last = Some(kind);
        }
        lines.push(format!("  {what}: {action}"));
        lines.extend(objects.iter().map(|object| format!("    {object}")));
    }
    lines
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| one_line(line) + "\n").collect()
}

/// What a step does not do.
pub(super) fn to_do(model: &Model) -> String {
    text(&listed(model, &[Kind::ToDo]))
}

/// All of it, and which keys move.
pub(super) fn report(model: &Model) -> String {
    let mut lines = listed(model, &[Kind::Refused, Kind::ToDo, Kind::Note]);
    lines.push("These keys move, with what refers to them:".to_owned());
    for (n, key) in model.columns.iter().enumerate().filter(|(_, moved)| moved.is_key) {
        let references: Vec<_> = model
            .columns
            .iter()
            .filter(|moved| moved.lookups.iter().any(|lookup| lookup.key == n))
            .map(|moved| format!("{}.{}", model.table(moved).relation.name, moved.column.name))
            .collect();
        let table = &model.table(key).relation;
        lines.push(format!(
            "  {}.{} {}, {} rows: {}",
            table.name,
            key.column.name,
            key.column.type_name.0,
            table.rows,
            references.join(", ")
        ));
    }
    let mut text = text(&lines);
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
