//! The number that Citus has given to this server: the group of a node, in the catalog of Citus.
//!
//! The coordinator takes the numbers of groups from a sequence, and gives a new one to each node, also to a node that was removed
//! and comes back, and to a promoted clone. So no two nodes of a cluster have the same, and a number never comes again. What Citus
//! does itself for the sequences of its nodes rests on the same.
//!
//! The coordinator has the group 0, and so has a server that no cluster has added. So a group counts only if the server's own list
//! of nodes has it. A clone has the group of its original until Citus has promoted it and committed the new list of nodes.

use std::{
    ffi::{CStr, c_char, c_void},
    mem,
    ptr::{self, NonNull},
    sync::OnceLock,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, HeapTuple, Oid, Relation},
};
use sno_core::Prefix;

use crate::pg::{errors::Error, fmgr::export, process::own_database_name, server::was_standby};

export! { sno_joins_citus }

type Ask = extern "C-unwind" fn() -> bool;
type Do = extern "C-unwind" fn();

/// What Citus knows of its transactions, where the server has preloaded it.
#[derive(Clone, Copy)]
struct Transactions {
    /// Whether this database has it.
    is_there: Ask,
    /// Whether this process works for a session of another node.
    is_internal: Ask,
    /// Makes this transaction one of Citus.
    join: Do,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

impl Transactions {
    fn find() -> Option<Self> {
        static FOUND: OnceLock<Option<Transactions>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // SAFETY: functions of Citus 13 and 14, without arguments. PostgreSQL has loaded it so that all find its
            // symbols, and keeps it.
            unsafe {
                let symbol = |name: &CStr| NonNull::new(dlsym(ptr::null_mut(), name.as_ptr()));
                Some(Self {
                    is_there: mem::transmute::<NonNull<c_void>, Ask>(symbol(c"CitusHasBeenLoaded")?),
                    is_internal: mem::transmute::<NonNull<c_void>, Ask>(symbol(c"IsCitusInternalBackend")?),
                    join: mem::transmute::<NonNull<c_void>, Do>(symbol(c"UseCoordinatedTransaction")?),
                })
            }
        })
    }
}

/// Called before the first ID of a transaction. Citus has another node commit an INSERT of one row by itself. If its session ended before that
/// node began, by a cancel or since the process died, the row would be committed any time later, though nobody would hold a horizon back for it.
/// In a transaction of Citus that node begins one, too, which only the session commits.
#[allow(ffi_unwind_calls, reason = "errors end at the boundary, which makes panics of them")]
pub(crate) fn join_transaction() {
    // SAFETY: functions of PostgreSQL and Citus, whose errors become panics here.
    unsafe {
        if let Some(citus) = Transactions::find()
            && !pg_sys::IsTransactionBlock()
        {
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                if (citus.is_there)() && !(citus.is_internal)() {
                    (citus.join)();
                }
            });
        }
    }
}

/// `sno_joins_citus() → boolean`: whether it is so on this server.
fn sno_joins_citus() -> bool {
    Transactions::find().is_some()
}

/// The name of the setting's value.
pub(crate) const NAME: &str = "citus";

/// The number of this server, which takes so many bits.
pub(crate) fn prefix(bits: u8) -> Result<Prefix, Error> {
    let group = group()?;
    u16::try_from(group).ok().and_then(|group| Prefix::new(group, bits).ok()).ok_or_else(|| {
        Error::new(
            SqlState::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("group {group} of this Citus node does not fit a server number of {bits} bits"),
        )
        .detail("Citus counts all nodes that were ever added.")
        .hint(format!(
            "Set \"sno.partition_prefix\" to \"{NAME}/12\" or more bits on all nodes, as the manual says."
        ))
    })
}

/// The group of this server.
fn group() -> Result<i32, Error> {
    let is_node = |group: &i32, nodes: &[Node]| nodes.iter().any(|node| node.group == Some(*group));
    // In this order: Citus changes both tables in one transaction, so the group is not older than the list.
    let nodes = Catalog::open(c"pg_dist_node")?.rows(Node::new);
    // While the server is upgraded, this table is empty.
    let own = Catalog::open(c"pg_dist_local_group")?.rows(|row| row.integer(c"groupid"));
    let group = own.into_iter().flatten().next();
    let Some(group) = group.filter(|group| is_node(group, &nodes)) else {
        return Err(Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "this server is not a node of a Citus cluster, whose group would be its number",
        )
        .hint(
            "On the coordinator, call citus_set_coordinator_host(), then citus_add_node() for each other server. Or set \
             \"sno.partition_prefix\" to a number.",
        ));
    };
    if was_standby() && has_clone(group, &nodes) {
        return Err(Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "this server may be a clone that Citus has not yet given a group of its own",
        )
        .detail("Until then it has the group of the node that it was copied from, which generates IDs with it.")
        .hint("Wait for citus_promote_clone_and_rebalance(). On a standby that replaced its primary, call citus_remove_clone_node()."));
    }
    Ok(group)
}

/// Whether a clone of the node of a group is registered: a physical standby that is to become another node.
fn has_clone(group: i32, nodes: &[Node]) -> bool {
    let is_original = |id| nodes.iter().any(|node| node.id == id && node.group == Some(group));
    nodes.iter().any(|node| node.clone_of.is_some_and(|id| is_original(Some(id))))
}

/// A row of the list of nodes.
struct Node {
    id: Option<i32>,
    group: Option<i32>,
    /// The original of a clone; absent before Citus 13.2, which had no clones.
    clone_of: Option<i32>,
}

impl Node {
    fn new(row: Row) -> Self {
        let clone_of = row.integer(c"nodeprimarynodeid").filter(|id| *id != 0);
        Self { id: row.integer(c"nodeid"), group: row.integer(c"groupid"), clone_of }
    }
}

/// A table in the catalog of Citus.
struct Catalog(Relation);

impl Catalog {
    fn open(name: &CStr) -> Result<Self, Error> {
        // SAFETY: looks a table up, and opens it if there is one. The lock of a reader conflicts with nothing but DDL.
        let table = unsafe {
            let oid = pg_sys::get_relname_relid(name.as_ptr(), Oid::from(pg_sys::PG_CATALOG_NAMESPACE));
            pg_sys::try_table_open(oid, pg_sys::AccessShareLock as _)
        };
        if table.is_null() {
            return Err(Error::new(
                SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "database \"{}\" does not have Citus, which would give this server its number",
                    own_database_name()
                ),
            )
            .hint(
                "Create the extension citus in this database, or set \"sno.partition_prefix\" to a number.",
            ));
        }
        Ok(Self(table))
    }

    /// What a function finds in each row, as they are committed now, or by this transaction.
    fn rows<T>(&self, find: impl Fn(Row) -> T) -> Vec<T> {
        let mut found = Vec::new();
        // SAFETY: scans an open table.
        unsafe {
            let (no_index, snapshot, no_key) = (pg_sys::InvalidOid, ptr::null_mut(), ptr::null_mut());
            let scan = pg_sys::systable_beginscan(self.0, no_index, false, snapshot, 0, no_key);
            loop {
                let row = pg_sys::systable_getnext(scan);
                if row.is_null() {
                    break;
                }
                found.push(find(Row { table: self.0, row }));
            }
            pg_sys::systable_endscan(scan);
        }
        found
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        // SAFETY: opened by `open`. After an error, the transaction closes it.
        unsafe { pg_sys::table_close(self.0, pg_sys::AccessShareLock as _) };
    }
}

/// A row of a scan.
struct Row {
    table: Relation,
    row: HeapTuple,
}

impl Row {
    /// The value of a column of type `integer`, if there is such a column.
    fn integer(&self, column: &CStr) -> Option<i32> {
        // SAFETY: reads a column of this type from a row of this table.
        unsafe {
            let number = pg_sys::get_attnum((*self.table).rd_id, column.as_ptr());
            let mut is_null = false;
            let is_there = number > 0 && pg_sys::get_atttype((*self.table).rd_id, number) == pg_sys::INT4OID;
            let value = is_there
                .then(|| pg_sys::heap_getattr(self.row, number.into(), (*self.table).rd_att, &mut is_null))?;
            (!is_null).then_some(value.value() as i32)
        }
    }
}
