//! The generators' shared memory: where it is allocated.
//!
//! The contents are [`sno_core::server::Shared`], all fields of which are atomic. It is part of the main segment, which
//! the postmaster creates at a start and again after a crash, and which all processes have at the same address.

use std::{
    ffi::CStr,
    marker::PhantomData,
    ptr, slice,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering::Relaxed},
    },
};

use pgrx::pg_sys;
use sno_core::server::Shared;

use crate::{
    generator::scheme::Scheme,
    pg::{
        errors::{Error, guard},
        process::Process,
        server::not_preloaded,
    },
};

/// A scheme's shared memory: the generators, and for each process a `P`, of which zeros are a valid value.
pub struct Memory<S: Scheme, const SLOTS: usize, P = ()> {
    /// Its name in PostgreSQL.
    name: &'static CStr,
    /// Its address, or null if the library was not preloaded.
    address: AtomicPtr<Shared<S::Tick, SLOTS>>,
    per_process: PhantomData<P>,
}

impl<S: Scheme, const SLOTS: usize, P> Memory<S, SLOTS, P> {
    /// Memory of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()), per_process: PhantomData }
    }

    /// The server's generators.
    pub fn generators(&'static self) -> Result<&'static Shared<S::Tick, SLOTS>, Error> {
        // SAFETY: the postmaster has set the memory to a valid value, and it is accessed only through atomics.
        unsafe { self.address.load(Relaxed).as_ref() }.ok_or_else(not_preloaded)
    }

    /// What the processes have in it, by their [numbers](Process::number).
    pub fn per_process(&'static self) -> Result<&'static [P], Error> {
        self.generators()?;
        // SAFETY: the memory has room for as many, and was set to zeros, which are valid.
        Ok(unsafe { slice::from_raw_parts(self.address.load(Relaxed).add(1).cast(), Process::count()) })
    }
}

/// Memory of any scheme.
pub trait Reserve: Sync {
    /// How many bytes.
    fn size(&self) -> usize;

    /// Allocates it, for this process and its children.
    fn create(&self);
}

impl<S: Scheme, const SLOTS: usize, P> Reserve for Memory<S, SLOTS, P>
where
    Self: Sync,
{
    fn size(&self) -> usize {
        // The generators fill cache lines.
        size_of::<Shared<S::Tick, SLOTS>>() + size_of::<P>() * Process::count()
    }

    fn create(&self) {
        let mut found = false;
        // SAFETY: memory of this size, for the postmaster alone. Zero is a valid value of every part.
        unsafe {
            let address = pg_sys::ShmemInitStruct(self.name.as_ptr(), self.size(), &mut found);
            address.write_bytes(0, self.size());
            self.address.store(address.cast(), Relaxed);
        }
    }
}

/// Reserves memory, when the library is preloaded.
pub fn reserve(memory: &'static [&'static dyn Reserve]) {
    static MEMORY: OnceLock<&[&dyn Reserve]> = OnceLock::new();
    /// The hooks of other libraries, which ours replace and call.
    static mut REQUEST: pg_sys::shmem_request_hook_type = None;
    static mut STARTUP: pg_sys::shmem_startup_hook_type = None;

    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn request() {
        // SAFETY: called by the postmaster, alone, as are the hooks before it.
        unsafe {
            call(REQUEST);
            for memory in MEMORY.get().into_iter().copied().flatten() {
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
                MEMORY.get().into_iter().copied().flatten().for_each(|memory| memory.create());
                Ok(())
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

    MEMORY.get_or_init(|| memory);
    // SAFETY: a library is loaded by one thread.
    unsafe {
        REQUEST = (&raw mut pg_sys::shmem_request_hook).replace(Some(request));
        STARTUP = (&raw mut pg_sys::shmem_startup_hook).replace(Some(startup));
    }
}
