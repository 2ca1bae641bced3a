//! The selectivity of `<`, `<=`, `>`, `>=`: the planner expects as many rows as on a `timestamptz` column.
//!
//! The planner recognizes a range, a lower and an upper bound, only with PostgreSQL's own estimators, which are not exact
//! enough here ([`super::statistics`]). With any other estimator it multiplies the estimates of the two bounds: if half of
//! the table is after the lower bound and half of it before the upper one, it expects a quarter of the table, where the
//! range may be one hour. So this estimator, which serves the four operators, returns the conditional probability of a
//! condition, given the conditions that precede it. The planner's product is then the probability of all of them.
//!
//! The planner caches the estimate of a condition and uses it in all combinations. So one condition may precede another
//! only if it holds wherever the other is used. This is so if both bounds are constant during a scan, and if the first
//! is in the same list of conditions, all of which have to hold, or in a list around that one. In such a list lower
//! bounds precede upper ones; so if the predicate of a partial index `WHERE id >= …` replaces a condition, no other
//! estimate changes. Of several known lower or upper bounds only the tightest counts. The unknown ones count as one, which
//! the known one precedes.

use std::{
    cell::{Cell, LazyCell},
    slice,
};

use pgrx::{
    check_for_interrupts,
    pg_sys::{self, BoolExpr, BoolExprType, Datum, List, Node, NodeTag, Oid, VariableStatData},
};

use crate::{
    pg::{
        backend_local::BackendLocal,
        datum::Returned,
        fmgr::{Args, finfo},
        nodes::{is_stack_too_deep, nodes},
    },
    sno::planner::{
        comparison::{Comparison, Value},
        statistics::{UNKNOWN, nulls, share},
    },
};

finfo!(sno_ineqsel);
/// `sno_ineqsel(internal, oid, internal, integer) → double precision`: restriction estimator.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_ineqsel(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // A query may have thousands of conditions.
    check_for_interrupts!();
    // SAFETY: the arguments of a restriction estimator. What the planner passes is only read; statistics that an
    // error leaves behind are released with the transaction. No frame down to `estimated` has anything to drop.
    unsafe {
        let mut args = Args::new(fcinfo);
        let root = args.next::<Datum>().cast_mut_ptr::<pg_sys::PlannerInfo>();
        let operator = Oid::from(args.next::<Datum>().value() as u32);
        let operands = args.next::<Datum>().cast_mut_ptr::<List>();
        let relation = args.next::<i32>();

        // A user may create an operator with this estimator and one operand.
        let &[left, right] = nodes(operands) else { return UNKNOWN.into_datum() };
        let mut sides = [VariableStatData::default(); 2];
        pg_sys::examine_variable(root, left, relation, &mut sides[0]);
        pg_sys::examine_variable(root, right, relation, &mut sides[1]);
        let condition = match sides.map(|side| side.rel.is_null()) {
            [false, true] => Comparison::new(operator, right, true).zip(Some((left, 0))),
            [true, false] => Comparison::new(operator, left, false).zip(Some((right, 1))),
            _ => None,
        };
        let estimate = condition.map(|(condition, (ids, side))| {
            let (relation, statistics) = (&*sides[side].rel, &raw mut sides[side]);
            Column { root, relation, ids, statistics }.estimate(operands, condition)
        });
        for variable in sides {
            if let (Some(release), false) = (variable.freefunc, variable.statsTuple.is_null()) {
                release(variable.statsTuple);
            }
        }
        estimate.unwrap_or(UNKNOWN).into_datum()
    }
}

/// A column, or an expression, of a relation.
struct Column<'a> {
    root: *mut pg_sys::PlannerInfo,
    relation: &'a pg_sys::RelOptInfo,
    ids: *mut Node,
    statistics: *mut VariableStatData,
}

/// The shares of the rows that satisfy the lower and the upper bounds, as far as there are any.
type Shares = [Option<f64>; 2];

fn narrow(shares: &mut Shares, upper: bool, share: f64) {
    let side = &mut shares[usize::from(upper)];
    *side = Some(side.map_or(share, |known| known.min(share)));
}

/// The share of the rows that satisfy both, by PostgreSQL's formula.
fn conjunction(shares: Shares, nulls: f64) -> f64 {
    match shares {
        [None, None] => 1.0,
        [Some(share), None] | [None, Some(share)] => share,
        [Some(lower), Some(upper)] if lower == UNKNOWN || upper == UNKNOWN => {
            lower.min(upper).min(pg_sys::DEFAULT_RANGE_INEQ_SEL)
        }
        // Both leave out the nulls.
        [Some(lower), Some(upper)] => (lower + upper + nulls - 1.0).max(1e-10),
    }
}

impl Column<'_> {
    unsafe fn estimate(&self, operands: *mut List, condition: Comparison) -> f64 {
        // SAFETY: as for `sno_ineqsel`.
        unsafe {
            let value = condition.value(self.root);
            let Some(mut shares) = self.preceding(operands, condition, value) else { return 1.0 };
            let nulls = nulls(self.statistics);
            let given = conjunction(shares, nulls);
            narrow(&mut shares, condition.upper, share(self.root, self.statistics, condition, value));
            if given > 0.0 { (conjunction(shares, nulls) / given).min(1.0) } else { 1.0 }
        }
    }

    /// The shares of the conditions that precede a condition; `None` if a tighter bound makes it redundant.
    unsafe fn preceding(&self, operands: *mut List, condition: Comparison, value: Value) -> Option<Shares> {
        static TIGHTER: [Cursor; 2] = [Cursor::new(), Cursor::new()];

        // SAFETY: conditions of the planner's.
        unsafe {
            let Place { conditions, position, around } = self.place(operands);
            // Evaluated only if needed: most conditions are the only one of their list.
            let is_constant = LazyCell::new(|| condition.is_constant());
            let mut shares = if around == [None; 2] || *is_constant { around } else { [None; 2] };
            let redundant = TIGHTER[usize::from(condition.upper)].search(conditions, |number, &node| {
                if number == position {
                    return None;
                }
                let other = Comparison::of(clause(node), self.ids)?;
                if other.upper && !condition.upper || !*is_constant || !other.is_constant() {
                    return None;
                }
                let is_redundant = match (condition.upper, other.upper) {
                    (true, false) => {
                        let kept = cached_estimate(node).filter(|_| around == [None; 2]);
                        narrow(&mut shares, other.upper, kept.unwrap_or_else(|| self.share(other)));
                        false
                    }
                    (upper, _) => match (value, other.value(self.root)) {
                        // Of two bounds of one value the exclusive one is tighter; of two equal ones the first counts.
                        (Value::Known(value), Value::Known(by)) => match upper {
                            true => (by, other.inclusive, number) < (value, condition.inclusive, position),
                            false => (value, !condition.inclusive, number) < (by, !other.inclusive, position),
                        },
                        (Value::Unknown, Value::Known(_)) => {
                            narrow(&mut shares, upper, self.share(other));
                            false
                        }
                        (Value::Unknown, Value::Unknown) => number < position,
                        _ => false,
                    },
                };
                is_redundant.then_some(())
            });
            redundant.is_none().then_some(shares)
        }
    }

    unsafe fn share(&self, other: Comparison) -> f64 {
        // SAFETY: a condition of the planner's.
        unsafe { share(self.root, self.statistics, other, other.value(self.root)) }
    }

    /// Adds the bounds in a list of conditions.
    unsafe fn narrow_by_all(&self, shares: &mut Shares, conditions: &[*mut Node]) {
        for &node in conditions {
            // SAFETY: conditions of the planner's.
            unsafe {
                if let Some(other) =
                    Comparison::of(clause(node), self.ids).filter(|other| other.is_constant())
                {
                    narrow(shares, other.upper, self.share(other));
                }
            }
        }
    }

    /// The list of conditions that has the condition with these operands.
    unsafe fn place<'a>(&self, operands: *mut List) -> Place<'a> {
        // SAFETY: the planner's lists.
        unsafe {
            let own = nodes(self.relation.baserestrictinfo);
            let having = nodes((*(*self.root).parse).havingQual.cast());
            if let Some(place) = self.find(own, operands).or_else(|| self.find(having, operands)) {
                return place;
            }
            // The relation's own conditions hold, too, where a join or the predicate of an index on the ID is used. They
            // need not hold where an index on other columns is.
            let in_indexes = || {
                nodes(self.relation.indexlist).iter().find_map(|&index| {
                    let index = &*index.cast::<pg_sys::IndexOptInfo>();
                    let columns = &nodes(index.indextlist)[..index.nkeycolumns as usize];
                    let has_ids = columns.iter().any(|&column| {
                        pg_sys::equal((*column.cast::<pg_sys::TargetEntry>()).expr.cast(), self.ids.cast())
                    });
                    self.find(nodes(index.indpred), operands).zip(Some(has_ids))
                })
            };
            let in_joins = self.find(nodes(self.relation.joininfo), operands).zip(Some(true));
            // Conditions that exist only for an estimate, as for the elements of an array, are in no list.
            let nowhere = Place { conditions: &[], position: 0, around: [None; 2] };
            let (mut place, with_own) = in_joins.or_else(in_indexes).unwrap_or((nowhere, true));
            self.narrow_by_all(&mut place.around, if with_own { own } else { &[] });
            place
        }
    }

    /// Finds it in a list of conditions that all have to hold, or in a list below that.
    unsafe fn find<'a>(&self, conditions: &'a [*mut Node], operands: *mut List) -> Option<Place<'a>> {
        static CONDITION: Cursor = Cursor::new();
        static ALTERNATIVE: Cursor = Cursor::new();

        // Then it is as if it were in no list.
        if is_stack_too_deep() {
            return None;
        }
        // SAFETY: conditions of the planner's, told apart by their tags.
        unsafe {
            let is_it = |node: *mut Node| {
                (*node).type_ == NodeTag::T_OpExpr && (*node.cast::<pg_sys::OpExpr>()).args == operands
            };
            let found = |number, &node: &_| is_it(clause(node)).then_some(number);
            if let Some(position) = CONDITION.search(conditions, found) {
                return Some(Place { conditions, position, around: [None; 2] });
            }
            let mut place = conditions.iter().find_map(|&node| {
                let node = clause(node);
                match (*node).type_ {
                    NodeTag::T_BoolExpr => {
                        let BoolExpr { boolop, args, .. } = *node.cast();
                        match boolop {
                            BoolExprType::AND_EXPR => self.find(nodes(args), operands),
                            _ => ALTERNATIVE
                                .search(nodes(args), |_, part| self.find(slice::from_ref(part), operands)),
                        }
                    }
                    NodeTag::T_BooleanTest => {
                        let tested = &raw const (*node.cast::<pg_sys::BooleanTest>()).arg;
                        self.find(slice::from_ref(&*tested.cast()), operands)
                    }
                    _ => None,
                }
            })?;
            self.narrow_by_all(&mut place.around, conditions);
            Some(place)
        }
    }
}

/// The place of a condition.
struct Place<'a> {
    /// The list of conditions that it is in, all of which have to hold, and its position.
    conditions: &'a [*mut Node],
    position: usize,
    /// The shares of the conditions in the lists around that one.
    around: Shares,
}

/// The expression of a condition; of an OR, the one whose parts are `RestrictInfo` nodes, too.
unsafe fn clause(node: *mut Node) -> *mut Node {
    // SAFETY: a node of the planner's.
    unsafe {
        if (*node).type_ != NodeTag::T_RestrictInfo {
            return node;
        }
        let info = &*node.cast::<pg_sys::RestrictInfo>();
        if info.orclause.is_null() { info.clause.cast() } else { info.orclause.cast() }
    }
}

/// The estimate of a condition that the planner has cached.
unsafe fn cached_estimate(node: *mut Node) -> Option<f64> {
    // SAFETY: a node of the planner's.
    let kept = unsafe {
        ((*node).type_ == NodeTag::T_RestrictInfo).then(|| (*node.cast::<pg_sys::RestrictInfo>()).norm_selec)
    };
    kept.filter(|share| (0.0..=1.0).contains(share))
}

/// The position in a long list at which the last search ended and the next one starts. The planner asks for the estimates
/// of conditions in their order. With 10,000 conditions and searches that start at the first, planning would take a minute.
struct Cursor(BackendLocal<Cell<usize>>);

impl Cursor {
    const fn new() -> Self {
        // SAFETY: for statics of the estimator.
        Self(unsafe { BackendLocal::new(Cell::new(0)) })
    }

    fn search<'a, T>(
        &self,
        list: &'a [*mut Node],
        mut found: impl FnMut(usize, &'a *mut Node) -> Option<T>,
    ) -> Option<T> {
        let is_long = list.len() > 8;
        let start = if is_long && self.0.get() < list.len() { self.0.get() } else { 0 };
        (start..list.len()).chain(0..start).find_map(|number| {
            let result = found(number, &list[number])?;
            if is_long {
                self.0.set(number);
            }
            Some(result)
        })
    }
}
