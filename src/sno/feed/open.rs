//! The opening: the feed that a name means, and whether and how far its rows can be read.

use std::{
    cell::RefCell,
    ffi::{CStr, c_char},
    ptr,
    time::Duration,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, Oid},
};
use sno_core::Sno;

use crate::{
    pg::{
        backend_local::BackendLocal,
        datum::{Argument as _, Interval, Timestamp},
        errors::{Error, guard},
        raw,
        server::monotonic,
    },
    sno::{
        feed::{
            ledger::{Feed, shown, text},
            query::{execute, query},
            whose::{Whose, whose_horizon},
        },
        horizon::reader::{self, first_id, goes_on_after},
    },
};

/// How old a stored position gets while a feed is read without rows, in microseconds.
const IDLE: i64 = 10_000_000;

/// The horizon of a scope, for a margin, a position and the servers that are known, and the least that there can be: the tick after the position,
/// since that was below an earlier horizon.
const HORIZON_OF_SCOPE: &CStr = c"SELECT s.horizon, sno_internal.sno_first($2::pg_catalog.timestamptz, true), s.servers, s.since, s.partitions,
    s.servers OPERATOR(pg_catalog.=) $3
FROM sno_internal.sno_scope_horizon($1, $2, $3) s";

/// The last horizon of a scope that this session was told. A horizon remains true, so for a moment it serves all calls of the session.
struct Told {
    at: Duration,
    horizon: Sno,
    /// For which margin, by which servers, and when the horizons had been lowered last.
    margin: Option<i64>,
    servers: String,
    lowered: u64,
}

/// For how long.
const MOMENT: Duration = Duration::from_millis(50);

// SAFETY: for functions that SQL calls.
static TOLD: BackendLocal<RefCell<Option<Told>>> = unsafe { BackendLocal::new(RefCell::new(None)) };

/// How far a feed can be read.
#[derive(Clone, Copy)]
pub(super) enum Horizon {
    /// Below this ID.
    UpTo(Sno),
    /// Not now: it has to go on after this ID, which is before its position.
    GoesBack(Sno),
}

/// The table or view of a feed, while it has this name.
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
    pub(super) fn margin(self) -> Option<Interval> {
        // SAFETY: an interval.
        self.margin.map(|margin| unsafe { Interval::from_datum(margin) })
    }

    /// The first ID that was not read. There is one, since a position is below a horizon.
    pub(super) fn next(self) -> Sno {
        self.position().map_or(Sno::MIN, |position| position.successor().unwrap_or(position))
    }

    /// Whether it is time to store the position, even without rows: for those who watch, and since views may leave out most rows.
    pub(super) fn is_stale(self) -> bool {
        Timestamp::now().0 - self.moved.value() as i64 > IDLE
    }

    /// Where its rows are, by the names that this session knows now. So it is asked after the horizon, with which the session has learned
    /// what others have renamed.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub(super) unsafe fn source(self) -> Source {
        // SAFETY: look-ups by OID, and texts that live until `SPI_finish`.
        unsafe {
            let (oid, name) = (self.source, raw::get_rel_name(self.source));
            if name.is_null() {
                guard(|| -> Result<(), Error> { Err(self.no_source()) });
            }
            let schema = raw::get_rel_namespace(oid);
            let schema_name = raw::get_namespace_name(schema);
            let quoted = raw::quote_qualified_identifier(schema_name, name);
            let key_name = self.key.cast_mut_ptr();
            let key = raw::quote_identifier(key_name);
            let source =
                Source { oid, schema, schema_name, name, quoted, key, key_number: self.key_number, key_name };
            if !source.has_key() {
                guard(|| -> Result<(), Error> { Err(self.other_key()) });
            }
            source
        }
    }

    /// Whose horizon counts.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    pub(super) unsafe fn whose_horizon(self) -> Whose {
        // SAFETY: as promised by the caller.
        unsafe { whose_horizon(self.source, self.key, self.margin) }
    }

    /// The horizon: that of this server or of all nodes, or the one that is given where that of others counts. It is later than the
    /// snapshot by which the feed was found, and after its position, unless the feed has to go back.
    ///
    /// With it comes what the transactions below it have changed in catalogs, as they hold it until they have sent that. Otherwise a
    /// query whose locks this transaction has already would not notice a partition that was attached, nor another function below
    /// a view.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub(super) unsafe fn horizon(self, whose: Whose, given: Option<Sno>) -> Horizon {
        // SAFETY: as promised by the caller.
        unsafe {
            let of_scope = (whose == Whose::Scope && given.is_none()).then(|| self.horizon_of_scope());
            let horizon = guard(|| {
                if let Some(last) = self.goes_back()? {
                    return Ok(Horizon::GoesBack(last));
                }
                let horizon = match (whose, self.margin(), given) {
                    (Whose::Own, Some(margin), None) => reader::horizon(margin)?,
                    (Whose::Own | Whose::Scope, _, _) => of_scope.ok_or_else(|| self.given_horizon())?,
                    (_, _, Some(given)) => given,
                    (_, _, None) => return Err(self.no_horizon()),
                };
                match self.position() {
                    Some(position) if position >= horizon => Err(self.no_progress(position, horizon, given)),
                    _ => Ok(Horizon::UpTo(horizon)),
                }
            });
            raw::AcceptInvalidationMessages();
            horizon
        }
    }

    /// Whether no row comes up to an ID any more. That of rows of other servers only who peeks at them knows.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    pub(super) unsafe fn has_all_up_to(self, id: Sno) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            let whose = self.whose_horizon();
            whose == Whose::Given
                || matches!(self.horizon(whose, None), Horizon::UpTo(horizon) if id < first_id(horizon.tick()))
        }
    }

    /// After which ID it has to go on, if it was read up to the future by a clock that was fast, and the horizons were lowered since then,
    /// however long ago.
    /// Inside the guard.
    pub(super) fn goes_back(self) -> Result<Option<Sno>, Error> {
        match (self.margin, self.position()) {
            (Some(_), Some(position)) => goes_on_after(position, self.lowered),
            _ => Ok(None),
        }
    }

    /// The horizon of a scope, or the least that there can be while that is not known. The position is below the horizons of the servers that
    /// were known when it was stored. Others may have rows before it, which were not read: that is an error.
    unsafe fn horizon_of_scope(self) -> Sno {
        // SAFETY: columns of the row.
        unsafe {
            if let Some(horizon) = guard(|| Ok(Told::recent(self))) {
                return horizon;
            }
            let known = (pg_sys::TEXTOID, self.servers);
            let params = [(pg_sys::INTERVALOID, self.margin), (self.id_type, self.position), known];
            let row = query(HORIZON_OF_SCOPE, params, true).row(0);
            let least = row.value(2).map_or(Sno::MIN, |least| Sno::from_datum(least));
            let (Some(horizon), Some(servers)) = (row.value(1), row.value(3)) else { return least };
            let horizon = Sno::from_datum(horizon);
            let is_known = row.value(6).is_some_and(|is_known| is_known.value() as u8 != 0);
            guard(|| {
                TOLD.replace(Some(Told::new(self, servers, horizon)));
                Ok(())
            });
            if is_known || self.position() >= Some(horizon) {
                return horizon;
            }
            if let (Some(position), Some(partitions)) = (self.position(), row.value(5))
                && self.source().has_row(
                    [row.value(4).map_or(Sno::MIN, |since| Sno::from_datum(since)), position],
                    self.id_type,
                    partitions,
                )
            {
                guard(|| -> Result<(), Error> { Err(self.passed(position)) });
            }
            // Who moves the feed meanwhile has asked, too.
            if !can_store() || self.note_servers(servers) { horizon } else { least }
        }
    }
}

impl Told {
    /// Of a feed that these servers are known to. Inside the guard.
    fn new(feed: Feed, servers: Datum, horizon: Sno) -> Self {
        // SAFETY: a text.
        let servers = unsafe { text(pg_sys::text_to_cstring(servers.cast_mut_ptr())) };
        let margin = feed.margin().map(Interval::micros);
        Self { at: monotonic(), horizon, margin, servers, lowered: feed.present }
    }

    /// The last horizon, if it is of a moment ago, for such a feed, and after its position.
    fn recent(feed: Feed) -> Option<Sno> {
        let now = Self::new(feed, feed.servers?, feed.position().unwrap_or(Sno::MIN));
        let told = TOLD.borrow();
        let told = told.as_ref()?;
        let is_of_such =
            (told.margin, &told.servers, told.lowered) == (now.margin, &now.servers, now.lowered);
        let is_recent = now.at < told.at + MOMENT && now.horizon < told.horizon;
        (is_of_such && is_recent).then_some(told.horizon)
    }
}

/// Whether this transaction could move a feed.
pub(super) fn can_store() -> bool {
    // SAFETY: variables of this backend.
    unsafe { !pg_sys::XactReadOnly && (pg_sys::XactIsoLevel as u32) < pg_sys::XACT_REPEATABLE_READ }
}

impl Source {
    /// Whether its key still has the name by which it is queried.
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    unsafe fn has_key(self) -> bool {
        // SAFETY: a look-up by a name.
        let present = unsafe { raw::get_attnum(self.oid, self.key_name) };
        self.key_number.is_none_or(|number| number == present)
    }

    /// Whether it has a row after one ID, and up to another, in one of some partitions.
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    unsafe fn has_row(self, mut ids: [Sno; 2], id_type: Oid, partitions: Datum) -> bool {
        // SAFETY: texts, and values of these types.
        unsafe {
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
            execute(text, [after, upto, (pg_sys::INT4MULTIRANGEOID, Some(partitions))], true, true).count > 0
        }
    }

    /// Whether it still has its name, and its key, too. After a query by these names, which has locked what it read, this says that it was
    /// read. Its schema has no lock.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub(super) unsafe fn is_there(self) -> bool {
        // SAFETY: look-ups by a name and by OID.
        unsafe {
            let schema_name = raw::get_namespace_name(self.schema);
            !schema_name.is_null()
                && CStr::from_ptr(schema_name) == CStr::from_ptr(self.schema_name)
                && raw::get_relname_relid(self.name, self.schema) == self.oid
                && self.has_key()
        }
    }
}

/// Why a feed cannot be read. Inside the guard.
impl Feed {
    fn no_source(self) -> Error {
        let message = format!("source of feed \"{}\" does not exist", shown(self.name));
        let (message, detail) = match self.source_name {
            // SAFETY: a text.
            Some(name) => unsafe {
                let name = text(pg_sys::text_to_cstring(name.cast_mut_ptr()));
                (format!("{message}: \"{name}\""), "The feed was restored without it.")
            },
            None => (message, "It was dropped."),
        };
        Error::new(SqlState::ERRCODE_UNDEFINED_TABLE, message)
            .detail(detail)
            .hint("Restore it. For a new table: note the feed's position, drop and create the feed, and lead it back by sno_seek_feed().")
    }

    /// Of a call with another type of rows than that of its source.
    pub(super) fn other_rows(self, source: Source, row_type: Oid, is_distributed: bool) -> Error {
        // SAFETY: a text.
        let (feed, name) = (shown(self.name), unsafe { text(source.quoted) });
        // SAFETY: a type.
        let other = unsafe { text(pg_sys::format_type_be_qualified(row_type)) };
        let error = Error::new(
            SqlState::ERRCODE_DATATYPE_MISMATCH,
            format!("feed \"{feed}\" returns rows of \"{name}\", not of \"{other}\""),
        );
        if is_distributed {
            // What is left of a table that was distributed can be a shard, which has the rows of before.
            return error
                .detail("If Citus has made another table of it, which has its name now, the feed has remained with the old one.")
                .hint("Note its position, create another feed, lead that there by sno_seek_feed(), then drop this one.");
        }
        error
            .detail(
                "If its table was dropped, lead a new feed to the position of this one by sno_seek_feed().",
            )
            .hint(format!("Use {}.", self.peek(source)))
    }

    /// The statement that peeks at it.
    pub(super) fn peek(self, source: Source) -> String {
        // SAFETY: texts.
        let (name, feed) = unsafe {
            let feed = pg_sys::quote_literal_cstr(pg_sys::text_to_cstring(self.name.cast_mut_ptr()));
            (text(source.quoted), text(feed))
        };
        format!("SELECT * FROM sno_peek_feed({feed}, NULL::{name})")
    }

    /// Of a statement that does not store all rows of `sno_feed()`.
    pub(super) fn loses_rows(self, source: Source) -> Error {
        Error::new(
            SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
            "sno_feed() can only be used in a statement that stores its rows",
        )
        .detail("It must be in FROM or WITH of what writes, as in INSERT INTO ... SELECT, without LIMIT: the rows count as read.")
        .hint(format!(
            "Use {}, and then sno_advance_feed() with the ID of the last row that is done.",
            self.peek(source)
        ))
    }

    /// Of a statement that reads it once more.
    pub(super) fn read_again(self) -> Error {
        Error::new(
            SqlState::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!("statement cannot read feed \"{}\" again", shown(self.name)),
        )
        .hint("Call sno_feed() in FROM, once in a statement.")
    }

    /// Of an advance whose rows another consumer may have had, too.
    pub(super) fn not_peeked(self) -> Error {
        let message = format!("feed \"{}\" was not peeked at in this transaction", shown(self.name));
        Error::new(SqlState::ERRCODE_NO_ACTIVE_SQL_TRANSACTION, message)
            .detail("Work that is done in the transaction of the advance can be done twice.")
            .hint("Call sno_peek_feed() in the same transaction, or advance by a statement of its own, with autocommit.")
    }

    pub(super) fn moved_meanwhile(self) -> Error {
        let message =
            format!("feed \"{}\" was moved since this transaction has peeked at it", shown(self.name));
        Error::new(SqlState::ERRCODE_T_R_SERIALIZATION_FAILURE, message)
            .detail("Another consumer has got the same rows.")
            .hint("Repeat the transaction.")
    }

    /// Of an advance over rows that this transaction was not shown.
    pub(super) fn beyond_batch(self, upto: Sno, peeked: Option<Sno>) -> Error {
        let message = format!("cannot advance feed \"{}\" to \"{upto}\"", shown(self.name));
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .detail(match peeked {
                Some(peeked) => format!("This transaction has peeked at the rows up to \"{peeked}\"."),
                None => "This transaction has not peeked at rows up to there.".to_owned(),
            })
            .hint("Use the ID of the last row that is done.")
    }

    /// Of an advance with autocommit.
    pub(super) fn beyond_horizon(self, upto: Sno) -> Error {
        let message = format!("cannot advance feed \"{}\" to \"{upto}\"", shown(self.name));
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .detail("Rows can still come before this ID: it is not before the horizon.")
            .hint("Use the ID of the last row that is done.")
    }

    /// Of a failure of rows that nobody can have got.
    pub(super) fn not_shown(self, upto: Sno) -> Error {
        let message = format!("rows of feed \"{}\" up to \"{upto}\" cannot have failed", shown(self.name));
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message)
            .detail("Rows can still come before this ID: no peek has returned them.")
            .hint("Use the IDs of the first and the last row that the work was for.")
    }

    /// Of a wait for rows of other servers.
    pub(super) fn no_wait(self) -> Error {
        Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("cannot wait for feed \"{}\", whose horizons are given", shown(self.name)),
        )
        .detail("It has rows of other servers.")
        .hint("Ask these servers for horizons, and call sno_feed() with them.")
    }

    fn no_horizon(self) -> Error {
        Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("horizon must be given for feed \"{}\"", shown(self.name)),
        )
        .detail("It has rows of other servers.")
    }

    fn given_horizon(self) -> Error {
        Error::new(
            SqlState::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("horizon cannot be given for feed \"{}\"", shown(self.name)),
        )
        .detail("The feed has a margin, and so the horizon of this server.")
    }

    /// Of a key that has another name by now, or is gone; another column may have its name.
    fn other_key(self) -> Error {
        // SAFETY: a name.
        let key = unsafe { text(self.key.cast_mut_ptr()) };
        let message = format!("key \"{key}\" of feed \"{}\" does not exist", shown(self.name));
        Error::new(SqlState::ERRCODE_UNDEFINED_COLUMN, message)
            .detail("It was renamed or dropped.")
            .hint("Give it its name again, or use sno_drop_feed(), sno_create_feed() and sno_seek_feed().")
    }

    fn passed(self, position: Sno) -> Error {
        let message = format!(
            "feed \"{}\" was read up to \"{position}\", and a server that was not asked then has rows before that",
            shown(self.name)
        );
        Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .detail(
                "The server has joined since then, or has taken another's place, and its clock was behind.",
            )
            .hint("Call sno_seek_feed() with a time before such rows: what was read since then comes again.")
    }

    fn no_progress(self, position: Sno, horizon: Sno, given: Option<Sno>) -> Error {
        let message = format!(
            "feed \"{}\" was read up to \"{position}\", which is not before the horizon \"{horizon}\"",
            shown(self.name)
        );
        Error::new(SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .detail("Rows that were not read can come before this position.")
            .hint(match given {
                Some(_) => "Ask the server of the rows for its horizon again.",
                None => {
                    "Check the clock. Then call sno_seek_feed() with a time before such rows: what was read since then comes again."
                }
            })
    }
}
