//! What maintains a table, its log of changes or its partitions is done as its owner, whoever calls it: triggers, defaults, conditions
//! and the functions in them run with the owner's rights, not with those of a superuser.
//!
//! # Safety
//!
//! PostgreSQL calls these functions with the arguments that SQL declares. A table need not be there. No frame has anything to drop.

#![allow(unsafe_op_in_unsafe_fn, ffi_unwind_calls, reason = "by the rules above and of `pg::raw`")]

use std::ffi::c_char;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, AclResult, Datum, DependencyType, FunctionCallInfo, ObjectAddress, ObjectType, Oid},
};

use crate::pg::{
    errors::{Error, guard, raise},
    fmgr::functions,
    raw,
    rights::{call_as, counterpart, owner_of},
};

functions! {
    /// `sno_track_changes(regclass, …)` and others that begin with a table: the function of `sno_internal`, as the table's owner. Calls for
    /// one table take turns.
    sno_as_owner: |fcinfo| as_owner(fcinfo, true);
    /// The same of those that only delete or read, and those that a command calls which has locked what it changes: they take no turns.
    sno_as_owner_concurrently: |fcinfo| as_owner(fcinfo, false);
    /// `sno_internal.sno_depend(regclass, regclass, boolean)`: has PostgreSQL refuse to drop a partition, or no more.
    sno_depend: depend;
}

unsafe fn as_owner(fcinfo: FunctionCallInfo, takes_turns: bool) -> Datum {
    let table = *(*fcinfo).args.as_ptr();
    if table.isnull {
        raise(|| Error::new(SqlState::ERRCODE_NULL_VALUE_NOT_ALLOWED, "table must not be null"));
    }
    let owner = lock(Oid::from(table.value.value() as u32), takes_turns);
    call_as(owner, counterpart(fcinfo), fcinfo)
}

/// The trigger for TRUNCATE of a table depends on a partition, or no more. CREATE TRIGGER could say it in a condition, but locks the table,
/// and writes the whole list each time. The locks keep both from being dropped meanwhile.
unsafe fn depend(fcinfo: FunctionCallInfo) -> Datum {
    let arg = |number: usize| (*(*fcinfo).args.as_ptr().add(number)).value.value();
    let [table, part] = [0, 1].map(|number| Oid::from(arg(number) as u32));
    lock(table, false);
    lock(part, false);
    let address =
        |class: Oid, object: Oid| ObjectAddress { classId: class, objectId: object, objectSubId: 0 };
    let trigger = raw::get_trigger_oid(table, c"sno_log_truncate".as_ptr(), true);
    let (depender, referenced) =
        (address(pg_sys::TriggerRelationId, trigger), address(pg_sys::RelationRelationId, part));
    let kind = DependencyType::DEPENDENCY_NORMAL;
    if trigger != Oid::INVALID {
        // Once, however often it is said.
        let (class, of_tables) = (depender.classId, referenced.classId);
        raw::deleteDependencyRecordsForSpecific(class, trigger, kind as c_char, of_tables, part);
        if arg(2) != 0 {
            raw::recordDependencyOn(&depender, &referenced, kind);
        }
    }
    Datum::null()
}

/// Locks a table whose owner the caller is, or a member of that. The owner stays the same until the transaction ends. Neither readers nor
/// writers wait for the lock.
unsafe fn lock(table: Oid, takes_turns: bool) -> Oid {
    // Nobody locks what is not his.
    check_owner(table);
    let mode = if takes_turns { pg_sys::ShareUpdateExclusiveLock } else { pg_sys::AccessShareLock };
    raw::LockRelationOid(table, mode as _);
    check_owner(table)
}

/// The owner of a table; an error if the caller does not have his rights.
unsafe fn check_owner(table: Oid) -> Oid {
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
