//! A path that is ordered by `id` is ordered by `sno_time(id)`, too.
//!
//! PostgreSQL makes a path of an index in an order that the query can use: that is one of its query's path keys, for ORDER
//! BY, GROUP BY, DISTINCT or a window function. Where one of these keys is `sno_time(column)`, PostgreSQL makes the paths of
//! the indexes on the column once more, while their descriptions say that they are sorted by `sno_time(column)`. If the
//! next key is the column itself, that is their order, too. Paths are added, and nothing that PostgreSQL has made is changed.

use std::ptr;

use pgrx::pg_sys::{
    IndexOptInfo, IndexPath, Node, NodeTag, PathKey, PlannerInfo, RTEKind, RangeTblEntry, RelOptInfo,
};

use crate::{
    pg::{
        nodes::nodes,
        raw,
        versions::{find_member, on_paths},
    },
    sno::planner::rewrite::{Key, Table, is_enabled, place, time_family},
};

/// Installs the hook, when the library is loaded.
pub(crate) fn install() {
    on_paths(add_paths);
}

unsafe fn add_paths(root: *mut PlannerInfo, relation: *mut RelOptInfo, entry: &RangeTblEntry) {
    let wanted = nodes((*root).query_pathkeys);
    if wanted.is_empty()
        || (*relation).indexlist.is_null()
        || entry.rtekind != RTEKind::RTE_RELATION
        || entry.inh
        // An index has all rows.
        || !entry.tablesample.is_null()
        || !is_enabled()
        || raw::is_dummy_rel(relation)
    {
        return;
    }
    let table = Table::new(root, relation);
    for &time in wanted {
        let time: *mut PathKey = time.cast();
        let of_table = |expression| table.argument(expression).map(|key| (key, expression));
        if let Some((key, expression)) = find_member((*time).pk_eclass, relation, of_table) {
            for &index in nodes((*relation).indexlist) {
                add_ordered(root, relation, &mut *index.cast(), key, (time, expression));
            }
            return;
        }
    }
}

/// Adds the paths of an index that have an order that the query wants, with `sno_time(column)` in it: a path key, and its
/// expression.
unsafe fn add_ordered(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    index: &mut IndexOptInfo,
    key: Key,
    (time, expression): (*mut PathKey, *mut Node),
) {
    let Some(place) = place(index, key.attno) else { return };
    if index.sortopfamily.is_null() || *index.sortopfamily.add(place) != key.operators.family {
        return;
    }
    let saved = (relation.read(), ptr::read(index));
    // What is not about orders is left out: bitmap scans, and scans with parameters.
    (*relation).indexlist = raw::lappend(ptr::null_mut(), ptr::from_mut(index).cast());
    (*relation).baserestrictinfo = ptr::null_mut();
    (*relation).joininfo = ptr::null_mut();
    (*relation).has_eclass_joins = false;
    (*relation).pathlist = ptr::null_mut();
    (*relation).partial_pathlist = ptr::null_mut();
    // The index has no order by what follows the column, since rows of one time are sorted by the column.
    let column = raw::makeTargetEntry(expression.cast(), 0, ptr::null_mut(), false);
    index.indextlist = raw::lappend(raw::list_copy_head(index.indextlist, place as i32), column.cast());
    index.sortopfamily = with(index.sortopfamily, index.nkeycolumns, place, time_family());
    index.opcintype = with(index.opcintype, index.nkeycolumns, place, raw::exprType(expression));
    raw::create_index_paths(root, relation);
    let found = [(*relation).pathlist, (*relation).partial_pathlist];
    relation.write(saved.0);
    ptr::write(index, saved.1);

    for (list, is_partial) in found.into_iter().zip([false, true]) {
        for &node in nodes(list) {
            let path = &mut *node.cast::<IndexPath>();
            if path.path.type_ != NodeTag::T_IndexPath
                || !path.path.param_info.is_null()
                || nodes(path.path.pathkeys).last() != Some(&time.cast())
            {
                continue;
            }
            let count = nodes(path.path.pathkeys).len();
            let by_id = raw::build_index_pathkeys(root, index, path.indexscandir);
            if let Some(&next) = nodes((*root).query_pathkeys).get(count)
                && nodes(by_id).get(count - 1) == Some(&next)
            {
                let list = raw::list_copy_head(path.path.pathkeys, count as i32);
                path.path.pathkeys = raw::lappend(list, next.cast());
            }
            // The statistics of the column are for its own type.
            raw::cost_index(path, root, 1.0, is_partial);
            let add = if is_partial { raw::add_partial_path } else { raw::add_path };
            add(relation, &mut path.path);
        }
    }
}

/// A copy of an array with another element at one place.
unsafe fn with<T: Copy>(array: *const T, length: i32, place: usize, element: T) -> *mut T {
    let copy: *mut T = raw::palloc(length as usize * size_of::<T>()).cast();
    copy.copy_from_nonoverlapping(array, length as usize);
    copy.add(place).write(element);
    copy
}
