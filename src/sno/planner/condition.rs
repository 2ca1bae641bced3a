//! Refuses `sno_horizon()` in a condition on a table: the statement does not see rows that were committed after it began, and such a row
//! can have an ID below the horizon. Who stores that horizon never reads the row.

use std::ffi::c_void;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        CmdType, CommonTableExpr, Datum, FuncExpr, FunctionCallInfo, Node, NodeTag, Oid, Query, RTEKind,
        RangeTblEntry, SupportRequestSimplify,
    },
};

use crate::pg::{
    errors::{Error, guard},
    fmgr::{Args, functions},
    nodes::nodes,
    versions::{expression_tree_walker, query_tree_walker},
};

functions! {
    /// `sno_horizon_support(internal) → internal`: planner support for `sno_horizon()`, which PostgreSQL calls for each call of it in a query.
    sno_horizon_support: check;
}

unsafe fn check(fcinfo: FunctionCallInfo) -> Datum {
    let request = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<SupportRequestSimplify>();
    if (*request).type_ == NodeTag::T_SupportRequestSimplify {
        let mut function = (*(*request).fcall).funcid;
        let mut root = (*request).root;
        // The conditions around a query that is in them as a subquery, too.
        while !root.is_null() {
            let query = (*root).parse;
            if is_in_condition(query, &raw mut function) && reads_table(query) {
                guard(|| -> Result<(), Error> { Err(misses_rows()) });
            }
            root = (*root).parent_root;
        }
    }
    Datum::null()
}

unsafe fn is_in_condition(query: *mut Query, function: *mut Oid) -> bool {
    let function = function.cast();
    has_call((*query).jointree.cast(), function) || has_call((*query).havingQual, function)
}

/// Whether a part of a query has a call of a function.
unsafe extern "C-unwind" fn has_call(node: *mut Node, function: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    match (*node).type_ {
        NodeTag::T_FuncExpr if (*node.cast::<FuncExpr>()).funcid == *function.cast() => true,
        NodeTag::T_Query => query_tree_walker(node.cast(), Some(has_call), function, 0),
        _ => expression_tree_walker(node, Some(has_call), function),
    }
}

unsafe fn reads_table(query: *mut Query) -> bool {
    let Query { commandType, resultRelation, rtable, cteList, .. } = *query;
    let target = if commandType == CmdType::CMD_INSERT { resultRelation } else { 0 };
    (1..).zip(nodes(rtable)).any(|(number, &entry)| {
        let RangeTblEntry { rtekind, subquery, .. } = *entry.cast();
        rtekind == RTEKind::RTE_RELATION && number != target || !subquery.is_null() && reads_table(subquery)
    }) || nodes(cteList).iter().any(|&table| {
        let query = (*table.cast::<CommonTableExpr>()).ctequery;
        // While it is planned, it is none.
        !query.is_null() && (*query).type_ == NodeTag::T_Query && reads_table(query.cast())
    })
}

fn misses_rows() -> Error {
    Error::new(SqlState::ERRCODE_FEATURE_NOT_SUPPORTED, "sno_horizon() is not allowed in a condition on a table")
        .detail(
            "The statement does not see rows that were committed after it began, and these can have IDs below the horizon.",
        )
        .hint("Call sno_horizon() in a statement before, and compare with what it returned; or read a feed.")
}
