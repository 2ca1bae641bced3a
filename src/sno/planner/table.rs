//! A table of a query, and the columns whose time stands in its conditions and orders, as `sno_time(column)`.

use pgrx::pg_sys::{
    self, FuncExpr, IndexOptInfo, List, Node, NodeTag, Oid, PlannerInfo, RTEKind, RelOptInfo,
};
use sno_core::Sno;

use crate::{
    pg::{
        nodes::{copy, each_index, nodes, nth_entry, variable},
        raw,
        versions::may_call,
    },
    sno::{
        id::c::sno_time,
        planner::operators::{Bound, FIRST, LAST, Operator, Operators, at_utc, is_function, of_utc},
    },
};

/// A table of the query.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) root: *mut PlannerInfo,
    pub(super) relation: *mut RelOptInfo,
    pub(super) relid: u32,
}

/// A column of type `sno`, as in `sno_time(column)`.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) column: *mut Node,
    /// Its number in the table.
    pub(super) attno: i16,
    /// The OID of `sno_time`.
    sno_time: Oid,
    /// The name of UTC in `sno_time(column) AT TIME ZONE 'UTC'`.
    zone: Option<*mut Node>,
    pub(super) operators: Operators,
}

impl Table {
    pub(super) unsafe fn new(root: *mut PlannerInfo, relation: *mut RelOptInfo) -> Self {
        Self { root, relation, relid: (*relation).relid }
    }

    /// The column in `sno_time(column)`, if it is one of this table; `None` if conditions on it stay as they are, or if
    /// the user may not call the function.
    pub(super) unsafe fn key(self, node: *mut Node) -> Option<Key> {
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
    pub(super) unsafe fn argument(self, node: *mut Node) -> Option<Key> {
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
    pub(super) unsafe fn column(self, node: *mut Node) -> Option<i16> {
        variable(node).filter(|var| var.varno as u32 == self.relid).map(|var| var.varattno)
    }
}

impl Key {
    pub(super) unsafe fn copy(self) -> Self {
        Self { column: copy(self.column), ..self }
    }

    /// What `sno_time(column) operator time` becomes, for all operators but `=`.
    pub(super) unsafe fn clause(self, operator: Operator, time: *mut Node) -> Option<*mut Node> {
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
