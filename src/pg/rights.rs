//! Work with the rights of another role.

use pgrx::pg_sys::{self, Datum, GucAction, GucContext, GucSource, Oid, SysCacheIdentifier};

use crate::pg::raw;

/// Does some work with the rights of another role, and then goes on as before: as VACUUM and amcheck become the owner of a table.
///
/// * `search_path` is `pg_catalog, pg_temp`, since not all that a text names can have its schema: `USING`, `IN`, `CASE x WHEN`,
///   `BETWEEN`, `NULLIF` and `IS DISTINCT FROM` find their operators by the path. So a statement is both prepared and executed in here.
///   (PostgreSQL analyzes a kept plan once more where the path is another one.) Relations and types are found in `pg_temp`, too:
///   name them with their schemas.
/// * What the role has written runs here: its triggers, defaults and conditions. They cannot become the caller again, nor leave
///   anything to run later as the caller: PostgreSQL refuses SET ROLE, temporary tables, cursors WITH HOLD and deferred triggers.
/// * Afterwards the role and all settings are what they were. After an error, which passes through, PostgreSQL sees to that where the
///   error is handled: at the end of the transaction or of the savepoint.
///
/// # Safety
/// As for the functions of [`raw`], and so is the work.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) unsafe fn as_role<T: Copy>(role: Oid, work: impl FnOnce() -> T) -> T {
    // SAFETY: as promised by the caller.
    unsafe {
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
}

/// The owner of a relation; not valid if there is no such relation.
///
/// # Safety
/// As for the functions of [`raw`].
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) unsafe fn owner_of(relation: Oid) -> Oid {
    let (cache, column) = (SysCacheIdentifier::RELOID as i32, pg_sys::Anum_pg_class_relowner as i16);
    let [key, none] = [relation.into(), Datum::null()];
    // SAFETY: a column that is an OID, and is never null.
    unsafe { raw::GetSysCacheOid(cache, column, key, none, none, none) }
}
