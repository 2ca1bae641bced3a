//! Moving keys.

use super::{MOVING, OfFile};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("cli/src/moving/values.rs", &[
        ("who writes a row needs rights on what it refers to while keys move", &[MOVING],
            "RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path", "RETURNS trigger LANGUAGE plpgsql SET search_path"),
    ]),
    ("cli/src/moving/state.rs", &[
        ("what hangs on the tables may change before the switch", &[MOVING],
            "WHERE a.value IS DISTINCT FROM b.value;", "WHERE false;"),
        ("after the switch, references to another row are not counted", &[MOVING],
            "(false, true) => sql!(\"v IS NOT NULL AND t.{} IS DISTINCT FROM v\", target),", "(false, true) => sql!(\"t.{} IS NULL AND false\", target),"),
        ("references that become NULL are not counted", &[MOVING],
            "if !self.dangling_to_null {", "if false {"),
    ]),
    ("cli/src/moving/check.rs", &[
        ("a key that is not unique alone moves", &[MOVING],
            "if model.table(moved).relation.kind == \"r\" && ", "if false && "),
        ("tables of another owner move", &[MOVING],
            "if part.owner.0 != catalog.session.user {", "if false {"),
    ]),
    ("cli/src/moving/steps/private.sql", &[
        ("whoever has default privileges writes the plan", &[MOVING],
            "AND x.grantee <> relowner", "AND false"),
    ]),
    ("cli/src/moving/steps/fill_pages.sql", &[
        ("a page between two batches is not filled", &[MOVING],
            "page := least(page + batch, stop);", "page := least(page + batch + 1, stop);"),
    ]),
];
