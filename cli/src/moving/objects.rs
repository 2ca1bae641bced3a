//! What depends on columns that move, and is dropped and made again in the switch, with owner, rights,
//! options and comments.

use postgres::types::Oid;
use postgres::{GenericClient, Row};

use super::catalog::{ColumnState, Right, column_state, rights};
use super::expression::Casts;
use super::sql::{Expression, Ident, Literal, Name, Part, Sql, join, sql};

/// One that depends on a column, or on another object.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) class: String,
    pub(super) oid: Oid,
    /// Functions that it calls.
    pub(super) calls: Vec<Oid>,
    /// For people.
    pub(super) shown: String,
    pub(super) form: Form,
}

/// How it goes and comes back.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// Statements that drop it, that make it again, and that do the rest after the COMMIT.
    Known(Box<Known>),
    /// Why it stops a move.
    Unknown(&'static str),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) drop: Sql,
    /// The definition, as the server deparses it, which may need another form for the new type; and what
    /// follows.
    pub(super) create: Vec<Create>,
    pub(super) later: Option<Sql>,
    pub(super) name: Option<Name>,
    pub(super) is_relation: bool,
    pub(super) is_materialized: bool,
    /// A function that is made with the new type in the place of the old one.
    pub(super) is_retyped: bool,
    /// Columns of a view whose types are a domain, or `varchar`.
    pub(super) casts: Casts,
}

/// A statement.
#[derive(Debug, Clone)]
pub(super) enum Create {
    /// The same before and after.
    Same(Sql),
    /// Before and after the definition, which can have casts that the new type does not have.
    Deparsed(Sql, Expression, Sql),
}

/// Reads all of them, in the order of their levels.
pub(super) fn read(
    client: &mut impl GenericClient,
    parts: &[(Oid, i16)],
    functions: &[Oid],
) -> Result<Vec<Object>, postgres::Error> {
    let (rels, numbers): (Vec<Oid>, Vec<i16>) = parts.iter().copied().unzip();
    let rows = client.query(include_str!("catalog/dependants.sql"), &[&rels, &numbers, &functions])?;
    let mut objects = Vec::new();
    for row in rows {
        let (class, oid): (String, Oid) = (row.get("class"), row.get("oid"));
        let form = form(client, &class, oid, functions.contains(&oid))?;
        let calls = client.query(include_str!("catalog/calls.sql"), &[&class, &oid])?;
        let calls = calls.iter().map(|row| row.get(0)).collect();
        objects.push(Object { calls, class, oid, shown: row.get("shown"), form });
    }
    Ok(objects)
}

const FOREIGN: &str = "belongs to a role that you are not: be a member of it";
const UNKNOWN: &str = "is of a kind that no step knows: drop it before, and make it again after";
const NO_SCHEMA: &str = "could not be made again: GRANT CREATE on its schema to you and to its owner first";

fn form(
    client: &mut impl GenericClient,
    class: &str,
    oid: Oid,
    is_retyped: bool,
) -> Result<Form, postgres::Error> {
    let query = match class {
        "pg_class" => include_str!("catalog/view.sql"),
        "pg_proc" => include_str!("catalog/function.sql"),
        "pg_policy" => include_str!("catalog/policy.sql"),
        "pg_publication_rel" => include_str!("catalog/publication.sql"),
        "pg_trigger" => include_str!("catalog/trigger.sql"),
        "pg_rewrite" => include_str!("catalog/rule.sql"),
        "pg_statistic_ext" => include_str!("catalog/statistics.sql"),
        "pg_constraint" => include_str!("catalog/check.sql"),
        "pg_attrdef" => include_str!("catalog/default.sql"),
        _ => return Ok(Form::Unknown(UNKNOWN)),
    };
    let Some(row) = client.query_opt(query, &[&oid])? else { return Ok(Form::Unknown(UNKNOWN)) };
    if let Some(why) = special(client, class, oid, &row)? {
        return Ok(Form::Unknown(why));
    }
    let known = match class {
        "pg_class" => return view(client, oid, &row),
        "pg_proc" if row.get::<_, String>("kind") == "a" => {
            return Ok(Form::Unknown("is an aggregate: drop it before, and make it again after"));
        }
        "pg_proc" if !row.get::<_, bool>("is_ours") => return Ok(Form::Unknown(FOREIGN)),
        "pg_proc" if !row.get::<_, bool>("can_create") => return Ok(Form::Unknown(NO_SCHEMA)),
        "pg_proc" => function(&row, is_retyped),
        "pg_policy" => policy(&row),
        "pg_publication_rel" if !row.get::<_, bool>("is_ours") => return Ok(Form::Unknown(FOREIGN)),
        "pg_publication_rel" => publication(&row),
        "pg_trigger" => trigger(client, oid, &row)?,
        "pg_rewrite" => rule(&row),
        "pg_statistic_ext" => statistics(&row),
        "pg_constraint" => check(&row),
        _ if row.get("is_generated") => {
            return Ok(Form::Unknown("is a generated column that reads a function or view to be made again"));
        }
        _ => default(&row),
    };
    Ok(Form::Known(Box::new(known)))
}

/// What nothing else reads, and would be lost.
fn special(
    client: &mut impl GenericClient,
    class: &str,
    oid: Oid,
    row: &Row,
) -> Result<Option<&'static str>, postgres::Error> {
    let of = client.query_one(include_str!("catalog/special.sql"), &[&class, &oid])?;
    let is_temporary = row.get::<_, String>("schema").starts_with("pg_temp");
    Ok([
        (is_temporary, "is temporary: end the session that has it"),
        (of.get("is_member"), "belongs to an extension: ALTER EXTENSION ... DROP it first"),
        (of.get("needs"), "DEPENDS ON EXTENSION, which is not kept: say NO DEPENDS ON EXTENSION first"),
        (of.get("has_label"), "has a security label, which is not kept: SECURITY LABEL ... IS NULL first"),
    ]
    .into_iter()
    .find_map(|(is_so, why)| is_so.then_some(why)))
}

fn table(row: &Row) -> Name {
    Name::new(row.get("schema"), row.get("table"))
}
fn named(row: &Row) -> Name {
    Name::new(row.get("schema"), row.get("name"))
}
fn ident(row: &Row, column: &str) -> Ident {
    Ident(row.get(column))
}
fn text(row: &Row, column: &str) -> Option<Expression> {
    row.get::<_, Option<String>>(column).map(Expression)
}

/// `COMMENT ON`, if there is one.
pub(super) fn comment(kind: &'static str, object: &dyn Part, text: Option<&String>) -> Option<Sql> {
    Some(Sql::new("COMMENT ON {} {} IS {};", &[&kind, object, &Literal(text?.clone())]))
}

/// The same of an object that comes back.
fn commented(kind: &'static str, object: &dyn Part, row: &Row) -> Option<Create> {
    comment(kind, object, row.get::<_, Option<String>>("comment").as_ref()).map(Create::Same)
}

/// A role, or PUBLIC.
fn role(role: Option<&Ident>) -> Sql {
    role.map_or_else(|| sql!("PUBLIC"), |role| sql!("{}", role))
}

/// What the catalogs call a privilege, which is a word of the language.
fn privilege(right: &Right) -> Expression {
    Expression(right.privilege.clone())
}

/// Who may do what with an object: what CREATE and default privileges have granted before goes away.
fn granted(kind: &'static str, object: &dyn Part, row: &Row) -> Vec<Create> {
    let revoked: Vec<Option<String>> = row.get("revoked");
    let revokes = revoked
        .into_iter()
        .map(|to| Sql::new("REVOKE ALL ON {} {} FROM {};", &[&kind, object, &role(to.map(Ident).as_ref())]));
    let grants = rights(row).into_iter().map(|right| {
        let option = if right.with_grant { " WITH GRANT OPTION" } else { "" };
        Sql::new(
            "GRANT {} ON {} {} TO {}{};",
            &[&privilege(&right), &kind, object, &role(right.to.as_ref()), &option],
        )
    });
    revokes.chain(grants).map(Create::Same).collect()
}

/// The comment, rights and statistics of a column, for a column that takes its place.
pub(super) fn of_column(table: &Name, column: &Ident, state: &ColumnState) -> Vec<Sql> {
    let mut all = Vec::new();
    all.extend(comment("COLUMN", &sql!("{}.{}", table, column), state.comment.as_ref()));
    for right in &state.rights {
        let option = if right.with_grant { " WITH GRANT OPTION" } else { "" };
        all.push(sql!(
            "GRANT {} ({}) ON TABLE {} TO {}{};",
            privilege(right),
            column,
            table,
            role(right.to.as_ref()),
            option
        ));
    }
    if state.statistics >= 0 {
        all.push(sql!("ALTER TABLE {} ALTER COLUMN {} SET STATISTICS {};", table, column, state.statistics));
    }
    if let Some(options) = &state.options {
        all.push(sql!(
            "ALTER TABLE {} ALTER COLUMN {} SET ({});",
            table,
            column,
            Expression(options.clone())
        ));
    }
    all
}

/// Why a view could not be made again.
fn view_is_special(row: &Row) -> Option<&'static str> {
    let has_place =
        row.get::<_, bool>("has_special_index") || row.get::<_, Option<String>>("tablespace").is_some();
    [
        (!["v", "m"].contains(&row.get::<_, String>("kind").as_str()), UNKNOWN),
        (!row.get::<_, bool>("is_ours"), FOREIGN),
        (!row.get::<_, bool>("can_create"), NO_SCHEMA),
        (has_place, "has a tablespace of its own, or an index that has one or a statistics target"),
    ]
    .into_iter()
    .find_map(|(is_so, why)| is_so.then_some(why))
}

fn view(client: &mut impl GenericClient, oid: Oid, row: &Row) -> Result<Form, postgres::Error> {
    if let Some(why) = view_is_special(row) {
        return Ok(Form::Unknown(why));
    }
    let kind = row.get::<_, String>("kind");
    let is_materialized = kind == "m";
    let kind = if is_materialized { "MATERIALIZED VIEW" } else { "VIEW" };
    let name = named(row);
    let options = text(row, "options").map(|options| sql!(" WITH ({})", options));
    let no_data = if is_materialized { "\nWITH NO DATA;" } else { ";" };
    let mut create = vec![
        Create::Deparsed(
            sql!("CREATE {} {}{} AS\n", kind, name, options),
            Expression(row.get("definition")),
            sql!("{}", no_data),
        ),
        Create::Same(sql!("ALTER {} {} OWNER TO {};", kind, name, ident(row, "owner"))),
    ];
    create.extend(granted("TABLE", &name, row));
    create.extend(commented(kind, &name, row));
    let mut casts = Casts::default();
    for column in client.query(include_str!("catalog/view_columns.sql"), &[&oid])? {
        let own = ident(&column, "name");
        create.extend(of_column(&name, &own, &column_state(&column)).into_iter().map(Create::Same));
        if let Some(default) = text(&column, "expression") {
            create.push(Create::Same(sql!(
                "ALTER VIEW {} ALTER COLUMN {} SET DEFAULT {};",
                name,
                own,
                default
            )));
        }
        if let Some(base) = column.get("domain_base") {
            casts.domains.push((column.get("shown"), base));
        } else if column.get("is_varchar") {
            casts.varchars.push(column.get("shown"));
        }
    }
    create.extend(view_indexes(row, &name));
    for of in row.get::<_, Vec<Oid>>("triggers") {
        let row = client.query_one(include_str!("catalog/trigger.sql"), &[&of])?;
        create.extend(trigger(client, of, &row)?.create);
    }
    for of in row.get::<_, Vec<Oid>>("rules") {
        create.extend(rule(&client.query_one(include_str!("catalog/rule.sql"), &[&of])?).create);
    }
    for of in row.get::<_, Vec<Oid>>("statistics") {
        create.extend(statistics(&client.query_one(include_str!("catalog/statistics.sql"), &[&of])?).create);
    }
    Ok(Form::Known(Box::new(Known {
        drop: sql!("DROP {} {};", kind, name),
        create,
        later: row.get::<_, bool>("is_populated").then(|| sql!("REFRESH MATERIALIZED VIEW {};", name)),
        name: Some(name),
        is_relation: true,
        is_materialized,
        casts,
        ..Known::default()
    })))
}

fn view_indexes(row: &Row, view: &Name) -> Vec<Create> {
    let definitions: Vec<String> = row.get("indexes");
    let names: Vec<String> = row.get("index_names");
    let comments: Vec<Option<String>> = row.get("index_comments");
    let clustered: Vec<bool> = row.get("clustered");
    let mut create = Vec::new();
    for (n, definition) in definitions.into_iter().enumerate() {
        let name = Ident(names[n].clone());
        create.push(Create::Deparsed(Sql::default(), Expression(definition), sql!(";")));
        if clustered[n] {
            create.push(Create::Same(sql!("ALTER TABLE {} CLUSTER ON {};", view, name)));
        }
        create.extend(comment("INDEX", &view.beside(name), comments[n].as_ref()).map(Create::Same));
    }
    create
}

fn function(row: &Row, is_retyped: bool) -> Known {
    let kind = if row.get::<_, String>("kind") == "p" { "PROCEDURE" } else { "FUNCTION" };
    let signature = Expression(row.get("signature"));
    let mut create = vec![
        Create::Deparsed(Sql::default(), Expression(row.get("definition")), sql!(";")),
        Create::Deparsed(
            sql!("ALTER {} ", kind),
            signature.clone(),
            sql!(" OWNER TO {};", ident(row, "owner")),
        ),
    ];
    // `granted` with the signature, which can change.
    let revoked: Vec<Option<String>> = row.get("revoked");
    for to in revoked {
        create.push(Create::Deparsed(
            sql!("REVOKE ALL ON ROUTINE "),
            signature.clone(),
            sql!(" FROM {};", role(to.map(Ident).as_ref())),
        ));
    }
    for right in rights(row) {
        let option = if right.with_grant { " WITH GRANT OPTION" } else { "" };
        create.push(Create::Deparsed(
            sql!("GRANT {} ON ROUTINE ", privilege(&right)),
            signature.clone(),
            sql!(" TO {}{};", role(right.to.as_ref()), option),
        ));
    }
    if let Some(text) = row.get::<_, Option<String>>("comment") {
        create.push(Create::Deparsed(
            sql!("COMMENT ON {} ", kind),
            signature.clone(),
            sql!(" IS {};", Literal(text)),
        ));
    }
    Known {
        drop: sql!("DROP {} {};", kind, signature),
        create,
        name: Some(named(row)),
        is_retyped,
        ..Known::default()
    }
}

fn policy(row: &Row) -> Known {
    let (name, table) = (ident(row, "name"), table(row));
    let kind = if row.get("is_permissive") { "PERMISSIVE" } else { "RESTRICTIVE" };
    let command = match row.get::<_, String>("command").as_str() {
        "r" => "SELECT",
        "a" => "INSERT",
        "w" => "UPDATE",
        "d" => "DELETE",
        _ => "ALL",
    };
    let roles = row.get::<_, Vec<Option<String>>>("roles");
    let roles = join(roles.into_iter().map(|name| role(name.map(Ident).as_ref())), ", ");
    let head = sql!("CREATE POLICY {} ON {} AS {} FOR {} TO {}", name, table, kind, command, roles);
    let using = text(row, "condition").map(|condition| sql!(" USING ({})", condition));
    let check = text(row, "check").map(|check| sql!(" WITH CHECK ({})", check));
    let on = sql!("{} ON {}", name, table);
    let mut create =
        vec![Create::Deparsed(head, Expression(sql!("{}{}", using, check).to_string()), sql!(";"))];
    create.extend(commented("POLICY", &on, row));
    Known { drop: sql!("DROP POLICY {};", on), create, ..Known::default() }
}

fn publication(row: &Row) -> Known {
    let (name, table) = (ident(row, "name"), table(row));
    let columns = row.get::<_, Vec<String>>("columns");
    let columns = (!columns.is_empty()).then(|| sql!(" ({})", join(columns.into_iter().map(Ident), ", ")));
    let condition = text(row, "condition").map(|condition| sql!(" WHERE ({})", condition));
    let condition = Expression(sql!("{}", condition).to_string());
    let head = sql!("ALTER PUBLICATION {} ADD TABLE {}{}", name, table, columns);
    Known {
        drop: sql!("ALTER PUBLICATION {} DROP TABLE {};", name, table),
        create: vec![Create::Deparsed(head, condition, sql!(";"))],
        ..Known::default()
    }
}

/// How a trigger or a rule of a table comes back if it does not fire as by default.
fn firing(kind: &'static str, table: &Name, name: &Ident, enabled: &str) -> Option<Create> {
    let state = match enabled {
        "D" => "DISABLE",
        "A" => "ENABLE ALWAYS",
        "R" => "ENABLE REPLICA",
        _ => return None,
    };
    Some(Create::Same(sql!("ALTER TABLE {} {} {} {};", table, state, kind, name)))
}

fn trigger(client: &mut impl GenericClient, oid: Oid, row: &Row) -> Result<Known, postgres::Error> {
    let (name, table) = (ident(row, "name"), table(row));
    let on = sql!("{} ON {}", name, table);
    let enabled: String = row.get("enabled");
    let mut create = vec![Create::Deparsed(Sql::default(), Expression(row.get("definition")), sql!(";"))];
    create.extend(firing("TRIGGER", &table, &name, &enabled));
    // Those of partitions, which get that of their table.
    for part in client.query(include_str!("catalog/trigger_parts.sql"), &[&oid])? {
        let (of, state) =
            (Name::new(part.get("schema"), part.get("table")), part.get::<_, String>("enabled"));
        if state != enabled {
            let by_default = sql!("ALTER TABLE {} ENABLE TRIGGER {};", of, name);
            create.push(firing("TRIGGER", &of, &name, &state).unwrap_or(Create::Same(by_default)));
        }
    }
    create.extend(commented("TRIGGER", &on, row));
    Ok(Known { drop: sql!("DROP TRIGGER {};", on), create, ..Known::default() })
}

fn rule(row: &Row) -> Known {
    let (name, table) = (ident(row, "name"), table(row));
    let on = sql!("{} ON {}", name, table);
    let mut create = vec![Create::Deparsed(Sql::default(), Expression(row.get("definition")), sql!(";"))];
    create.extend(firing("RULE", &table, &name, &row.get::<_, String>("enabled")));
    create.extend(commented("RULE", &on, row));
    Known { drop: sql!("DROP RULE {};", on), create, ..Known::default() }
}

fn statistics(row: &Row) -> Known {
    let name = named(row);
    let target: i32 = row.get("target");
    let mut create = vec![
        Create::Deparsed(Sql::default(), Expression(row.get("definition")), sql!(";")),
        Create::Same(sql!("ALTER STATISTICS {} OWNER TO {};", name, ident(row, "owner"))),
    ];
    create.extend(
        (target >= 0).then(|| Create::Same(sql!("ALTER STATISTICS {} SET STATISTICS {};", name, target))),
    );
    create.extend(commented("STATISTICS", &name, row));
    Known { drop: sql!("DROP STATISTICS {};", name), create, ..Known::default() }
}

fn check(row: &Row) -> Known {
    let (name, table) = (ident(row, "name"), table(row));
    let is_validated: bool = row.get("is_validated");
    let on = sql!("{} ON {}", name, table);
    let head = sql!("ALTER TABLE {} ADD CONSTRAINT {} ", table, name);
    let mut create = vec![Create::Deparsed(head, Expression(row.get("definition")), sql!(" NOT VALID;"))];
    create.extend(commented("CONSTRAINT", &on, row));
    Known {
        drop: sql!("ALTER TABLE {} DROP CONSTRAINT {};", table, name),
        create,
        later: is_validated.then(|| sql!("ALTER TABLE {} VALIDATE CONSTRAINT {};", table, name)),
        ..Known::default()
    }
}

fn default(row: &Row) -> Known {
    let (name, table) = (ident(row, "name"), table(row));
    Known {
        drop: sql!("ALTER TABLE {} ALTER COLUMN {} DROP DEFAULT;", table, name),
        create: vec![Create::Deparsed(
            sql!("ALTER TABLE {} ALTER COLUMN {} SET DEFAULT ", table, name),
            Expression(row.get("expression")),
            sql!(";"),
        )],
        ..Known::default()
    }
}

impl Object {
    pub(super) fn known(&self) -> Option<&Known> {
        match &self.form {
            Form::Known(known) => Some(known),
            Form::Unknown(_) => None,
        }
    }
}

impl Known {
    /// The statements that make it again; `changed` says what becomes of what the server has deparsed.
    pub(super) fn creates(&self, changed: impl Fn(&Expression) -> Expression) -> Vec<Sql> {
        let one = |create: &Create| match create {
            Create::Same(sql) => sql.clone(),
            Create::Deparsed(before, definition, after) => sql!("{}{}{}", before, changed(definition), after),
        };
        self.create.iter().map(one).collect()
    }
}
