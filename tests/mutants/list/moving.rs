//! Moving keys.

use super::{MOVING, OfFile};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("cli/src/moving/values.rs", &[
        ("strings in triggers are read by the settings of the session", &[MOVING],
            "body.as_str().contains('\\\\').then", "false.then"),
        ("functions of the names of triggers are dropped", &[MOVING],
            "if self.assignments(table, trigger).is_empty() {", "if false {"),
    ]),
    ("cli/src/moving/state.rs", &[
        ("what hangs on the tables may change before the switch", &[MOVING],
            "WHERE a.value IS DISTINCT FROM b.value;", "WHERE false;"),
        ("rights that are revoked before the switch come back", &[MOVING],
            "a FULL JOIN", "a LEFT JOIN"),
        ("after the switch, references to another row are not counted", &[MOVING],
            "(false, true) => sql!(\"v.v IS NOT NULL AND t.{} IS DISTINCT FROM v.v\", target),", "(false, true) => sql!(\"t.{} IS NULL AND false\", target),"),
        ("references that become NULL are not counted", &[MOVING],
            "if !self.dangling_to_null {", "if false {"),
        ("references to rows that were replaced while the switch verified are lost", &[MOVING],
            "let mut exchanged = Self { value: None, ..self.clone() };", "let mut exchanged = Self { columns: Vec::new(), value: None, ..self.clone() };"),
        ("an undo makes a function again that was changed after the switch", &[MOVING],
            "NOT SIMILAR TO 'until the switch, (column|what) %'", "NOT LIKE 'until the switch%'"),
        ("an undo loses references that were written after the switch", &[MOVING],
            "if before == Before::Undo { (new, old) }", "if false { (new, old) }"),
    ]),
    ("cli/src/moving/catalog/findings/columns.sql", &[
        ("a key that is not unique alone moves", &[MOVING],
            "WHERE is_key AND relkind = 'r'", "WHERE false AND relkind = 'r'"),
    ]),
    ("cli/src/moving/catalog/findings/triggers.sql", &[
        ("triggers may change a row after those of the steps", &[MOVING],
            "AND tgtype & 3 = 3", "AND false"),
    ]),
    ("cli/src/moving/catalog/findings/rights.sql", &[
        ("tables of another owner move", &[MOVING],
            "WHERE owner <> current_user", "WHERE false"),
        ("functions of others run as superuser", &[MOVING],
            "WHERE NOT prosecdef AND NOT f.rolsuper", "WHERE false AND NOT f.rolsuper"),
    ]),
    ("cli/src/moving/catalog/dependants.sql", &[
        ("code of other roles runs while the switch makes their views again", &[MOVING],
            "WHERE NOT rolsuper AND rolname <> current_user AND (", "WHERE false AND ("),
    ]),
    ("cli/src/moving/catalog/policy.sql", &[
        ("the name of a policy is a part of a statement", &[MOVING],
            "CREATE POLICY %I ON", "CREATE POLICY %s ON"),
    ]),
    ("cli/src/moving/steps/state.sql", &[
        ("what uses keys may change before the switch", &[MOVING],
            "AND refobjid = attrelid AND refobjsubid = attnum AND deptype = 'n'", "AND false"),
    ]),
    ("cli/src/moving/steps.rs", &[
        ("a column of others is taken for the switch", &[MOVING],
            "sql!(\"({} AND NOT {})\"", "sql!(\"({} OR false AND {})\""),
        ("who may write to all tables says what the steps are", &[MOVING],
            "ALTER TABLE {} ENABLE ROW", "ALTER TABLE {} DISABLE ROW"),
        ("what another role has is a step that was done", &[MOVING],
            "AND pg_get_userbyid(relowner) = current_user)", ")"),
        ("a reference to a later row is lost by an undo", &[MOVING],
            "!(moved.is_key || moved.column.is_generated || moved.column.is_array)", "moved.is_key && moved.column.is_array"),
    ]),
    ("cli/src/moving/steps/fill_keys.sql", &[
        ("the search_path of triggers is that of the steps", &[MOVING],
            "SET LOCAL search_path = pg_catalog, pg_temp;", "NULL;"),
    ]),
    ("cli/src/moving/catalog/function.sql", &[
        ("a function takes the place of another one", &[MOVING],
            "'^CREATE OR REPLACE '", "'^CREATED OR REPLACED '"),
        ("all may call a function that is made again", &[MOVING],
            "UNION SELECT proowner UNION SELECT 0) g", "UNION SELECT proowner) g"),
        ("default privileges give a right to a function that is made again", &[MOVING],
            "WHERE defaclobjtype = 'f' UNION", "WHERE defaclobjtype = 'f' AND false UNION"),
    ]),
    ("cli/src/moving/catalog/trigger.sql", &[
        ("the name of a trigger is a part of a statement", &[MOVING],
            "ALTER TABLE %s %s TRIGGER %I;", "ALTER TABLE %s %s TRIGGER %s;"),
    ]),
    ("cli/src/moving/mod.rs", &[
        ("dates are shown by the settings of the session", &[MOVING],
            "SET datestyle = iso;\n", ""),
    ]),
    ("cli/src/moving/catalog/plan.sql", &[
        ("the plan of another role is run", &[MOVING],
            "AND pg_get_userbyid(relowner) = current_user", ""),
    ]),
    ("cli/src/moving/sql.rs", &[
        ("a terminal obeys the names of others", &[MOVING],
            "|c: char| c.is_control() || ", "|c: char| "),
    ]),
    ("cli/src/moving/steps/private.sql", &[
        ("whoever has default privileges writes the plan", &[MOVING],
            "AND x.grantee <> relowner", "AND false"),
        ("the name of a role is a part of a statement", &[MOVING],
            "ELSE quote_ident(pg_get_userbyid(x.grantee)) END", "ELSE pg_get_userbyid(x.grantee) END"),
    ]),
    ("cli/src/moving/steps/fill_pages.sql", &[
        ("a page between two batches is not filled", &[MOVING],
            "page := least(page + batch, stop);", "page := least(page + batch + 1, stop);"),
    ]),
];
