//! What differs between the versions of PostgreSQL, behind functions that are the same for all of them.
//!
//! No other file asks for the version, except for the crate of its headers (`tests/server/imports.rs` checks it). Where
//! PostgreSQL has no interface for what we need, we read what its headers show. All of that is here, too, unless it is
//! the same in all versions:
//!
//! | what | why |
//! |---|---|
//! | the flags of a setting | no function says whether a library has defined it |

#![allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]

use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        self, EquivalenceClass, EquivalenceMember, Node, Oid, PlannerInfo, RangeTblEntry, RelOptInfo, Relids,
        RestrictInfo,
    },
};

use crate::pg::raw;

/// What PostgreSQL calls for each part of a query until it returns true.
pub type Walker = unsafe extern "C-unwind" fn(*mut Node, *mut c_void) -> bool;

#[allow(missing_docs, reason = "PostgreSQL's functions")]
unsafe extern "C-unwind" {
    #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_walker_impl")]
    pub fn expression_tree_walker(node: *mut Node, walker: Option<Walker>, context: *mut c_void) -> bool;
    #[cfg_attr(not(feature = "pg15"), link_name = "query_tree_walker_impl")]
    pub fn query_tree_walker(
        query: *mut pg_sys::Query,
        walker: Option<Walker>,
        context: *mut c_void,
        flags: c_int,
    ) -> bool;
}

/// What is called for a table of a query: with the planner's state, what it knows of the table, and the table's entry
/// in the query.
pub type OnTable = unsafe fn(*mut PlannerInfo, *mut RelOptInfo, &RangeTblEntry);

/// Has a function called, from the load of the library on, for each table of each query: when the planner has read the
/// catalogs about it, and before it distributes conditions to tables. It follows the rule of [`raw`].
pub fn on_table(function: OnTable) {
    #[cfg(not(feature = "pg19"))]
    type Hook = pg_sys::get_relation_info_hook_type;
    #[cfg(feature = "pg19")]
    type Hook = pg_sys::build_simple_rel_hook_type;

    static mut FUNCTION: Option<OnTable> = None;
    /// The hook of another library, which ours replaces and calls.
    static mut NEXT: Hook = None;

    #[cfg(not(feature = "pg19"))]
    unsafe extern "C-unwind" fn hook(
        root: *mut PlannerInfo,
        table: Oid,
        has_children: bool,
        relation: *mut RelOptInfo,
    ) {
        // SAFETY: PostgreSQL's call, which is passed on unchanged. Each table has an entry.
        unsafe {
            if let Some(next) = NEXT {
                next(root, table, has_children, relation);
            }
            let entry = *(*root).simple_rte_array.add((*relation).relid as usize);
            if let Some(function) = FUNCTION {
                function(root, relation, &*entry);
            }
        }
    }

    // It is called for subqueries and functions, too.
    #[cfg(feature = "pg19")]
    unsafe extern "C-unwind" fn hook(
        root: *mut PlannerInfo,
        relation: *mut RelOptInfo,
        entry: *mut RangeTblEntry,
    ) {
        // SAFETY: PostgreSQL's call, which is passed on unchanged.
        unsafe {
            if let Some(next) = NEXT {
                next(root, relation, entry);
            }
            if let Some(function) = FUNCTION
                && (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION
            {
                function(root, relation, &*entry);
            }
        }
    }

    // SAFETY: a library is loaded by one thread.
    unsafe {
        FUNCTION = Some(function);
        #[cfg(not(feature = "pg19"))]
        let place = &raw mut pg_sys::get_relation_info_hook;
        #[cfg(feature = "pg19")]
        let place = &raw mut pg_sys::build_simple_rel_hook;
        NEXT = place.replace(Some(hook));
    }
}

/// Has a function called, from the load of the library on, for each relation of each query that is no join: when the
/// planner has its paths, and before it compares them. It follows the rule of [`raw`].
pub fn on_paths(function: OnTable) {
    static mut FUNCTION: Option<OnTable> = None;
    /// The hook of another library, which ours replaces and calls.
    static mut NEXT: pg_sys::set_rel_pathlist_hook_type = None;

    unsafe extern "C-unwind" fn hook(
        root: *mut PlannerInfo,
        relation: *mut RelOptInfo,
        number: u32,
        entry: *mut RangeTblEntry,
    ) {
        // SAFETY: PostgreSQL's call, which is passed on unchanged.
        unsafe {
            if let Some(next) = NEXT {
                next(root, relation, number, entry);
            }
            if let Some(function) = FUNCTION {
                function(root, relation, &*entry);
            }
        }
    }

    // SAFETY: a library is loaded by one thread.
    unsafe {
        FUNCTION = Some(function);
        NEXT = ptr::replace(&raw mut pg_sys::set_rel_pathlist_hook, Some(hook));
    }
}

/// The first that is found among the expressions of an equivalence class, those for a relation's columns as a child of
/// another one included.
///
/// # Safety
/// A class and a relation of the same planning.
pub unsafe fn find_member<T>(
    class: *mut EquivalenceClass,
    relation: *mut RelOptInfo,
    find: impl Fn(*mut Node) -> Option<T>,
) -> Option<T> {
    let of = |member: &EquivalenceMember| {
        // SAFETY: the planner's sets.
        let is_its = unsafe { raw::bms_equal(member.em_relids, (*relation).relids) };
        if is_its { find(member.em_expr.cast()) } else { None }
    };
    // SAFETY: the class's members, which stay as they are meanwhile.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
        return crate::pg::nodes::nodes((*class).ec_members).iter().find_map(|&member| of(&*member.cast()));

        #[cfg(not(any(feature = "pg15", feature = "pg16", feature = "pg17")))]
        {
            unsafe extern "C-unwind" {
                fn setup_eclass_member_iterator(
                    iterator: *mut pg_sys::EquivalenceMemberIterator,
                    class: *mut EquivalenceClass,
                    children: pg_sys::Relids,
                );
                fn eclass_member_iterator_next(
                    iterator: *mut pg_sys::EquivalenceMemberIterator,
                ) -> *mut EquivalenceMember;
            }

            let mut iterator = pg_sys::EquivalenceMemberIterator::default();
            setup_eclass_member_iterator(&mut iterator, class, (*relation).relids);
            std::iter::from_fn(|| eclass_member_iterator_next(&mut iterator).as_ref()).find_map(of)
        }
    }
}

/// A condition that is distributed to the same relation as another one.
///
/// # Safety
/// A condition that is not AND, and the other one's node, of the same planning.
pub unsafe fn restriction(
    root: *mut PlannerInfo,
    condition: *mut Node,
    other: &RestrictInfo,
) -> *mut RestrictInfo {
    unsafe extern "C-unwind" {
        #[cfg(feature = "pg15")]
        fn make_restrictinfo(
            root: *mut PlannerInfo,
            condition: *mut Node,
            is_pushed_down: bool,
            outerjoin_delayed: bool,
            is_constant: bool,
            security_level: u32,
            required: Relids,
            outer: Relids,
            nullable: Relids,
        ) -> *mut RestrictInfo;
        #[cfg(not(feature = "pg15"))]
        fn make_restrictinfo(
            root: *mut PlannerInfo,
            condition: *mut Node,
            is_pushed_down: bool,
            has_clone: bool,
            is_clone: bool,
            is_constant: bool,
            security_level: u32,
            required: Relids,
            incompatible: Relids,
            outer: Relids,
        ) -> *mut RestrictInfo;
    }

    let (pushed, level, required) = (other.is_pushed_down, other.security_level, ptr::null_mut());
    // SAFETY: as the caller says.
    unsafe {
        #[cfg(feature = "pg15")]
        return make_restrictinfo(
            root,
            condition,
            pushed,
            other.outerjoin_delayed,
            false,
            level,
            required,
            other.outer_relids,
            other.nullable_relids,
        );
        #[cfg(not(feature = "pg15"))]
        make_restrictinfo(
            root,
            condition,
            pushed,
            other.has_clone,
            other.is_clone,
            false,
            level,
            required,
            other.incompatible_relids,
            other.outer_relids,
        )
    }
}

/// Whether the user may call a function. If it is to replace another, both have to be allowed.
///
/// # Safety
/// A function that exists.
pub unsafe fn may_call(function: Oid) -> bool {
    unsafe extern "C-unwind" {
        #[cfg(feature = "pg15")]
        fn pg_proc_aclcheck(function: Oid, role: Oid, mode: pg_sys::AclMode) -> pg_sys::AclResult::Type;
        #[cfg(not(feature = "pg15"))]
        fn object_aclcheck(
            class: Oid,
            object: Oid,
            role: Oid,
            mode: pg_sys::AclMode,
        ) -> pg_sys::AclResult::Type;
    }

    let mode = pg_sys::AclMode::from(pg_sys::ACL_EXECUTE);
    // SAFETY: look-ups of a function that exists.
    unsafe {
        #[cfg(feature = "pg15")]
        let result = pg_proc_aclcheck(function, raw::GetUserId(), mode);
        #[cfg(not(feature = "pg15"))]
        let result = object_aclcheck(pg_sys::ProcedureRelationId, function, raw::GetUserId(), mode);
        result == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// The place where a conversion notes that a time is out of range, instead of raising an error.
#[cfg(not(feature = "pg19"))]
type Overflow = c_int;
#[cfg(feature = "pg19")]
type Overflow = pg_sys::ErrorSaveContext;

fn overflow() -> Overflow {
    #[cfg(not(feature = "pg19"))]
    return 0;
    #[cfg(feature = "pg19")]
    Overflow { type_: pg_sys::NodeTag::T_ErrorSaveContext, ..Default::default() }
}

unsafe extern "C-unwind" {
    // Renamed in PostgreSQL 19.
    #[cfg_attr(not(feature = "pg19"), link_name = "timestamp2timestamptz_opt_overflow")]
    fn timestamp2timestamptz_safe(timestamp: i64, overflow: *mut Overflow) -> i64;
    #[cfg_attr(not(feature = "pg19"), link_name = "date2timestamptz_opt_overflow")]
    fn date2timestamptz_safe(date: i32, overflow: *mut Overflow) -> i64;
}

/// The `timestamptz` of a `timestamp` in the session's time zone; an infinity if that is out of range.
pub fn timestamptz_of_timestamp(timestamp: i64) -> i64 {
    // SAFETY: a plain call, which raises no error.
    unsafe { timestamp2timestamptz_safe(timestamp, &mut overflow()) }
}

/// The `timestamptz` at which a `date` begins in the session's time zone; an infinity if that is out of range.
pub fn timestamptz_of_date(date: i32) -> i64 {
    // SAFETY: a plain call, which raises no error.
    unsafe { date2timestamptz_safe(date, &mut overflow()) }
}

/// The names of settings that have a value, and that nobody has defined.
pub fn undefined_settings() -> impl Iterator<Item = &'static CStr> {
    // SAFETY: as many records as PostgreSQL says, which are there until settings are defined.
    let records = unsafe {
        #[cfg(feature = "pg15")]
        let (records, count) = (pg_sys::get_guc_variables(), pg_sys::GetNumConfigOptions());
        #[cfg(not(feature = "pg15"))]
        let mut count = 0;
        #[cfg(not(feature = "pg15"))]
        let records = pg_sys::get_guc_variables(&mut count);
        std::slice::from_raw_parts(records, count as usize)
    };
    // SAFETY: a record with its name.
    records.iter().filter_map(|&record| unsafe {
        let is_undefined = (*record).flags & pg_sys::GUC_CUSTOM_PLACEHOLDER as c_int != 0;
        // A setting that was reset stays in the list, without a value.
        let has_value = (*record).source != pg_sys::GucSource::PGC_S_DEFAULT;
        (is_undefined && has_value).then(|| CStr::from_ptr((*record).name))
    })
}

/// What a backend waits for, for `pg_stat_activity`. Before PostgreSQL 17 extensions have no names of their own there,
/// so it shows `Extension`.
pub fn wait_event(name: &'static CStr) -> u32 {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    {
        let _ = name;
        pg_sys::PG_WAIT_EXTENSION
    }
    // SAFETY: a static name; the server gives the same number for the same name.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    unsafe {
        pg_sys::WaitEventExtensionNew(name.as_ptr())
    }
}

/// Hands an error to a caller that asked for soft errors, which came with PostgreSQL 16; `false` if it did not.
///
/// # Safety
/// `context` is the context node of a call, or null.
#[cfg(feature = "pg15")]
pub unsafe fn save_error(
    _context: *mut Node,
    _state: SqlState,
    _message: &CStr,
    _detail: Option<&CStr>,
    _hint: Option<&CStr>,
) -> bool {
    false
}

/// Hands an error to a caller that asked for soft errors; `false` if it did not.
///
/// # Safety
/// `context` is the context node of a call, or null.
#[cfg(not(feature = "pg15"))]
#[allow(ffi_unwind_calls, reason = "inside pgrx's boundary, with nothing to drop")]
pub unsafe fn save_error(
    context: *mut Node,
    state: SqlState,
    message: &CStr,
    detail: Option<&CStr>,
    hint: Option<&CStr>,
) -> bool {
    use std::ffi::c_char;

    unsafe extern "C-unwind" {
        fn errsave_start(context: *mut Node, domain: *const c_char) -> bool;
        fn errcode(state: c_int) -> c_int;
        fn errmsg_internal(format: *const c_char, ...) -> c_int;
        fn errdetail_internal(format: *const c_char, ...) -> c_int;
        fn errhint(format: *const c_char, ...) -> c_int;
        fn errsave_finish(context: *mut Node, file: *const c_char, line: c_int, function: *const c_char);
    }

    // SAFETY: a node, if it is not null. The calls that PostgreSQL's own macro makes, which copy the texts.
    unsafe {
        if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_ErrorSaveContext {
            return false;
        }
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            if errsave_start(context, ptr::null()) {
                errcode(state as c_int);
                errmsg_internal(c"%s".as_ptr(), message.as_ptr());
                if let Some(detail) = detail {
                    errdetail_internal(c"%s".as_ptr(), detail.as_ptr());
                }
                if let Some(hint) = hint {
                    errhint(c"%s".as_ptr(), hint.as_ptr());
                }
                errsave_finish(context, ptr::null(), 0, ptr::null());
            }
        });
    }
    true
}

/// ALTER COLUMN … SET EXPRESSION, which there is from 17 on.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub const SET_EXPRESSION: Option<pg_sys::AlterTableType::Type> = None;
/// ALTER COLUMN … SET EXPRESSION, which there is from 17 on.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub const SET_EXPRESSION: Option<pg_sys::AlterTableType::Type> =
    Some(pg_sys::AlterTableType::AT_SetExpression);
