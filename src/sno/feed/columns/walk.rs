//! The walk from a column down to those of tables: through views, which are locked while their queries are read.

use std::{cell::Cell, ffi::CStr, iter};

use pgrx::pg_sys::{self, CommonTableExpr, Node, Oid, Query, RTEKind, RangeTblEntry};

use crate::{
    pg::nodes::nodes,
    sno::feed::columns::{
        changes::{self, PRESENT, of_change},
        faults::{self, AGGREGATE},
        later, nulls,
        origin::{Body, Column, Kind, Origin, Passing, Rows, Shows},
        query::{Place, expression, place_of, places_in},
        windows::{self, WINDOW},
    },
};

static TOO_LARGE: Kind = Kind {
    what: "It reads too many tables and views.",
    hint: "Have a view of fewer of them, or several feeds.",
};

/// Others than who asks have written the views below a feed: they neither let this take hours nor fail. Each view that is open is locked.
const MAX_STEPS: u32 = 2000;
const MAX_DEPTH: usize = 100;

/// What a walk through views may take.
struct Limits {
    /// Where it began.
    source: Oid,
    /// How many relations and queries it has come to.
    steps: Cell<u32>,
    /// Whether it waits for views that others have locked.
    waits: bool,
}

impl Limits {
    fn are_reached(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.steps.get() > MAX_STEPS
    }

    /// What is found beyond them.
    fn too_large(&self) -> Origin {
        Origin::faulty(TOO_LARGE.of(self.source))
    }
}

/// A view whose query is gone through, and the one that names it.
struct View<'a> {
    oid: Oid,
    above: Option<&'a View<'a>>,
    limits: &'a Limits,
}

/// A query of a view, and the one around it, whose WITH it can name.
struct Level<'a> {
    view: &'a View<'a>,
    query: &'a Query,
    outer: Option<&'a Level<'a>>,
}

/// Of a column of a table or view. Where it need not wait, and somebody has locked a view, as of an expression.
pub(super) unsafe fn origin_of(source: Oid, number: i16, waits: bool) -> Origin {
    of_relation(source, number, None, &Limits { source, steps: Cell::new(0), waits })
}

unsafe fn of_relation(oid: Oid, number: i16, above: Option<&View>, limits: &Limits) -> Origin {
    pgrx::check_for_interrupts!();
    let views = || iter::successors(above, |view| view.above);
    // Views can be replaced so that they name each other in a circle, which no query can read.
    if views().any(|view| view.oid == oid) {
        return Origin::EXPRESSION;
    }
    if limits.are_reached() || views().count() > MAX_DEPTH {
        return limits.too_large();
    }
    // A table's columns are asked of the catalogs alone, whoever has locked it.
    let kind = pg_sys::get_rel_relkind(oid) as u8;
    if kind != pg_sys::RELKIND_VIEW {
        if kind == 0 || number < 1 {
            return Origin::EXPRESSION;
        }
        let rows = Rows { can_be_null: !is_not_null(oid, number), ..Origin::EXPRESSION.rows };
        return Origin { shows: Shows::Column(Column { table: oid, number }), rows, ..Origin::EXPRESSION };
    }
    let lock = pg_sys::AccessShareLock as i32;
    if limits.waits {
        pg_sys::LockRelationOid(oid, lock);
    } else if !pg_sys::ConditionalLockRelationOid(oid, lock) {
        return Origin::EXPRESSION;
    }
    let relation = pg_sys::try_relation_open(oid, pg_sys::NoLock as i32);
    if relation.is_null() {
        pg_sys::UnlockRelationOid(oid, lock);
        return Origin::EXPRESSION;
    }
    let level =
        Level { view: &View { oid, above, limits }, query: &*pg_sys::get_view_query(relation), outer: None };
    let origin = of_column(&level, number);
    let origin = Origin { of_change: of_change(oid, number).or(origin.of_change), ..origin };
    pg_sys::relation_close(relation, lock);
    origin
}

/// Whether a table's column is declared NOT NULL.
unsafe fn is_not_null(table: Oid, number: i16) -> bool {
    let cache = pg_sys::SysCacheIdentifier::ATTNUM as i32;
    let row = pg_sys::SearchSysCache2(cache, table.into(), number.into());
    if row.is_null() {
        return false;
    }
    let is_not_null = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_attribute>()).attnotnull;
    pg_sys::ReleaseSysCache(row);
    is_not_null
}

/// Of a column of a query's result.
unsafe fn of_column(level: &Level, number: i16) -> Origin {
    let Level { view: &View { oid: view, limits, .. }, query, .. } = *level;
    if limits.are_reached() || pg_sys::stack_is_too_deep() {
        return limits.too_large();
    }
    let faulty = |kind: &'static Kind| Origin::faulty(kind.of(view));
    if let Some(kind) = faults::of_query(query) {
        return faulty(kind);
    }
    if !query.setOperations.is_null() {
        let parts = nodes(query.rtable).iter().map(|&table| of_table(level, table.cast(), number));
        return parts.reduce(Origin::and).unwrap_or(Origin::EXPRESSION);
    }
    let Some(key) = expression(query, number) else { return Origin::EXPRESSION };
    let body = &Body { view, query, origin: &|place| of_place(level, place) };
    if pg_sys::contain_windowfuncs(key) {
        let window = Some(windows::of_function(body, key));
        return Origin { shows: Shows::Expression { reads: None, window }, ..faulty(&AGGREGATE) };
    }
    if pg_sys::contain_aggs_of_level(key, 0) {
        return faulty(&AGGREGATE);
    }
    let passing = later::passing(body, key);
    let Some(place) = place_of(query, key) else { return of_expression(body, key, passing) };
    let origin = of_place(level, place);
    if origin.rows.fault.is_none() {
        if origin.of_change.is_some() && changes::leaves_out(body, place) {
            return faulty(&PRESENT);
        }
        if windows::leaves_out(body, place, origin) {
            return faulty(&WINDOW);
        }
    }
    let rows = Rows {
        can_be_null: nulls::can_be_null(query, place, origin),
        fault: origin.rows.fault,
        passing: Passing::graver(passing, origin.rows.passing),
    };
    Origin { rows, ..origin }
}

/// Of an expression: of its columns only what is wrong with their rows counts.
unsafe fn of_expression(body: &Body, key: *mut Node, passing: Option<Passing>) -> Origin {
    let start = Origin { rows: Rows { passing, ..Origin::EXPRESSION.rows }, ..Origin::EXPRESSION };
    places_in(body.query, key).flatten().fold(start, |all, place| {
        let one = (body.origin)(place);
        let by_window = || windows::leaves_out(body, place, one).then(|| WINDOW.of(body.view));
        let fault = one.rows.fault.or_else(by_window);
        all.and(Origin { of_change: None, rows: Rows { can_be_null: false, fault, ..one.rows }, ..one })
    })
}

/// Of a column of one of the tables of a query.
unsafe fn of_place(level: &Level, (table, number): Place) -> Origin {
    let table = nodes(level.query.rtable).get(table.wrapping_sub(1));
    table.map_or(Origin::EXPRESSION, |table| of_table(level, table.cast(), number))
}

/// The same of what stands in FROM: a relation, a subquery, or a query in WITH, which can be of a query further out.
unsafe fn of_table(level: &Level, table: *const RangeTblEntry, number: i16) -> Origin {
    let RangeTblEntry { rtekind, relid, subquery, ctename, ctelevelsup, self_reference, .. } = *table;
    if let Some(kind) = faults::of_table(&*table) {
        return Origin::faulty(kind.of(level.view.oid));
    }
    let below = |query: *const Query, outer| Level { view: level.view, query: &*query, outer: Some(outer) };
    match rtekind {
        RTEKind::RTE_RELATION => of_relation(relid, number, Some(level.view), level.view.limits),
        RTEKind::RTE_SUBQUERY => of_column(&below(subquery, level), number),
        RTEKind::RTE_CTE if !self_reference => {
            let Some(of) = (0..ctelevelsup).try_fold(level, |level, _| level.outer) else {
                return Origin::EXPRESSION;
            };
            let mut ctes = nodes(of.query.cteList).iter().map(|&cte| &*cte.cast::<CommonTableExpr>());
            ctes.find(|cte| CStr::from_ptr(cte.ctename) == CStr::from_ptr(ctename))
                .map_or(Origin::EXPRESSION, |cte| of_column(&below(cte.ctequery.cast(), of), number))
        }
        _ => Origin::EXPRESSION,
    }
}
