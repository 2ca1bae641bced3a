//! Work with the rights of another role.
//!
//! # Safety
//! As for the functions of [`raw`], and so is the work of [`as_role`].

#![allow(unsafe_op_in_unsafe_fn, ffi_unwind_calls, reason = "by the rule above")]

use std::{
    ffi::CStr,
    mem::{needs_drop, size_of},
    ptr,
};

use pgrx::pg_sys::{
    self, Datum, FmgrInfo, FunctionCallInfo, FunctionCallInfoBaseData, GucAction, GucContext, GucSource,
    NullableDatum, Oid, SysCacheIdentifier,
};

use crate::pg::raw;

/// Does some work with the rights of another role, and then goes on as before: as VACUUM and amcheck become the owner
/// of a table.
///
/// * `search_path` is `pg_catalog, pg_temp`, since not all that a text names can have its schema: `USING`, `IN`, `CASE
///   x WHEN`, `BETWEEN`, `NULLIF` and `IS DISTINCT FROM` find their operators by the path. So a statement is both
///   prepared and executed in here. (PostgreSQL analyzes a kept plan once more where the path is another one.)
///   Relations and types are found in `pg_temp`, too: name them with their schemas.
/// * What the role has written runs here: its triggers, defaults and conditions. They cannot become the caller again,
///   nor leave anything to run later as the caller: PostgreSQL refuses SET ROLE, temporary tables, cursors WITH HOLD
///   and deferred triggers.
/// * Afterwards the role and all settings are what they were. After an error, which passes through, PostgreSQL sees to
///   that where the error is handled: at the end of the transaction or of the savepoint.
pub unsafe fn as_role<T: Copy, F: FnOnce() -> T>(role: Oid, work: F) -> T {
    // What it captures is not dropped by an error.
    const { assert!(!needs_drop::<F>()) };
    let (mut caller, mut context) = (Oid::INVALID, 0);
    raw::GetUserIdAndSecContext(&mut caller, &mut context);
    let restricted = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
    raw::SetUserIdAndSecContext(role, context | restricted as i32);
    let level = raw::NewGUCNestLevel();
    raw::set_config_option(
        c"search_path".as_ptr(),
        c"pg_catalog, pg_temp".as_ptr(),
        GucContext::PGC_USERSET,
        GucSource::PGC_S_SESSION,
        GucAction::GUC_ACTION_SAVE,
        true,
        0,
        false,
    );
    let result = work();
    raw::AtEOXact_GUC(false, level);
    raw::SetUserIdAndSecContext(caller, context);
    result
}

/// The owner of a relation; not valid if there is no such relation.
pub unsafe fn owner_of(relation: Oid) -> Oid {
    owner(SysCacheIdentifier::RELOID, pg_sys::Anum_pg_class_relowner, relation)
}

/// The owner of a function.
pub unsafe fn owner_of_function(function: Oid) -> Oid {
    owner(SysCacheIdentifier::PROCOID, pg_sys::Anum_pg_proc_proowner, function)
}

/// The owner of a schema.
pub unsafe fn owner_of_schema(schema: Oid) -> Oid {
    owner(SysCacheIdentifier::NAMESPACEOID, pg_sys::Anum_pg_namespace_nspowner, schema)
}

/// A function of the extension `sno` in its schema `sno_internal`, if this database has the extension, in a version that
/// has the function.
pub unsafe fn own_function(name: &CStr, types: &[Oid]) -> Option<Oid> {
    let extension = raw::get_extension_oid(c"sno".as_ptr(), true);
    let function = function_in(
        raw::get_namespace_oid(c"sno_internal".as_ptr(), true),
        name,
        types.as_ptr(),
        types.len(),
    );
    let is_own = extension != Oid::INVALID
        && function != Oid::INVALID
        && raw::getExtensionOfObject(pg_sys::ProcedureRelationId, function) == extension;
    is_own.then_some(function)
}

unsafe fn function_in(schema: Oid, name: &CStr, types: *const Oid, count: usize) -> Oid {
    raw::GetSysCacheOid(
        SysCacheIdentifier::PROCNAMEARGSNSP as i32,
        pg_sys::Anum_pg_proc_oid as i16,
        name.as_ptr().into(),
        raw::buildoidvector(types, count as i32).into(),
        schema.into(),
        Datum::null(),
    )
}

/// A column that is an OID, and is never null.
unsafe fn owner(cache: SysCacheIdentifier::Type, column: u32, object: Oid) -> Oid {
    let none = Datum::null();
    raw::GetSysCacheOid(cache as i32, column as i16, object.into(), none, none, none)
}

/// The function that does the work of the one that is called: `forget_changes` in `sno_internal` for
/// `sno_forget_changes` anywhere, with the same arguments.
pub unsafe fn counterpart(fcinfo: FunctionCallInfo) -> Oid {
    let called = (*(*fcinfo).flinfo).fn_oid;
    let (mut types, mut count) = (ptr::null_mut(), 0);
    raw::get_func_signature(called, &mut types, &mut count);
    let worker = CStr::from_ptr(raw::get_func_name(called).add(c"sno_".count_bytes()));
    let schema = raw::get_namespace_oid(c"sno_internal".as_ptr(), false);
    function_in(schema, worker, types, count as usize)
}

/// Passes a call on to another function of the same arguments and result, as another role.
pub unsafe fn call_as(role: Oid, function: Oid, fcinfo: FunctionCallInfo) -> Datum {
    let mut info = FmgrInfo::default();
    raw::fmgr_info(function, &mut info);
    info.fn_expr = (*(*fcinfo).flinfo).fn_expr;
    // A copy of the call, which an error need not put in order again. Rows go where the caller said.
    let size = size_of::<FunctionCallInfoBaseData>() + (*fcinfo).nargs as usize * size_of::<NullableDatum>();
    let call: FunctionCallInfo = raw::palloc(size).cast();
    ptr::copy_nonoverlapping(fcinfo.cast::<u8>(), call.cast(), size);
    (*call).flinfo = &mut info;
    let run = info.fn_addr.unwrap_unchecked();
    let result = as_role(role, || run(call));
    (*fcinfo).isnull = (*call).isnull;
    result
}
