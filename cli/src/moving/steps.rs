//! The statements of each step.

use super::catalog::{ForeignKey, Index, Relation};
use super::expression::{renamed, retyped};
use super::model::{Model, Moved, OldKey, own_name};
use super::objects::{comment, of_column};
use super::sql::{Body, Expression, Ident, Literal, Name, Remark, Sql, join, sql};
use super::state;
use super::values::{Of, Trigger, comma};
use super::wishes::Target;

/// A step, which is a file.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) pieces: Vec<Piece>,
}

/// The steps: their names, their files, and what they do.
pub(super) const STEPS: [(&str, &str, &str); 8] = [
    ("columns", "1_columns", "new columns, which triggers fill in rows that are written"),
    ("fill", "2_fill", "fills the new columns of rows that are there"),
    ("indexes", "3_indexes", "indexes and constraints of the new columns"),
    ("verify", "4_verify", "fails if a row has no new key, or a wrong one"),
    ("switch", "5_switch", "the new columns get the names of the old ones"),
    ("end", "6_end", "drops the old columns. Only a backup brings them back"),
    ("undo switch", "undo_switch", "undoes step 5, until step 6; steps 2 to 5 can follow again"),
    ("undo columns", "undo_columns", "undoes steps 1 to 4: nothing of the move is left"),
];

/// What is sent to the server at once, as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Whether it is a whole transaction, which is tried again if it gets no lock, and not a statement outside of a block.
    pub(super) is_transaction: bool,
    /// If this is true, it was done before.
    pub(super) unless: Option<String>,
    /// The name of an index that is dropped first if building it was interrupted.
    pub(super) index: Option<String>,
    pub(super) sql: String,
}

impl Piece {
    fn plain(sql: Sql) -> Self {
        Self { is_transaction: false, unless: None, index: None, sql: sql.to_string() }
    }
    fn unless(mut self, condition: Sql) -> Self {
        self.unless = Some(condition.to_string());
        self
    }
}

/// Names of what the steps need for themselves.
pub(super) struct Own {
    pub(super) plan: Name,
    pub(super) progress: Name,
    pub(super) before: Name,
    pub(super) state: Name,
    pub(super) report: Name,
    pub(super) fill_keys: Name,
    pub(super) fill_pages: Name,
}

impl Own {
    pub(super) fn of(model: &Model) -> Self {
        let name = |name| own_name(model, name);
        Self {
            plan: name("sno_move_plan"),
            progress: name("sno_move_progress"),
            before: name("sno_move_before"),
            state: name("sno_move_state"),
            report: name("sno_move_report"),
            fill_keys: name("sno_move_fill_keys"),
            fill_pages: name("sno_move_fill_pages"),
        }
    }
}

impl Model {
    pub(super) fn table_name(&self, moved: &Moved) -> &Name {
        &self.table(moved).relation.name
    }

    pub(super) fn new_type(&self) -> Sql {
        match self.target {
            Target::Sno => sql!("{}", self.sno_type),
            Target::Uuid => sql!("uuid"),
            Target::Bigint => sql!("bigint"),
        }
    }

    /// One transaction with all locks, for which each statement waits half a second at most.
    fn transaction(&self, statements: impl IntoIterator<Item = Sql>) -> Piece {
        Self::locked(comma(self.tables.iter().map(|table| &table.relation.name)), statements)
    }

    /// The same with the locks of these tables.
    fn locked(tables: Sql, statements: impl IntoIterator<Item = Sql>) -> Piece {
        let statements = join(statements.into_iter().filter(|sql| !sql.is_empty()), "\n");
        let sql = sql!(
            "BEGIN;
SET LOCAL lock_timeout = '500ms';
SET LOCAL statement_timeout = '500ms';
LOCK TABLE {} IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;
{}
COMMIT;",
            tables,
            statements,
        );
        Piece { is_transaction: true, ..Piece::plain(sql) }
    }

    /// A DO block of these statements.
    fn block(statements: Sql) -> Sql {
        sql!("DO {};", Body(sql!("BEGIN\n    {}\nEND", statements)))
    }

    pub(super) fn is_switched(&self) -> Sql {
        let first = &self.columns[0];
        let table = self.table_name(first);
        // Someone else could have added a column of the first name.
        sql!("({} AND NOT {})", has_column(table, &first.old), has_column(table, &first.new))
    }

    /// The default of a new key.
    fn new_default(&self, key: &Moved) -> Sql {
        match self.target {
            Target::Sno => sql!("{}.sno_new()", self.sno_schema),
            Target::Uuid if self.version >= 180_000 => sql!("uuidv7()"),
            Target::Uuid => sql!("gen_random_uuid()"),
            Target::Bigint => sql!("nextval({})", self.sequence(key, "_seq").literal()),
        }
    }

    fn sequence(&self, key: &Moved, suffix: &str) -> Name {
        let relation = &self.table(key).relation;
        let base = [&relation.name.name.0, "_", &key.column.name.0, "_new"].concat();
        let is_taken = self.taken.contains(&[&base, suffix].concat());
        relation.name.beside(Ident::made(&base, suffix, relation.oid, is_taken))
    }

    /// Whether new keys are numbers in the order of the old ones.
    pub(super) fn counts(&self) -> bool {
        self.target == Target::Bigint && self.value.is_none()
    }

    /// `counts`: how many rows have each key.
    pub(super) fn columns_step(&self, plan: &[Step], fingerprint: &str, counts: &[i64]) -> Step {
        let own = Own::of(self);
        let mut pieces = vec![Piece::plain(self.as_owner())];
        let mut all = vec![state::function(self, &own), state::unchanged_since_write(&own, fingerprint)];
        all.push(sql!("CREATE TABLE {} AS SELECT * FROM {}();", own.before, own.state));
        all.extend(fill_procedures(&own));
        // Rows that are there get the numbers from 1, new ones those above.
        for (key, count) in self.keys().zip(counts) {
            let above = count + count / 10 + 100_000;
            all.push(sql!("CREATE SEQUENCE {} START {};", self.sequence(key, "_seq"), above));
            all.push(sql!("CREATE SEQUENCE {};", self.sequence(key, "_first_seq")));
        }
        for (n, table) in self.tables.iter().enumerate() {
            let name = &table.relation.name;
            for moved in self.of(n) {
                let new_type = match (moved.column.is_generated, moved.column.is_array) {
                    (true, _) => sql!("{}", moved.column.full_type),
                    (_, true) => sql!("{}[]", self.new_type()),
                    _ => self.new_type(),
                };
                // With the default in the same statement, the table would be rewritten.
                all.push(sql!("ALTER TABLE {} ADD COLUMN {} {};", name, moved.new, new_type));
                if moved.is_key && self.value.is_none() {
                    all.push(sql!(
                        "ALTER TABLE {} ALTER COLUMN {} SET DEFAULT {};",
                        name,
                        moved.new,
                        self.new_default(moved)
                    ));
                }
            }
        }
        if self.counts() {
            all.extend(self.keys().flat_map(|key| self.sequence_rights(key)));
        }
        // Here, so that no other table takes its name.
        all.extend(self.keys().filter(|_| self.keeps_map).map(|key| {
            let (map, old, table) = (self.map(key), &key.column.name, self.table_name(key));
            sql!(
                "CREATE TABLE {} AS SELECT {} AS old, {} AS new FROM {} WITH NO DATA;",
                map,
                old,
                key.new,
                table
            )
        }));
        all.extend((0..self.tables.len()).filter_map(|n| self.create_trigger(n, Trigger::Moving)));
        all.push(sql!("-- What a trigger could not evaluate fails here, not in the application."));
        all.extend((0..self.tables.len()).filter_map(|n| self.planned(n)).map(Self::block));
        all.extend(stored(&own, plan));
        let tables = comma([&own.plan, &own.before, &own.progress].map(Name::literal));
        all.push(sql!("DO {};", Body(Sql::new(include_str!("steps/private.sql"), &[&tables]))));
        pieces.push(self.transaction(all).unless(to_table(&own.plan)));
        Step { name: "columns", pieces }
    }

    /// Fails if this is not so.
    fn needs(condition: &Sql, message: &str) -> Piece {
        Piece::plain(Self::block(sql!(
            "IF NOT {} THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = {};
    END IF;",
            condition,
            Literal(message.to_owned())
        )))
    }

    /// The steps call functions of the tables, with the rights of who runs them.
    fn as_owner(&self) -> Sql {
        let user = Literal(self.user.clone());
        let message = Literal("must be run as the owner of the tables, whose functions it calls".to_owned());
        Self::block(sql!(
            "IF current_user <> {} THEN RAISE insufficient_privilege USING MESSAGE = {}; END IF;",
            user,
            message
        ))
    }

    fn sequence_rights(&self, key: &Moved) -> Vec<Sql> {
        let sequence = self.sequence(key, "_seq");
        // As many as may insert.
        vec![Self::block(sql!(
            "EXECUTE coalesce((SELECT string_agg(format('GRANT USAGE ON SEQUENCE %s TO %s', {},
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END), '; ')
        FROM pg_class, aclexplode(relacl)
        WHERE oid = {}::regclass AND privilege_type = 'INSERT' AND grantee <> relowner), 'SELECT');",
            sequence.literal(),
            self.table_name(key).literal(),
        ))]
    }

    pub(super) fn fill_step(&self) -> Step {
        let mut pieces = vec![Piece::plain(self.as_owner())];
        for key in self.keys() {
            pieces.extend(self.fill_key(key));
        }
        for n in 0..self.tables.len() {
            pieces.extend(self.fill_table(n));
            pieces.push(Piece::plain(sql!("ANALYZE {};", self.tables[n].relation.name)));
        }
        Step { name: "fill", pieces }
    }

    /// A condition of an UPDATE, which is true: the table's own triggers search the names that they use in the
    /// schemas of the session. The statement itself, whose names are found before it runs, never does.
    fn as_triggers_search(&self, n: usize) -> Option<Sql> {
        self.tables[n].parts.iter().any(|part| part.has_triggers).then(|| {
            sql!(
                " AND (SELECT set_config('search_path', {}, true)) IS NOT NULL",
                Literal(["pg_catalog, ", &self.search_path].concat())
            )
        })
    }

    fn fill_key(&self, key: &Moved) -> Vec<Piece> {
        let own = Own::of(self);
        let (table, id, new) = (self.table_name(key), &key.column.name, &key.new);
        let cast = &key.column.cast;
        let range = sql!("t.{} >= $1::{} AND t.{} <= $2::{}", id, cast, id, cast);
        let path = self.as_triggers_search(key.table);
        let mut pieces = Vec::new();
        let mut is_timed = None;
        let statement = if self.value.is_some() {
            let value = self.value(key, Of::Table, false);
            sql!(
                "UPDATE {} t SET {} = {} WHERE {} AND t.{} IS DISTINCT FROM {}{}",
                table,
                new,
                value,
                range,
                new,
                value,
                path
            )
        } else if self.counts() {
            sql!(
                "UPDATE {} t SET {} = n.number FROM (SELECT {}, nextval({}) AS number FROM
        (SELECT t.{} FROM {} t WHERE {} AND t.{} IS NULL ORDER BY t.{}) x) n WHERE n.{} = t.{}{}",
                table,
                new,
                id,
                self.sequence(key, "_first_seq").literal(),
                id,
                table,
                range,
                new,
                id,
                id,
                id,
                path,
            )
        } else {
            let mut value = self.new_default(key);
            if let (Some(birth), Target::Sno) = (&key.birth, self.target) {
                let said =
                    ["Is this when a row of ", &table.to_string(), " was created? ", &birth.expression.0]
                        .concat();
                pieces.push(Piece::plain(sql!(
                    "{}\n-- A time before 2010 has no ID (22008): say --time with greatest(..., '2010-01-01Z').",
                    Remark(said)
                )));
                let timed = sql!("{}.sno_new(0, ({})::timestamptz)", self.sno_schema, birth.expression);
                value = if birth.can_be_null { sql!("coalesce({}, {})", timed, value) } else { timed };
                is_timed = Some(value.clone());
            }
            sql!("UPDATE {} t SET {} = {} WHERE {} AND t.{} IS NULL{}", table, new, value, range, new, path)
        };
        let call = sql!(
            // With all types, so that no other procedure of this name fits better.
            "CALL {}({}::regclass, {}::text, {}::text, {}::text, 1000::integer);",
            own.fill_keys,
            table.literal(),
            Literal(sql!("{}", id).to_string()),
            cast.literal(),
            Body(statement)
        );
        pieces.push(Piece::plain(call));
        pieces.extend(is_timed.map(|value| Piece::plain(of_one_time(table, id, new, &value, &path))));
        pieces
    }

    /// The other columns of a table.
    fn fill_table(&self, n: usize) -> Option<Piece> {
        let others: Vec<_> = self.of(n).filter(|moved| !moved.is_key).collect();
        if others.is_empty() {
            return None;
        }
        let values: Vec<_> = others.iter().map(|moved| self.value(moved, Of::Table, false)).collect();
        // What is there stays where the value is not known any more: the row that it was of is gone.
        let values: Vec<_> = others
            .iter()
            .zip(&values)
            .map(|(moved, value)| match moved.column.is_generated {
                true => sql!("{}", value),
                false => sql!(
                    "coalesce({}, CASE WHEN t.{} IS NOT NULL THEN t.{} END)",
                    value,
                    moved.column.name,
                    moved.new
                ),
            })
            .collect();
        let set = join(
            others.iter().zip(&values).map(|(moved, value)| sql!("{} = {}", moved.new, value)),
            ",\n        ",
        );
        let new = comma(others.iter().map(|moved| Of::Table.column(&moved.new)));
        let rest = sql!(
            " t SET {}\n    WHERE ctid >= $1 AND ctid < $2 AND ({}) IS DISTINCT FROM ({}){}",
            set,
            new,
            comma(values),
            self.as_triggers_search(n)
        );
        let table = &self.tables[n].relation.name;
        Some(Piece::plain(sql!(
            "CALL {}({}::regclass, 'UPDATE '::text, {}::text, 20::integer);",
            Own::of(self).fill_pages,
            table.literal(),
            Body(rest)
        )))
    }

    pub(super) fn indexes_step(&self) -> Step {
        let mut pieces = vec![Piece::plain(self.as_owner())];
        let leaf = |index: &&Index| self.part(index).is_some_and(|part| part.kind == "r");
        let leaves = self.indexes.iter().filter(leaf);
        pieces.extend(leaves.clone().filter(|index| !index.is_of('x')).map(|index| self.build(index)));
        // For the undo, and to find rows by their old keys.
        for index in leaves.filter(|index| index.is_of('p')) {
            let definition = sql!("{}", index.definition);
            pieces.push(build(&self.old_index(index), &self.part_name(index), true, &definition));
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
        for (key, table) in
            self.leaf_keys().filter(|(key, _)| !self.is_to_partitions(key) && key.is_validated)
        {
            pieces.push(Piece::plain(sql!(
                "ALTER TABLE {} VALIDATE CONSTRAINT {};",
                table,
                self.new_key(key)
            )));
        }
        pieces.extend(self.table_keys(false, false));
        Step { name: "indexes", pieces }
    }

    /// Builds an index on the new columns of a table or partition.
    fn build(&self, index: &Index) -> Piece {
        let (name, table) = (self.new_index(index), self.part_name(index));
        build(&name, &table, index.is_unique, &self.new_definition(index))
    }

    /// That of a partitioned table takes those of the partitions that the old one has. PostgreSQL would take the
    /// first that is alike, such as that of the primary key.
    fn build_whole(&self, index: &Index) -> Piece {
        let (name, table) = (self.new_index(index), self.part_name(index));
        let unique = if index.is_unique { "UNIQUE " } else { "" };
        let definition = self.new_definition(index);
        let create = sql!("CREATE {}INDEX {} ON ONLY {} {};", unique, name.name, table, definition);
        let taken = self.indexes.iter().filter(|part| part.parent == Some(index.oid));
        let attach =
            taken.map(|part| sql!("ALTER INDEX {} ATTACH PARTITION {};", name, self.new_index(part)));
        let tables = sql!("{}", self.tables[self.table_of(index.rel).expect("of a table").0].relation.name);
        Self::locked(tables, std::iter::once(create).chain(attach)).unless(to_table(&name))
    }

    /// A column whose constraint says that the step indexes has got so far.
    fn first_set(&self) -> Option<&Moved> {
        self.columns.iter().find(|moved| moved.is_key && moved.column.is_not_null)
    }

    /// Constraints that are checked afterwards.
    fn not_valid(&self) -> Piece {
        let mut all: Vec<_> = self
            .columns
            .iter()
            .filter(|moved| moved.column.is_not_null)
            .map(|moved| {
                sql!(
                    "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({} IS NOT NULL) NOT VALID;",
                    self.table_name(moved),
                    moved.set,
                    moved.new
                )
            })
            .collect();
        for (key, table) in self.leaf_keys().filter(|(key, _)| !self.is_to_partitions(key)) {
            all.push(sql!(
                "ALTER TABLE {} ADD CONSTRAINT {} {} NOT VALID;",
                table,
                self.new_key(key),
                self.new_key_definition(key)
            ));
        }
        let piece = self.transaction(all);
        match self.first_set() {
            Some(first) => piece.unless(has_constraint(self.table_name(first), &first.set)),
            None => piece,
        }
    }

    pub(super) fn verify_step(&self) -> Step {
        let pieces = vec![
            Piece::plain(self.as_owner()),
            Piece::plain(self.verified(false)).unless(self.is_switched()),
            Piece::plain(self.verified(true)).unless(sql!("NOT {}", self.is_switched())),
        ];
        Step { name: "verify", pieces }
    }

    pub(super) fn switch_step(&self) -> Step {
        let own = Own::of(self);
        let mut all = vec![sql!("SET LOCAL check_function_bodies = off;"), state::unchanged(&own)];
        all.extend(self.drops(false));
        all.extend((0..self.tables.len()).filter_map(|n| self.drop_trigger(n, Trigger::Moving)));
        all.extend(self.drop_keys());
        all.extend(self.rename_indexes(true, false));
        all.extend(self.columns.iter().flat_map(|moved| self.exchange(moved)));
        all.extend(self.column_states());
        all.extend(self.add_constraints(false));
        all.extend(self.rename_indexes(false, false));
        for (key, table) in self.leaf_keys().filter(|(key, _)| !self.is_to_partitions(key)) {
            all.push(sql!("ALTER TABLE {} RENAME CONSTRAINT {} TO {};", table, self.new_key(key), key.name));
        }
        for key in
            self.foreign_keys.iter().filter(|key| self.is_of_partitions(key) && !self.is_to_partitions(key))
        {
            all.push(sql!(
                "ALTER TABLE {} RENAME CONSTRAINT {} TO {};",
                self.name_of(key.rel),
                self.new_key(key),
                key.name
            ));
        }
        for (key, table) in self.leaf_keys().filter(|(key, _)| self.is_to_partitions(key)) {
            all.push(sql!("ALTER TABLE {} ADD CONSTRAINT {} {} NOT VALID;", table, key.name, key.definition));
        }
        all.extend(
            self.foreign_keys
                .iter()
                .filter(|key| !(self.is_of_partitions(key) && self.is_to_partitions(key)))
                .filter_map(|key| self.key_comment(key)),
        );
        for n in 0..self.tables.len() {
            all.extend(
                [Trigger::Moved, Trigger::Generated]
                    .into_iter()
                    .filter_map(|kind| self.create_trigger(n, kind)),
            );
        }
        all.extend(self.creates(false));
        all.extend(renewed(self));
        let mut pieces = vec![Piece::plain(self.as_owner())];
        if let Some(first) = self.first_set() {
            let is_there = has_constraint(self.table_name(first), &first.set);
            let early = Self::needs(&is_there, "the step indexes has not been run");
            pieces.push(early.unless(self.is_switched()));
        }
        pieces.push(Piece::plain(self.verified(false)).unless(self.is_switched()));
        pieces.push(self.transaction(all).unless(self.is_switched()));
        pieces.extend(self.later());
        for (key, table) in self.leaf_keys().filter(|(key, _)| self.is_to_partitions(key) && key.is_validated)
        {
            pieces.push(Piece::plain(sql!("ALTER TABLE {} VALIDATE CONSTRAINT {};", table, key.name)));
        }
        pieces.extend(self.table_keys(true, false));
        Step { name: "switch", pieces }
    }

    /// The name of the constraint NOT NULL, which PostgreSQL 18 has, if it gives way to that of another column: a
    /// partition that was attached can have a name of its own, and that of an old column stays then.
    fn not_null<'a>(&self, moved: &'a Moved) -> Option<&'a Ident> {
        let name = moved.column.not_null.as_ref()?;
        let of_column = |(rel, column, _): &&(u32, Ident, Option<Ident>)| {
            *column == moved.column.name && self.table_of(*rel).is_some_and(|(table, _)| table == moved.table)
        };
        let is_one = self.not_nulls.iter().filter(of_column).all(|(.., other)| other.as_ref() == Some(name));
        (is_one || !moved.keeps_old).then_some(name)
    }

    /// From PostgreSQL 18 on, a partition keeps a constraint of its own, such as that of its primary key.
    fn drop_not_null(&self, moved: &Moved, column: &Ident) -> Vec<Sql> {
        let parts = &self.table(moved).parts;
        let parts = if self.version >= 180_000 { &parts[..] } else { &parts[..1] };
        parts
            .iter()
            .map(|part| sql!("ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL;", part.name, column))
            .collect()
    }

    /// The names of two columns are exchanged.
    fn exchange(&self, moved: &Moved) -> Vec<Sql> {
        let (table, name, new, old) = (self.table_name(moved), &moved.column.name, &moved.new, &moved.old);
        let mut all = Vec::new();
        if moved.column.is_not_null && !moved.keeps_old {
            all.extend(self.drop_not_null(moved, name));
        }
        let mut alter = |column: &Ident, what: Sql| {
            all.push(sql!("ALTER TABLE {} ALTER COLUMN {} {};", table, column, what))
        };
        match moved.fills_old().filter(|_| moved.is_key) {
            Some(OldKey::Uuid) => alter(name, sql!("SET DEFAULT gen_random_uuid()")),
            Some(OldKey::Sno) => alter(name, sql!("SET DEFAULT {}.sno_new()", self.sno_schema)),
            _ => {}
        }
        if moved.is_key && self.value.is_some() {
            alter(new, sql!("SET DEFAULT {}", self.new_default(moved)));
        }
        if let Some(not_null) = self.not_null(moved) {
            if moved.keeps_old {
                let old = old_not_null(moved, not_null);
                all.push(sql!("ALTER TABLE {} RENAME CONSTRAINT {} TO {};", table, not_null, old));
            }
            all.push(sql!("ALTER TABLE {} ADD CONSTRAINT {} NOT NULL {};", table, not_null, new));
        } else if moved.column.is_not_null {
            all.push(sql!("ALTER TABLE {} ALTER COLUMN {} SET NOT NULL;", table, new));
        }
        if moved.column.is_not_null {
            all.push(sql!("ALTER TABLE {} DROP CONSTRAINT {};", table, moved.set));
        }
        if moved.is_key && self.counts() {
            all.push(sql!("ALTER SEQUENCE {} OWNED BY {}.{};", self.sequence(moved, "_seq"), table, new));
        }
        all.push(sql!("ALTER TABLE {} RENAME COLUMN {} TO {};", table, name, old));
        all.push(sql!("ALTER TABLE {} RENAME COLUMN {} TO {};", table, new, name));
        all
    }

    /// Names are exchanged back.
    fn exchange_back(&self, moved: &Moved) -> Vec<Sql> {
        let (table, name, new, old) = (self.table_name(moved), &moved.column.name, &moved.new, &moved.old);
        let mut all = vec![
            sql!("ALTER TABLE {} RENAME COLUMN {} TO {};", table, name, new),
            sql!("ALTER TABLE {} RENAME COLUMN {} TO {};", table, old, name),
        ];
        if moved.column.is_not_null {
            all.extend(self.drop_not_null(moved, new));
        }
        match self.not_null(moved) {
            Some(not_null) if moved.keeps_old => all.push(sql!(
                "ALTER TABLE {} RENAME CONSTRAINT {} TO {};",
                table,
                old_not_null(moved, not_null),
                not_null
            )),
            Some(not_null) => {
                all.push(sql!("ALTER TABLE {} ADD CONSTRAINT {} NOT NULL {};", table, not_null, name))
            }
            None if moved.column.is_not_null && !moved.keeps_old => {
                all.push(sql!("ALTER TABLE {} ALTER COLUMN {} SET NOT NULL;", table, name))
            }
            None => {}
        }
        if moved.is_key && moved.fills_old().is_some_and(|fills| fills != OldKey::ByDefault) {
            all.push(sql!("ALTER TABLE {} ALTER COLUMN {} DROP DEFAULT;", table, name));
        }
        if moved.is_key && self.value.is_some() {
            all.push(sql!("ALTER TABLE {} ALTER COLUMN {} DROP DEFAULT;", table, new));
        }
        if moved.is_key && self.counts() {
            all.push(sql!("ALTER SEQUENCE {} OWNED BY NONE;", self.sequence(moved, "_seq")));
        }
        all
    }

    /// Of the table and its partitions.
    fn column_states(&self) -> Vec<Sql> {
        let of = |moved: &Moved| {
            let parts = self.table(moved).parts.iter();
            parts
                .flat_map(|part| {
                    let state = self
                        .states
                        .iter()
                        .find(|(rel, name, _)| *rel == part.oid && *name == moved.column.name);
                    state.map_or_else(Vec::new, |(_, name, state)| of_column(&part.name, name, state))
                })
                .collect::<Vec<_>>()
        };
        self.columns.iter().flat_map(of).collect()
    }

    pub(super) fn end_step(&self) -> Step {
        let own = Own::of(self);
        let mut pieces = vec![Piece::plain(self.as_owner())];
        // What is proved is dropped, and nothing else.
        let to_do = sql!("NOT {}", to_table(&own.plan));
        pieces.push(Self::needs(&self.is_switched(), "the switch has not been made").unless(to_do.clone()));
        pieces.extend(self.found_again(&to_do));
        pieces.push(Piece::plain(self.verified(true)).unless(to_do.clone()));
        for key in self.keys().filter(|_| self.keeps_map) {
            let fill = sql!(
                "TRUNCATE {};\nINSERT INTO {} SELECT {}, {} FROM {} WHERE {} IS NOT NULL;",
                self.map(key),
                self.map(key),
                key.old,
                key.column.name,
                self.table_name(key),
                key.old
            );
            pieces.push(Self::locked(sql!("{}", self.map(key)), [fill]).unless(to_do.clone()));
        }
        let mut all: Vec<_> =
            (0..self.tables.len()).filter_map(|n| self.drop_trigger(n, Trigger::Moved)).collect();
        all.extend(self.indexes.iter().filter(|index| index.is_of('x')).map(|index| {
            sql!("ALTER TABLE {} DROP CONSTRAINT {};", self.part_name(index), self.old_index(index).name)
        }));
        let mut columns: Vec<_> = self.columns.iter().collect();
        columns.sort_by_key(|moved| (moved.table, !moved.column.is_generated));
        all.extend(
            columns
                .iter()
                .map(|moved| sql!("ALTER TABLE {} DROP COLUMN {};", self.table_name(moved), moved.old)),
        );
        if self.counts() {
            all.extend(self.keys().map(|key| sql!("DROP SEQUENCE {};", self.sequence(key, "_first_seq"))));
        }
        all.extend(drop_own(&own));
        pieces.push(self.transaction(all).unless(to_do));
        Step { name: "end", pieces }
    }

    /// Old and new keys, which stay.
    pub(super) fn map(&self, key: &Moved) -> Name {
        let relation = &self.table(key).relation;
        let base = [&relation.name.name.0, "_", &key.column.name.0].concat();
        relation.name.beside(Ident::made(&base, "_moved", relation.oid, false))
    }

    pub(super) fn undo_switch_step(&self) -> Step {
        let mut all = vec![sql!("SET LOCAL check_function_bodies = off;")];
        all.extend(self.drops(true));
        for n in 0..self.tables.len() {
            let kinds = [Trigger::Moved, Trigger::Generated].into_iter();
            all.extend(kinds.filter_map(|kind| self.drop_trigger(n, kind)));
        }
        all.extend(self.drop_keys());
        all.extend(self.columns.iter().flat_map(|moved| self.exchange_back(moved)));
        all.extend(self.rename_indexes(true, true));
        all.extend(self.add_constraints(true));
        all.extend(self.rename_indexes(false, true));
        for (key, table) in self.leaf_keys() {
            all.push(sql!("ALTER TABLE {} ADD CONSTRAINT {} {} NOT VALID;", table, key.name, key.definition));
        }
        all.extend(self.indexes.iter().flat_map(|index| self.index_state(index)));
        all.extend(
            self.foreign_keys
                .iter()
                .filter(|key| !self.is_of_partitions(key))
                .filter_map(|key| self.key_comment(key)),
        );
        all.extend((0..self.tables.len()).filter_map(|n| self.create_trigger(n, Trigger::Moving)));
        all.extend(self.creates(true));
        all.extend(renewed(self));
        let not_switched = sql!("NOT {}", self.is_switched());
        let mut pieces = vec![Piece::plain(self.as_owner())];
        pieces.extend(self.found_again(&not_switched));
        pieces.push(self.transaction(all).unless(not_switched));
        pieces.extend(self.later());
        for (key, table) in self.leaf_keys().filter(|(key, _)| key.is_validated) {
            pieces.push(Piece::plain(sql!("ALTER TABLE {} VALIDATE CONSTRAINT {};", table, key.name)));
        }
        pieces.extend(self.table_keys(true, true));
        Step { name: "undo switch", pieces }
    }

    /// A row that was written before the row that it refers to, in one statement, has no old reference yet.
    fn found_again(&self, unless: &Sql) -> Vec<Piece> {
        let is_one = |moved: &&Moved| !(moved.is_key || moved.column.is_generated || moved.column.is_array);
        let update = |moved: &Moved| {
            let value = self.value(moved, Of::Table, true);
            sql!(
                "UPDATE {} t SET {} = {} WHERE t.{} IS NOT NULL AND t.{} IS NULL AND {} IS NOT NULL{};",
                self.table_name(moved),
                moved.old,
                value,
                moved.column.name,
                moved.old,
                value,
                self.as_triggers_search(moved.table)
            )
        };
        let of = self.columns.iter().filter(is_one);
        of.map(|moved| Piece::plain(update(moved)).unless(unless.clone())).collect()
    }

    pub(super) fn undo_columns_step(&self) -> Step {
        let own = Own::of(self);
        let mut all: Vec<_> = Vec::new();
        all.extend((0..self.tables.len()).filter_map(|n| self.drop_trigger(n, Trigger::Moving)));
        all.extend(self.indexes.iter().filter(|index| index.is_of('x')).map(|index| {
            let name = self.new_index(index).name;
            sql!("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {};", self.part_name(index), name)
        }));
        // Foreign keys to columns that go before those.
        for key in &self.foreign_keys {
            all.push(sql!(
                "ALTER TABLE {} DROP CONSTRAINT IF EXISTS {};",
                self.name_of(key.rel),
                self.new_key(key)
            ));
        }
        for (key, table) in self.leaf_keys() {
            all.push(sql!("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {};", table, self.new_key(key)));
        }
        let mut columns: Vec<_> = self.columns.iter().collect();
        columns.sort_by_key(|moved| (moved.table, !moved.column.is_generated));
        all.extend(
            columns
                .iter()
                .map(|moved| sql!("ALTER TABLE {} DROP COLUMN {};", self.table_name(moved), moved.new)),
        );
        for index in self.indexes.iter().filter(|index| index.is_of('p')) {
            all.push(sql!("DROP INDEX IF EXISTS {};", self.old_index(index)));
        }
        all.extend(self.keys().filter(|_| self.keeps_map).map(|key| sql!("DROP TABLE {};", self.map(key))));
        if self.counts() {
            let both =
                self.keys().flat_map(|key| ["_seq", "_first_seq"].map(|suffix| self.sequence(key, suffix)));
            all.extend(both.map(|sequence| sql!("DROP SEQUENCE IF EXISTS {};", sequence)));
        }
        all.extend(drop_own(&own));
        let guard = sql!("NOT {} OR {}", to_table(&own.plan), self.is_switched());
        let pieces = vec![Piece::plain(self.as_owner()), self.transaction(all).unless(guard)];
        Step { name: "undo columns", pieces }
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
    fn part_name(&self, index: &Index) -> Name {
        self.name_of(index.rel)
    }
    pub(super) fn name_of(&self, rel: u32) -> Name {
        self.table_of(rel).map(|(_, part)| part.name.clone()).unwrap_or_else(|| Name::new("", ""))
    }
    fn suffix(&self) -> &'static str {
        if self.is_back { "_new" } else { "_sno" }
    }
    pub(super) fn new_index(&self, index: &Index) -> Name {
        let own = &index.name.name.0;
        let is_taken = self.taken.contains(&[own.as_str(), self.suffix()].concat());
        index.name.beside(Ident::made(own, self.suffix(), index.oid, is_taken))
    }
    pub(super) fn old_index(&self, index: &Index) -> Name {
        let name = ["old_", &index.name.name.0].concat();
        let is_taken = self.taken.contains(&name);
        index.name.beside(Ident::made(&name, "", index.oid, is_taken))
    }

    /// On the new columns.
    fn on_new(&self, index: &Index, definition: Option<&Expression>) -> Expression {
        let (table, _) = self.table_of(index.rel).expect("indexes are those of the tables");
        let casts = ["gin", "gist", "spgist"].contains(&index.method.as_str()) && !self.is_back;
        let mut names = self.row_names(table, None, true);
        for moved in
            self.of(table).filter(|moved| casts && !moved.column.is_array && !moved.column.is_generated)
        {
            names.insert(moved.column.shown.clone(), sql!("(({})::uuid)", moved.new).to_string());
        }
        definition.map_or_else(
            || Expression(String::new()),
            |definition| renamed(&self.casts().removed(definition), &names),
        )
    }
    fn new_definition(&self, index: &Index) -> Sql {
        let condition =
            index.condition.as_ref().map(|condition| sql!(" WHERE {}", self.on_new(index, Some(condition))));
        let tablespace = index.tablespace.as_ref().map(|tablespace| sql!(" TABLESPACE {}", tablespace));
        sql!("{}{}{}", self.on_new(index, Some(&index.definition)), tablespace, condition)
    }

    /// What belongs to an index or to its constraint.
    fn index_state(&self, index: &Index) -> Vec<Sql> {
        let (table, name) = (self.part_name(index), &index.name.name);
        let mut all = Vec::new();
        if index.is_clustered {
            all.push(sql!("ALTER TABLE {} CLUSTER ON {};", table, name));
        }
        if index.is_replica_identity {
            all.push(sql!("ALTER TABLE {} REPLICA IDENTITY USING INDEX {};", table, name));
        }
        all.extend(comment("INDEX", &index.name, index.comment.as_ref()));
        if let Some((constraint, _)) = &index.constraint {
            all.extend(comment(
                "CONSTRAINT",
                &sql!("{} ON {}", constraint, table),
                index.constraint_comment.as_ref(),
            ));
        }
        all
    }

    /// Before names are exchanged, there and back: foreign keys, primary keys, and what else needs a column to be
    /// NOT NULL, a replica identity. The index of the other column gets that later.
    fn drop_keys(&self) -> Vec<Sql> {
        let identities = self.indexes.iter().filter(|index| index.is_replica_identity);
        let foreign = self.foreign_keys.iter().map(|key| (self.name_of(key.rel), &key.name));
        let primary = self.indexes.iter().filter(|index| index.is_of('p') && index.parent.is_none());
        let primary =
            primary.filter_map(|index| Some((self.part_name(index), &index.constraint.as_ref()?.0)));
        let constraints = foreign.chain(primary);
        identities
            .map(|index| sql!("ALTER TABLE {} REPLICA IDENTITY FULL;", self.part_name(index)))
            .chain(constraints.map(|(table, name)| sql!("ALTER TABLE {} DROP CONSTRAINT {};", table, name)))
            .collect()
    }

    /// What is dropped or gets back its name: first is what has it now. Unique constraints, or all other
    /// indexes but primary keys.
    fn rename_indexes(&self, unique_constraints: bool, back: bool) -> Vec<Sql> {
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
            if is_unique && back {
                if let Some((constraint, _)) = index.constraint.as_ref().filter(|_| index.parent.is_none()) {
                    all.push(sql!("ALTER TABLE {} DROP CONSTRAINT {};", table, constraint));
                }
                all.push(sql!("ALTER INDEX {} RENAME TO {};", old, own.name));
            } else if is_unique {
                all.push(sql!("ALTER INDEX {} RENAME TO {};", own, old.name));
            } else {
                let (away, here) = if back { (&new, &old) } else { (&old, &new) };
                all.push(sql!("ALTER INDEX {} RENAME TO {};", own, away.name));
                all.push(sql!("ALTER INDEX {} RENAME TO {};", here, own.name));
                if !back {
                    all.extend(self.index_state(index));
                }
            }
        }
        all
    }

    /// Constraints by the index of this name, and those of partitioned tables, which take the constraints
    /// of their partitions.
    fn add_constraints(&self, back: bool) -> Vec<Sql> {
        let mut indexes: Vec<_> =
            self.indexes.iter().filter(|index| index.is_of('p') || index.is_of('u') && !back).collect();
        // Those of a partitioned table before the next ones, which can be alike, and the primary key first.
        indexes.sort_by_key(|index| {
            let level = self.part(index).map(|part| -part.level);
            (self.table_of(index.rel).map(|(table, _)| table), index.is_of('u'), self.whole(index), level)
        });
        let mut all = Vec::new();
        for index in indexes {
            let Some((constraint, _)) = &index.constraint else { continue };
            let kind = if index.is_of('p') { "PRIMARY KEY" } else { "UNIQUE" };
            let table = self.part_name(index);
            all.push(if index.kind == "I" {
                sql!("ALTER TABLE {} ADD CONSTRAINT {} {};", table, constraint, index.constraint_definition)
            } else {
                let by = if back { self.old_index(index) } else { self.new_index(index) };
                sql!(
                    "ALTER TABLE {} ADD CONSTRAINT {} {} USING INDEX {}{};",
                    table,
                    constraint,
                    kind,
                    by.name,
                    index.deferrable
                )
            });
            if !back {
                all.extend(self.index_state(index));
            }
        }
        all
    }

    // Foreign keys. Those of a partitioned table are added to each partition first, as they can't be NOT
    // VALID (before 18); then the table's own
    // takes these, and reads no rows.

    fn is_of_partitions(&self, key: &ForeignKey) -> bool {
        self.table_of(key.rel).is_some_and(|(_, part)| part.kind == "p")
    }
    fn is_to_partitions(&self, key: &ForeignKey) -> bool {
        self.table_of(key.to).is_some_and(|(_, part)| part.kind == "p" || part.root != part.oid)
    }
    pub(super) fn new_key(&self, key: &ForeignKey) -> Ident {
        let is_taken = self.taken.contains(&[&key.name.0, self.suffix()].concat());
        Ident::made(&key.name.0, self.suffix(), key.oid, is_taken)
    }
    fn key_comment(&self, key: &ForeignKey) -> Option<Sql> {
        comment("CONSTRAINT", &sql!("{} ON {}", key.name, self.name_of(key.rel)), key.comment.as_ref())
    }

    fn leaf_keys(&self) -> impl Iterator<Item = (&ForeignKey, Name)> {
        self.foreign_keys.iter().flat_map(|key| {
            let (table, own) = self.table_of(key.rel).expect("foreign keys are those of the tables");
            let parts = &self.tables[table].parts;
            parts
                .iter()
                .filter(|part| part.kind == "r" && is_below(parts, part, own.oid))
                .map(move |part| (key, part.name.clone()))
        })
    }

    fn new_key_definition(&self, key: &ForeignKey) -> Sql {
        let names = |rel, numbers: &[i16]| {
            let (table, _) = self.table_of(rel).expect("both tables move");
            let one = |number: &i16| {
                let name = self
                    .numbers
                    .iter()
                    .find(|(r, n, _)| *r == rel && n == number)
                    .map(|(.., name)| name.clone());
                let name = name.expect("columns of keys have names");
                self.of(table).find(|moved| moved.column.name == name).map_or(name, |moved| moved.new.clone())
            };
            comma(numbers.iter().map(one).collect::<Vec<_>>())
        };
        let set = (!key.set_columns.is_empty()).then(|| sql!(" ({})", names(key.rel, &key.set_columns)));
        sql!(
            "FOREIGN KEY ({}) REFERENCES {} ({}){}{}{}",
            names(key.rel, &key.columns),
            self.name_of(key.to),
            names(key.to, &key.to_columns),
            key.actions,
            set,
            key.deferrable,
        )
    }

    fn table_keys(&self, to_partitions: bool, back: bool) -> Vec<Piece> {
        let keys = self.foreign_keys.iter().filter(|key| {
            self.is_of_partitions(key) && (back || self.is_to_partitions(key) == to_partitions)
        });
        keys.map(|key| {
            let is_old = to_partitions || back;
            let table = self.name_of(key.rel);
            let name = if is_old { key.name.clone() } else { self.new_key(key) };
            let definition = if is_old { sql!("{}", key.definition) } else { self.new_key_definition(key) };
            let mut all = vec![sql!("ALTER TABLE {} ADD CONSTRAINT {} {};", table, name, definition)];
            all.extend(is_old.then(|| self.key_comment(key)).flatten());
            self.transaction(all).unless(has_constraint(&table, &name))
        })
        .collect()
    }

    // Objects.

    fn retyped(&self, definition: &Expression) -> Expression {
        let mut old: Vec<_> = self.keys().map(|key| key.column.type_name.0.clone()).collect();
        old.sort();
        old.dedup();
        retyped(definition, &old, self.new_type().as_str())
    }

    fn drops(&self, back: bool) -> Vec<Sql> {
        let objects = self.objects.iter().rev().filter_map(|object| object.known());
        objects
            .map(|known| {
                if back && known.is_retyped {
                    return sql!("{}", self.retyped(&Expression(known.drop.to_string())));
                }
                known.drop.clone()
            })
            .collect()
    }

    fn creates(&self, back: bool) -> Vec<Sql> {
        let casts = self.casts();
        let objects = self.objects.iter().filter_map(|object| object.known());
        objects
            .flat_map(|known| {
                known.creates(|definition| {
                    if back {
                        return definition.clone();
                    }
                    let definition = casts.removed(definition);
                    if known.is_retyped { self.retyped(&definition) } else { definition }
                })
            })
            .collect()
    }

    fn later(&self) -> Vec<Piece> {
        let objects = self.objects.iter().filter_map(|object| object.known());
        objects.filter_map(|known| known.later.clone()).map(Piece::plain).collect()
    }
}

/// Whether a partition is this one, or a partition of it.
fn is_below(parts: &[Relation], part: &Relation, whole: u32) -> bool {
    part.oid == whole
        || parts.iter().any(|parent| Some(parent.oid) == part.parent && is_below(parts, parent, whole))
}

fn old_not_null(moved: &Moved, not_null: &Ident) -> Ident {
    let number = u32::try_from(moved.column.attnum).unwrap_or_default();
    Ident::made(&["old_", &not_null.0].concat(), "", number, false)
}

/// Builds an index without a lock that others wait for.
fn build(name: &Name, table: &Name, is_unique: bool, definition: &Sql) -> Piece {
    let unique = if is_unique { "UNIQUE " } else { "" };
    let mut piece = Piece::plain(sql!(
        "CREATE {}INDEX CONCURRENTLY IF NOT EXISTS {} ON {} {};",
        unique,
        name.name,
        table,
        definition
    ));
    piece.index = Some(name.literal().0);
    piece
}

/// In open sessions, PL/pgSQL has expressions with the types of NEW and OLD that were (42804), until their
/// function is changed in some way.
fn renewed(model: &Model) -> Vec<Sql> {
    let tables = comma(model.tables.iter().flat_map(|table| &table.parts).map(|part| part.name.literal()));
    vec![sql!("DO {};", Body(Sql::new(include_str!("steps/renewed.sql"), &[&tables])))]
}

pub(super) fn to_table(name: &Name) -> Sql {
    sql!("to_regclass({}) IS NOT NULL", name.literal())
}
fn has_column(table: &Name, column: &Ident) -> Sql {
    sql!(
        "EXISTS (SELECT FROM pg_attribute WHERE attrelid = {}::regclass AND attname = {} AND NOT attisdropped)",
        table.literal(),
        column.literal()
    )
}
fn has_constraint(table: &Name, constraint: &Ident) -> Sql {
    sql!(
        "EXISTS (SELECT FROM pg_constraint WHERE conrelid = {}::regclass AND conname = {})",
        table.literal(),
        constraint.literal()
    )
}

/// Rows of one time can have one ID: such rows get others.
fn of_one_time(table: &Name, id: &Ident, new: &Ident, value: &Sql, path: &Option<Sql>) -> Sql {
    let hint = "Spread the times: --time with created_at + (id % 1000) * interval '4 ms'.";
    let hint = Literal(hint.to_owned());
    let body = Sql::new(
        include_str!("steps/of_one_time.sql"),
        &[table, new, value, id, id, id, new, id, table, new, path, &hint],
    );
    sql!("DO {};", Body(body))
}

/// The plan, for the program and for `write`.
fn stored(own: &Own, plan: &[Step]) -> Vec<Sql> {
    let mut all = vec![sql!(
        "CREATE TABLE {} (step text, place integer, is_transaction boolean, unless text, index text, sql text,
    PRIMARY KEY (step, place));",
        own.plan
    )];
    for step in plan {
        for (place, piece) in step.pieces.iter().enumerate() {
            let text = |text: &Option<String>| {
                text.as_ref().map_or_else(|| sql!("NULL"), |text| sql!("{}", Literal(text.clone())))
            };
            all.push(sql!(
                "INSERT INTO {} VALUES ({}, {}, {}, {}, {}, {});",
                own.plan,
                Literal(step.name.to_owned()),
                place,
                if piece.is_transaction { "true" } else { "false" },
                text(&piece.unless),
                text(&piece.index),
                Literal(piece.sql.clone())
            ));
        }
    }
    all
}

fn drop_own(own: &Own) -> Vec<Sql> {
    vec![
        sql!("DROP TABLE {}, {}, {};", own.plan, own.progress, own.before),
        sql!(
            "DROP PROCEDURE {}, {};\nDROP FUNCTION {}, {};",
            own.fill_keys,
            own.fill_pages,
            own.report,
            own.state
        ),
    ]
}

/// How rows are filled in batches, and say how far they are.
fn fill_procedures(own: &Own) -> Vec<Sql> {
    let report = Sql::new(include_str!("steps/report.sql"), &[&own.progress, &own.progress]);
    let keys = Sql::new(include_str!("steps/fill_keys.sql"), &[&own.progress, &own.report]);
    let pages = Sql::new(include_str!("steps/fill_pages.sql"), &[&own.progress, &own.report]);
    vec![
        sql!(
            "-- How far step 2 is, in any session.\n\
             CREATE TABLE {} (part text PRIMARY KEY, last text, done bigint, of bigint, unit text, per_second bigint, \
             time_left interval, at timestamptz, told timestamptz);",
            own.progress
        ),
        sql!(
            "CREATE FUNCTION {}(which text, last_one text, is_done bigint, of_all bigint, of_unit text, \
             since timestamptz, at_first bigint) RETURNS void LANGUAGE plpgsql AS {};",
            own.report,
            Body(report)
        ),
        sql!(
            "-- Runs a statement for the rows of a table in batches, in the order of a key: $1 and $2 in it are the\n\
             -- first and the last key of one, as texts.\n\
             CREATE PROCEDURE {}(of regclass, key text, type text, statement text, batch integer) \
             LANGUAGE plpgsql AS {};",
            own.fill_keys,
            Body(keys)
        ),
        sql!(
            "-- The same page by page, which needs no index: the table, or a partition of it, stands between the\n\
             -- texts.\n\
             CREATE PROCEDURE {}(of regclass, begins text, rest text, batch integer) LANGUAGE plpgsql AS {};",
            own.fill_pages,
            Body(pages)
        ),
    ]
}
