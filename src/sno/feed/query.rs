//! Queries of the extension's own, by SPI.

use std::{
    ffi::{CStr, c_char, c_int},
    mem::needs_drop,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, HeapTuple, ItemPointerData, Oid, TupleDesc},
};

use crate::{
    pg::{
        errors::{Error, raise},
        raw, spi,
    },
    sno::feed::plans::plan,
};

/// Which rows a query sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sees {
    /// Those that the calling statement sees: a snapshot of before the call.
    Statement,
    /// All that is committed by now: a new snapshot.
    Now,
}

/// A parameter of a query: its type, and its value unless it is null.
pub(super) type Param = (Oid, Option<Datum>);

/// Executes a query with a plan that is kept.
pub(super) unsafe fn query<const N: usize>(text: &CStr, params: [Param; N], sees: Sees) -> Rows {
    execute(text.as_ptr(), params, sees, false)
}

/// The same, planned with the values of the parameters if `is_custom`.
pub(super) unsafe fn execute<const N: usize>(
    text: *const c_char,
    params: [Param; N],
    sees: Sees,
    is_custom: bool,
) -> Rows {
    let mut values = params.map(|(_, value)| value.unwrap_or(Datum::null()));
    let nulls = params.map(|(_, value)| if value.is_some() { b' ' } else { b'n' });
    let plan = plan(text, &params.map(|(type_, _)| type_), is_custom);
    spi::execute_plan(plan, values.as_mut_ptr(), nulls.as_ptr().cast::<c_char>(), sees == Sees::Statement);
    Rows { count: pg_sys::SPI_processed as usize, table: pg_sys::SPI_tuptable }
}

/// Executes queries with some settings off. Those of row security fail where it would hide rows of what they read.
pub(super) unsafe fn with_off<F: FnOnce()>(settings: &[&CStr], call: F) {
    // What it captures is not dropped by an error.
    const { assert!(!needs_drop::<F>()) };
    // After an error PostgreSQL resets the settings.
    let level = raw::NewGUCNestLevel();
    for setting in settings {
        raw::set_config_option(
            setting.as_ptr(),
            c"off".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
    call();
    raw::AtEOXact_GUC(true, level);
}

/// The rows of a query.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) count: usize,
    table: *const pg_sys::SPITupleTable,
}

impl Rows {
    /// One of them, which lives until `SPI_finish`.
    pub(super) unsafe fn row(self, number: usize) -> Row {
        if self.table.as_ref().is_none_or(|table| number as u64 >= table.numvals) {
            raise(|| no_row(number));
        }
        Row { row: *(*self.table).vals.add(number), columns: (*self.table).tupdesc }
    }
}

/// A mistake of this library.
fn no_row(number: usize) -> Error {
    let message = format!("SPI_execute_plan failed: no row {number}");
    Error::new(SqlState::ERRCODE_INTERNAL_ERROR, message)
}

/// A row of a query, or of a table.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) row: HeapTuple,
    pub(super) columns: TupleDesc,
}

impl Row {
    /// The value of a column, counted from one.
    pub(super) unsafe fn value(self, column: c_int) -> Option<Datum> {
        spi::value(self.row, self.columns, column)
    }

    /// Its place in the table, if it has come from one.
    pub(super) unsafe fn place(self) -> ItemPointerData {
        (*self.row).t_self
    }

    /// The type of a column.
    pub(super) unsafe fn type_of(self, column: c_int) -> Oid {
        raw::SPI_gettypeid(self.columns, column)
    }
}
