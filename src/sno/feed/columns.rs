//! Columns by their numbers, since their names change.

use pgrx::pg_sys::{self, Datum, Oid, TargetEntry};

use crate::pg::{
    fmgr::{Row, export},
    nodes::nodes,
};

export! { sno_origin }

/// `sno_origin(view regclass, number integer) → (relation regclass, number integer)`: the column of a table or of another view that a column
/// of a view shows; nulls if it is an expression. By numbers, since a column of a view can be renamed, and its query keeps the old name.
fn sno_origin(view: i32, number: i32) -> Row<2> {
    // SAFETY: PostgreSQL's description of the view, which is used while it is open.
    let (relation, number) = unsafe {
        let view = pg_sys::try_relation_open(Oid::from(view as u32), pg_sys::AccessShareLock as i32);
        if view.is_null() {
            return [None::<Datum>.into(), None::<Datum>.into()];
        }
        // Any role may call it, with anything: other relations have no query, and nobody's is locked any longer than this takes.
        let is_view = (*(*view).rd_rel).relkind as u8 == pg_sys::RELKIND_VIEW;
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let column = place
            .filter(|_| is_view)
            .and_then(|place| nodes((*pg_sys::get_view_query(view)).targetList).get(place));
        let origin = column.map_or((Oid::INVALID, 0), |column| {
            let column = &*column.cast::<TargetEntry>();
            (column.resorigtbl, column.resorigcol)
        });
        pg_sys::relation_close(view, pg_sys::AccessShareLock as i32);
        origin
    };
    let is_there = relation != Oid::INVALID && number > 0;
    [is_there.then(|| Datum::from(relation)).into(), is_there.then(|| i32::from(number)).into()]
}
