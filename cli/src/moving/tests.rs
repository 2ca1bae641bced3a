//! The model of schemas that no server has.

use super::catalog::{Catalog, Column, ColumnState, Family, ForeignKey, Index, Relation, Session};
use super::model::{Kind, Model, reach};
use super::sql::{Expression, Ident, Name};
use super::values::{Of, Trigger};
use super::wishes::Wishes;

fn expression(text: &str) -> Expression {
    Expression(text.to_owned())
}

fn relation(oid: u32, name: &str) -> Relation {
    let (name, owner) = (Name::new("public", name), Ident("me".to_owned()));
    Relation { oid, name, kind: "r".to_owned(), root: oid, owner, ..Relation::default() }
}

fn column(rel: u32, attnum: i16, name: &str, family: Family) -> Column {
    let type_name = if family == Family::Text { "text" } else { "bigint" };
    Column {
        rel,
        attnum,
        name: Ident(name.to_owned()),
        shown: name.to_owned(),
        full_type: expression(type_name),
        type_name: expression(type_name),
        cast: Name::new("pg_catalog", type_name),
        family,
        identity: name == "id",
        state: ColumnState { statistics: -1, ..ColumnState::default() },
        ..Column::default()
    }
}

fn primary_key(oid: u32, rel: u32, columns: &[i16]) -> Index {
    Index {
        oid,
        rel,
        name: Name::new("public", "pkey"),
        kind: "i".to_owned(),
        method: "btree".to_owned(),
        is_unique: true,
        is_valid: true,
        constraint: Some((Ident("pkey".to_owned()), "p".to_owned())),
        definition: expression("USING btree (id)"),
        columns: columns.to_vec(),
        keys: columns.to_vec(),
        ..Index::default()
    }
}

fn foreign_key(oid: u32, rel: u32, attnum: i16, to: u32) -> ForeignKey {
    let (name, columns) = (Ident("fkey".to_owned()), vec![attnum]);
    ForeignKey {
        oid,
        rel,
        name,
        columns,
        to,
        to_columns: vec![1],
        is_validated: true,
        ..ForeignKey::default()
    }
}

/// Orders, which replace others; lines, which refer to them; and notes, which do without a foreign key.
fn shop() -> Catalog {
    Catalog {
        relations: vec![relation(1, "orders"), relation(2, "lines"), relation(3, "notes")],
        columns: vec![
            column(1, 1, "id", Family::Integer),
            column(1, 2, "replaces", Family::Integer),
            column(2, 1, "order_id", Family::Integer),
            column(2, 2, "order_sno", Family::Text),
            column(3, 1, "subject", Family::Integer),
            column(3, 2, "kind", Family::Text),
        ],
        foreign_keys: vec![foreign_key(21, 1, 2, 1), foreign_key(22, 2, 1, 1)],
        indexes: vec![primary_key(11, 1, &[1])],
        session: Session {
            user: "me".to_owned(),
            path: vec!["public".to_owned()],
            sno: Some("public".to_owned()),
            ..Session::default()
        },
        ..Catalog::default()
    }
}

fn model(catalog: &Catalog, wishes: &Wishes) -> Model {
    Model::new(catalog, wishes, reach(catalog, wishes), Vec::new())
}

fn refusals(catalog: &Catalog, wishes: &Wishes) -> Vec<&'static str> {
    let model = model(catalog, wishes);
    model.findings.iter().filter(|found| found.kind == Kind::Refused).map(|found| found.what).collect()
}

#[test]
fn what_refers_to_a_key_moves_with_it_under_a_name_that_is_free() {
    let wishes =
        Wishes { references: vec!["notes.subject orders.id kind = 'Order'".to_owned()], ..Wishes::default() };
    let model = model(&shop(), &wishes);
    let moved: Vec<_> = model
        .columns
        .iter()
        .map(|moved| (moved.column.name.0.as_str(), moved.new.0.as_str(), moved.lookups.len()))
        .collect();
    let expected = [
        ("id", "sno", 0),
        ("replaces", "replaces_sno", 1),
        ("order_id", "order_1_sno", 1),
        ("subject", "subject_sno", 1),
    ];
    // `order_sno` is taken.
    assert_eq!(moved.len(), 4);
    assert_eq!((moved[0], moved[1], moved[3]), (expected[0], expected[1], expected[3]));
    assert_ne!(moved[2].1, "order_sno");
    assert!(model.refusals().is_empty(), "{:?}", model.findings);
    let value = |n: usize, of| model.value(&model.columns[n], of, false).0;
    assert_eq!(
        value(1, Of::New),
        "CASE WHEN NEW.\"replaces\" = NEW.\"id\" THEN NEW.\"sno\" ELSE (SELECT k.\"sno\" FROM \"public\".\"orders\" k \
         WHERE k.\"id\" = NEW.\"replaces\") END"
    );
    assert_eq!(
        value(3, Of::Table),
        "CASE WHEN t.\"kind\" = 'Order' THEN (SELECT k.\"sno\" FROM \"public\".\"orders\" k \
         WHERE k.\"id\" = t.\"subject\") END"
    );
    assert!(model.create_trigger(1, Trigger::Generated).is_none());
}

#[test]
fn what_is_not_known_to_be_safe_is_refused() {
    let none = Wishes::default();
    assert_eq!(refusals(&shop(), &none), [""; 0]);
    let mut catalog = shop();
    catalog.indexes = vec![primary_key(11, 1, &[1, 2])];
    catalog.columns[1].family = Family::Other;
    catalog.foreign_keys.clear();
    assert_eq!(refusals(&catalog, &none), ["part of a key"]);
    let mut catalog = shop();
    catalog.relations[1].is_forced = true;
    catalog.relations[1].owner = Ident("other".to_owned());
    assert_eq!(refusals(&catalog, &none), ["forced row security", "other owner"]);
    let mut catalog = shop();
    catalog.columns[2].family = Family::Text;
    assert_eq!(refusals(&catalog, &none), ["reference of another type"]);
    let mut catalog = shop();
    catalog.session.under_way = Some("public".to_owned());
    catalog.indexes[0].special = vec![1];
    assert_eq!(refusals(&catalog, &none), ["another move", "operator class or collation"]);
}
