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

use crate::{
    pg::{
        nodes::{copy, nodes, nth_entry, variable},
        raw::{self, check_for_interrupts},
        versions::{on_table, restriction},
    },
    sno::planner::{
        operators::{Mark, Operator, at_utc, mark, time_operator},
        table::{Key, Table},
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
}
