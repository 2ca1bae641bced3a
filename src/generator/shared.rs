//! The generators' shared memory: where it is allocated.
//!
//! The contents are [`sno_core::server::Shared`], all fields of which are atomic.
//!
//! On PostgreSQL 17 and later, in a named segment of dynamic shared memory. On 15 and 16, in the main segment: from the
//! space that this has to spare, by the first backend that loads the library, or from space that is reserved if the
//! library is preloaded.

use std::{
    cell::RefCell,
    ffi::{CStr, c_void},
    marker::PhantomData,
    ptr, slice,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use pgrx::pg_sys;
use sno_core::server::Shared;

use crate::{
    generator::{errors, scheme::Scheme},
    pg::{
        backend_local::BackendLocal,
        errors::{Error, guard},
        process::Process,
        versions::{NAMED_MEMORY_IS_DYNAMIC, NamedMemory, named_memory},
    },
};

/// The version of the layout, so that a new library never uses memory that an old one has laid out differently. A field
/// at the end needs no new version, since an old library leaves zeros there.
const LAYOUT: u32 = 1;

/// A scheme's shared memory, mapped in this process or not: the generators, and for each process a `P`, of which zeros
/// are a valid value.
pub(crate) struct Memory<S: Scheme, const SLOTS: usize, P = ()> {
    /// Its name in PostgreSQL.
    name: &'static CStr,
    /// Its address in this process, or null.
    address: AtomicPtr<Shared<S::Tick, SLOTS>>,
    per_process: PhantomData<P>,
}

impl<S: Scheme, const SLOTS: usize, P> Memory<S, SLOTS, P> {
    /// The bytes of the generators, with room for fields that a later version adds. What the processes have follows.
    const GENERATORS: usize = size_of::<Shared<S::Tick, SLOTS>>().next_multiple_of(1024);

    /// Memory of this name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()), per_process: PhantomData }
    }

    /// Its size in bytes.
    fn size() -> usize {
        Self::GENERATORS + size_of::<P>() * Process::count()
    }

    /// The server's generators. The first process to call this creates them.
    pub(crate) fn attach(&'static self) -> Result<&'static Shared<S::Tick, SLOTS>, Error> {
        let mut address = self.address.load(Relaxed);
        // SAFETY: the memory stays mapped until the process ends, was set to a valid value before another process could
        // find it, and is accessed only through atomics.
        unsafe {
            if address.is_null() {
                address = self.map()?;
                if (*address).layout.load(Relaxed) != LAYOUT {
                    return Err(errors::layout::<S>());
                }
                self.address.store(address, Relaxed);
            }
            Ok(&*address)
        }
    }

    /// What the processes have in it, by their [numbers](Process::number).
    pub(crate) fn per_process(&'static self) -> Result<&'static [P], Error> {
        self.attach()?;
        // SAFETY: the memory has room for as many, and was set to zeros, which are valid.
        Ok(unsafe {
            let first = self.address.load(Relaxed).byte_add(Self::GENERATORS);
            slice::from_raw_parts(first.cast(), Process::count())
        })
    }

    /// Allocates the memory when the library is loaded, on PostgreSQL 15 and 16. There it comes from the spare space of
    /// the main segment, which locks may have used up by the time of the first ID. Whether this process has it then.
    pub(crate) fn attach_at_load(&'static self) -> bool {
        // SAFETY: reads two flags. A process of a running server has the main segment.
        let running =
            unsafe { pg_sys::IsUnderPostmaster && !pg_sys::process_shared_preload_libraries_in_progress };
        // If it fails, the first generation tries again and reports the error.
        running && !NAMED_MEMORY_IS_DYNAMIC && self.attach().is_ok()
    }

    fn map(&self) -> Result<*mut Shared<S::Tick, SLOTS>, Error> {
        // SAFETY: the name is only this memory's.
        let address = unsafe { named_memory::<Self>(self.name, Self::size()) };
        address.map(|address| address.cast()).map_err(errors::shared_memory::<S>)
    }
}

impl<S: Scheme, const SLOTS: usize, P> NamedMemory for Memory<S, SLOTS, P> {
    unsafe fn initialize(address: *mut c_void) {
        // SAFETY: as many bytes as their size. Zero is a valid value of every part.
        unsafe {
            address.write_bytes(0, Self::size());
            (*address.cast::<Shared<S::Tick, SLOTS>>()).layout.store(LAYOUT, Relaxed);
        }
    }
}

/// Memory that can be reserved when the library is preloaded, so that it is always available.
pub(crate) trait Reserve: Sync {
    /// How many bytes.
    fn size(&self) -> usize;

    /// Maps it, for this process and its children.
    fn take(&self) -> Result<(), Error>;
}

impl<S: Scheme, const SLOTS: usize, P> Reserve for Memory<S, SLOTS, P>
where
    Self: Sync,
{
    fn size(&self) -> usize {
        Self::size()
    }

    fn take(&self) -> Result<(), Error> {
        self.address.store(self.map()?, Relaxed);
        Ok(())
    }
}

/// Reserves memory if the library is being preloaded, unless memory is dynamic. Called when the library is loaded.
pub(crate) fn reserve(memory: &[&'static dyn Reserve]) {
    // SAFETY: the postmaster has one thread.
    static MEMORY: BackendLocal<RefCell<Vec<&dyn Reserve>>> =
        unsafe { BackendLocal::new(RefCell::new(Vec::new())) };
    /// The hooks of other libraries, which ours replace and call.
    static mut REQUEST: pg_sys::shmem_request_hook_type = None;
    static mut STARTUP: pg_sys::shmem_startup_hook_type = None;

    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn request() {
        // SAFETY: called by the postmaster, alone, as are the hooks before it.
        unsafe {
            call(REQUEST);
            for memory in MEMORY.borrow().iter() {
                // As PostgreSQL rounds it up: each allocation starts on a cache line.
                pg_sys::RequestAddinShmemSpace(memory.size().next_multiple_of(128));
            }
        }
    }

    unsafe extern "C-unwind" fn startup() {
        // SAFETY: called by the postmaster, alone, in the outermost frame.
        unsafe {
            guard(|| {
                call(STARTUP);
                // At each call: after a crash the postmaster creates a new segment.
                MEMORY.borrow().iter().try_for_each(|memory| memory.take())
            });
        }
    }

    /// Calls a hook of another library. If it raises an error, that unwinds from here.
    #[allow(ffi_unwind_calls, reason = "inside pgrx's boundary, with nothing to drop")]
    unsafe fn call(hook: Option<unsafe extern "C-unwind" fn()>) {
        if let Some(hook) = hook {
            // SAFETY: nothing in the closure needs dropping.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| hook()) };
        }
    }

    // SAFETY: a library is loaded by one thread.
    unsafe {
        if !pg_sys::process_shared_preload_libraries_in_progress || NAMED_MEMORY_IS_DYNAMIC {
            return;
        }
        if MEMORY.borrow().is_empty() {
            REQUEST = (&raw mut pg_sys::shmem_request_hook).replace(Some(request));
            STARTUP = (&raw mut pg_sys::shmem_startup_hook).replace(Some(startup));
        }
        MEMORY.borrow_mut().extend(memory);
    }
}
