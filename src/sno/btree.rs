//! Support functions of btree: `in_range` for window functions, and skip support.

use pgrx::pg_sys::{self, Datum};
use sno_core::Sno;

use crate::pg::{datum::Timestamp, fmgr::pg_function, raw::in_range_timestamptz_interval};

pg_function! {
    /// `sno_in_range(sno, sno, interval, boolean, boolean) → boolean`: the function of `timestamptz`, for the times of
    /// IDs.
    fn sno_in_range(value: Sno, base: Sno, offset: Datum, sub: Datum, less: Datum) -> Datum {
        let [value, base] = [value, base].map(|id| Timestamp::from(id.tick()).0.into());
        // SAFETY: the arguments that it takes.
        unsafe {
            pg_sys::DirectFunctionCall5Coll(
                Some(in_range_timestamptz_interval),
                pg_sys::InvalidOid,
                value,
                base,
                offset,
                sub,
                less,
            )
        }
    }
}

/// Skip scans came with PostgreSQL 18.
#[cfg(feature = "pg18")]
mod skip {
    use pgrx::pg_sys::{Datum, FunctionCallInfo, Relation};
    use sno_core::Sno;

    use crate::pg::{
        datum::{Argument as _, Returned as _},
        fmgr::{Args, functions},
    };

    /// PostgreSQL's `SkipSupportData`, which pgrx does not bind.
    #[repr(C)]
    struct SkipSupport {
        low: Datum,
        high: Datum,
        decrement: unsafe extern "C-unwind" fn(Relation, Datum, *mut bool) -> Datum,
        increment: unsafe extern "C-unwind" fn(Relation, Datum, *mut bool) -> Datum,
    }

    functions! {
        /// `sno_skipsupport(internal) → void`
        sno_skipsupport: fill;
    }

    unsafe fn fill(fcinfo: FunctionCallInfo) -> Datum {
        // SAFETY: PostgreSQL passes this struct to fill. No frame above has anything to drop.
        unsafe {
            let place = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SkipSupport>();
            let (low, high) = (Sno::MIN.into_datum(), Sno::MAX.into_datum());
            place.write(SkipSupport { low, high, decrement, increment });
        }
        Datum::null()
    }

    unsafe extern "C-unwind" fn decrement(_: Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: the element is a sno, and the flag is to be written.
        unsafe { neighbour(Sno::from_datum(id).predecessor(), overflow) }
    }

    unsafe extern "C-unwind" fn increment(_: Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: the element is a sno, and the flag is to be written.
        unsafe { neighbour(Sno::from_datum(id).successor(), overflow) }
    }

    unsafe fn neighbour(id: Option<Sno>, overflow: *mut bool) -> Datum {
        // SAFETY: the caller's flag. No frame above has anything to drop.
        unsafe {
            *overflow = id.is_none();
            id.map_or(Datum::null(), |id| id.into_datum())
        }
    }
}
