//! The statement that calls: whether the rows of a feed stay in the database, where its position is stored with them.

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, CmdType, CommandTag, EState, FunctionCallInfo, NodeTag, PlannedStmt, ReturnSetInfo},
};

use crate::pg::{errors::Error, nodes::nodes, raw};

/// What is done with the rows of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// They go to a client: a plain SELECT, or COPY TO.
    Client,
    /// They go to nobody.
    Explain,
    /// They go to a materialized view, in place of those that it had.
    Refresh,
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
                return Self::Refresh;
            }
            let (Some((state, statement)), Some(portal)) = (state(fcinfo), pg_sys::ActivePortal.as_ref())
            else {
                return Self::Work;
            };
            // A loop of a function in PL/pgSQL has a portal, too.
            if statement.commandType != CmdType::CMD_SELECT || statement.hasModifyingCTE || is_in_spi() {
                return Self::Work;
            }
            match portal.commandTag {
                CommandTag::CMDTAG_EXPLAIN if state.es_instrument != 0 => Self::Explain,
                CommandTag::CMDTAG_COPY => Self::Client,
                _ if nodes(portal.stmts).contains(&state.es_plannedstmt.cast()) => Self::Client,
                _ => Self::Work,
            }
        }
    }

    /// Whether a transaction goes on with what it does with the rows.
    pub(super) fn goes_on(self) -> bool {
        // SAFETY: looks at this transaction.
        self == Self::Work || self == Self::Client && unsafe { raw::IsTransactionBlock() }
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
        let is_limited = unsafe { state(fcinfo) }.is_some_and(|(_, statement)| is_limited(statement));
        let (state, message, detail) = match self {
            Self::Refresh => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "sno_feed() cannot be used in a materialized view",
                "Each refresh throws away the rows that were read before.",
            ),
            Self::Explain => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "EXPLAIN ANALYZE cannot be used with sno_feed()",
                "The rows would count as read, and nobody would have them.",
            ),
            _ if is_limited => (
                SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
                "LIMIT cannot be used with sno_feed()",
                "Rows that it leaves out would count as read. The third argument says how many to read.",
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

/// Whether a LIMIT at the top of a statement, or of what it stores, leaves out rows.
fn is_limited(statement: &PlannedStmt) -> bool {
    // What a WITH writes does not depend on how much of it is read.
    if statement.hasModifyingCTE {
        return false;
    }
    // SAFETY: a plan.
    unsafe {
        let mut plan = statement.planTree;
        if (*plan).type_ == NodeTag::T_ModifyTable && !(*plan).lefttree.is_null() {
            plan = (*plan).lefttree;
        }
        (*plan).type_ == NodeTag::T_Limit
    }
}

/// Whether a function executes the statement, by SPI: there is no relation without a name, but without SPI that is another error.
fn is_in_spi() -> bool {
    // SAFETY: a name. It raises no error.
    unsafe { raw::SPI_unregister_relation(c"".as_ptr()) != pg_sys::SPI_ERROR_UNCONNECTED }
}
