//! What maintains a table, its log of changes or its partitions is done as its owner, whoever calls it: triggers, defaults, conditions
//! and the functions in them run with the owner's rights, not with those of a superuser.

use std::{ffi::CStr, mem::size_of, ptr};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        self, AclResult, Datum, FmgrInfo, FunctionCallInfo, FunctionCallInfoBaseData, NullableDatum,
        ObjectType, Oid, SysCacheIdentifier,
    },
};

use crate::pg::{
    errors::{Error, guard},
    fmgr::functions,
    raw,
    rights::{as_role, owner_of},
};

functions! {
    /// Whatever begins with a table: `sno_forget_changes(regclass, …)` calls `sno_internal.forget_changes(regclass, …)` as its owner.
    sno_as_owner: as_owner;
}

/// # Safety
/// A call of a function whose first argument is a `regclass`, and which has a counterpart of the same types in `sno_internal`.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn as_owner(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL like this. No frame has anything to drop.
    unsafe {
        let table = *(*fcinfo).args.as_ptr();
        if table.isnull {
            guard(|| -> Result<(), Error> {
                Err(Error::new(SqlState::ERRCODE_NULL_VALUE_NOT_ALLOWED, "table must not be null"))
            });
        }
        let outer = (*fcinfo).flinfo;
        let (function, takes_turns) = counterpart((*outer).fn_oid);
        let owner = lock(Oid::from(table.value.value() as u32), takes_turns);
        let mut info = FmgrInfo::default();
        raw::fmgr_info(function, &mut info);
        info.fn_expr = (*outer).fn_expr;
        // A copy of the call, which an error need not put in order again. Rows go where the caller said.
        let size =
            size_of::<FunctionCallInfoBaseData>() + (*fcinfo).nargs as usize * size_of::<NullableDatum>();
        let call: FunctionCallInfo = raw::palloc(size).cast();
        ptr::copy_nonoverlapping(fcinfo.cast::<u8>(), call.cast(), size);
        (*call).flinfo = &mut info;
        let run = info.fn_addr.unwrap_unchecked();
        let result = as_role(owner, || run(call));
        (*fcinfo).isnull = (*call).isnull;
        result
    }
}

/// The function of `sno_internal` that does the work of another one, and whether its calls for one table take turns: all but
/// those that only delete.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn counterpart(of: Oid) -> (Oid, bool) {
    // SAFETY: look-ups of a function that is being called.
    unsafe {
        let (mut types, mut count) = (ptr::null_mut(), 0);
        raw::get_func_signature(of, &mut types, &mut count);
        let name = CStr::from_ptr(raw::get_func_name(of));
        // Without the prefix "sno_".
        let inner = name.as_ptr().add(4);
        let function = raw::GetSysCacheOid(
            SysCacheIdentifier::PROCNAMEARGSNSP as i32,
            pg_sys::Anum_pg_proc_oid as i16,
            inner.into(),
            raw::buildoidvector(types, count).into(),
            raw::get_namespace_oid(c"sno_internal".as_ptr(), false).into(),
            Datum::null(),
        );
        (function, name != c"sno_forget_changes")
    }
}

/// Locks a table whose owner the caller is, or a member of that. The owner stays the same until the transaction ends. Neither readers nor
/// writers wait for the lock.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn lock(table: Oid, takes_turns: bool) -> Oid {
    // SAFETY: look-ups. A relation need not be there.
    unsafe {
        // Nobody locks what is not his.
        check_owner(table);
        let mode = if takes_turns { pg_sys::ShareUpdateExclusiveLock } else { pg_sys::AccessShareLock };
        raw::LockRelationOid(table, mode as _);
        check_owner(table)
    }
}

/// The owner of a table; an error if the caller does not have his rights.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn check_owner(table: Oid) -> Oid {
    // SAFETY: look-ups.
    unsafe {
        let owner = owner_of(table);
        if owner != Oid::INVALID && !raw::has_privs_of_role(raw::GetUserId(), owner) {
            raw::aclcheck_error(
                AclResult::ACLCHECK_NOT_OWNER,
                ObjectType::OBJECT_TABLE,
                raw::get_rel_name(table),
            );
        }
        guard(|| {
            let message = || format!("relation with OID {} does not exist", table.to_u32());
            (owner != Oid::INVALID)
                .then_some(owner)
                .ok_or_else(|| Error::new(SqlState::ERRCODE_UNDEFINED_TABLE, message()))
        })
    }
}
