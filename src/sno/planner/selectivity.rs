//! The selectivity of `<`, `<=`, `>`, `>=`: the planner expects as many rows as on a `timestamptz` column.
//!
//! PostgreSQL's own estimators do it. They can't convert an ID to a number, so they would take it to be in the middle of
//! its histogram bucket. But they convert the 6 bytes of a `macaddr`, and the first 6 bytes of an ID are its time and its
//! metabyte: so they are shown an ID as a `macaddr`.
//!
//! PostgreSQL multiplies the selectivities of ANDed conditions, and combines a lower and an upper bound into a range for
//! its own estimators only. So that is done here, by its formula: among the conditions of one list on one column, the
//! tightest upper bound is estimated given the tightest lower bound, and looser bounds as true. Then the product is the
//! selectivity of the range.

use std::{cell::Cell, ptr, slice};

use pgrx::pg_sys::{self, BoolExprType, Datum, List, Node, NodeTag, Oid, OpExpr, PlannerInfo};

use crate::{
    pg::{
        backend_local::BackendLocal,
        datum::Returned as _,
        fmgr::{Args, functions},
        nodes::{nodes, nth_entry},
        raw::{self, check_for_interrupts},
    },
    sno::planner::operators::{Mark, Operator, Operators, has_mark},
};

functions! {
    /// `sno_ineqsel(internal, oid, internal, integer) → double precision`: restriction estimator.
    sno_ineqsel: estimate;
    /// `sno_ineqjoinsel(internal, oid, internal, smallint, internal) → double precision`: join estimator, which is
    /// PostgreSQL's but for conditions that repeat another one.
    sno_ineqjoinsel: estimate_join;
}

/// The most comparisons of a column in one list that are estimated together. The planner asks for each of them, so the time
/// would grow with the square of their number; more are estimated one by one.
const MAX_COMPARISONS: usize = 10;

/// Without pgrx's guard: see [`raw`].
unsafe fn estimate_join(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    let mut args = Args::new(fcinfo);
    let _root = args.next::<Datum>();
    let _operator = args.next::<Datum>();
    let operands = args.next::<Datum>().cast_mut_ptr::<List>();
    (if has_mark(operands, Mark::Repeated) { 1.0 } else { pg_sys::DEFAULT_INEQ_SEL }).into_datum()
}

/// Without pgrx's guard, since it runs users' functions: see [`raw`].
unsafe fn estimate(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    check_for_interrupts();
    let mut args = Args::new(fcinfo);
    let root = args.next::<Datum>().cast_mut_ptr::<PlannerInfo>();
    let operator = Oid::from(args.next::<Datum>().value() as u32);
    let operands = args.next::<Datum>().cast_mut_ptr::<List>();
    let query = Query { root, relid: args.next() };
    let selectivity = match Comparison::of(operator, operands) {
        _ if has_mark(operands, Mark::Repeated) => 1.0,
        Some(comparison) => query.selectivity(comparison),
        None => pg_sys::DEFAULT_INEQ_SEL,
    };
    selectivity.into_datum()
}

/// What an estimator is called for.
#[derive(Clone, Copy)]
struct Query {
    root: *mut PlannerInfo,
    /// A table whose columns alone are taken for columns; or 0.
    relid: i32,
}

/// A comparison of a column, or of an expression with columns, with a bound that stays the same during a scan.
#[derive(Clone, Copy)]
struct Comparison {
    operator: Operator,
    oid: Oid,
    operands: *mut List,
    column: *mut Node,
    /// The IDs are less than the bound.
    is_upper: bool,
}

impl Comparison {
    unsafe fn of(oid: Oid, operands: *mut List) -> Option<Self> {
        // A superuser may create an operator with this estimator and one operand.
        let &[left, right] = nodes(operands) else { return None };
        let (column, commuted) = match [left, right].map(|operand| is_constant(operand)) {
            [false, true] => (left, false),
            [true, false] => (right, true),
            _ => return None,
        };
        let operators = Operators::of(raw::exprType(column))?;
        let operator = Operator::of(raw::get_op_opfamily_strategy(oid, operators.family))?;
        if operator == Operator::Equal {
            return None;
        }
        let is_upper = operator.is_less() != commuted;
        let (operator, oid) = match has_mark(operands, Mark::Equal) {
            true => (Operator::Equal, operators.oid(Operator::Equal)),
            false => (operator, oid),
        };
        Some(Self { operator, oid, operands, column, is_upper })
    }

    /// A condition as a bound of the same column; `None` if it is something else.
    unsafe fn sibling(self, condition: *mut Node) -> Option<Self> {
        let node = without_restrict_info(condition);
        if (*node).type_ != NodeTag::T_OpExpr {
            return None;
        }
        let OpExpr { opno, args, .. } = *node.cast();
        let has_column = |&operand: &*mut Node| raw::equal(operand.cast(), self.column.cast());
        if !nodes(args).iter().any(has_column) {
            return None;
        }
        Self::of(opno, args).filter(|other| other.operator != Operator::Equal)
    }
}

impl Query {
    unsafe fn selectivity(self, comparison: Comparison) -> f64 {
        let own = self.alone(comparison);
        if comparison.operator == Operator::Equal {
            return own;
        }
        let sibling = |&node: &*mut Node| comparison.sibling(node).map(|sibling| (node, sibling));
        let siblings = self.list_of(comparison).iter().filter_map(sibling);
        let mut lower = None::<f64>;
        let mut is_earlier = true;
        if siblings.clone().take(MAX_COMPARISONS + 1).count() > MAX_COMPARISONS {
            return own;
        }
        for (node, other) in siblings {
            if other.operands == comparison.operands {
                is_earlier = false;
            } else if other.is_upper == comparison.is_upper {
                let selectivity = self.alone(other);
                if selectivity < own || selectivity == own && is_earlier {
                    return 1.0;
                }
            } else if comparison.is_upper {
                // The cached estimate: a new one would take as long as that of a range of times.
                let selectivity = estimated(node).unwrap_or_else(|| self.alone(other));
                lower = Some(lower.map_or(selectivity, |lower| lower.min(selectivity)));
            }
        }
        match lower {
            Some(lower) if lower > 0.0 => (self.range(comparison.column, lower, own) / lower).min(1.0),
            Some(_) => 1.0,
            None => own,
        }
    }

    /// The selectivity of a comparison by itself.
    unsafe fn alone(self, Comparison { operator, oid, operands, .. }: Comparison) -> f64 {
        let estimator = match operator {
            Operator::Less => pg_sys::F_SCALARLTSEL,
            Operator::LessEqual => pg_sys::F_SCALARLESEL,
            Operator::Equal => pg_sys::F_EQSEL,
            Operator::GreaterEqual => pg_sys::F_SCALARGESEL,
            Operator::Greater => pg_sys::F_SCALARGTSEL,
        };
        let none = pg_sys::InvalidOid;
        let mut shown = ptr::null_mut();
        for &operand in nodes(operands) {
            let as_macaddr = raw::canonicalize_ec_expression(operand.cast(), pg_sys::MACADDROID, none);
            shown = raw::lappend(shown, as_macaddr.cast());
        }
        let (root, operator, relid) = (self.root.into(), oid.into(), self.relid.into());
        let selectivity =
            raw::OidFunctionCall4Coll(estimator.into(), none, root, operator, shown.into(), relid);
        f64::from_bits(selectivity.value() as u64)
    }

    /// As at the end of PostgreSQL's `clauselist_selectivity_ext`.
    unsafe fn range(self, column: *mut Node, lower: f64, upper: f64) -> f64 {
        let unknown = pg_sys::DEFAULT_INEQ_SEL;
        if lower == unknown || upper == unknown {
            return lower.min(upper).min(pg_sys::DEFAULT_RANGE_INEQ_SEL);
        }
        // Both bounds leave out the nulls.
        let nulls = raw::nulltestsel(
            self.root,
            pg_sys::NullTestType::IS_NULL,
            column,
            self.relid,
            pg_sys::JoinType::JOIN_INNER,
            ptr::null_mut(),
        );
        (lower + upper + nulls - 1.0).max(1e-10)
    }

    /// The conditions that are ANDed with a comparison, itself included; none if it is not a condition on its table, or
    /// a part of one.
    unsafe fn list_of<'a>(self, Comparison { column, operands, .. }: Comparison) -> &'a [*mut Node] {
        let mut relid = 0;
        if !raw::bms_get_singleton_member(raw::pull_varnos(self.root, column), &mut relid) {
            return &[];
        }
        let Some(relation) = nth_entry((*self.root).simple_rel_array, relid as u32) else { return &[] };
        let lists = [(*relation).baserestrictinfo, (*relation).joininfo];
        lists.into_iter().find_map(|list| find(nodes(list), operands, 0)).unwrap_or_default()
    }
}

/// Whether a value stays the same during a scan.
unsafe fn is_constant(node: *mut Node) -> bool {
    (*node).type_ == NodeTag::T_Const
        || !raw::contain_var_clause(node) && !raw::contain_volatile_functions(node)
}

/// The ANDed conditions, this list or one below it, that have the one with these operands; if that is ORed, none.
unsafe fn find(list: &[*mut Node], operands: *mut List, depth: usize) -> Option<&[*mut Node]> {
    /// Where the last search ended at each depth. The planner asks for conditions in their order, of which there may be
    /// thousands below OR.
    // SAFETY: for this function.
    static LAST: BackendLocal<[Cell<usize>; 8]> = unsafe { BackendLocal::new([const { Cell::new(0) }; 8]) };

    if raw::stack_is_too_deep() {
        return None;
    }
    let last = LAST.get(depth);
    let start = last.map_or(0, Cell::get).min(list.len());
    (start..list.len()).chain(0..start).find_map(|place| {
        let node = without_restrict_info(*list.get(place)?);
        let found = match (*node).type_ {
            NodeTag::T_OpExpr if (*node.cast::<OpExpr>()).args == operands => list,
            NodeTag::T_BoolExpr => {
                let pg_sys::BoolExpr { boolop, args, .. } = *node.cast();
                let found = find(nodes(args), operands, depth + 1)?;
                let is_ored = ptr::eq(found, nodes(args)) && boolop != BoolExprType::AND_EXPR;
                if is_ored { &[] } else { found }
            }
            // `(… AND …) IS TRUE`.
            NodeTag::T_BooleanTest => {
                let test = &*node.cast::<pg_sys::BooleanTest>();
                find(slice::from_ref(&*(&raw const test.arg).cast::<*mut Node>()), operands, depth + 1)?
            }
            _ => return None,
        };
        if let Some(last) = last {
            last.set(place);
        }
        Some(found)
    })
}

/// What PostgreSQL keeps of an estimate: of a lower bound, its own, or 1 if there is a tighter one.
unsafe fn estimated(node: *mut Node) -> Option<f64> {
    if (*node).type_ != NodeTag::T_RestrictInfo {
        return None;
    }
    let known = (*node.cast::<pg_sys::RestrictInfo>()).norm_selec;
    (0.0..=1.0).contains(&known).then_some(known)
}

/// The expression of a condition; of an OR, the one whose parts are `RestrictInfo` nodes, too.
unsafe fn without_restrict_info(node: *mut Node) -> *mut Node {
    if (*node).type_ != NodeTag::T_RestrictInfo {
        return node;
    }
    let info = &*node.cast::<pg_sys::RestrictInfo>();
    if info.orclause.is_null() { info.clause.cast() } else { info.orclause.cast() }
}
