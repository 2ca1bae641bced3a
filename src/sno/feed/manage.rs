//! Creating, seeking and dropping feeds. What the role may read is asked with its own rights; then the ledger writes.

use std::ffi::CStr;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo, Oid},
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::{Argument as _, Returned as _},
        errors::{Error, guard, raise, warn},
        fmgr::{functions, optional},
        raw, spi,
        wait::raw_point,
    },
    sno::{
        feed::{
            failures::Failure,
            ledger::{Feed, TO_REGCLASS, bigint, in_ledger, null_argument, oid, shown},
            lookup::{Meaning, missing},
            query::{Rows, Sees, query, with_off},
        },
        horizon::reader::{give_horizon, last_lowering},
    },
};

functions! {
    /// `sno_create_feed(feed text, source regclass, since timestamptz, key name, margin interval, if_not_exists boolean, refuse_old_keys boolean) → sno`: its
    /// position.
    sno_create_feed: create;
    /// `sno_seek_feed(feed text, since timestamptz, after sno, source regclass)`
    sno_seek_feed: seek;
    /// `sno_drop_feed(feed text, owner name)`
    sno_drop_feed: drop;
    /// `sno_internal.restore_feed(feed text, owner name, source_name text) → regclass`: its source, if it is there.
    sno_restore_feed: restore;
    /// `sno_internal.sno_give_horizon() → bigint`: what [`give_horizon`] returns.
    sno_give_horizon: given_horizon;
}

/// The key of a new feed, or the error that says why its source can have none.
const KEY: &CStr = c"SELECT sno_internal.key_of($1, $2, $3, $4, $5), current_user";

/// Has rows refused that a feed of a source would miss, or says that they are not.
const GUARD: &CStr = c"SELECT sno_internal.guard_keys($1, $2, $3)";

/// Says what a feed of a source will not return, and where it begins.
const TELL: &CStr = c"SELECT sno_internal.tell_of_missed($1, $2, $3)";

/// Where a feed goes on.
const POSITION: &CStr =
    c"SELECT p.position, p.servers FROM sno_internal.position_of($1, $2, $3, $4, $5, $6) p";

const KNOWN: &CStr = c"SELECT p.source, p.source_name, p.position FROM sno_internal.feed_positions p
WHERE p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2";

const CREATE: &CStr =
    c"INSERT INTO sno_internal.feed_positions (feed, owner, source, key, margin, position, lowering, servers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

/// Whether a source has rows after one ID and up to another.
const HAS_ROWS: &CStr = c"SELECT sno_internal.has_rows($1, $2, $3, $4)";

const SEEK: &CStr = c"UPDATE sno_internal.feed_positions p
SET moved = pg_catalog.clock_timestamp(), position = $3, lowering = $4, servers = $5, careful_until = NULL
WHERE p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2";

const DROP: &CStr = c"WITH f AS (
    DELETE FROM sno_internal.feed_failures f WHERE f.feed OPERATOR(pg_catalog.=) $1 AND f.owner OPERATOR(pg_catalog.=) $2
) DELETE FROM sno_internal.feed_positions p WHERE p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2";

/// Whether the role may insert feeds of any role.
const MAY_RESTORE: &CStr = c"SELECT pg_catalog.has_table_privilege(
    'sno_internal.feed_positions'::pg_catalog.text, 'INSERT'::pg_catalog.text)";

unsafe fn create(fcinfo: FunctionCallInfo) -> Datum {
    let [name, source, since, key, margin, if_not_exists, refuse_old_keys] = optional(fcinfo);
    let is_true = |flag: Option<Datum>| flag.is_some_and(|flag| flag.value() as u8 != 0);
    spi::connect();
    let (name, source) = ((pg_sys::TEXTOID, name), (pg_sys::REGCLASSOID, source));
    let (since, margin) = ((pg_sys::TIMESTAMPTZOID, since), (pg_sys::INTERVALOID, margin));
    let row = query(KEY, [name, source, since, (pg_sys::NAMEOID, key), margin], Sees::Now).row(0);
    let [key, owner] = [1, 2].map(|column| (pg_sys::NAMEOID, row.value(column)));
    check_rights(source.1.map_or(Oid::INVALID, oid));
    let feed = name.1.unwrap_or(Datum::null());
    let leave = |known: Rows| {
        let is_of_source = known.count > 0 && known.row(0).value(1) == source.1;
        guard(|| exists(feed, is_true(if_not_exists) && is_of_source));
        finish(fcinfo, known.row(0).value(3))
    };
    let known = in_ledger(KNOWN, [name, owner], Sees::Now);
    if known.count > 0 {
        let (of, restored) = (known.row(0).value(1), known.row(0).value(2));
        if restored.is_none() && of.is_none_or(|of| raw::get_rel_name(oid(of)).is_null()) {
            in_ledger(DROP, [name, owner], Sees::Now);
        } else {
            return leave(known);
        }
    }
    guard(|| check_name(feed));
    // Before the position, since the triggers wait for who writes the table.
    let creates = (pg_sys::BOOLOID, Some(is_true(refuse_old_keys).into()));
    query(GUARD, [source, key, creates], Sees::Now);
    query(TELL, [name, source, since], Sees::Now);
    let lowering = bigint(last_lowering());
    let id_type =
        query(c"SELECT sno_internal.id_type()", [], Sees::Now).row(0).value(1).map_or(Oid::INVALID, oid);
    let params = [source, key, margin, (id_type, None), since, (id_type, None)];
    let row = query(POSITION, params, Sees::Now).row(0);
    raw_point(c"feed begins");
    let (position, servers) = ((id_type, row.value(1)), (pg_sys::TEXTOID, row.value(2)));
    if in_ledger(CREATE, [name, owner, source, key, margin, position, lowering, servers], Sees::Now).count
        == 0
    {
        // Another session was waited for, which has created it.
        return leave(in_ledger(KNOWN, [name, owner], Sees::Now));
    }
    finish(fcinfo, position.1)
}

/// Returns an ID, or null.
unsafe fn finish(fcinfo: FunctionCallInfo, id: Option<Datum>) -> Datum {
    let id = id.map(|id| Sno::from_datum(id));
    spi::finish();
    (*fcinfo).isnull = id.is_none();
    id.map_or(Datum::null(), |id| id.into_datum())
}

/// That the role may read all columns of a source, and that row security hides none of its rows.
unsafe fn check_rights(source: Oid) {
    let schema = raw::get_namespace_name(raw::get_rel_namespace(source));
    let quoted = raw::quote_qualified_identifier(schema, raw::get_rel_name(source));
    let query = raw::psprintf(c"SELECT * FROM %s LIMIT 0".as_ptr(), quoted);
    with_off(&[c"row_security"], || spi::execute(query, true, 0));
}

unsafe fn seek(fcinfo: FunctionCallInfo) -> Datum {
    let [name, since, after, source] = optional(fcinfo);
    spi::connect();
    let feed = Feed::find(name, source.map(oid), Sees::Now);
    if since.is_some() == after.is_some() {
        guard(|| -> Result<(), Error> {
            let message = "either a time or an ID must be given";
            Err(Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message))
        });
    }
    let is_named = source.map(oid) == Some(feed.source);
    let source = (feed.source != Oid::INVALID).then(|| feed.source.into());
    let [name, owner] = feed.names();
    let source = (pg_sys::REGCLASSOID, source);
    let [position, after] = [feed.position, after].map(|id| (feed.id_type, id));
    let key = (pg_sys::NAMEOID, Some(feed.key));
    let (margin, since) = ((pg_sys::INTERVALOID, Some(feed.margin)), (pg_sys::TIMESTAMPTZOID, since));
    let lowering = bigint(last_lowering());
    let row = query(POSITION, [source, key, margin, position, since, after], Sees::Now).row(0);
    raw_point(c"feed is sought");
    let failure = Failure::find(feed, Sees::Now);
    let (to, servers) = ((feed.id_type, row.value(1)), (pg_sys::TEXTOID, row.value(2)));
    let last = to.1.map(|to| Sno::from_datum(to));
    // A feed that has read nothing is led to where another was, or to where a copy ends.
    let passes = feed.position().is_some() && last > feed.position();
    let passes_rows = if !passes {
        Some(false)
    } else if is_named || feed.is_trusted() {
        let rows = query(HAS_ROWS, [source, key, position, to], Sees::Now);
        rows.row(0).value(1).map(|has_rows| has_rows.value() as u8 != 0)
    } else {
        None
    };
    if in_ledger(SEEK, [name, owner, to, lowering, servers], Sees::Now).count == 0 {
        raise(|| missing(feed.name));
    }
    if let Some(failure) = failure
        && last >= Some(failure.id)
    {
        warn(|| feed.passes_failure(failure.id, failure.error.map(shown)));
    } else if passes_rows != Some(false) {
        warn(|| feed.passes_rows(last, passes_rows.is_some()));
    }
    feed.forget_failures();
    spi::finish();
    Datum::null()
}

unsafe fn drop(fcinfo: FunctionCallInfo) -> Datum {
    let [name, owner] = optional(fcinfo);
    spi::connect();
    let name = name.unwrap_or_else(|| raise(|| null_argument("name of a feed")));
    let feed = Meaning::of(name, None, owner, Sees::Now).one(name);
    in_ledger(DROP, feed.names(), Sees::Now);
    if let Some(position) = feed.position() {
        warn(|| forgets(name, position));
    }
    spi::finish();
    Datum::null()
}

/// Called by the trigger for a row of a dump, which takes the place of a feed that migrations may have created.
unsafe fn restore(fcinfo: FunctionCallInfo) -> Datum {
    let [name, owner, source_name] = optional(fcinfo);
    spi::connect();
    check_may_restore();
    in_ledger(DROP, [(pg_sys::TEXTOID, name), (pg_sys::NAMEOID, owner)], Sees::Now);
    let source = in_ledger(TO_REGCLASS, [(pg_sys::TEXTOID, source_name)], Sees::Now).row(0).value(1);
    spi::finish();
    (*fcinfo).isnull = source.is_none();
    source.unwrap_or(Datum::null())
}

/// Called by the same trigger. It asks for a horizon, which a role may be kept from by REVOKE.
unsafe fn given_horizon(_: FunctionCallInfo) -> Datum {
    spi::connect();
    check_may_restore();
    spi::finish();
    guard(|| Ok(give_horizon().to_bigint())).into()
}

unsafe fn check_may_restore() {
    if query(MAY_RESTORE, [], Sees::Now).row(0).value(1).is_none_or(|may| may.value() as u8 == 0) {
        guard(|| -> Result<(), Error> {
            let message = "permission denied for table feed_positions";
            Err(Error::new(SqlState::ERRCODE_INSUFFICIENT_PRIVILEGE, message))
        });
    }
}

/// That messages with a name have no more lines than they would have, nor other words than they seem to have.
fn check_name(name: Datum) -> Result<(), Error> {
    let is_refused =
        |c: &char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let Some(refused) = shown(name).chars().find(is_refused) else { return Ok(()) };
    Err(Error::new(SqlState::ERRCODE_INVALID_NAME, "name of a feed has a control character")
        .detail(format!(
            "It has U+{:04X}, by which messages with the name could look like others.",
            u32::from(refused)
        ))
        .hint("Leave out line ends, other control characters and those that change the direction of a text."))
}

/// Of a feed that is to be created. Inside the guard.
fn exists(feed: Datum, skips: bool) -> Result<(), Error> {
    let message = format!("feed \"{}\" already exists", shown(feed));
    if !skips {
        return Err(Error::new(SqlState::ERRCODE_DUPLICATE_OBJECT, message));
    }
    Error::new(SqlState::ERRCODE_DUPLICATE_OBJECT, message + ", skipping").notice();
    Ok(())
}

/// Of a feed that is dropped: deployments that create it again lose where it was.
fn forgets(name: Datum, position: Sno) -> Error {
    let message =
        format!("feed \"{}\" was dropped, which had read the rows up to \"{position}\"", shown(name));
    Error::new(SqlState::ERRCODE_WARNING, message)
        .detail("A new feed of this name begins with the first row, or where the argument since says.")
        .hint(format!("To have it go on there, call sno_seek_feed() with after => '{position}'."))
}
