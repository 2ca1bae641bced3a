//! Support functions of btree: `in_range` for window functions, and skip support.

use pgrx::pg_sys::{self, Datum};
use sno_core::Sno;

use crate::pg::{
    datum::Timestamp,
    fmgr::{Args, finfo},
};

unsafe extern "C-unwind" {
    // Not pgrx's wrapper, since its address is passed on.
    fn in_range_timestamptz_interval(fcinfo: pg_sys::FunctionCallInfo) -> Datum;
}

finfo!(sno_in_range);
/// `sno_in_range(sno, sno, interval, boolean, boolean) → boolean`: the function of `timestamptz`, for the times of IDs.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_in_range(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL with these arguments, of which the last three are passed on as they are.
    unsafe {
        let mut args = Args::new(fcinfo);
        let [value, base] = [args.next::<Sno>(), args.next()].map(|id| Timestamp::from(id.tick()).0.into());
        pg_sys::DirectFunctionCall5Coll(
            Some(in_range_timestamptz_interval),
            pg_sys::InvalidOid,
            value,
            base,
            args.next(),
            args.next(),
            args.next(),
        )
    }
}

/// Skip scans came with PostgreSQL 18.
#[cfg(feature = "pg18")]
mod skip {
    use super::*;
    use crate::pg::datum::{Argument, Returned};

    /// PostgreSQL's `SkipSupportData`, which pgrx does not bind.
    #[repr(C)]
    struct SkipSupport {
        low: Datum,
        high: Datum,
        decrement: unsafe extern "C-unwind" fn(pg_sys::Relation, Datum, *mut bool) -> Datum,
        increment: unsafe extern "C-unwind" fn(pg_sys::Relation, Datum, *mut bool) -> Datum,
    }

    finfo!(sno_skipsupport);
    /// `sno_skipsupport(internal) → void`
    #[unsafe(no_mangle)]
    unsafe extern "C-unwind" fn sno_skipsupport(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
        // SAFETY: PostgreSQL passes this struct to fill. This is the outermost frame.
        unsafe {
            let place = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SkipSupport>();
            place.write(SkipSupport {
                low: Sno::MIN.into_datum_unguarded(),
                high: Sno::MAX.into_datum_unguarded(),
                decrement,
                increment,
            });
        }
        Datum::null()
    }

    unsafe extern "C-unwind" fn decrement(_: pg_sys::Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: the element is a sno, and the flag is to be written.
        unsafe { neighbour(Sno::from_datum(id).predecessor(), overflow) }
    }

    unsafe extern "C-unwind" fn increment(_: pg_sys::Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: as in `decrement`.
        unsafe { neighbour(Sno::from_datum(id).successor(), overflow) }
    }

    unsafe fn neighbour(id: Option<Sno>, overflow: *mut bool) -> Datum {
        // SAFETY: the caller's flag. This is called only in the outermost frame.
        unsafe {
            *overflow = id.is_none();
            id.map_or(Datum::null(), |id| id.into_datum_unguarded())
        }
    }
}
