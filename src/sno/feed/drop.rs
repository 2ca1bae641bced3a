//! Refuses to drop a partition with rows that feeds have not read. No event trigger can: when one is called, PostgreSQL has not yet found what
//! the command names, or has dropped it.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr, slice,
};

use pgrx::pg_sys::{
    self, DestReceiver, DropStmt, Node, NodeTag, ObjectType, Oid, ParamListInfo, PlannedStmt,
    QueryCompletion, QueryEnvironment, RangeVar,
};

use crate::pg::{
    nodes::nodes,
    raw,
    rights::{own_function, owner_of, owner_of_schema},
};

const CHECK: &CStr = c"check_drop";

const TABLES: [u8; 2] = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_PARTITIONED_TABLE];

/// What DROP TABLE locks with.
const LOCK: c_int = pg_sys::AccessExclusiveLock as c_int;

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
        // In a transaction that only reads, as on a standby, PostgreSQL refuses it, and no such lock can be taken.
        if removeType == ObjectType::OBJECT_TABLE && !pg_sys::XactReadOnly {
            let tables = named_tables(nodes(objects));
            tables.iter().for_each(|&(name, _)| check(name, tables));
        }
    }
    let next = NEXT.unwrap_or(raw::standard_ProcessUtility);
    next(statement, text, is_kept, context, params, environment, receiver, completion);
}

/// A name in the command, and the table that has it.
type Named = (*mut RangeVar, Oid);

unsafe fn named_tables<'a>(names: &[*mut Node]) -> &'a [Named] {
    // As PostgreSQL does before it looks: what others have committed since the transaction began counts.
    raw::AcceptInvalidationMessages();
    let tables: *mut Named = raw::palloc(names.len() * size_of::<Named>()).cast();
    for (place, name) in names.iter().enumerate() {
        let name = raw::makeRangeVarFromNameList(name.cast());
        tables.add(place).write((name, named(name)));
    }
    slice::from_raw_parts(tables, names.len())
}

/// Asks `sno_internal.check_drop()` about a partition, if the role may drop it: who may not, learns nothing
/// here, and locks nothing. It locks what the command locks, so that no row comes any more. The partitions of a table that is dropped, too, go with it.
unsafe fn check(name: *const RangeVar, with: &[Named]) {
    loop {
        let table = named(name);
        // Indexes and foreign tables can be partitions, too, which DROP TABLE does not drop.
        let is_table = TABLES.contains(&(raw::get_rel_relkind(table) as u8));
        if !is_table || !raw::get_rel_relispartition(table) || !may_drop(table) {
            return;
        }
        let parent = raw::get_partition_parent(table, true);
        raw::LockRelationOid(parent, LOCK);
        raw::LockRelationOid(table, LOCK);
        // Others can have renamed or detached it meanwhile; of one that is no partition, PostgreSQL finds no parent.
        if named(name) == table
            && raw::get_rel_relispartition(table)
            && raw::get_partition_parent(table, true) == parent
        {
            let goes_with_parent = with.iter().any(|&(name, oid)| oid == parent && named(name) == parent);
            if !goes_with_parent {
                check_locked(table);
            }
            return;
        }
    }
}

unsafe fn named(name: *const RangeVar) -> Oid {
    let (lock, flags, none) = (pg_sys::NoLock as c_int, pg_sys::RVROption::RVR_MISSING_OK, ptr::null_mut());
    raw::RangeVarGetRelidExtended(name, lock, flags, none, none)
}

/// Whether PostgreSQL lets the role drop it: who owns the table, or its schema.
unsafe fn may_drop(table: Oid) -> bool {
    let owners = [owner_of(table), owner_of_schema(raw::get_rel_namespace(table))];
    owners.iter().any(|&owner| owner != Oid::INVALID && raw::has_privs_of_role(raw::GetUserId(), owner))
}

unsafe fn check_locked(table: Oid) {
    let Some(check) = own_function(CHECK, &[pg_sys::REGCLASSOID]) else { return };
    // Others can write its own partitions without a lock of it.
    raw::find_all_inheritors(table, LOCK, ptr::null_mut());
    // Also in a transaction whose own snapshot is older.
    raw::PushActiveSnapshot(raw::GetLatestSnapshot());
    raw::OidFunctionCall1Coll(check, Oid::INVALID, table.into());
    raw::PopActiveSnapshot();
}
