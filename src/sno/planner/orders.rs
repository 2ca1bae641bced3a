//! A path that is ordered by `id` is ordered by `sno_time(id)`, too.
//!
//! PostgreSQL generates a path of an index in an order that the query can use: one of its query's path keys, for ORDER
//! BY, GROUP BY, DISTINCT or a window function. Where one of these keys is `sno_time(column)`, PostgreSQL's own function is
//! called once more, with a copy of the index's description that says that it is sorted by `sno_time(column)`, and a copy of
//! the table's, which takes the paths. If the next key is the column itself, that is their order, too. The paths that are
//! added have the real descriptions.

use std::ptr;

use pgrx::pg_sys::{
    IndexOptInfo, IndexPath, Node, NodeTag, PathKey, PlannerInfo, RTEKind, RangeTblEntry, RelOptInfo,
};

use crate::{
    pg::{
        nodes::{nodes, shallow_copy, with},
        raw,
        versions::{find_member, on_paths},
    },
    sno::planner::{
        operators::time_family,
        rewrite::ENABLED,
        table::{Key, Table},
    },
};

/// Installs the hook, when the library is preloaded.
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
        || !ENABLED.get()
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
    let place =
        (0..index.nkeycolumns as usize).find(|&place| *index.indexkeys.add(place) == i32::from(key.attno));
    let Some(place) = place else { return };
    if index.sortopfamily.is_null() || *index.sortopfamily.add(place) != key.operators.family {
        return;
    }
    // The paths name the index and, through it, the real table.
    let by_time: &mut IndexOptInfo = shallow_copy(index);
    // The index has no order by the columns that follow, since rows of one time are sorted by the column.
    let column = raw::makeTargetEntry(expression.cast(), 0, ptr::null_mut(), false);
    by_time.indextlist = raw::lappend(raw::list_copy_head(index.indextlist, place as i32), column.cast());
    by_time.sortopfamily = with(index.sortopfamily, index.nkeycolumns, place, time_family());
    by_time.opcintype = with(index.opcintype, index.nkeycolumns, place, raw::exprType(expression));
    let collecting: &mut RelOptInfo = shallow_copy(relation);
    collecting.indexlist = raw::lappend(ptr::null_mut(), ptr::from_mut(by_time).cast());
    // What is not about orders is left out: bitmap scans, and scans with parameters.
    collecting.baserestrictinfo = ptr::null_mut();
    collecting.joininfo = ptr::null_mut();
    collecting.has_eclass_joins = false;
    collecting.pathlist = ptr::null_mut();
    collecting.partial_pathlist = ptr::null_mut();
    raw::create_index_paths(root, collecting);
    let found = [collecting.pathlist, collecting.partial_pathlist];

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
            path.indexinfo = index;
            // The statistics of the column are for its own type.
            raw::cost_index(path, root, 1.0, is_partial);
            let add = if is_partial { raw::add_partial_path } else { raw::add_path };
            add(relation, &mut path.path);
        }
    }
}
