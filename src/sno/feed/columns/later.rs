//! Whether a row can come into the result of a query later, by a condition or a join: feeds that are past its key miss it.

use std::cell::Cell;

use pgrx::pg_sys::{self, Node, Query, RTEKind, RangeTblEntry};

use crate::{
    pg::nodes::nodes,
    sno::feed::columns::{
        changes::is_view_of_changes,
        origin::{Body, Passing},
        query::{any_condition, any_set, joined, place_of, places_in},
    },
};

/// The view of the query, if they can. Those of a view of changes are checks, and its keys never change.
pub(super) unsafe fn passing(body: &Body, key: *mut Node) -> Option<Passing> {
    let &Body { view, query, origin } = body;
    if is_view_of_changes(view) {
        return None;
    }
    let key = place_of(query, key);
    // No table has the number 0.
    let table = key.map_or(0, |key| key.0);
    let any = |is_such: &dyn Fn(*mut Node) -> bool| {
        any_condition(query.jointree.cast(), table, is_such) || any_set(query, is_such)
    };
    if !query.havingQual.is_null() || any(&|node| changes(node)) {
        return Some(Passing { view, by: None });
    }
    let by = Cell::new(None);
    any(&|node| {
        let others = places_in(query, node).flatten().filter(|&place| Some(place) != key);
        let mut changed = others.map(origin).filter(|other| other.of_change.is_none());
        by.set(changed.find_map(|other| other.shows.reads()));
        by.get().is_some()
    });
    let is_multiplied = || key.is_some_and(|(table, _)| is_multiplied(query, table));
    (by.get().is_some() || is_multiplied()).then(|| Passing { view, by: by.get() })
}

/// Whether an expression can have another value when nothing is updated.
unsafe fn changes(node: *mut Node) -> bool {
    pg_sys::contain_mutable_functions(node) || pg_sys::contain_subplans(node)
}

/// Whether a row of this table comes once for each row of another one, without a condition: not at all while that has none.
unsafe fn is_multiplied(query: &Query, table: usize) -> bool {
    let how = |table| joined(query.jointree.cast(), table);
    how(table).is_some_and(|joined| !joined.is_kept)
        && nodes(query.rtable).iter().enumerate().any(|(n, &other)| {
            n + 1 != table
                && how(n + 1).is_some_and(|joined| !joined.is_optional)
                && gets_rows(&*other.cast())
        })
}

/// Whether what stands in FROM can have more rows later. What a function returns is asked for by itself.
unsafe fn gets_rows(table: &RangeTblEntry) -> bool {
    match table.rtekind {
        RTEKind::RTE_RELATION | RTEKind::RTE_CTE => true,
        RTEKind::RTE_SUBQUERY => {
            let query = &*table.subquery;
            nodes(query.rtable).iter().any(|&table| gets_rows(&*table.cast()))
                || any_condition(query.jointree.cast(), 0, &|condition| changes(condition))
        }
        _ => false,
    }
}
