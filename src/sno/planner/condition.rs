//! Refuses `sno_horizon()` in a condition on a table, and beside one in FROM or WITH: the statement does not see rows that were committed
//! after it began, and such a row can have an ID below the horizon. Who stores that horizon never reads the row. So with the position of a
//! new feed.

use std::ffi::{CStr, c_void};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        self, CmdType, CommonTableExpr, Datum, FuncExpr, FunctionCallInfo, List, Node, NodeTag, Oid, Query,
        RTEKind, RangeTblEntry, RangeTblFunction, SupportRequestSimplify,
    },
};

use crate::pg::{
    errors::{Error, raise},
    fmgr::{Args, functions},
    nodes::nodes,
    versions::{expression_tree_walker, query_tree_walker},
};

functions! {
    /// `sno_horizon_support(internal) → internal`: planner support for `sno_horizon()` and `sno_create_feed()`, for each call
    /// of them in a query.
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
            let function = &raw mut function;
            if (is_in_condition(query, function) || is_beside(query, function)) && reads_table(query) {
                raise(|| misses_rows(*function));
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

/// Whether the result of a function comes from FROM or WITH of a query, to be compared with something there.
unsafe fn is_beside(query: *mut Query, function: *mut Oid) -> bool {
    let Query { rtable, cteList, .. } = *query;
    let returns = |query: *mut Query| {
        !reads_table(query)
            && (has_call((*query).targetList.cast(), function.cast()) || is_beside(query, function))
    };
    nodes(rtable).iter().any(|&entry| {
        let RangeTblEntry { functions, subquery, .. } = *entry.cast();
        !subquery.is_null() && returns(subquery)
            || nodes(functions).iter().any(|&of| {
                let call = (*of.cast::<RangeTblFunction>()).funcexpr;
                (*call).type_ == NodeTag::T_FuncExpr && (*call.cast::<FuncExpr>()).funcid == *function
            })
    }) || tables(cteList).any(returns)
}

/// The queries of a WITH. While one is planned, it is none.
unsafe fn tables<'a>(list: *mut List) -> impl Iterator<Item = *mut Query> + 'a {
    let queries = nodes(list).iter().map(|table| (*table.cast::<CommonTableExpr>()).ctequery);
    queries.filter(|&query| !query.is_null() && (*query).type_ == NodeTag::T_Query).map(|query| query.cast())
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
    }) || tables(cteList).any(|query| reads_table(query))
}

fn misses_rows(function: Oid) -> Error {
    // SAFETY: inside the guard; a function that is called has a name.
    let name = unsafe { CStr::from_ptr(pg_sys::get_func_name(function)) }.to_string_lossy();
    Error::new(
        SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("{name}() is not allowed in a condition on a table, nor beside one in FROM or WITH"),
    )
    .detail("The statement does not see rows that were committed after it began, and these can have IDs below the result.")
    .hint(format!("Call {name}() in a statement before, and compare with what it returned."))
}
