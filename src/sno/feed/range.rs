//! The query of a source's rows between two IDs.

use std::{
    ffi::{CStr, c_char, c_int},
    ptr, slice,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, Oid, ParamExternData, SPIExecuteOptions, SPIPlanPtr},
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::Argument as _,
        errors::{Error, guard},
        raw, spi,
    },
    sno::feed::{
        ledger::text,
        plans::plan,
        query::{Sees, execute, with_off},
        source::Source,
    },
};

/// What is off while a source is read: a scan of an index in the order of the keys reads only the batch, but with bad statistics the planner
/// would read and sort all rows that are left; and rows that row security hides would count as read.
const SETTINGS: &[&CStr] = &[c"enable_sort", c"jit", c"row_security"];

/// The query of a source's rows between two IDs, in their order, the first inclusive and the second exclusive.
#[derive(Clone, Copy)]
pub(super) struct Range {
    plan: SPIPlanPtr,
    id_type: Oid,
}

impl Range {
    pub(super) unsafe fn of(source: Source, id_type: Oid, is_custom: bool) -> Self {
        let text = raw::psprintf(
            c"SELECT * FROM %s WHERE %s OPERATOR(pg_catalog.>=) $1 AND %s OPERATOR(pg_catalog.<) $2 \
              ORDER BY %s USING OPERATOR(pg_catalog.<)"
                .as_ptr(),
            source.quoted,
            source.key,
            source.key,
            source.key,
        );
        Self { plan: plan(text, &[id_type; 2], is_custom), id_type }
    }

    /// The ID of the `count`th row of a source between two IDs, planned with their values: of distributed tables, all rows would be fetched
    /// otherwise, however few are wanted.
    pub(super) unsafe fn nth(
        source: Source,
        id_type: Oid,
        count: usize,
        [from, below]: [Sno; 2],
        sees: Sees,
    ) -> Option<Sno> {
        let text = raw::psprintf(
            c"SELECT %s FROM %s WHERE %s OPERATOR(pg_catalog.>=) $1 AND %s OPERATOR(pg_catalog.<) $2 \
              ORDER BY %s USING OPERATOR(pg_catalog.<) OFFSET %d LIMIT 1"
                .as_ptr(),
            source.key,
            source.quoted,
            source.key,
            source.key,
            source.key,
            count as c_int - 1,
        );
        let mut ids = [from, below];
        let params = ids.each_mut().map(|id| (id_type, Some(ptr::from_mut(id).into())));
        let mut rows = None;
        with_off(&[c"row_security"], || rows = Some(execute(text, params, sees, true)));
        let rows = rows.filter(|rows| rows.count > 0)?;
        check_type(rows.row(0).type_of(1), id_type, source.key);
        rows.row(0).value(1).map(|id| Sno::from_datum(id))
    }

    /// Hands the rows to a receiver, as they are under the snapshot of the calling statement or a fresh one.
    /// A receiver begins with a `DestReceiver`.
    pub(super) unsafe fn read<R>(self, mut from: Sno, mut below: Sno, receiver: &mut R, sees: Sees) {
        let values: [Datum; 2] = [(&raw mut from).into(), (&raw mut below).into()];
        let params = raw::makeParamList(values.len() as _);
        for (number, value) in values.into_iter().enumerate() {
            let pflags = pg_sys::PARAM_FLAG_CONST as _;
            let param = ParamExternData { value, isnull: false, pflags, ptype: self.id_type };
            (*params).params.as_mut_ptr().add(number).write(param);
        }
        let dest = ptr::from_mut(receiver).cast();
        let options =
            SPIExecuteOptions { params, read_only: sees == Sees::Statement, dest, ..Default::default() };
        with_off(SETTINGS, || spi::execute_plan_into(self.plan, &options));
    }
}

/// Whether a transaction has ended since the snapshot of the calling statement was taken.
/// In a statement.
pub(super) unsafe fn snapshot_has_changed() -> bool {
    // Nothing is kept of the snapshots.
    let (a, b) = (&*raw::GetActiveSnapshot(), &*raw::GetTransactionSnapshot());
    let open = |s: &pg_sys::SnapshotData| (s.xcnt > 0).then(|| slice::from_raw_parts(s.xip, s.xcnt as usize));
    (a.xmin, a.xmax, open(a)) != (b.xmin, b.xmax, open(b))
}

/// That the key is an ID: an ALTER TABLE can have made it a time, which is compared with IDs, too.
pub(super) unsafe fn check_type(type_: Oid, id_type: Oid, key: *const c_char) {
    if type_ == Oid::INVALID || raw::getBaseType(type_) != id_type {
        guard(|| -> Result<(), Error> {
            let message = format!("key of the feed's source has another type: \"{}\"", text(key));
            Err(Error::new(SqlState::ERRCODE_DATATYPE_MISMATCH, message)
                .detail("It is no longer a column of type sno."))
        });
    }
}
