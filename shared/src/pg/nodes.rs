//! The planner's nodes and lists.
//!
//! # Safety
//! As for the functions of [`raw`], with the arguments that each one's documentation names.

#![allow(unsafe_op_in_unsafe_fn, ffi_unwind_calls, reason = "by the rule above")]

use std::slice;

use pgrx::pg_sys::{self, List, ListCell, Node, NodeTag, Oid, RelabelType, Relation, Var};

use crate::pg::raw;

/// The nodes of a list.
///
/// # Safety
/// A list of nodes, or null, which is the empty list. It does not change while the result is used.
pub unsafe fn nodes<'a>(list: *const List) -> &'a [*mut Node] {
    if list.is_null() {
        return &[];
    }
    slice::from_raw_parts((*list).elements.cast(), (*list).length as usize)
}

/// An element of one of the planner's arrays, which have a place for each table of the query.
///
/// # Safety
/// Such an array, or null, and the number of a table.
pub unsafe fn nth_entry<T>(array: *mut *mut T, relid: u32) -> Option<*mut T> {
    if array.is_null() {
        return None;
    }
    let found = *array.add(relid as usize);
    (!found.is_null()).then_some(found)
}

/// The OIDs of a list.
///
/// # Safety
/// A list of OIDs, or null, which is the empty list. It does not change while the result is used.
unsafe fn oids<'a>(list: *const List) -> impl Iterator<Item = Oid> + 'a {
    let cells: &[ListCell] =
        if list.is_null() { &[] } else { slice::from_raw_parts((*list).elements, (*list).length as usize) };

    cells.iter().map(|cell| cell.oid_value)
}

/// An expression as a column of the query's tables, if it is one.
///
/// # Safety
/// An expression of a query.
pub unsafe fn variable<'a>(mut node: *mut Node) -> Option<&'a Var> {
    // A column of a domain is shown as a cast to its type.
    if (*node).type_ == NodeTag::T_RelabelType {
        node = (*node.cast::<RelabelType>()).arg.cast();
    }
    if (*node).type_ != NodeTag::T_Var {
        return None;
    }
    let var = &*node.cast::<Var>();
    (var.varlevelsup == 0).then_some(var)
}

/// A copy of a node, with all below it.
///
/// # Safety
/// A node that PostgreSQL can copy.
pub unsafe fn copy(node: *mut Node) -> *mut Node {
    raw::copyObjectImpl(node.cast()).cast()
}

/// A copy of a node alone, which points to what the node points to. It lives as long as the memory context.
///
/// # Safety
/// A node of this type.
pub unsafe fn shallow_copy<'a, T>(node: *const T) -> &'a mut T {
    let copy: *mut T = raw::palloc(size_of::<T>()).cast();
    copy.copy_from_nonoverlapping(node, 1);
    &mut *copy
}

/// A copy of an array with another element at one place.
///
/// # Safety
/// An array of that length, which has the place.
pub unsafe fn with<T: Copy>(array: *const T, length: i32, place: usize, element: T) -> *mut T {
    let copy: *mut T = raw::palloc(length as usize * size_of::<T>()).cast();
    copy.copy_from_nonoverlapping(array, length as usize);
    copy.add(place).write(element);
    copy
}

/// Has a function look at each index of a table: at the number of its first column, 0 if that is an expression, and at
/// its expressions.
///
/// # Safety
/// A table that the query has locked, and its number in the query.
pub unsafe fn each_index(table: Oid, relid: u32, mut look: impl FnMut(i32, *mut List)) {
    let table = raw::table_open(table, pg_sys::NoLock as i32);
    for index in oids(raw::RelationGetIndexList(table)) {
        let index = raw::index_open(index, pg_sys::AccessShareLock as i32);
        let expressions = raw::RelationGetIndexExpressions(index);
        raw::ChangeVarNodes(expressions.cast(), 1, relid as i32, 0);
        look((*(*index).rd_index).indkey.values.as_ptr().read().into(), expressions);
        raw::index_close(index, pg_sys::NoLock as i32);
    }
    raw::table_close(table, pg_sys::NoLock as i32);
}

/// The numbers of the columns of a table's primary key, in their order in its index, if it has one.
///
/// # Safety
/// A table that is open and locked.
pub unsafe fn primary_key<'a>(table: Relation) -> Option<&'a [i16]> {
    // The columns are copied.
    for index in oids(raw::RelationGetIndexList(table)) {
        let index = raw::index_open(index, pg_sys::AccessShareLock as i32);
        let form = &*(*index).rd_index;
        let count = usize::from(form.indnkeyatts as u16);
        let columns = form.indisprimary.then(|| {
            let copy: *mut i16 = raw::palloc(count * size_of::<i16>()).cast();
            copy.copy_from_nonoverlapping(form.indkey.values.as_ptr(), count);
            slice::from_raw_parts(copy, count)
        });
        raw::index_close(index, pg_sys::NoLock as i32);
        if columns.is_some() {
            return columns;
        }
    }
    None
}
