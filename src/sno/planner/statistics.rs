//! The share of a column's rows that satisfy a comparison, by the statistics that `ANALYZE` made.
//!
//! PostgreSQL's estimators know in which bucket of the histogram a value lies, and for types that they can't
//! turn into numbers they take it to be in the middle. So two bounds in one bucket come out as no rows at all:
//! of 2 million IDs, one a second, a bucket is 5.5 hours. Where an ID lies in its bucket is known exactly.

use std::{ffi::c_int, ptr, slice};

use pgrx::pg_sys::{self, Datum, FmgrInfo, Oid, VariableStatData};
use sno_core::Sno;

use crate::{
    pg::datum::{Argument, Returned},
    sno::planner::comparison::{Comparison, Value},
};

/// What PostgreSQL takes for one bound of which nothing is known.
pub(crate) const UNKNOWN: f64 = pg_sys::DEFAULT_INEQ_SEL;

/// The share of the rows that satisfy a comparison, as PostgreSQL's `scalarineqsel` computes it.
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
                // From some users statistics are hidden, unless the function is leakproof.
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

/// Which of a column's statistics are of this kind.
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
    // SAFETY: as above; the histogram stays where it is until the statistics are released.
    let histogram = unsafe { histogram(column) }?;
    let Comparison { upper, inclusive, operator, .. } = comparison;
    let buckets = (histogram.len() - 1) as f64;
    let in_bucket = |below, above| value.distance(below) / Sno::distance(above, below);
    let number = histogram.partition_point(|bound| *bound < value);
    if (2..histogram.len() - 1).contains(&number) {
        let up_to = (number as f64 - 1.0 + in_bucket(histogram[number - 1], histogram[number])) / buckets;
        // This includes the rows of the value itself.
        let without = if upper == inclusive {
            0.0
        } else {
            // SAFETY: as above.
            1.0 / unsafe { pg_sys::get_variable_numdistinct(column, &mut false) }
        };
        let up_to = (up_to - without).clamp(0.0, 1.0);
        return Some(if upper { up_to } else { 1.0 - up_to });
    }
    // In the first and the last bucket PostgreSQL looks up the present ends of the column in an index. What its
    // search meets is noted by a function in place of the operator's.
    let mut search = Search { comparison, value, nearest: [None; 2] };
    let mut function = FmgrInfo { fn_addr: Some(meet), fn_oid: function, ..Default::default() };
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
    // It has taken the middle of the bucket.
    let offset = (in_bucket(below, above) - 0.5) / buckets;
    Some((share + if upper { offset } else { -offset }).clamp(0.0, 1.0))
}

/// A search of a histogram, and the nearest values below and above that it has met.
struct Search {
    comparison: Comparison,
    value: Sno,
    nearest: [Option<Sno>; 2],
}

unsafe extern "C-unwind" fn meet(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: called by the search in `share_of_others`, with its state, a value of the histogram, and the constant.
    let (search, met) = unsafe {
        let search = &mut *(*(*fcinfo).flinfo).fn_extra.cast::<Search>();
        (search, Sno::from_datum((*(*fcinfo).args.as_ptr()).value))
    };
    let Comparison { upper, inclusive, .. } = search.comparison;
    let holds = if met == search.value { inclusive } else { (met < search.value) == upper };
    // PostgreSQL goes on to the right of a value for which an upper bound holds, or a lower one does not.
    search.nearest[usize::from(holds != upper)] = Some(met);
    holds.into_datum()
}

/// The values between which a column's rows lie in buckets of one size; those without the common values.
unsafe fn histogram<'a>(column: &VariableStatData) -> Option<&'a [Sno]> {
    // SAFETY: there are statistics.
    let number = unsafe { kind(column, pg_sys::STATISTIC_KIND_HISTOGRAM) }?;
    // SAFETY: the values of a histogram are an array of one dimension without nulls: a header, the length, the lower
    // bound, and the values one after another, since they are of a fixed length and need no alignment.
    unsafe {
        let values = pg_sys::SysCacheGetAttr(
            pg_sys::SysCacheIdentifier::STATRELATTINH as c_int,
            column.statsTuple,
            (pg_sys::Anum_pg_statistic_stavalues1 as usize + number) as pg_sys::AttrNumber,
            &mut false,
        );
        let array = pg_sys::pg_detoast_datum(values.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let length = *array.add(1).cast::<c_int>() as usize;
        (length >= 2).then(|| slice::from_raw_parts(array.add(1).cast::<[c_int; 2]>().add(1).cast(), length))
    }
}
