//! Sort support: by abbreviated keys of 64 bits, or by the datums themselves for types that are passed by value.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, SortSupport, SortSupportData};
use sno_core::DistinctCounter;

use crate::pg::{
    datum::Argument,
    fmgr::Args,
    // Not pgrx's wrapper, since the address matters: by it PostgreSQL recognizes that its sorts for plain numbers can
    // be used.
    raw::ssup_datum_unsigned_cmp,
};

/// A type of more than 64 bits, whose values have abbreviated keys.
pub trait Abbreviate: Argument + Ord + Copy {
    /// The parameters of the abbreviation.
    type Abbreviation: Copy;

    /// The parameters for a sort whose first input is this value.
    fn anchor(self) -> Self::Abbreviation;

    /// The abbreviated key. If two values have different keys, the smaller value has the smaller key.
    fn key(self, abbreviation: Self::Abbreviation) -> u64;
}

/// The state of a sort by abbreviated keys, which [`abbreviated`] allocates in the sort's memory.
struct Sort<A> {
    /// The parameters, from the first value on.
    abbreviation: Option<A>,
    /// How many keys there were.
    count: u64,
    distinct: DistinctCounter,
    /// Whether more distinct keys need to be counted.
    counting: bool,
}

/// Sort support with abbreviated keys.
pub unsafe fn abbreviated<T: Abbreviate>(fcinfo: FunctionCallInfo) -> Datum {
    pgrx::pgrx_extern_c_guard(|| {
        let ssup = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SortSupportData>();
        ssup.comparator = Some(compare::<T>);
        if ssup.abbreviate {
            let size = size_of::<Sort<T::Abbreviation>>();
            let sort = pg_sys::MemoryContextAlloc(ssup.ssup_cxt, size).cast::<Sort<T::Abbreviation>>();
            sort.write(Sort {
                abbreviation: None,
                count: 0,
                distinct: DistinctCounter::new(),
                counting: true,
            });
            ssup.ssup_extra = sort.cast::<c_void>();
            ssup.comparator = Some(ssup_datum_unsigned_cmp);
            ssup.abbrev_converter = Some(abbreviate::<T>);
            ssup.abbrev_abort = Some(abort_abbreviation::<T>);
            ssup.abbrev_full_comparator = Some(compare::<T>);
        }
    });
    Datum::null()
}

/// Sort support of a type that is one unsigned number, by value.
pub unsafe fn unsigned(fcinfo: FunctionCallInfo) -> Datum {
    let ssup = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SortSupportData>();
    (*ssup).comparator = Some(ssup_datum_unsigned_cmp);
    Datum::null()
}

unsafe extern "C-unwind" fn compare<T: Abbreviate>(x: Datum, y: Datum, _: SortSupport) -> c_int {
    T::from_datum(x).cmp(&T::from_datum(y)) as c_int
}

unsafe extern "C-unwind" fn abbreviate<T: Abbreviate>(original: Datum, ssup: SortSupport) -> Datum {
    let (value, sort) = (T::from_datum(original), &mut *(*ssup).ssup_extra.cast::<Sort<T::Abbreviation>>());
    let number = value.key(*sort.abbreviation.get_or_insert_with(|| value.anchor()));
    sort.count += 1;
    if sort.counting {
        sort.counting = sort.distinct.add(number);
    }
    Datum::from(number)
}

/// Whether to sort without abbreviated keys, since nearly all are equal: fewer than one distinct key in 2000,
/// PostgreSQL's limit for `uuid`. This does not happen with unique IDs, but with references to few rows.
unsafe extern "C-unwind" fn abort_abbreviation<T: Abbreviate>(in_memory: c_int, ssup: SortSupport) -> bool {
    let sort = &*(*ssup).ssup_extra.cast::<Sort<T::Abbreviation>>();
    let distinct = u64::from(sort.distinct.at_least());
    let abort = in_memory >= 10_000 && sort.counting && distinct < sort.count / 2000 + 1;
    // As PostgreSQL's types do.
    if abort && pg_sys::trace_sort {
        pgrx::pgrx_extern_c_guard(|| {
            pgrx::log!("aborting abbreviation: {distinct} distinct keys of {}", sort.count)
        });
    }
    abort
}
