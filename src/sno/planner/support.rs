//! Rewrites comparisons with a time to comparisons with an ID, which indexes can use.

use std::ptr;

use pgrx::pg_sys::{self, Datum, FuncExpr, Node, NodeTag};
use sno_core::Sno;

use crate::{
    pg::{
        fmgr::{Args, functions},
        nodes::nodes,
        raw,
        versions::may_call,
    },
    sno::{
        planner::operators::{Bound, Function, Operator, Operators, address},
        time::c::{
            sno_ge_time, sno_gt_time, sno_le_time, sno_lower, sno_lt_time, sno_upper, time_ge_sno,
            time_gt_sno, time_le_sno, time_lt_sno,
        },
    },
};

/// The comparisons with a time: their functions, and the operator that takes their place.
const COMPARISONS: [([Function; 2], Operator); 4] = [
    ([sno_lt_time, time_gt_sno], Operator::Less),
    ([sno_le_time, time_ge_sno], Operator::LessEqual),
    ([sno_ge_time, time_le_sno], Operator::GreaterEqual),
    ([sno_gt_time, time_lt_sno], Operator::Greater),
];

functions! {
    /// `sno_time_support(internal) → internal`: planner support for comparisons with a time.
    sno_time_support: simplify;
}

/// Without pgrx's guard: see [`raw`].
unsafe fn simplify(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    let request = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::SupportRequestSimplify>();
    if (*request).type_ != NodeTag::T_SupportRequestSimplify {
        return Datum::null();
    }
    let call = &*(*request).fcall;
    if !may_call(call.funcid) {
        return Datum::null();
    }
    let simplified = match *nodes(call.args) {
        [left, right] => compare(call, left, right),
        [id, since, until] => between(id, since, until),
        _ => None,
    };
    simplified.map_or(Datum::null(), Datum::from)
}

/// `id < sno_lower(time)` for `id < time` or `time > id`, and likewise for the other comparisons.
unsafe fn compare(call: &FuncExpr, left: *mut Node, right: *mut Node) -> Option<*mut Node> {
    let function = address(call.funcid)?;
    let is_this = |known: &Function| *known as usize == function;
    let &([first, _], operator) = COMPARISONS.iter().find(|(functions, _)| functions.iter().any(is_this))?;
    let (id, time) = if is_this(&first) { (left, right) } else { (right, left) };
    clause(operator, id, time)
}

/// `id >= sno_lower(since) AND id < sno_lower(until)` for `sno_between(id, since, until)`.
unsafe fn between(id: *mut Node, since: *mut Node, until: *mut Node) -> Option<*mut Node> {
    // The ID is evaluated twice, so it has to be cheap and without side effects.
    if !matches!((*id).type_, NodeTag::T_Var | NodeTag::T_Param | NodeTag::T_Const) {
        return None;
    }
    let copy = raw::copyObjectImpl(id.cast()).cast();
    let since = clause(Operator::GreaterEqual, id, since)?;
    let until = clause(Operator::Less, copy, until)?;
    let both = raw::lappend(raw::lappend(ptr::null_mut(), since.cast()), until.cast());
    Some(raw::make_andclause(both).cast())
}

/// `id operator sno_lower(time)`, or `sno_upper(time)` where the IDs of that time are less than or equal to it.
unsafe fn clause(operator: Operator, id: *mut Node, time: *mut Node) -> Option<*mut Node> {
    let (name, function, value): (_, Function, fn(i64) -> Sno) = match operator {
        Operator::LessEqual | Operator::Greater => (c"sno_upper", sno_upper, Sno::upper_bound),
        _ => (c"sno_lower", sno_lower, Sno::lower_bound),
    };
    let operators = Operators::of(raw::exprType(id))?;
    let bound = Bound { name, function, of: |micros| Some(value(micros)) };
    let bound = operators.bound(bound, time, None)?;
    operators.clause(operator, id, bound)
}
