//! Rows of feeds that fail: which one, how often, why, and when it is tried again, counted over all transactions, sessions and restarts.
//!
//! At most one row of a feed counts as failing, the first one. A peek returns the rows before it together, so that they can be done, and then
//! the failing row alone. If several rows failed together, each of them can be the cause, so a peek returns them one by one. A feed that has
//! passed them forgets the failures.

use std::ffi::CStr;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo, Oid},
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::{Argument as _, Interval, Timestamp},
        errors::{Error, guard, raise},
        fmgr::{functions, optional, put_row},
        raw, spi,
    },
    sno::feed::{
        ledger::{Feed, in_ledger, null_argument, oid},
        lookup::is_usable,
        query::Sees,
    },
};

functions! {
    /// `sno_fail_feed(feed text, id sno, error text, upto sno, pause interval, source regclass) → integer`
    sno_fail_feed: fail;
    /// `sno_internal.sno_feed_failures() → setof (feed, owner, failing, attempts, failing_since, retry_at, last_error)`
    sno_feed_failures: list;
}

/// Rows from one ID up to another have failed, unless the feed has passed them.
const CAREFUL: &CStr = c"UPDATE sno_internal.feed_positions p
SET careful_until = CASE WHEN p.careful_until OPERATOR(pg_catalog.>) $4 THEN p.careful_until ELSE $4 END
WHERE p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2
    AND (p.position IS NULL OR p.position OPERATOR(pg_catalog.<) $3)";

const FIND: &CStr = c"SELECT f.failing, f.attempts, f.retry_at, f.error FROM sno_internal.feed_failures f
WHERE f.feed OPERATOR(pg_catalog.=) $1 AND f.owner OPERATOR(pg_catalog.=) $2";

const STORE: &CStr =
    c"INSERT INTO sno_internal.feed_failures AS f (feed, owner, failing, attempts, since, retry_at, error)
VALUES ($1, $2, $3, $4, pg_catalog.clock_timestamp(), $5, pg_catalog.left($6, 1000))
ON CONFLICT (feed, owner) DO UPDATE SET failing = $3, attempts = $4, retry_at = $5, error = excluded.error,
    since = CASE WHEN f.failing OPERATOR(pg_catalog.=) $3 THEN f.since ELSE excluded.since END";

/// Those that were not passed.
const LIST: &CStr = c"SELECT f.feed, f.owner, f.failing, f.attempts, f.since, f.retry_at, f.error, p.source
FROM sno_internal.feed_failures f JOIN sno_internal.feed_positions p
    ON p.feed OPERATOR(pg_catalog.=) f.feed AND p.owner OPERATOR(pg_catalog.=) f.owner
WHERE f.failing OPERATOR(pg_catalog.>) p.position OR p.position IS NULL";

/// The pause after the first failure of a row, which doubles with each, and the longest, in microseconds.
const PAUSES: [i64; 2] = [100_000, 10_000_000];

/// A row that has failed.
#[derive(Clone, Copy)]
pub(super) struct Failure {
    pub(super) id: Sno,
    attempts: i32,
    retry_at: Timestamp,
    /// The last error, a text.
    pub(super) error: Option<Datum>,
}

impl Failure {
    /// The failing row of a feed, unless the feed has passed it.
    pub(super) unsafe fn find(feed: Feed, sees: Sees) -> Option<Self> {
        // Of the columns of FIND, none but the error is null.
        feed.careful_until()?;
        let rows = in_ledger(FIND, feed.names(), sees);
        if rows.count == 0 {
            return None;
        }
        let value = |column| rows.row(0).value(column).unwrap_or(Datum::null());
        let failure = Self {
            id: Sno::from_datum(value(1)),
            attempts: value(2).value() as i32,
            retry_at: Timestamp(value(3).value() as i64),
            error: rows.row(0).value(4),
        };
        (Some(failure.id) > feed.position()).then_some(failure)
    }

    /// How long to wait before it is tried again, in microseconds.
    pub(super) fn pause(self) -> Option<u64> {
        u64::try_from(self.retry_at.0 - Timestamp::now().0).ok().filter(|&pause| pause > 0)
    }
}

/// How often the row has failed by itself; 0 if that is not counted, since several rows have failed, or a row before it fails, or another
/// consumer has passed it. A consumer that reports a failure during the pause had got the row before: that is the same attempt.
unsafe fn fail(fcinfo: FunctionCallInfo) -> Datum {
    let [name, id, error, upto, pause, source] = optional(fcinfo);
    let id = id.unwrap_or_else(|| raise(|| null_argument("ID of the row that failed")));
    spi::connect();
    let feed = Feed::find_of_rows(name, source.map(oid));
    let [first, last] = [id, upto.unwrap_or(id)].map(|id| Sno::from_datum(id));
    let pause = pause.map(|pause| Interval::from_datum(pause).micros());
    guard(|| check(first, last, pause));
    // A feed that has to go back returns these rows again: then they can fail again.
    let goes_back = guard(|| feed.goes_back()).is_some();
    let peeked = feed.peeked();
    // Nothing is written then, which would pass for a move of this transaction.
    let was_moved = peeked.is_some_and(|peeked| feed.was_moved_since(peeked));
    let is_shown = goes_back
        || match peeked {
            Some(peeked) => Some(last) <= peeked.shown,
            None => feed.has_all_up_to(last),
        };
    if !is_shown {
        raise(|| feed.not_shown(last));
    }
    let [name, owner] = feed.names();
    let ids = [id, upto.unwrap_or(id)].map(|id| (feed.id_type, Some(id)));
    let mut attempts = 0;
    if !goes_back && !was_moved && in_ledger(CAREFUL, [name, owner, ids[0], ids[1]], Sees::Now).count > 0 {
        // It is locked now.
        let known = Failure::find(Feed::find(name.1, Some(feed.source), Sees::Now), Sees::Now);
        let same = known.filter(|known| known.id == first);
        if let Some(same) = same.filter(|same| same.attempts > 0 && same.pause().is_some()) {
            attempts = if first == last { same.attempts } else { 0 };
        } else if known.is_none_or(|known| known.id >= first) {
            let before = same.map_or(0, |same| same.attempts);
            attempts = if first == last { before.saturating_add(1) } else { 0 };
            let [shortest, longest] = PAUSES;
            let doubled = || (shortest << (attempts - 1).clamp(0, 20)).min(longest);
            let retry_at = Timestamp::now().0.saturating_add(pause.unwrap_or_else(doubled));
            let params = [
                name,
                owner,
                ids[0],
                (pg_sys::INT4OID, Some(attempts.max(before).into())),
                (pg_sys::TIMESTAMPTZOID, Some(retry_at.into())),
                (pg_sys::TEXTOID, error),
            ];
            in_ledger(STORE, params, Sees::Now);
        }
    }
    spi::finish();
    attempts.into()
}

fn check(first: Sno, last: Sno, pause: Option<i64>) -> Result<(), Error> {
    /// So that all times that follow can be stored.
    const LONGEST: i64 = 366 * 86_400_000_000;

    let wrong = |message: String| Err(Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message));
    if last < first {
        return wrong(format!("rows that failed end with \"{last}\", before they begin with \"{first}\""));
    }
    if pause.is_some_and(|pause| !(0..=LONGEST).contains(&pause)) {
        return wrong("pause must be between 0 and a year".to_owned());
    }
    Ok(())
}

/// What has failed, with the last error for who may use the feed: it can have values of the row.
unsafe fn list(fcinfo: FunctionCallInfo) -> Datum {
    raw::InitMaterializedSRF(fcinfo, 0);
    spi::connect();
    let rows = in_ledger(LIST, [], Sees::Now);
    for number in 0..rows.count {
        let row = rows.row(number);
        let mut columns = [1, 2, 3, 4, 5, 6, 7].map(|column| row.value(column));
        let [_, Some(owner), .., error] = &mut columns else { continue };
        if !is_usable(*owner, row.value(8).map_or(Oid::INVALID, oid)) {
            *error = None;
        }
        put_row(fcinfo, columns);
    }
    spi::finish();
    Datum::null()
}
