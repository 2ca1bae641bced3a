//! Hashing: PostgreSQL's own functions over a type's binary form.
//!
//! Hash indexes and hash partitions are laid out by these values, so they may never change.

use std::ffi::c_int;

use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::{
    fixed::Fixed,
    pg::{fmgr::Args, raw},
};

/// The hash of 32 bits.
///
/// # Safety
/// A call to a function that is declared in SQL with one argument of this type.
#[inline(always)]
pub(crate) unsafe fn hash<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the argument is a `T`, whose bytes are read.
    unsafe {
        let bytes = Args::new(fcinfo).next::<T>().to_bytes();
        raw::hash_bytes(bytes.as_ref().as_ptr(), T::LENGTH as c_int).into()
    }
}

/// The hash of 64 bits, with a seed.
///
/// # Safety
/// A call to a function that is declared in SQL with arguments of this type and of type bigint.
#[inline(always)]
pub(crate) unsafe fn hash_extended<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: the arguments are a `T`, whose bytes are read, and a bigint.
    unsafe {
        let mut args = Args::new(fcinfo);
        let (bytes, seed) = (args.next::<T>().to_bytes(), args.next::<i64>());
        raw::hash_bytes_extended(bytes.as_ref().as_ptr(), T::LENGTH as c_int, seed as u64).into()
    }
}
