//! Comparison: six operators, btree's support function, and the transition functions of `min` and `max`.
//!
//! They run without a guard, since they call nothing of PostgreSQL's and can't panic.

use std::cmp::Ordering;

use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::pg::{
    datum::{Argument, ByValue},
    fmgr::Args,
};

/// Both arguments.
#[inline(always)]
unsafe fn pair<T: Argument>(fcinfo: FunctionCallInfo) -> (T, T) {
    let mut args = Args::new(fcinfo);
    (args.next(), args.next())
}

/// What an operator, or btree's three-way comparison, makes of the order of the arguments.
#[inline(always)]
pub unsafe fn by_order<T: Argument + Ord, R: ByValue>(
    fcinfo: FunctionCallInfo,
    of: impl FnOnce(Ordering) -> R,
) -> Datum {
    let (left, right): (T, T) = pair(fcinfo);
    of(left.cmp(&right)).datum()
}

/// The first argument if the order is such, otherwise the second, without a copy: for `min` and `max`.
#[inline(always)]
pub unsafe fn choose<T: Argument + Ord>(
    fcinfo: FunctionCallInfo,
    is_first: impl FnOnce(Ordering) -> bool,
) -> Datum {
    let ((left, right), (first, second)) = (pair::<T>(fcinfo), pair::<Datum>(fcinfo));
    if is_first(left.cmp(&right)) { first } else { second }
}
