//! The statement that reads a feed may do so once, and no other feed.

use std::{cell::Cell, ffi::c_void, ptr};

use pgrx::pg_sys::{EState, FunctionCallInfo, MemoryContextCallback, ReturnSetInfo};

use crate::pg::{backend_local::BackendLocal, raw};

/// A statement under way and a feed that it has read.
struct Read {
    end: MemoryContextCallback,
    statement: *const EState,
    feed: u64,
    next: *mut Read,
}

// SAFETY: for functions, which SQL calls.
static READS: BackendLocal<Cell<*mut Read>> = unsafe { BackendLocal::new(Cell::new(ptr::null_mut())) };

/// The feed that the statement of a call has read before, if it has. If that was the same one, without rows, it has not moved, but there
/// can be some by now: those who read them then would not know what the first ones did without them.
pub(super) unsafe fn read_before(call: FunctionCallInfo, feed: u64) -> Option<u64> {
    // What is allocated here lives as long as the statement, whose end takes it out of the list.
    let statement = (*(*(*call).resultinfo.cast::<ReturnSetInfo>()).econtext).ecxt_estate;
    if statement.is_null() {
        return None;
    }
    let mut read = READS.get();
    while let Some(known) = read.as_ref() {
        if known.statement == statement.cast_const() {
            return Some(known.feed);
        }
        read = known.next;
    }
    let memory = (*statement).es_query_cxt;
    let read = raw::MemoryContextAlloc(memory, size_of::<Read>()).cast::<Read>();
    let end = MemoryContextCallback { func: Some(forget), arg: read.cast(), next: ptr::null_mut() };
    read.write(Read { end, statement, feed, next: READS.replace(read) });
    raw::MemoryContextRegisterResetCallback(memory, &raw mut (*read).end);
    None
}

unsafe extern "C-unwind" fn forget(read: *mut c_void) {
    let read = read.cast::<Read>();
    // PostgreSQL calls it before it frees the memory. What is in the list is there.
    if READS.get() == read {
        READS.set((*read).next);
        return;
    }
    let mut before = READS.get();
    while let Some(known) = before.as_mut() {
        if known.next == read {
            known.next = (*read).next;
        }
        before = known.next;
    }
}
