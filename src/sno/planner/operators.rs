//! The type's operators and functions in the catalogs, and expressions of them; times as expressions.

use std::{ffi::CStr, ptr, slice};

use pgrx::pg_sys::{
    self, CoercionForm, Const, Datum, FmgrInfo, FuncExpr, FunctionCallInfo, List, Node, NodeTag, Oid,
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::{Argument as _, Returned as _, Timestamp},
        nodes::nodes,
        raw,
        versions::may_call,
    },
    sno::{
        id::cmp,
        time::{sno_first, sno_first_date, sno_first_timestamp, sno_last, sno_last_date, sno_last_timestamp},
    },
};

/// The comparisons of btree, by their strategies.
#[derive(Clone, Copy, PartialEq)]
#[repr(i16)]
pub(crate) enum Operator {
    Less = pg_sys::BTLessStrategyNumber as i16,
    LessEqual = pg_sys::BTLessEqualStrategyNumber as i16,
    Equal = pg_sys::BTEqualStrategyNumber as i16,
    GreaterEqual = pg_sys::BTGreaterEqualStrategyNumber as i16,
    Greater = pg_sys::BTGreaterStrategyNumber as i16,
}

impl Operator {
    pub(crate) fn is_less(self) -> bool {
        matches!(self, Self::Less | Self::LessEqual)
    }

    pub(crate) fn is_inclusive(self) -> bool {
        matches!(self, Self::LessEqual | Self::Equal | Self::GreaterEqual)
    }

    /// The comparison with its operands the other way round: the strategies of both add up to 6.
    pub(crate) fn commutator(self) -> Option<Self> {
        Self::of(6 - self as i32)
    }

    /// The comparison with this btree strategy; `None` for a number that is no strategy.
    pub(crate) fn of(strategy: i32) -> Option<Self> {
        let all = [Self::Less, Self::LessEqual, Self::Equal, Self::GreaterEqual, Self::Greater];
        all.into_iter().find(|&operator| operator as i32 == strategy)
    }
}

/// The type `sno` and its operators.
#[derive(Clone, Copy)]
pub(crate) struct Operators {
    pub(crate) sno: Oid,
    pub(crate) family: Oid,
}

impl Operators {
    /// The operators for values of a type; `None` if it is not `sno`.
    pub(crate) unsafe fn of(type_: Oid) -> Option<Self> {
        let flags = pg_sys::TYPECACHE_BTREE_OPFAMILY | pg_sys::TYPECACHE_CMP_PROC_FINFO;
        let cached = &*raw::lookup_type_cache(type_, flags as i32);
        let comparison = cached.cmp_proc_finfo.fn_addr.map(|address| address as usize);
        let found = Self { sno: cached.btree_opintype, family: cached.btree_opf };
        (comparison == Some(cmp as Function as usize)).then_some(found)
    }

    /// The operator in the catalogs.
    pub(crate) unsafe fn oid(self, operator: Operator) -> Oid {
        raw::get_opfamily_member(self.family, self.sno, self.sno, operator as i16)
    }

    /// `left operator right`; `None` if the user may not call the operator's function.
    pub(crate) unsafe fn clause(
        self,
        operator: Operator,
        left: *mut Node,
        right: *mut Node,
    ) -> Option<*mut Node> {
        let none = pg_sys::InvalidOid;
        let oid = self.oid(operator);
        let function = raw::get_opcode(oid);
        if !may_call(function) {
            return None;
        }
        let node = raw::make_opclause(oid, pg_sys::BOOLOID, false, left.cast(), right.cast(), none, none);
        (*node.cast::<pg_sys::OpExpr>()).opfuncid = function;
        Some(node.cast())
    }

    /// The ID that a function of the library has for a time. The function is found in the schema of the type, by its
    /// name and its arguments. `None` if it is not this function of the library any more, or if the user may not call
    /// it. If the time is a constant, so is the result.
    pub(crate) unsafe fn bound(
        self,
        Bound { name, function, of }: Bound<impl Fn(i64) -> Option<Sno>>,
        time: *mut Node,
        exclusive: Option<bool>,
    ) -> Option<*mut Node> {
        let none = pg_sys::InvalidOid;
        let type_ = raw::exprType(time);
        if (*time).type_ == NodeTag::T_Const && type_ == pg_sys::TIMESTAMPTZOID {
            let time = &*time.cast::<Const>();
            let micros = (!time.constisnull).then(|| Timestamp::from_datum(time.constvalue).unix_micros());
            let id = micros.and_then(of);
            let datum = id.map_or(Datum::null(), |id| id.into_datum());
            let length = size_of::<Sno>() as i32;
            return Some(raw::makeConst(self.sno, -1, none, length, datum, id.is_none(), false).cast());
        }
        let types = [type_, pg_sys::BOOLOID];
        let mut args = raw::lappend(ptr::null_mut(), time.cast());
        if let Some(exclusive) = exclusive {
            args = raw::lappend(args, raw::makeBoolConst(exclusive, false).cast());
        }
        // The function is looked up in the catalog itself: the usual look-up by name requires the USAGE privilege on the
        // schema, which a user of a view need not have.
        let found = raw::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
            pg_sys::Anum_pg_proc_oid as _,
            name.as_ptr().into(),
            raw::buildoidvector(types.as_ptr(), (*args).length).into(),
            raw::GetSysCacheOid(
                pg_sys::SysCacheIdentifier::TYPEOID as _,
                pg_sys::Anum_pg_type_typnamespace as _,
                self.sno.into(),
                Datum::null(),
                Datum::null(),
                Datum::null(),
            )
            .into(),
            Datum::null(),
        );
        let explicit = CoercionForm::COERCE_EXPLICIT_CALL;
        (is_function(found, function) && may_call(found))
            .then(|| raw::makeFuncExpr(found, self.sno, args, none, none, explicit).cast())
    }
}

/// A function that returns the ID for a time: its name in the catalogs, its C function, and its value for a `timestamptz`
/// in microseconds since 1970.
pub(crate) struct Bound<'a, F: Fn(i64) -> Option<Sno>> {
    pub(crate) name: &'a CStr,
    pub(crate) function: Function,
    pub(crate) of: F,
}

/// A function of this library.
pub(crate) type Function = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// `sno_first` and `sno_last`, for a `timestamptz`, a `timestamp` and a `date`.
pub(crate) const FIRST: [Function; 3] = [sno_first, sno_first_timestamp, sno_first_date];
pub(crate) const LAST: [Function; 3] = [sno_last, sno_last_timestamp, sno_last_date];

/// The address of the C function of a function in the catalogs.
pub(crate) unsafe fn address(function: Oid) -> Option<usize> {
    if function == pg_sys::InvalidOid {
        return None;
    }
    let mut found = FmgrInfo::default();
    raw::fmgr_info(function, &mut found);
    found.fn_addr.map(|address| address as usize)
}

/// Whether a function in the catalogs is this one of the library.
pub(crate) unsafe fn is_function(oid: Oid, function: Function) -> bool {
    address(oid) == Some(function as usize)
}

/// What a condition that takes the place of another one is to the estimators.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(crate) enum Mark {
    /// It only repeats another condition.
    Repeated = -2,
    /// Together with the next, which is marked as repeated, it is an equality.
    Equal = -3,
}

/// Marks a condition, if its bound is a call. The mark is the `location` of the call, which else is a position in the
/// text of the query or -1: `copyObject` keeps it, `equal` ignores it.
pub(crate) unsafe fn mark(condition: *mut Node, mark: Mark) {
    for &operand in nodes((*condition.cast::<pg_sys::OpExpr>()).args) {
        if (*operand).type_ == NodeTag::T_FuncExpr {
            (*operand.cast::<FuncExpr>()).location = mark as i32;
        }
    }
}

/// Whether the condition that has these operands is marked.
pub(crate) unsafe fn has_mark(operands: *mut List, mark: Mark) -> bool {
    nodes(operands).iter().any(|&operand| {
        (*operand).type_ == NodeTag::T_FuncExpr && (*operand.cast::<FuncExpr>()).location == mark as i32
    })
}

/// The operator family of the order of times.
pub(crate) unsafe fn time_family() -> Oid {
    let flags = pg_sys::TYPECACHE_BTREE_OPFAMILY as i32;
    (*raw::lookup_type_cache(pg_sys::TIMESTAMPTZOID, flags)).btree_opf
}

/// A comparison of two times, of which one is a `timestamptz`.
pub(crate) unsafe fn time_operator(operator: Oid) -> Option<Operator> {
    Operator::of(raw::get_op_opfamily_strategy(operator, time_family()))
}

/// `timezone(text, timestamptz)` and `timezone(text, timestamp)`, which `AT TIME ZONE` calls.
const TIMESTAMPTZ_AT_ZONE: Oid = Oid::from_u32(pg_sys::F_TIMEZONE_TEXT_TIMESTAMPTZ);
const TIMESTAMP_AT_ZONE: Oid = Oid::from_u32(pg_sys::F_TIMEZONE_TEXT_TIMESTAMP);

/// Names of the time zone, in any case.
const NAMES: [&[u8]; 2] = [b"UTC", b"Etc/UTC"];

/// The time zone and the expression in `expression AT TIME ZONE 'UTC'`, where that is a `timestamptz`. The result is a
/// `timestamp` that has the order of the expression and does not depend on the session's time zone; in other zones neither is
/// true.
pub(crate) unsafe fn at_utc(node: *mut Node) -> Option<(*mut Node, *mut Node)> {
    if (*node).type_ != NodeTag::T_FuncExpr || (*node.cast::<FuncExpr>()).funcid != TIMESTAMPTZ_AT_ZONE {
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
pub(crate) unsafe fn of_utc(zone: *mut Node, time: *mut Node) -> Option<*mut Node> {
    if raw::exprType(time) != pg_sys::TIMESTAMPOID {
        return None;
    }
    if let Some((_, time)) = at_utc(time) {
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
    Some(raw::makeFuncExpr(TIMESTAMP_AT_ZONE, pg_sys::TIMESTAMPTZOID, args, none, collation, format).cast())
}
