//! Rewrites comparisons with a time to comparisons with an ID, which indexes can use.
//!
//! Without this, the planner would inline the SQL bodies of the functions behind these operators, with the same result. But
//! to parse, analyze and rewrite a body takes as long as planning the rest of a simple query (6 of 12 µs for one
//! comparison, measured on PostgreSQL 15). Calls that are not rewritten here are still inlined.

use std::{ffi::CStr, ptr};

use pgrx::{
    PgList,
    pg_sys::{self, Datum, Node, NodeTag, Oid},
};
use sno_core::Sno;

use crate::{
    pg::{
        catalog_cache::{CatalogCache, Function, identify},
        datum::{Argument, Returned, Timestamp},
        fmgr::{Args, finfo},
        nodes::nodes,
    },
    sno::functions::{sno_lower, sno_upper},
};

finfo!(sno_before_support);
/// `sno_before_support(internal) → internal`: planner support for `<`, in both orders of its arguments.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_before_support(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: called as a support function of one with a sno and a time.
    unsafe { simplify(fcinfo, |call| call.compare(pg_sys::BTLessStrategyNumber, Bound::Lower, 0)) }
}

finfo!(sno_since_support);
/// `sno_since_support(internal) → internal`: planner support for `>=`, in both orders of its arguments.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_since_support(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: as above.
    unsafe { simplify(fcinfo, |call| call.compare(pg_sys::BTGreaterEqualStrategyNumber, Bound::Lower, 0)) }
}

finfo!(sno_upto_support);
/// `sno_upto_support(internal) → internal`: planner support for `<=`, in both orders of its arguments.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_upto_support(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: as above.
    unsafe { simplify(fcinfo, |call| call.compare(pg_sys::BTLessEqualStrategyNumber, Bound::Upper, 0)) }
}

finfo!(sno_after_support);
/// `sno_after_support(internal) → internal`: planner support for `>`, in both orders of its arguments.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_after_support(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: as above.
    unsafe { simplify(fcinfo, |call| call.compare(pg_sys::BTGreaterStrategyNumber, Bound::Upper, 0)) }
}

finfo!(sno_between_support);
/// `sno_between_support(internal) → internal`: planner support for `sno_between`.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn sno_between_support(fcinfo: pg_sys::FunctionCallInfo) -> Datum {
    // SAFETY: called as a support function of one with a sno and two times.
    unsafe {
        simplify(fcinfo, |call| {
            // The ID is evaluated twice, so it has to be cheap and without side effects.
            let cheap = [NodeTag::T_Var, NodeTag::T_Param, NodeTag::T_Const];
            if !cheap.contains(&(*call.id).type_) {
                return ptr::null_mut();
            }
            let since = call.compare(pg_sys::BTGreaterEqualStrategyNumber, Bound::Lower, 0);
            call.id = pg_sys::copyObjectImpl(call.id.cast()).cast();
            let until = call.compare(pg_sys::BTLessStrategyNumber, Bound::Lower, 1);
            if since.is_null() || until.is_null() {
                return ptr::null_mut();
            }
            let mut both = PgList::new();
            both.push(since);
            both.push(until);
            pg_sys::make_andclause(both.into_pg()).cast()
        })
    }
}

/// A call of a function with an ID and one or two times. Nothing in it needs dropping, since PostgreSQL's functions may
/// raise an error with `longjmp`.
struct Call {
    function: Oid,
    sno: Oid,
    id: *mut Node,
    times: [*mut Node; 2],
}

/// Handles the request to simplify a call. The result is null for other requests, and if the call stays as it is.
unsafe fn simplify(fcinfo: pg_sys::FunctionCallInfo, rewrite: impl FnOnce(&mut Call) -> *mut Node) -> Datum {
    // SAFETY: a request of the planner's. The arguments of the call in it may be reused.
    unsafe {
        let request = Args::new(fcinfo).next::<Datum>().cast_mut_ptr::<pg_sys::SupportRequestSimplify>();
        if (*request).type_ != NodeTag::T_SupportRequestSimplify {
            return Datum::null();
        }
        let call = &*(*request).fcall;
        let (mut sno, mut id): (_, *mut Node) = (pg_sys::InvalidOid, ptr::null_mut());
        let mut times: [*mut Node; 2] = [ptr::null_mut(); 2];
        for &node in nodes(call.args) {
            let found = pg_sys::exprType(node);
            let place = if found == pg_sys::TIMESTAMPTZOID {
                times.iter_mut().find(|place| place.is_null())
            } else {
                sno = found;
                Some(&mut id).filter(|place| place.is_null())
            };
            let Some(place) = place else { return Datum::null() };
            *place = node;
        }
        if id.is_null() {
            return Datum::null();
        }
        Datum::from(rewrite(&mut Call { function: call.funcid, sno, id, times }))
    }
}

/// The ID that a time becomes: `sno_lower(time)` or `sno_upper(time)`.
#[derive(Clone, Copy)]
enum Bound {
    Lower,
    Upper,
}

/// The catalog objects that a rewritten comparison refers to.
#[derive(Clone, Copy)]
struct Parts {
    sno: Oid,
    family: Oid,
    lower: Oid,
    upper: Oid,
}

/// How many functions have one of the support functions: the eight operators', and `sno_between`.
const SUPPORTED: usize = 9;

/// A function of a time, by its name and the function of this library that it has to be: another may have this name now.
///
/// # Safety
/// Called while the catalogs can be read.
unsafe fn of_time(schema: Oid, name: &CStr, is: Function) -> Option<Oid> {
    // SAFETY: look-ups. In the catalog itself: the usual look-up by name requires the USAGE privilege on the schema, which a
    // user of a view need not have.
    unsafe {
        let found = pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
            pg_sys::Anum_pg_proc_oid as _,
            name.as_ptr().into(),
            pg_sys::buildoidvector([pg_sys::TIMESTAMPTZOID].as_ptr(), 1).into(),
            schema.into(),
            Datum::null(),
        );
        identify(found, &[(is, found)])
    }
}

impl Parts {
    /// The objects of the extension that this function belongs to.
    fn of(function: Oid, sno: Oid) -> Option<Self> {
        static PARTS: CatalogCache<Parts, SUPPORTED> = CatalogCache::new();

        // SAFETY: look-ups for a function and a type that exist; the latter has a btree operator family.
        PARTS.get(function, || unsafe {
            let schema = pg_sys::get_func_namespace(function);
            let lower = of_time(schema, c"sno_lower", sno_lower)?;
            let upper = of_time(schema, c"sno_upper", sno_upper)?;
            let family = (*pg_sys::lookup_type_cache(sno, pg_sys::TYPECACHE_BTREE_OPFAMILY as i32)).btree_opf;
            (family != pg_sys::InvalidOid).then_some(Self { sno, family, lower, upper })
        })
    }

    /// The operator of a btree strategy, and its function.
    fn operator(self, strategy: u32) -> Option<(Oid, Oid)> {
        static OPERATORS: [CatalogCache<(Oid, Oid)>; pg_sys::BTMaxStrategyNumber as usize] =
            [const { CatalogCache::new() }; pg_sys::BTMaxStrategyNumber as usize];

        OPERATORS[strategy as usize - 1].get(self.family, || {
            // SAFETY: look-ups.
            unsafe {
                let found = pg_sys::get_opfamily_member(self.family, self.sno, self.sno, strategy as i16);
                (found != pg_sys::InvalidOid).then(|| (found, pg_sys::get_opcode(found)))
            }
        })
    }
}

impl Call {
    /// `id < sno_lower(time)`, or with the operator of another btree strategy and `sno_upper`.
    unsafe fn compare(&self, strategy: u32, bound: Bound, time: usize) -> *mut Node {
        // SAFETY: nodes of the planner's; the operator compares two of type sno.
        unsafe {
            if self.times[time].is_null() {
                return ptr::null_mut();
            }
            let Some(parts) = Parts::of(self.function, self.sno) else {
                return ptr::null_mut();
            };
            let Some((operator, function)) = parts.operator(strategy) else { return ptr::null_mut() };
            let node = pg_sys::make_opclause(
                operator,
                pg_sys::BOOLOID,
                false,
                self.id.cast(),
                parts.bound(bound, self.times[time]).cast(),
                pg_sys::InvalidOid,
                pg_sys::InvalidOid,
            );
            (*node.cast::<pg_sys::OpExpr>()).opfuncid = function;
            node.cast()
        }
    }
}

impl Parts {
    /// `sno_lower(time)` or `sno_upper(time)`.
    unsafe fn bound(self, bound: Bound, time: *mut Node) -> *mut Node {
        let (function, value): (_, fn(i64) -> Sno) = match bound {
            Bound::Lower => (self.lower, Sno::lower_bound),
            Bound::Upper => (self.upper, Sno::upper_bound),
        };
        // SAFETY: the argument is a timestamptz.
        unsafe {
            if (*time).type_ == NodeTag::T_Const {
                let time = &*time.cast::<pg_sys::Const>();
                if time.constisnull {
                    return pg_sys::makeNullConst(self.sno, -1, pg_sys::InvalidOid).cast();
                }
                let id = value(Timestamp::from_datum(time.constvalue).unix_micros());
                let length = size_of::<Sno>() as i32;
                return pg_sys::makeConst(
                    self.sno,
                    -1,
                    pg_sys::InvalidOid,
                    length,
                    id.into_datum(),
                    false,
                    false,
                )
                .cast();
            }
            let mut args = PgList::new();
            args.push(time);
            pg_sys::makeFuncExpr(
                function,
                self.sno,
                args.into_pg(),
                pg_sys::InvalidOid,
                pg_sys::InvalidOid,
                pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
            )
            .cast()
        }
    }
}
