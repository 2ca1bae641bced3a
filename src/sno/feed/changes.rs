//! The view of `sno_track_changes()`: which log it shows.

use std::ffi::CStr;

use pgrx::pg_sys::{
    self, Datum, FromExpr, FuncExpr, FunctionCallInfo, Node, NodeTag, Oid, Query, RTEKind, RangeTblEntry,
    RangeTblRef, TargetEntry,
};

use crate::pg::{
    fmgr::{functions, optional},
    nodes::{nodes, variable},
    raw,
    rights::own_function,
};

functions! {
    /// `sno_internal.sno_log_shown(query pg_node_tree) → regclass`: the log that the query of a view shows; null if it is none of changes.
    sno_log_shown: log_shown;
}

/// The function in the condition of such a query.
const CHECK: &CStr = c"check_changes";

unsafe fn log_shown(fcinfo: FunctionCallInfo) -> Datum {
    let [Some(query)] = optional(fcinfo) else { return Datum::null() };
    // Of what PostgreSQL has stored elsewhere, any node can be null: the condition of a rule that has none.
    let is = |node: *mut Node, tag: NodeTag| !node.is_null() && (*node).type_ == tag;
    let tree = raw::stringToNode(raw::text_to_cstring(query.cast_mut_ptr())).cast::<Node>();
    let queries = if is(tree, NodeTag::T_List) { nodes(tree.cast()) } else { &[] };
    let log = match queries {
        &[query] if is(query, NodeTag::T_Query) => log_of(&*query.cast()),
        _ => None,
    };
    (*fcinfo).isnull = log.is_none();
    log.map_or(Datum::null(), Datum::from)
}

/// The table of a query that shows all its rows, each once, with its first column, the key of a log, as the first one: a SELECT from that table
/// alone, under no other condition than the [check](CHECK). So an owner who replaces the view can add columns, but not leave out changes.
unsafe fn log_of(query: &Query) -> Option<Oid> {
    // Null for the command of a rule that is no query, NOTIFY.
    let &FromExpr { fromlist, quals, .. } = query.jointree.as_ref()?;
    let (&[from], &[key, ..]) = (nodes(fromlist), nodes(query.targetList)) else { return None };
    let is_checked = !quals.is_null()
        && (*quals).type_ == NodeTag::T_FuncExpr
        && Some((*quals.cast::<FuncExpr>()).funcid) == own_function(CHECK, &[pg_sys::REGCLASSOID]);
    let is_whole = query.groupClause.is_null()
        && query.distinctClause.is_null()
        && query.limitCount.is_null()
        && query.limitOffset.is_null()
        && query.setOperations.is_null()
        // SKIP LOCKED leaves out rows.
        && query.rowMarks.is_null()
        && !query.hasAggs
        && !query.hasTargetSRFs;
    if !is_checked || !is_whole || (*from).type_ != NodeTag::T_RangeTblRef {
        return None;
    }
    let number = (*from.cast::<RangeTblRef>()).rtindex;
    let table = &*nodes(query.rtable).get(number as usize - 1)?.cast::<RangeTblEntry>();
    let is_table = table.rtekind == RTEKind::RTE_RELATION
        && table.tablesample.is_null()
        && raw::get_rel_relkind(table.relid) as u8 == pg_sys::RELKIND_RELATION;
    let key = variable((*key.cast::<TargetEntry>()).expr.cast())?;
    (is_table && (key.varno, key.varattno) == (number, 1)).then_some(table.relid)
}
