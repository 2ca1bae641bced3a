//! Columns of views: by their numbers, since their names change; and what of a view makes its rows no feed.

use std::ffi::CStr;

use pgrx::pg_sys::{
    self, CommonTableExpr, Datum, FromExpr, JoinExpr, JoinType, List, Node, NodeTag, Oid, Query, RTEKind,
    RangeTblEntry, RangeTblRef, SetOperation, SetOperationStmt, TargetEntry,
};

use crate::pg::{
    datum::varlena,
    fmgr::{Row, export},
    nodes::{nodes, variable},
};

export! { sno_origin }

/// `sno_origin(view regclass, number integer) → (relation regclass, number integer, fault text, hint text)`: the column of a table or of another
/// view that a column of a view shows; nulls if it is an expression. By numbers, since a column of a view can be renamed, and its query keeps
/// the old name. The fault is why a feed of the view with this key would miss rows.
fn sno_origin(view: i32, number: i32) -> Row<4> {
    // SAFETY: PostgreSQL's description of the view, which is used while it is open.
    let (relation, number, fault) = unsafe {
        let view = pg_sys::try_relation_open(Oid::from(view as u32), pg_sys::AccessShareLock as i32);
        if view.is_null() {
            return [None::<Datum>.into(); 4];
        }
        // Any role may call it, with anything: other relations have no query, and nobody's is locked any longer than this takes.
        let is_view = (*(*view).rd_rel).relkind as u8 == pg_sys::RELKIND_VIEW;
        let query = is_view.then(|| pg_sys::get_view_query(view));
        let origin = query
            .and_then(|query| column(query, number))
            .map_or((Oid::INVALID, 0), |column| (column.resorigtbl, column.resorigcol));
        let fault = query.and_then(|query| fault(&Level { query, outer: None }, number));
        pg_sys::relation_close(view, pg_sys::AccessShareLock as i32);
        (origin.0, origin.1, fault)
    };
    let is_there = relation != Oid::INVALID && number > 0;
    [
        is_there.then(|| Datum::from(relation)).into(),
        is_there.then(|| i32::from(number)).into(),
        fault.map(|(fault, _)| varlena(fault)).into(),
        fault.map(|(_, hint)| varlena(hint)).into(),
    ]
}

unsafe fn column<'a>(query: *const Query, number: i32) -> Option<&'a TargetEntry> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    // SAFETY: a query's list of columns, which lives as long as the query.
    unsafe { nodes((*query).targetList).get(place).map(|column| &*column.cast::<TargetEntry>()) }
}

/// A row that is inserted later would change which rows there were before.
const LATER: &str = "Leave that to the query that reads the feed.";

/// A query, and the one around it, whose WITH it can name.
struct Level<'a> {
    query: *const Query,
    outer: Option<&'a Level<'a>>,
}

/// Why a query's rows with this column as their key are not each of one insert, for good; and what to do.
unsafe fn fault(level: &Level, number: i32) -> Option<(&'static str, &'static str)> {
    // SAFETY: a query that PostgreSQL has analyzed, and its lists.
    unsafe {
        let Query { limitCount, limitOffset, hasDistinctOn, setOperations, jointree, rtable, .. } =
            *level.query;
        if !limitCount.is_null() || !limitOffset.is_null() {
            return Some(("It has LIMIT or OFFSET.", LATER));
        }
        if hasDistinctOn {
            return Some(("It has DISTINCT ON.", LATER));
        }
        if !setOperations.is_null() {
            if has_other_than_union(setOperations) {
                return Some(("It has EXCEPT or INTERSECT.", LATER));
            }
            return nodes(rtable).iter().find_map(|&table| fault_below(level, table, number));
        }
        let key = column(level.query, number)?.expr.cast::<Node>();
        if pg_sys::contain_agg_clause(key) || pg_sys::contain_window_function(key) {
            return Some(("Its key is an aggregate, or of a window function.", LATER));
        }
        if leaves_out_changes(jointree.cast(), rtable) {
            let hint = "Have the view show such rows as deleted: CASE WHEN ... THEN record END.";
            return Some(("It leaves out rows by what they are now, which a copy would keep.", hint));
        }
        let key = variable(key)?;
        fault_below(level, *nodes(rtable).get(key.varno as usize - 1)?, key.varattno.into())
    }
}

/// The same of what a table in FROM stands for, if that is a subquery, or a query in WITH, which can be one of a query further out.
unsafe fn fault_below(level: &Level, table: *mut Node, number: i32) -> Option<(&'static str, &'static str)> {
    // SAFETY: as above; the nodes of a list of WITH.
    unsafe {
        let RangeTblEntry { rtekind, subquery, ctename, ctelevelsup, self_reference, .. } = *table.cast();
        match rtekind {
            RTEKind::RTE_SUBQUERY => fault(&Level { query: subquery, outer: Some(level) }, number),
            RTEKind::RTE_CTE if !self_reference => {
                let of = (0..ctelevelsup).try_fold(level, |level, _| level.outer)?;
                let ctes = nodes((*of.query).cteList).iter().map(|&cte| &*cte.cast::<CommonTableExpr>());
                let cte = { ctes }.find(|cte| CStr::from_ptr(cte.ctename) == CStr::from_ptr(ctename))?;
                fault(&Level { query: cte.ctequery.cast(), outer: Some(of) }, number)
            }
            _ => None,
        }
    }
}

unsafe fn has_other_than_union(node: *mut Node) -> bool {
    // SAFETY: the tree of a query's set operations, whose leaves are references to subqueries.
    unsafe {
        if (*node).type_ != NodeTag::T_SetOperationStmt {
            return false;
        }
        let SetOperationStmt { op, larg, rarg, .. } = *node.cast();
        op != SetOperation::SETOP_UNION || has_other_than_union(larg) || has_other_than_union(rarg)
    }
}

/// Whether a query leaves out changes by what their rows are now: such a row stays in a copy. The ON of an outer join leaves out no row of the
/// side that it keeps.
unsafe fn leaves_out_changes(node: *mut Node, tables: *const List) -> bool {
    // SAFETY: a query's tree of joins, and its tables.
    unsafe {
        match (*node).type_ {
            NodeTag::T_FromExpr => {
                let FromExpr { fromlist, quals, .. } = *node.cast();
                has_present(quals, tables, None)
                    || nodes(fromlist).iter().any(|&node| leaves_out_changes(node, tables))
            }
            NodeTag::T_JoinExpr => {
                let JoinExpr { jointype, larg, rarg, quals, .. } = *node.cast();
                let kept = match jointype {
                    JoinType::JOIN_LEFT => Some(larg),
                    JoinType::JOIN_RIGHT => Some(rarg),
                    JoinType::JOIN_FULL => Some(node),
                    _ => None,
                };
                has_present(quals, tables, kept)
                    || [larg, rarg].iter().any(|&side| leaves_out_changes(side, tables))
            }
            _ => false,
        }
    }
}

/// Whether conditions have the columns `record` or `deleted` of a view of changes, other than of the tables of one side of a join.
unsafe fn has_present(conditions: *mut Node, tables: *const List, kept: Option<*mut Node>) -> bool {
    // SAFETY: what a query joins, and the tables to which its columns belong.
    unsafe {
        let columns = pg_sys::pull_vars_of_level(conditions, 0);
        nodes(columns).iter().filter_map(|&column| variable(column)).any(|column| {
            let Some(&table) = nodes(tables).get(column.varno as usize - 1) else { return false };
            let RangeTblEntry { relkind, relid, .. } = *table.cast();
            let number = |name: &CStr| pg_sys::get_attnum(relid, name.as_ptr());
            let record = number(c"record");
            relkind as u8 == pg_sys::RELKIND_VIEW
                && number(c"changed") == 1
                && record > 0
                && pg_sys::type_is_rowtype(pg_sys::get_atttype(relid, record))
                && [record, number(c"deleted")].contains(&column.varattno)
                && !kept.is_some_and(|side| has_table(side, column.varno as i32))
        })
    }
}

/// Whether a side of a join has a table.
unsafe fn has_table(side: *mut Node, number: i32) -> bool {
    // SAFETY: a part of a query's tree of joins.
    unsafe {
        match (*side).type_ {
            NodeTag::T_RangeTblRef => (*side.cast::<RangeTblRef>()).rtindex == number,
            NodeTag::T_JoinExpr => {
                let JoinExpr { larg, rarg, .. } = *side.cast();
                has_table(larg, number) || has_table(rarg, number)
            }
            _ => false,
        }
    }
}
