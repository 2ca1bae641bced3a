//! Comparison: six operators, btree's support function, and the transition functions of `min` and `max`.
//!
//! They run without a guard, since they call nothing of PostgreSQL's and can't panic.

use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::pg::{datum::Argument, fmgr::Args};

/// Both arguments.
///
/// # Safety
/// A call to a function that is declared in SQL with two arguments of this type.
#[inline(always)]
unsafe fn pair<T: Argument>(fcinfo: FunctionCallInfo) -> (T, T) {
    // SAFETY: the call has two arguments of type `T`.
    unsafe {
        let mut args = Args::new(fcinfo);
        (args.next(), args.next())
    }
}

/// Defines functions of two values by their order.
macro_rules! comparisons {
    ($($(#[$attr:meta])* $name:ident: $of_order:expr;)*) => {$(
        $(#[$attr])*
        ///
        /// # Safety
        /// A call to a function that is declared in SQL with two arguments of this type.
        #[inline(always)]
        pub(crate) unsafe fn $name<T: Argument + Ord>(fcinfo: FunctionCallInfo) -> Datum {
            // SAFETY: the call has two arguments of type `T`.
            let (left, right): (T, T) = unsafe { pair(fcinfo) };
            let of_order: fn(std::cmp::Ordering) -> _ = $of_order;
            of_order(left.cmp(&right)).into()
        }
    )*};
}

comparisons! {
    /// `=`
    eq: |order| order.is_eq();
    /// `<>`
    ne: |order| order.is_ne();
    /// `<`
    lt: |order| order.is_lt();
    /// `<=`
    le: |order| order.is_le();
    /// `>`
    gt: |order| order.is_gt();
    /// `>=`
    ge: |order| order.is_ge();
    /// btree's three-way comparison: negative, zero or positive.
    cmp: |order| order as i32;
}

/// Transition function of `max`. It returns one of the two datums, without a copy.
///
/// # Safety
/// A call to a function that is declared in SQL with two arguments of this type.
#[inline(always)]
pub(crate) unsafe fn larger<T: Argument + Ord>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the call has two arguments of type `T`.
    let ((left, right), (first, second)) = unsafe { (pair::<T>(fcinfo), pair::<Datum>(fcinfo)) };
    if left > right { first } else { second }
}

/// Transition function of `min`. It returns one of the two datums, without a copy.
///
/// # Safety
/// A call to a function that is declared in SQL with two arguments of this type.
#[inline(always)]
pub(crate) unsafe fn smaller<T: Argument + Ord>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the call has two arguments of type `T`.
    let ((left, right), (first, second)) = unsafe { (pair::<T>(fcinfo), pair::<Datum>(fcinfo)) };
    if left < right { first } else { second }
}
