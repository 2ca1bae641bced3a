//! Sorts of types of fixed length: by abbreviated keys of 64 bits, or by the datums themselves where those are
//! the numbers that sort.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, SortSupport, SortSupportData};
use sno_core::Variety;

use crate::pg::{datum::Argument, fmgr::Args};

unsafe extern "C-unwind" {
    // Without pgrx's wrapper, since it is passed on by its address: by that PostgreSQL knows that its sorts
    // for plain numbers can be used.
    fn ssup_datum_unsigned_cmp(x: Datum, y: Datum, ssup: SortSupport) -> c_int;
}

/// A type of more than 64 bits, and what it is abbreviated to.
pub(crate) trait Abbreviate: Argument + Ord + Copy {
    /// What abbreviation goes by, made around the first value.
    type By: Copy;

    /// For a sort that this value comes first in.
    fn around(self) -> Self::By;

    /// The abbreviated key: of two values with different keys, the smaller has the smaller.
    fn key(self, by: Self::By) -> u64;
}

/// What a sort by abbreviated keys keeps.
struct Sort<B> {
    /// Made around the first value.
    by: Option<B>,
    count: u64,
    variety: Variety,
    counting: bool,
}

/// Sort support with abbreviated keys.
///
/// # Safety
/// A call to a sort support function of this type.
pub(crate) unsafe fn abbreviated<T: Abbreviate>(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passes what the functions below are to be written to; the state lives as long.
    unsafe {
        pgrx::pgrx_extern_c_guard(|| {
            let ssup = &mut *Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SortSupportData>();
            ssup.comparator = Some(compare::<T>);
            if ssup.abbreviate {
                let size = size_of::<Sort<T::By>>();
                let sort = pg_sys::MemoryContextAlloc(ssup.ssup_cxt, size).cast::<Sort<T::By>>();
                sort.write(Sort { by: None, count: 0, variety: Variety::new(), counting: true });
                ssup.ssup_extra = sort.cast::<c_void>();
                ssup.comparator = Some(ssup_datum_unsigned_cmp);
                ssup.abbrev_converter = Some(abbreviate::<T>);
                ssup.abbrev_abort = Some(give_up::<T>);
                ssup.abbrev_full_comparator = Some(compare::<T>);
            }
        });
    }
    Datum::null()
}

/// Sort support of a type that is one unsigned number, by value.
///
/// # Safety
/// A call to a sort support function of such a type.
pub(crate) unsafe fn unsigned(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: PostgreSQL passes what the comparison is to be written to.
    unsafe {
        let ssup = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SortSupportData>();
        (*ssup).comparator = Some(ssup_datum_unsigned_cmp);
    }
    Datum::null()
}

unsafe extern "C-unwind" fn compare<T: Abbreviate>(x: Datum, y: Datum, _: SortSupport) -> c_int {
    // SAFETY: a sort of this type.
    unsafe { T::from_datum(x).cmp(&T::from_datum(y)) as c_int }
}

unsafe extern "C-unwind" fn abbreviate<T: Abbreviate>(original: Datum, ssup: SortSupport) -> Datum {
    // SAFETY: a sort of this type, with the state that `abbreviated` gave it.
    let (value, sort) = unsafe { (T::from_datum(original), &mut *(*ssup).ssup_extra.cast::<Sort<T::By>>()) };
    let number = value.key(*sort.by.get_or_insert_with(|| value.around()));
    sort.count += 1;
    if sort.counting {
        sort.counting = sort.variety.add(number);
    }
    Datum::from(number)
}

/// Whether keys of which nearly all are equal make abbreviation a waste: fewer than one different key in
/// 2000, as for `uuid`. Unique IDs are far from that, whatever their times; references to few rows are not.
unsafe extern "C-unwind" fn give_up<T: Abbreviate>(in_memory: c_int, ssup: SortSupport) -> bool {
    // SAFETY: as in `abbreviate`.
    let sort = unsafe { &*(*ssup).ssup_extra.cast::<Sort<T::By>>() };
    in_memory >= 10_000 && sort.counting && u64::from(sort.variety.at_least()) < sort.count / 2000 + 1
}
