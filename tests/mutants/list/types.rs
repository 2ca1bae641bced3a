//! Types: hashes and sorts.

use super::{INDEXES, OfFile, REGRESS};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("shared/src/fixed_length/hash.rs", &[
        ("the hash has another seed", &[REGRESS],
            "T::LENGTH as c_int, seed as u64)", "T::LENGTH as c_int, seed as u64 ^ 1)"),
    ]),
    ("shared/src/fixed_length/sort.rs", &[
        ("abbreviated keys have 4 bytes", &[INDEXES],
            "    let number = value.key(*sort.abbreviation.get_or_insert_with(|| value.anchor()));",
            "    let number = value.key(*sort.abbreviation.get_or_insert_with(|| value.anchor())) >> 32 << 32;"),
        ("abbreviated keys are always given up", &[INDEXES],
            "in_memory >= 10_000 && sort.counting && distinct < sort.count / 2000 + 1;", "in_memory >= 10_000 && distinct <= sort.count;"),
    ]),
];
