//! What differs between the versions of PostgreSQL, behind functions that are the same for all of them.
//!
//! No other file asks for the version, except for the crate of its headers (`tests/server/imports.rs` checks it). Where
//! PostgreSQL has no interface for what we need, we read what its headers show. All of that is here, too, unless it is
//! the same in all versions:
//!
//! | what | why |
//! |---|---|
//! | the record of a setting | no function says who has set a value |
//! | a transaction's local number in `PGPROC` | no function says whether the transaction of another process is still the same |
//! | the number of `AddinShmemInitLock` | its name is a macro, which pgrx does not bind; extensions in C hold the number, too |

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::atomic::AtomicU32,
};

use pgrx::{
    PgSqlErrorCode as SqlState, PgTryBuilder,
    pg_sys::{
        self, GucSource, Node, Oid, PGPROC, PlannerInfo, RangeTblEntry, RelOptInfo, panic::CaughtError,
    },
};

use crate::pg::raw;

/// What is called for a table of a query: with the planner's state, what it knows of the table, and the table's entry
/// in the query.
pub(crate) type OnTable = unsafe fn(*mut PlannerInfo, *mut RelOptInfo, &RangeTblEntry);

/// Has a function called, from the load of the library on, for each table of each query: when the planner has read the
/// catalogs about it, and before it distributes conditions to tables. It follows the rule of [`raw`].
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) fn on_table(function: OnTable) {
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

/// Whether the user may call a function. If it is to replace another, both have to be allowed.
///
/// # Safety
/// A function that exists.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) unsafe fn may_call(function: Oid) -> bool {
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

/// Where a conversion of a time notes that it is out of range: else it would raise an error.
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
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) fn timestamptz_of_timestamp(timestamp: i64) -> i64 {
    // SAFETY: a plain call, which raises no error.
    unsafe { timestamp2timestamptz_safe(timestamp, &mut overflow()) }
}

/// The `timestamptz` at which a `date` begins in the session's time zone; an infinity if that is out of range.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) fn timestamptz_of_date(date: i32) -> i64 {
    // SAFETY: a plain call, which raises no error.
    unsafe { date2timestamptz_safe(date, &mut overflow()) }
}

/// The local number of a process's top-level transaction.
///
/// # Safety
/// A place in PostgreSQL's array of processes.
pub(crate) unsafe fn transaction_number<'a>(process: *mut PGPROC) -> &'a AtomicU32 {
    // SAFETY: the places stay where they are, and PostgreSQL writes the number in one step.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let number = &raw mut (*process).lxid;
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        let number = &raw mut (*process).vxid.lxid;
        AtomicU32::from_ptr(number)
    }
}

/// What PostgreSQL knows of a setting that is a text.
pub(crate) struct SettingRecord {
    /// The value in force.
    pub(crate) value: *const c_char,
    pub(crate) source: GucSource::Type,
    /// The value that a RESET brings back.
    pub(crate) reset_value: *const c_char,
    pub(crate) reset_source: GucSource::Type,
}

/// The record of a setting of ours or of its placeholder, which is a text, too. Names are the same in lower and upper
/// case.
///
/// # Safety
/// If there is a setting of this name, it is a text.
pub(crate) unsafe fn setting(name: &CStr) -> Option<SettingRecord> {
    // SAFETY: as many records as PostgreSQL says, which don't change during the call.
    #[cfg(feature = "pg15")]
    let found = unsafe {
        let count = pg_sys::GetNumConfigOptions() as usize;
        let mut records = std::slice::from_raw_parts(pg_sys::get_guc_variables(), count).iter();
        let name = name.to_bytes();
        let found =
            records.find(|&&record| CStr::from_ptr((*record).name).to_bytes().eq_ignore_ascii_case(name));
        found.copied().unwrap_or(ptr::null_mut())
    };
    // SAFETY: a plain call, which makes no placeholder and raises no error.
    #[cfg(not(feature = "pg15"))]
    let found = unsafe { pg_sys::find_option(name.as_ptr(), false, true, pg_sys::PGERROR as i32) };

    // SAFETY: the record of a text, if there is one. Up to PostgreSQL 18 a `config_string` begins with a `config_generic`;
    // from 19 on a `config_generic` has it in a union.
    unsafe {
        let generic = found.as_ref()?;
        #[cfg(not(feature = "pg19"))]
        let text = &*found.cast::<pg_sys::config_string>();
        #[cfg(feature = "pg19")]
        let text = &generic.__bindgen_anon_1._string;
        Some(SettingRecord {
            value: *text.variable,
            source: generic.source,
            reset_value: text.reset_val,
            reset_source: generic.reset_source,
        })
    }
}

/// What a backend waits for, for `pg_stat_activity`. Before PostgreSQL 17 extensions have no names of their own there,
/// so it shows `Extension`.
pub(crate) fn wait_event(name: &'static CStr) -> u32 {
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
pub(crate) unsafe fn save_error(
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
pub(crate) unsafe fn save_error(
    context: *mut Node,
    state: SqlState,
    message: &CStr,
    detail: Option<&CStr>,
    hint: Option<&CStr>,
) -> bool {
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

/// Whether memory that processes find by its name is dynamic, so that there is as much as the system has. Before
/// PostgreSQL 17 it comes from the main segment: from the space that this has to spare, or that a preloaded library has
/// reserved.
pub(crate) const NAMED_MEMORY_IS_DYNAMIC: bool = cfg!(not(any(feature = "pg15", feature = "pg16")));

/// Shared memory that processes find by its name.
pub(crate) trait NamedMemory {
    /// Gives it its first value, before another process can find it.
    ///
    /// # Safety
    /// New memory of the size that was asked for, aligned to a cache line.
    unsafe fn initialize(address: *mut c_void);
}

/// There is no room for it: the SQLSTATE and the message of PostgreSQL's error.
pub(crate) type NoMemory = (SqlState, String);

/// The address of memory of this name, which is allocated if there is none yet. It stays mapped in this process.
///
/// # Safety
/// All that ask for this name ask for the same size and the same `M`.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub(crate) unsafe fn named_memory<M: NamedMemory>(name: &CStr, size: usize) -> Result<*mut c_void, NoMemory> {
    unsafe extern "C-unwind" fn initialize<M: NamedMemory>(
        address: *mut c_void,
        #[cfg(feature = "pg19")] _argument: *mut c_void,
    ) {
        // SAFETY: PostgreSQL calls it once, before the segment can be found by name.
        unsafe { M::initialize(address) }
    }

    PgTryBuilder::new(|| {
        let (callback, mut found) = (Some(initialize::<M> as _), false);
        // SAFETY: a name that ends with a zero, and a callback for it.
        Ok(unsafe {
            #[cfg(not(feature = "pg19"))]
            let address = pg_sys::GetNamedDSMSegment(name.as_ptr(), size, callback, &mut found);
            #[cfg(feature = "pg19")]
            let address =
                pg_sys::GetNamedDSMSegment(name.as_ptr(), size, callback, &mut found, ptr::null_mut());
            address
        })
    })
    .catch_when(SqlState::ERRCODE_OUT_OF_MEMORY, no_memory)
    // A full /dev/shm.
    .catch_when(SqlState::ERRCODE_DISK_FULL, no_memory)
    .execute()
}

/// The address of memory of this name, which is allocated if there is none yet.
///
/// # Safety
/// All that ask for this name ask for the same size and the same `M`.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub(crate) unsafe fn named_memory<M: NamedMemory>(name: &CStr, size: usize) -> Result<*mut c_void, NoMemory> {
    /// Its place in the array of PostgreSQL 15 and 16 (`lwlocknames.h`).
    const ADDIN_SHMEM_INIT_LOCK: usize = 21;

    // SAFETY: the main segment is mapped in every process. The lock is held until the memory has its value; if another
    // error is raised, the end of the transaction releases it.
    unsafe {
        let lock = &raw mut (*pg_sys::MainLWLockArray.add(ADDIN_SHMEM_INIT_LOCK)).lock;
        pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
        let address = PgTryBuilder::new(|| {
            let mut found = false;
            let address = pg_sys::ShmemInitStruct(name.as_ptr(), size, &mut found);
            if !found {
                M::initialize(address);
            }
            Ok(address)
        })
        .catch_when(SqlState::ERRCODE_OUT_OF_MEMORY, no_memory)
        .execute();
        if address.is_err() {
            // PostgreSQL's HOLD_INTERRUPTS(): the error has reset this count, and LWLockRelease() takes one off it.
            pg_sys::InterruptHoldoffCount += 1;
        }
        pg_sys::LWLockRelease(lock);
        address
    }
}

fn no_memory<T>(cause: CaughtError) -> Result<T, NoMemory> {
    match cause {
        CaughtError::PostgresError(report) => Err((report.sql_error_code(), report.message().to_owned())),
        other => other.rethrow(),
    }
}
