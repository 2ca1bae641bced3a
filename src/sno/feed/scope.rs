//! The scope of rows that several servers commit: an extension that knows these servers, as `sno_citus` does for tables
//! of Citus, and has a function of a fixed name that says up to where no row is missing. Without one, such rows have no
//! horizon.

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo, Oid},
};

use crate::pg::{
    errors::{Error, raise},
    fmgr::functions,
    process::own_database_name,
    raw,
    rights::{call_as, counterpart, owner_of_function},
};

functions! {
    /// `sno_internal.sno_scope_horizon(…)` and `sno_internal.sno_scope_read(…)`: the function of the scope whose name
    /// lacks the "sno_", as its owner, since others do not see which sessions write.
    sno_in_scope: in_scope;
}

unsafe fn in_scope(fcinfo: FunctionCallInfo) -> Datum {
    let function = counterpart(fcinfo);
    if !is_registered(function) {
        raise(no_scope);
    }
    call_as(owner_of_function(function), function, fcinfo)
}

/// Whether a superuser has made it, as a part of an extension.
unsafe fn is_registered(function: Oid) -> bool {
    function != Oid::INVALID
        && raw::superuser_arg(owner_of_function(function))
        && raw::getExtensionOfObject(pg_sys::ProcedureRelationId, function) != Oid::INVALID
}

fn no_scope() -> Error {
    let message = format!("database \"{}\" has no feeds of distributed rows", own_database_name());
    Error::new(SqlState::ERRCODE_FEATURE_NOT_SUPPORTED, message)
        .detail("Other servers commit such rows, too, and their transactions are not known here.")
        .hint("CREATE EXTENSION sno_citus")
}
