//! Comparison: six operators and btree's support function, all by the order of [`Sno`], which is that of
//! the bytes.

use sno_core::Sno;
use sno_glue::{compare, functions};

functions! {
    /// `sno = sno`
    sno_eq: compare::eq::<Sno>;
    /// `sno <> sno`
    sno_ne: compare::ne::<Sno>;
    /// `sno < sno`
    sno_lt: compare::lt::<Sno>;
    /// `sno <= sno`
    sno_le: compare::le::<Sno>;
    /// `sno > sno`
    sno_gt: compare::gt::<Sno>;
    /// `sno >= sno`
    sno_ge: compare::ge::<Sno>;
    /// btree's three-way comparison: negative, zero or positive.
    sno_cmp: compare::cmp::<Sno>;
    /// Transition function of `max(sno)`.
    sno_larger: compare::larger::<Sno>;
    /// Transition function of `min(sno)`.
    sno_smaller: compare::smaller::<Sno>;
}
