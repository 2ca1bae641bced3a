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
            query::{Row, query},
            whose::{Whose, whose_horizon},
        },
        horizon::reader::{goes_on_after, sno_horizon},
    },
};

/// How old a stored position gets while a feed is read without rows, in microseconds.
const IDLE: i64 = 10_000_000;

// The columns of FIND.
const OWNER: c_int = 1;
const SOURCE: c_int = 2;
const SOURCE_NAME: c_int = 3;
const KEY: c_int = 4;
const MARGIN: c_int = 5;
const POSITION: c_int = 6;
const MOVED: c_int = 7;
const IS_OWN: c_int = 8;

/// The feeds of a name that the role may use.
const FIND: &CStr = c"SELECT o.owner, coalesce(o.source, pg_catalog.to_regclass(o.source_name)), o.source_name, o.key, o.margin, o.position,
    o.moved, o.owner OPERATOR(pg_catalog.=) CURRENT_USER
FROM sno_internal.own_feeds o WHERE o.feed OPERATOR(pg_catalog.=) $1";

/// The same feed, or the error that says why there is not one.
const FIND_ONE: &CStr = c"SELECT o.owner, coalesce(o.source, pg_catalog.to_regclass(o.source_name)), o.source_name, o.key, o.margin, o.position,
    o.moved, true
FROM sno_internal.find_feed($1) o";

/// The horizon of all nodes, for a margin and a position.
const HORIZON_OF_NODES: &CStr = c"SELECT coalesce(sno_internal.horizon_of_nodes($1, $2),
    sno_internal.sno_first($2::pg_catalog.timestamptz, true))";

/// A feed, as a row of its table that lives until `SPI_finish`.
#[derive(Clone, Copy)]
pub(super) struct Feed {
    /// The name that was given.
    pub(super) name: Datum,
    row: Row,
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
        // SAFETY: as promised by the caller.
        unsafe {
            let feeds = query(FIND, [(pg_sys::TEXTOID, name)], is_fresh);
            let own = (0..feeds.count)
                .map(|number| feeds.row(number))
                .find(|row| row.value(IS_OWN).is_some_and(|is_own| is_own.value() as u8 != 0));
            let row = match own {
                Some(row) => row,
                None if feeds.count == 1 => feeds.row(0),
                None => query(FIND_ONE, [(pg_sys::TEXTOID, name)], is_fresh).row(0),
            };
            Self { name: name.unwrap_or(Datum::null()), row }
        }
    }

    unsafe fn value(self, column: c_int) -> Datum {
        // SAFETY: a column of the row.
        unsafe { self.row.value(column).unwrap_or(Datum::null()) }
    }

    pub(super) unsafe fn owner(self) -> Datum {
        // SAFETY: a column of the row.
        unsafe { self.value(OWNER) }
    }

    pub(super) unsafe fn moved(self) -> Datum {
        // SAFETY: a column of the row.
        unsafe { self.value(MOVED) }
    }

    pub(super) unsafe fn position_datum(self) -> Option<Datum> {
        // SAFETY: a column of the row.
        unsafe { self.row.value(POSITION) }
    }

    pub(super) unsafe fn position(self) -> Option<Sno> {
        // SAFETY: a column of the row.
        unsafe { self.position_datum().map(|position| Sno::from_datum(position)) }
    }

    /// The first ID that was not read. There is one, since a position is below a horizon.
    pub(super) unsafe fn next(self) -> Sno {
        // SAFETY: a column of the row.
        unsafe { self.position().map_or(Sno::MIN, |position| position.successor().unwrap_or(position)) }
    }

    /// The type of IDs.
    pub(super) unsafe fn id_type(self) -> Oid {
        // SAFETY: a column of the row.
        unsafe { self.row.type_of(POSITION) }
    }

    pub(super) unsafe fn margin(self) -> Option<Interval> {
        // SAFETY: a column of the row.
        unsafe { self.row.value(MARGIN).map(|margin| Interval::from_datum(margin)) }
    }

    /// Whether it is time to store the position, even without rows: for those who watch, and since views may leave out most rows.
    pub(super) unsafe fn is_stale(self) -> bool {
        // SAFETY: a column of the row.
        unsafe { Timestamp::now().0 - Timestamp::from_datum(self.moved()).0 > IDLE }
    }

    /// Where its rows are.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub(super) unsafe fn source(self) -> Source {
        // SAFETY: look-ups by OID, and texts that live until `SPI_finish`.
        unsafe {
            let oid = self.row.value(SOURCE).map_or(Oid::INVALID, |oid| Oid::from(oid.value() as u32));
            let name = raw::get_rel_name(oid);
            if name.is_null() {
                guard(|| -> Result<(), Error> { Err(self.no_source()) });
            }
            let schema = raw::get_rel_namespace(oid);
            let quoted = raw::quote_qualified_identifier(raw::get_namespace_name(schema), name);
            let key = raw::quote_identifier(self.value(KEY).cast_mut_ptr());
            Source { oid, schema, name, quoted, key }
        }
    }

    /// Whose horizon counts; rows of foreign tables are refused, and those of a cluster where a horizon would be given.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    pub(super) unsafe fn whose_horizon(self, source: Source) -> Whose {
        // SAFETY: as promised by the caller.
        unsafe {
            match whose_horizon(source.oid, self.value(KEY)) {
                Whose::Nobody(relation) => guard(|| Err(foreign_rows(relation))),
                Whose::Nodes(relation) if self.margin().is_none() => guard(|| Err(no_margin(relation))),
                Whose::Own if self.margin().is_none() => Whose::Given,
                whose => whose,
            }
        }
    }

    /// The horizon: that of this server or of all nodes, or the one that is given where that of others counts. It is later than the
    /// snapshot by which the feed was found, and after its position, unless the feed has to go back.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    pub(super) unsafe fn horizon(self, whose: Whose, given: Option<Sno>) -> Horizon {
        // SAFETY: as promised by the caller.
        unsafe {
            let is_of_nodes = matches!(whose, Whose::Nodes(_)) && given.is_none();
            let of_nodes = is_of_nodes.then(|| self.horizon_of_nodes());
            guard(|| {
                let horizon = match (whose, self.margin(), given) {
                    (Whose::Own, Some(margin), None) => sno_horizon(margin)?,
                    (Whose::Own | Whose::Nodes(_), _, _) => of_nodes.ok_or_else(|| self.given_horizon())?,
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
        // SAFETY: columns of the row.
        match unsafe { (self.margin(), self.position()) } {
            (Some(_), Some(position)) => goes_on_after(position),
            _ => Ok(None),
        }
    }
}

impl Feed {
    /// The horizon of all nodes of a cluster, or, while they are still committing, the least that a feed can have: the tick after its
    /// position, since that was below an earlier horizon.
    unsafe fn horizon_of_nodes(self) -> Sno {
        // SAFETY: columns of the row.
        unsafe {
            let params =
                [(pg_sys::INTERVALOID, self.row.value(MARGIN)), (self.id_type(), self.position_datum())];
            let horizon = query(HORIZON_OF_NODES, params, true).row(0).value(1);
            horizon.map_or(Sno::MIN, |horizon| Sno::from_datum(horizon))
        }
    }
}

impl Source {
    /// The key's name, as it is.
    ///
    /// # Safety
    /// The feed of this source.
    pub(super) unsafe fn key_name(feed: Feed) -> *const c_char {
        // SAFETY: a column of the row.
        unsafe { feed.value(KEY).cast_mut_ptr() }
    }

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

/// The name of a relation, as in SQL.
fn name_of(relation: Oid) -> String {
    // SAFETY: look-ups; null is not printed, since the relation was found just now.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        let name = pg_sys::get_rel_name(relation);
        if name.is_null() {
            relation.to_string()
        } else {
            text(pg_sys::quote_qualified_identifier(schema, name))
        }
    }
}

/// Why a feed cannot be read. Inside the guard.
impl Feed {
    fn shown(self) -> String {
        // SAFETY: a text, which is not null if a feed was found.
        unsafe { text(pg_sys::text_to_cstring(self.name.cast_mut_ptr())) }
    }

    fn no_source(self) -> Error {
        let message = format!("source of feed \"{}\" does not exist", self.shown());
        // SAFETY: a column of the row.
        let (message, detail) = match unsafe { self.row.value(SOURCE_NAME) } {
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

fn foreign_rows(relation: Oid) -> Error {
    Error::new(
        SqlState::ERRCODE_WRONG_OBJECT_TYPE,
        format!("cannot read a feed of foreign rows: \"{}\"", name_of(relation)),
    )
    .detail("Such rows can come below the horizon of this server.")
}

fn no_margin(relation: Oid) -> Error {
    Error::new(
        SqlState::ERRCODE_WRONG_OBJECT_TYPE,
        format!("cannot read a feed of distributed rows without a margin: \"{}\"", name_of(relation)),
    )
    .detail("Their horizon is that of all nodes, for which the feed asks itself.")
    .hint("Drop the feed, and create it with a margin.")
}
