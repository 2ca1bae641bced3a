//! What btree and sorts ask of a type beside its comparison: a faster one, ranges of a window function, and
//! neighbours for skip scans.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, Datum, SortSupport};
use sno_core::{Abbreviation, Sno, Variety};

use crate::v1::{Args, Argument, Timestamp, finfo};

unsafe extern "C-unwind" {
    // Both without pgrx's wrappers, since they are passed on by their addresses.
    fn in_range_timestamptz_interval(fcinfo: pg_sys::FunctionCallInfo) -> Datum;
    // By this address PostgreSQL knows that its sorts for plain numbers can be used.
    fn ssup_datum_unsigned_cmp(x: Datum, y: Datum, ssup: SortSupport) -> c_int;
}

/// What a sort by abbreviated keys keeps.
struct Sort {
    /// Made around the first ID.
    abbreviation: Option<Abbreviation>,
    count: u64,
    variety: Variety,
    counting: bool,
}

finfo!(sno_sortsupport);
/// `sno_sortsupport(internal) → void`
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_sortsupport(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passes what the functions below are to be written to; the state lives as long.
    unsafe {
        let ssup = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::SortSupportData>();
        ssup.comparator = Some(compare);
        if ssup.abbreviate {
            let sort = pg_sys::MemoryContextAlloc(ssup.ssup_cxt, size_of::<Sort>()).cast::<Sort>();
            sort.write(Sort { abbreviation: None, count: 0, variety: Variety::new(), counting: true });
            ssup.ssup_extra = sort.cast::<c_void>();
            ssup.comparator = Some(ssup_datum_unsigned_cmp);
            ssup.abbrev_converter = Some(abbreviate);
            ssup.abbrev_abort = Some(give_up);
            ssup.abbrev_full_comparator = Some(compare);
        }
    }
    Datum::null()
}

unsafe extern "C-unwind" fn compare(x: Datum, y: Datum, _: SortSupport) -> c_int {
    // SAFETY: a sort of type sno.
    unsafe { Sno::from_datum(x).cmp(&Sno::from_datum(y)) as c_int }
}

unsafe extern "C-unwind" fn abbreviate(original: Datum, ssup: SortSupport) -> Datum {
    // SAFETY: a sort of type sno, with the state that `sno_sortsupport` gave it.
    let (id, sort) = unsafe { (Sno::from_datum(original), &mut *(*ssup).ssup_extra.cast::<Sort>()) };
    let number = sort.abbreviation.get_or_insert_with(|| Abbreviation::around(id)).of(id);
    sort.count += 1;
    if sort.counting {
        sort.counting = sort.variety.add(number);
    }
    Datum::from(number)
}

/// Whether keys of which nearly all are equal make abbreviation a waste: fewer than one different key in
/// 2000, as for `uuid`. Unique IDs are far from that, whatever their times; references to few rows are not.
unsafe extern "C-unwind" fn give_up(in_memory: c_int, ssup: SortSupport) -> bool {
    // SAFETY: as in `abbreviate`.
    let sort = unsafe { &*(*ssup).ssup_extra.cast::<Sort>() };
    in_memory >= 10_000 && sort.counting && u64::from(sort.variety.at_least()) < sort.count / 2000 + 1
}

finfo!(sno_in_range);
/// `sno_in_range(sno, sno, interval, boolean, boolean) → boolean`: `timestamptz`'s, on the times of the IDs.
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
    use crate::v1::Returned;

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
        // SAFETY: PostgreSQL passes such a struct to be filled.
        unsafe {
            let place = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SkipSupport>();
            place.write(SkipSupport {
                low: Sno::MIN.into_datum(),
                high: Sno::MAX.into_datum(),
                decrement,
                increment,
            });
        }
        Datum::null()
    }

    unsafe extern "C-unwind" fn decrement(_: pg_sys::Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: the element is a sno, and the flag is there to be written.
        unsafe { neighbour(Sno::from_datum(id).predecessor(), overflow) }
    }

    unsafe extern "C-unwind" fn increment(_: pg_sys::Relation, id: Datum, overflow: *mut bool) -> Datum {
        // SAFETY: as in `decrement`.
        unsafe { neighbour(Sno::from_datum(id).successor(), overflow) }
    }

    unsafe fn neighbour(id: Option<Sno>, overflow: *mut bool) -> Datum {
        // SAFETY: the caller's flag.
        unsafe { *overflow = id.is_none() };
        id.map_or(Datum::null(), Sno::into_datum)
    }
}
