//! The type's operators and functions in the catalogs, and expressions of them.

use std::ffi::CStr;

use pgrx::pg_sys::{self, CoercionForm, Datum, FmgrInfo, FunctionCallInfo, List, Node, Oid};
use sno_core::Sno;

use crate::{
    pg::{datum::Returned as _, raw},
    sno::id::lt,
};

/// The comparisons of btree but for `=`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Operator {
    Less,
    LessEqual,
    GreaterEqual,
    Greater,
}

impl Operator {
    const ALL: [Self; 4] = [Self::Less, Self::LessEqual, Self::GreaterEqual, Self::Greater];

    pub(crate) fn is_less(self) -> bool {
        matches!(self, Self::Less | Self::LessEqual)
    }

    pub(crate) fn is_inclusive(self) -> bool {
        matches!(self, Self::LessEqual | Self::GreaterEqual)
    }

    pub(crate) fn commutator(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::GreaterEqual => Self::LessEqual,
            Self::Greater => Self::Less,
        }
    }

    /// The comparison with this btree strategy; `None` for `=`, and for what is no strategy.
    pub(crate) fn of(strategy: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| i32::from(operator.strategy()) == strategy)
    }

    fn strategy(self) -> i16 {
        let strategy = match self {
            Self::Less => pg_sys::BTLessStrategyNumber,
            Self::LessEqual => pg_sys::BTLessEqualStrategyNumber,
            Self::GreaterEqual => pg_sys::BTGreaterEqualStrategyNumber,
            Self::Greater => pg_sys::BTGreaterStrategyNumber,
        };
        strategy as i16
    }
}

/// The type `sno` and its operators.
#[derive(Clone, Copy)]
pub(crate) struct Operators {
    sno: Oid,
    family: Oid,
}

/// All functions here are called, and call PostgreSQL, as the functions of [`raw`] are: no caller has a destructor or a guard.
impl Operators {
    /// The operators for values of a type; `None` if it is not `sno`.
    pub(crate) unsafe fn of(type_: Oid) -> Option<Self> {
        // SAFETY: look-ups in the catalogs.
        unsafe {
            let cached = &*raw::lookup_type_cache(type_, pg_sys::TYPECACHE_BTREE_OPFAMILY as i32);
            let found = Self { sno: cached.btree_opintype, family: cached.btree_opf };
            is_function(raw::get_opcode(found.oid(Operator::Less)), lt).then_some(found)
        }
    }

    /// The operator in the catalogs.
    pub(crate) unsafe fn oid(self, operator: Operator) -> Oid {
        // SAFETY: a look-up in the catalogs.
        unsafe { raw::get_opfamily_member(self.family, self.sno, self.sno, operator.strategy()) }
    }

    /// `=` in the catalogs.
    pub(crate) unsafe fn equality(self) -> Oid {
        let strategy = pg_sys::BTEqualStrategyNumber as i16;
        // SAFETY: a look-up in the catalogs.
        unsafe { raw::get_opfamily_member(self.family, self.sno, self.sno, strategy) }
    }

    /// All four, with their OIDs.
    pub(crate) unsafe fn all(self) -> [(Oid, Operator); 4] {
        // SAFETY: look-ups in the catalogs.
        Operator::ALL.map(|operator| (unsafe { self.oid(operator) }, operator))
    }

    /// A function of the library in the schema of another one: by its name and its arguments' types, if it still is this function.
    pub(crate) unsafe fn function(
        self,
        neighbour: Oid,
        name: &CStr,
        arguments: &[Oid],
        is: Function,
    ) -> Option<Oid> {
        // SAFETY: look-ups. In the catalog itself, since the usual look-up by name requires the USAGE privilege on the
        // schema, which a user of a view need not have.
        unsafe {
            let found = raw::GetSysCacheOid(
                pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
                pg_sys::Anum_pg_proc_oid as _,
                name.as_ptr().into(),
                raw::buildoidvector(arguments.as_ptr(), arguments.len() as i32).into(),
                raw::get_func_namespace(neighbour).into(),
                Datum::null(),
            );
            is_function(found, is).then_some(found)
        }
    }

    /// `left operator right`
    pub(crate) unsafe fn clause(self, operator: Operator, left: *mut Node, right: *mut Node) -> *mut Node {
        let none = pg_sys::InvalidOid;
        // SAFETY: two expressions of the type.
        unsafe {
            let oid = self.oid(operator);
            let node = raw::make_opclause(oid, pg_sys::BOOLOID, false, left.cast(), right.cast(), none, none);
            (*node.cast::<pg_sys::OpExpr>()).opfuncid = raw::get_opcode(oid);
            node.cast()
        }
    }

    /// A constant, or null.
    pub(crate) unsafe fn constant(self, id: Option<Sno>) -> *mut Node {
        // SAFETY: a value of the type, passed by reference.
        unsafe {
            let datum = id.map_or(Datum::null(), |id| id.into_datum());
            let (none, length) = (pg_sys::InvalidOid, size_of::<Sno>() as i32);
            raw::makeConst(self.sno, -1, none, length, datum, id.is_none(), false).cast()
        }
    }

    /// A call of a function whose result is of the type.
    pub(crate) unsafe fn call(self, function: Oid, args: *mut List) -> *mut Node {
        let none = pg_sys::InvalidOid;
        // SAFETY: the arguments of that function.
        unsafe {
            raw::makeFuncExpr(function, self.sno, args, none, none, CoercionForm::COERCE_EXPLICIT_CALL).cast()
        }
    }
}

/// A function of this library.
pub(crate) type Function = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// The address of the C function of a function in the catalogs.
pub(crate) unsafe fn address(function: Oid) -> Option<usize> {
    if function == pg_sys::InvalidOid {
        return None;
    }
    let mut found = FmgrInfo::default();
    // SAFETY: a look-up of a function that exists.
    unsafe { raw::fmgr_info(function, &mut found) };
    found.fn_addr.map(|address| address as usize)
}

/// Whether a function in the catalogs is this one of the library.
pub(crate) unsafe fn is_function(oid: Oid, function: Function) -> bool {
    // SAFETY: a look-up of a function that exists.
    unsafe { address(oid) == Some(function as usize) }
}
