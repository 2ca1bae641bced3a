//! Functions of all types of fixed length.
//!
//! # Safety
//!
//! PostgreSQL calls the unsafe functions, as the functions that `type_functions!` declares, with the arguments of their
//! SQL declarations in `sql/sno/type.sql`. So the arguments are of these types, and no frame above has anything to
//! drop.

#![allow(unsafe_op_in_unsafe_fn, reason = "their bodies follow the rule above")]

pub mod compare;
pub mod hash;
pub mod io;
pub mod sort;

use sno_core::FixedLength;

use crate::pg::{
    datum::{Argument, Returned},
    errors::{Error, sentence},
};

/// A type of fixed length, as PostgreSQL reads it.
pub trait Fixed: FixedLength + Argument + Returned {
    /// The length of the binary form in bytes. The binary form is also what is hashed.
    const LENGTH: usize = size_of::<Self::Bytes>();

    /// The value of a text. It is called outside the guard and may not panic, and nor may [`FixedLength::from_bytes`].
    #[inline(always)]
    fn input(text: &[u8]) -> Result<Self, Self::Error> {
        Self::parse_bytes(text)
    }

    /// The value of its bytes. The error is `None` if their number is wrong. It is called outside the guard, too.
    #[inline(always)]
    fn of_bytes(bytes: &[u8]) -> Result<Self, Option<Self::Error>> {
        Self::from_bytes(Self::Bytes::try_from(bytes).map_err(|_| None)?).map_err(Some)
    }

    /// The value of a binary message, likewise.
    #[inline(always)]
    fn receive(message: &[u8]) -> Result<Self, Option<Self::Error>> {
        Self::of_bytes(message)
    }

    /// The error of a text that is not a value.
    fn invalid(text: &[u8], error: Self::Error) -> Error {
        Error::syntax(Self::NAME, text, sentence(error))
    }
}

/// Declares the functions that every type of fixed length has, for whoever looks for one by its name: `sno_in`,
/// `sno_out`, `sno_recv`, `sno_send`, `sno_eq`, `sno_ne`, `sno_lt`, `sno_le`, `sno_gt`, `sno_ge`, `sno_cmp`,
/// `sno_larger`, `sno_smaller`, `sno_sortsupport`, `sno_hash`, `sno_hash_extended`, `sno_to_bytea`, `sno_from_bytea`;
/// and those of `uid60`, `uniqueid` and `gid`, which begin with their names.
///
/// ```text
/// type_functions!(Uid60, "uid60", sort::unsigned);
/// ```
#[macro_export]
macro_rules! type_functions {
    ($type:ty, $name:literal, $sort_support:expr) => {
        $crate::fixed_length::type_functions! { @ $name
            input "_in": $crate::fixed_length::io::input::<$type>;
            output "_out": $crate::fixed_length::io::output::<$type>;
            receive "_recv": $crate::fixed_length::io::receive::<$type>;
            send "_send": $crate::fixed_length::io::send::<$type>;
            eq "_eq": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, std::cmp::Ordering::is_eq);
            ne "_ne": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, std::cmp::Ordering::is_ne);
            lt "_lt": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, std::cmp::Ordering::is_lt);
            le "_le": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, std::cmp::Ordering::is_le);
            gt "_gt": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, std::cmp::Ordering::is_gt);
            ge "_ge": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, std::cmp::Ordering::is_ge);
            cmp "_cmp": |call| $crate::fixed_length::compare::by_order::<$type, _>(call, |order| order as i32);
            larger "_larger": |call| $crate::fixed_length::compare::choose::<$type>(call, std::cmp::Ordering::is_gt);
            smaller "_smaller": |call| $crate::fixed_length::compare::choose::<$type>(call, std::cmp::Ordering::is_lt);
            sortsupport "_sortsupport": $sort_support;
            hash "_hash": $crate::fixed_length::hash::hash::<$type>;
            hash_extended "_hash_extended": $crate::fixed_length::hash::hash_extended::<$type>;
            to_bytea "_to_bytea": $crate::fixed_length::io::send::<$type>;
            from_bytea "_from_bytea": $crate::fixed_length::io::from_bytea::<$type>;
        }
    };
    (@ $name:literal $($function:ident $suffix:literal: $body:expr;)*) => {$(
        $crate::pg::fmgr::finfo!(@ $name, $suffix);
        #[unsafe(export_name = concat!($name, $suffix))]
        pub(crate) unsafe extern "C-unwind" fn $function(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL's call, with the arguments of the SQL declaration, is passed on unchanged.
            unsafe { $body(fcinfo) }
        }
    )*};
}

pub use type_functions;
