//! Which columns move: keys, what refers to them, and generated columns that read these; how each new value
//! is found; and what forbids it.

use std::collections::{BTreeMap, BTreeSet};

use postgres::types::Oid;

use super::catalog::{Catalog, Column, ColumnState, Family, ForeignKey, Index, Relation};
use super::objects::Object;
use super::sql::{Expression, Ident, Name};
use super::wishes::{Target, Wishes, name_parts, said};

/// A column of a table that is no partition, by its name, since partitions can have other numbers.
pub(super) type Place = (Oid, Ident);

/// Something to know before a move, said once for all objects that it is true of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    pub(super) what: &'static str,
    pub(super) action: &'static str,
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
    /// All names of its columns, and how the server writes them.
    pub(super) names: Vec<(Ident, String)>,
}

/// A column that moves.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    pub(super) table: usize,
    pub(super) column: Column,
    pub(super) is_key: bool,
    /// Until the switch, of the new column; after it, of the old one.
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
    pub(super) tables: Vec<Table>,
    pub(super) columns: Vec<Moved>,
    pub(super) indexes: Vec<Index>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) objects: Vec<Object>,
    pub(super) target: Target,
    pub(super) is_back: bool,
    pub(super) value: Option<Expression>,
    pub(super) keeps_map: bool,
    pub(super) sno_schema: Ident,
    pub(super) sno_type: Expression,
    pub(super) search_path: String,
    pub(super) database: String,
    pub(super) user: String,
    pub(super) version: i32,
    /// Names of relations.
    pub(super) taken: Vec<String>,
    /// What columns of tables and partitions have, and their numbers.
    pub(super) states: Vec<(Oid, Ident, ColumnState)>,
    pub(super) numbers: Vec<(Oid, i16, Ident)>,
    /// Their constraints NOT NULL.
    pub(super) not_nulls: Vec<(Oid, Ident, Option<Ident>)>,
    pub(super) dangling_to_null: bool,
    pub(super) findings: Vec<Finding>,
}

/// The columns that move, before they have names: what the rest of the catalogs is asked about.
pub(super) struct Reached<'a> {
    pub(super) keys: Vec<&'a Column>,
    /// Of each column that refers to keys, these; from foreign keys alone.
    references: BTreeMap<Place, BTreeSet<Place>>,
    said: Vec<(Place, Place, Option<Expression>)>,
    pub(super) all: Vec<&'a Column>,
    pub(super) findings: Vec<Finding>,
}

impl Catalog {
    pub(super) fn relation(&self, oid: Oid) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.oid == oid)
    }
    fn root(&self, oid: Oid) -> Option<Oid> {
        self.relation(oid).map(|relation| relation.root)
    }
    pub(super) fn named(&self, rel: Oid, attnum: i16) -> Option<&Column> {
        self.columns.iter().find(|column| column.rel == rel && column.attnum == attnum)
    }
    pub(super) fn at(&self, place: &Place) -> Option<&Column> {
        self.columns.iter().find(|column| column.rel == place.0 && column.name == place.1)
    }
    pub(super) fn shown(&self, column: &Column) -> String {
        let table = self.relation(column.rel).map(|r| r.name.to_string());
        [&table.unwrap_or_default(), ".", &column.name.0].concat()
    }
    /// From each column of a foreign key to its key, both of tables that are no partitions.
    fn edges(&self) -> Vec<(Place, Place)> {
        let place = |rel, attnum| Some((self.root(rel)?, self.named(rel, attnum)?.name.clone()));
        let of = |k: &ForeignKey| {
            let pairs = k.columns.iter().zip(&k.to_columns);
            pairs.filter_map(|(&n, &m)| Some((place(k.rel, n)?, place(k.to, m)?))).collect::<Vec<_>>()
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
    pub(super) fn place(&self) -> Place {
        (self.rel, self.name.clone())
    }
    /// By the database: an identity, or a function.
    pub(super) fn is_made(&self) -> bool {
        self.identity || self.default.as_ref().is_some_and(|default| default.0.contains('('))
    }
}

impl Index {
    pub(super) fn is_of(&self, kind: char) -> bool {
        self.constraint.as_ref().is_some_and(|(_, found)| found.starts_with(kind))
    }
}

/// Which columns move.
pub(super) fn reach<'a>(catalog: &'a Catalog, wishes: &Wishes) -> Reached<'a> {
    let edges = catalog.edges();
    let mut findings = Vec::new();
    let mut refuse = |what, object: String, action| {
        findings.push(Finding { kind: Kind::Refused, what, action, object });
    };
    let mut said_lines = Vec::new();
    for line in &wishes.references {
        match said(catalog, line) {
            Some(s) => said_lines.push((s.column.place(), s.key.place(), s.condition)),
            None => refuse("not found", line.clone(), "no such columns"),
        }
    }
    let keys = wanted_keys(catalog, wishes, &edges, &mut refuse);
    let all_edges: Vec<(&Place, &Place)> =
        edges.iter().map(|(a, b)| (a, b)).chain(said_lines.iter().map(|(a, b, _)| (a, b))).collect();
    let mut references: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
    for key in &keys {
        let mut queue = vec![key.place()];
        let mut seen = BTreeSet::from([key.place()]);
        while let Some(place) = queue.pop() {
            for (from, _) in all_edges.iter().filter(|(_, to)| **to == place) {
                references.entry((*from).clone()).or_default().insert(key.place());
                if seen.insert((*from).clone()) {
                    queue.push((*from).clone());
                }
            }
        }
    }
    let mut places: BTreeSet<Place> =
        keys.iter().map(|key| key.place()).chain(references.keys().cloned()).collect();
    for column in places.clone().iter().filter_map(|place| catalog.at(place)) {
        places.extend(column.readers.iter().filter_map(|&n| catalog.named(column.rel, n)).map(Column::place));
    }
    let mut all: Vec<_> = places.iter().filter_map(|place| catalog.at(place)).collect();
    all.sort_by_key(|column| (!keys.iter().any(|key| key.rel == column.rel), column.rel, column.attnum));
    Reached { keys, references, said: said_lines, all, findings }
}

/// Keys are primary keys' columns that are generated, uuids, texts called id, or those that are named.
fn wanted_keys<'a>(
    catalog: &'a Catalog,
    wishes: &Wishes,
    edges: &[(Place, Place)],
    refuse: &mut impl FnMut(&'static str, String, &'static str),
) -> Vec<&'a Column> {
    let refers = |column: &Column| edges.iter().any(|(from, _)| *from == column.place());
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
        let named = catalog.column(&parts).map(Column::place);
        let found: Vec<_> = candidates
            .iter()
            .filter(|c| {
                Some(c.place()) == named
                    || table == Some(c.rel) && (is_one(c) || c.family.is_like(Family::Integer))
            })
            .copied()
            .collect();
        if found.is_empty() {
            refuse("not found", wish.clone(), "no such key");
        }
        keys.extend(found);
    }
    keys.sort_by_key(|key| key.place());
    keys.dedup_by_key(|key| key.place());
    keys
}

impl Model {
    /// The model of a move, with everything that forbids it.
    pub(super) fn new(catalog: &Catalog, wishes: &Wishes, reached: Reached, objects: Vec<Object>) -> Self {
        let tables = tables(catalog, &reached);
        let mut columns = Vec::<Moved>::new();
        for column in &reached.all {
            let table = tables
                .iter()
                .position(|t| t.relation.oid == column.rel)
                .expect("tables are those of columns");
            let is_key = reached.keys.iter().any(|key| key.place() == column.place());
            columns.push(named((catalog, wishes), &tables, table, column, is_key, &columns));
        }
        let mut model = Self {
            foreign_keys: foreign_keys(catalog, &columns),
            indexes: indexes(catalog, &tables, &columns),
            tables,
            columns,
            objects,
            target: wishes.target(),
            is_back: wishes.back,
            value: value(catalog, wishes),
            keeps_map: !wishes.no_map,
            sno_schema: Ident(catalog.session.sno.clone().unwrap_or_default()),
            sno_type: Expression(catalog.session.sno_type.clone().unwrap_or_default()),
            search_path: catalog.session.search_path.clone(),
            database: catalog.session.database.clone(),
            user: catalog.session.user.clone(),
            version: catalog.session.version,
            taken: catalog.session.taken.clone(),
            states: Vec::new(),
            numbers: Vec::new(),
            not_nulls: Vec::new(),
            dangling_to_null: wishes.dangling_to_null,
            findings: reached.findings.clone(),
        };
        let of_parts = |column: &&Column| model.table_of(column.rel).is_some();
        let (states, numbers) = catalog
            .columns
            .iter()
            .filter(of_parts)
            .map(|column| {
                let name = &column.name;
                ((column.rel, name.clone(), column.state.clone()), (column.rel, column.attnum, name.clone()))
            })
            .unzip();
        model.not_nulls = catalog
            .columns
            .iter()
            .filter(of_parts)
            .map(|column| (column.rel, column.name.clone(), column.not_null.clone()))
            .collect();
        (model.states, model.numbers) = (states, numbers);
        model.find_lookups(&reached);
        model.find_births(catalog, wishes);
        model.findings.extend(super::check::findings(catalog, wishes, &model, &reached));
        model.findings.sort();
        model.findings.dedup();
        model
    }

    fn find_lookups(&mut self, reached: &Reached) {
        let position = |model: &Self, place: &Place| {
            model.columns.iter().position(|c| c.column.rel == place.0 && c.column.name == place.1)
        };
        for n in 0..self.columns.len() {
            let place = self.columns[n].column.place();
            if self.columns[n].is_key || self.columns[n].column.is_generated {
                continue;
            }
            let said = reached
                .said
                .iter()
                .filter(|(from, to, _)| *from == place && reached.keys.iter().any(|key| key.place() == *to));
            let mut lookups: Vec<_> = said
                .filter_map(|(_, to, condition)| {
                    Some(Lookup { key: position(self, to)?, condition: condition.clone() })
                })
                .collect();
            if lookups.is_empty() {
                let keys = reached.references.get(&place).into_iter().flatten();
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
        if tables.iter().any(|table| table.relation.oid == column.rel) {
            continue;
        }
        let Some(relation) = catalog.relation(column.rel) else { continue };
        let mut parts: Vec<_> =
            catalog.relations.iter().filter(|part| part.root == column.rel).cloned().collect();
        parts.sort_by_key(|part| (part.level, part.oid));
        let names =
            catalog.columns.iter().filter(|c| c.rel == column.rel).map(|c| (c.name.clone(), c.shown.clone()));
        tables.push(Table { relation: relation.clone(), parts, names: names.collect() });
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
        tables[table].names.iter().any(|(taken, _)| taken.0 == name)
            || before.iter().any(|other| other.table == table && (other.new.0 == name || other.old.0 == name))
    };
    let new = Ident::made(&wish, "", number, is_taken(&wish));
    let old = ["old_", name].concat();
    let old = Ident::made(&old, "", number, is_taken(&old));
    let set = [&relation.name.name.0, "_", &new.0].concat();
    let is_taken = catalog.session.taken.contains(&[set.as_str(), "_set"].concat());
    let set = Ident::made(&set, "_set", number, is_taken);
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

/// Between columns that move.
fn foreign_keys(catalog: &Catalog, columns: &[Moved]) -> Vec<ForeignKey> {
    let moves = |rel, attnum: &i16| {
        let place = catalog.root(rel).zip(catalog.named(rel, *attnum).map(|column| &column.name));
        place.is_some_and(|(rel, name)| columns.iter().any(|c| c.column.rel == rel && c.column.name == *name))
    };
    let between = |key: &&ForeignKey| {
        key.columns.iter().zip(&key.to_columns).any(|(n, m)| moves(key.rel, n) && moves(key.to, m))
    };
    catalog.foreign_keys.iter().filter(between).cloned().collect()
}

/// Those that read columns that move.
fn indexes(catalog: &Catalog, tables: &[Table], columns: &[Moved]) -> Vec<Index> {
    let reads = |index: &&Index| {
        let Some(table) = tables.iter().position(|t| t.parts.iter().any(|part| part.oid == index.rel)) else {
            return false;
        };
        index.columns.iter().filter_map(|&n| catalog.named(index.rel, n)).any(|column| {
            columns.iter().any(|moved| moved.table == table && moved.column.name == column.name)
        })
    };
    let mut indexes: Vec<Index> = catalog.indexes.iter().filter(reads).cloned().collect();
    let place = |index: &Index| tables.iter().position(|t| t.parts.iter().any(|part| part.oid == index.rel));
    indexes.sort_by_key(|index| (place(index), index.oid));
    indexes
}

/// The expression for new keys, with the schema of its function.
fn value(catalog: &Catalog, wishes: &Wishes) -> Option<Expression> {
    let schema =
        catalog.session.value_schema.as_ref().map(|schema| super::sql::sql!("{}.", Ident(schema.clone())));
    let text = match (&wishes.value, wishes.target(), wishes.back) {
        (Some(text), ..) => super::sql::sql!("{}{}", schema, Expression(text.clone())),
        (None, Target::Uuid, true) => {
            super::sql::sql!("{}.sno_to_uuidv7(id)", Ident(catalog.session.sno.clone()?))
        }
        _ => return None,
    };
    Some(Expression(text.to_string()))
}

/// The column that says when a row was created.
pub(super) fn birth_column(catalog: &Catalog, rel: Oid) -> Option<&Column> {
    let is_one = |name: &str| {
        let name = name.to_lowercase();
        let Some(rest) = ["created", "create", "creation", "inserted", "insert"]
            .iter()
            .find_map(|begin| name.strip_prefix(begin))
        else {
            return name == "date_created";
        };
        let rest = rest.strip_prefix('_').unwrap_or(rest);
        ["", "at", "on", "time", "date", "ts", "ms", "timestamp"].contains(&rest)
            && (!rest.is_empty() || !name.ends_with('_'))
    };
    let mut found: Vec<_> =
        catalog.columns.iter().filter(|column| column.rel == rel && is_one(&column.name.0)).collect();
    found.retain(|column| {
        !column.is_generated && !["create", "insert"].contains(&column.name.0.to_lowercase().as_str())
    });
    found.sort_by_key(|column| (!column.name.0.to_lowercase().ends_with("at"), column.attnum));
    found.first().copied()
}

/// Its time; None, if it is not clear what its values mean.
pub(super) fn birth_of(column: &Column) -> Option<Expression> {
    use super::sql::sql;
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

/// The table itself, for names.
pub(super) fn own_name(model: &Model, name: &str) -> Name {
    model.tables[0].relation.name.beside(Ident(name.to_owned()))
}
