//! The statements of each step.

use super::model::{Model, Moved};
use super::sql::{Body, Ident, Literal, Name, Remark, Sql, join, sql};
use super::state::{self, Before};
use super::values::{For, Of, Trigger, comma};
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

/// A part of a step, which is passed over if it was done before: most often one transaction.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// If this is true, it was done before.
    pub(super) unless: Option<String>,
    /// A transaction, or statements outside of one, in this order.
    pub(super) sql: Vec<String>,
}

impl Piece {
    pub(super) fn plain(sql: Sql) -> Self {
        Self { unless: None, sql: vec![sql.to_string()] }
    }
    pub(super) fn unless(mut self, condition: Sql) -> Self {
        self.unless = Some(condition.to_string());
        self
    }
    /// Nor if this is true.
    pub(super) fn or_unless(mut self, condition: &Sql) -> Self {
        let before = self.unless.map(|unless| format!(" OR {unless}"));
        self.unless = Some(format!("{condition}{}", before.unwrap_or_default()));
        self
    }
    /// Each time that this is tried, that comes first: what it has found can be wrong after a wait for a lock.
    pub(super) fn after(mut self, first: Sql) -> Self {
        self.sql.insert(0, first.to_string());
        self
    }
    /// Whether it ends with a whole transaction: it is tried again if that gets no lock.
    pub(super) fn is_transaction(&self) -> bool {
        self.sql.last().is_some_and(|sql| sql.starts_with("BEGIN;"))
    }
}

impl Model {
    /// What the steps need for themselves.
    pub(super) fn own(&self, name: &str) -> Name {
        self.tables[0].relation.name.beside(Ident(name.to_owned()))
    }

    /// The steps call functions of the tables, with the rights of who runs them: only the owner may.
    pub(super) fn step(&self, name: &'static str, pieces: Vec<Piece>) -> Step {
        let user = Literal(self.catalog.session.user.clone());
        let message = Literal("must be run as the owner of the tables, whose functions it calls".to_owned());
        let first = Piece::plain(Self::block(sql!(
            "IF current_user <> {} THEN RAISE insufficient_privilege USING MESSAGE = {}; END IF;",
            user,
            message
        )));
        let begun = Self::needs(
            &to_own(&self.own("sno_move_plan")),
            "no move is under way: run the step columns first",
        );
        // The others find out by themselves whether they have something to do.
        let begun = (!["columns", "end", "undo columns"].contains(&name)).then_some(begun);
        Step { name, pieces: std::iter::once(first).chain(begun).chain(pieces).collect() }
    }

    pub(super) fn table_name(&self, moved: &Moved) -> &Name {
        &self.table(moved).relation.name
    }

    pub(super) fn new_type(&self) -> Sql {
        match self.target {
            Target::Sno => sql!("{}", self.catalog.session.sno_type),
            Target::Uuid => sql!("uuid"),
            Target::Bigint => sql!("bigint"),
        }
    }

    /// One transaction with all locks, for which each statement waits half a second at most.
    pub(super) fn transaction(&self, statements: impl IntoIterator<Item = Sql>) -> Piece {
        Self::locked(comma(self.tables.iter().map(|table| &table.relation.name)), statements)
    }

    /// The same with the locks of these tables.
    pub(super) fn locked(tables: Sql, statements: impl IntoIterator<Item = Sql>) -> Piece {
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
        Piece::plain(sql)
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
    pub(super) fn new_default(&self, key: &Moved) -> Sql {
        match self.target {
            Target::Sno => sql!("{}.sno_new()", self.catalog.session.sno),
            Target::Uuid if self.catalog.session.version >= 180_000 => sql!("uuidv7()"),
            Target::Uuid => sql!("gen_random_uuid()"),
            Target::Bigint => sql!("nextval({})", self.sequence(key, "_seq").literal()),
        }
    }

    pub(super) fn sequence(&self, key: &Moved, suffix: &str) -> Name {
        let relation = &self.table(key).relation;
        let base = [&relation.name.name.0, "_", &key.column.name.0, "_new"].concat();
        relation.name.beside(self.catalog.free(&base, suffix, relation.oid))
    }

    /// Whether new keys are numbers in the order of the old ones.
    pub(super) fn counts(&self) -> bool {
        self.target == Target::Bigint && self.value.is_none()
    }

    /// `counts`: how many rows have each key.
    pub(super) fn columns_step(&self, plan: &[Step], fingerprint: &str, counts: &[i64]) -> Step {
        let (plan_name, before, progress) =
            (self.own("sno_move_plan"), self.own("sno_move_before"), self.own("sno_move_progress"));
        let mut all = vec![state::view(self), state::unchanged_since_write(self, fingerprint)];
        all.push(sql!("CREATE TABLE {} AS TABLE {};", before, self.own("sno_move_state")));
        all.push(sql!(
            "-- How far step 2 is, in any session.
CREATE TABLE {} (part text PRIMARY KEY, last text, done bigint, of bigint, unit text, per_second bigint,
    time_left interval, at timestamptz, told timestamptz);",
            progress
        ));
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
                "CREATE TABLE {map} AS SELECT {old} AS old, {new} AS new FROM {table} WITH NO DATA;",
                [map, old, table],
                new = key.new
            )
        }));
        all.extend((0..self.tables.len()).filter_map(|n| self.create_trigger(n, Trigger::Moving)));
        all.push(sql!("-- What a trigger could not evaluate fails here, not in the application."));
        all.extend((0..self.tables.len()).filter_map(|n| self.planned(n)).map(Self::block));
        all.extend(stored(&plan_name, plan));
        // Nor does a role write there that may write to all tables: without a policy, only the owner does.
        all.extend(
            [&plan_name, &before, &progress]
                .map(|name| sql!("ALTER TABLE {} ENABLE ROW LEVEL SECURITY;", name)),
        );
        let own = [&plan_name, &before, &progress, &self.own("sno_move_state")];
        let own = comma(own.map(Name::literal));
        let maps = self.keys().filter(|_| self.keeps_map).map(|key| sql!(", {}", self.map(key).literal()));
        let all_tables = sql!("{}{}", own, join(maps, ""));
        all.push(sql!("DO {};", Body(sql!(include_str!("steps/private.sql"), [own], tables = all_tables))));
        self.step("columns", vec![self.transaction(all).unless(to_own(&plan_name))])
    }

    /// Fails if this is not so.
    pub(super) fn needs(condition: &Sql, message: &str) -> Piece {
        Piece::plain(Self::block(sql!(
            "IF NOT {} THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = {};
    END IF;",
            condition,
            Literal(message.to_owned())
        )))
    }

    fn sequence_rights(&self, key: &Moved) -> Vec<Sql> {
        let sequence = self.sequence(key, "_seq");
        // As many as may insert.
        vec![Self::block(sql!(
            "EXECUTE coalesce((SELECT string_agg(DISTINCT format('GRANT USAGE ON SEQUENCE %s TO %s', {sequence},
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END), '; ')
        FROM (SELECT relowner, relacl AS acl FROM pg_class WHERE oid = {table}::regclass
            UNION ALL SELECT relowner, attacl FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
            WHERE attrelid = {table}::regclass) r, aclexplode(acl)
        WHERE privilege_type = 'INSERT' AND grantee <> relowner), 'SELECT');",
            sequence = sequence.literal(),
            table = self.table_name(key).literal(),
        ))]
    }

    pub(super) fn fill_step(&self) -> Step {
        let mut pieces: Vec<_> = self.keys().flat_map(|key| self.fill_key(key)).collect();
        for n in 0..self.tables.len() {
            pieces.extend(self.fill_table(n));
            pieces.push(Piece::plain(sql!("ANALYZE {};", self.tables[n].relation.name)));
        }
        self.step("fill", pieces)
    }

    /// A condition of an UPDATE, which is true: the table's own triggers search the names that they use in the
    /// schemas of the session. The statement itself, whose names are found before it runs, never does.
    fn as_triggers_search(&self, n: usize) -> Option<Sql> {
        self.tables[n].parts.iter().any(|part| part.has_triggers).then(|| {
            sql!(
                " AND (SELECT set_config('search_path', {}, true)) IS NOT NULL",
                Literal(["pg_catalog, ", &self.catalog.search_path].concat())
            )
        })
    }

    fn fill_key(&self, key: &Moved) -> Vec<Piece> {
        let (table, id, new) = (self.table_name(key), &key.column.name, &key.new);
        let cast = &key.column.cast;
        let range = sql!("t.{id} >= $1::{cast} AND t.{id} <= $2::{cast}", [id, cast]);
        let path = self.as_triggers_search(key.table);
        let mut pieces = Vec::new();
        let mut is_timed = None;
        let statement = if self.value.is_some() {
            let value = self.value(key, Of::Table, For::New);
            sql!(
                "UPDATE {table} t SET {new} = {value} WHERE {range} AND t.{new} IS DISTINCT FROM {value}{path}",
                [table, new, value, range, path]
            )
        } else if self.counts() {
            sql!(
                "UPDATE {table} t SET {new} = n.number FROM (SELECT x.key, nextval({sequence}) FROM
        (SELECT t.{id} FROM {table} t WHERE {range} AND t.{new} IS NULL ORDER BY t.{id}) x(key)) n(key, number)
    WHERE n.key = t.{id}{path}", [table, new, id, range, path], sequence = self.sequence(key, "_first_seq").literal())
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
                let timed =
                    sql!("{}.sno_new(0, ({})::timestamptz)", self.catalog.session.sno, birth.expression);
                value = if birth.can_be_null { sql!("coalesce({}, {})", timed, value) } else { timed };
                is_timed = Some(value.clone());
            }
            sql!(
                "UPDATE {table} t SET {new} = {value} WHERE {range} AND t.{new} IS NULL{path}",
                [table, new, value, range, path]
            )
        };
        let done = "CASE WHEN since IS NULL THEN rows ELSE done END";
        let report = self.report(done, "rows", "which", "since", "'rows'");
        let (key_name, statement) = (Literal(sql!("{}", id).to_string()), Literal(statement.to_string()));
        let body = sql!(
            include_str!("steps/fill_keys.sql"), [statement, report], table = table.literal(), key = key_name, type = cast.literal(), progress = self.own("sno_move_progress"));
        pieces.push(Piece::plain(sql!("DO {};", Body(body))));
        pieces.extend(is_timed.map(|value| Piece::plain(of_one_time(table, id, new, &value, &path))));
        pieces
    }

    /// The other columns of a table.
    fn fill_table(&self, n: usize) -> Option<Piece> {
        let others: Vec<_> = self.of(n).filter(|moved| !moved.is_key).collect();
        if others.is_empty() {
            return None;
        }
        let values: Vec<_> = others.iter().map(|moved| self.value(moved, Of::Table, For::New)).collect();
        // What is there stays where the value is not known any more: the row that it was of is gone.
        let values: Vec<_> = others
            .iter()
            .zip(&values)
            .map(|(moved, value)| match moved.column.is_generated {
                true => sql!("{}", value),
                false => sql!(
                    "coalesce({value}, CASE WHEN t.{name} IS NOT NULL THEN t.{new} END)",
                    [value],
                    name = moved.column.name,
                    new = moved.new
                ),
            })
            .collect();
        let set = join(
            others.iter().zip(&values).map(|(moved, value)| sql!("{} = {}", moved.new, value)),
            ",\n        ",
        );
        let new = comma(others.iter().map(|moved| Of::Table.column(&moved.new)));
        let rest = sql!(
            " t SET {set}\n    WHERE ctid >= $1 AND ctid < $2 AND ({new}) IS DISTINCT FROM ({values}){path}",
            [set, new],
            values = comma(values),
            path = self.as_triggers_search(n)
        );
        let (table, rest) = (self.tables[n].relation.name.literal(), Literal(rest.to_string()));
        let last = "CASE WHEN page < stop THEN page::text END";
        let report = self.report("page", "stop", "leaf::text", last, "'pages'");
        let body = sql!(
            include_str!("steps/fill_pages.sql"),
            [table, report],
            update = rest,
            progress = self.own("sno_move_progress")
        );
        Some(Piece::plain(sql!("DO {};", Body(body))))
    }

    /// Says how far a part is: how much is done, of how much, which part it is, where it goes on, and of what.
    fn report(
        &self,
        done: &'static str,
        of: &'static str,
        part: &'static str,
        last: &'static str,
        unit: &'static str,
    ) -> Sql {
        sql!(
            include_str!("steps/report.sql"),
            [done, of, part, last, unit],
            progress = self.own("sno_move_progress")
        )
    }

    pub(super) fn verify_step(&self) -> Step {
        let pieces = vec![
            Piece::plain(self.verified(Before::Switch)).unless(self.is_switched()),
            Piece::plain(self.verified(Before::End)).unless(sql!("NOT {}", self.is_switched())),
        ];
        self.step("verify", pieces)
    }

    pub(super) fn end_step(&self) -> Step {
        // What is proved is dropped, and nothing else.
        let to_do = sql!("NOT {}", to_own(&self.own("sno_move_plan")));
        let early = Self::needs(&self.is_switched(), "the switch has not been made");
        let mut pieces = vec![early.unless(to_do.clone())];
        pieces.extend(self.later().into_iter().map(|piece| piece.or_unless(&to_do)));
        pieces.extend(self.found_again(&to_do));
        pieces.push(Piece::plain(self.verified(Before::End)).unless(to_do.clone()));
        for key in self.keys().filter(|_| self.keeps_map) {
            let fill = sql!(
                "TRUNCATE {map};\nINSERT INTO {map} SELECT {old}, {new} FROM {table} WHERE {old} IS NOT NULL;",
                map = self.map(key),
                old = key.old,
                new = key.column.name,
                table = self.table_name(key)
            );
            pieces.push(Self::locked(sql!("{}", self.map(key)), [fill]).unless(to_do.clone()));
        }
        let mut all: Vec<_> =
            (0..self.tables.len()).filter_map(|n| self.drop_trigger(n, Trigger::Moved)).collect();
        all.extend(self.indexes.iter().filter(|index| index.is_of('x')).map(|index| {
            sql!("ALTER TABLE {} DROP CONSTRAINT {};", self.part_name(index), self.old_index(index).name)
        }));
        all.extend(self.drop_columns(|moved| &moved.old));
        if self.counts() {
            all.extend(self.keys().map(|key| sql!("DROP SEQUENCE {};", self.sequence(key, "_first_seq"))));
        }
        all.extend(self.drop_own());
        pieces.push(self.transaction(all).unless(to_do));
        self.step("end", pieces)
    }

    fn drop_own(&self) -> Vec<Sql> {
        let tables = ["sno_move_plan", "sno_move_progress", "sno_move_before"].map(|name| self.own(name));
        vec![sql!("DROP TABLE {};", comma(tables)), sql!("DROP VIEW {};", self.own("sno_move_state"))]
    }

    /// Generated columns before those that they read.
    fn drop_columns<'a>(&'a self, name: impl Fn(&'a Moved) -> &'a Ident) -> Vec<Sql> {
        let mut columns: Vec<_> = self.columns.iter().collect();
        columns.sort_by_key(|moved| (moved.table, !moved.column.is_generated));
        let drop = |moved| sql!("ALTER TABLE {} DROP COLUMN {};", self.table_name(moved), name(moved));
        columns.into_iter().map(drop).collect()
    }

    /// Old and new keys, which stay.
    pub(super) fn map(&self, key: &Moved) -> Name {
        let relation = &self.table(key).relation;
        let base = [&relation.name.name.0, "_", &key.column.name.0].concat();
        relation.name.beside(Ident::made(&base, "_moved", relation.oid, |_| false))
    }

    /// A row that was written before the row that it refers to, in one statement, has no old reference yet.
    pub(super) fn found_again(&self, unless: &Sql) -> Vec<Piece> {
        let is_one = |moved: &&Moved| !(moved.is_key || moved.column.is_generated || moved.column.is_array);
        let update = |moved: &Moved| {
            let value = self.value(moved, Of::Table, For::Old);
            sql!(
                "BEGIN;\nSET LOCAL lock_timeout = '500ms';
UPDATE {table} t SET {old} = {value} WHERE t.{new} IS NOT NULL AND t.{old} IS NULL AND {value} IS NOT NULL{path};
COMMIT;", [value], table = self.table_name(moved), old = moved.old, new = moved.column.name, path = self.as_triggers_search(moved.table))
        };
        let of = self.columns.iter().filter(is_one);
        of.map(|moved| Piece::plain(update(moved)).unless(unless.clone())).collect()
    }

    pub(super) fn undo_columns_step(&self) -> Step {
        let mut all: Vec<_> =
            (0..self.tables.len()).filter_map(|n| self.drop_trigger(n, Trigger::Moving)).collect();
        all.extend(self.indexes.iter().filter(|index| index.is_of('x')).map(|index| {
            let name = self.new_index(index).name;
            sql!("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {};", self.part_name(index), name)
        }));
        all.extend(self.drop_columns(|moved| &moved.new));
        for index in self.indexes.iter().filter(|index| index.is_of('p')) {
            let name = self.old_index(index);
            all.push(Self::block(sql!(
                "IF {} THEN DROP INDEX {}; END IF;",
                has_index(&self.part_name(index), &name, ""),
                name
            )));
        }
        all.extend(self.keys().filter(|_| self.keeps_map).map(|key| sql!("DROP TABLE {};", self.map(key))));
        if self.counts() {
            let both =
                self.keys().flat_map(|key| ["_seq", "_first_seq"].map(|suffix| self.sequence(key, suffix)));
            all.extend(both.map(|sequence| sql!("DROP SEQUENCE IF EXISTS {};", sequence)));
        }
        all.extend(self.drop_own());
        let guard = sql!("NOT {} OR {}", to_own(&self.own("sno_move_plan")), self.is_switched());
        // The program undoes that itself, first.
        let early =
            Self::needs(&sql!("NOT {}", self.is_switched()), "the switch has been made: undo that first");
        let mut pieces = vec![early.unless(sql!("NOT {}", to_own(&self.own("sno_move_plan"))))];
        pieces.extend(self.later().into_iter().map(|piece| piece.or_unless(&guard)));
        pieces.push(self.transaction(all).unless(guard));
        self.step("undo columns", pieces)
    }
    pub(super) fn name_of(&self, rel: u32) -> Name {
        self.table_of(rel).map(|(_, part)| part.name.clone()).unwrap_or_else(|| Name::new("", ""))
    }
}

/// Whether who moves has a relation of this name: another role's does not mean that a step was done.
pub(super) fn to_own(name: &Name) -> Sql {
    sql!(
        "EXISTS (SELECT FROM pg_class WHERE oid = to_regclass({}) AND pg_get_userbyid(relowner) = current_user)",
        name.literal()
    )
}

/// Whether the table has an index of this name, of which this is true, too: another role's table could have one.
pub(super) fn has_index(table: &Name, index: &Name, and: &'static str) -> Sql {
    sql!(
        "EXISTS (SELECT FROM pg_index WHERE indrelid = {}::regclass AND indexrelid = to_regclass({}){})",
        table.literal(),
        index.literal(),
        and
    )
}

fn has_column(table: &Name, column: &Ident) -> Sql {
    sql!(
        "EXISTS (SELECT FROM pg_attribute WHERE attrelid = {}::regclass AND attname = {} AND NOT attisdropped)",
        table.literal(),
        column.literal()
    )
}

pub(super) fn has_constraint(table: &Name, constraint: &Ident) -> Sql {
    sql!(
        "EXISTS (SELECT FROM pg_constraint WHERE conrelid = {}::regclass AND conname = {})",
        table.literal(),
        constraint.literal()
    )
}

/// Rows of one time can have one ID: such rows get others.
fn of_one_time(table: &Name, id: &Ident, new: &Ident, value: &Sql, path: &Option<Sql>) -> Sql {
    let hint = "Spread the times: --time with created_at + (id % 1000) * interval '4 ms'.";
    let body = sql!(
        include_str!("steps/of_one_time.sql"),
        [table, new, value],
        key = id,
        search_path = path,
        hint = Literal(hint.to_owned())
    );
    sql!("DO {};", Body(body))
}

/// The plan, for the program and for `write`.
fn stored(name: &Name, plan: &[Step]) -> Vec<Sql> {
    let mut all = vec![sql!(
        "CREATE TABLE {} (step text, place integer, unless text, sql text[], PRIMARY KEY (step, place));",
        name
    )];
    for step in plan {
        for (place, piece) in step.pieces.iter().enumerate() {
            all.push(sql!(
                "INSERT INTO {plan} VALUES ({step}, {place}, nullif({unless}, ''), ARRAY[{sql}]);",
                [place],
                plan = name,
                step = Literal(step.name.to_owned()),
                unless = Literal(piece.unless.clone().unwrap_or_default()),
                sql = comma(piece.sql.iter().cloned().map(Literal))
            ));
        }
    }
    all
}
