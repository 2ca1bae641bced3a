//! The statement that calls: whether it stores the rows of a feed, as it stores that they are read.

use std::{ffi::c_char, ptr};

use pgrx::pg_sys::{
    self, Append, CmdType, CommandDest, CreateTableAsStmt, CteScan, CustomScan, EState, FunctionCallInfo,
    FunctionScan, Join, JoinType, MergeAction, MergeAppend, ModifyTable, NestLoop, Node, NodeTag, ObjectType,
    Plan, PlannedStmt, PortalData, RangeTblEntry, RangeTblFunction, ReturnSetInfo, SubqueryScan, TargetEntry,
    WindowAgg,
};

use crate::pg::{nodes::nodes, raw};

/// `relpersistence` of a table that neither the end of the session nor a crash of the server empties.
const PERMANENT: c_char = pg_sys::RELPERSISTENCE_PERMANENT as c_char;

/// The statement of a call for a set.
unsafe fn statement<'a>(call: FunctionCallInfo) -> Option<(&'a EState, &'a PlannedStmt)> {
    let set = (*call).resultinfo.cast::<ReturnSetInfo>().as_ref()?;
    let state = set.econtext.as_ref()?.ecxt_estate.as_ref()?;
    Some((state, state.es_plannedstmt.as_ref()?))
}

fn writes(statement: &PlannedStmt) -> bool {
    !matches!(statement.commandType, CmdType::CMD_SELECT | CmdType::CMD_UTILITY)
}

/// Whether a statement writes by what it is, or by a WITH.
fn writes_anywhere(statement: &PlannedStmt) -> bool {
    writes(statement) || statement.hasModifyingCTE
}

/// Whether a transaction goes on with the rows of a call: it is a block, or that of a function, or the statement writes.
/// Before `SPI_connect`.
pub(super) unsafe fn goes_on(call: FunctionCallInfo) -> bool {
    transaction_goes_on() || statement(call).is_some_and(|(_, statement)| writes_anywhere(statement))
}

/// The same, whatever the statement is.
/// Before `SPI_connect`.
pub(super) unsafe fn transaction_goes_on() -> bool {
    // Only outside of SPI, so in a statement of the client, is that the error: inside, there is no relation without a name.
    raw::IsTransactionBlock() || raw::SPI_unregister_relation(c"".as_ptr()) != pg_sys::SPI_ERROR_UNCONNECTED
}

/// Whether a statement stores the rows of a call, or works with them itself: all of them reach what it writes, by FROM and WITH. A condition, an
/// inner join or a LIMIT leaves out some, and a subquery, as of EXISTS, may read a part of them. A temporary or unlogged table stores them only until
/// the transaction has done something with them.
pub(super) unsafe fn stores_rows(call: FunctionCallInfo, goes_on: bool) -> bool {
    let Some((state, statement)) = statement(call) else { return false };
    let call = (*(*call).flinfo).fn_expr;
    // What a rule adds would read the next rows.
    if writes_anywhere(statement) && !statement.canSetTag {
        return false;
    }
    let stores = if writes(statement) {
        goes_on || is_kept(statement.planTree, statement)
    } else {
        pg_sys::ActivePortal.as_ref().is_some_and(|portal| is_into(portal, state, goes_on))
    };
    stores && gets(statement.planTree, call, statement, false)
        || nodes(statement.subplans).iter().any(|&plan| {
            !plan.is_null()
                && (*plan).type_ == NodeTag::T_ModifyTable
                && (goes_on || is_kept(plan.cast(), statement))
                && gets(plan.cast(), call, statement, false)
        })
}

/// Whether a plan writes to a table that keeps its rows.
unsafe fn is_kept(plan: *mut Plan, statement: &PlannedStmt) -> bool {
    if (*plan).type_ != NodeTag::T_ModifyTable {
        return true;
    }
    let number = (*plan.cast::<ModifyTable>()).nominalRelation as usize;
    let target = nodes(statement.rtable).get(number.wrapping_sub(1));
    target.is_none_or(|target| raw::get_rel_persistence((*target.cast::<RangeTblEntry>()).relid) == PERMANENT)
}

/// Whether the rows of a SELECT go to a table, in a portal that runs.
unsafe fn is_into(portal: &PortalData, state: &EState, goes_on: bool) -> bool {
    match portal.queryDesc.as_ref().filter(|query| ptr::eq(query.plannedstmt, state.es_plannedstmt)) {
        None => makes_table(portal, state, goes_on) || portal.queryDesc.is_null() && is_part_of_work(portal),
        Some(query) => match query.dest.as_ref().map(|dest| dest.mydest) {
            // CREATE TABLE AS EXECUTE, which has another portal.
            Some(CommandDest::DestIntoRel) => {
                goes_on || client().is_some_and(|client| creates(client, goes_on))
            }
            // A loop or a cursor of a function.
            Some(CommandDest::DestSPI) => false,
            _ => is_part_of_work(portal),
        },
    }
}

/// Whether a portal runs CREATE TABLE AS or SELECT INTO with this query, and not with that of a function, which has another text.
unsafe fn makes_table(portal: &PortalData, state: &EState, goes_on: bool) -> bool {
    ptr::eq(portal.sourceText, state.es_sourceText) && creates(portal, goes_on)
}

/// Whether the statement of a portal creates a table and fills it; a temporary or unlogged one, if the transaction goes on.
unsafe fn creates(portal: &PortalData, goes_on: bool) -> bool {
    nodes(portal.stmts).iter().any(|&statement| {
        let utility = (*statement.cast::<PlannedStmt>()).utilityStmt;
        !utility.is_null() && (*utility).type_ == NodeTag::T_CreateTableAsStmt && {
            let create = &*utility.cast::<CreateTableAsStmt>();
            create.objtype == ObjectType::OBJECT_TABLE
                && (goes_on || (*(*create.into).rel).relpersistence == PERMANENT)
        }
    })
}

/// The portal that runs what the client has sent, unless it has a name.
unsafe fn client<'a>() -> Option<&'a PortalData> {
    let client = raw::GetPortalByName(c"".as_ptr()).as_ref();
    client.filter(|client| client.status == pg_sys::PortalStatus::PORTAL_ACTIVE)
}

/// Whether a portal is a part of a statement that writes: Citus executes a WITH in a portal of its own, within that of the client, and hides it,
/// unlike those of loops and cursors of functions.
unsafe fn is_part_of_work(portal: &PortalData) -> bool {
    let Some(client) = client() else { return false };
    !ptr::eq(client, portal)
        && !portal.visible
        && nodes(client.stmts).iter().any(|&statement| writes_anywhere(&*statement.cast()))
}

/// Whether a plan gets all rows of a call. What changes or deletes rows may join them, and has nothing to do for others.
unsafe fn gets(plan: *mut Plan, call: *mut Node, statement: &PlannedStmt, may_join: bool) -> bool {
    // A condition.
    if !(*plan).qual.is_null() {
        return false;
    }
    let may_join = match (*plan).type_ {
        NodeTag::T_ModifyTable => !inserts(&*plan.cast()),
        _ => may_join,
    };
    let all = |input| gets(input, call, statement, may_join);
    let calls = match (*plan).type_ {
        // FOR UPDATE leaves out what it skips, or finds changed.
        NodeTag::T_Limit | NodeTag::T_SetOp | NodeTag::T_LockRows => return false,
        // A condition on a window function that stays false.
        NodeTag::T_WindowAgg if !(*plan.cast::<WindowAgg>()).runCondition.is_null() => return false,
        // Where a condition on the whole is false, no call is made; but that can ask for what a WITH has read.
        NodeTag::T_Result if !(*plan.cast::<pg_sys::Result>()).resconstantqual.is_null() => {
            let without_with = PlannedStmt { subplans: ptr::null_mut(), ..*statement };
            return inputs(plan).any(|input| gets(input, call, &without_with, may_join));
        }
        NodeTag::T_CteScan => {
            let number = (*plan.cast::<CteScan>()).ctePlanId as usize - 1;
            let table = nodes(statement.subplans).get(number);
            return table.is_some_and(|&table| !table.is_null() && all(table.cast()));
        }
        NodeTag::T_NestLoop | NodeTag::T_MergeJoin | NodeTag::T_HashJoin if !may_join => {
            let (left, right) = keeps(plan);
            return left && all((*plan).lefttree) || right && all((*plan).righttree);
        }
        NodeTag::T_FunctionScan => nodes((*plan.cast::<FunctionScan>()).functions)
            .iter()
            .any(|function| (*function.cast::<RangeTblFunction>()).funcexpr == call),
        NodeTag::T_ProjectSet => {
            let mut entries = nodes((*plan).targetlist).iter();
            let calls = entries.any(|entry| (*entry.cast::<TargetEntry>()).expr.cast() == call);
            // Otherwise it leaves out a row for which its functions return none.
            if calls || !may_join {
                return calls;
            }
            false
        }
        _ => false,
    };
    calls || inputs(plan).any(all)
}

/// Whether a statement inserts rows: also a MERGE, for which a row that finds none to change is not done.
unsafe fn inserts(work: &ModifyTable) -> bool {
    work.operation == CmdType::CMD_INSERT
        || nodes(work.mergeActionLists)
            .iter()
            .flat_map(|&actions| nodes(actions.cast()))
            .any(|&action| (*action.cast::<MergeAction>()).commandType == CmdType::CMD_INSERT)
}

/// Whether a join keeps all rows of its left side, and of its right side. An inner join does of the latter if it calls that for each row of the
/// other and has no condition.
unsafe fn keeps(plan: *mut Plan) -> (bool, bool) {
    let join = &*plan.cast::<Join>();
    match join.jointype {
        JoinType::JOIN_LEFT => (true, false),
        JoinType::JOIN_RIGHT => (false, true),
        JoinType::JOIN_FULL => (true, true),
        JoinType::JOIN_INNER if (*plan).type_ == NodeTag::T_NestLoop => {
            (false, join.joinqual.is_null() && !(*plan.cast::<NestLoop>()).nestParams.is_null())
        }
        _ => (false, false),
    }
}

/// The plans that a plan gets rows from.
unsafe fn inputs(plan: *mut Plan) -> impl Iterator<Item = *mut Plan> {
    let (list, one) = match (*plan).type_ {
        NodeTag::T_Append => ((*plan.cast::<Append>()).appendplans, ptr::null_mut()),
        NodeTag::T_MergeAppend => ((*plan.cast::<MergeAppend>()).mergeplans, ptr::null_mut()),
        NodeTag::T_CustomScan => ((*plan.cast::<CustomScan>()).custom_plans, ptr::null_mut()),
        NodeTag::T_SubqueryScan => (ptr::null_mut(), (*plan.cast::<SubqueryScan>()).subplan),
        _ => (ptr::null_mut(), ptr::null_mut()),
    };
    let (listed, others) = (nodes(list), [one, (*plan).lefttree, (*plan).righttree]);
    listed.iter().map(|plan| plan.cast()).chain(others).filter(|plan: &*mut Plan| !plan.is_null())
}
