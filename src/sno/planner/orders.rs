//! A path that is ordered by `id` is ordered by `sno_time(id)`, too.
//!
//! PostgreSQL makes a path of an index in an order that the query can use. That is one of its query's path keys: for
//! ORDER BY, GROUP BY, DISTINCT or a window function. Where one of these keys is `sno_time(column)`, the index paths are
//! made once more, as if the query wanted the column in its place. What is then ordered by the column is added with the
//! order that the query wants: by the time, and by the column after it, if that is the next key. Nothing that PostgreSQL
//! has made is changed.

use std::{cell::Cell, ptr};

use pgrx::pg_sys::{
    EquivalenceClass, EquivalenceMember, IndexOptInfo, List, NodeTag, Path, PathKey, PlannerInfo, RTEKind,
    RangeTblEntry, RelOptInfo,
};

use crate::{
    pg::{
        nodes::{make, nodes},
        raw,
        versions::{complete_member, direction, find_class, find_member, on_paths},
    },
    sno::planner::{
        operators::Operator,
        rewrite::{Key, Table, is_enabled, time_family},
    },
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
    let by_time = Cell::new(None);
    let table = Table::new(root, relation, &by_time);
    for (place, &time) in wanted.iter().enumerate() {
        let time = &*time.cast::<PathKey>();
        let key = find_member(time.pk_eclass, relation, |expression| table.argument(expression));
        if let Some(key) = key {
            if time.pk_opfamily == time_family() {
                add_ordered(root, relation, key, place);
            }
            return;
        }
    }
}

/// Adds the paths whose order is the one that the query wants up to `sno_time(column)`, its key at this place.
unsafe fn add_ordered(root: *mut PlannerInfo, relation: *mut RelOptInfo, key: Key, place: usize) {
    let root_ref = &mut *root;
    let wanted = root_ref.query_pathkeys;
    let time: *mut PathKey = nodes(wanted)[place].cast();
    let (classes, pathkeys) = (nodes(root_ref.eq_classes).len(), nodes(root_ref.canon_pathkeys).len());
    let families = raw::get_mergejoin_opfamilies(key.operators.oid(Operator::Equal));
    let mut class = find_class(root, relation, (key.column.cast(), key.operators.sno, families));
    let is_temporary = class.is_null();
    if is_temporary {
        class = make_class(root, relation, key, families);
        root_ref.eq_classes = raw::lappend(root_ref.eq_classes, class.cast());
    }
    let by_id = raw::make_canonical_pathkey(
        root,
        class,
        key.operators.family,
        direction(&*time),
        (*time).pk_nulls_first,
    );
    let by_id_in_place = raw::lappend(raw::list_copy_head(wanted, place as i32), by_id.cast());

    // What is not about orders is left out: bitmap scans, and scans with parameters.
    let saved = relation.read();
    let mut indexes = ptr::null_mut();
    for &index in nodes(saved.indexlist) {
        if has_column(&*index.cast(), key.attno) {
            indexes = raw::lappend(indexes, index.cast());
        }
    }
    (*relation).indexlist = indexes;
    (*relation).baserestrictinfo = ptr::null_mut();
    (*relation).joininfo = ptr::null_mut();
    (*relation).has_eclass_joins = false;
    (*relation).pathlist = ptr::null_mut();
    (*relation).partial_pathlist = ptr::null_mut();
    // From 19 on, an order counts as useful by the list for ORDER BY and those beside it; before, by the query's own.
    let sort_pathkeys = root_ref.sort_pathkeys;
    (root_ref.query_pathkeys, root_ref.sort_pathkeys) = (by_id_in_place, by_id_in_place);
    raw::create_index_paths(root, relation);
    let found = [(*relation).pathlist, (*relation).partial_pathlist];
    (root_ref.query_pathkeys, root_ref.sort_pathkeys) = (wanted, sort_pathkeys);
    relation.write(saved);

    let by_time = raw::list_copy_head(wanted, place as i32 + 1);
    let is_id_next = nodes(wanted).get(place + 1).is_some_and(|&next| next.cast() == by_id);
    let by_time = if is_id_next { raw::lappend(by_time, by_id.cast()) } else { by_time };
    for (list, add) in found.into_iter().zip([raw::add_path, raw::add_partial_path]) {
        for &node in nodes(list) {
            let path: *mut Path = node.cast();
            let ordered = nodes((*path).pathkeys).get(..=place);
            if (*path).type_ == NodeTag::T_IndexPath
                && (*path).param_info.is_null()
                && ordered == Some(nodes(by_id_in_place))
            {
                (*path).pathkeys = by_time;
                add(relation, path);
            }
        }
    }
    if is_temporary {
        root_ref.eq_classes = raw::list_truncate(root_ref.eq_classes, classes as i32);
        root_ref.canon_pathkeys = raw::list_truncate(root_ref.canon_pathkeys, pathkeys as i32);
    }
}

/// An equivalence class of a column alone. Without one, an index on the column is not known to have an order. It is made
/// here, and taken away again, because PostgreSQL makes none for a column of a partition, and because each class that is
/// there costs time whenever one is looked for.
unsafe fn make_class(
    root: *mut PlannerInfo,
    relation: *mut RelOptInfo,
    key: Key,
    families: *mut List,
) -> *mut EquivalenceClass {
    let member: *mut EquivalenceMember = make(NodeTag::T_EquivalenceMember);
    (*member).em_expr = key.column.cast();
    (*member).em_relids = (*relation).relids;
    (*member).em_datatype = key.operators.sno;
    complete_member(root, &mut *member);
    let class: *mut EquivalenceClass = make(NodeTag::T_EquivalenceClass);
    (*class).ec_opfamilies = families;
    (*class).ec_members = raw::lappend(ptr::null_mut(), member.cast());
    (*class).ec_relids = (*relation).relids;
    (*class).ec_min_security = u32::MAX;
    class
}

/// Whether a column is among the keys of an index.
unsafe fn has_column(index: &IndexOptInfo, column: i16) -> bool {
    (0..index.nkeycolumns as usize).any(|place| *index.indexkeys.add(place) == i32::from(column))
}
