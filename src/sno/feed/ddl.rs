//! What a command of DDL has done to tables, as PostgreSQL has noted it for event triggers.

use std::{
    ffi::{CStr, c_int},
    ptr,
};

use pgrx::pg_sys::{
    self, AlterTableCmd, AlterTableType, CollectedATSubcmd, CollectedCommand, CollectedCommandType, Datum,
    FunctionCallInfo, NodeTag, Oid, PartitionCmd,
};

use crate::{
    pg::{
        fmgr::{functions, put_row},
        nodes::nodes,
        raw, spi,
        versions::SET_EXPRESSION,
    },
    sno::feed::query::{Sees, query},
};

functions! {
    /// `sno_altered() → setof (relation, child, added, is_detached)`: tables that were created or altered by the command whose event trigger
    /// calls it.
    sno_altered: altered;
}

/// Only what is there now: a value that a role has kept of an earlier command would point to memory that is free. For the same reason no
/// other function takes such a value, and nothing here is looked up by the path.
const COMMANDS: &CStr = c"SELECT c.command FROM pg_catalog.pg_event_trigger_ddl_commands() c";

/// A table; the one that has become its partition, or that was created; the number of the first column that was
/// added; whether the other table was its partition until now. The table alone, if it had triggers enabled or disabled.
type Altered = (Oid, Option<Oid>, Option<i16>, bool);

unsafe fn altered(fcinfo: FunctionCallInfo) -> Datum {
    raw::InitMaterializedSRF(fcinfo, 0);
    spi::connect();
    let commands = query(COMMANDS, [], Sees::Now);
    for number in 0..commands.count {
        let Some(command) = commands.row(number).value(1) else { continue };
        let Some((table, child, added, is_detached)) = of_command(&*command.cast_mut_ptr()) else {
            continue;
        };
        let [table, child] = [Some(table), child].map(|table| table.map(Datum::from));
        put_row(fcinfo, [table, child, added.map(Datum::from), Some(is_detached.into())]);
    }
    spi::finish();
    Datum::null()
}

unsafe fn of_command(command: &CollectedCommand) -> Option<Altered> {
    // The type says which part of the union there is.
    if command.type_ == CollectedCommandType::SCT_Simple {
        let table = command.d.simple.address.objectId;
        let is_create = command.parsetree.as_ref().is_some_and(|node| node.type_ == NodeTag::T_CreateStmt);
        return is_create.then_some((table, Some(table), None, false));
    }
    if command.type_ != CollectedCommandType::SCT_AlterTable {
        return None;
    }
    let table = command.d.alterTable.objectId;
    let (mut child, mut added, mut is_detached, mut switches) = (None, None, false, false);
    for &part in nodes(command.d.alterTable.subcmds) {
        let part = &*part.cast::<CollectedATSubcmd>();
        if (*part.parsetree).type_ != NodeTag::T_AlterTableCmd {
            continue;
        }
        let AlterTableCmd { subtype, def, .. } = *part.parsetree.cast::<AlterTableCmd>();
        match subtype {
            // PostgreSQL 15 notes no address. The name is found as the command has found it, by the same path.
            AlterTableType::AT_AttachPartition
            | AlterTableType::AT_DetachPartition
            | AlterTableType::AT_DetachPartitionFinalize => {
                is_detached = subtype != AlterTableType::AT_AttachPartition;
                let name = (*def.cast::<PartitionCmd>()).name;
                let (lock, flags) = (pg_sys::NoLock as c_int, pg_sys::RVROption::RVR_MISSING_OK);
                let none = ptr::null_mut();
                child = Some(raw::RangeVarGetRelidExtended(name, lock, flags, none, none));
            }
            AlterTableType::AT_DisableTrig
            | AlterTableType::AT_DisableTrigAll
            | AlterTableType::AT_DisableTrigUser
            | AlterTableType::AT_EnableTrig
            | AlterTableType::AT_EnableTrigAll
            | AlterTableType::AT_EnableTrigUser
            | AlterTableType::AT_EnableReplicaTrig => switches = true,
            // A virtual column has other values, and no rewrite says so.
            _ if Some(subtype) == SET_EXPRESSION => added = added.or(Some(part.address.objectSubId as i16)),
            // ADD COLUMN, by whichever of its names. One that was there already has no address.
            _ if !def.is_null()
                && (*def).type_ == NodeTag::T_ColumnDef
                && subtype != AlterTableType::AT_AlterColumnType
                && part.address.classId != Oid::INVALID =>
            {
                added = added.or(Some(part.address.objectSubId as i16));
            }
            _ => {}
        }
    }
    (child.is_some() || added.is_some() || switches).then_some((table, child, added, is_detached))
}
