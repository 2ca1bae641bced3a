//! The generators' shared memory: what it holds and where it lives.
//!
//! # Protocol
//!
//! One [`Shared`] of a system serves the whole server, for as long as its shared memory lives. All of it is atomics,
//! and all zero bits are a valid value of it.
//!
//! | part | written by | when |
//! |---|---|---|
//! | `layout` | the process that creates it | under the lock that guards the creation |
//! | `slots`, `marks`, `serial`, `resumed` | the first generation after a start | under the marks file's lock, before `ready` is set |
//! | `slots` | any backend, by the protocol of [`Slot`] | when `ready` |
//! | `marks`, `serial` | a backend that has written the marks file | under the marks file's lock |
//! | `renewing`, `counter` | any backend | at any time |
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
use sno_core::{Marks, Slot, Time};

#[cfg(any(feature = "pg15", feature = "pg16"))]
use crate::pg::errors::guard;
use crate::{generator::system::System, pg::errors::Error};

/// Changes with every change of what is there, so that a new library never takes the memory of an old one
/// for its own. What is added at the end changes nothing: an old library left zeros there.
const LAYOUT: u32 = 1;

/// What a system's generators share.
#[repr(C)]
pub(crate) struct Shared<T: Time, const SLOTS: usize> {
    /// The layout's version; 0 until it is created.
    layout: AtomicU32,
    /// Whether the generators have taken up where an earlier run ended.
    pub(crate) ready: AtomicBool,
    /// How far they may go.
    pub(crate) marks: Marks<T>,
    /// The number of the last record in the marks file.
    pub(crate) serial: AtomicU64,
    /// Until when a backend claims to renew the marks early, in milliseconds of the Unix clock.
    pub(crate) renewing: AtomicU64,
    /// Counts what else a system has to count.
    pub(crate) counter: AtomicU64,
    /// The generators.
    pub(crate) slots: [Slot<T>; SLOTS],
    // From 0.2.0 on.
    /// The tick at which the generators took up where an earlier run ended; 0 if 0.1.0 did that.
    pub(crate) resumed: AtomicU64,
}

/// A system's shared memory, as this process knows it.
pub(crate) struct Memory<S: System, const SLOTS: usize> {
    /// The name under which PostgreSQL knows it.
    name: &'static CStr,
    size: usize,
    /// Where this process has it mapped.
    address: AtomicPtr<Shared<S::Time, SLOTS>>,
}

impl<S: System, const SLOTS: usize> Memory<S, SLOTS> {
    /// Memory of this name and size, which may be more than is used: a later version can then hold more
    /// under the same name.
    pub(crate) const fn new(name: &'static CStr, size: usize) -> Self {
        assert!(size_of::<Shared<S::Time, SLOTS>>() <= size);
        Self { name, size, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The server's generators; they are created if this process is the first to ask.
    pub(crate) fn attach(&'static self) -> Result<&'static Shared<S::Time, SLOTS>, Error> {
        let mut address = self.address.load(Relaxed);
        if address.is_null() {
            address = self.map()?;
            self.address.store(address, Relaxed);
        }
        // SAFETY: the memory stays mapped until the process ends, was set to a valid value before anyone
        // else could find it, and is only ever accessed through atomics.
        let shared = unsafe { &*address };
        if shared.layout.load(Relaxed) == LAYOUT { Ok(shared) } else { Err(Error::layout::<S>()) }
    }

    /// Takes the memory before the first ID asks for it, on PostgreSQL 15 and 16: there it comes from what the server has
    /// to spare, which locks may have used up by then. Called when the library is loaded.
    pub(crate) fn take_early(&'static self) {
        // SAFETY: reads two flags. A process of a running server has the main segment.
        let running =
            unsafe { pg_sys::IsUnderPostmaster && !pg_sys::process_shared_preload_libraries_in_progress };
        if cfg!(any(feature = "pg15", feature = "pg16")) && running {
            // If there is none, the first ID says so.
            let _ = self.attach();
        }
    }

    /// Makes memory a `Shared`. Nobody else sees it yet.
    ///
    /// # Safety
    /// `address` points to as many bytes as a `Shared` has, aligned to a cache line.
    unsafe extern "C-unwind" fn create(address: *mut c_void) {
        let address = address.cast::<Shared<S::Time, SLOTS>>();
        // SAFETY: zero is a valid value of every part.
        unsafe {
            address.write_bytes(0, 1);
            (*address).layout.store(LAYOUT, Relaxed);
        }
    }

    #[cfg(any(feature = "pg17", feature = "pg18"))]
    fn map(&self) -> Result<*mut Shared<S::Time, SLOTS>, Error> {
        use pgrx::{
            PgSqlErrorCode::{self, ERRCODE_DISK_FULL, ERRCODE_OUT_OF_MEMORY},
            pg_sys::panic::CaughtError,
        };

        let refuse = |state: PgSqlErrorCode| {
            move |cause: CaughtError| match cause {
                CaughtError::PostgresError(report) => {
                    Err(Error::dynamic_shared_memory::<S>(state, report.message()))
                }
                other => other.rethrow(),
            }
        };
        let (name, size) = (self.name, self.size);
        pgrx::PgTryBuilder::new(|| {
            let mut found = false;
            // SAFETY: the callback runs once, before the segment can be found by name.
            let segment =
                unsafe { pg_sys::GetNamedDSMSegment(name.as_ptr(), size, Some(Self::create), &mut found) };
            Ok(segment.cast())
        })
        .catch_when(ERRCODE_OUT_OF_MEMORY, refuse(ERRCODE_OUT_OF_MEMORY))
        // A full /dev/shm.
        .catch_when(ERRCODE_DISK_FULL, refuse(ERRCODE_DISK_FULL))
        .execute()
    }

    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn map(&self) -> Result<*mut Shared<S::Time, SLOTS>, Error> {
        /// Its place in the array of PostgreSQL 15 and 16 (`lwlocknames.h`).
        const ADDIN_SHMEM_INIT_LOCK: usize = 21;

        let (name, size) = (self.name, self.size);
        // SAFETY: the main segment is mapped in every process. The lock is held until the memory has its
        // value; if another error is raised, the end of the transaction releases it.
        unsafe {
            let lock = &raw mut (*pg_sys::MainLWLockArray.add(ADDIN_SHMEM_INIT_LOCK)).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
            let memory = pgrx::PgTryBuilder::new(|| {
                let mut found = false;
                let memory = pg_sys::ShmemInitStruct(name.as_ptr(), size, &mut found);
                if !found {
                    Self::create(memory);
                }
                memory
            })
            .catch_when(pgrx::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, |_| std::ptr::null_mut())
            .execute();
            if memory.is_null() {
                // The error has let interrupts in again, which the release does.
                pg_sys::InterruptHoldoffCount += 1;
            }
            pg_sys::LWLockRelease(lock);
            if memory.is_null() { Err(Error::shared_memory::<S>()) } else { Ok(memory.cast()) }
        }
    }
}

/// Memory that can be reserved when its library is preloaded: it can't be missing then.
#[cfg_attr(any(feature = "pg17", feature = "pg18"), expect(dead_code, reason = "nothing is reserved there"))]
pub(crate) trait Reserve: Sync {
    /// How many bytes.
    fn size(&self) -> usize;

    /// Maps it, for this process and those that it starts.
    fn take(&self) -> Result<(), Error>;
}

impl<S: System, const SLOTS: usize> Reserve for Memory<S, SLOTS>
where
    Self: Sync,
{
    fn size(&self) -> usize {
        self.size
    }

    fn take(&self) -> Result<(), Error> {
        self.address.store(self.map()?, Relaxed);
        Ok(())
    }
}

/// Reserves a library's memory if it is being preloaded. Called once, when it is loaded.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub(crate) fn reserve(memory: &'static [&'static dyn Reserve]) {
    static mut MEMORY: &[&dyn Reserve] = &[];
    /// The hooks that were there before ours.
    static mut REQUEST: pg_sys::shmem_request_hook_type = None;
    static mut STARTUP: pg_sys::shmem_startup_hook_type = None;

    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn request() {
        // SAFETY: called by the postmaster, alone, as are the hooks before it.
        unsafe {
            call(REQUEST);
            for memory in MEMORY {
                // As much as PostgreSQL makes of it: each piece starts on a cache line of its own.
                pg_sys::RequestAddinShmemSpace(memory.size().next_multiple_of(128));
            }
        }
    }

    unsafe extern "C-unwind" fn startup() {
        // SAFETY: as above. This is the outermost frame.
        unsafe {
            guard(|| {
                call(STARTUP);
                let memory = MEMORY;
                // Every time: after a crash the postmaster makes a new segment.
                memory.iter().try_for_each(|memory| memory.take())
            });
        }
    }

    /// Calls a hook of another library's. If it raises an error, that unwinds from here.
    unsafe fn call(hook: Option<unsafe extern "C-unwind" fn()>) {
        if let Some(hook) = hook {
            // SAFETY: nothing in the closure needs dropping.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| hook()) };
        }
    }

    // SAFETY: a library is loaded by one thread.
    unsafe {
        if pg_sys::process_shared_preload_libraries_in_progress {
            MEMORY = memory;
            REQUEST = pg_sys::shmem_request_hook;
            pg_sys::shmem_request_hook = Some(request);
            STARTUP = pg_sys::shmem_startup_hook;
            pg_sys::shmem_startup_hook = Some(startup);
        }
    }
}

/// Nothing to reserve: dynamic shared memory is made on demand.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub(crate) fn reserve(_memory: &'static [&'static dyn Reserve]) {}
