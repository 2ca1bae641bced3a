//! The steps that give new columns all that the old ones have: indexes, the switch, and back.

use super::catalog::{Column, ForeignKey, Index, Relation};
use super::expression::{renamed, retyped};
use super::model::{Model, Moved, OldKey};
use super::objects::Object;
use super::sql::{Body, Expression, Ident, Name, Sql, sql};
use super::state::{self, Before};
use super::steps::{Piece, Step, has_constraint, has_index, to_own};
use super::values::{Trigger, comma};

/// Whether names are exchanged, or exchanged back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Switch,
    Undo,
}

impl Model {
    pub(super) fn indexes_step(&self) -> Step {
        let mut pieces = Vec::new();
        let leaf = |index: &&Index| self.part(index).is_some_and(|part| part.kind == "r");
        let leaves = self.indexes.iter().filter(leaf);
        pieces.extend(
            leaves
                .clone()
                .filter(|index| !index.is_of('x'))
                .map(|index| self.build(index, &self.new_index(index), &self.new_definition(index))),
        );
        // For the undo, and to find rows by their old keys.
        for index in leaves.filter(|index| index.is_of('p')) {
            pieces.push(self.build(index, &self.old_index(index), &sql!("{}", index.definition)));
        }
        // Those of partitioned tables take those of the partitions.
        let mut whole: Vec<_> =
            self.indexes.iter().filter(|index| index.kind == "I" && index.constraint.is_none()).collect();
        whole.sort_by_key(|index| self.part(index).map(|part| (part.root, -part.level)));
        pieces.extend(whole.iter().map(|index| self.build_whole(index)));
        pieces.push(self.not_valid());
        for index in self.indexes.iter().filter(|index| index.is_of('x')) {
            let (table, name) = (self.part_name(index), self.new_index(index).name);
            let definition = sql!("{}", self.on_new(index, index.constraint_definition.as_ref()));
            let add = sql!(
                "-- Locks the table while it is built.\nALTER TABLE {} ADD CONSTRAINT {} {};",
                table,
                name,
                definition
            );
            pieces.push(Self::locked(sql!("{}", table), [add]).unless(has_constraint(&table, &name)));
        }
        for moved in self.columns.iter().filter(|moved| moved.column.is_not_null) {
            pieces.push(Piece::plain(sql!(
                "ALTER TABLE {} VALIDATE CONSTRAINT {};",
                self.table_name(moved),
                moved.set
            )));
        }
        self.step("indexes", pieces)
    }

    /// Builds an index of a table or partition without a lock that others wait for, also after one that was interrupted.
    fn build(&self, index: &Index, name: &Name, definition: &Sql) -> Piece {
        let table = self.part_name(index);
        let (is_there, is_valid) = (has_index(&table, name, ""), has_index(&table, name, " AND indisvalid"));
        let is_ours = sql!("({} OR to_regclass({}) IS NULL)", is_there, name.literal());
        let taken =
            format!("{name} is not an index of {table}: rename it, or drop it, and run the step again");
        let mut piece = Self::needs(&is_ours, &taken).unless(is_valid);
        let drop = sql!("DROP INDEX CONCURRENTLY IF EXISTS {};", name);
        piece.sql.extend([drop, self.create_index(index, name, definition)].map(|sql| sql.to_string()));
        piece
    }

    /// That of a partitioned table takes those of the partitions that the old one has. PostgreSQL would take the
    /// first that is alike, such as that of the primary key.
    fn build_whole(&self, index: &Index) -> Piece {
        let name = self.new_index(index);
        let create = self.create_index(index, &name, &self.new_definition(index));
        let taken = self.indexes.iter().filter(|part| part.parent == Some(index.oid));
        let attach =
            taken.map(|part| sql!("ALTER INDEX {} ATTACH PARTITION {};", name, self.new_index(part)));
        let tables = sql!("{}", self.tables[self.table_of(index.rel).expect("of a table").0].relation.name);
        Self::locked(tables, std::iter::once(create).chain(attach)).unless(to_own(&name))
    }

    fn create_index(&self, index: &Index, name: &Name, definition: &Sql) -> Sql {
        let (concurrently, only) = if index.kind == "I" { ("", "ONLY ") } else { ("CONCURRENTLY ", "") };
        sql!(
            "CREATE {unique}INDEX {concurrently}{index} ON {only}{table} {definition};",
            [concurrently, only, definition],
            unique = if index.is_unique { "UNIQUE " } else { "" },
            index = name.name,
            table = self.part_name(index)
        )
    }

    /// A column whose constraint says that the step indexes has got so far.
    fn first_set(&self) -> Option<&Moved> {
        self.columns.iter().find(|moved| moved.is_key && moved.column.is_not_null)
    }

    /// Constraints that are checked afterwards.
    fn not_valid(&self) -> Piece {
        let not_null = self.columns.iter().filter(|moved| moved.column.is_not_null);
        let piece = self.transaction(not_null.map(|moved| {
            sql!(
                "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({} IS NOT NULL) NOT VALID;",
                self.table_name(moved),
                moved.set,
                moved.new
            )
        }));
        match self.first_set() {
            Some(first) => piece.unless(has_constraint(self.table_name(first), &first.set)),
            None => piece,
        }
    }

    pub(super) fn switch_step(&self) -> Step {
        let mut all = vec![sql!("SET LOCAL check_function_bodies = off;"), state::unchanged(self)];
        all.extend(self.drops(Way::Switch));
        all.extend((0..self.tables.len()).filter_map(|n| self.drop_trigger(n, Trigger::Moving)));
        all.extend(self.drop_keys());
        all.extend(self.rename_indexes(true, Way::Switch));
        all.extend(self.columns.iter().flat_map(|moved| self.exchange(moved, Way::Switch)));
        let states = self.columns.iter().flat_map(|moved| self.parts_of(moved));
        all.extend(states.map(|(_, column)| sql!("{}", column.state)));
        all.extend(self.add_constraints(Way::Switch));
        all.extend(self.rename_indexes(false, Way::Switch));
        all.extend(self.add_leaf_keys());
        for n in 0..self.tables.len() {
            let kinds = [Trigger::Moved, Trigger::Generated].into_iter();
            all.extend(kinds.filter_map(|kind| self.create_trigger(n, kind)));
        }
        all.extend(self.creates(Way::Switch));
        all.push(state::defined(self));
        all.extend(renewed(self));
        let mut pieces = Vec::new();
        if let Some(first) = self.first_set() {
            let is_there = has_constraint(self.table_name(first), &first.set);
            let early = Self::needs(&is_there, "the step indexes has not been run");
            pieces.push(early.unless(self.is_switched()));
        }
        let switch = self.transaction(all).after(self.verified(Before::Switch));
        pieces.push(switch.unless(self.is_switched()));
        pieces.extend(self.later());
        // Without a lock, the first verification has not seen what others did until the switch.
        pieces.push(Piece::plain(self.verified(Before::End)));
        self.step("switch", pieces)
    }

    /// The name of the constraint NOT NULL, which PostgreSQL 18 has, if it gives way to that of another column: a
    /// partition that was attached can have a name of its own, and that of an old column stays then.
    fn not_null<'a>(&self, moved: &'a Moved) -> Option<&'a Ident> {
        let name = moved.column.not_null.as_ref()?;
        let mut parts = self.parts_of(moved);
        let is_one = parts.all(|(_, own)| own.not_null.as_ref() == Some(name));
        (is_one || !moved.keeps_old).then_some(name)
    }

    /// From PostgreSQL 18 on, a partition keeps a constraint of its own, such as that of its primary key.
    fn drop_not_null(&self, moved: &Moved, column: &Ident) -> Vec<Sql> {
        let parts = &self.table(moved).parts;
        let parts = if self.catalog.session.version >= 180_000 { &parts[..] } else { &parts[..1] };
        let drop = |part: &Relation| sql!("ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL;", part.name, column);
        parts.iter().map(drop).collect()
    }

    /// The names of two columns are exchanged, and what goes with a name: NOT NULL, defaults, sequences. All between the
    /// two renames has the names that the columns have before the switch and after its undo.
    fn exchange(&self, moved: &Moved, way: Way) -> Vec<Sql> {
        let (table, name, new, old) = (self.table_name(moved), &moved.column.name, &moved.new, &moved.old);
        let alter = |what: Sql| sql!("ALTER TABLE {} {};", table, what);
        let rename = |from: &Ident, to: &Ident| alter(sql!("RENAME COLUMN {} TO {}", from, to));
        let mut all = Vec::new();
        if way == Way::Undo {
            all.extend([rename(name, new), rename(old, name)]);
        }
        all.extend(self.exchange_not_null(moved, way));
        if moved.is_key {
            all.extend(self.exchange_defaults(moved, way).into_iter().map(alter));
            if self.counts() {
                let owner = match way {
                    Way::Switch => sql!("{}.{}", table, new),
                    Way::Undo => sql!("NONE"),
                };
                all.push(sql!("ALTER SEQUENCE {} OWNED BY {};", self.sequence(moved, "_seq"), owner));
            }
        }
        if way == Way::Switch {
            all.extend([rename(name, old), rename(new, name)]);
        }
        all
    }

    fn exchange_not_null(&self, moved: &Moved, way: Way) -> Vec<Sql> {
        if !moved.column.is_not_null {
            return Vec::new();
        }
        let (old, new) = (&moved.column.name, &moved.new);
        let alter = |what: Sql| sql!("ALTER TABLE {} {};", self.table_name(moved), what);
        let constraint = self.not_null(moved).map(|name| (name, old_not_null(moved, name)));
        let give = |column: &Ident| match &constraint {
            Some((name, _)) => alter(sql!("ADD CONSTRAINT {} NOT NULL {}", name, column)),
            None => alter(sql!("ALTER COLUMN {} SET NOT NULL", column)),
        };
        let rename = |from: &Ident, to: &Ident| alter(sql!("RENAME CONSTRAINT {} TO {}", from, to));
        let mut all = match (way, moved.keeps_old) {
            (Way::Switch, false) => self.drop_not_null(moved, old),
            (Way::Switch, true) => constraint.iter().map(|(name, kept)| rename(name, kept)).collect(),
            (Way::Undo, _) => self.drop_not_null(moved, new),
        };
        match (way, moved.keeps_old) {
            (Way::Switch, _) => all.extend([give(new), alter(sql!("DROP CONSTRAINT {}", moved.set))]),
            (Way::Undo, false) => all.push(give(old)),
            (Way::Undo, true) => all.extend(constraint.iter().map(|(name, kept)| rename(kept, name))),
        }
        all
    }

    /// Of a key: the old one, if the database does not generate it, and the new one, if it was computed.
    fn exchange_defaults(&self, moved: &Moved, way: Way) -> Vec<Sql> {
        let old = match moved.fills_old() {
            Some(OldKey::Uuid) => Some(sql!("gen_random_uuid()")),
            Some(OldKey::Sno) => Some(sql!("{}.sno_new()", self.catalog.session.sno)),
            _ => None,
        };
        let new = self.value.as_ref().map(|_| self.new_default(moved));
        let set = |(column, default): (&Ident, Option<Sql>)| match way {
            Way::Switch => default.map(|default| sql!("ALTER COLUMN {} SET DEFAULT {}", column, default)),
            Way::Undo => default.map(|_| sql!("ALTER COLUMN {} DROP DEFAULT", column)),
        };
        [(&moved.column.name, old), (&moved.new, new)].into_iter().filter_map(set).collect()
    }

    /// The column of the table, and those of its partitions.
    fn parts_of(&self, moved: &Moved) -> impl Iterator<Item = (&Relation, &Column)> {
        let parts = self.table(moved).parts.iter();
        let of = |part: &'_ Relation| self.catalog.at(&(part.oid, moved.column.name.clone()));
        parts.filter_map(move |part| Some((part, of(part)?)))
    }

    pub(super) fn undo_switch_step(&self) -> Step {
        let mut all = vec![sql!("SET LOCAL check_function_bodies = off;"), self.nothing_given_back()];
        all.extend(self.drops(Way::Undo));
        for n in 0..self.tables.len() {
            let kinds = [Trigger::Moved, Trigger::Generated].into_iter();
            all.extend(kinds.filter_map(|kind| self.drop_trigger(n, kind)));
        }
        all.extend(self.drop_keys());
        all.extend(self.columns.iter().flat_map(|moved| self.exchange(moved, Way::Undo)));
        all.extend(self.rename_indexes(true, Way::Undo));
        all.extend(self.add_constraints(Way::Undo));
        all.extend(self.rename_indexes(false, Way::Undo));
        all.extend(self.add_leaf_keys());
        all.extend(self.indexes.iter().map(|index| sql!("{}", index.state)));
        all.extend((0..self.tables.len()).filter_map(|n| self.create_trigger(n, Trigger::Moving)));
        all.extend(self.creates(Way::Undo));
        all.push(state::defined(self));
        all.extend(renewed(self));
        let not_switched = sql!("NOT {}", self.is_switched());
        // Without the keys that a switch adds after its COMMIT, something would be lost.
        let mut pieces: Vec<_> =
            self.later_keys().into_iter().map(|piece| piece.or_unless(&not_switched)).collect();
        pieces.extend(self.found_again(&not_switched));
        pieces.push(self.transaction(all).after(self.verified(Before::Undo)).unless(not_switched));
        pieces.extend(self.later());
        self.step("undo switch", pieces)
    }

    // Indexes.

    fn part(&self, index: &Index) -> Option<&Relation> {
        self.table_of(index.rel).map(|(_, part)| part)
    }
    /// The index of the whole table that this one is part of.
    fn whole(&self, index: &Index) -> u32 {
        let parent = index.parent.and_then(|oid| self.indexes.iter().find(|other| other.oid == oid));
        parent.map_or(index.oid, |parent| self.whole(parent))
    }
    pub(super) fn part_name(&self, index: &Index) -> Name {
        self.name_of(index.rel)
    }
    fn suffix(&self) -> &'static str {
        if self.from_sno { "_new" } else { "_sno" }
    }
    pub(super) fn new_index(&self, index: &Index) -> Name {
        index.name.beside(self.catalog.free(&index.name.name.0, self.suffix(), index.oid))
    }
    pub(super) fn old_index(&self, index: &Index) -> Name {
        index.name.beside(self.catalog.free(&["old_", &index.name.name.0].concat(), "", index.oid))
    }

    /// On the new columns.
    fn on_new(&self, index: &Index, definition: Option<&Expression>) -> Expression {
        let (table, _) = self.table_of(index.rel).expect("indexes are those of the tables");
        let casts = ["gin", "gist", "spgist"].contains(&index.method.as_str()) && !self.from_sno;
        let mut names = self.row_names(table, None, true);
        for moved in
            self.of(table).filter(|moved| casts && !moved.column.is_array && !moved.column.is_generated)
        {
            names.insert(moved.column.shown.clone(), sql!("(({})::uuid)", moved.new).to_string());
        }
        definition.map_or_else(
            || Expression(String::new()),
            |definition| renamed(&self.casts(table).removed(definition), &names),
        )
    }
    fn new_definition(&self, index: &Index) -> Sql {
        let condition =
            index.condition.as_ref().map(|condition| sql!(" WHERE {}", self.on_new(index, Some(condition))));
        let tablespace = index.tablespace.as_ref().map(|tablespace| sql!(" TABLESPACE {}", tablespace));
        sql!("{}{}{}", self.on_new(index, Some(&index.definition)), tablespace, condition)
    }

    /// Before names are exchanged, there and back: foreign keys, primary keys, and what else needs a column to be
    /// NOT NULL, a replica identity. The index of the other column gets that later.
    fn drop_keys(&self) -> Vec<Sql> {
        let identities = self.indexes.iter().filter(|index| index.is_replica_identity);
        let foreign = self.foreign_keys.iter().map(|key| (self.name_of(key.rel), &key.name));
        let primary = self.indexes.iter().filter(|index| index.is_of('p') && index.parent.is_none());
        let primary = primary.filter_map(|index| Some((self.part_name(index), index.constraint.as_ref()?)));
        let drop = |(table, name)| sql!("ALTER TABLE {} DROP CONSTRAINT {};", table, name);
        identities
            .map(|index| sql!("ALTER TABLE {} REPLICA IDENTITY FULL;", self.part_name(index)))
            .chain(foreign.chain(primary).map(drop))
            .collect()
    }

    /// What is dropped or gets back its name: first is what has it now. Unique constraints, or all other
    /// indexes but primary keys.
    fn rename_indexes(&self, unique_constraints: bool, way: Way) -> Vec<Sql> {
        let mut indexes: Vec<_> = self
            .indexes
            .iter()
            .filter(|index| !index.is_of('p') && index.is_of('u') == unique_constraints)
            .collect();
        indexes.sort_by_key(|index| self.part(index).map(|part| part.level));
        let mut all = Vec::new();
        for index in indexes {
            let (own, new, old) = (&index.name, self.new_index(index), self.old_index(index));
            let (table, is_unique) = (self.part_name(index), index.is_of('u'));
            if is_unique && way == Way::Undo {
                if let Some(constraint) = index.constraint.as_ref().filter(|_| index.parent.is_none()) {
                    all.push(sql!("ALTER TABLE {} DROP CONSTRAINT {};", table, constraint));
                }
                all.push(sql!("ALTER INDEX {} RENAME TO {};", old, own.name));
            } else if is_unique {
                all.push(sql!("ALTER INDEX {} RENAME TO {};", own, old.name));
            } else {
                let (away, here) = if way == Way::Undo { (&new, &old) } else { (&old, &new) };
                all.push(sql!("ALTER INDEX {} RENAME TO {};", own, away.name));
                all.push(sql!("ALTER INDEX {} RENAME TO {};", here, own.name));
                if way == Way::Switch {
                    all.push(sql!("{}", index.state));
                }
            }
        }
        all
    }

    /// Constraints by the index of this name, and those of partitioned tables, which take the constraints
    /// of their partitions.
    fn add_constraints(&self, way: Way) -> Vec<Sql> {
        let mut indexes: Vec<_> = self
            .indexes
            .iter()
            .filter(|index| index.is_of('p') || index.is_of('u') && way == Way::Switch)
            .collect();
        // Those of a partitioned table before the next ones, which can be alike, and the primary key first.
        indexes.sort_by_key(|index| {
            let level = self.part(index).map(|part| -part.level);
            (self.table_of(index.rel).map(|(table, _)| table), index.is_of('u'), self.whole(index), level)
        });
        let mut all = Vec::new();
        for index in indexes {
            let Some(constraint) = &index.constraint else { continue };
            let kind = if index.is_of('p') { "PRIMARY KEY" } else { "UNIQUE" };
            let table = self.part_name(index);
            all.push(if index.kind == "I" {
                sql!("ALTER TABLE {} ADD CONSTRAINT {} {};", table, constraint, index.constraint_definition)
            } else {
                let by = if way == Way::Undo { self.old_index(index) } else { self.new_index(index) };
                sql!(
                    "ALTER TABLE {table} ADD CONSTRAINT {constraint} {kind} USING INDEX {index}{deferrable};",
                    [table, constraint, kind],
                    index = by.name,
                    deferrable = index.deferrable
                )
            });
            if way == Way::Switch {
                all.push(sql!("{}", index.state));
            }
        }
        all
    }

    // Foreign keys. Those of a partitioned table are added to each partition first, as they can't be NOT
    // VALID (before 18); after the COMMIT, when these are validated, the table's own
    // takes them, and reads no rows.

    fn leaf_keys(&self) -> impl Iterator<Item = (&ForeignKey, &Name)> {
        self.foreign_keys.iter().flat_map(|key| {
            let (table, own) = self.table_of(key.rel).expect("foreign keys are those of the tables");
            let parts = &self.tables[table].parts;
            let leaves = parts.iter().filter(|part| part.kind == "r" && is_below(parts, part, own.oid));
            leaves.map(move |part| (key, &part.name))
        })
    }

    fn add_leaf_keys(&self) -> Vec<Sql> {
        let of = |(key, table): (&ForeignKey, &Name)| {
            let comment = key.comment.as_ref().filter(|_| self.name_of(key.rel) == *table);
            sql!("ALTER TABLE {} ADD CONSTRAINT {} {} NOT VALID;{}", table, key.name, key.definition, comment)
        };
        self.leaf_keys().map(of).collect()
    }

    /// What follows after the COMMIT. A switch, or its undo, can have been ended before it: the steps after these do what
    /// is left.
    pub(super) fn later(&self) -> Vec<Piece> {
        let of_object = |object: &Object| {
            let unless = sql!("{}", object.later_unless);
            Some(Piece::plain(sql!("{}", object.later.as_ref()?)).unless(unless))
        };
        self.objects.iter().filter_map(of_object).chain(self.later_keys()).collect()
    }

    fn later_keys(&self) -> Vec<Piece> {
        let validated = self.leaf_keys().filter(|(key, _)| key.is_validated);
        let validated = validated.map(|(key, table)| {
            let unless = sql!(
                "NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = {}::regclass AND conname = {}
    AND NOT convalidated)",
                table.literal(),
                key.name.literal()
            );
            Piece::plain(sql!("ALTER TABLE {} VALIDATE CONSTRAINT {};", table, key.name)).unless(unless)
        });
        let whole = self.foreign_keys.iter().map(|key| (key, self.name_of(key.rel)));
        let whole = whole.filter(|(key, _)| self.table_of(key.rel).is_some_and(|(_, part)| part.kind == "p"));
        let whole = whole.map(|(key, table)| {
            let add = sql!("ALTER TABLE {} ADD CONSTRAINT {} {};", table, key.name, key.definition);
            let comment = key.comment.as_ref().map(|comment| sql!("{}", comment));
            let is_there = has_constraint(&table, &key.name);
            // Whoever has dropped it has dropped that of its partitions.
            let leaf = self.leaf_keys().find(|(of, _)| of.oid == key.oid);
            let is_gone = leaf.map(|(_, leaf)| sql!(" OR NOT {}", has_constraint(leaf, &key.name)));
            self.transaction([Some(add), comment].into_iter().flatten())
                .unless(sql!("({}{})", is_there, is_gone))
        });
        validated.chain(whole).collect()
    }

    // Objects.

    fn retyped(&self, definition: &Expression) -> Expression {
        let mut old: Vec<_> = self.keys().map(|key| key.column.type_name.0.clone()).collect();
        old.sort();
        old.dedup();
        retyped(definition, &old, self.new_type().as_str())
    }

    fn drops(&self, way: Way) -> impl Iterator<Item = Sql> {
        self.objects.iter().rev().map(move |object| {
            let new = (way == Way::Undo && object.is_retyped).then(|| self.retyped(&object.drop));
            sql!("{}", new.as_ref().unwrap_or(&object.drop))
        })
    }

    fn creates(&self, way: Way) -> Vec<Sql> {
        let create = |object: &Object| {
            object.creates(|definition, casts| {
                if way == Way::Undo {
                    return definition.clone();
                }
                let plain = casts.removed(definition);
                if object.is_retyped { self.retyped(&plain) } else { plain }
            })
        };
        self.objects.iter().map(create).collect()
    }
}

/// Whether a partition is this one, or a partition of it.
fn is_below(parts: &[Relation], part: &Relation, whole: u32) -> bool {
    part.oid == whole
        || parts.iter().any(|parent| Some(parent.oid) == part.parent && is_below(parts, parent, whole))
}

fn old_not_null(moved: &Moved, not_null: &Ident) -> Ident {
    let number = u32::try_from(moved.column.attnum).unwrap_or_default();
    Ident::made(&["old_", &not_null.0].concat(), "", number, |_| false)
}

/// In open sessions, PL/pgSQL has expressions with the types of NEW and OLD that were (42804), until their
/// function is changed in some way.
fn renewed(model: &Model) -> Vec<Sql> {
    let tables = comma(model.tables.iter().flat_map(|table| &table.parts).map(|part| part.name.literal()));
    vec![sql!("DO {};", Body(sql!(include_str!("steps/renewed.sql"), [tables])))]
}
