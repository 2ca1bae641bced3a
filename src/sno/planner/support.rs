//! Rewrites comparisons with a time to comparisons with an ID, which indexes can use.

use std::ptr;

use pgrx::pg_sys::{self, Datum, FuncExpr, Node, NodeTag};
use sno_core::Sno;

use crate::{
    pg::{
        datum::{Argument as _, Timestamp},
        fmgr::{Args, functions},
        nodes::nodes,
        raw,
    },
    sno::{
        planner::operators::{Function, Operator, Operators, address},
        time::{
            sno_ge_time, sno_gt_time, sno_le_time, sno_lower, sno_lt_time, sno_upper, time_ge_sno,
            time_gt_sno, time_le_sno, time_lt_sno,
        },
    },
};

/// The ID that a time becomes: `sno_lower(time)` or `sno_upper(time)`.
#[derive(Clone, Copy)]
enum Bound {
    Lower,
    Upper,
}

/// The comparisons with a time: their functions, and what they become.
const COMPARISONS: [([Function; 2], Operator, Bound); 4] = [
    ([sno_lt_time, time_gt_sno], Operator::Less, Bound::Lower),
    ([sno_le_time, time_ge_sno], Operator::LessEqual, Bound::Upper),
    ([sno_ge_time, time_le_sno], Operator::GreaterEqual, Bound::Lower),
    ([sno_gt_time, time_lt_sno], Operator::Greater, Bound::Upper),
];

functions! {
    /// `sno_time_support(internal) → internal`: planner support for comparisons with a time. For `sno_time` it only loads this
    /// library, whose hook then rewrites the conditions of the same query ([`super::rewrite`]).
    sno_time_support: simplify;
}

/// Without pgrx's guard: see [`raw`].
unsafe fn simplify(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: a request of the planner's. The arguments of the call in it may be used again. No frame below has a
    // destructor, a guard or a panic.
    unsafe {
        let request = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::SupportRequestSimplify>();
        if (*request).type_ != NodeTag::T_SupportRequestSimplify {
            return Datum::null();
        }
        let call = &*(*request).fcall;
        let simplified = match *nodes(call.args) {
            [left, right] => compare(call, left, right),
            [id, since, until] => between(call, id, since, until),
            _ => None,
        };
        simplified.map_or(Datum::null(), Datum::from)
    }
}

/// `id < sno_lower(time)` for `id < time` or `time > id`, and likewise for the other comparisons.
unsafe fn compare(call: &FuncExpr, left: *mut Node, right: *mut Node) -> Option<*mut Node> {
    // SAFETY: the call is to a function that exists, of an ID and a time.
    unsafe {
        let function = address(call.funcid)?;
        let is_this = |known: &Function| *known as usize == function;
        let &(functions, operator, bound) =
            COMPARISONS.iter().find(|(functions, ..)| functions.iter().any(is_this))?;
        let [first, _] = functions;
        let (id, time) = if is_this(&first) { (left, right) } else { (right, left) };
        let operators = Operators::of(raw::exprType(id))?;
        Some(operators.clause(operator, id, bound_of(call, operators, bound, time)?))
    }
}

/// `id >= sno_lower(since) AND id < sno_lower(until)` for `sno_between(id, since, until)`.
unsafe fn between(call: &FuncExpr, id: *mut Node, since: *mut Node, until: *mut Node) -> Option<*mut Node> {
    // SAFETY: the call is to sno_between.
    unsafe {
        // The ID is evaluated twice, so it has to be cheap and without side effects.
        if !matches!((*id).type_, NodeTag::T_Var | NodeTag::T_Param | NodeTag::T_Const) {
            return None;
        }
        let operators = Operators::of(raw::exprType(id))?;
        let [since, until] = [since, until].map(|time| bound_of(call, operators, Bound::Lower, time));
        let since = operators.clause(Operator::GreaterEqual, id, since?);
        let until = operators.clause(Operator::Less, raw::copyObjectImpl(id.cast()).cast(), until?);
        Some(
            raw::make_andclause(raw::lappend(raw::lappend(ptr::null_mut(), since.cast()), until.cast()))
                .cast(),
        )
    }
}

/// `sno_lower(time)` or `sno_upper(time)`, of the extension that the function of a call belongs to.
unsafe fn bound_of(
    call: &FuncExpr,
    operators: Operators,
    bound: Bound,
    time: *mut Node,
) -> Option<*mut Node> {
    let (name, function, value): (_, Function, fn(i64) -> Sno) = match bound {
        Bound::Lower => (c"sno_lower", sno_lower, Sno::lower_bound),
        Bound::Upper => (c"sno_upper", sno_upper, Sno::upper_bound),
    };
    // SAFETY: the argument is a timestamptz.
    unsafe {
        if (*time).type_ == NodeTag::T_Const {
            let time = &*time.cast::<pg_sys::Const>();
            let id = (!time.constisnull).then(|| value(Timestamp::from_datum(time.constvalue).unix_micros()));
            return Some(operators.constant(id));
        }
        let function = operators.function(call.funcid, name, &[pg_sys::TIMESTAMPTZOID], function)?;
        Some(operators.call(function, raw::lappend(ptr::null_mut(), time.cast())))
    }
}
