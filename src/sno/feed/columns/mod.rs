//! Of a column of a table or view, what a feed must know before it is the key: three questions.
//!
//! | question | answered in |
//! |---|---|
//! | which column of which table does it show? | [`origin`]: `Shows` |
//! | what makes the rows of its view no feed? | [`faults`], [`windows`], [`changes`], [`nulls`]: each has its messages |
//! | which view lets rows in later than with their keys? | [`later`] |
//!
//! [`walk`] goes through the queries of views down to tables, by the numbers of columns, since their names change. What it finds of a column
//! is an [`Origin`](origin::Origin); at each query on its way back it asks these files, which ask it for the other columns of the query. [`query`]
//! has what is read of nodes alone.

mod query;

mod origin;

mod changes;
mod faults;
mod later;
mod nulls;
mod windows;

mod walk;

use pgrx::pg_sys::{Datum, Oid};

use crate::pg::{
    datum::varlena,
    fmgr::{Row, export},
};

export! { sno_origin }

/// `sno_origin(source regclass, number integer, waits boolean) → (relation regclass, number integer, view regclass, fault text, hint text,
/// passing regclass, by_table regclass, by_number integer)`: the column of a table that a column of a table or view shows in the end; nulls if it is an expression,
/// or one of several tables. And why a feed with this key would miss rows, or copies keep what it leaves out, and of which view; nulls if it
/// would not. At last a view whose condition can become true of a row later, if there is one, and by which column of a table; nulls if by what
/// the time is, who asks, or which other rows there are. With `waits` false, nulls as of an expression if somebody has locked a view.
fn sno_origin(source: i32, number: i32, waits: bool) -> Row<8> {
    let source = Oid::from(source as u32);
    // SAFETY: any role may call it, with anything: nothing is locked any longer than this takes.
    let origin = unsafe { walk::origin_of(source, i16::try_from(number).unwrap_or(0), waits) };
    let column = origin.shows.column();
    let fault = origin.rows.fault.or_else(|| origin.rows.can_be_null.then(|| nulls::NULLS.of(source)));
    let passing = origin.rows.passing;
    let by = passing.and_then(|passing| passing.by);
    [
        column.map(|column| Datum::from(column.table)).into(),
        column.map(|column| i32::from(column.number)).into(),
        fault.map(|fault| Datum::from(fault.view)).into(),
        fault.map(|fault| varlena(fault.kind.what)).into(),
        fault.map(|fault| varlena(fault.kind.hint)).into(),
        passing.map(|passing| Datum::from(passing.view)).into(),
        by.map(|by| Datum::from(by.table)).into(),
        by.map(|by| i32::from(by.number)).into(),
    ]
}
