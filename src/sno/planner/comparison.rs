//! Comparisons of IDs with a bound, in the planner's nodes.

use pgrx::pg_sys::{self, Node, NodeTag, Oid};
use sno_core::Sno;

use crate::{
    pg::{
        catalog_cache::{CatalogCache, Function, identify},
        datum::{Argument, Timestamp},
        nodes::{estimated, nodes},
    },
    sno::functions::{sno_ge, sno_gt, sno_le, sno_lower, sno_lt, sno_upper},
};

/// A condition `id < bound`, or with `<=`, `>`, `>=`, or with its operands in the other order.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) operator: Oid,
    pub(crate) bound: *mut Node,
    /// Whether the bound is the right operand.
    pub(crate) bound_last: bool,
    /// Whether the bound is an upper one, so that the IDs are less than it.
    pub(crate) upper: bool,
    pub(crate) inclusive: bool,
}

/// A function from a Unix time in microseconds to an ID.
type OfTime = fn(i64) -> Sno;

/// The value of a bound at planning time.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Known(Sno),
    Null,
    Unknown,
}

impl Comparison {
    pub(crate) unsafe fn new(operator: Oid, bound: *mut Node, bound_last: bool) -> Option<Self> {
        static KINDS: CatalogCache<(bool, bool)> = CatalogCache::new();

        let (less, inclusive) = KINDS.get(operator, || {
            let known: [(Function, _); 4] = [
                (sno_lt, (true, false)),
                (sno_le, (true, true)),
                (sno_gt, (false, false)),
                (sno_ge, (false, true)),
            ];
            // SAFETY: look-ups of an operator that exists.
            unsafe { identify(pg_sys::get_opcode(operator), &known) }
        })?;
        Some(Self { operator, bound, bound_last, upper: less == bound_last, inclusive })
    }

    /// A condition as a comparison of these IDs; `None` if it is another one.
    pub(crate) unsafe fn of(condition: *mut Node, ids: *mut Node) -> Option<Self> {
        // SAFETY: nodes of the planner's, told apart by their tags.
        unsafe {
            if (*condition).type_ != NodeTag::T_OpExpr {
                return None;
            }
            let expression = &*condition.cast::<pg_sys::OpExpr>();
            let &[left, right] = nodes(expression.args) else { return None };
            if pg_sys::equal(left.cast(), ids.cast()) {
                Self::new(expression.opno, right, true)
            } else if pg_sys::equal(right.cast(), ids.cast()) {
                Self::new(expression.opno, left, false)
            } else {
                None
            }
        }
    }

    /// Whether the bound stays the same during a scan. The planner uses all such conditions together. It uses conditions of
    /// a join only in some paths, and those with volatile functions with no index.
    pub(crate) unsafe fn is_constant(self) -> bool {
        // SAFETY: an expression of the planner's.
        unsafe {
            (*self.bound).type_ == NodeTag::T_Const
                || !pg_sys::contain_var_clause(self.bound) && !pg_sys::contain_volatile_functions(self.bound)
        }
    }

    /// The value that the bound would have if the query were executed now.
    ///
    /// # Safety
    /// As for [`estimated`].
    pub(crate) unsafe fn value(self, root: *mut pg_sys::PlannerInfo) -> Value {
        // SAFETY: an expression of type sno, or the argument of one of the two functions, which take a time.
        unsafe {
            let of_time = Self::function_of_time(self.bound);
            let node = estimated(root, of_time.map_or(self.bound, |(_, time)| time));
            if (*node).type_ != NodeTag::T_Const {
                return Value::Unknown;
            }
            match (&*node.cast::<pg_sys::Const>(), of_time) {
                (pg_sys::Const { constisnull: true, .. }, _) => Value::Null,
                (constant, None) => Value::Known(Sno::from_datum(constant.constvalue)),
                (constant, Some((function, _))) => {
                    Value::Known(function(Timestamp::from_datum(constant.constvalue).unix_micros()))
                }
            }
        }
    }

    /// `sno_lower` or `sno_upper`, and its argument. Calling them directly takes a tenth of the time that the executor
    /// needs.
    unsafe fn function_of_time(bound: *mut Node) -> Option<(OfTime, *mut Node)> {
        static FUNCTIONS: CatalogCache<OfTime> = CatalogCache::new();

        // SAFETY: a node of the planner's, told apart by its tag.
        unsafe {
            if (*bound).type_ != NodeTag::T_FuncExpr {
                return None;
            }
            let call = &*bound.cast::<pg_sys::FuncExpr>();
            let &[time] = nodes(call.args) else { return None };
            let known: &[(Function, OfTime)] =
                &[(sno_lower, Sno::lower_bound), (sno_upper, Sno::upper_bound)];
            Some((FUNCTIONS.get(call.funcid, || identify(call.funcid, known))?, time))
        }
    }
}
