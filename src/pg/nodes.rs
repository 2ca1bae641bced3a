//! The planner's nodes and lists.

use std::slice;

use pgrx::pg_sys::{List, Node};

/// The nodes of a list.
///
/// # Safety
/// A list of nodes, or null, which is the empty list. It does not change while the result is used.
pub(crate) unsafe fn nodes<'a>(list: *const List) -> &'a [*mut Node] {
    if list.is_null() {
        return &[];
    }
    // SAFETY: the cells are an array of that length, and the cells of a list of nodes are pointers to nodes.
    unsafe { slice::from_raw_parts((*list).elements.cast(), (*list).length as usize) }
}
