//! What the nodes of a query say by themselves: its columns, its conditions, how its tables are joined.

use pgrx::pg_sys::{
    self, CoerceToDomain, FromExpr, JoinExpr, JoinType, Node, NodeTag, Query, RTEKind, RangeTblEntry,
    RangeTblFunction, RangeTblRef, TargetEntry,
};

use crate::pg::{
    nodes::{nodes, variable},
    versions::groups,
};

/// A column of one of the tables of a query: the number of the table, and of the column.
pub(super) type Place = (usize, i16);

/// The expression of a column of the result, if there is one of this number.
pub(super) unsafe fn expression(query: &Query, number: i16) -> Option<*mut Node> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    let column = nodes(query.targetList).get(place)?;
    Some((*column.cast::<TargetEntry>()).expr.cast())
}

/// A query's expression as a column of one of its tables, if it is one: also below casts to a domain and from one, and in the list of a join or
/// of GROUP BY.
pub(super) unsafe fn place_of(query: &Query, mut node: *mut Node) -> Option<Place> {
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

/// Each column in an expression, or a condition; `None` for one that a join or GROUP BY computes.
pub(super) unsafe fn places_in(query: &Query, node: *mut Node) -> impl Iterator<Item = Option<Place>> {
    let columns = nodes(pg_sys::pull_vars_of_level(node, 0));
    columns.iter().map(|&column| place_of(query, column))
}

/// Whether one of the conditions that leave out rows of a query is such: of outer joins, those that leave out rows of this table, with nulls
/// in their place. The query's jointree has them.
pub(super) unsafe fn any_condition(
    node: *mut Node,
    table: usize,
    is_such: &dyn Fn(*mut Node) -> bool,
) -> bool {
    match (*node).type_ {
        NodeTag::T_FromExpr => {
            let FromExpr { fromlist, quals, .. } = *node.cast();
            !quals.is_null() && is_such(quals)
                || nodes(fromlist).iter().any(|&part| any_condition(part, table, is_such))
        }
        NodeTag::T_JoinExpr => {
            let JoinExpr { jointype, larg, rarg, quals, .. } = *node.cast();
            let leaves_out = match jointype {
                JoinType::JOIN_INNER => true,
                JoinType::JOIN_LEFT => joined(rarg, table).is_some(),
                JoinType::JOIN_RIGHT => joined(larg, table).is_some(),
                _ => false,
            };
            leaves_out && !quals.is_null() && is_such(quals)
                || any_condition(larg, table, is_such)
                || any_condition(rarg, table, is_such)
        }
        _ => false,
    }
}

/// Whether an expression whose values are as many rows is such: a function in FROM, unless in an outer join, or in the list.
pub(super) unsafe fn any_set(query: &Query, is_such: &dyn Fn(*mut Node) -> bool) -> bool {
    let in_from = |(n, &table): (usize, &*mut Node)| {
        let RangeTblEntry { rtekind, functions, .. } = *table.cast();
        rtekind == RTEKind::RTE_FUNCTION
            && joined(query.jointree.cast(), n + 1).is_some_and(|joined| !joined.is_optional)
            && nodes(functions).iter().any(|&one| is_such((*one.cast::<RangeTblFunction>()).funcexpr))
    };
    let in_list = |&entry: &*mut Node| {
        let expression = (*entry.cast::<TargetEntry>()).expr.cast();
        pg_sys::expression_returns_set(expression) && is_such(expression)
    };
    nodes(query.rtable).iter().enumerate().any(in_from)
        || query.hasTargetSRFs && nodes(query.targetList).iter().any(in_list)
}

/// How a table is joined.
#[derive(Clone, Copy)]
pub(super) struct Joined {
    /// There are rows in which all its columns are null.
    pub(super) is_optional: bool,
    /// None of its rows are left out.
    pub(super) is_kept: bool,
}

/// The same of a table of a jointree, by its number.
pub(super) unsafe fn joined(node: *mut Node, table: usize) -> Option<Joined> {
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
