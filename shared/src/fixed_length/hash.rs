//! Hashing: PostgreSQL's own functions over a type's binary form.
//!
//! Hash indexes and hash partitions are laid out by these values, so they may never change.

use std::ffi::c_int;

use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::{
    fixed_length::Fixed,
    pg::{fmgr::Args, raw},
};

/// The hash of 32 bits.
#[inline(always)]
pub unsafe fn hash<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    let bytes = Args::new(fcinfo).next::<T>().to_bytes();
    raw::hash_bytes(bytes.as_ref().as_ptr(), T::LENGTH as c_int).into()
}

/// The hash of 64 bits, with a seed.
#[inline(always)]
pub unsafe fn hash_extended<T: Fixed>(fcinfo: FunctionCallInfo) -> Datum {
    let mut args = Args::new(fcinfo);
    let (bytes, seed) = (args.next::<T>().to_bytes(), args.next::<i64>());
    raw::hash_bytes_extended(bytes.as_ref().as_ptr(), T::LENGTH as c_int, seed as u64).into()
}
