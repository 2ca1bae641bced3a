//! Which kind of horizon counts for the rows of a source. A horizon speaks for the transactions of one server; rows that other servers commit
//! can come below it.

use std::cell::Cell;

use pgrx::pg_sys::{self, Datum, NameData, Oid};

use crate::{
    pg::backend_local::BackendLocal,
    sno::feed::{
        catalogs::changes,
        query::{Sees, query},
    },
};

/// Whose horizon it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HorizonKind {
    /// This server's.
    Own,
    /// That of all servers of a [scope](super::scope).
    Scope,
}

/// The sources for which this server's horizon counts, each with its key, and with the number of [`changes`] in catalogs at which that was
/// asked. Of two sources with one place in the table, the later one replaces the other.
// SAFETY: for a function, which SQL calls.
static OWN: BackendLocal<[Cell<(Oid, NameData, u64)>; 32]> =
    unsafe { BackendLocal::new([const { Cell::new((Oid::INVALID, NameData { data: [0; 64] }, 0)) }; 32]) };

/// Asks `sno_internal.check_source()`, which refuses rows that come from elsewhere. It is asked at each call, but not while nothing has changed
/// since it said that this server's horizon counts.
/// The key is a `name`.
pub(super) unsafe fn horizon_kind(source: Oid, key: Datum) -> HorizonKind {
    let name = *key.cast_mut_ptr::<NameData>();
    let known = &OWN[source.to_u32() as usize % OWN.len()];
    let changes = changes();
    let (of, with, at) = known.get();
    if !(changes == Some(at) && of == source && with.data == name.data) {
        // With a fresh snapshot: the one of the calling statement may be older than a change that was noticed before.
        let params = [(pg_sys::REGCLASSOID, Some(source.into())), (pg_sys::NAMEOID, Some(key))];
        let is_of_scope =
            query(c"SELECT sno_internal.check_source($1, $2)", params, Sees::Now).row(0).value(1);
        if is_of_scope.is_some_and(|is_of_scope| is_of_scope.value() as u8 != 0) {
            return HorizonKind::Scope;
        }
        known.set((source, name, changes.unwrap_or(0)));
    }
    HorizonKind::Own
}
