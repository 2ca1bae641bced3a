//! Comparison: six operators and btree's support function, all by the order of [`Sno`], which is that of
//! the bytes.
//!
//! These run without pgrx's guard, since they call nothing and cannot panic.

use std::cmp::Ordering;

use pgrx::pg_sys;
use sno_core::Sno;

use crate::v1::{Args, finfo};

/// Declares `fn name(sno, sno)` by what it makes of the order of its arguments.
macro_rules! comparison {
    ($($(#[$attr:meta])* $name:ident: $of_order:expr;)*) => {$(
        finfo!($name);
        $(#[$attr])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
            // SAFETY: declared in SQL with two arguments of type sno.
            let (left, right): (Sno, Sno) = unsafe {
                let mut args = Args::new(fcinfo);
                (args.next(), args.next())
            };
            let of_order: fn(Ordering) -> _ = $of_order;
            of_order(left.cmp(&right)).into()
        }
    )*};
}

comparison! {
    /// `sno = sno`
    sno_eq: Ordering::is_eq;
    /// `sno <> sno`
    sno_ne: Ordering::is_ne;
    /// `sno < sno`
    sno_lt: Ordering::is_lt;
    /// `sno <= sno`
    sno_le: Ordering::is_le;
    /// `sno > sno`
    sno_gt: Ordering::is_gt;
    /// `sno >= sno`
    sno_ge: Ordering::is_ge;
    /// btree's three-way comparison: negative, zero or positive.
    sno_cmp: |order| order as i32;
}

/// Declares `fn name(sno, sno)` that returns one of its arguments.
macro_rules! choice {
    ($($(#[$attr:meta])* $name:ident: $first_if:expr;)*) => {$(
        finfo!($name);
        $(#[$attr])*
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
            // SAFETY: declared in SQL with two arguments of type sno. The datums are handed on as they
            // are, without a copy.
            unsafe {
                let mut datums = Args::new(fcinfo);
                let mut values = Args::new(fcinfo);
                let (first, second): (pg_sys::Datum, pg_sys::Datum) = (datums.next(), datums.next());
                let (left, right): (Sno, Sno) = (values.next(), values.next());
                let first_if: fn(Ordering) -> bool = $first_if;
                if first_if(left.cmp(&right)) { first } else { second }
            }
        }
    )*};
}

choice! {
    /// Transition function of `max(sno)`.
    sno_larger: Ordering::is_gt;
    /// Transition function of `min(sno)`.
    sno_smaller: Ordering::is_lt;
}
