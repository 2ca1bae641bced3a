//! `sno_time(id) AT TIME ZONE 'UTC'`, the creation time as a `timestamp`, is as good as `sno_time(id)`: its order is the
//! same, and it does not depend on the session's time zone. Of other time zones neither is true.

use std::{ptr, slice};

use pgrx::pg_sys::{self, Const, FuncExpr, Node, NodeTag, Oid};

use crate::pg::{nodes::nodes, raw};

/// `timezone(text, timestamptz)` and `timezone(text, timestamp)`, which `AT TIME ZONE` calls.
const FROM_TIMESTAMPTZ: Oid = Oid::from_u32(pg_sys::F_TIMEZONE_TEXT_TIMESTAMPTZ);
const FROM_TIMESTAMP: Oid = Oid::from_u32(pg_sys::F_TIMEZONE_TEXT_TIMESTAMP);

/// Names of the time zone, in any case.
const NAMES: [&[u8]; 2] = [b"UTC", b"Etc/UTC"];

/// The time zone and the expression in `expression AT TIME ZONE 'UTC'`, a `timestamptz`.
pub(crate) unsafe fn arguments(node: *mut Node) -> Option<(*mut Node, *mut Node)> {
    if (*node).type_ != NodeTag::T_FuncExpr || (*node.cast::<FuncExpr>()).funcid != FROM_TIMESTAMPTZ {
        return None;
    }
    let &[zone, time] = nodes((*node.cast::<FuncExpr>()).args) else { return None };
    if (*zone).type_ != NodeTag::T_Const || (*zone.cast::<Const>()).constisnull {
        return None;
    }
    // The text of a constant in a query is not compressed.
    let text = (*zone.cast::<Const>()).constvalue.cast_mut_ptr::<pg_sys::varlena>();
    let bytes = slice::from_raw_parts(
        pgrx::varlena::vardata_any(text).cast::<u8>(),
        pgrx::varlena::varsize_any_exhdr(text),
    );
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(bytes)).then_some((zone, time))
}

/// The `timestamptz` of a `timestamp` in UTC, whose name is `zone`; `None` for other types.
pub(crate) unsafe fn to_timestamptz(zone: *mut Node, time: *mut Node) -> Option<*mut Node> {
    if raw::exprType(time) != pg_sys::TIMESTAMPOID {
        return None;
    }
    if let Some((_, time)) = arguments(time) {
        return Some(time);
    }
    if (*time).type_ == NodeTag::T_Const {
        // Both count the microseconds since 2000 in UTC.
        let constant = raw::copyObjectImpl(time.cast()).cast::<Const>();
        (*constant).consttype = pg_sys::TIMESTAMPTZOID;
        return Some(constant.cast());
    }
    let args = raw::lappend(raw::lappend(ptr::null_mut(), zone.cast()), time.cast());
    let format = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
    let (none, collation) = (pg_sys::InvalidOid, pg_sys::DEFAULT_COLLATION_OID);
    Some(raw::makeFuncExpr(FROM_TIMESTAMP, pg_sys::TIMESTAMPTZOID, args, none, collation, format).cast())
}
