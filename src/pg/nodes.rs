//! The planner's lists and expressions.

use std::slice;

use pgrx::pg_sys::{List, Node, PlannerInfo};

unsafe extern "C-unwind" {
    // Not pgrx's wrappers. An error of a user's function would lose its SQLSTATE and its context in the first one, and the
    // second one raises none.
    fn estimate_expression_value(root: *mut PlannerInfo, node: *mut Node) -> *mut Node;
    fn stack_is_too_deep() -> bool;
}

/// The expression with all that can be computed at planning time: by functions of users, too.
///
/// # Safety
/// An expression of the planner's. No caller up to PostgreSQL has anything to drop: an error of such a function is raised
/// with `longjmp`. This passes by the `catch_unwind` of pgrx's guard, which keeps nothing between its call and its return.
pub(crate) unsafe fn estimated(root: *mut PlannerInfo, node: *mut Node) -> *mut Node {
    // SAFETY: by the contract.
    unsafe { estimate_expression_value(root, node) }
}

/// Whether a recursion has to end here, by the setting `max_stack_depth`.
pub(crate) fn is_stack_too_deep() -> bool {
    // SAFETY: compares two addresses.
    unsafe { stack_is_too_deep() }
}

/// The nodes of a list.
///
/// # Safety
/// A list of nodes, or null, which is the empty list. It does not change while the result is used.
pub(crate) unsafe fn nodes<'a>(list: *const List) -> &'a [*mut Node] {
    if list.is_null() {
        return &[];
    }
    // SAFETY: the cells are an array of that length, and those of a list of nodes are pointers to nodes.
    unsafe { slice::from_raw_parts((*list).elements.cast(), (*list).length as usize) }
}
