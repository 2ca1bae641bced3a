//! Where the key of a view comes from: by the numbers of columns, since their names change. And what of a view makes its rows no feed.

use std::{cell::Cell, ffi::CStr, iter};

use pgrx::pg_sys::{
    self, BoolExpr, BoolExprType, CoerceToDomain, CommonTableExpr, Const, Datum, FromExpr, FuncExpr,
    JoinExpr, JoinType, Node, NodeTag, NullTest, NullTestType, Oid, Query, RTEKind, RangeTblEntry,
    RangeTblRef, SetOperation, SetOperationStmt, SortGroupClause, TargetEntry, WindowClause, WindowFunc,
};

use crate::pg::{
    datum::varlena,
    fmgr::{Row, export},
    nodes::{nodes, variable},
    versions::groups,
};

export! { sno_origin }

/// `sno_origin(source regclass, number integer, waits boolean) → (relation regclass, number integer, view regclass, fault text, hint text,
/// passing regclass, by_table regclass, by_number integer)`: the column of a table that a column of a table or view shows in the end; nulls if it is an expression,
/// or one of several tables. And why a feed with this key would miss rows, or copies keep what it leaves out, and of which view; nulls if it
/// would not. At last a view whose condition can become true of a row later, if there is one, and by which column of a table; nulls if by what
/// the time is, who asks, or which other rows there are. With `waits` false, nulls as of an expression if somebody has locked a view.
fn sno_origin(source: i32, number: i32, waits: bool) -> Row<8> {
    let source = Oid::from(source as u32);
    let limits = Limits { steps: Cell::new(0), waits };
    // SAFETY: any role may call it, with anything: nothing is locked any longer than this takes.
    let origin = unsafe { of_relation(source, i16::try_from(number).unwrap_or(0), None, &limits) };
    let is_there = origin.table != Oid::INVALID;
    let fault = origin.fault.or_else(|| origin.can_be_null.then_some(Fault { view: source, kind: NULLS }));
    let fault = fault.map(|Fault { view, kind }| (if kind == TOO_LARGE { source } else { view }, kind));
    let by = origin.passing.map(|passing| passing.by).filter(|&by| by != NO_COLUMN);
    [
        is_there.then(|| Datum::from(origin.table)).into(),
        is_there.then(|| i32::from(origin.number)).into(),
        fault.map(|(view, _)| Datum::from(view)).into(),
        fault.map(|(_, kind)| varlena(kind.0)).into(),
        fault.map(|(_, kind)| varlena(kind.1)).into(),
        origin.passing.map(|passing| Datum::from(passing.view)).into(),
        by.map(|by| Datum::from(by.0)).into(),
        by.map(|by| i32::from(by.1)).into(),
    ]
}

/// What is wrong, and what to do.
type Kind = (&'static str, &'static str);

/// A row that is inserted later would change which rows there were before.
const LATER: &str = "Leave that to the query that reads the feed.";
const LIMIT: Kind = ("It has LIMIT or OFFSET.", LATER);
const DISTINCT_ON: Kind = ("It has DISTINCT ON.", LATER);
const EXCEPT: Kind = ("It has EXCEPT or INTERSECT.", LATER);
const SAMPLE: Kind = ("It has TABLESAMPLE.", LATER);
const LOCKS: Kind = ("It has FOR UPDATE or FOR SHARE.", LATER);
const AGGREGATE: Kind = ("Its key is an aggregate, or of a window function.", LATER);
const WINDOW: Kind = (
    "It leaves out rows by a window function, which later rows change.",
    "Order the window by the key, or leave that to the query that reads the feed.",
);
const PRESENT: Kind = (
    "It leaves out changes by what their rows or others are now, which a copy would keep.",
    "Use LEFT JOIN, and have the view show such rows as deleted: CASE WHEN ... THEN record END.",
);
const NULLS: Kind = (
    "Its key can be null, and a feed returns no row without a key.",
    "Have the column of its table declared NOT NULL, or leave out such rows in the view: WHERE its key IS NOT NULL.",
);
const TOO_LARGE: Kind =
    ("It reads too many tables and views.", "Have a view of fewer of them, or several feeds.");

/// Others than who asks have written the views below a feed: they neither let this take hours nor fail. Each view that is open is locked.
const MAX_STEPS: u32 = 2000;
const MAX_DEPTH: usize = 100;

/// What a walk through views may take.
struct Limits {
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
}

#[derive(Clone, Copy)]
struct Fault {
    view: Oid,
    kind: Kind,
}

/// Where a column comes from.
#[derive(Clone, Copy)]
struct Origin {
    /// The column of a table, if it is one.
    table: Oid,
    number: i16,
    /// This column, or one that the expression reads.
    reads: Column,
    /// Of a view of changes: whether the column is one of the row as it is now. Its key, which the log has, is not.
    is_present: Option<bool>,
    can_be_null: bool,
    fault: Option<Fault>,
    /// Of a window function, after which column of a table only earlier rows count, if there is one.
    window: Option<Column>,
    /// A view that leaves out rows by what can change.
    passing: Option<Passing>,
}

/// A view whose condition can become true of a row later.
#[derive(Clone, Copy)]
struct Passing {
    view: Oid,
    /// By an UPDATE of this column; without one, by what the time is, who asks, or which other rows there are.
    by: Column,
}

/// A column of a table; no column has the number 0.
type Column = (Oid, i16);

const NO_COLUMN: Column = (Oid::INVALID, 0);

/// An expression: it cannot be null, as far as is known.
const EXPRESSION: Origin = Origin {
    table: Oid::INVALID,
    number: 0,
    reads: NO_COLUMN,
    is_present: None,
    can_be_null: false,
    fault: None,
    window: None,
    passing: None,
};

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

/// A column of one of the tables of a query: the number of the table, and of the column.
type Place = (usize, i16);

unsafe fn of_relation(oid: Oid, number: i16, above: Option<&View>, limits: &Limits) -> Origin {
    pgrx::check_for_interrupts!();
    let views = || iter::successors(above, |view| view.above);
    // Views can be replaced so that they name each other in a circle, which no query can read.
    if views().any(|view| view.oid == oid) {
        return EXPRESSION;
    }
    if limits.are_reached() || views().count() > MAX_DEPTH {
        return Origin { fault: Some(Fault { view: oid, kind: TOO_LARGE }), ..EXPRESSION };
    }
    let lock = pg_sys::AccessShareLock as i32;
    if limits.waits {
        pg_sys::LockRelationOid(oid, lock);
    } else if !pg_sys::ConditionalLockRelationOid(oid, lock) {
        return EXPRESSION;
    }
    let relation = pg_sys::try_relation_open(oid, pg_sys::NoLock as i32);
    if relation.is_null() {
        pg_sys::UnlockRelationOid(oid, lock);
        return EXPRESSION;
    }
    let origin = if (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_VIEW {
        let level = Level {
            view: &View { oid, above, limits },
            query: &*pg_sys::get_view_query(relation),
            outer: None,
        };
        let origin = of_column(&level, number);
        Origin { is_present: is_present(oid, number).or(origin.is_present), ..origin }
    } else if number > 0 {
        let can_be_null = !is_not_null(oid, number);
        Origin { table: oid, number, reads: (oid, number), can_be_null, ..EXPRESSION }
    } else {
        EXPRESSION
    };
    pg_sys::relation_close(relation, lock);
    origin
}

/// Of a view of changes, whether a column shows the row as it is now; `None` of other views.
unsafe fn is_present(view: Oid, number: i16) -> Option<bool> {
    let named = |name: &CStr| pg_sys::get_attnum(view, name.as_ptr());
    let (record, deleted) = (named(c"record"), named(c"deleted"));
    let is_of_changes = named(c"changed") == 1
        && record > 0
        && deleted > 0
        && pg_sys::type_is_rowtype(pg_sys::get_atttype(view, record));
    is_of_changes.then_some(number < 1 || number == record || number == deleted)
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
    let fault = |kind| Origin { fault: Some(Fault { view: level.view.oid, kind }), ..EXPRESSION };
    if level.view.limits.are_reached() || pg_sys::stack_is_too_deep() {
        return fault(TOO_LARGE);
    }
    let query = level.query;
    if !is_constant(query.limitCount, None) || !is_constant(query.limitOffset, Some(0)) {
        return fault(LIMIT);
    }
    if query.hasDistinctOn {
        return fault(DISTINCT_ON);
    }
    if !query.rowMarks.is_null() {
        return fault(LOCKS);
    }
    if !query.setOperations.is_null() {
        if has_other_than_union(query.setOperations) {
            return fault(EXCEPT);
        }
        let parts = nodes(query.rtable).iter().map(|&table| of_table(level, table.cast(), number));
        return parts.reduce(union).unwrap_or(EXPRESSION);
    }
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let Some(&column) = place.and_then(|place| nodes(query.targetList).get(place)) else {
        return EXPRESSION;
    };
    let key = (*column.cast::<TargetEntry>()).expr.cast::<Node>();
    if pg_sys::contain_windowfuncs(key) {
        return Origin { window: Some(window_of(level, key)), ..fault(AGGREGATE) };
    }
    if pg_sys::contain_aggs_of_level(key, 0) {
        return fault(AGGREGATE);
    }
    let passing = passing(level, key);
    let Some(key) = place_of(query, key) else {
        // Of its columns only what is wrong with their rows counts.
        let columns = pg_sys::pull_vars_of_level(key, 0);
        let places = nodes(columns).iter().filter_map(|&column| place_of(query, column));
        return places.fold(Origin { passing, ..EXPRESSION }, |origin, place| {
            let of = of_place(level, place);
            let numbered =
                is_by_window(level, place, of).then_some(Fault { view: level.view.oid, kind: WINDOW });
            union(origin, Origin { fault: of.fault.or(numbered), can_be_null: false, is_present: None, ..of })
        });
    };
    let origin = of_place(level, key);
    if origin.fault.is_none() && origin.is_present.is_some() && leaves_out(level, key.0) {
        return fault(PRESENT);
    }
    if origin.fault.is_none() && is_by_window(level, key, origin) {
        return fault(WINDOW);
    }
    let is_optional = joined(query.jointree.cast(), key.0).is_some_and(|joined| joined.is_optional);
    let can_be_null = (origin.can_be_null || is_optional || !query.groupingSets.is_null())
        && !demands(query, (*query.jointree).quals, key);
    Origin { can_be_null, passing: graver(passing, origin.passing), ..origin }
}

/// Whether the conditions of a query can become true of a row later. Those of a view of changes are checks, and its keys never change.
unsafe fn passing(level: &Level, key: *mut Node) -> Option<Passing> {
    let query = level.query;
    if is_present(level.view.oid, 0).is_some() {
        return None;
    }
    let passing = |by| Some(Passing { view: level.view.oid, by });
    let changes =
        |condition| pg_sys::contain_mutable_functions(condition) || pg_sys::contain_subplans(condition);
    if !query.havingQual.is_null() || any_condition(query.jointree.cast(), &changes) {
        return passing(NO_COLUMN);
    }
    let key = place_of(query, key);
    let by = Cell::new(None);
    any_condition(query.jointree.cast(), &|condition| {
        let columns = pg_sys::pull_vars_of_level(condition, 0);
        let places = nodes(columns).iter().filter_map(|&column| place_of(query, column));
        let changes = |place| {
            let Origin { reads, is_present, .. } = of_place(level, place);
            (reads != NO_COLUMN && is_present.is_none()).then_some(reads)
        };
        by.set(places.filter(|&place| Some(place) != key).find_map(changes));
        by.get().is_some()
    });
    by.get().and_then(passing)
}

/// Whether a query leaves out rows of a table by a window function over them, of which not only those with earlier keys count.
unsafe fn is_by_window(level: &Level, key: Place, origin: Origin) -> bool {
    let changes = |&column: &*mut Node| {
        let place = place_of(level.query, column).filter(|&place| place.0 == key.0 && place != key);
        let window = place.and_then(|place| of_place(level, place).window);
        window.is_some_and(|by| by == NO_COLUMN || by != (origin.table, origin.number))
    };
    any_condition(level.query.jointree.cast(), &|condition| {
        nodes(pg_sys::pull_vars_of_level(condition, 0)).iter().any(changes)
    })
}

/// Of a window function of a query: the column by which its rows are in ascending order, if later ones do not change it.
unsafe fn window_of(level: &Level, node: *mut Node) -> Column {
    if (*node).type_ != NodeTag::T_WindowFunc {
        return NO_COLUMN;
    }
    let WindowFunc { winfnoid, winref, winagg, .. } = *node.cast();
    let query = level.query;
    let clause = nodes(query.windowClause).iter().map(|&clause| &*clause.cast::<WindowClause>());
    let clause = { clause }.find(|clause| clause.winref == winref);
    let first = clause.and_then(|clause| nodes(clause.orderClause).first());
    let (Some(clause), Some(&first)) = (clause, first) else { return NO_COLUMN };
    let ends = pg_sys::FRAMEOPTION_END_CURRENT_ROW | pg_sys::FRAMEOPTION_END_OFFSET_PRECEDING;
    let looks_back = match winfnoid.to_u32() {
        pg_sys::F_ROW_NUMBER | pg_sys::F_RANK_ | pg_sys::F_DENSE_RANK_ => true,
        pg_sys::F_LAG_ANYELEMENT | pg_sys::F_LAG_ANYELEMENT_INT4 => true,
        pg_sys::F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE => true,
        pg_sys::F_FIRST_VALUE | pg_sys::F_LAST_VALUE | pg_sys::F_NTH_VALUE => {
            clause.frameOptions as u32 & ends != 0
        }
        _ => winagg && clause.frameOptions as u32 & ends != 0,
    };
    let SortGroupClause { tleSortGroupRef, sortop, .. } = *first.cast();
    let operator = pg_sys::get_opname(sortop);
    let is_ascending = !operator.is_null() && CStr::from_ptr(operator) == c"<";
    let columns = nodes(query.targetList).iter().map(|&column| &*column.cast::<TargetEntry>());
    let by = { columns }.find(|column| column.ressortgroupref == tleSortGroupRef);
    match by.and_then(|by| place_of(query, by.expr.cast())) {
        Some(place) if looks_back && is_ascending => {
            let Origin { table, number, .. } = of_place(level, place);
            (table, number)
        }
        _ => NO_COLUMN,
    }
}

/// Whether one of the conditions that leave out rows of a query is such.
unsafe fn any_condition(node: *mut Node, is_such: &dyn Fn(*mut Node) -> bool) -> bool {
    match (*node).type_ {
        NodeTag::T_FromExpr => {
            let FromExpr { fromlist, quals, .. } = *node.cast();
            !quals.is_null() && is_such(quals)
                || nodes(fromlist).iter().any(|&part| any_condition(part, is_such))
        }
        NodeTag::T_JoinExpr => {
            let JoinExpr { jointype, larg, rarg, quals, .. } = *node.cast();
            jointype == JoinType::JOIN_INNER && !quals.is_null() && is_such(quals)
                || any_condition(larg, is_such)
                || any_condition(rarg, is_such)
        }
        _ => false,
    }
}

/// Of a column of one of the tables of a query.
unsafe fn of_place(level: &Level, (table, number): Place) -> Origin {
    let table = nodes(level.query.rtable).get(table.wrapping_sub(1));
    table.map_or(EXPRESSION, |table| of_table(level, table.cast(), number))
}

/// The same of what stands in FROM: a relation, a subquery, or a query in WITH, which can be of a query further out.
unsafe fn of_table(level: &Level, table: *const RangeTblEntry, number: i16) -> Origin {
    let RangeTblEntry { rtekind, relid, tablesample, subquery, ctename, ctelevelsup, self_reference, .. } =
        *table;
    let below = |query: *const Query, outer| Level { view: level.view, query: &*query, outer: Some(outer) };
    match rtekind {
        RTEKind::RTE_RELATION if !tablesample.is_null() => {
            Origin { fault: Some(Fault { view: level.view.oid, kind: SAMPLE }), ..EXPRESSION }
        }
        RTEKind::RTE_RELATION => of_relation(relid, number, Some(level.view), level.view.limits),
        RTEKind::RTE_SUBQUERY => of_column(&below(subquery, level), number),
        RTEKind::RTE_CTE if !self_reference => {
            let Some(of) = (0..ctelevelsup).try_fold(level, |level, _| level.outer) else {
                return EXPRESSION;
            };
            let mut ctes = nodes(of.query.cteList).iter().map(|&cte| &*cte.cast::<CommonTableExpr>());
            ctes.find(|cte| CStr::from_ptr(cte.ctename) == CStr::from_ptr(ctename))
                .map_or(EXPRESSION, |cte| of_column(&below(cte.ctequery.cast(), of), number))
        }
        _ => EXPRESSION,
    }
}

/// The origin of a column of a UNION, whose rows are those of both queries.
fn union(one: Origin, other: Origin) -> Origin {
    Origin {
        reads: if one.reads == NO_COLUMN { other.reads } else { one.reads },
        is_present: one.is_present.or(other.is_present),
        can_be_null: one.can_be_null || other.can_be_null,
        fault: one.fault.or(other.fault),
        window: match (one.window, other.window) {
            (Some(one), Some(other)) if one != other => Some(NO_COLUMN),
            (one, other) => one.or(other),
        },
        passing: graver(one.passing, other.passing),
        ..EXPRESSION
    }
}

/// Of two conditions, the one that more can change: by more than an UPDATE of a column, if one is so.
fn graver(one: Option<Passing>, other: Option<Passing>) -> Option<Passing> {
    match (one, other) {
        (Some(one), Some(other)) if one.by != NO_COLUMN => Some(other),
        _ => one.or(other),
    }
}

/// A query's expression as a column of one of its tables, if it is one: also below casts to a domain and from one, and in the list of a join or
/// of GROUP BY.
unsafe fn place_of(query: &Query, mut node: *mut Node) -> Option<Place> {
    loop {
        while (*node).type_ == NodeTag::T_CoerceToDomain {
            node = (*node.cast::<CoerceToDomain>()).arg.cast();
        }
        let column = variable(node)?;
        let place = (column.varno as usize, column.varattno);
        let table = nodes(query.rtable).get(place.0.checked_sub(1)?)?.cast::<RangeTblEntry>();
        let list = match (*table).rtekind {
            RTEKind::RTE_JOIN => (*table).joinaliasvars,
            _ => match groups(&*table) {
                None => return Some(place),
                Some(list) => list,
            },
        };
        node = *nodes(list).get(usize::try_from(place.1).ok()?.checked_sub(1)?)?;
        if node.is_null() {
            return None;
        }
    }
}

/// Whether a LIMIT or OFFSET is none, or a constant: null or this number.
unsafe fn is_constant(limit: *mut Node, number: Option<usize>) -> bool {
    if limit.is_null() {
        return true;
    }
    // A number is cast to bigint. Not evaluated: it could call a function of whoever has created the view.
    let mut limit = limit;
    if (*limit).type_ == NodeTag::T_FuncExpr {
        let FuncExpr { funcid, args, .. } = *limit.cast();
        if funcid == Oid::from(pg_sys::F_INT8_INT4) {
            limit = nodes(args)[0];
        }
    }
    (*limit).type_ == NodeTag::T_Const && {
        let Const { constisnull, constvalue, .. } = *limit.cast();
        constisnull || number == Some(constvalue.value())
    }
}

unsafe fn has_other_than_union(node: *mut Node) -> bool {
    // The leaves of a tree of set operations are references to subqueries.
    if (*node).type_ != NodeTag::T_SetOperationStmt {
        return false;
    }
    let SetOperationStmt { op, larg, rarg, .. } = *node.cast();
    op != SetOperation::SETOP_UNION || has_other_than_union(larg) || has_other_than_union(rarg)
}

/// Whether a query of a view of changes, which is one of its tables, leaves out changes by anything but their keys.
unsafe fn leaves_out(level: &Level, table: usize) -> bool {
    let Query { jointree, havingQual, hasTargetSRFs, .. } = *level.query;
    let quals = (*jointree).quals;
    let is_of_key = |&column: &*mut Node| {
        let place = place_of(level.query, column).filter(|place| place.0 == table);
        place.is_some_and(|place| of_place(level, place).is_present == Some(false))
    };
    let columns = pg_sys::pull_vars_of_level(quals, 0);
    hasTargetSRFs
        || !havingQual.is_null()
        || joined(jointree.cast(), table).is_none_or(|joined| !joined.is_kept)
        || pg_sys::contain_subplans(quals)
        || !nodes(columns).iter().all(is_of_key)
}

/// How a table is joined.
#[derive(Clone, Copy)]
struct Joined {
    /// There are rows in which all its columns are null.
    is_optional: bool,
    /// None of its rows are left out.
    is_kept: bool,
}

unsafe fn joined(node: *mut Node, table: usize) -> Option<Joined> {
    match (*node).type_ {
        NodeTag::T_RangeTblRef => ((*node.cast::<RangeTblRef>()).rtindex as usize == table)
            .then_some(Joined { is_optional: false, is_kept: true }),
        NodeTag::T_FromExpr => {
            let parts = nodes((*node.cast::<FromExpr>()).fromlist);
            let found = parts.iter().find_map(|&part| joined(part, table))?;
            Some(Joined { is_kept: found.is_kept && parts.len() == 1, ..found })
        }
        NodeTag::T_JoinExpr => {
            let JoinExpr { jointype, larg, rarg, .. } = *node.cast();
            let (found, keeps, adds) = match (joined(larg, table), joined(rarg, table)) {
                (Some(left), _) => (left, JoinType::JOIN_LEFT, JoinType::JOIN_RIGHT),
                (None, right) => (right?, JoinType::JOIN_RIGHT, JoinType::JOIN_LEFT),
            };
            let is_full = jointype == JoinType::JOIN_FULL;
            Some(Joined {
                is_optional: found.is_optional || is_full || jointype == adds,
                is_kept: found.is_kept && (is_full || jointype == keeps),
            })
        }
        _ => None,
    }
}

/// Whether a condition says that a column is not null.
unsafe fn demands(query: &Query, condition: *mut Node, column: Place) -> bool {
    if condition.is_null() {
        return false;
    }
    match (*condition).type_ {
        NodeTag::T_BoolExpr => {
            let BoolExpr { boolop, args, .. } = *condition.cast();
            boolop == BoolExprType::AND_EXPR && nodes(args).iter().any(|&part| demands(query, part, column))
        }
        NodeTag::T_NullTest => {
            let NullTest { arg, nulltesttype, .. } = *condition.cast();
            nulltesttype == NullTestType::IS_NOT_NULL && place_of(query, arg.cast()) == Some(column)
        }
        _ => false,
    }
}
