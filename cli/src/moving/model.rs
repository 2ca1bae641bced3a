//! Which columns move: keys, what refers to them, and generated columns that read these; how each new value
//! is found; and what forbids it.

use std::collections::{BTreeMap, BTreeSet};

use postgres::types::Oid;

use super::catalog::{Catalog, Column, Family, ForeignKey, Index, Relation};
use super::objects::Object;
use super::sql::{Expression, Ident, sql};
use super::wishes::{Target, Wishes, name_parts, said};

/// A column of a table that is no partition, by its name, since partitions can have other numbers.
pub(super) type ColumnId = (Oid, Ident);

/// Something to know before a move, said once for all objects that it is true of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    pub(super) what: String,
    pub(super) action: String,
    pub(super) object: String,
}

/// How grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Nothing is written.
    Refused,
    /// The application, or the DBA, has to do something.
    ToDo,
    /// What the steps do by themselves.
    Note,
}

/// A table with its partitions.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) relation: Relation,
    pub(super) parts: Vec<Relation>,
}

/// A column that moves:
///
/// | | before the switch, and after its undo | after the switch |
/// |---|---|---|
/// | the old column is called | `column.name` | `old` |
/// | the new one | `new` | `column.name` |
/// | a trigger fills | the new one (`Trigger::Moving`), but a key that has a default | the old one (`Trigger::Moved`), but a key; and for good what was a generated column (`Trigger::Generated`) |
///
/// The way between the two is `switch::Way`, the column whose value is asked for `values::For`, and what a verification comes before
/// `state::Before`.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    pub(super) table: usize,
    pub(super) column: Column,
    pub(super) is_key: bool,
    pub(super) new: Ident,
    pub(super) old: Ident,
    /// The constraint that says NOT NULL without a lock.
    pub(super) set: Ident,
    pub(super) lookups: Vec<Lookup>,
    /// Whether rows that are written after the switch have an old value, too.
    pub(super) keeps_old: bool,
    pub(super) birth: Option<Birth>,
}

/// Where the new value of a reference is found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lookup {
    /// In `Model::columns`.
    pub(super) key: usize,
    pub(super) condition: Option<Expression>,
}

/// When rows of a table were created, as a `timestamptz`.
#[derive(Debug, Clone)]
pub(super) struct Birth {
    pub(super) expression: Expression,
    pub(super) can_be_null: bool,
}

/// All that the steps are made from.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) catalog: Catalog,
    pub(super) tables: Vec<Table>,
    pub(super) columns: Vec<Moved>,
    pub(super) indexes: Vec<Index>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) objects: Vec<Object>,
    pub(super) target: Target,
    pub(super) from_sno: bool,
    pub(super) value: Option<Expression>,
    pub(super) keeps_map: bool,
    pub(super) dangling_to_null: bool,
    pub(super) findings: Vec<Finding>,
}

/// The columns that move, before they have names: what the rest of the catalogs is asked about.
pub(super) struct Reached<'a> {
    pub(super) keys: Vec<&'a Column>,
    /// Of each column that refers to keys, these; from foreign keys alone.
    pub(super) references: BTreeMap<ColumnId, BTreeSet<ColumnId>>,
    pub(super) said: Vec<(ColumnId, ColumnId, Option<Expression>)>,
    pub(super) all: Vec<&'a Column>,
    pub(super) findings: Vec<Finding>,
}

impl Finding {
    pub(super) fn new(kind: Kind, what: &str, object: &impl ToString, action: &str) -> Self {
        Self { kind, what: what.to_owned(), action: action.to_owned(), object: object.to_string() }
    }
}

impl Reached<'_> {
    /// All columns, also of partitions.
    pub(super) fn parts<'a>(&self, catalog: &'a Catalog) -> impl Iterator<Item = &'a Column> {
        let moves = |column: &&Column| {
            let id = catalog.root_column(column.rel, column.attnum);
            self.all.iter().any(|moved| Some(moved.id()) == id)
        };
        catalog.columns.iter().filter(moves)
    }
}

impl Catalog {
    pub(super) fn relation(&self, oid: Oid) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.oid == oid)
    }
    /// A name for something new, with the number in it if something has it.
    pub(super) fn free(&self, base: &str, suffix: &str, number: u32) -> Ident {
        Ident::made(base, suffix, number, |name| self.session.taken.iter().any(|taken| taken == name))
    }
    pub(super) fn root(&self, oid: Oid) -> Option<Oid> {
        self.relation(oid).map(|relation| relation.root)
    }
    pub(super) fn named(&self, rel: Oid, attnum: i16) -> Option<&Column> {
        self.columns.iter().find(|column| column.rel == rel && column.attnum == attnum)
    }
    pub(super) fn at(&self, (rel, name): &ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.rel == *rel && column.name == *name)
    }
    /// The column of the table that is no partition.
    pub(super) fn root_column(&self, rel: Oid, attnum: i16) -> Option<ColumnId> {
        Some((self.root(rel)?, self.named(rel, attnum)?.name.clone()))
    }
    pub(super) fn shown(&self, column: &Column) -> String {
        let table = self.relation(column.rel).map(|r| r.name.to_string());
        [&table.unwrap_or_default(), ".", &column.name.0].concat()
    }
    /// From each column of a foreign key to its key, both of tables that are no partitions.
    fn edges(&self) -> Vec<(ColumnId, ColumnId)> {
        let of = |k: &ForeignKey| {
            let pairs = k.columns.iter().zip(&k.to_columns);
            pairs
                .filter_map(|(&n, &m)| Some((self.root_column(k.rel, n)?, self.root_column(k.to, m)?)))
                .collect::<Vec<_>>()
        };
        self.foreign_keys.iter().flat_map(of).collect()
    }
    /// Primary keys of tables that are no partitions.
    fn primary_keys(&self) -> impl Iterator<Item = &Index> {
        let is_root = |rel| self.root(rel) == Some(rel);
        self.indexes.iter().filter(move |index| index.is_of('p') && is_root(index.rel))
    }
}

impl Column {
    pub(super) fn id(&self) -> ColumnId {
        (self.rel, self.name.clone())
    }
    /// By the database: an identity, or a function.
    pub(super) fn is_made(&self) -> bool {
        self.identity || self.default.as_ref().is_some_and(|default| default.0.contains('('))
    }
}

impl Index {
    pub(super) fn is_of(&self, kind: char) -> bool {
        self.constraint_type.starts_with(kind)
    }
}

/// Which columns move.
pub(super) fn reach<'a>(catalog: &'a Catalog, wishes: &Wishes) -> Reached<'a> {
    let edges = catalog.edges();
    let mut findings = Vec::new();
    let mut refuse = |object: &String, action| {
        findings.push(Finding::new(Kind::Refused, "not found", object, action));
    };
    let mut said_lines = Vec::new();
    for line in &wishes.references {
        match said(catalog, line) {
            Some(said) => said_lines.push(said),
            None => refuse(line, "no such columns"),
        }
    }
    let keys = wanted_keys(catalog, wishes, &edges, &mut refuse);
    let all_edges: Vec<(&ColumnId, &ColumnId)> =
        edges.iter().map(|(a, b)| (a, b)).chain(said_lines.iter().map(|(a, b, _)| (a, b))).collect();
    let mut references: BTreeMap<ColumnId, BTreeSet<ColumnId>> = BTreeMap::new();
    for key in &keys {
        let mut queue = vec![key.id()];
        let mut seen = BTreeSet::from([key.id()]);
        while let Some(id) = queue.pop() {
            for (from, _) in all_edges.iter().filter(|(_, to)| **to == id) {
                references.entry((*from).clone()).or_default().insert(key.id());
                if seen.insert((*from).clone()) {
                    queue.push((*from).clone());
                }
            }
        }
    }
    let mut ids: BTreeSet<ColumnId> =
        keys.iter().map(|key| key.id()).chain(references.keys().cloned()).collect();
    for column in ids.clone().iter().filter_map(|id| catalog.at(id)) {
        ids.extend(column.readers.iter().filter_map(|&n| catalog.named(column.rel, n)).map(Column::id));
    }
    let mut all: Vec<_> = ids.iter().filter_map(|id| catalog.at(id)).collect();
    all.sort_by_key(|column| (!keys.iter().any(|key| key.rel == column.rel), column.rel, column.attnum));
    Reached { keys, references, said: said_lines, all, findings }
}

/// Keys are primary keys' columns that are generated, uuids, texts called id, or those that are named.
fn wanted_keys<'a>(
    catalog: &'a Catalog,
    wishes: &Wishes,
    edges: &[(ColumnId, ColumnId)],
    refuse: &mut impl FnMut(&String, &'static str),
) -> Vec<&'a Column> {
    let refers = |column: &Column| edges.iter().any(|(from, _)| *from == column.id());
    let candidates: Vec<_> = catalog
        .primary_keys()
        .flat_map(|key| key.columns.iter().filter_map(|&n| catalog.named(key.rel, n)))
        .filter(|column| !refers(column))
        .collect();
    let is_one = |column: &Column| {
        let made = matches!(column.family, Family::Integer | Family::Uuid) && column.is_made();
        let named =
            matches!(column.family, Family::Uuid | Family::Text | Family::Varchar) && column.name.0 == "id";
        let is_sno = column.family == Family::Sno;
        (made || named || is_sno) && is_sno == wishes.back && !column.is_inherited && !column.is_array
    };
    if wishes.keys.is_empty() {
        return candidates.into_iter().filter(|column| is_one(column)).collect();
    }
    let mut keys: Vec<&Column> = Vec::new();
    for wish in &wishes.keys {
        let parts = name_parts(wish)
            .filter(|(_, rest)| rest.trim().is_empty())
            .map_or_else(Vec::new, |(parts, _)| parts);
        let table = catalog.table(&parts).map(|table| table.oid);
        let named = catalog.column(&parts).map(Column::id);
        let found: Vec<_> = candidates
            .iter()
            .filter(|c| {
                Some(c.id()) == named
                    || table == Some(c.rel) && (is_one(c) || c.family.is_like(Family::Integer))
            })
            .copied()
            .collect();
        if found.is_empty() {
            refuse(wish, "no such key");
        }
        keys.extend(found);
    }
    keys.sort_by_key(|key| key.id());
    keys.dedup_by_key(|key| key.id());
    keys
}

impl Model {
    /// The model of a move, with what the catalogs' rows alone do not say of it.
    pub(super) fn new(catalog: &Catalog, wishes: &Wishes, reached: &Reached, objects: Vec<Object>) -> Self {
        let tables = tables(catalog, reached);
        let mut columns = Vec::<Moved>::new();
        for column in &reached.all {
            let table = tables
                .iter()
                .position(|t| t.relation.oid == column.rel)
                .expect("tables are those of columns");
            let is_key = reached.keys.iter().any(|key| key.id() == column.id());
            columns.push(named((catalog, wishes), &tables, table, column, is_key, &columns));
        }
        let mut model = Self {
            foreign_keys: foreign_keys(catalog, &columns),
            indexes: indexes(catalog, &tables, &columns),
            tables,
            columns,
            objects,
            catalog: catalog.clone(),
            target: wishes.target(),
            from_sno: wishes.back,
            value: value(catalog, wishes),
            keeps_map: !wishes.no_map,
            dangling_to_null: wishes.dangling_to_null,
            findings: reached.findings.clone(),
        };
        model.find_lookups(reached);
        model.find_births(catalog, wishes);
        model.findings.extend(super::check::findings(wishes, &model, reached));
        model
    }

    fn find_lookups(&mut self, reached: &Reached) {
        let position = |model: &Self, id: &ColumnId| model.columns.iter().position(|c| c.column.id() == *id);
        for n in 0..self.columns.len() {
            let id = self.columns[n].column.id();
            if self.columns[n].is_key || self.columns[n].column.is_generated {
                continue;
            }
            let said = reached
                .said
                .iter()
                .filter(|(from, to, _)| *from == id && reached.keys.iter().any(|key| key.id() == *to));
            let mut lookups: Vec<_> = said
                .filter_map(|(_, to, condition)| {
                    Some(Lookup { key: position(self, to)?, condition: condition.clone() })
                })
                .collect();
            if lookups.is_empty() {
                let keys = reached.references.get(&id).into_iter().flatten();
                lookups = keys
                    .filter_map(|to| Some(Lookup { key: position(self, to)?, condition: None }))
                    .take(1)
                    .collect();
            }
            self.columns[n].lookups = lookups;
        }
        let keeps: Vec<bool> = self.columns.iter().map(|c| c.is_key && c.fills_old().is_some()).collect();
        for column in self.columns.iter_mut().filter(|column| !column.column.is_generated) {
            column.keeps_old = column.lookups.iter().all(|lookup| keeps[lookup.key])
                && (!column.is_key || column.fills_old().is_some());
        }
        let lost: BTreeSet<usize> =
            self.columns.iter().filter(|c| !c.keeps_old && !c.column.is_generated).map(|c| c.table).collect();
        for column in self.columns.iter_mut().filter(|column| column.column.is_generated) {
            column.keeps_old = !lost.contains(&column.table);
        }
    }

    fn find_births(&mut self, catalog: &Catalog, wishes: &Wishes) {
        let times: Vec<_> = wishes
            .times
            .iter()
            .filter_map(|line| {
                let (table, rest) = name_parts(line)?;
                Some((catalog.table(&table)?.oid, rest.trim().to_owned()))
            })
            .collect();
        for key in self.columns.iter_mut().filter(|column| column.is_key) {
            let said = times.iter().find(|(rel, _)| *rel == key.column.rel);
            key.birth = match said {
                Some((_, text)) => Some(Birth { expression: Expression(text.clone()), can_be_null: true }),
                None => birth_column(catalog, key.column.rel).and_then(|column| {
                    Some(Birth { expression: birth_of(column)?, can_be_null: !column.is_not_null })
                }),
            };
        }
    }

    /// The columns of a table.
    pub(super) fn of(&self, table: usize) -> impl Iterator<Item = &Moved> {
        self.columns.iter().filter(move |column| column.table == table)
    }
    pub(super) fn keys(&self) -> impl Iterator<Item = &Moved> {
        self.columns.iter().filter(|column| column.is_key)
    }
    pub(super) fn table(&self, column: &Moved) -> &Table {
        &self.tables[column.table]
    }
    /// The table that this one is, or is a partition of.
    pub(super) fn table_of(&self, rel: Oid) -> Option<(usize, &Relation)> {
        self.tables
            .iter()
            .enumerate()
            .find_map(|(n, table)| Some((n, table.parts.iter().find(|part| part.oid == rel)?)))
    }
}

impl Moved {
    /// What gives an old key to rows that are written after the switch.
    pub(super) fn fills_old(&self) -> Option<OldKey> {
        match self.column.family {
            _ if self.column.is_made() => Some(OldKey::ByDefault),
            Family::Uuid => Some(OldKey::Uuid),
            Family::Sno => Some(OldKey::Sno),
            _ => None,
        }
    }
}

/// See `Moved::fills_old`.
#[derive(PartialEq, Eq, Clone, Copy)]
pub(super) enum OldKey {
    ByDefault,
    Uuid,
    Sno,
}

fn tables(catalog: &Catalog, reached: &Reached) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for column in &reached.all {
        let is_there = tables.iter().any(|table| table.relation.oid == column.rel);
        let Some(relation) = catalog.relation(column.rel).filter(|_| !is_there) else { continue };
        let mut parts: Vec<_> =
            catalog.relations.iter().filter(|part| part.root == column.rel).cloned().collect();
        parts.sort_by_key(|part| (part.level, part.oid));
        tables.push(Table { relation: relation.clone(), parts });
    }
    tables
}

/// The column with the names that it will have.
fn named(
    (catalog, wishes): (&Catalog, &Wishes),
    tables: &[Table],
    table: usize,
    column: &Column,
    is_key: bool,
    before: &[Moved],
) -> Moved {
    let relation = &tables[table].relation;
    let name = &column.name.0;
    let number = u32::try_from(column.attnum).unwrap_or_default();
    let is_second = before.iter().any(|other| other.table == table && other.is_key && is_key);
    let wish = match wishes.back {
        true => ["new_", name].concat(),
        false if is_key && !is_second => "sno".to_owned(),
        false => {
            [name.strip_suffix("_id").or_else(|| name.strip_suffix("Id")).unwrap_or(name), "_sno"].concat()
        }
    };
    let is_taken = |name: &str| {
        catalog.at(&(column.rel, Ident(name.to_owned()))).is_some()
            || before.iter().any(|other| other.table == table && (other.new.0 == name || other.old.0 == name))
    };
    let new = Ident::made(&wish, "", number, is_taken);
    let old = Ident::made(&["old_", name].concat(), "", number, is_taken);
    let set = [&relation.name.name.0, "_", &new.0].concat();
    let set = catalog.free(&set, "_set", number);
    Moved {
        table,
        column: column.clone(),
        is_key,
        new,
        old,
        set,
        lookups: Vec::new(),
        keeps_old: false,
        birth: None,
    }
}

/// Whether a column of a table or partition moves.
fn moves(catalog: &Catalog, columns: &[Moved], rel: Oid, attnum: i16) -> bool {
    let id = catalog.root_column(rel, attnum);
    columns.iter().any(|moved| Some(moved.column.id()) == id)
}

/// Between columns that move.
fn foreign_keys(catalog: &Catalog, columns: &[Moved]) -> Vec<ForeignKey> {
    let moves = |rel, attnum: &i16| moves(catalog, columns, rel, *attnum);
    let between = |key: &&ForeignKey| {
        key.columns.iter().zip(&key.to_columns).any(|(n, m)| moves(key.rel, n) && moves(key.to, m))
    };
    catalog.foreign_keys.iter().filter(between).cloned().collect()
}

/// Those that read columns that move.
fn indexes(catalog: &Catalog, tables: &[Table], columns: &[Moved]) -> Vec<Index> {
    let reads = |index: &&Index| index.columns.iter().any(|&n| moves(catalog, columns, index.rel, n));
    let mut indexes: Vec<Index> = catalog.indexes.iter().filter(reads).cloned().collect();
    let position = |index: &Index| {
        let root = catalog.root(index.rel);
        tables.iter().position(|table| Some(table.relation.oid) == root)
    };
    indexes.sort_by_key(|index| (position(index), index.oid));
    indexes
}

/// The expression for new keys, with the schema of its function.
fn value(catalog: &Catalog, wishes: &Wishes) -> Option<Expression> {
    let schema = catalog.session.value_schema.as_ref().map(|schema| sql!("{}.", schema));
    let text = match (&wishes.value, wishes.target(), wishes.back) {
        (Some(text), ..) => sql!("{}{}", schema, Expression(text.clone())),
        (None, Target::Uuid, true) => {
            sql!("{}.sno_to_uuidv7(id)", catalog.session.sno)
        }
        _ => return None,
    };
    Some(Expression(text.to_string()))
}

/// The column that says when a row was created.
pub(super) fn birth_column(catalog: &Catalog, rel: Oid) -> Option<&Column> {
    let begins = ["created", "create", "creation", "inserted", "insert"];
    let ends = ["at", "on", "time", "date", "ts", "ms", "timestamp"];
    let is_one = |name: &str| {
        let rest = begins.iter().find_map(|begin| name.strip_prefix(begin));
        let rest = rest.map(|rest| rest.strip_prefix('_').unwrap_or(rest));
        name == "date_created"
            || ["created", "creation", "inserted"].contains(&name)
            || rest.is_some_and(|rest| ends.contains(&rest))
    };
    let of_table = catalog.columns.iter().filter(|column| column.rel == rel && !column.is_generated);
    of_table
        .map(|column| (column, column.name.0.to_lowercase()))
        .filter(|(_, name)| is_one(name))
        .min_by_key(|(column, name)| (!name.ends_with("at"), column.attnum))
        .map(|(column, _)| column)
}

/// Its time; None, if it is not clear what its values mean.
pub(super) fn birth_of(column: &Column) -> Option<Expression> {
    let name = &column.name;
    let text = match column.family {
        _ if column.is_array => return None,
        Family::Timestamptz => sql!("{}::timestamptz", name),
        Family::Timestamp => sql!("{} AT TIME ZONE 'UTC'", name),
        Family::Date => sql!("{}::timestamp AT TIME ZONE 'UTC'", name),
        Family::Integer | Family::Number => sql!("to_timestamp({} / 1000.0)", name),
        _ => return None,
    };
    Some(Expression(text.to_string()))
}
