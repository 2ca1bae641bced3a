//! The statement that calls: whether the rows of a feed stay in the database, where its position is stored with them.

use std::{ffi::c_int, iter, ptr};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{
        self, Append, CmdType, CommandTag, CteScan, CustomScan, EState, FunctionCallInfo, FunctionScan,
        MergeAppend, Node, NodeTag, Plan, PlannedStmt, RangeTblFunction, ReturnSetInfo, SubLinkType, SubPlan,
        SubqueryScan, TargetEntry,
    },
};

use crate::pg::{errors::Error, nodes::nodes, raw};

/// What is done with the rows of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// They go to a client: a plain SELECT, or COPY TO.
    Client,
    /// They go to a client, when the transaction has ended: a cursor WITH HOLD.
    Held,
    /// They go to nobody.
    Explain,
    /// They go to what can be thrown away: a materialized view, in place of those that it had, or the entry of an index.
    Restricted,
    /// Something in the database: the statement writes, or is that of a function.
    Work,
}

/// The statement of a call for a set.
unsafe fn state<'a>(fcinfo: FunctionCallInfo) -> Option<(&'a EState, &'a PlannedStmt)> {
    // SAFETY: as promised by the caller.
    unsafe {
        let set = (*fcinfo).resultinfo.cast::<ReturnSetInfo>().as_ref()?;
        let state = set.econtext.as_ref()?.ecxt_estate.as_ref()?;
        Some((state, state.es_plannedstmt.as_ref()?))
    }
}

impl Use {
    /// Of a call for a set.
    ///
    /// # Safety
    /// A call that a statement makes, before `SPI_connect`.
    pub(super) unsafe fn of(fcinfo: FunctionCallInfo) -> Self {
        // SAFETY: a call, and the portal that runs. Those of EXPLAIN and COPY have another statement than the one that calls.
        unsafe {
            if raw::InSecurityRestrictedOperation() {
                return Self::Restricted;
            }
            let (Some((state, statement)), Some(portal)) = (state(fcinfo), pg_sys::ActivePortal.as_ref())
            else {
                return Self::Work;
            };
            // A loop of a function in PL/pgSQL has a portal, too.
            if statement.commandType != CmdType::CMD_SELECT
                || statement.hasModifyingCTE && Plans(statement).store_rows_of((*(*fcinfo).flinfo).fn_expr)
                || is_in_spi()
            {
                return Self::Work;
            }
            match portal.commandTag {
                CommandTag::CMDTAG_EXPLAIN if state.es_instrument != 0 => Self::Explain,
                CommandTag::CMDTAG_COPY => Self::Client,
                // CREATE TABLE … AS EXECUTE has a portal for the prepared statement.
                _ if is_stored(portal) || is_part_of_work(portal) => Self::Work,
                _ if !nodes(portal.stmts).contains(&state.es_plannedstmt.cast()) => Self::Work,
                _ if portal.cursorOptions & pg_sys::CURSOR_OPT_HOLD as c_int != 0 => Self::Held,
                _ => Self::Client,
            }
        }
    }

    /// Whether a transaction goes on with what it does with the rows.
    pub(super) fn goes_on(self) -> bool {
        // SAFETY: looks at this transaction.
        self == Self::Work
            || matches!(self, Self::Client | Self::Held) && unsafe { raw::IsTransactionBlock() }
    }

    /// Why rows would be lost if the call moved the feed. `instead` is a call that does not.
    ///
    /// # Safety
    /// The same call.
    pub(super) unsafe fn check(
        self,
        fcinfo: FunctionCallInfo,
        instead: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        // SAFETY: as promised by the caller.
        let is_limited = unsafe {
            let call = (*(*fcinfo).flinfo).fn_expr;
            state(fcinfo).is_some_and(|(_, statement)| Plans(statement).leave_out_rows_of(call))
        };
        let (state, message, detail) = match self {
            Self::Restricted => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "sno_feed() cannot be used within security-restricted operation",
                "What it returns there can be thrown away, as each refresh of a materialized view does.",
            ),
            Self::Explain => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "EXPLAIN ANALYZE cannot be used with sno_feed()",
                "The rows would count as read, and nobody would have them.",
            ),
            _ if is_limited => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "LIMIT and EXISTS cannot be used with sno_feed()",
                "Rows that they leave out would count as read. The third argument says how many to read.",
            ),
            Self::Held => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "sno_feed() cannot be used in a cursor WITH HOLD",
                "The rows would count as read before the client has handled them.",
            ),
            Self::Client if !self.goes_on() => (
                SqlState::ERRCODE_NO_ACTIVE_SQL_TRANSACTION,
                "sno_feed() can only be used in transaction blocks, or in a statement that stores its rows",
                "The rows would count as read before the client has handled them.",
            ),
            _ => return Ok(()),
        };
        let hint = format!(
            "Use {}, and then sno_advance_feed() with the ID of the last row that is done.",
            instead()
        );
        Err(Error::new(state, message).detail(detail).hint(hint))
    }
}

/// Whether a portal that runs is a part of a statement that writes: Citus executes a WITH in a portal of its own, within
/// that of the client.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn is_part_of_work(portal: &pg_sys::PortalData) -> bool {
    // SAFETY: the client's portal, which has no name, and its statements.
    unsafe {
        let Some(client) = raw::GetPortalByName(c"".as_ptr()).as_ref() else { return false };
        let writes = |statement: &PlannedStmt| {
            !matches!(statement.commandType, CmdType::CMD_SELECT | CmdType::CMD_UTILITY)
                || statement.hasModifyingCTE
        };
        !ptr::eq(client, portal)
            && client.status == pg_sys::PortalStatus::PORTAL_ACTIVE
            && nodes(client.stmts).iter().any(|&statement| writes(&*statement.cast()))
    }
}

/// Whether the rows of a portal go to a new table.
unsafe fn is_stored(portal: &pg_sys::PortalData) -> bool {
    // SAFETY: a portal that runs, and what it runs.
    unsafe {
        let dest = portal.queryDesc.as_ref().and_then(|query| query.dest.as_ref());
        dest.is_some_and(|dest| dest.mydest == pg_sys::CommandDest::DestIntoRel)
    }
}

/// The plans of a statement: that of its own, and those of its WITH and of subqueries.
#[derive(Clone, Copy)]
struct Plans<'a>(&'a PlannedStmt);

impl Plans<'_> {
    /// With their numbers; that of the statement is 0.
    fn all(self) -> impl Iterator<Item = (c_int, *mut Plan)> {
        // SAFETY: a list of plans.
        let others = unsafe { nodes(self.0.subplans) };
        let all = iter::once(self.0.planTree).chain(others.iter().map(|plan| plan.cast()));
        (0..).zip(all).filter(|(_, plan)| !plan.is_null())
    }

    /// Whether a WITH that writes gets the rows of a call.
    fn store_rows_of(self, call: *mut Node) -> bool {
        // SAFETY: plans.
        self.store(|plan| unsafe { calls(plan, call) })
    }

    /// The same of the rows of a node. Who reads a subquery that is no WITH, is not looked for: it counts.
    fn store(self, is_it: impl Fn(*mut Plan) -> bool + Copy) -> bool {
        // SAFETY: plans.
        unsafe {
            let is_scanned = |number| self.all().any(|(_, plan)| is_limited(plan, &scans(number)).is_some());
            self.all().any(|(number, plan)| {
                is_limited(plan, is_it).is_some()
                    && ((*plan).type_ == NodeTag::T_ModifyTable
                        || number > 0 && (!is_scanned(number) || self.store(&scans(number))))
            })
        }
    }

    /// Whether a LIMIT or an EXISTS leaves out rows of a call, so that nothing else in the statement gets them either.
    fn leave_out_rows_of(self, call: *mut Node) -> bool {
        // SAFETY: plans.
        self.leave_out(|plan| unsafe { calls(plan, call) })
    }

    /// The same of the rows of a node: it is below a LIMIT wherever it is.
    fn leave_out(self, is_it: impl Fn(*mut Plan) -> bool + Copy) -> bool {
        // SAFETY: as above. What a WITH writes does not depend on how much of it is read.
        let found = self.all().filter_map(|(number, plan)| unsafe {
            let writes = (*plan).type_ == NodeTag::T_ModifyTable;
            is_limited(plan, is_it).map(|is_limited| is_limited || !writes && self.leave_out_subplan(number))
        });
        found.reduce(|a, b| a && b).unwrap_or(false)
    }

    /// The same of a WITH or a subquery, by its number.
    fn leave_out_subplan(self, number: c_int) -> bool {
        if number == 0 {
            return false;
        }
        // SAFETY: plans.
        unsafe { self.all().any(|(_, plan)| exists(plan, number)) || self.leave_out(&scans(number)) }
    }
}

/// What reads the rows of a WITH.
fn scans(number: c_int) -> impl Fn(*mut Plan) -> bool {
    // SAFETY: a node of the type that its tag says.
    move |plan| unsafe {
        (*plan).type_ == NodeTag::T_CteScan && (*plan.cast::<CteScan>()).ctePlanId == number
    }
}

/// The plans that a plan gets rows from.
unsafe fn inputs(plan: *mut Plan) -> impl Iterator<Item = *mut Plan> {
    // SAFETY: nodes of the types that their tags say.
    let (list, one) = unsafe {
        match (*plan).type_ {
            NodeTag::T_Append => ((*plan.cast::<Append>()).appendplans, ptr::null_mut()),
            NodeTag::T_MergeAppend => ((*plan.cast::<MergeAppend>()).mergeplans, ptr::null_mut()),
            NodeTag::T_CustomScan => ((*plan.cast::<CustomScan>()).custom_plans, ptr::null_mut()),
            NodeTag::T_SubqueryScan => (ptr::null_mut(), (*plan.cast::<SubqueryScan>()).subplan),
            _ => (ptr::null_mut(), ptr::null_mut()),
        }
    };
    // SAFETY: a list of plans.
    let (listed, others) = unsafe { (nodes(list), [one, (*plan).lefttree, (*plan).righttree]) };
    listed.iter().map(|plan| plan.cast()).chain(others).filter(|plan: &*mut Plan| !plan.is_null())
}

/// Whether all ways from a plan to a node lead through a LIMIT; nothing if there is none.
unsafe fn is_limited(plan: *mut Plan, is_it: impl Fn(*mut Plan) -> bool + Copy) -> Option<bool> {
    if is_it(plan) {
        return Some(false);
    }
    // SAFETY: plans.
    unsafe {
        let below = inputs(plan).filter_map(|input| is_limited(input, is_it)).reduce(|a, b| a && b)?;
        Some(below || (*plan).type_ == NodeTag::T_Limit)
    }
}

/// Whether a plan asks a subquery for its first row alone.
unsafe fn exists(plan: *mut Plan, number: c_int) -> bool {
    // SAFETY: a list of these nodes, and plans.
    unsafe {
        let asks = |subplan: &*mut Node| {
            let subplan = &*subplan.cast::<SubPlan>();
            subplan.plan_id == number && subplan.subLinkType == SubLinkType::EXISTS_SUBLINK
        };
        nodes((*plan).initPlan).iter().any(asks) || inputs(plan).any(|input| exists(input, number))
    }
}

/// Whether a plan makes a call.
unsafe fn calls(plan: *mut Plan, call: *mut Node) -> bool {
    // SAFETY: nodes of the types that their tags say.
    unsafe {
        match (*plan).type_ {
            NodeTag::T_FunctionScan => nodes((*plan.cast::<FunctionScan>()).functions)
                .iter()
                .any(|function| (*function.cast::<RangeTblFunction>()).funcexpr == call),
            NodeTag::T_ProjectSet => nodes((*plan).targetlist)
                .iter()
                .any(|entry| (*entry.cast::<TargetEntry>()).expr.cast() == call),
            _ => false,
        }
    }
}

/// Whether a function executes the statement, by SPI: there is no relation without a name, but without SPI that is another error.
fn is_in_spi() -> bool {
    // SAFETY: a name. It raises no error.
    unsafe { raw::SPI_unregister_relation(c"".as_ptr()) != pg_sys::SPI_ERROR_UNCONNECTED }
}
