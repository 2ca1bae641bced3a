//! Whether the conditions of a query can become true of a row later: feeds that are past its key miss it.

use std::cell::Cell;

use pgrx::pg_sys::{self, Node};

use crate::sno::feed::columns::{
    changes::is_view_of_changes,
    origin::{Body, Passing},
    query::{any_condition, place_of, places_in},
};

/// The view of the query, if they can. Those of a view of changes are checks, and its keys never change.
pub(super) unsafe fn passing(body: &Body, key: *mut Node) -> Option<Passing> {
    let &Body { view, query, origin } = body;
    if is_view_of_changes(view) {
        return None;
    }
    let changes =
        |condition| pg_sys::contain_mutable_functions(condition) || pg_sys::contain_subplans(condition);
    if !query.havingQual.is_null() || any_condition(query.jointree.cast(), &changes) {
        return Some(Passing { view, by: None });
    }
    let key = place_of(query, key);
    let by = Cell::new(None);
    any_condition(query.jointree.cast(), &|condition| {
        let others = places_in(query, condition).flatten().filter(|&place| Some(place) != key);
        let mut changed = others.map(origin).filter(|other| other.of_change.is_none());
        by.set(changed.find_map(|other| other.shows.reads()));
        by.get().is_some()
    });
    by.get().map(|by| Passing { view, by: Some(by) })
}
