//! A look for a row of a feed, for those who [wait](super::wait).

use std::time::Duration;

use pgrx::pg_sys::{Datum, Oid};
use sno_core::{Sno, Tick};

use crate::{
    pg::{
        datum::Timestamp,
        errors::guard,
        raw, spi,
        wait::{Limit, raw_point},
    },
    sno::{
        feed::{
            failures::Failure,
            horizon::{Horizon, can_store},
            horizon_kind::HorizonKind,
            ledger::Feed,
            query::Sees,
            range::Range,
            read::{is_still, store},
            rows::HasRow,
            source::Source,
        },
        horizon::reader::first_id,
        id,
    },
};

/// How long a look at rows of several servers may take. One that is frozen answers nothing.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// What a look has found.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Whether there is a row to read.
    pub(super) is_ready: bool,
    /// The margin of the feed, in microseconds.
    pub(super) margin: u64,
    /// Whether other servers write its rows, too, so that this one does not notice when to look.
    pub(super) is_of_scope: bool,
    /// How long to wait before it looks anew, in microseconds: the next row has failed, or what was read was not the feed's.
    pub(super) pause: Option<u64>,
}

/// Looks for a row of a feed between two IDs, or for none, for a wait with so much time left. From time to time it looks for all,
/// and stores that there are none.
/// In a transaction without a snapshot.
pub(super) unsafe fn look(
    name: Option<Datum>,
    source: Option<Oid>,
    left: Duration,
    between: Option<[Sno; 2]>,
) -> Look {
    spi::connect();
    raw_point(c"look begins");
    // What the transactions have changed in catalogs whose end the caller has seen.
    raw::AcceptInvalidationMessages();
    let feed = Feed::find_to_read(name, source);
    raw_point(c"look finds feed");
    let kind = feed.horizon_kind();
    let is_of_scope = kind == HorizonKind::Scope;
    let limit = is_of_scope.then(|| Limit::after((left + LONGEST_LOOK).as_micros() as i64));
    let margin = feed.margin().micros().max(0) as u64;
    let pause = pause(feed);
    let is_ready = match between {
        _ if pause.is_some() => Some(false),
        _ if is_of_scope => look_in_scope(feed, kind, margin),
        Some(between) => look_between(feed, kind, between),
        None => Some(false),
    };
    if let Some(limit) = limit {
        limit.end();
    }
    spi::finish();
    let pause = pause.or(is_ready.is_none().then_some(0));
    Look { is_ready: is_ready == Some(true), margin, is_of_scope, pause }
}

/// The same for rows of this server; nothing, if what was read was not the feed's.
unsafe fn look_between(feed: Feed, kind: HorizonKind, [mut from, mut below]: [Sno; 2]) -> Option<bool> {
    // A call of sno_feed() sets it back.
    if guard(|| feed.goes_back()).is_some() {
        return Some(true);
    }
    let stores = feed.is_stale() && can_store();
    if stores && let Horizon::UpTo(horizon) = feed.horizon(kind) {
        (from, below) = (Sno::MIN, horizon);
    }
    let source = feed.source();
    let mut first = HasRow::new(feed);
    Range::of(source, feed.id_type, false).read(feed.next().max(from), below, &mut first, Sees::Now);
    raw_point(c"look has read");
    found(feed, source, kind, first.is_there, below.predecessor().filter(|_| stores))
}

/// What a look has found, if it has read the feed's rows. If there are none, it stores up to where.
unsafe fn found(
    feed: Feed,
    source: Source,
    kind: HorizonKind,
    is_there: bool,
    last: Option<Sno>,
) -> Option<bool> {
    if !is_still(feed, source, kind) {
        return None;
    }
    if let Some(last) = last.filter(|_| !is_there) {
        store(feed, last);
    }
    Some(is_there)
}

/// How long nothing of a feed is to be read, since its next row has failed, in microseconds.
unsafe fn pause(feed: Feed) -> Option<u64> {
    let failure = Failure::find(feed, Sees::Now)?;
    let pause = failure.pause()?;
    let mut first = HasRow::new(feed);
    Range::of(feed.source(), feed.id_type, false).read(feed.next(), failure.id, &mut first, Sees::Now);
    (!first.is_there).then_some(pause)
}

/// The same for rows of several servers. All of them are asked only if there is a row, or if it is time to store that there is none.
unsafe fn look_in_scope(feed: Feed, kind: HorizonKind, margin: u64) -> Option<bool> {
    let first = |source, below| Range::nth(source, feed.id_type, 1, [feed.next(), below], Sees::Now);
    if !(feed.is_stale() && can_store()) {
        let time = Timestamp(Timestamp::now().0.saturating_sub(margin as i64));
        let recent = first_id(id::tick(time).unwrap_or(Tick::MIN));
        let first = first(feed.source(), recent);
        return Some(first.is_some_and(|first| match feed.horizon(kind) {
            Horizon::UpTo(horizon) => first < horizon,
            Horizon::GoesBack(_) => true,
        }));
    }
    let Horizon::UpTo(horizon) = feed.horizon(kind) else { return Some(true) };
    let source = feed.source();
    found(feed, source, kind, first(source, horizon).is_some(), horizon.predecessor())
}

/// Whether a feed has read an ID. If it never will, since its source is gone, that is an error.
/// In a transaction without a snapshot.
pub(super) unsafe fn has_read(name: Option<Datum>, source: Option<Oid>, id: Sno) -> bool {
    spi::connect();
    let feed = Feed::find(name, source, Sees::Now);
    let is_read = guard(|| feed.goes_back()).or(feed.position()) >= Some(id);
    if !is_read {
        feed.source();
    }
    spi::finish();
    is_read
}
