//! Refuses to drop a partition with rows that feeds have not read. No event trigger can: when one is called, PostgreSQL has not yet found what
//! the command names, or has dropped it.

use std::{
    ffi::{c_char, c_int},
    ptr,
};

use pgrx::pg_sys::{
    self, DestReceiver, DropStmt, List, NodeTag, ObjectType, Oid, ParamListInfo, PlannedStmt,
    QueryCompletion, QueryEnvironment,
};

use crate::{
    pg::{nodes::nodes, raw, rights::owner_of, spi},
    sno::feed::query::{Sees, query},
};

/// The hook of another library, which ours replaces and calls.
static mut NEXT: pg_sys::ProcessUtility_hook_type = None;

/// Called when the library is preloaded.
pub(crate) fn install() {
    // SAFETY: a library is loaded by one thread.
    unsafe { NEXT = ptr::replace(&raw mut pg_sys::ProcessUtility_hook, Some(hook)) };
}

unsafe extern "C-unwind" fn hook(
    statement: *mut PlannedStmt,
    text: *const c_char,
    is_kept: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    params: ParamListInfo,
    environment: *mut QueryEnvironment,
    receiver: *mut DestReceiver,
    completion: *mut QueryCompletion,
) {
    let command = (*statement).utilityStmt;
    if (*command).type_ == NodeTag::T_DropStmt {
        let DropStmt { removeType, objects, .. } = *command.cast::<DropStmt>();
        if removeType == ObjectType::OBJECT_TABLE {
            nodes(objects).iter().for_each(|&name| check(name.cast()));
        }
    }
    let next = NEXT.unwrap_or(raw::standard_ProcessUtility);
    next(statement, text, is_kept, context, params, environment, receiver, completion);
}

/// Asks `sno_internal.check_drop()` about a partition, if the role may drop it: who may not, learns nothing here.
unsafe fn check(name: *const List) {
    let (lock, flags, none) = (pg_sys::NoLock as c_int, pg_sys::RVROption::RVR_MISSING_OK, ptr::null_mut());
    let table = raw::RangeVarGetRelidExtended(raw::makeRangeVarFromNameList(name), lock, flags, none, none);
    if table != Oid::INVALID
        && raw::get_rel_relispartition(table)
        && raw::has_privs_of_role(raw::GetUserId(), owner_of(table))
        && raw::get_extension_oid(c"sno".as_ptr(), true) != Oid::INVALID
    {
        spi::connect();
        query(c"SELECT sno_internal.check_drop($1)", [(pg_sys::REGCLASSOID, Some(table.into()))], Sees::Now);
        spi::finish();
    }
}
