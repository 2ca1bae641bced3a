//! `sno_time(column)` has the statistics of the column: as many nulls, and as many different values.
//!
//! PostgreSQL looks for the statistics of an expression at the indexes that have it. So a table gets one more, a
//! hypothetical index as advisors of indexes add them, with `sno_time` of each column of type `sno` that begins or
//! continues a real index or is the key of partitions. PostgreSQL makes no path of it, since it can't be scanned without
//! conditions, and no operator belongs to it. It exists while the query is planned.

use std::{cell::Cell, ptr};

use pgrx::pg_sys::{
    self, Datum, FormData_pg_statistic, FuncExpr, IndexOptInfo, Node, NodeTag, Oid, PlannerInfo, RelOptInfo,
    TargetEntry, VariableStatData,
};

use crate::pg::{
    backend_local::BackendLocal,
    nodes::{make, nodes},
    raw,
};

/// `sno_time` and the type of its argument, in the last query that had it.
// SAFETY: for this file.
static KNOWN: BackendLocal<Cell<Option<(Oid, Oid)>>> = unsafe { BackendLocal::new(Cell::new(None)) };

/// The hook of another library, which ours replaces and calls.
static mut NEXT: pg_sys::get_index_stats_hook_type = None;

/// Installs the hook, when the library is loaded.
pub(crate) fn install() {
    // SAFETY: a library is loaded by one thread.
    unsafe {
        NEXT = ptr::replace(&raw mut pg_sys::get_index_stats_hook, Some(hook));
    }
}

/// Notes that a query calls `sno_time`. PostgreSQL simplifies the calls of a query before it plans its tables.
pub(crate) fn note(sno_time: Oid, argument: Oid) {
    KNOWN.set(Some((sno_time, argument)));
}

/// Gives a table its hypothetical index.
pub(crate) unsafe fn add(relation: *mut RelOptInfo) {
    let Some((sno_time, sno)) = KNOWN.get() else { return };
    let mut expressions = ptr::null_mut();
    let mut append = |column: *mut Node| {
        if (*column).type_ != NodeTag::T_Var {
            return;
        }
        let none = pg_sys::InvalidOid;
        // Of a domain.
        let column = raw::canonicalize_ec_expression(raw::copyObjectImpl(column.cast()).cast(), sno, none);
        let args = raw::lappend(ptr::null_mut(), column.cast());
        let format = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        let call = raw::makeFuncExpr(sno_time, pg_sys::TIMESTAMPTZOID, args, none, none, format);
        if !nodes(expressions).iter().any(|&other| raw::equal(other.cast(), call.cast())) {
            expressions = raw::lappend(expressions, call.cast());
        }
    };
    for &index in nodes((*relation).indexlist) {
        let index = &*index.cast::<IndexOptInfo>();
        for place in 0..index.nkeycolumns as usize {
            if *index.opcintype.add(place) == sno && *index.indexkeys.add(place) > 0 {
                append((*nodes(index.indextlist)[place].cast::<TargetEntry>()).expr.cast());
            }
        }
    }
    if let Some(scheme) = (*relation).part_scheme.as_ref() {
        for place in 0..scheme.partnatts as usize {
            if *scheme.partopcintype.add(place) == sno {
                append(nodes(*(*relation).partexprs.add(place))[0]);
            }
        }
    }
    if expressions.is_null() {
        return;
    }
    let count = (*expressions).length;
    let index: *mut IndexOptInfo = make(NodeTag::T_IndexOptInfo);
    // A zero is no number of a column, so the column is an expression; and it is no operator family or collation.
    let zeros = raw::palloc0(count as usize * size_of::<Oid>());
    (*index).rel = relation;
    (*index).hypothetical = true;
    (*index).ncolumns = count;
    (*index).nkeycolumns = 1;
    (*index).indexkeys = zeros.cast();
    (*index).indexcollations = zeros.cast();
    (*index).opfamily = zeros.cast();
    (*index).opcintype = zeros.cast();
    (*index).indexprs = expressions;
    (*relation).indexlist = raw::lappend((*relation).indexlist, index.cast());
}

/// PostgreSQL asks for the statistics of an index.
unsafe extern "C-unwind" fn hook(
    root: *mut PlannerInfo,
    index: Oid,
    place: i16,
    found: *mut VariableStatData,
) -> bool {
    let column = if index == pg_sys::InvalidOid { column((*found).var) } else { None };
    let Some(column) = column else {
        return NEXT.is_some_and(|next| next(root, index, place, found));
    };
    let entry = &**(*root).simple_rte_array.add((*(*found).rel).relid as usize);
    let tuple = raw::SearchSysCache3(
        pg_sys::SysCacheIdentifier::STATRELATTINH as _,
        entry.relid.into(),
        Datum::from(column),
        Datum::from(entry.inh),
    );
    if !tuple.is_null() {
        let copy = raw::heap_copytuple(tuple);
        raw::ReleaseSysCache(tuple);
        let statistics = &mut *pg_sys::GETSTRUCT(copy).cast::<FormData_pg_statistic>();
        // PostgreSQL asks for the nulls of an outer join, too, of which the column knows nothing.
        statistics.stanullfrac = statistics.stanullfrac.max(pg_sys::DEFAULT_UNK_SEL as f32);
        // The values are IDs.
        (statistics.stakind1, statistics.stakind2, statistics.stakind3) = (0, 0, 0);
        (statistics.stakind4, statistics.stakind5) = (0, 0);
        (*found).statsTuple = copy;
        (*found).freefunc = Some(raw::heap_freetuple);
    }
    true
}

/// The number of the column in `sno_time(column)`.
unsafe fn column(expression: *mut Node) -> Option<i16> {
    if expression.is_null() || (*expression).type_ != NodeTag::T_FuncExpr {
        return None;
    }
    let FuncExpr { funcid, args, .. } = *expression.cast();
    let &[mut argument] = nodes(args) else { return None };
    // Another library's hypothetical index may have no OID, either.
    if KNOWN.get().is_none_or(|(sno_time, _)| sno_time != funcid) {
        return None;
    }
    if (*argument).type_ == NodeTag::T_RelabelType {
        argument = (*argument.cast::<pg_sys::RelabelType>()).arg.cast();
    }
    ((*argument).type_ == NodeTag::T_Var).then(|| (*argument.cast::<pg_sys::Var>()).varattno)
}
