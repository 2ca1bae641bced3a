//! The selectivity of `<`, `<=`, `>`, `>=`: the planner expects as many rows as on a `timestamptz` column.
//!
//! PostgreSQL multiplies the selectivities of ANDed clauses. Only for its own estimators it combines a lower and an
//! upper bound into a range, and these take an ID to be in the middle of its histogram bucket, since they can't convert
//! it to a number. So this estimator serves the four operators, and combines the bounds itself, by PostgreSQL's
//! formula:
//!
//! * The clauses of one AND list that compare one column with values that stay the same during a scan are put in an
//!   order: known values before unknown ones, lower bounds before upper ones, else as they stand.
//! * Let `F(k)` be the selectivity of the first `k` of them together. The k-th clause is estimated as `F(k) / F(k -
//!   1)`, so the planner's product is the selectivity of all of them.
//! * Every other clause is independent of those around it.

use std::{cell::Cell, ptr, slice};

use pgrx::pg_sys::{
    self, BoolExprType, Datum, FuncExpr, List, Node, NodeTag, Oid, OpExpr, PlannerInfo, RelOptInfo,
    VariableStatData,
};
use sno_core::Sno;

use crate::{
    pg::{
        backend_local::BackendLocal,
        datum::{Argument as _, Returned as _},
        fmgr::{Args, functions},
        nodes::nodes,
        raw,
    },
    sno::planner::{
        check_for_interrupts,
        operators::{FIRST, LAST, Operator, Operators, is_function, is_repeated},
    },
};

functions! {
    /// `sno_ineqsel(internal, oid, internal, integer) → double precision`: restriction estimator.
    sno_ineqsel: estimate;
    /// `sno_ineqjoinsel(internal, oid, internal, smallint, internal) → double precision`: join estimator, which is
    /// PostgreSQL's but for conditions that are there twice.
    sno_ineqjoinsel: estimate_join;
}

/// Without pgrx's guard: see [`raw`].
unsafe fn estimate_join(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    let mut args = Args::new(fcinfo);
    let _root = args.next::<Datum>();
    let _operator = args.next::<Datum>();
    let operands = nodes(args.next::<Datum>().cast_mut_ptr::<List>());
    let is_repeated = operands.iter().any(|&operand| is_repeated(operand));
    (if is_repeated { 1.0 } else { pg_sys::DEFAULT_INEQ_SEL }).into_datum()
}

/// Without pgrx's guard, since it runs users' functions: see [`raw`].
unsafe fn estimate(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    check_for_interrupts();
    let mut args = Args::new(fcinfo);
    let root = args.next::<Datum>().cast_mut_ptr::<PlannerInfo>();
    let operator = Oid::from(args.next::<Datum>().value() as u32);
    let operands = args.next::<Datum>().cast_mut_ptr::<List>();
    let relation = args.next::<i32>();

    // A superuser may create an operator with this estimator and one operand.
    let &[left, right] = nodes(operands) else { return pg_sys::DEFAULT_INEQ_SEL.into_datum() };
    // What `examine_variable` pins is released with the query if an error passes by.
    let mut sides = [VariableStatData::default(), VariableStatData::default()];
    let [on_left, on_right] = &mut sides;
    raw::examine_variable(root, left, relation, on_left);
    raw::examine_variable(root, right, relation, on_right);
    let column = match (on_left.rel.is_null(), on_right.rel.is_null()) {
        (false, true) => Some((left, on_left)),
        (true, false) => Some((right, on_right)),
        _ => None,
    };
    let selectivity = column.and_then(|(ids, statistics)| {
        if is_repeated(ids) {
            return Some(1.0);
        }
        let operators = Operators::of(raw::exprType(ids))?;
        let column = Column { root, relation: statistics.rel, ids, statistics, operators };
        Some(column.selectivity(operands, column.clause(operator, left, right)?))
    });
    for side in &sides {
        if let (Some(release), false) = (side.freefunc, side.statsTuple.is_null()) {
            release(side.statsTuple);
        }
    }
    selectivity.unwrap_or(pg_sys::DEFAULT_INEQ_SEL).into_datum()
}

/// A column, or an expression, of a relation.
struct Column {
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    ids: *mut Node,
    statistics: *mut VariableStatData,
    operators: Operators,
}

/// A comparison `column operator bound`.
#[derive(Clone, Copy)]
struct Clause {
    operator: Operator,
    bound: *mut Node,
}

/// Where a clause stands.
enum Place<'a> {
    /// In this AND list.
    Listed(&'a [*mut Node]),
    /// In the predicate of a partial index. PostgreSQL uses it in place of the restrictions that it implies.
    Predicate,
    /// PostgreSQL has made it of another clause, such as a comparison of rows or with an array.
    Derived,
}

/// The value of a bound, as far as it is known at planning time.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    Known(Sno),
    Null,
    Unknown,
}

/// The selectivity of the lower and of the upper bounds, as far as there are any.
#[derive(Clone, Copy, Default)]
struct Range {
    lower: Option<f64>,
    upper: Option<f64>,
    /// Of the IDs of one time, if two bounds that are not known yet are both of that time.
    of_one_time: Option<f64>,
}

impl Range {
    fn narrow(&mut self, upper: bool, selectivity: f64) {
        let side = if upper { &mut self.upper } else { &mut self.lower };
        *side = Some(side.map_or(selectivity, |known| known.min(selectivity)));
    }

    /// As at the end of PostgreSQL's `clauselist_selectivity_ext`. `nulls` is the fraction that both bounds leave out.
    fn selectivity(self, nulls: f64) -> f64 {
        let unknown = pg_sys::DEFAULT_INEQ_SEL;
        let range = match (self.lower, self.upper) {
            (None, None) => 1.0,
            (Some(one), None) | (None, Some(one)) => one,
            (Some(lower), Some(upper)) if lower == unknown || upper == unknown => {
                lower.min(upper).min(pg_sys::DEFAULT_RANGE_INEQ_SEL)
            }
            (Some(lower), Some(upper)) => (lower + upper + nulls - 1.0).max(1e-10),
        };
        self.of_one_time.map_or(range, |one| range.min(one))
    }
}

/// With more comparisons of the column in one list, each is estimated alone: the planner asks for each of them, so the
/// time would grow with the square of their number.
const MAX_COMPARISONS: usize = 10;

impl Column {
    /// `F(k) / F(k - 1)` for a clause that has these operands.
    unsafe fn selectivity(&self, operands: *mut List, clause: Clause) -> f64 {
        let value = self.value(clause);
        let own = self.clause_selectivity(clause, value);
        if !clause.is_constant() {
            return own;
        }
        let place = self.place(operands);
        let list = match place {
            Place::Listed(list) => list,
            _ => nodes((*self.relation).baserestrictinfo),
        };
        let comparisons = list.iter().filter(|&&node| self.clause_of(stripped(node)).is_some());
        if comparisons.take(MAX_COMPARISONS + 1).count() > MAX_COMPARISONS {
            return own;
        }
        let mut before = Range::default();
        // The tightest of the known lower and upper bounds.
        let mut tightest: [Option<(Sno, Clause)>; 2] = [None; 2];
        let mut unknown: [Option<Clause>; MAX_COMPARISONS] = [None; MAX_COMPARISONS];
        let mut count = 0;
        let mut is_later = false;
        for &node in list {
            let node = stripped(node);
            if has_operands(node, operands) {
                is_later = true;
                continue;
            }
            let Some(other) = self.clause_of(node).filter(|other| other.is_constant()) else { continue };
            let known = self.value(other);
            let rank = |value, clause: Clause| (value == Value::Unknown, clause.is_upper());
            let precedes = match place {
                Place::Listed(_) => (rank(known, other), is_later) <= (rank(value, clause), false),
                Place::Predicate => clause.is_upper() && !other.is_upper(),
                Place::Derived => true,
            };
            if !precedes {
                continue;
            }
            match known {
                Value::Known(id) => {
                    let [lower, upper] = &mut tightest;
                    let side = if other.is_upper() { upper } else { lower };
                    if side.is_none_or(|(best, _)| if other.is_upper() { id < best } else { id > best }) {
                        *side = Some((id, other));
                    }
                }
                Value::Unknown => {
                    before.narrow(other.is_upper(), pg_sys::DEFAULT_INEQ_SEL);
                    self.meet(&mut before, &unknown, other);
                    unknown[count] = Some(other);
                    count += 1;
                }
                Value::Null => before.narrow(other.is_upper(), 0.0),
            }
        }
        for (id, other) in tightest.into_iter().flatten() {
            before.narrow(other.is_upper(), self.clause_selectivity(other, Value::Known(id)));
        }
        let mut all = before;
        all.narrow(clause.is_upper(), own);
        if value == Value::Unknown {
            self.meet(&mut all, &unknown, clause);
        }
        let nulls = self.nulls();
        let given = before.selectivity(nulls);
        if given > 0.0 { (all.selectivity(nulls) / given).min(1.0) } else { 1.0 }
    }

    /// Narrows a range by a bound that is not known, if it and one of the others leave the IDs of one time.
    unsafe fn meet(&self, range: &mut Range, others: &[Option<Clause>], clause: Clause) {
        if others.iter().flatten().any(|&other| is_one_time(other, clause)) {
            let (equal, none) = (self.operators.oid(Operator::Equal), pg_sys::InvalidOid);
            let one = raw::var_eq_non_const(self.statistics, equal, none, clause.bound, true, false);
            range.of_one_time = Some(one);
        }
    }

    /// A comparison with this column; `None` if it is something else.
    unsafe fn clause(&self, operator: Oid, left: *mut Node, right: *mut Node) -> Option<Clause> {
        let [on_left, on_right] = [left, right].map(|operand| raw::equal(operand.cast(), self.ids.cast()));
        if !on_left && !on_right {
            return None;
        }
        let operator = self.operators.inequality(operator)?;
        Some(if on_left {
            Clause { operator, bound: right }
        } else {
            Clause { operator: operator.commutator(), bound: left }
        })
    }

    /// A node as a comparison with this column; `None` if it is something else.
    unsafe fn clause_of(&self, node: *mut Node) -> Option<Clause> {
        if (*node).type_ != NodeTag::T_OpExpr {
            return None;
        }
        let OpExpr { opno, args, .. } = *node.cast();
        let &[left, right] = nodes(args) else { return None };
        self.clause(opno, left, right)
    }

    /// The value that the bound would have if the query were executed now.
    unsafe fn value(&self, clause: Clause) -> Value {
        let mut node = clause.bound;
        if (*node).type_ != NodeTag::T_Const {
            node = raw::estimate_expression_value(self.root, node);
        }
        if (*node).type_ != NodeTag::T_Const {
            return Value::Unknown;
        }
        match &*node.cast::<pg_sys::Const>() {
            pg_sys::Const { constisnull: true, .. } => Value::Null,
            known => Value::Known(Sno::from_datum(known.constvalue)),
        }
    }

    /// The selectivity of a clause by itself, as PostgreSQL's `scalarineqsel` computes it.
    unsafe fn clause_selectivity(&self, clause: Clause, value: Value) -> f64 {
        let id = match value {
            Value::Known(id) => id,
            Value::Null => return 0.0,
            Value::Unknown => return pg_sys::DEFAULT_INEQ_SEL,
        };
        if (*self.statistics).statsTuple.is_null() {
            return pg_sys::DEFAULT_INEQ_SEL;
        }
        let constant = Datum::from(id.as_bytes().as_ptr());
        let operator = self.operators.oid(clause.operator);
        let mut function = pg_sys::FmgrInfo::default();
        raw::fmgr_info(raw::get_opcode(operator), &mut function);
        let mut common = 0.0;
        let of_common = raw::mcv_selectivity(
            self.statistics,
            &mut function,
            pg_sys::InvalidOid,
            constant,
            true,
            &mut common,
        );
        // For the position of a value in its bucket, PostgreSQL converts both to numbers. It can't convert an ID,
        // but it converts the 6 bytes of a macaddr, and the first 6 bytes of an ID are its time and its metabyte.
        let mut statistics = self.statistics.read();
        statistics.vartype = pg_sys::MACADDROID;
        let of_others = raw::ineq_histogram_selectivity(
            self.root,
            &mut statistics,
            operator,
            &mut function,
            !clause.is_upper(),
            clause.operator.is_inclusive(),
            pg_sys::InvalidOid,
            constant,
            pg_sys::MACADDROID,
        );
        // Negative without a histogram.
        let of_others = if of_others < 0.0 { 0.5 } else { of_others };
        (of_others * (1.0 - self.nulls() - common) + of_common).clamp(0.0, 1.0)
    }

    /// The fraction of the rows that are null.
    unsafe fn nulls(&self) -> f64 {
        let tuple = (*self.statistics).statsTuple;
        if tuple.is_null() {
            return 0.0;
        }
        f64::from((*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_statistic>()).stanullfrac)
    }

    /// Where the clause with these operands stands.
    unsafe fn place<'a>(&self, operands: *mut List) -> Place<'a> {
        let relation = &*self.relation;
        let find_in = |list| find(nodes(list), true, operands, 0);
        if let Some(list) = find_in(relation.baserestrictinfo).or_else(|| find_in(relation.joininfo)) {
            return Place::Listed(list);
        }
        let mut indexes = nodes(relation.indexlist).iter();
        let has_it = |index: &*mut Node| find_in((*index.cast::<pg_sys::IndexOptInfo>()).indpred).is_some();
        if indexes.any(has_it) { Place::Predicate } else { Place::Derived }
    }
}

impl Clause {
    /// Whether the bound is an upper one, so that the IDs are less than it.
    fn is_upper(self) -> bool {
        self.operator.is_less()
    }

    /// Whether the bound stays the same during a scan.
    unsafe fn is_constant(self) -> bool {
        (*self.bound).type_ == NodeTag::T_Const
            || !raw::contain_var_clause(self.bound) && !raw::contain_volatile_functions(self.bound)
    }
}

/// Whether two bounds are `sno_first(time, false)` and `sno_last(time, false)`, which `sno_time(id) = time` becomes.
unsafe fn is_one_time(one: Clause, other: Clause) -> bool {
    let (lower, upper) = if one.is_upper() { (other, one) } else { (one, other) };
    if !upper.is_upper() || [lower, upper].iter().any(|side| (*side.bound).type_ != NodeTag::T_FuncExpr) {
        return false;
    }
    let [lower, upper] = [lower, upper].map(|side| &*side.bound.cast::<FuncExpr>());
    let &[_, exclusive] = nodes(lower.args) else { return false };
    (*exclusive).type_ == NodeTag::T_Const
        && (*exclusive.cast::<pg_sys::Const>()).constvalue.value() == 0
        && raw::equal(lower.args.cast(), upper.args.cast())
        && FIRST.iter().any(|&function| is_function(lower.funcid, function))
        && LAST.iter().any(|&function| is_function(upper.funcid, function))
}

/// Finds the clause with these operands in a list of clauses that are ANDed or not, or below it. The result is the AND
/// list that the clause is in, or the clause alone.
unsafe fn find(list: &[*mut Node], anded: bool, operands: *mut List, depth: usize) -> Option<&[*mut Node]> {
    /// At each level, the position where the last search ended. The planner asks for the clauses in their order: with
    /// 10,000 clauses and searches that begin at the first one, planning would take a minute.
    // SAFETY: for this function.
    static POSITIONS: BackendLocal<[Cell<usize>; 8]> =
        unsafe { BackendLocal::new([const { Cell::new(0) }; 8]) };

    let last = POSITIONS.get(depth);
    let start = last.map_or(0, Cell::get).min(list.len());
    if raw::stack_is_too_deep() {
        return None;
    }
    let (before, after) = list.split_at(start);
    for place in after.iter().chain(before) {
        let node = stripped(*place);
        let found = match (*node).type_ {
            NodeTag::T_OpExpr if has_operands(node, operands) => {
                Some(if anded { list } else { slice::from_ref(place) })
            }
            NodeTag::T_BoolExpr => {
                let pg_sys::BoolExpr { boolop, args, .. } = *node.cast();
                find(nodes(args), boolop == BoolExprType::AND_EXPR, operands, depth + 1)
            }
            NodeTag::T_BooleanTest => {
                let tested = &raw const (*node.cast::<pg_sys::BooleanTest>()).arg;
                find(slice::from_ref(&*tested.cast()), false, operands, depth + 1)
            }
            _ => None,
        };
        if found.is_some() {
            if let Some(last) = last {
                last.set(ptr::from_ref(place).offset_from(list.as_ptr()) as usize);
            }
            return found;
        }
    }
    None
}

unsafe fn has_operands(node: *mut Node, operands: *mut List) -> bool {
    (*node).type_ == NodeTag::T_OpExpr && (*node.cast::<OpExpr>()).args == operands
}

/// The expression of a clause; of an OR, the one whose parts are `RestrictInfo` nodes, too.
unsafe fn stripped(node: *mut Node) -> *mut Node {
    if (*node).type_ != NodeTag::T_RestrictInfo {
        return node;
    }
    let info = &*node.cast::<pg_sys::RestrictInfo>();
    if info.orclause.is_null() { info.clause.cast() } else { info.orclause.cast() }
}
