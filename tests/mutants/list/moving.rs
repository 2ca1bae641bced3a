//! Moving keys.

use super::{MOVING, OfFile};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("sql/moving/3_columns.sql", &[
        ("who writes a row needs rights on what it refers to while keys move", &[MOVING],
            "RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path", "RETURNS trigger LANGUAGE plpgsql SET search_path"),
    ]),
    ("sql/moving/5_steps.sql", &[
        ("rows without a new key do not end step 4", &[MOVING],
            "    DO $left$BEGIN RAISE EXCEPTION 'rows are left: run step 2 again'; END$left$;", "    \\echo 'rows are left'"),
        ("rows of one time keep the key that they share", &[MOVING],
            "IF born IS NOT NULL AND opt.value IS NULL AND value <> '' THEN", "IF false THEN"),
        ("a page between two batches is not filled", &[MOVING],
            "page := least(page + batch, stop);", "page := least(page + batch + 1, stop);"),
    ]),
];
