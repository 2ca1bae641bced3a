//! How many rows the planner expects of `<`, `<=`, `>`, `>=`: as many as it would on a `timestamptz`.
//!
//! PostgreSQL's estimators know that a bound lies in some bucket of the histogram, and for types whose values
//! they can't turn into numbers they take it to be in the middle. So two bounds in one bucket come out as no
//! rows at all: of 2 million IDs, one a second, a bucket is 5.5 hours. An ID's place in its bucket is known
//! exactly. But the planner recognizes the two bounds of a range only by its own estimators, and with any
//! others it multiplies: half of the table after one bound times half of it before the other makes a quarter,
//! where it may be an hour.
//!
//! So here one estimator serves the four operators, and looks for the other bounds itself. In a list of
//! conditions that all have to hold, each is estimated by what it leaves over of what those before it left
//! over: the product, which the planner makes, is the estimate of all of them together.

use std::{cmp::Ordering, ffi::c_int, ptr};

use pgrx::pg_sys::{self, Datum, NodeTag, Oid};
use sno_core::Sno;

use crate::{
    compare::{sno_ge, sno_gt, sno_le, sno_lt},
    nodes::nodes,
    remember::Remembered,
    v1::{Args, Argument, Returned, finfo},
};

/// What PostgreSQL takes for one bound of which nothing is known, and for two.
const ONE_BOUND: f64 = pg_sys::DEFAULT_INEQ_SEL;
const TWO_BOUNDS: f64 = pg_sys::DEFAULT_RANGE_INEQ_SEL;
/// And for two of which it is known that hardly anything lies between them.
const NOTHING: f64 = 1e-10;

finfo!(sno_ineqsel);
/// `sno_ineqsel(internal, oid, internal, integer) → double precision`: restriction estimator.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_ineqsel(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: the arguments of a restriction estimator. What the planner passes is only read.
    unsafe {
        let mut args = Args::new(fcinfo);
        let root = args.next::<Datum>().cast_mut_ptr::<pg_sys::PlannerInfo>();
        let operator = Oid::from(args.next::<Datum>().value() as u32);
        let operands = args.next::<Datum>().cast_mut_ptr::<pg_sys::List>();
        let relation = args.next::<i32>();
        estimate(root, (*(*fcinfo).flinfo).fn_oid, operator, operands, relation).into_datum()
    }
}

unsafe fn estimate(
    root: *mut pg_sys::PlannerInfo,
    estimator: Oid,
    operator: Oid,
    operands: *mut pg_sys::List,
    relation: c_int,
) -> f64 {
    let mut column = pg_sys::VariableStatData::default();
    let (mut other, mut column_first) = (ptr::null_mut(), false);
    // SAFETY: as for `sno_ineqsel`; the statistics are released at the end, or by the transaction's after an
    // error.
    unsafe {
        if !pg_sys::get_restriction_variable(
            root,
            operands,
            relation,
            &mut column,
            &mut other,
            &mut column_first,
        ) {
            return ONE_BOUND;
        }
        let expression = nodes(operands)[usize::from(!column_first)];
        let this = Side::of(operator, column_first).map(|side| Bound { side, value: Value::of(other) });
        let share = this.map_or(ONE_BOUND, |this| {
            let mut range = Range::default();
            let mut first = true;
            for_each_before(column.rel, operands, &mut |condition| {
                let Some(sibling) = Sibling::of(root, estimator, column.rel, expression, condition) else {
                    return;
                };
                // The first one stands for itself, and has been estimated most of the time.
                let share = match sibling.estimated.filter(|_| first) {
                    Some(share) => Share((share != ONE_BOUND).then_some(share)),
                    None => sibling.bound(root).share(root, &mut column),
                };
                range.narrow(sibling.side.upper, share);
                first = false;
            });
            let before = range.share(&column);
            range.narrow(this.side.upper, this.share(root, &mut column));
            if before > 0.0 { (range.share(&column) / before).min(1.0) } else { 1.0 }
        });
        if let (Some(release), false) = (column.freefunc, column.statsTuple.is_null()) {
            release(column.statsTuple);
        }
        share
    }
}

/// What is known of the conditions on a column so far.
#[derive(Clone, Copy, Default)]
struct Range {
    /// Share of the rows that its tightest lower bound leaves over.
    lower: Option<Share>,
    upper: Option<Share>,
}

/// A share of a column's rows, or unknown.
#[derive(Clone, Copy)]
struct Share(Option<f64>);

impl Range {
    fn narrow(&mut self, upper: bool, share: Share) {
        let known = if upper { &mut self.upper } else { &mut self.lower };
        if known.is_none_or(|known| share.0.unwrap_or(ONE_BOUND) < known.0.unwrap_or(ONE_BOUND)) {
            *known = Some(share);
        }
    }

    fn share(self, column: &pg_sys::VariableStatData) -> f64 {
        match (self.lower, self.upper) {
            (None, None) => 1.0,
            (Some(Share(share)), None) | (None, Some(Share(share))) => share.unwrap_or(ONE_BOUND),
            (Some(Share(None)), Some(Share(None))) => TWO_BOUNDS,
            (Some(Share(Some(share))), Some(Share(None))) | (Some(Share(None)), Some(Share(Some(share)))) => {
                share.min(TWO_BOUNDS)
            }
            (Some(Share(Some(lower))), Some(Share(Some(upper)))) => {
                // Both leave out the nulls.
                (lower + upper + nulls(column) - 1.0).max(NOTHING)
            }
        }
    }
}

/// A condition on a column.
#[derive(Clone, Copy)]
struct Bound {
    side: Side,
    value: Value,
}

/// Which of the four operators, with the column on the left.
#[derive(Clone, Copy)]
struct Side {
    operator: Oid,
    upper: bool,
    inclusive: bool,
}

#[derive(Clone, Copy)]
enum Value {
    Known(Sno),
    Null,
    Unknown,
}

impl Side {
    unsafe fn of(operator: Oid, column_first: bool) -> Option<Self> {
        static SIDES: Remembered<Side> = Remembered::new();

        // SAFETY: look-ups of an operator that exists.
        unsafe {
            let operator = if column_first { operator } else { pg_sys::get_commutator(operator) };
            SIDES.get(operator, || {
                let procedure = pg_sys::get_opcode(operator);
                if procedure == pg_sys::InvalidOid {
                    return None;
                }
                let mut function = pg_sys::FmgrInfo::default();
                pg_sys::fmgr_info(procedure, &mut function);
                let address = function.fn_addr? as usize;
                let (upper, inclusive) = [
                    (sno_lt as *const () as usize, (true, false)),
                    (sno_le as *const () as usize, (true, true)),
                    (sno_gt as *const () as usize, (false, false)),
                    (sno_ge as *const () as usize, (false, true)),
                ]
                .into_iter()
                .find_map(|(known, side)| (known == address).then_some(side))?;
                Some(Self { operator, upper, inclusive })
            })
        }
    }

    /// Whether a value that compares so with the bound is on this side of it.
    fn holds(self, order: Ordering) -> bool {
        match order {
            Ordering::Less => self.upper,
            Ordering::Equal => self.inclusive,
            Ordering::Greater => !self.upper,
        }
    }
}

impl Value {
    /// Of an expression that was reduced for estimates, where `now()` and parameters have values.
    unsafe fn of(node: *mut pg_sys::Node) -> Self {
        // SAFETY: a node of the planner's; a constant that is compared with a sno is one.
        unsafe {
            if (*node).type_ != NodeTag::T_Const {
                return Self::Unknown;
            }
            let constant = &*node.cast::<pg_sys::Const>();
            if constant.constisnull { Self::Null } else { Self::Known(Sno::from_datum(constant.constvalue)) }
        }
    }
}

impl Bound {
    unsafe fn share(self, root: *mut pg_sys::PlannerInfo, column: &mut pg_sys::VariableStatData) -> Share {
        match self.value {
            Value::Null => Share(Some(0.0)),
            Value::Unknown => Share(None),
            Value::Known(_) if column.statsTuple.is_null() => Share(None),
            // SAFETY: the column's statistics are there.
            Value::Known(value) => Share(Some(unsafe { known_share(root, column, self.side, value) })),
        }
    }
}

/// Share of the nulls.
fn nulls(column: &pg_sys::VariableStatData) -> f64 {
    if column.statsTuple.is_null() {
        return 0.0;
    }
    // SAFETY: a row of pg_statistic.
    f64::from(unsafe {
        (*pg_sys::GETSTRUCT(column.statsTuple).cast::<pg_sys::FormData_pg_statistic>()).stanullfrac
    })
}

/// What PostgreSQL's `scalarineqsel` does, with the place of the value in its bucket.
unsafe fn known_share(
    root: *mut pg_sys::PlannerInfo,
    column: &mut pg_sys::VariableStatData,
    side: Side,
    value: Sno,
) -> f64 {
    // SAFETY: the column has statistics.
    unsafe {
        let (of_common, common) = common_values(column, side, value);
        let of_others = match Histogram::of(column) {
            Some(histogram) => match histogram.inner_bucket(value) {
                Some(number) => histogram.share(column, side, value, number),
                None => histogram.share_at_an_end(root, column, side, value),
            },
            None => 0.5,
        };
        (of_others * (1.0 - nulls(column) - common) + of_common).clamp(0.0, 1.0)
    }
}

/// The share of the common values that satisfy the condition, and of all of them.
unsafe fn common_values(column: &mut pg_sys::VariableStatData, side: Side, value: Sno) -> (f64, f64) {
    // SAFETY: the column has statistics; the function information and the value outlive the call.
    unsafe {
        if statistics(column, pg_sys::STATISTIC_KIND_MCV).is_none() {
            return (0.0, 0.0);
        }
        let mut function = pg_sys::FmgrInfo::default();
        pg_sys::fmgr_info(pg_sys::get_opcode(side.operator), &mut function);
        let constant = Datum::from(value.as_bytes().as_ptr());
        let mut common = 0.0;
        let of_common =
            pg_sys::mcv_selectivity(column, &mut function, pg_sys::InvalidOid, constant, true, &mut common);
        (of_common, common)
    }
}

/// Which of a column's kinds of statistics is of this kind.
unsafe fn statistics(column: &pg_sys::VariableStatData, kind: u32) -> Option<u32> {
    // SAFETY: a row of pg_statistic.
    let row = unsafe { &*pg_sys::GETSTRUCT(column.statsTuple).cast::<pg_sys::FormData_pg_statistic>() };
    let kinds = [row.stakind1, row.stakind2, row.stakind3, row.stakind4, row.stakind5];
    kinds.into_iter().zip(0..).find_map(|(found, number)| (found as u32 == kind).then_some(number))
}

/// The values between which a column's rows lie in buckets of one size; those without the common values.
struct Histogram<'a>(&'a [Sno]);

impl Histogram<'_> {
    unsafe fn of(column: &pg_sys::VariableStatData) -> Option<Self> {
        /// `sizeof(ArrayType)` with one dimension, aligned.
        const HEADER: usize = 24;

        // SAFETY: the column has statistics, which stay where they are until they are released; in an array,
        // values of a fixed length without alignment lie one after another, which its size confirms.
        unsafe {
            let number = statistics(column, pg_sys::STATISTIC_KIND_HISTOGRAM)?;
            let mut missing = true;
            let values = pg_sys::SysCacheGetAttr(
                pg_sys::SysCacheIdentifier::STATRELATTINH as c_int,
                column.statsTuple,
                (pg_sys::Anum_pg_statistic_stavalues1 + number) as pg_sys::AttrNumber,
                &mut missing,
            );
            if missing {
                return None;
            }
            let array = pg_sys::pg_detoast_datum(values.cast_mut_ptr());
            let start = array.cast::<u8>().add(HEADER).cast::<Sno>();
            let one_dimension = array.cast::<pg_sys::ArrayType>().read();
            let length = pgrx::varsize_any(array).checked_sub(HEADER)? / size_of::<Sno>();
            let whole = one_dimension.ndim == 1
                && one_dimension.dataoffset == 0
                && pgrx::varsize_any(array) == HEADER + length * size_of::<Sno>();
            (whole && length >= 2).then(|| Self(std::slice::from_raw_parts(start, length)))
        }
    }

    fn buckets(&self) -> f64 {
        (self.0.len() - 1) as f64
    }

    /// The number of the bucket that holds a value, neither the first nor the last.
    fn inner_bucket(&self, value: Sno) -> Option<usize> {
        let number = self.0.partition_point(|bound| *bound < value).checked_sub(1)?;
        (1..self.0.len() - 2).contains(&number).then_some(number)
    }

    /// Share of the rows for which the condition holds.
    unsafe fn share(
        &self,
        column: &mut pg_sys::VariableStatData,
        side: Side,
        value: Sno,
        number: usize,
    ) -> f64 {
        let [below, above] = [self.0[number], self.0[number + 1]];
        let up_to = (number as f64 + value.distance(below) / above.distance(below)) / self.buckets();
        // The value itself is counted, as are its repetitions.
        let without = if side.upper == side.inclusive {
            0.0
        } else {
            // SAFETY: the column has statistics.
            unsafe { one_value(column) }
        };
        let below = (up_to - without).clamp(0.0, 1.0);
        if side.upper { below } else { 1.0 - below }
    }

    /// The same in the first and the last bucket, and beyond: PostgreSQL's own search looks up the column's
    /// present ends in an index then. The values that it compares with are those that the bucket lies between.
    unsafe fn share_at_an_end(
        &self,
        root: *mut pg_sys::PlannerInfo,
        column: &mut pg_sys::VariableStatData,
        side: Side,
        value: Sno,
    ) -> f64 {
        let mut probe = Probe { side, value, below: None, above: None };
        let mut function = pg_sys::FmgrInfo {
            fn_addr: Some(listen),
            fn_extra: ptr::from_mut(&mut probe).cast(),
            fn_nargs: 2,
            fn_strict: true,
            ..Default::default()
        };
        // SAFETY: the column has a histogram; the function information, the probe and the value outlive the
        // call.
        let share = unsafe {
            // Statistics may be looked at if this function is leakproof, where they may not by everyone.
            function.fn_oid = pg_sys::get_opcode(side.operator);
            pg_sys::ineq_histogram_selectivity(
                root,
                column,
                side.operator,
                &mut function,
                !side.upper,
                side.inclusive,
                pg_sys::InvalidOid,
                Datum::from(value.as_bytes().as_ptr()),
                column.vartype,
            )
        };
        match (probe.below, probe.above) {
            _ if share < 0.0 => 0.5,
            (Some(below), Some(above)) => {
                // The middle of the bucket has been taken.
                let offset = (value.distance(below) / above.distance(below) - 0.5) / self.buckets();
                (share + if side.upper { offset } else { -offset }).clamp(0.0, 1.0)
            }
            _ => share,
        }
    }
}

/// Share of the rows that one value has, which is not among the common ones.
unsafe fn one_value(column: &mut pg_sys::VariableStatData) -> f64 {
    let mut guessed = false;
    // SAFETY: the column has statistics.
    unsafe {
        let mut values = pg_sys::get_variable_numdistinct(column, &mut guessed);
        if statistics(column, pg_sys::STATISTIC_KIND_MCV).is_some() {
            let mut slot = pg_sys::AttStatsSlot::default();
            pg_sys::get_attstatsslot(
                &mut slot,
                column.statsTuple,
                pg_sys::STATISTIC_KIND_MCV as c_int,
                pg_sys::InvalidOid,
                pg_sys::ATTSTATSSLOT_NUMBERS as c_int,
            );
            values -= f64::from(slot.nnumbers);
            pg_sys::free_attstatsslot(&mut slot);
        }
        if values > 1.0 { 1.0 / values } else { 0.0 }
    }
}

/// Takes the operator's place during a search.
struct Probe {
    side: Side,
    value: Sno,
    /// The nearest values that were met.
    below: Option<Sno>,
    above: Option<Sno>,
}

unsafe extern "C-unwind" fn listen(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: called by the search in `share_at_an_end`, with its probe, a value of the histogram, and the constant.
    let (probe, met) = unsafe {
        let probe = &mut *(*(*fcinfo).flinfo).fn_extra.cast::<Probe>();
        (probe, Args::new(fcinfo).next::<Sno>())
    };
    let order = met.cmp(&probe.value);
    let holds = probe.side.holds(order);
    // The search goes to the right of a value for which an upper bound holds, or a lower one does not.
    if holds == probe.side.upper {
        probe.below = Some(met);
    } else {
        probe.above = Some(met);
    }
    holds.into_datum()
}

/// Another condition on the column.
struct Sibling {
    side: Side,
    other: *mut pg_sys::Node,
    /// As the planner keeps it.
    estimated: Option<f64>,
}

impl Sibling {
    unsafe fn of(
        root: *mut pg_sys::PlannerInfo,
        estimator: Oid,
        relation: *mut pg_sys::RelOptInfo,
        column: *mut pg_sys::Node,
        condition: *mut pg_sys::Node,
    ) -> Option<Self> {
        // SAFETY: nodes of the planner's, told apart by their tags.
        unsafe {
            let node = clause(condition);
            if (*node).type_ != NodeTag::T_OpExpr {
                return None;
            }
            let expression = &*node.cast::<pg_sys::OpExpr>();
            if pg_sys::get_oprrest(expression.opno) != estimator {
                return None;
            }
            // Anyone's operator may have this estimator, and one operand.
            let [left, right] = nodes(expression.args)[..] else { return None };
            let operands = [left, right];
            let column_first = pg_sys::equal(operands[0].cast(), column.cast());
            let other = operands[usize::from(column_first)];
            if !column_first && !pg_sys::equal(operands[1].cast(), column.cast()) {
                return None;
            }
            // A bound that differs from row to row is none.
            if (*other).type_ != NodeTag::T_Const
                && pg_sys::bms_is_member((*relation).relid as c_int, pg_sys::pull_varnos(root, other))
            {
                return None;
            }
            let estimated = ((*condition).type_ == NodeTag::T_RestrictInfo)
                .then(|| (*condition.cast::<pg_sys::RestrictInfo>()).norm_selec)
                .filter(|share| (0.0..=1.0).contains(share));
            Some(Self { side: Side::of(expression.opno, column_first)?, other, estimated })
        }
    }

    unsafe fn bound(&self, root: *mut pg_sys::PlannerInfo) -> Bound {
        // SAFETY: an expression that is compared with a sno.
        let value = unsafe { Value::of(pg_sys::estimate_expression_value(root, self.other)) };
        Bound { side: self.side, value }
    }
}

/// Calls for each condition that stands before the one with these operands and has to hold together with it.
///
/// The relation's own conditions are told apart by their addresses. One that is not among them, but made up
/// for an estimate, stands alone.
unsafe fn for_each_before(
    relation: *mut pg_sys::RelOptInfo,
    operands: *mut pg_sys::List,
    call: &mut dyn FnMut(*mut pg_sys::Node),
) {
    if relation.is_null() {
        return;
    }
    // SAFETY: the planner's lists; they hold RestrictInfos.
    unsafe {
        if let Some(conditions) = before((*relation).baserestrictinfo, operands) {
            conditions.iter().copied().for_each(call);
            return;
        }
        // A bound that comes from another relation, as in a nested loop; it is met after the relation's own.
        let joins = nodes((*relation).joininfo);
        let relations = |node: *mut pg_sys::Node| (*node.cast::<pg_sys::RestrictInfo>()).clause_relids;
        let Some(place) = joins.iter().position(|&node| is_with(clause(node), operands)) else { return };
        let with_the_same = joins[..place]
            .iter()
            .filter(|&&node| pg_sys::bms_equal(relations(node), relations(joins[place])));
        nodes((*relation).baserestrictinfo).iter().chain(with_the_same).copied().for_each(call);
    }
}

/// The conditions before the one with these operands, in a list of conditions that all have to hold, or in
/// one below it.
unsafe fn before<'a>(
    conditions: *const pg_sys::List,
    operands: *mut pg_sys::List,
) -> Option<&'a [*mut pg_sys::Node]> {
    // SAFETY: the planner's list.
    unsafe {
        let conditions = nodes(conditions);
        match conditions.iter().position(|&node| is_with(clause(node), operands)) {
            Some(place) => Some(&conditions[..place]),
            None => conditions.iter().find_map(|&node| before_below(node, operands)),
        }
    }
}

/// The same below a condition: of alternatives, each stands alone unless it is itself such a list.
unsafe fn before_below<'a>(
    node: *mut pg_sys::Node,
    operands: *mut pg_sys::List,
) -> Option<&'a [*mut pg_sys::Node]> {
    // SAFETY: nodes of the planner's, told apart by their tags.
    unsafe {
        let node = clause(node);
        if (*node).type_ != NodeTag::T_BoolExpr {
            return is_with(node, operands).then_some(&[]);
        }
        let expression = &*node.cast::<pg_sys::BoolExpr>();
        if expression.boolop == pg_sys::BoolExprType::AND_EXPR {
            return before(expression.args, operands);
        }
        nodes(expression.args).iter().find_map(|&part| before_below(part, operands))
    }
}

/// The expression of a condition; of one with alternatives, that whose parts are conditions, too.
unsafe fn clause(node: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: a node of the planner's.
    unsafe {
        if (*node).type_ != NodeTag::T_RestrictInfo {
            return node;
        }
        let info = &*node.cast::<pg_sys::RestrictInfo>();
        if info.orclause.is_null() { info.clause.cast() } else { info.orclause.cast() }
    }
}

unsafe fn is_with(node: *mut pg_sys::Node, operands: *mut pg_sys::List) -> bool {
    // SAFETY: a node of the planner's.
    unsafe { (*node).type_ == NodeTag::T_OpExpr && (*node.cast::<pg_sys::OpExpr>()).args == operands }
}
