//! Hashing: PostgreSQL's own functions over the ten bytes.
//!
//! Hash indexes and hash partitions are laid out by these values, so they may never change.

use std::ffi::c_int;

use pgrx::pg_sys;
use sno_core::Sno;

use crate::v1::{Args, finfo};

unsafe extern "C" {
    // Pure functions of PostgreSQL's common library, which pgrx does not bind.
    fn hash_bytes(bytes: *const u8, length: c_int) -> u32;
    fn hash_bytes_extended(bytes: *const u8, length: c_int, seed: u64) -> u64;
}

finfo!(sno_hash);
/// `sno_hash(sno) → integer`
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_hash(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL with one argument of type sno; ten bytes are read.
    unsafe {
        let id: Sno = Args::new(fcinfo).next();
        hash_bytes(id.as_bytes().as_ptr(), 10).into()
    }
}

finfo!(sno_hash_extended);
/// `sno_hash_extended(sno, bigint) → bigint`
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sno_hash_extended(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: declared in SQL with arguments of types sno and bigint; ten bytes are read.
    unsafe {
        let mut args = Args::new(fcinfo);
        let (id, seed): (Sno, i64) = (args.next(), args.next());
        hash_bytes_extended(id.as_bytes().as_ptr(), 10, seed as u64).into()
    }
}
