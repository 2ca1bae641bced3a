//! The share of a column's rows that satisfy a comparison, by the statistics of `ANALYZE`.
//!
//! PostgreSQL's estimators find the bucket of the histogram that has a value. For types that they can't convert to numbers
//! they assume the middle of the bucket, so they estimate no rows between two bounds in one bucket. With 2 million IDs,
//! one a second, a bucket is 5.5 hours. Here the position of an ID in its bucket is computed.

use std::{ffi::c_int, ptr, slice};

use pgrx::pg_sys::{self, Datum, FmgrInfo, Oid, VariableStatData};
use sno_core::Sno;

use crate::{
    pg::datum::{Argument, Returned},
    sno::planner::comparison::{Comparison, Value},
};

/// PostgreSQL's estimate for one bound of which nothing is known.
pub(crate) const UNKNOWN: f64 = pg_sys::DEFAULT_INEQ_SEL;

/// The share of the rows that satisfy a comparison, computed as in PostgreSQL's `scalarineqsel`.
pub(crate) unsafe fn share(
    root: *mut pg_sys::PlannerInfo,
    column: *mut VariableStatData,
    comparison: Comparison,
    value: Value,
) -> f64 {
    // SAFETY: the planner's own; what is passed to its functions outlives the calls.
    unsafe {
        let column = &mut *column;
        match value {
            Value::Null => 0.0,
            Value::Known(value) if !column.statsTuple.is_null() => {
                let function = pg_sys::get_opcode(comparison.operator);
                let (mut of_common, mut common, mut of_others) = (0.0, 0.0, 0.5);
                if kind(column, pg_sys::STATISTIC_KIND_MCV).is_some() {
                    let mut info = FmgrInfo::default();
                    pg_sys::fmgr_info(function, &mut info);
                    let (constant, bound_last) = (value.as_bytes().as_ptr().into(), comparison.bound_last);
                    let collation = pg_sys::InvalidOid;
                    of_common = pg_sys::mcv_selectivity(
                        column,
                        &mut info,
                        collation,
                        constant,
                        bound_last,
                        &mut common,
                    );
                }
                // Without privileges on the column, a user may see its statistics only through leakproof functions.
                if column.acl_ok || pg_sys::statistic_proc_security_check(column, function) {
                    of_others = share_of_others(root, column, comparison, value, function).unwrap_or(0.5);
                }
                (of_others * (1.0 - nulls(column) - common) + of_common).clamp(0.0, 1.0)
            }
            _ => UNKNOWN,
        }
    }
}

/// The share of the rows that are null.
pub(crate) unsafe fn nulls(column: *const VariableStatData) -> f64 {
    // SAFETY: as above.
    unsafe { if (*column).statsTuple.is_null() { 0.0 } else { f64::from(row(&*column).stanullfrac) } }
}

unsafe fn row(column: &VariableStatData) -> &pg_sys::FormData_pg_statistic {
    // SAFETY: there are statistics; this is their row.
    unsafe { &*pg_sys::GETSTRUCT(column.statsTuple).cast() }
}

/// The slot of a column's statistics that is of this kind.
unsafe fn kind(column: &VariableStatData, kind: u32) -> Option<usize> {
    // SAFETY: there are statistics.
    let row = unsafe { row(column) };
    let kinds = [row.stakind1, row.stakind2, row.stakind3, row.stakind4, row.stakind5];
    kinds.iter().position(|&found| found as u32 == kind)
}

/// The share of the rows whose values are not among the common ones, if there is a histogram.
unsafe fn share_of_others(
    root: *mut pg_sys::PlannerInfo,
    column: &mut VariableStatData,
    comparison: Comparison,
    value: Sno,
    function: Oid,
) -> Option<f64> {
    // SAFETY: as above. The values are those of the statistics, or a copy if they were compressed there; many conditions
    // would make many copies.
    unsafe {
        let stored = histogram(column)?;
        let array = pg_sys::pg_detoast_datum(stored);
        let share = share_in(root, column, comparison, value, function, bounds(array));
        if array != stored {
            pg_sys::pfree(array.cast());
        }
        share
    }
}

/// The same by a histogram of these bounds.
unsafe fn share_in(
    root: *mut pg_sys::PlannerInfo,
    column: &mut VariableStatData,
    comparison: Comparison,
    value: Sno,
    function: Oid,
    histogram: &[Sno],
) -> Option<f64> {
    if histogram.len() < 2 {
        return None;
    }
    let Comparison { upper, inclusive, operator, .. } = comparison;
    let buckets = (histogram.len() - 1) as f64;
    let in_bucket = |below, above| value.distance(below) / Sno::distance(above, below);
    let number = histogram.partition_point(|bound| *bound < value);
    if (2..histogram.len() - 1).contains(&number) {
        let up_to = (number as f64 - 1.0 + in_bucket(histogram[number - 1], histogram[number])) / buckets;
        // That is the share of `<= value`, which `<=` and `>` need. For `<` and `>=` it is less by the share of one value.
        let without = if upper == inclusive {
            0.0
        } else {
            // SAFETY: as above.
            1.0 / unsafe { pg_sys::get_variable_numdistinct(column, &mut false) }
        };
        let up_to = (up_to - without).clamp(0.0, 1.0);
        return Some(if upper { up_to } else { 1.0 - up_to });
    }
    // For the first and the last bucket PostgreSQL looks up the present smallest and largest value in an index. Instead of
    // the operator's function it calls one here, which records the values that the search compares.
    let mut search = Search { comparison, value, nearest: [None; 2] };
    let mut function = FmgrInfo { fn_addr: Some(compare_and_record), fn_oid: function, ..Default::default() };
    function.fn_extra = ptr::from_mut(&mut search).cast();
    // SAFETY: as above.
    let share = unsafe {
        pg_sys::ineq_histogram_selectivity(
            root,
            column,
            operator,
            &mut function,
            !upper,
            inclusive,
            pg_sys::InvalidOid,
            value.as_bytes().as_ptr().into(),
            column.vartype,
        )
    };
    let [Some(below), Some(above)] = search.nearest else { return Some(share) };
    // PostgreSQL has assumed the middle of the bucket.
    let offset = (in_bucket(below, above) - 0.5) / buckets;
    Some((share + if upper { offset } else { -offset }).clamp(0.0, 1.0))
}

/// A search of a histogram, with the nearest values below and above that it has compared.
struct Search {
    comparison: Comparison,
    value: Sno,
    nearest: [Option<Sno>; 2],
}

/// Compares a value of the histogram with the constant, and records it if it is the nearest on its side.
unsafe extern "C-unwind" fn compare_and_record(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: called by the search in `share_of_others`, with its state, a value of the histogram, and the constant.
    let (search, compared) = unsafe {
        let search = &mut *(*(*fcinfo).flinfo).fn_extra.cast::<Search>();
        (search, Sno::from_datum((*(*fcinfo).args.as_ptr()).value))
    };
    let Comparison { upper, inclusive, .. } = search.comparison;
    let holds = if compared == search.value { inclusive } else { (compared < search.value) == upper };
    // In its binary search PostgreSQL goes on to the right of a value if an upper bound holds, or a lower one does not.
    search.nearest[usize::from(holds != upper)] = Some(compared);
    holds.into_datum()
}

/// The array of the bounds of the histogram's buckets, as it is stored. The buckets have the same number of rows each, without
/// the most common values.
unsafe fn histogram(column: &VariableStatData) -> Option<*mut pg_sys::varlena> {
    // SAFETY: there are statistics.
    unsafe {
        let number = kind(column, pg_sys::STATISTIC_KIND_HISTOGRAM)?;
        let values = pg_sys::SysCacheGetAttr(
            pg_sys::SysCacheIdentifier::STATRELATTINH as c_int,
            column.statsTuple,
            (pg_sys::Anum_pg_statistic_stavalues1 as usize + number) as pg_sys::AttrNumber,
            &mut false,
        );
        Some(values.cast_mut_ptr())
    }
}

/// The values of such an array, for as long as it is there.
unsafe fn bounds<'a>(array: *mut pg_sys::varlena) -> &'a [Sno] {
    // SAFETY: an array of one dimension without nulls: a header, the length, the lower bound, and the values without padding,
    // since they are of fixed length and need no alignment.
    unsafe {
        let array = array.cast::<pg_sys::ArrayType>();
        let length = *array.add(1).cast::<c_int>() as usize;
        slice::from_raw_parts(array.add(1).cast::<[c_int; 2]>().add(1).cast(), length)
    }
}
