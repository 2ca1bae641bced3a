//! The generators' shared memory: what it holds and where it lives.
//!
//! # Protocol
//!
//! One [`Shared`] serves the whole server, for as long as its shared memory lives. All of it is atomics,
//! and all zero bits are a valid value of it.
//!
//! | part | written by | when |
//! |---|---|---|
//! | `layout` | the process that creates it | under the lock that guards the creation |
//! | `slots`, `marks`, `serial`, `resumed` | the first `sno_new` after a start | under the marks file's lock, before `ready` is set |
//! | `slots` | any backend, by the protocol of [`Slot`] | when `ready` |
//! | `marks`, `serial` | a backend that has written the marks file | under the marks file's lock |
//! | `renewing`, `ported` | any backend | at any time |
//!
//! A process that is killed leaves nothing half-done: each change is one atomic step, the file's lock dies
//! with its holder, and a `renewing` claim runs out.
//!
//! # Where it lives
//!
//! PostgreSQL 17 and later: in a named segment of dynamic shared memory. 15 and 16: in the main segment,
//! taken from its spare room by the first backend that asks, or reserved when the library is preloaded.

use std::{
    ffi::{CStr, c_void},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed},
};

use pgrx::pg_sys;
use sno_core::{Marks, Slot};

use crate::errors::Error;

/// The name under which PostgreSQL knows the memory.
const NAME: &CStr = c"sno generators";

/// Changes with every change of what is there, so that a new library never takes the memory of an old one
/// for its own. What is added at the end changes nothing: an old library left zeros there.
const LAYOUT: u32 = 1;

/// More than `Shared` takes, so that a later version can hold more under the same name.
const SIZE: usize = 20 * 1024;

/// Generators: as many as a partition's low byte has values, so that two settings which lead to one
/// partition lead to one generator too.
pub(crate) const SLOTS: usize = 256;

#[repr(C)]
pub(crate) struct Shared {
    /// The layout's version; 0 until it is created.
    layout: AtomicU32,
    /// Whether the generators have taken up where an earlier run ended.
    pub(crate) ready: AtomicBool,
    pub(crate) marks: Marks,
    /// The number of the last record in the marks file.
    pub(crate) serial: AtomicU64,
    /// Until when a backend claims to renew the marks early, in milliseconds of the Unix clock.
    pub(crate) renewing: AtomicU64,
    /// Counts the IDs of `sno_new(metabyte, at)`.
    pub(crate) ported: AtomicU64,
    pub(crate) slots: [Slot; SLOTS],
    // From 0.2.0 on.
    /// The tick at which the generators took up where an earlier run ended; 0 if 0.1.0 did that.
    pub(crate) resumed: AtomicU64,
}

const _: () = assert!(size_of::<Shared>() <= SIZE);

/// Where this process has the memory mapped.
static ADDRESS: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

/// The server's generators; they are created if this process is the first to ask.
pub(crate) fn attach() -> Result<&'static Shared, Error> {
    let mut address = ADDRESS.load(Relaxed);
    if address.is_null() {
        address = map()?;
        ADDRESS.store(address, Relaxed);
    }
    // SAFETY: the memory stays mapped until the process ends, was set to a valid value before anyone
    // else could find it, and is only ever accessed through atomics.
    let shared = unsafe { &*address };
    if shared.layout.load(Relaxed) == LAYOUT { Ok(shared) } else { Err(Error::layout()) }
}

/// Makes an all-zero memory a `Shared`. Nobody else sees it yet.
///
/// # Safety
/// `address` points to `SIZE` bytes, aligned to a cache line.
unsafe extern "C-unwind" fn create(address: *mut c_void) {
    // SAFETY: zero is a valid value of every part.
    unsafe {
        address.cast::<u8>().write_bytes(0, SIZE);
        (*address.cast::<Shared>()).layout.store(LAYOUT, Relaxed);
    }
}

#[cfg(any(feature = "pg17", feature = "pg18"))]
fn map() -> Result<*mut Shared, Error> {
    let segment = pgrx::PgTryBuilder::new(|| {
        let mut found = false;
        // SAFETY: the callback runs once, before the segment can be found by name.
        unsafe { pg_sys::GetNamedDSMSegment(NAME.as_ptr(), SIZE, Some(create), &mut found) }
    })
    .catch_when(pgrx::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, |_| std::ptr::null_mut())
    .execute();
    if segment.is_null() { Err(Error::shared_memory()) } else { Ok(segment.cast()) }
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn map() -> Result<*mut Shared, Error> {
    /// Its place in the array of PostgreSQL 15 and 16 (`lwlocknames.h`).
    const ADDIN_SHMEM_INIT_LOCK: usize = 21;

    // SAFETY: the main segment is mapped in every process. The lock is held until the memory has its
    // value; if an error is raised, the end of the transaction releases it.
    unsafe {
        let lock = &raw mut (*pg_sys::MainLWLockArray.add(ADDIN_SHMEM_INIT_LOCK)).lock;
        pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
        let memory = pgrx::PgTryBuilder::new(|| {
            let mut found = false;
            let memory = pg_sys::ShmemInitStruct(NAME.as_ptr(), SIZE, &mut found);
            if !found {
                create(memory);
            }
            memory
        })
        .catch_when(pgrx::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, |_| std::ptr::null_mut())
        .execute();
        if memory.is_null() {
            return Err(Error::shared_memory());
        }
        pg_sys::LWLockRelease(lock);
        Ok(memory.cast())
    }
}

/// Reserves the memory when the library is preloaded: it can't be missing then.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub(crate) fn reserve() {
    /// The hooks that were there before ours.
    static mut REQUEST: pg_sys::shmem_request_hook_type = None;
    static mut STARTUP: pg_sys::shmem_startup_hook_type = None;

    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn request() {
        // SAFETY: called by the postmaster, alone, as are the hooks before it.
        unsafe {
            if let Some(previous) = REQUEST {
                previous();
            }
            pg_sys::RequestAddinShmemSpace(SIZE);
        }
    }

    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn startup() {
        // SAFETY: as above.
        unsafe {
            if let Some(previous) = STARTUP {
                previous();
            }
        }
        // Every time: after a crash the postmaster makes a new segment.
        match map() {
            Ok(address) => ADDRESS.store(address, Relaxed),
            Err(error) => error.raise(),
        }
    }

    // SAFETY: a library is loaded by one thread.
    unsafe {
        if pg_sys::process_shared_preload_libraries_in_progress {
            REQUEST = pg_sys::shmem_request_hook;
            pg_sys::shmem_request_hook = Some(request);
            STARTUP = pg_sys::shmem_startup_hook;
            pg_sys::shmem_startup_hook = Some(startup);
        }
    }
}

/// Nothing to reserve: dynamic shared memory is made on demand.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub(crate) fn reserve() {}
