//! The number that Citus has given to this server: the group of a node, in the catalog of Citus.
//!
//! The coordinator takes the numbers of groups from a sequence, and gives a new one to each node, also to a node that was removed
//! and comes back, and to a promoted clone. So no two nodes of a cluster have the same, and a number never comes again. What Citus
//! does itself for the sequences of its nodes rests on the same.
//!
//! The coordinator has the group 0, and so has a server that no cluster has added. So a group counts only if the server's own list
//! of nodes has it.

use std::ffi::CStr;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, Oid, Relation},
};
use sno_core::Prefix;

use crate::pg::{errors::Error, process::own_database_name};

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
    let groups = Catalog::open(c"pg_dist_local_group")?;
    let nodes = Catalog::open(c"pg_dist_node")?;
    // While the server is upgraded, the first table is empty.
    let group = groups.groups().first().copied().filter(|group| nodes.groups().contains(group));
    group.ok_or_else(|| {
        Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "this server is not a node of a Citus cluster, whose group would be its number",
        )
        .hint(
            "On the coordinator, call citus_set_coordinator_host(), then citus_add_node() for each other server. Or set \
             \"sno.partition_prefix\" to a number.",
        )
    })
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

    /// All values of the column `groupid`, as they are committed now, or by this transaction.
    fn groups(&self) -> Vec<i32> {
        let mut found = Vec::new();
        // SAFETY: scans an open table, and reads a column of type integer that has no nulls.
        unsafe {
            let column = pg_sys::get_attnum((*self.0).rd_id, c"groupid".as_ptr());
            let (no_index, snapshot, key) = (pg_sys::InvalidOid, std::ptr::null_mut(), std::ptr::null_mut());
            let scan = pg_sys::systable_beginscan(self.0, no_index, false, snapshot, 0, key);
            loop {
                let row = pg_sys::systable_getnext(scan);
                if row.is_null() {
                    break;
                }
                let mut is_null = false;
                let value: Datum = pg_sys::heap_getattr(row, column.into(), (*self.0).rd_att, &mut is_null);
                if !is_null {
                    found.push(value.value() as i32);
                }
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
