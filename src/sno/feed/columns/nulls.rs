//! Whether the key of a query can be null.

use pgrx::pg_sys::{BoolExpr, BoolExprType, Node, NodeTag, NullTest, NullTestType, Query};

use crate::{
    pg::nodes::nodes,
    sno::feed::columns::{
        origin::{Kind, Origin},
        query::{Place, joined, place_of},
    },
};

pub(super) static NULLS: Kind = Kind {
    what: "Its key can be null, and a feed returns no row without a key.",
    hint: "Have the column of its table declared NOT NULL, or leave out such rows in the view: WHERE its key IS NOT NULL.",
};

pub(super) unsafe fn can_be_null(query: &Query, key: Place, origin: Origin) -> bool {
    let is_optional = joined(query.jointree.cast(), key.0).is_some_and(|joined| joined.is_optional);
    (origin.rows.can_be_null || is_optional || !query.groupingSets.is_null())
        && !demands(query, (*query.jointree).quals, key)
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
