//! The rows of the feeds of a name, at their newest versions.
//!
//! A feed that is read leaves a version of its row each time. As long as a transaction somewhere is old, as that of a dump can be for
//! hours, VACUUM may remove none of them, and a query by the feed's name would visit them all. In a btree the versions of a row stand in
//! the order of their places, of which the newest is nearly always the last: so the index is read backward, and no further than the first
//! version that is visible.

use std::{ffi::c_int, mem, ptr};

use pgrx::pg_sys::{self, Datum, HeapTuple, Oid, ScanDirection, ScanKeyData};

use crate::{
    pg::{nodes::nodes, raw},
    sno::feed::query::{Row, Sees},
};

// The columns of the primary key of `sno_internal.feed_positions`, by their numbers.
const FEED: i16 = 2;
pub(super) const OWNER: i16 = 3;

/// The rows of the feeds of a name, of all roles, that a query would see. They live until `SPI_finish`.
/// The name is a text.
pub(super) unsafe fn rows(name: Datum, sees: Sees) -> impl Iterator<Item = Row> + Clone {
    // PostgreSQL's own functions compare the names, so that nothing of a user's is called.
    if sees == Sees::Now {
        raw::PushActiveSnapshot(raw::GetTransactionSnapshot());
    }
    let schema = raw::get_namespace_oid(c"sno_internal".as_ptr(), false);
    let (lock, kept) = (pg_sys::AccessShareLock as c_int, pg_sys::NoLock as c_int);
    let table = raw::table_open(raw::get_relname_relid(c"feed_positions".as_ptr(), schema), lock);
    let index = raw::index_open(raw::get_relname_relid(c"feed_positions_pkey".as_ptr(), schema), lock);
    let columns = raw::CreateTupleDescCopy((*table).rd_att);
    let (mut found, mut owner) = (ptr::null_mut(), None);
    loop {
        let (equal, less) = (pg_sys::BTEqualStrategyNumber as u16, pg_sys::BTLessStrategyNumber as u16);
        let mut keys: [ScanKeyData; 2] = mem::zeroed();
        let mut key = |number: usize, column, strategy, function: u32, value| {
            let (any, collation) = (Oid::INVALID, *(*index).rd_indcollation.add(number));
            let key = &raw mut keys[number];
            raw::ScanKeyEntryInitialize(key, 0, column, strategy, any, collation, function.into(), value);
        };
        key(0, FEED, equal, pg_sys::F_TEXTEQ, name);
        if let Some(owner) = owner {
            key(1, OWNER, less, pg_sys::F_NAMELT, owner);
        }
        let (count, snapshot) = (1 + c_int::from(owner.is_some()), raw::GetActiveSnapshot());
        let scan = raw::systable_beginscan_ordered(table, index, snapshot, count, keys.as_mut_ptr());
        let mut row = raw::systable_getnext_ordered(scan, ScanDirection::BackwardScanDirection);
        if !row.is_null() {
            row = raw::heap_copytuple(row);
        }
        raw::systable_endscan_ordered(scan);
        if row.is_null() {
            break;
        }
        owner = Row { row, columns }.value(OWNER.into());
        found = raw::lappend(found, row.cast());
    }
    raw::index_close(index, kept);
    raw::table_close(table, kept);
    if sees == Sees::Now {
        raw::PopActiveSnapshot();
    }
    nodes(found).iter().map(move |row| Row { row: row.cast::<_>() as HeapTuple, columns })
}
