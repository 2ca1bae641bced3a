//! Whether a query leaves out rows by a window function, which later rows change.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Const, Node, NodeTag, SortGroupClause, TargetEntry, WindowClause, WindowFunc};

use crate::{
    pg::nodes::nodes,
    sno::feed::columns::{
        origin::{Body, Kind, Origin, Window},
        query::{Place, any_condition, place_of, places_in},
    },
};

pub(super) static WINDOW: Kind = Kind {
    what: "It leaves out rows by a window function, which later rows change.",
    hint: "Order the window by the key, or leave that to the query that reads the feed.",
};

/// Whether a condition is about a window function over the table of the key, for which not only rows with earlier keys count.
pub(super) unsafe fn leaves_out(body: &Body, key: Place, origin: Origin) -> bool {
    let earlier = origin.shows.column().map(Window::Before);
    let changes = |place: Place| {
        let is_other = place.0 == key.0 && place != key;
        let window = if is_other { (body.origin)(place).shows.window() } else { None };
        window.is_some_and(|window| Some(window) != earlier)
    };
    any_condition(body.query.jointree.cast(), key.0, &|condition| {
        places_in(body.query, condition).flatten().any(changes)
    })
}

/// Of a window function.
pub(super) unsafe fn of_function(body: &Body, node: *mut Node) -> Window {
    before(body, node).unwrap_or(Window::Any)
}

unsafe fn before(body: &Body, node: *mut Node) -> Option<Window> {
    if (*node).type_ != NodeTag::T_WindowFunc {
        return None;
    }
    let WindowFunc { winfnoid, winref, winagg, args, .. } = *node.cast();
    let query = body.query;
    let mut clauses = nodes(query.windowClause).iter().map(|&clause| &*clause.cast::<WindowClause>());
    let clause = clauses.find(|clause| clause.winref == winref)?;
    let &first = nodes(clause.orderClause).first()?;
    let ends = pg_sys::FRAMEOPTION_END_CURRENT_ROW | pg_sys::FRAMEOPTION_END_OFFSET_PRECEDING;
    let looks_back = match winfnoid.to_u32() {
        pg_sys::F_ROW_NUMBER | pg_sys::F_RANK_ | pg_sys::F_DENSE_RANK_ => true,
        pg_sys::F_LAG_ANYELEMENT => true,
        pg_sys::F_LAG_ANYELEMENT_INT4 | pg_sys::F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE => {
            nodes(args).get(1).is_some_and(|&offset| is_backward(offset))
        }
        pg_sys::F_FIRST_VALUE | pg_sys::F_LAST_VALUE | pg_sys::F_NTH_VALUE => {
            clause.frameOptions as u32 & ends != 0
        }
        _ => winagg && clause.frameOptions as u32 & ends != 0,
    };
    let SortGroupClause { tleSortGroupRef, sortop, .. } = *first.cast();
    let operator = pg_sys::get_opname(sortop);
    let is_ascending = !operator.is_null() && CStr::from_ptr(operator) == c"<";
    let mut columns = nodes(query.targetList).iter().map(|&column| &*column.cast::<TargetEntry>());
    let by = columns.find(|column| column.ressortgroupref == tleSortGroupRef)?;
    let place = place_of(query, by.expr.cast()).filter(|_| looks_back && is_ascending)?;
    (body.origin)(place).shows.column().map(Window::Before)
}

/// Whether the second argument of `lag` is known, and not negative: then it would be `lead`.
unsafe fn is_backward(offset: *mut Node) -> bool {
    (*offset).type_ == NodeTag::T_Const && {
        let Const { constisnull, constvalue, .. } = *offset.cast();
        constisnull || constvalue.value() as i32 >= 0
    }
}
