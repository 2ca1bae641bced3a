//! The ledger of feeds: how far each was read.
//!
//! Only this file, [`failures`](super::failures), [`manage`](super::manage) and `sno_lower_horizon()` change
//! `sno_internal.feed_positions` and `sno_internal.feed_failures`. Of roles, only the one that restores a dump has a right to. Each
//! statement of [`in_ledger`] runs as the owner of these tables; whether it may run is decided before, by the rights of the calling role.

use std::ffi::{CStr, c_char, c_int};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, ItemPointerData, NameData, Oid},
};
use sno_core::{Sno, server::record::LoweringNumber};

use crate::{
    pg::{
        datum::{Argument as _, Timestamp},
        errors::{Error, printable, raise},
        raw,
        rights::{as_role, owner_of},
    },
    sno::{
        feed::{
            newest,
            query::{Param, Row, Rows, Sees, query},
        },
        horizon::reader::last_lowering,
    },
};

// Statements on the version of a feed's row that was found: an index would lead to all of them.

/// Locks a feed, unless another transaction has locked it.
const LOCK_IF_FREE: &CStr = c"SELECT FROM sno_internal.feed_positions p
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 FOR NO KEY UPDATE SKIP LOCKED";

/// Locks a feed that is where it was found.
const LOCK: &CStr = c"SELECT FROM sno_internal.feed_positions p
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 AND p.moved OPERATOR(pg_catalog.=) $4
    AND (p.position OPERATOR(pg_catalog.=) $5 OR p.position IS NULL AND $5 IS NULL) FOR NO KEY UPDATE";

/// Moves a feed that is where it was found.
const MOVE: &CStr = c"UPDATE sno_internal.feed_positions p SET moved = $6, position = $7, lowering = $8,
    careful_until = CASE WHEN p.careful_until OPERATOR(pg_catalog.>) $7 THEN p.careful_until END
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 AND p.moved OPERATOR(pg_catalog.=) $4
    AND (p.position OPERATOR(pg_catalog.=) $5 OR p.position IS NULL AND $5 IS NULL)";

/// Notes the servers whose horizons a feed is below, if it is where it was found.
const NOTE_SERVERS: &CStr = c"UPDATE sno_internal.feed_positions p SET servers = $6
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 AND p.moved OPERATOR(pg_catalog.=) $4
    AND (p.position OPERATOR(pg_catalog.=) $5 OR p.position IS NULL AND $5 IS NULL)";

const FORGET_FAILURES: &CStr = c"DELETE FROM sno_internal.feed_failures f
WHERE f.feed OPERATOR(pg_catalog.=) $1 AND f.owner OPERATOR(pg_catalog.=) $2";

/// A source of which a restore has the name.
pub(super) const TO_REGCLASS: &CStr = c"SELECT pg_catalog.to_regclass($1)";

/// A feed: a row of the table, whose values live until `SPI_finish`.
#[derive(Clone, Copy)]
pub(super) struct Feed {
    /// The name that was given.
    pub(super) name: Datum,
    pub(super) owner: Datum,
    /// Not valid, if a restore has not found it.
    pub(super) source: Oid,
    pub(super) source_name: Option<Datum>,
    pub(super) key: Datum,
    /// The number of the key's column, if the source has it.
    pub(super) key_number: Option<i16>,
    pub(super) margin: Datum,
    pub(super) position: Option<Datum>,
    /// The type of IDs.
    pub(super) id_type: Oid,
    /// When the position was stored.
    pub(super) moved: Datum,
    /// Up to which ID a peek returns its rows one by one, since one of them has failed.
    careful_until: Option<Datum>,
    /// The transaction that has stored this version of the row, and its place.
    writer: u32,
    place: ItemPointerData,
    /// The last lowering of the horizons before its position was computed.
    pub(super) lowering: LoweringNumber,
    /// The last one before the feed was found.
    pub(super) last_lowering: LoweringNumber,
    /// The servers whose horizons the position is below, as the scope of its rows has said.
    pub(super) servers: Option<Datum>,
    /// The owner of another feed of this name, with another source, which the role may use, too.
    pub(super) other: Option<Datum>,
}

/// Executes a statement on the ledger, as the owner of its tables. It calls nothing of a user's.
pub(super) unsafe fn in_ledger<const N: usize>(text: &CStr, params: [Param; N], sees: Sees) -> Rows {
    let schema = raw::get_namespace_oid(c"sno_internal".as_ptr(), false);
    let table = raw::get_relname_relid(c"feed_positions".as_ptr(), schema);
    as_role(owner_of(table), || query(text, params, sees))
}

/// The number of a lowering, as a parameter.
pub(super) fn bigint(lowering: LoweringNumber) -> Param {
    (pg_sys::INT8OID, Some(Datum::from(lowering.to_bigint())))
}

/// An OID, as an argument or a column.
pub(super) fn oid(datum: Datum) -> Oid {
    Oid::from(datum.value() as u32)
}

/// Both are a `name`.
pub(super) unsafe fn is_same_name(a: Datum, b: Datum) -> bool {
    (*a.cast_mut_ptr::<NameData>()).data == (*b.cast_mut_ptr::<NameData>()).data
}

/// A text that PostgreSQL has allocated, as messages show it.
pub(super) unsafe fn text(text: *const c_char) -> String {
    printable(CStr::from_ptr(text).to_bytes()).into_owned()
}

impl Feed {
    /// The name is a text, and the row one of the table.
    pub(super) unsafe fn of(name: Datum, row: Row) -> Self {
        let value = |column: c_int| row.value(column).unwrap_or(Datum::null());
        let source_name = row.value(4);
        let by_name = || in_ledger(TO_REGCLASS, [(pg_sys::TEXTOID, source_name)], Sees::Now).row(0).value(1);
        Self {
            name,
            owner: value(newest::OWNER.into()),
            source: row.value(1).or_else(by_name).map_or(Oid::INVALID, oid),
            source_name,
            key: value(5),
            margin: value(6),
            position: row.value(7),
            id_type: row.type_of(7),
            moved: value(8),
            careful_until: row.value(9),
            writer: value(pg_sys::MinTransactionIdAttributeNumber).value() as u32,
            place: row.place(),
            lowering: LoweringNumber::from_bigint(value(10).value() as i64),
            // Before its horizon is read.
            last_lowering: last_lowering(),
            servers: row.value(12),
            other: None,
            key_number: row.value(11).map(|number| number.value() as i16),
        }
    }

    pub(super) fn position(self) -> Option<Sno> {
        // SAFETY: an ID.
        self.position.map(|position| unsafe { Sno::from_datum(position) })
    }

    /// Up to which ID a peek returns its rows one by one.
    pub(super) fn careful_until(self) -> Option<Sno> {
        // SAFETY: an ID.
        self.careful_until.map(|id| unsafe { Sno::from_datum(id) }).filter(|&id| Some(id) > self.position())
    }

    /// Whether this transaction, or one of its subtransactions, has moved it to where it is.
    pub(super) fn was_moved_by_this(self) -> bool {
        // SAFETY: looks at this transaction.
        unsafe { raw::TransactionIdIsCurrentTransactionId(self.writer) }
    }

    /// The key of its row.
    pub(super) fn names(self) -> [Param; 2] {
        [(pg_sys::TEXTOID, Some(self.name)), (pg_sys::NAMEOID, Some(self.owner))]
    }

    /// Where it was found: when it had come there, and its position.
    fn found(self) -> [Param; 2] {
        [(pg_sys::TIMESTAMPTZOID, Some(self.moved)), (self.id_type, self.position)]
    }

    /// Executes a statement on its row, with parameters of which one is the row's place, and returns whether that was as it was found, but for
    /// what does not move it. If the row has another version by now, on that.
    unsafe fn execute<const N: usize>(self, text: &CStr, params: impl Fn(Param) -> [Param; N]) -> bool {
        let is_done = |mut place: ItemPointerData| {
            let place = (pg_sys::TIDOID, Some(Datum::from(&raw mut place)));
            in_ledger(text, params(place), Sees::Now).count > 0
        };
        is_done(self.place) || self.other_version().is_some_and(is_done)
    }

    /// The place of another version that its row has by now.
    unsafe fn other_version(self) -> Option<ItemPointerData> {
        let is_it =
            |row: &Row| row.value(newest::OWNER.into()).is_some_and(|owner| is_same_name(owner, self.owner));
        let place = newest::rows(self.name, Sees::Now).find(is_it)?.place();
        (raw::ItemPointerCompare(&raw const self.place, &raw const place) != 0).then_some(place)
    }

    /// Locks it until the transaction ends, and returns whether it is still where it was found.
    pub(super) unsafe fn lock(self) -> bool {
        let ([name, owner], [moved, position]) = (self.names(), self.found());
        self.execute(LOCK, |place| [name, owner, place, moved, position])
    }

    /// Locks it if no other transaction has locked it, and returns whether it did; also if the feed was moved since it was found.
    pub(super) unsafe fn lock_if_free(self) -> bool {
        let [name, owner] = self.names();
        self.execute(LOCK_IF_FREE, |place| [name, owner, place])
    }

    /// Moves it forward from where it was found, and returns whether it was still there.
    pub(super) unsafe fn go_on_to(self, last: Sno) -> bool {
        self.go_to(last, self.position().is_none_or(|position| position <= last))
    }

    /// The same for a feed that goes back, since the horizons were lowered.
    pub(super) unsafe fn go_back_to(self, last: Sno) -> bool {
        self.go_to(last, self.position().is_none_or(|position| position >= last))
    }

    unsafe fn go_to(self, mut last: Sno, is_right_way: bool) -> bool {
        if !is_right_way {
            raise(|| astray(self.name, last));
        }
        // The time is another one than before, so that LOCK and MOVE notice a feed that was moved away and back.
        let (now, before) = (Timestamp::now().0, self.moved.value() as i64);
        let now = if now == before { now + 1 } else { now };
        let ([name, owner], [moved, position]) = (self.names(), self.found());
        let now = (pg_sys::TIMESTAMPTZOID, Some(Datum::from(now)));
        let to = (self.id_type, Some((&raw mut last).into()));
        let lowering = bigint(self.last_lowering);
        let is_moved = self.execute(MOVE, |place| [name, owner, place, moved, position, now, to, lowering]);
        if is_moved && self.careful_until().is_some_and(|until| until <= last) {
            self.forget_failures();
        }
        is_moved
    }

    /// Notes the servers whose horizons it is below, and returns whether it is still where it was found. If another transaction has locked it,
    /// which may move it, that is not waited for.
    ///
    /// # Safety
    ///
    /// `servers` is a text.
    pub(super) unsafe fn note_servers(self, servers: Datum) -> bool {
        let ([name, owner], [moved, position]) = (self.names(), self.found());
        let servers = (pg_sys::TEXTOID, Some(servers));
        self.lock_if_free()
            && self.execute(NOTE_SERVERS, |place| [name, owner, place, moved, position, servers])
    }

    pub(super) unsafe fn forget_failures(self) {
        in_ledger(FORGET_FAILURES, self.names(), Sees::Now);
    }
}

/// A feed's name. Inside the guard, as all of these.
pub(super) fn shown(name: Datum) -> String {
    // SAFETY: a text.
    unsafe { text(pg_sys::text_to_cstring(name.cast_mut_ptr())) }
}

pub(super) fn role(name: Datum) -> String {
    // SAFETY: a name.
    unsafe { text(name.cast_mut_ptr()) }
}

pub(super) fn null_argument(what: &str) -> Error {
    Error::new(SqlState::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{what} must not be null"))
}

/// A mistake of this library.
fn astray(name: Datum, last: Sno) -> Error {
    let message = format!("feed \"{}\" would go to \"{last}\"", shown(name));
    Error::new(SqlState::ERRCODE_INTERNAL_ERROR, message)
}
