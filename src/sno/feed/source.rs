//! The source of a feed, a table or a view of changes, by its present names.

use std::{
    ffi::{CStr, c_char},
    ptr,
};

use pgrx::pg_sys::{self, Datum, Oid};
use sno_core::Sno;

use crate::{
    pg::{errors::raise, raw, wait::raw_point},
    sno::feed::{
        ledger::Feed,
        query::{Sees, execute},
    },
};

/// The source of a feed, while it has this name.
#[derive(Clone, Copy)]
pub(super) struct Source {
    oid: Oid,
    schema: Oid,
    schema_name: *const c_char,
    name: *const c_char,
    /// With its schema, and in quotes if it needs them, as the key.
    pub(super) quoted: *const c_char,
    pub(super) key: *const c_char,
    key_number: Option<i16>,
    key_name: *const c_char,
}

impl Feed {
    /// Where its rows are, by the names that this session knows now. So it is asked after the horizon, with which the session has learned
    /// what others have renamed.
    pub(super) unsafe fn source(self) -> Source {
        let (oid, name) = (self.source, raw::get_rel_name(self.source));
        if name.is_null() {
            raise(|| self.no_source());
        }
        let schema = raw::get_rel_namespace(oid);
        let schema_name = raw::get_namespace_name(schema);
        let quoted = raw::quote_qualified_identifier(schema_name, name);
        let key_name = self.key.cast_mut_ptr();
        let key = raw::quote_identifier(key_name);
        let source =
            Source { oid, schema, schema_name, name, quoted, key, key_number: self.key_number, key_name };
        if !source.has_key() {
            raise(|| self.other_key());
        }
        raw_point(c"source named");
        source
    }
}

impl Source {
    /// Whether its key still has the name by which it is queried.
    unsafe fn has_key(self) -> bool {
        let present = raw::get_attnum(self.oid, self.key_name);
        self.key_number.is_none_or(|number| number == present)
    }

    /// Whether it has a row after one ID, and up to another, in one of some partitions.
    pub(super) unsafe fn has_row(self, mut ids: [Sno; 2], id_type: Oid, partitions: Datum) -> bool {
        let text = raw::psprintf(
            c"SELECT 1 FROM %s WHERE %s OPERATOR(pg_catalog.>) $1 AND %s OPERATOR(pg_catalog.<=) $2 \
              AND $3 OPERATOR(pg_catalog.@>) sno_internal.sno_partition(%s) LIMIT 1"
                .as_ptr(),
            self.quoted,
            self.key,
            self.key,
            self.key,
        );
        let [after, upto] = ids.each_mut().map(|id| (id_type, Some(ptr::from_mut(id).into())));
        execute(text, [after, upto, (pg_sys::INT4MULTIRANGEOID, Some(partitions))], Sees::Now, true).count > 0
    }

    /// Whether it still has its name, and its key, too. After a query by these names, which has locked what it read, this says that it was
    /// read. Its schema has no lock.
    pub(super) unsafe fn is_there(self) -> bool {
        let schema_name = raw::get_namespace_name(self.schema);
        !schema_name.is_null()
            && CStr::from_ptr(schema_name) == CStr::from_ptr(self.schema_name)
            && raw::get_relname_relid(self.name, self.schema) == self.oid
            && self.has_key()
    }
}
