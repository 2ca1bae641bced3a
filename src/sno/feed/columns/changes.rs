//! Whether a query leaves out changes that are no longer so: a copy would keep their rows.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid, Query};

use crate::sno::feed::columns::{
    origin::{Body, Kind, OfChange},
    query::{Place, joined, places_in},
};

pub(super) static PRESENT: Kind = Kind {
    what: "It leaves out changes by what their rows or others are now, which a copy would keep.",
    hint: "Use LEFT JOIN, and have the view show such rows as deleted: CASE WHEN ... THEN record END.",
};

/// What a column of a view of changes shows; `None` of other views.
pub(super) unsafe fn of_change(view: Oid, number: i16) -> Option<OfChange> {
    let named = |name: &CStr| pg_sys::get_attnum(view, name.as_ptr());
    let (record, deleted) = (named(c"record"), named(c"deleted"));
    let is_of_changes = named(c"changed") == 1
        && record > 0
        && deleted > 0
        && pg_sys::type_is_rowtype(pg_sys::get_atttype(view, record));
    let is_row = number < 1 || number == record || number == deleted;
    is_of_changes.then_some(if is_row { OfChange::Row } else { OfChange::Key })
}

pub(super) unsafe fn is_view_of_changes(view: Oid) -> bool {
    of_change(view, 0).is_some()
}

/// Whether a query of a view of changes, which its key is of, leaves out changes by anything but their keys.
pub(super) unsafe fn leaves_out(body: &Body, (table, _): Place) -> bool {
    let Query { jointree, havingQual, hasTargetSRFs, .. } = *body.query;
    let quals = (*jointree).quals;
    let is_of_key = |place: Place| place.0 == table && (body.origin)(place).of_change == Some(OfChange::Key);
    hasTargetSRFs
        || !havingQual.is_null()
        || joined(jointree.cast(), table).is_none_or(|joined| !joined.is_kept)
        || pg_sys::contain_subplans(quals)
        || !places_in(body.query, quals).all(|place| place.is_some_and(is_of_key))
}
