//! The opening: the feed that a name means, and whether and how far its rows can be read.

use std::ffi::{CStr, c_char, c_int};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, Oid},
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::{Argument as _, Interval, Timestamp},
        errors::{Error, guard},
        raw,
    },
    sno::{
        feed::{
            query::query,
            whose::{Whose, whose_horizon},
        },
        horizon::reader::{goes_on_after, sno_horizon},
    },
};

/// How old a stored position gets while a feed is read without rows, in microseconds.
const IDLE: i64 = 10_000_000;

/// The feeds of a name that the role may use.
const FIND: &CStr = c"SELECT o.owner, coalesce(o.source, pg_catalog.to_regclass(o.source_name)), o.source_name, o.key, o.margin, o.position, o.moved
FROM sno_internal.own_feeds o WHERE o.feed OPERATOR(pg_catalog.=) $1";

/// If it is not a single one: the one that is meant, or the error that says why there is none.
const FIND_ONE: &CStr = c"SELECT o.owner, coalesce(o.source, pg_catalog.to_regclass(o.source_name)), o.source_name, o.key, o.margin, o.position, o.moved
FROM sno_internal.find_feed($1) o";

/// The horizon of all nodes, for a margin and a position.
const HORIZON_OF_NODES: &CStr = c"SELECT coalesce(sno_internal.horizon_of_nodes($1, $2),
    sno_internal.sno_first($2::pg_catalog.timestamptz, true))";

/// A feed: a row of its table, whose values live until `SPI_finish`.
#[derive(Clone, Copy)]
pub(super) struct Feed {
    /// The name that was given.
    pub(super) name: Datum,
    pub(super) owner: Datum,
    source: Oid,
    source_name: Option<Datum>,
    pub(super) key: Datum,
    margin: Option<Datum>,
    pub(super) position: Option<Datum>,
    /// The type of IDs.
    pub(super) id_type: Oid,
    /// When the position was stored.
    pub(super) moved: Datum,
}

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
    pub(super) oid: Oid,
    schema: Oid,
    name: *const c_char,
    /// With its schema, and in quotes if it needs them, as the key.
    pub(super) quoted: *const c_char,
    pub(super) key: *const c_char,
}

impl Feed {
    /// The feed that the role means by a name: its own, or else that of a role whose member it is.
    ///
    /// # Safety
    /// After `SPI_connect`, and as for the functions of [`raw`]. The name is a text.
    pub(super) unsafe fn find(name: Option<Datum>, is_fresh: bool) -> Self {
        // SAFETY: as promised by the caller. The columns are those of the queries; two of them can be null.
        unsafe {
            let feeds = query(FIND, [(pg_sys::TEXTOID, name)], is_fresh);
            let row = match feeds.count {
                1 => feeds.row(0),
                _ => query(FIND_ONE, [(pg_sys::TEXTOID, name)], is_fresh).row(0),
            };
            let value = |column: c_int| row.value(column).unwrap_or(Datum::null());
            Self {
                name: name.unwrap_or(Datum::null()),
                owner: value(1),
                source: Oid::from(value(2).value() as u32),
                source_name: row.value(3),
                key: value(4),
                margin: row.value(5),
                position: row.value(6),
                id_type: row.type_of(6),
                moved: value(7),
            }
        }
    }

    pub(super) fn margin(self) -> Option<Interval> {
        // SAFETY: an interval.
        self.margin.map(|margin| unsafe { Interval::from_datum(margin) })
    }

    pub(super) fn position(self) -> Option<Sno> {
        // SAFETY: an ID.
        self.position.map(|position| unsafe { Sno::from_datum(position) })
    }

    /// The first ID that was not read. There is one, since a position is below a horizon.
    pub(super) fn next(self) -> Sno {
        self.position().map_or(Sno::MIN, |position| position.successor().unwrap_or(position))
    }

    /// Whether it is time to store the position, even without rows: for those who watch, and since views may leave out most rows.
    pub(super) fn is_stale(self) -> bool {
        Timestamp::now().0 - self.moved.value() as i64 > IDLE
    }

    /// Where its rows are.
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
            let quoted = raw::quote_qualified_identifier(raw::get_namespace_name(schema), name);
            let key = raw::quote_identifier(self.key.cast_mut_ptr());
            Source { oid, schema, name, quoted, key }
        }
    }

    /// Whose horizon counts.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    pub(super) unsafe fn whose_horizon(self, source: Source) -> Whose {
        // SAFETY: as promised by the caller.
        unsafe { whose_horizon(source.oid, self.key, self.margin) }
    }

    /// The horizon: that of this server or of all nodes, or the one that is given where that of others counts. It is later than the
    /// snapshot by which the feed was found, and after its position, unless the feed has to go back.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    pub(super) unsafe fn horizon(self, whose: Whose, given: Option<Sno>) -> Horizon {
        // SAFETY: as promised by the caller.
        unsafe {
            let of_nodes = (whose == Whose::Nodes && given.is_none()).then(|| self.horizon_of_nodes());
            guard(|| {
                let horizon = match (whose, self.margin(), given) {
                    (Whose::Own, Some(margin), None) => sno_horizon(margin)?,
                    (Whose::Own | Whose::Nodes, _, _) => of_nodes.ok_or_else(|| self.given_horizon())?,
                    (_, _, Some(given)) => given,
                    (_, _, None) => return Err(self.no_horizon()),
                };
                match self.position() {
                    Some(position) if position >= horizon => match self.goes_back()? {
                        Some(last) => Ok(Horizon::GoesBack(last)),
                        None => Err(self.no_progress(position, horizon, given)),
                    },
                    _ => Ok(Horizon::UpTo(horizon)),
                }
            })
        }
    }

    /// After which ID it has to go on, if it was read up to the future by a clock that was fast, and the horizons were lowered since then.
    /// Inside the guard.
    pub(super) fn goes_back(self) -> Result<Option<Sno>, Error> {
        match (self.margin, self.position()) {
            (Some(_), Some(position)) => goes_on_after(position),
            _ => Ok(None),
        }
    }

    /// The horizon of all nodes of a cluster, or, while they are still committing, the least that a feed can have: the tick after its
    /// position, since that was below an earlier horizon.
    unsafe fn horizon_of_nodes(self) -> Sno {
        // SAFETY: columns of the row.
        unsafe {
            let params = [(pg_sys::INTERVALOID, self.margin), (self.id_type, self.position)];
            let horizon = query(HORIZON_OF_NODES, params, true).row(0).value(1);
            horizon.map_or(Sno::MIN, |horizon| Sno::from_datum(horizon))
        }
    }
}

impl Source {
    /// Whether it still has its name. After a query by this name, which has locked what it read, this says that it was read.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub(super) unsafe fn is_there(self) -> bool {
        // SAFETY: a look-up by a name.
        unsafe { raw::get_relname_relid(self.name, self.schema) == self.oid }
    }
}

/// A text that PostgreSQL has allocated.
unsafe fn text(text: *const c_char) -> String {
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(text).to_string_lossy().into_owned() }
}

/// Why a feed cannot be read. Inside the guard.
impl Feed {
    fn shown(self) -> String {
        // SAFETY: a text, which is not null if a feed was found.
        unsafe { text(pg_sys::text_to_cstring(self.name.cast_mut_ptr())) }
    }

    fn no_source(self) -> Error {
        let message = format!("source of feed \"{}\" does not exist", self.shown());
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
            .hint("Restore it, or use sno_drop_feed() and sno_create_feed().")
    }

    /// Of a call with another type of rows than that of its source.
    pub(super) fn other_rows(self, source: Source, row_type: Oid) -> Error {
        // SAFETY: a text.
        let (feed, name) = (self.shown(), unsafe { text(source.quoted) });
        // SAFETY: a type.
        let other = unsafe { text(pg_sys::format_type_be_qualified(row_type)) };
        // SAFETY: a text.
        let quoted =
            unsafe { text(pg_sys::quote_literal_cstr(pg_sys::text_to_cstring(self.name.cast_mut_ptr()))) };
        Error::new(
            SqlState::ERRCODE_DATATYPE_MISMATCH,
            format!("feed \"{feed}\" returns rows of \"{name}\", not of \"{other}\""),
        )
        .detail("If its table was dropped, drop the feed and create it again.")
        .hint(format!("Use SELECT * FROM sno_feed({quoted}, NULL::{name})."))
    }

    /// Of a statement that reads it once more.
    pub(super) fn read_again(self) -> Error {
        Error::new(
            SqlState::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!("statement cannot read feed \"{}\" again", self.shown()),
        )
        .detail("Its transaction has moved the feed since the statement began.")
        .hint("Call sno_feed() in FROM, once for each feed.")
    }

    /// Of a wait for rows of other servers.
    pub(super) fn no_wait(self) -> Error {
        Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("cannot wait for feed \"{}\", whose horizons are given", self.shown()),
        )
        .detail("It has rows of other servers.")
        .hint("Ask these servers for horizons, and call sno_feed() with them.")
    }

    fn no_horizon(self) -> Error {
        Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("horizon must be given for feed \"{}\"", self.shown()),
        )
        .detail("It has rows of other servers.")
    }

    fn given_horizon(self) -> Error {
        Error::new(
            SqlState::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("horizon cannot be given for feed \"{}\"", self.shown()),
        )
        .detail("The feed has a margin, and so the horizon of this server.")
    }

    fn no_progress(self, position: Sno, horizon: Sno, given: Option<Sno>) -> Error {
        let message = format!(
            "feed \"{}\" was read up to \"{position}\", which is not before the horizon \"{horizon}\"",
            self.shown()
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
