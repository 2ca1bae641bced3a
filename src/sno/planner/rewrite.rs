//! Conditions and orders on `sno_time(id)` become ones on `id`, which indexes and table partitions know.
//!
//! PostgreSQL has no way to tell the planner this of a function, so it is done in the query itself, when views have been
//! replaced by their tables. With `first` and `last` for the functions of [`crate::sno::time`],
//!
//! | condition | becomes |
//! |---|---|
//! | `sno_time(id) >= t` | `id >= first(t, false)` |
//! | `sno_time(id) > t` | `id >= first(t, true)` |
//! | `sno_time(id) <= t` | `id <= last(t, false)` |
//! | `sno_time(id) < t` | `id <= last(t, true)` |
//! | `sno_time(id) = t` | `id >= first(t, false) AND id <= last(t, false)` |
//! | `sno_time(a.id) < sno_time(b.id)` | `a.id <= last(sno_time(b.id), true) AND b.id >= first(sno_time(a.id), true)` |
//! | `sno_time(id) IS [NOT] NULL` | `id IS [NOT] NULL`, without joins |
//! | `(sno_time(id), …) < (t, …)`, and so on | the same `AND id <= last(t, false)` |
//! | `ORDER BY …, sno_time(id)`, also if `id` follows, of a partitioned table | `ORDER BY …, id` |
//!
//! The bound is null where no ID satisfies the condition, so the new condition is null where the old one is false. To
//! the clauses of WHERE and ON, and below AND and OR, that makes no difference. Other places are left alone; PostgreSQL
//! has already replaced `NOT (a < b)` by `a >= b`.

use std::{ffi::c_char, ptr};

use pgrx::{
    GucContext, GucFlags, GucRegistry, GucSetting,
    pg_sys::{
        self, BoolExprType, FromExpr, FuncExpr, IndexOptInfo, JoinExpr, JoinType, List, Node, NodeTag,
        NullTest, Oid, OpExpr, PlannerInfo, Query, RTEKind, RangeTblEntry, RelOptInfo, RestrictInfo,
        RowCompareExpr, SortGroupClause,
    },
};
use sno_core::Sno;

use crate::{
    pg::{
        nodes::{copy, each_index, nodes, nth_entry, variable},
        raw::{self, check_for_interrupts},
        versions::{may_call, on_table, restriction},
    },
    sno::{
        id::c::sno_time,
        planner::operators::{
            Bound, FIRST, LAST, Mark, Operator, Operators, at_utc, is_function, mark, of_utc, time_operator,
        },
    },
};

/// The setting `sno.enable_time_conditions`.
pub(crate) static ENABLED: GucSetting<bool> = GucSetting::<bool>::new(true);

/// Defines the setting and installs the hook, when the library is preloaded.
pub(crate) fn install() {
    GucRegistry::define_bool_guc(
        c"sno.enable_time_conditions",
        c"Enables the planner's use of indexes on IDs for conditions and orders on sno_time().",
        c"Queries have the same results without it.",
        &ENABLED,
        GucContext::Userset,
        GucFlags::default(),
    );
    on_table(rewrite);
}

unsafe fn rewrite(root: *mut PlannerInfo, relation: *mut RelOptInfo, entry: &RangeTblEntry) {
    if ENABLED.get() {
        Table::new(root, relation).rewrite(entry);
    }
}

/// A table of the query.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    relid: u32,
}

/// A column of type `sno`, as in `sno_time(column)`.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) column: *mut Node,
    /// Its number in the table.
    pub(crate) attno: i16,
    /// The OID of `sno_time`.
    sno_time: Oid,
    /// The name of UTC in `sno_time(column) AT TIME ZONE 'UTC'`.
    zone: Option<*mut Node>,
    pub(crate) operators: Operators,
}

/// What conditions stand in.
#[derive(Clone, Copy)]
struct Lists {
    /// They are ANDed, not ORed.
    anded: bool,
    /// They are of WHERE, or of ON of an inner join.
    inner: bool,
}

const RESTRICTIONS: Lists = Lists { anded: true, inner: true };

impl Table {
    pub(crate) unsafe fn new(root: *mut PlannerInfo, relation: *mut RelOptInfo) -> Self {
        Self { root, relation, relid: (*relation).relid }
    }

    unsafe fn rewrite(self, entry: &RangeTblEntry) {
        // The server of a foreign table may not have the functions.
        if entry.relkind == pg_sys::RELKIND_FOREIGN_TABLE as c_char {
            return;
        }
        for &index in nodes((*self.relation).indexlist) {
            let IndexOptInfo { indpred, .. } = &mut *index.cast();
            // A copy: the predicate of a hypothetical index (hypopg) belongs to the other library, which keeps it.
            *indpred = copy(indpred.cast()).cast();
            self.clauses(*indpred, RESTRICTIONS);
        }
        for &quals in nodes(entry.securityQuals) {
            self.clauses(quals.cast(), RESTRICTIONS);
        }
        match nth_entry((*self.root).append_rel_array, self.relid) {
            None => {
                self.join_tree((*(*self.root).parse).jointree.cast());
                if entry.relkind == pg_sys::RELKIND_PARTITIONED_TABLE as c_char {
                    self.order(&mut *(*self.root).parse);
                }
            }
            // An arm of UNION ALL is given the conditions on its result after this.
            Some(arm) => {
                let relid = (*arm).parent_relid;
                if let Some(relation) = nth_entry((*self.root).simple_rel_array, relid)
                    && (*relation).rtekind == RTEKind::RTE_SUBQUERY
                {
                    Self { relation, relid, ..self }.restrictions();
                }
            }
        }
    }

    /// Rewrites the conditions of WHERE and ON.
    unsafe fn join_tree(self, node: *mut Node) {
        // Conditions are lists by now.
        if node.is_null() || raw::stack_is_too_deep() {
            return;
        }
        match (*node).type_ {
            NodeTag::T_FromExpr => {
                let from = &*node.cast::<FromExpr>();
                for &part in nodes(from.fromlist) {
                    self.join_tree(part);
                }
                self.clauses(from.quals.cast(), RESTRICTIONS);
            }
            NodeTag::T_JoinExpr => {
                let join = &*node.cast::<JoinExpr>();
                self.join_tree(join.larg);
                self.join_tree(join.rarg);
                let inner = join.jointype == JoinType::JOIN_INNER;
                self.clauses(join.quals.cast(), Lists { anded: true, inner });
            }
            _ => {}
        }
    }

    /// Rewrites the conditions that are distributed to this relation already.
    unsafe fn restrictions(self) {
        let restrictions = (*self.relation).baserestrictinfo;
        for place in 0..nodes(restrictions).len() {
            let Some(&info) = nodes(restrictions).get(place) else { return };
            let info = &*info.cast::<RestrictInfo>();
            let clauses = raw::lappend(ptr::null_mut(), copy(info.clause.cast()).cast());
            self.clauses(clauses, RESTRICTIONS);
            let is = |info: &RestrictInfo, clause: *mut Node| raw::equal(info.clause.cast(), clause.cast());
            for (number, &clause) in nodes(clauses).iter().enumerate() {
                // Another arm of a UNION ALL may have added the same condition.
                if is(info, clause) || nodes(restrictions).iter().any(|&info| is(&*info.cast(), clause)) {
                    continue;
                }
                let info = restriction(self.root, clause, info);
                if number == 0 {
                    (*(*restrictions).elements.add(place)).ptr_value = info.cast();
                } else {
                    raw::lappend(restrictions, info.cast());
                }
            }
        }
    }

    /// Rewrites a list of conditions.
    unsafe fn clauses(self, list: *mut List, lists: Lists) {
        if list.is_null() || (*list).type_ != NodeTag::T_List || raw::stack_is_too_deep() {
            return;
        }
        for place in 0..(*list).length as usize {
            check_for_interrupts();
            let node = (*(*list).elements.add(place)).ptr_value.cast::<Node>();
            match (*node).type_ {
                NodeTag::T_BoolExpr => {
                    let pg_sys::BoolExpr { boolop, args, .. } = *node.cast();
                    if boolop != BoolExprType::NOT_EXPR {
                        let anded = boolop == BoolExprType::AND_EXPR;
                        self.clauses(args, Lists { anded, ..lists });
                    }
                }
                NodeTag::T_NullTest => {
                    let test = &mut *node.cast::<NullTest>();
                    let Some(key) = self.key(test.arg.cast()) else { continue };
                    // The statistics of the column do not count the nulls that an outer join adds: for a primary
                    // key, one row would be expected.
                    if (*self.root).hasJoinRTEs {
                        continue;
                    }
                    test.arg = key.column.cast();
                }
                type_ @ (NodeTag::T_OpExpr | NodeTag::T_RowCompareExpr) => {
                    let replacement = match type_ {
                        NodeTag::T_OpExpr => self.condition(&*node.cast(), lists.inner),
                        _ => self.rows(&*node.cast()).map(|bound| (node, Some(bound))),
                    };
                    let Some((mut clause, second)) = replacement else { continue };
                    if let Some(second) = second {
                        if lists.anded {
                            raw::lappend(list, second.cast());
                        } else {
                            let both = raw::lappend(ptr::null_mut(), clause.cast());
                            clause = raw::make_andclause(raw::lappend(both, second.cast())).cast();
                        }
                    }
                    (*(*list).elements.add(place)).ptr_value = clause.cast();
                }
                _ => {}
            }
        }
    }

    /// What a condition `sno_time(column) operator time` becomes.
    unsafe fn condition(self, expression: &OpExpr, inner: bool) -> Option<(*mut Node, Option<*mut Node>)> {
        let &[left, right] = nodes(expression.args) else { return None };
        let (key, operator, time) = self.comparison(left, expression.opno, right)?;
        if operator != Operator::Equal {
            if self.is_time_of_a_later_table(time) {
                // The condition stays, and is rewritten when the hook is called for the other table. In an inner join
                // the index of either may be the better one. In others it is that of the table on the right; and
                // PostgreSQL expects a semijoin to end its search at the first match only if its index has all
                // conditions.
                if !inner {
                    return None;
                }
                let same = ptr::from_ref(expression).cast_mut().cast();
                let added = key.copy().clause(operator, copy(time))?;
                mark(added, Mark::Repeated);
                return Some((same, Some(added)));
            }
            return Some((key.clause(operator, time)?, None));
        }
        // A join by `=` is better left to hash and merge joins.
        if self.is_joined(time) {
            return None;
        }
        let second = key.copy().clause(Operator::LessEqual, copy(time))?;
        let first = key.clause(Operator::GreaterEqual, time)?;
        mark(first, Mark::Equal);
        mark(second, Mark::Repeated);
        Some((first, Some(second)))
    }

    /// Whether a time is another table's, or a subquery's for each row.
    unsafe fn is_joined(self, time: *mut Node) -> bool {
        !raw::pull_varnos(self.root, time).is_null() || raw::contain_subplans(time)
    }

    /// What follows for the ID from `(sno_time(column), …) operator (time, …)`, as in queries for the next page.
    unsafe fn rows(self, expression: &RowCompareExpr) -> Option<*mut Node> {
        let (left, right) = (*nodes(expression.largs).first()?, *nodes(expression.rargs).first()?);
        let operator = (*(*expression.opnos).elements).oid_value;
        let (key, operator, time) = self.comparison(left, operator, right)?;
        if self.is_joined(time) {
            return None;
        }
        let operator = if operator.is_less() { Operator::LessEqual } else { Operator::GreaterEqual };
        key.copy().clause(operator, copy(time))
    }

    /// The parts of `sno_time(column) operator time`, also if it is written the other way round.
    unsafe fn comparison(
        self,
        left: *mut Node,
        operator: Oid,
        right: *mut Node,
    ) -> Option<(Key, Operator, *mut Node)> {
        let operator = time_operator(operator)?;
        let (key, time, commuted) = match self.key(left) {
            Some(key) => (key, right, false),
            None => (self.key(right)?, left, true),
        };
        let tables = raw::pull_varnos(self.root, time);
        if raw::contain_volatile_functions(time) || raw::bms_is_member(self.relid as i32, tables) {
            return None;
        }
        Some((key, if commuted { operator.commutator()? } else { operator }, time))
    }

    /// Whether an expression is `sno_time` of a column of another table, for which the hook is still to be called.
    unsafe fn is_time_of_a_later_table(self, time: *mut Node) -> bool {
        let time = at_utc(time).map_or(time, |(_, time)| time);
        if (*time).type_ != NodeTag::T_FuncExpr {
            return false;
        }
        let &[argument] = nodes((*time.cast::<FuncExpr>()).args) else { return false };
        let Some(relid) = variable(argument).map(|column| column.varno as u32) else { return false };
        let is_table = |entry: *mut RangeTblEntry| (*entry).rtekind == RTEKind::RTE_RELATION;
        nth_entry((*self.root).simple_rte_array, relid).is_some_and(is_table)
            && nth_entry((*self.root).simple_rel_array, relid).is_none()
            && Self { relid, ..self }.argument(time).is_some()
    }

    /// Rewrites ORDER BY, unless other clauses depend on it. To sort by the ID is to sort by its time, and then
    /// further.
    ///
    /// A path that was added would not do: for a query of one partitioned table, PostgreSQL makes its paths once more after
    /// the last hook (`apply_scanjoin_target_to_paths`), and only knows that the partitions are ordered by the ID.
    unsafe fn order(self, query: &mut Query) {
        if query.commandType != pg_sys::CmdType::CMD_SELECT
            || query.hasWindowFuncs
            || query.limitOption == pg_sys::LimitOption::LIMIT_OPTION_WITH_TIES
            || !query.groupClause.is_null()
            || !query.distinctClause.is_null()
        {
            return;
        }
        let list = (*self.root).processed_tlist;
        for (place, &node) in nodes(query.sortClause).iter().enumerate() {
            let sort = &mut *node.cast::<SortGroupClause>();
            let Some(key) = self.key(raw::get_sortgroupclause_expr(sort, list)) else { continue };
            let Some(operator) = time_operator(sort.sortop) else { return };
            let by_id = key.operators.oid(operator);
            // NULLS FIRST or LAST makes no difference to what comes after it: rows without a time have no ID either.
            let is_id = |next: &SortGroupClause| {
                self.column(raw::get_sortgroupclause_expr(next, list)) == Some(key.attno)
                    && next.sortop == by_id
            };
            if nodes(query.sortClause).get(place + 1).is_none_or(|next| is_id(&*next.cast())) {
                sort.tleSortGroupRef = self.sort_reference(key.column);
                sort.eqop = key.operators.oid(Operator::Equal);
                sort.sortop = by_id;
                sort.hashable = true;
            }
            return;
        }
    }

    /// The number by which a clause of ORDER BY can refer to a column, which becomes a part of the target list.
    unsafe fn sort_reference(self, column: *mut Node) -> u32 {
        // The target list is not empty.
        let list = (*self.root).processed_tlist;
        let mut entry = raw::tlist_member(column.cast(), list);
        if entry.is_null() {
            let place = (*list).length as i16 + 1;
            entry = raw::makeTargetEntry(copy(column).cast(), place, ptr::null_mut(), true);
            raw::lappend(list, entry.cast());
        }
        raw::assignSortGroupRef(entry, list)
    }

    /// The column in `sno_time(column)`, if it is one of this table; `None` if conditions on it stay as they are, or if
    /// the user may not call the function.
    unsafe fn key(self, node: *mut Node) -> Option<Key> {
        self.argument(node).filter(|key| !self.is_by_time(key.attno) && may_call(key.sno_time))
    }

    /// Whether partitions are by `sno_time` of a column, or it is in an index and none begins with the column: then
    /// conditions have to stay as they are.
    unsafe fn is_by_time(self, attno: i16) -> bool {
        if let Some(child) = nth_entry((*self.root).append_rel_array, self.relid) {
            // Its conditions are its parent's, so its predicates have to be, too.
            let relid = (*child).parent_relid;
            let attno = *(*child).parent_colnos.add(attno as usize - 1);
            let parent = nth_entry((*self.root).simple_rel_array, relid);
            return parent.is_some_and(|relation| Self { relation, relid, ..self }.is_by_time(attno));
        }
        let relation = &*self.relation;
        let is_time = |&node: &*mut Node| self.argument(node).is_some_and(|key| key.attno == attno);
        let parts = relation.part_scheme.as_ref().map_or(0, |scheme| scheme.partnatts as usize);
        let mut parts = (0..parts).flat_map(|place| nodes(*relation.partexprs.add(place)));
        if parts.clone().any(is_time) {
            return true;
        }
        let (mut by_time, mut by_column) =
            (false, parts.next().is_some_and(|&node| self.column(node) == Some(attno)));
        self.indexes(|column, expressions| {
            by_time |= nodes(expressions).iter().any(is_time);
            by_column |= column == i32::from(attno);
        });
        by_time && !by_column
    }

    /// The indexes of the table: of each the first column, 0 if that is an expression, and its expressions.
    unsafe fn indexes(self, mut look: impl FnMut(i32, *mut List)) {
        let indexes = (*self.relation).indexlist;
        for &index in nodes(indexes) {
            let IndexOptInfo { indexkeys, indexprs, .. } = *index.cast();
            look(*indexkeys, indexprs);
        }
        // PostgreSQL does not list those of a table that has children; of a partitioned one, it does from 16 on.
        if let Some(entry) = nth_entry((*self.root).simple_rte_array, self.relid)
            && indexes.is_null()
            && (*entry).inh
            && (*entry).rtekind == RTEKind::RTE_RELATION
        {
            each_index((*entry).relid, self.relid, look);
        }
    }

    /// The column in `sno_time(column)`, or in the same `AT TIME ZONE 'UTC'`, if it is one of this table.
    pub(crate) unsafe fn argument(self, node: *mut Node) -> Option<Key> {
        let (zone, node) = at_utc(node).map_or((None, node), |(zone, time)| (Some(zone), time));
        if (*node).type_ != NodeTag::T_FuncExpr {
            return None;
        }
        let call = &*node.cast::<FuncExpr>();
        let &[column] = nodes(call.args) else { return None };
        let attno = self.column(column)?;
        if !is_function(call.funcid, sno_time) {
            return None;
        }
        let operators = Operators::of(raw::exprType(column))?;
        Some(Key { column, attno, sno_time: call.funcid, zone, operators })
    }

    /// The number of a column, if the expression is one of this table.
    unsafe fn column(self, node: *mut Node) -> Option<i16> {
        variable(node).filter(|var| var.varno as u32 == self.relid).map(|var| var.varattno)
    }
}

impl Key {
    unsafe fn copy(self) -> Self {
        Self { column: copy(self.column), ..self }
    }

    /// What `sno_time(column) operator time` becomes, for all operators but `=`.
    unsafe fn clause(self, operator: Operator, time: *mut Node) -> Option<*mut Node> {
        let exclusive = !operator.is_inclusive();
        let (operator, name, [of_timestamptz, of_timestamp, of_date], value): (_, _, _, fn(_, _) -> _) =
            if operator.is_less() {
                (Operator::LessEqual, c"sno_last", LAST, Sno::last)
            } else {
                (Operator::GreaterEqual, c"sno_first", FIRST, Sno::first)
            };
        // A time without a time zone is compared with another one; with a `timestamptz`, it depends on the session.
        let time = match self.zone {
            Some(zone) => of_utc(zone, time)?,
            None => time,
        };
        let function = match raw::exprType(time) {
            pg_sys::TIMESTAMPTZOID => of_timestamptz,
            pg_sys::TIMESTAMPOID => of_timestamp,
            pg_sys::DATEOID => of_date,
            _ => return None,
        };
        let bound = Bound { name, function, of: |micros| value(micros, exclusive) };
        let bound = self.operators.bound(bound, time, Some(exclusive))?;
        self.operators.clause(operator, self.column, bound)
    }
}
