//! The calls that read and advance a feed: `sno_feed`, `sno_peek_feed`, `sno_advance_feed`.

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo, ReturnSetInfo},
};
use sno_core::Sno;

use crate::{
    pg::{
        datum::Argument as _,
        errors::{Error, guard, raise, warn},
        fmgr::{functions, optional},
        raw, spi,
        wait::raw_point,
    },
    sno::feed::{
        catalogs::analyze_again_on_change,
        failures::Failure,
        horizon::{Horizon, can_store},
        horizon_kind::HorizonKind,
        ledger::{Feed, null_argument, oid},
        log,
        lookup::Meaning,
        query::{Sees, query},
        range::{Range, snapshot_has_changed},
        reads::read_before,
        rows::{Batch, FirstUnseen, HasRow},
        source::Source,
        statement::{goes_on, stores_rows, transaction_goes_on},
    },
};

functions! {
    /// `sno_feed(feed text, row_type anyelement, batch_size integer) → setof anyelement`: the next rows of a feed.
    sno_feed: feed;
    /// `sno_peek_feed(…)`, with the same arguments: the same rows, of a feed that stays where it is.
    sno_peek_feed: peek;
    /// `sno_advance_feed(feed text, upto sno, source regclass) → boolean`: rows up to an ID are done. Whether they were not yet.
    sno_advance_feed: advance;
}

/// What a call does to the feed whose rows it returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The rows are read.
    Move,
    /// It stays where it is, and nobody else moves it until the transaction ends.
    Lock,
    Nothing,
}

unsafe fn feed(fcinfo: FunctionCallInfo) -> Datum {
    next_rows(fcinfo, Effect::Move)
}

unsafe fn peek(fcinfo: FunctionCallInfo) -> Datum {
    let locks = goes_on(fcinfo) && !pg_sys::XactReadOnly;
    next_rows(fcinfo, if locks { Effect::Lock } else { Effect::Nothing })
}

unsafe fn next_rows(fcinfo: FunctionCallInfo, effect: Effect) -> Datum {
    let [name, _, batch_size] = optional(fcinfo);
    let batch_size = guard(|| check_call(fcinfo, batch_size, effect));
    // No rows, as long as there is no tuplestore.
    let set = (*fcinfo).resultinfo.cast::<ReturnSetInfo>();
    (*set).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
    let goes_on = effect == Effect::Move && transaction_goes_on();
    spi::connect();
    let row_type = raw::get_fn_expr_argtype((*fcinfo).flinfo, 1);
    let relation = raw::get_typ_typrelid(row_type);
    let feed = Feed::find(name, Some(relation), Sees::Statement);
    if relation != feed.source {
        let (source, given) = (feed.source(), (pg_sys::OIDOID, Some(relation.into())));
        let is_distributed =
            query(c"SELECT sno_internal.is_distributed($1)", [given], Sees::Now).row(0).value(1);
        let is_distributed = is_distributed.is_some_and(|is_distributed| is_distributed.value() as u8 != 0);
        raise(|| feed.other_rows(source, row_type, is_distributed));
    }
    if effect == Effect::Move {
        if !stores_rows(fcinfo, goes_on) {
            let source = feed.source();
            raise(|| feed.loses_rows(source));
        }
        if let Some(other) = read_before(fcinfo, feed.hash()) {
            raise(|| if other == feed.hash() { feed.read_again() } else { several_feeds() });
        }
    }
    tell_of_elsewhere(feed);
    analyze_again_on_change(feed.source, (*(*fcinfo).flinfo).fn_oid);
    raw_point(c"feed found");
    let kind = feed.horizon_kind();
    if kind == HorizonKind::Scope && !feed.is_stale() && !has_rows(feed) {
        if effect != Effect::Move {
            feed.remember(None);
        }
        spi::finish();
        return Datum::null();
    }
    let horizon = feed.horizon(kind);
    raw_point(c"horizon known");
    let mut batch = Batch::new(fcinfo, feed, batch_size);
    match horizon {
        Horizon::UpTo(horizon) => {
            let source = feed.source();
            if !read_batch(feed, source, kind, horizon, &mut batch, effect) {
                batch.clear();
            }
            if effect != Effect::Move {
                feed.remember(batch.shown);
            }
        }
        Horizon::GoesBack(last) => {
            if can_store() {
                go_back(feed, last);
            }
        }
    }
    spi::finish();
    Datum::null()
}

/// Says that others may have had the next rows of a feed: its receivers, from the server that this one was, or that it is a copy of.
unsafe fn tell_of_elsewhere(feed: Feed) {
    if feed.is_of_elsewhere() {
        warn(|| feed.read_elsewhere());
    }
}

/// Sets back a feed that was read by a clock that was ahead, and says so: its consumer gets rows again.
unsafe fn go_back(feed: Feed, last: Sno) {
    if feed.go_back_to(last) {
        warn(|| feed.went_back(last));
    }
}

/// Whether there is any row that was not read: without one, other servers need not be asked.
unsafe fn has_rows(feed: Feed) -> bool {
    guard(|| feed.goes_back()).is_some()
        || Range::nth(feed.source(), feed.id_type, 1, [feed.next(), Sno::MAX], Sees::Statement).is_some()
}

unsafe fn advance(fcinfo: FunctionCallInfo) -> Datum {
    let [name, upto, source] = optional(fcinfo);
    let upto =
        Sno::from_datum(upto.unwrap_or_else(|| raise(|| null_argument("ID of the last row that is done"))));
    spi::connect();
    // Work of this statement, before a feed is moved.
    let is_with_work = raw::GetTopTransactionIdIfAny() != 0;
    let is_new = loop {
        let mut feed = Feed::find_of_rows(name, source.map(oid));
        let peeked = feed.peeked();
        if peeked.is_none() {
            tell_of_elsewhere(feed);
        }
        // What was peeked at before the horizons were lowered is not all.
        if let Some(last) = guard(|| feed.goes_back()) {
            if peeked.is_some() {
                raise(|| feed.moved_meanwhile());
            }
            go_back(feed, last);
            break false;
        }
        feed.last_lowering =
            peeked.map_or(feed.last_lowering, |peeked| peeked.lowering.min(feed.last_lowering));
        match peeked {
            Some(peeked) if feed.was_moved_since(peeked) => raise(|| feed.moved_meanwhile()),
            None if raw::IsTransactionBlock() || is_with_work => raise(|| feed.not_peeked()),
            _ => {}
        }
        if Some(upto) <= feed.position() {
            if peeked.is_none() {
                warn(|| feed.done_before(upto));
            }
            break false;
        }
        if peeked.is_none() && guard(|| feed.peek_can_lack(upto)) {
            break false;
        }
        match peeked {
            Some(peeked) if Some(upto) > peeked.shown => raise(|| feed.beyond_batch(upto, peeked.shown)),
            None if !feed.has_all_up_to(upto) => raise(|| feed.beyond_horizon(upto)),
            _ => {}
        }
        if feed.go_on_to(upto) {
            if can_store() {
                log::clear(feed);
            }
            break true;
        }
        // With autocommit, another consumer may have moved it just now, up to there or less far.
        if peeked.is_some() {
            raise(|| feed.moved_meanwhile());
        }
    };
    spi::finish();
    is_new.into()
}

/// The size of the batch, if the call is one that can read a feed.
fn check_call(fcinfo: FunctionCallInfo, batch_size: Option<Datum>, effect: Effect) -> Result<usize, Error> {
    // SAFETY: the call, and variables of this backend.
    let (has_set, isolation, is_read_only) =
        unsafe { (!(*fcinfo).resultinfo.is_null(), pg_sys::XactIsoLevel as u32, pg_sys::XactReadOnly) };
    if !has_set {
        return Err(Error::new(
            SqlState::ERRCODE_FEATURE_NOT_SUPPORTED,
            "feeds can only be read where a set is accepted",
        ));
    }
    let size = batch_size.ok_or_else(|| null_argument("size of a batch"))?.value() as i32;
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
    if is_read_only && effect == Effect::Move {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot read a feed in a read-only transaction",
        )
        .detail("The position of the feed is stored."));
    }
    Ok(size as usize)
}

fn several_feeds() -> Error {
    Error::new(SqlState::ERRCODE_FEATURE_NOT_SUPPORTED, "a statement cannot read two feeds by sno_feed()")
        .detail("Rows that a join of them leaves out would count as read.")
        .hint("Store the rows of each feed by a statement of its own.")
}

/// Reads the batch below a horizon, and moves or locks the feed. Returns whether the batch has the rows to return.
///
/// Its bounds are `next ≤ last < until ≤ horizon`:
///
/// | | |
/// |---|---|
/// | `next` | the first ID that was not read |
/// | `horizon` | what the feed can read is below it. Where a row has failed, those before it are peeked at together, so that they can be done, and then it alone: it is that row's ID |
/// | `until` | the same, but of a scope after the last row of the batch: Citus would fetch all rows below the horizon |
/// | `end` | the last row of a batch that is full |
/// | `last` | up to where the feed goes: `end`, or all below `until`, or before the first row that the calling statement does not see |
/// | `batch.shown` | up to where a peek has shown all rows, and can be advanced over |
unsafe fn read_batch(
    feed: Feed,
    source: Source,
    kind: HorizonKind,
    horizon: Sno,
    batch: &mut Batch,
    effect: Effect,
) -> bool {
    let (next, is_of_scope) = (feed.next(), kind == HorizonKind::Scope);
    let range = Range::of(source, feed.id_type, is_of_scope);
    let is_careful = effect != Effect::Move && feed.careful_until().is_some();
    let before = if is_careful { before_failure(feed, range, horizon, batch) } else { Some(horizon) };
    let Some(horizon) = before else { return true };
    let mut until = horizon;
    if is_of_scope {
        let last = Range::nth(source, feed.id_type, batch.enough, [next, horizon], Sees::Statement);
        until = last.and_then(Sno::successor).unwrap_or(horizon);
    }
    range.read(next, until, batch, Sees::Statement);
    raw_point(c"rows read");
    // Without rows there is most often nothing to write.
    if batch.count == 0 && !feed.is_stale() {
        batch.shown = until.predecessor().filter(|_| effect == Effect::Lock && !snapshot_has_changed());
        return true;
    }
    // Up to the end of a full batch, or of the IDs below the horizon, where no row comes any more.
    let mut last = batch.end().or(until.predecessor());
    if snapshot_has_changed() {
        last = before_unseen(range, [next, horizon], batch).unwrap_or(last);
    }
    batch.shown = last;
    raw_point(c"end known");
    last.is_some_and(|last| {
        is_still(feed, source, kind)
            && match effect {
                _ if batch.count == 0 => !can_store() || store(feed, last),
                Effect::Move => move_past(feed, last),
                Effect::Lock => feed.lock(),
                Effect::Nothing => true,
            }
    })
}

/// The horizon for a feed in which a row has failed: that row's ID, if there are rows before it. `None` while the row that has failed is the
/// next one, and pauses. It comes alone, and so do rows of which one may have failed.
unsafe fn before_failure(feed: Feed, range: Range, horizon: Sno, batch: &mut Batch) -> Option<Sno> {
    let failure = Failure::find(feed, Sees::Statement);
    if let Some(failure) = failure.filter(|failure| failure.id < horizon) {
        let mut first = HasRow::new(feed);
        range.read(feed.next(), failure.id, &mut first, Sees::Statement);
        if first.is_there {
            return Some(failure.id);
        } else if failure.pause().is_some() {
            return None;
        }
    }
    if failure.is_none_or(|failure| failure.id != horizon) {
        batch.enough = 1;
    }
    Some(horizon)
}

/// If there is a row that the calling statement does not see, since it was committed later: the last ID before it, up to which the batch is
/// read once more. That row is left for the next call, with all that follow.
unsafe fn before_unseen(range: Range, [next, horizon]: [Sno; 2], batch: &mut Batch) -> Option<Option<Sno>> {
    let mut unseen = FirstUnseen::new(batch);
    let below = batch.end().and_then(Sno::successor).unwrap_or(horizon);
    range.read(next, below, &mut unseen, Sees::Now);
    let passed = unseen.found()?;
    if let Some(below) = passed.and_then(Sno::successor) {
        batch.clear();
        range.read(next, below, batch, Sees::Statement);
    }
    Some(passed)
}

/// Whether the rows that were read are the feed's. The statements that read them hold a lock on what they have read, so it can no longer
/// be renamed or changed: they are, if it is still the feed's source, with rows of the same servers as when the feed was opened.
pub(super) unsafe fn is_still(feed: Feed, source: Source, kind: HorizonKind) -> bool {
    source.is_there() && feed.horizon_kind() == kind
}

/// Moves the feed past the rows that it returns, and returns whether it was still there.
unsafe fn move_past(feed: Feed, last: Sno) -> bool {
    // The statements have fresh snapshots.
    raw_point(c"feed moves");
    let is_moved = go_on_and_clear(feed, last);
    // A transaction that has ended may have moved the feed after the calling statement began, which then does not see what it did
    // with its rows either: nothing is returned. If it was this transaction, the statement calls the function again.
    let moved_by_this = || match Meaning::of(feed.name, Some(feed.source), None, Sees::Now) {
        Meaning::One(feed) => feed.was_moved_by_this(),
        _ => false,
    };
    if !is_moved && moved_by_this() {
        raise(|| feed.read_again());
    }
    is_moved
}

/// Stores that there are no rows up to an ID, and returns whether it did. Nobody is waited for who has locked the feed.
pub(super) unsafe fn store(feed: Feed, last: Sno) -> bool {
    raw_point(c"feed moves");
    feed.lock_if_free() && go_on_and_clear(feed, last)
}

/// Moves the feed forward, and deletes from the log of changes that it reads what is read by all.
unsafe fn go_on_and_clear(feed: Feed, last: Sno) -> bool {
    let is_moved = feed.go_on_to(last);
    if is_moved {
        log::clear(feed);
    }
    raw_point(c"feed moved");
    is_moved
}
