//! How far a feed can be read: its horizon, of the kind that counts for it.

use std::{cell::RefCell, ffi::CStr, time::Duration};

use pgrx::pg_sys::{self, Datum};
use sno_core::{Sno, server::record::LoweringNumber};

use crate::{
    pg::{
        backend_local::BackendLocal,
        datum::{Argument as _, Interval, Timestamp},
        errors::{Error, guard, raise},
        raw,
        server::monotonic,
    },
    sno::{
        feed::{
            horizon_kind::{HorizonKind, horizon_kind},
            ledger::{Feed, text},
            query::{Sees, query},
        },
        horizon::reader::{self, begun, goes_on_after},
    },
};

/// How old a stored position gets while a feed is read without rows, in microseconds.
const IDLE: i64 = 10_000_000;

/// Asks for the horizon of a scope, with a margin ($1), a position ($2) and the servers that are known ($3). The second column is the least
/// that it can be: the tick after the position, which was below an earlier horizon.
const HORIZON_OF_SCOPE: &CStr = c"SELECT s.horizon, sno_internal.sno_first($2::pg_catalog.timestamptz, true), s.servers, s.since, s.partitions,
    s.servers OPERATOR(pg_catalog.=) $3
FROM sno_internal.sno_scope_horizon($1, $2, $3) s";

/// The last horizon of a scope that this session has asked for. A horizon remains true, so for a moment it serves all calls of the session.
struct RecentHorizon {
    at: Duration,
    horizon: Sno,
    /// The margin and the servers that it is for, and the last lowering of the horizons before.
    margin: i64,
    servers: String,
    lowering: LoweringNumber,
}

/// For how long it serves.
const RECENT_FOR: Duration = Duration::from_millis(50);

// SAFETY: for functions that SQL calls.
static RECENT: BackendLocal<RefCell<Option<RecentHorizon>>> =
    unsafe { BackendLocal::new(RefCell::new(None)) };

/// How far a feed can be read.
#[derive(Clone, Copy)]
pub(super) enum Horizon {
    /// Below this ID.
    UpTo(Sno),
    /// Not now: it has to go on after this ID, which is before its position.
    GoesBack(Sno),
}

impl Feed {
    pub(super) fn margin(self) -> Interval {
        // SAFETY: an interval.
        unsafe { Interval::from_datum(self.margin) }
    }

    /// The first ID that was not read. There is one, since a position is below a horizon.
    pub(super) fn next(self) -> Sno {
        self.position().map_or(Sno::MIN, |position| position.successor().unwrap_or(position))
    }

    /// Whether its position was stored elsewhere: before this server was promoted, restored or copied, or has lost its marks.
    pub(super) fn is_of_elsewhere(self) -> bool {
        self.lowering < begun()
    }

    /// Whether it is time to store the position, even without rows: for those who watch. One of elsewhere is told of until then.
    pub(super) fn is_stale(self) -> bool {
        self.is_of_elsewhere() || Timestamp::now().0 - self.moved.value() as i64 > IDLE
    }

    /// Which kind of horizon counts.
    pub(super) unsafe fn horizon_kind(self) -> HorizonKind {
        horizon_kind(self.source, self.key)
    }

    /// The horizon: that of this server or of all nodes. It is later than the snapshot by which the feed was found, and after its position,
    /// unless the feed has to go back.
    ///
    /// With it comes what the transactions below it have changed in catalogs, as they hold it until they have sent that. Otherwise a
    /// query whose locks this transaction has already would not notice a partition that was attached.
    pub(super) unsafe fn horizon(self, kind: HorizonKind) -> Horizon {
        let of_scope = (kind == HorizonKind::Scope).then(|| self.horizon_of_scope());
        let horizon = guard(|| {
            if let Some(last) = self.goes_back()? {
                return Ok(Horizon::GoesBack(last));
            }
            let horizon = of_scope.map_or_else(|| reader::horizon(self.margin()), Ok)?;
            match self.position() {
                Some(position) if position >= horizon => Err(self.no_progress(position, horizon)),
                _ => Ok(Horizon::UpTo(horizon)),
            }
        });
        raw::AcceptInvalidationMessages();
        horizon
    }

    /// Whether no row comes up to an ID any more.
    pub(super) unsafe fn has_all_up_to(self, id: Sno) -> bool {
        matches!(self.horizon(self.horizon_kind()), Horizon::UpTo(horizon) if id < horizon)
    }

    /// The ID after which the feed has to go on, if its position was ahead of the clock and the horizons were lowered since then, however
    /// long ago. Inside the guard.
    pub(super) fn goes_back(self) -> Result<Option<Sno>, Error> {
        self.position().map_or(Ok(None), |position| goes_on_after(position, self.lowering))
    }

    /// The horizon of a scope, or the least that there can be while that is not known. The position is below the horizons of the servers that
    /// were known when it was stored. Others may have rows before it, which were not read: that is an error.
    unsafe fn horizon_of_scope(self) -> Sno {
        if let Some(horizon) = guard(|| Ok(RecentHorizon::serving(self))) {
            return horizon;
        }
        let known = (pg_sys::TEXTOID, self.servers);
        let params = [(pg_sys::INTERVALOID, Some(self.margin)), (self.id_type, self.position), known];
        let row = query(HORIZON_OF_SCOPE, params, Sees::Now).row(0);
        let least = row.value(2).map_or(Sno::MIN, |least| Sno::from_datum(least));
        let (Some(horizon), Some(servers)) = (row.value(1), row.value(3)) else { return least };
        let horizon = Sno::from_datum(horizon);
        let is_known = row.value(6).is_some_and(|is_known| is_known.value() as u8 != 0);
        guard(|| {
            RECENT.replace(Some(RecentHorizon::new(self, servers, horizon)));
            Ok(())
        });
        if is_known || self.position() >= Some(horizon) {
            return horizon;
        }
        if let (Some(position), Some(partitions)) = (self.position(), row.value(5)) {
            let since = row.value(4).map_or(Sno::MIN, |since| Sno::from_datum(since));
            let source = self.source();
            if source.has_row([since, position], self.id_type, partitions) {
                raise(|| self.passed(position));
            }
            // It was another table's rows that were looked for.
            if !source.is_there() {
                return least;
            }
        }
        // If it cannot note them, another transaction is moving the feed, and has asked for the servers itself.
        if !can_store() || self.note_servers(servers) { horizon } else { least }
    }
}

impl RecentHorizon {
    /// Of a feed that these servers are known to. Inside the guard.
    fn new(feed: Feed, servers: Datum, horizon: Sno) -> Self {
        // SAFETY: a text.
        let servers = unsafe { text(pg_sys::text_to_cstring(servers.cast_mut_ptr())) };
        let margin = feed.margin().micros();
        Self { at: monotonic(), horizon, margin, servers, lowering: feed.last_lowering }
    }

    /// The last horizon, if it is of a moment ago, for such a feed, and after its position.
    fn serving(feed: Feed) -> Option<Sno> {
        let now = Self::new(feed, feed.servers?, feed.position().unwrap_or(Sno::MIN));
        let recent = RECENT.borrow();
        let recent = recent.as_ref()?;
        let is_of_such =
            (recent.margin, &recent.servers, recent.lowering) == (now.margin, &now.servers, now.lowering);
        let is_recent = now.at < recent.at + RECENT_FOR && now.horizon < recent.horizon;
        (is_of_such && is_recent).then_some(recent.horizon)
    }
}

/// Whether this transaction could move a feed.
pub(super) fn can_store() -> bool {
    // SAFETY: variables of this backend.
    unsafe { !pg_sys::XactReadOnly && (pg_sys::XactIsoLevel as u32) < pg_sys::XACT_REPEATABLE_READ }
}
