//! `sno_feed`, and the look of those who wait for it.

use std::{ffi::CStr, slice};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo, NullableDatum, ReturnSetInfo},
};
use sno_core::{Sno, Tick};

use crate::{
    pg::{
        datum::{Argument as _, Timestamp},
        errors::{Error, guard},
        fmgr::functions,
        raw,
    },
    sno::{
        feed::{
            open::{Feed, Horizon, Source},
            query::query,
            rows::{Batch, First, Range, Unseen, snapshot_has_changed},
            whose::Whose,
        },
        horizon::reader::first_id,
        id,
    },
};

functions! {
    /// `sno_feed(feed text, row_type anyelement, batch_size integer, horizon sno) → setof anyelement`: the next rows of a feed.
    sno_feed: feed;
}

/// Locks the position, unless another transaction has locked it.
const LOCK: &CStr = c"SELECT FROM sno_internal.own_feeds o
WHERE o.feed OPERATOR(pg_catalog.=) $1 AND o.owner OPERATOR(pg_catalog.=) $2 FOR UPDATE SKIP LOCKED";

/// Moves the feed from where it was found, unless it is elsewhere by now.
const MOVE: &CStr = c"UPDATE sno_internal.own_feeds o SET moved = pg_catalog.clock_timestamp(), position = $5
WHERE o.feed OPERATOR(pg_catalog.=) $1 AND o.owner OPERATOR(pg_catalog.=) $2 AND o.moved OPERATOR(pg_catalog.=) $3
    AND (o.position OPERATOR(pg_catalog.=) $4 OR o.position IS NULL AND $4 IS NULL)";

/// Whether this transaction has moved the feed.
const MOVED_BY_THIS: &CStr = c"SELECT sno_internal.moved_by_this_transaction($1, $2)";

/// # Safety
/// A call of `sno_feed`.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn feed(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: declared in SQL with these arguments. An error ends what SPI has begun. No frame has anything to drop.
    unsafe {
        let args = slice::from_raw_parts((*fcinfo).args.as_ptr(), 4);
        let batch_size = guard(|| check_call(fcinfo, &args[2]));
        let arg = |number: usize| (!args[number].isnull).then_some(args[number].value);
        // No rows, as long as there is no tuplestore.
        let set = (*fcinfo).resultinfo.cast::<ReturnSetInfo>();
        (*set).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
        raw::SPI_connect();
        let feed = Feed::find(arg(0), false);
        let source = feed.source();
        let row_type = raw::get_fn_expr_argtype((*fcinfo).flinfo, 1);
        if raw::get_typ_typrelid(row_type) != source.oid {
            guard(|| -> Result<(), Error> { Err(feed.other_rows(source, row_type)) });
        }
        let whose = feed.whose_horizon(source);
        let horizon = feed.horizon(whose, arg(3).map(|given| Sno::from_datum(given)));
        let mut batch = Batch::new(fcinfo, feed.key.cast_mut_ptr(), batch_size);
        match horizon {
            Horizon::UpTo(horizon) => {
                if !read(feed, source, whose, horizon, &mut batch) {
                    batch.clear();
                }
            }
            Horizon::GoesBack(last) => {
                go_to(feed, last, false);
            }
        }
        raw::SPI_finish();
        Datum::null()
    }
}

/// The size of the batch, if the call is one that can read a feed.
fn check_call(fcinfo: FunctionCallInfo, batch_size: &NullableDatum) -> Result<usize, Error> {
    // SAFETY: the call, and variables of this backend.
    let (has_set, isolation, is_read_only) =
        unsafe { (!(*fcinfo).resultinfo.is_null(), pg_sys::XactIsoLevel as u32, pg_sys::XactReadOnly) };
    if !has_set {
        return Err(Error::new(
            SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
            "sno_feed() is called where no set is accepted",
        ));
    }
    if batch_size.isnull {
        return Err(Error::new(SqlState::ERRCODE_NULL_VALUE_NOT_ALLOWED, "size of a batch must not be null"));
    }
    let size = batch_size.value.value() as i32;
    if size < 1 {
        return Err(Error::new(
            SqlState::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid size of a batch: {size}"),
        ));
    }
    if isolation >= pg_sys::XACT_REPEATABLE_READ {
        let level =
            if isolation == pg_sys::XACT_REPEATABLE_READ { "REPEATABLE READ" } else { "SERIALIZABLE" };
        return Err(Error::new(
            SqlState::ERRCODE_INVALID_TRANSACTION_STATE,
            format!("cannot read a feed in a transaction with isolation level {level}"),
        )
        .detail("All statements of such a transaction have one snapshot, which is older than the horizon.")
        .hint("Use READ COMMITTED."));
    }
    if is_read_only {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot read a feed in a read-only transaction",
        )
        .detail("The position of the feed is stored."));
    }
    Ok(size as usize)
}

/// Reads the batch, and moves the feed. Returns whether the batch has the rows to return.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
unsafe fn read(feed: Feed, source: Source, whose: Whose, horizon: Sno, batch: &mut Batch) -> bool {
    // SAFETY: as promised by the caller.
    unsafe {
        let (next, is_of_nodes) = (feed.next(), whose == Whose::Nodes);
        let range = Range::of(source, feed.id_type, is_of_nodes);
        // A given horizon can be within a tick; the rows of a tick are read together.
        let horizon = first_id(horizon.tick());
        let mut until = horizon;
        if is_of_nodes {
            let last = Range::nth(source, feed.id_type, batch.enough, [next, horizon], false);
            until = last.and_then(Sno::successor).unwrap_or(horizon);
        }
        range.read(next, until, batch, false);
        // Without rows there is most often nothing to write.
        if batch.count == 0 && !feed.is_stale() {
            return true;
        }
        // Up to the end of a full batch, or of the IDs below the horizon, where no row comes any more. But before the first row that
        // the calling statement does not see, since it was committed later: it is left for the next call, with all that follow.
        let end = batch.end();
        let mut last = end.or(until.predecessor());
        if snapshot_has_changed() {
            let mut unseen = Unseen::new(batch);
            let below = end.and_then(Sno::successor).unwrap_or(horizon);
            range.read(next, below, &mut unseen, true);
            if let Some(passed) = unseen.found() {
                last = passed;
                if let Some(below) = last.and_then(Sno::successor) {
                    batch.clear();
                    range.read(next, below, batch, false);
                }
            }
        }
        last.is_some_and(|last| {
            // The statements above hold a lock on what they have read, so it can no longer be renamed or changed. If it is still the
            // feed's source, with rows of the same servers as when the feed was opened, the right rows were read.
            source.is_there() && feed.whose_horizon(source) == whose && go_to(feed, last, batch.count == 0)
        })
    }
}

/// Moves the feed, and returns whether it has moved. If there is nothing but a position to store, nobody is waited for.
///
/// # Safety
/// After `SPI_connect`, and as for the functions of [`raw`].
unsafe fn go_to(feed: Feed, mut last: Sno, is_idle: bool) -> bool {
    // SAFETY: as promised by the caller. The statements have fresh snapshots.
    unsafe {
        let id_type = feed.id_type;
        let name = [(pg_sys::TEXTOID, Some(feed.name)), (pg_sys::NAMEOID, Some(feed.owner))];
        if is_idle && query(LOCK, name, true).count == 0 {
            return false;
        }
        let params = [
            name[0],
            name[1],
            (pg_sys::TIMESTAMPTZOID, Some(feed.moved)),
            (id_type, feed.position),
            (id_type, Some((&raw mut last).into())),
        ];
        if query(MOVE, params, true).count > 0 {
            return true;
        }
        // A transaction that has ended may have moved the feed after the calling statement began, which then does not see what it did
        // with its rows either: nothing is returned. If it was this transaction, the statement calls the function again.
        let moved = || query(MOVED_BY_THIS, name, true).row(0).value(1);
        if !is_idle && moved().is_some_and(|moved| moved.value() as u8 != 0) {
            guard(|| -> Result<(), Error> { Err(feed.read_again()) });
        }
        false
    }
}

/// What a look has found.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Whether there is a row to read.
    pub(super) is_ready: bool,
    /// The margin of the feed, in microseconds.
    pub(super) margin: u64,
    /// Whether all nodes of a cluster write its rows, so that this server does not notice when to look.
    pub(super) is_of_nodes: bool,
}

/// Looks for a row of a feed between two IDs, or for none. From time to time it looks for all, and stores that there are none.
///
/// # Safety
/// As for the functions of [`raw`], in a transaction without a snapshot.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(super) unsafe fn look(name: Option<Datum>, between: Option<(Sno, Sno)>) -> Look {
    // SAFETY: as promised by the caller.
    unsafe {
        raw::SPI_connect();
        let feed = Feed::find(name, true);
        let source = feed.source();
        let whose = feed.whose_horizon(source);
        let is_of_nodes = whose == Whose::Nodes;
        let margin = match feed.margin() {
            Some(margin) if is_of_nodes || whose == Whose::Own => margin.micros().max(0) as u64,
            _ => guard(|| Err(feed.no_wait())),
        };
        if is_of_nodes {
            let is_ready = look_at_nodes(feed, source, whose, margin);
            raw::SPI_finish();
            return Look { is_ready, margin, is_of_nodes };
        }
        let mut first = First::new();
        if let Some((mut from, mut below)) = between {
            // A call of sno_feed() sets it back.
            let goes_back = guard(|| feed.goes_back()).is_some();
            let stores = feed.is_stale() && !goes_back && can_store();
            if stores && let Horizon::UpTo(horizon) = feed.horizon(whose, None) {
                (from, below) = (Sno::MIN, first_id(horizon.tick()));
            }
            first.is_there = goes_back;
            Range::of(source, feed.id_type, false).read(feed.next().max(from), below, &mut first, true);
            if let Some(last) = below.predecessor()
                && stores
                && !first.is_there
                && source.is_there()
            {
                go_to(feed, last, true);
            }
        }
        raw::SPI_finish();
        Look { is_ready: first.is_there, margin, is_of_nodes }
    }
}

/// The same for rows of a table of Citus. All nodes are asked only if there is a row, or if it is time to store that there is none.
unsafe fn look_at_nodes(feed: Feed, source: Source, whose: Whose, margin: u64) -> bool {
    // SAFETY: as promised by the caller.
    unsafe {
        let first = |below| Range::nth(source, feed.id_type, 1, [feed.next(), below], true);
        if !(feed.is_stale() && can_store()) {
            let time = Timestamp(Timestamp::now().0.saturating_sub(margin as i64));
            let recent = first_id(id::tick(time).unwrap_or(Tick::MIN));
            return first(recent).is_some_and(|first| match feed.horizon(whose, None) {
                Horizon::UpTo(horizon) => first < horizon,
                Horizon::GoesBack(_) => true,
            });
        }
        let Horizon::UpTo(horizon) = feed.horizon(whose, None) else { return true };
        let horizon = first_id(horizon.tick());
        let is_there = first(horizon).is_some();
        if let Some(last) = horizon.predecessor()
            && !is_there
            && source.is_there()
        {
            go_to(feed, last, true);
        }
        is_there
    }
}

/// Whether this transaction could move a feed.
fn can_store() -> bool {
    // SAFETY: variables of this backend.
    unsafe { !pg_sys::XactReadOnly && (pg_sys::XactIsoLevel as u32) < pg_sys::XACT_REPEATABLE_READ }
}

/// Whether a feed has read an ID. If it never will, since its source is gone, that is an error.
///
/// # Safety
/// As for the functions of [`raw`], in a transaction without a snapshot.
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(super) unsafe fn has_read(name: Option<Datum>, id: Sno) -> bool {
    // SAFETY: as promised by the caller.
    unsafe {
        raw::SPI_connect();
        let feed = Feed::find(name, true);
        let is_read = feed.position() >= Some(id);
        if !is_read {
            feed.source();
        }
        raw::SPI_finish();
        is_read
    }
}
