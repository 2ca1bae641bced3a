//! Whether a query as such makes its rows no feed: a row that is inserted later would change which rows there were before.

use pgrx::pg_sys::{
    self, Const, FuncExpr, Node, NodeTag, Oid, Query, RangeTblEntry, SetOperation, SetOperationStmt,
};

use crate::{pg::nodes::nodes, sno::feed::columns::origin::Kind};

const fn later(what: &'static str) -> Kind {
    Kind { what, hint: "Leave that to the query that reads the feed." }
}

static LIMIT: Kind = later("It has LIMIT or OFFSET.");
static DISTINCT_ON: Kind = later("It has DISTINCT ON.");
static EXCEPT: Kind = later("It has EXCEPT or INTERSECT.");
static SAMPLE: Kind = later("It has TABLESAMPLE.");
static LOCKS: Kind = later("It has FOR UPDATE or FOR SHARE.");
pub(super) static AGGREGATE: Kind = later("Its key is an aggregate, or of a window function.");

pub(super) unsafe fn of_query(query: &Query) -> Option<&'static Kind> {
    if !is_constant(query.limitCount, None) || !is_constant(query.limitOffset, Some(0)) {
        Some(&LIMIT)
    } else if query.hasDistinctOn {
        Some(&DISTINCT_ON)
    } else if !query.rowMarks.is_null() {
        Some(&LOCKS)
    } else if !query.setOperations.is_null() && has_other_than_union(query.setOperations) {
        Some(&EXCEPT)
    } else {
        None
    }
}

/// The same of a relation in FROM.
pub(super) unsafe fn of_table(table: &RangeTblEntry) -> Option<&'static Kind> {
    (!table.tablesample.is_null()).then_some(&SAMPLE)
}

/// Whether a LIMIT or OFFSET is none, or a constant: null or this number.
unsafe fn is_constant(limit: *mut Node, number: Option<usize>) -> bool {
    if limit.is_null() {
        return true;
    }
    // A number is cast to bigint. Not evaluated: it could call a function of whoever has created the view.
    let mut limit = limit;
    if (*limit).type_ == NodeTag::T_FuncExpr {
        let FuncExpr { funcid, args, .. } = *limit.cast();
        if funcid == Oid::from(pg_sys::F_INT8_INT4) {
            limit = nodes(args)[0];
        }
    }
    (*limit).type_ == NodeTag::T_Const && {
        let Const { constisnull, constvalue, .. } = *limit.cast();
        constisnull || number == Some(constvalue.value())
    }
}

unsafe fn has_other_than_union(node: *mut Node) -> bool {
    // The leaves of a tree of set operations are references to subqueries.
    if (*node).type_ != NodeTag::T_SetOperationStmt {
        return false;
    }
    let SetOperationStmt { op, larg, rarg, .. } = *node.cast();
    op != SetOperation::SETOP_UNION || has_other_than_union(larg) || has_other_than_union(rarg)
}
