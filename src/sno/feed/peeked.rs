//! What a session remembers of its peeks, for the advances that follow.

use std::{
    cell::{Cell, RefCell},
    ffi::c_int,
};

use pgrx::pg_sys::NameData;
use sno_core::{Sno, server::record::LoweringNumber};

use crate::{
    pg::{backend_local::BackendLocal, datum::Argument as _, errors::Error, process::Process, raw},
    sno::{
        feed::ledger::Feed,
        horizon::reader::{goes_on_after, was_of_future},
    },
};

/// What a transaction has peeked at.
#[derive(Clone, Copy)]
pub(super) struct Peeked {
    /// A hash of the feed's name and owner.
    feed: u64,
    /// The position of the feed then.
    pub(super) position: Option<Sno>,
    /// Up to which ID it was given all rows.
    pub(super) shown: Option<Sno>,
    /// The last lowering of the horizons before that.
    pub(super) lowering: LoweringNumber,
}

/// What the present transaction has peeked at, and the number of the transaction.
// SAFETY: for functions, which SQL calls.
static PEEKED: BackendLocal<(Cell<u32>, RefCell<Vec<Peeked>>)> =
    unsafe { BackendLocal::new((Cell::new(0), RefCell::new(Vec::new()))) };

/// The last lowering of the horizons when this session last peeked at a feed, with a [hash](Feed::hash) of the feed. Of two feeds with one place in the table, the later one replaces the other.
// SAFETY: as above.
static PEEK_LOWERINGS: BackendLocal<[Cell<(u64, LoweringNumber)>; 32]> =
    unsafe { BackendLocal::new([const { Cell::new((0, LoweringNumber::ZERO)) }; 32]) };

impl Feed {
    /// The names are a text and a `name`.
    pub(super) unsafe fn hash(self) -> u64 {
        // Neither raises an error.
        let name = <&[u8]>::from_datum(self.name);
        let owner = self.owner.cast_mut_ptr::<u8>();
        let seed = raw::hash_bytes_extended(owner, size_of::<NameData>() as c_int, 0);
        raw::hash_bytes_extended(name.as_ptr(), name.len() as c_int, seed)
    }

    /// Remembers that this transaction has peeked at it.
    pub(super) unsafe fn remember(self, shown: Option<Sno>) {
        let feed = self.hash();
        PEEK_LOWERINGS[feed as usize % PEEK_LOWERINGS.len()].set((feed, self.last_lowering));
        let (transaction, peeked) = &*PEEKED;
        let mut peeked = peeked.borrow_mut();
        let present = Process::own().transaction();
        let is_of_this = transaction.replace(present) == present;
        peeked.retain(|_| is_of_this);
        // A smaller batch, of a second peek, takes nothing away from the first.
        let before = peeked.iter().find(|peeked| peeked.feed == feed).copied();
        peeked.retain(|peeked| peeked.feed != feed);
        let shown = before.map_or(shown, |before| shown.max(before.shown));
        let lowering = before.map_or(self.last_lowering, |before| self.last_lowering.min(before.lowering));
        peeked.push(Peeked { feed, position: self.position(), shown, lowering });
    }

    /// What this transaction has peeked at last, if it has.
    pub(super) unsafe fn peeked(self) -> Option<Peeked> {
        let feed = self.hash();
        let (transaction, peeked) = &*PEEKED;
        let is_of_this = transaction.get() == Process::own().transaction();
        peeked.borrow().iter().find(|peeked| is_of_this && peeked.feed == feed).copied()
    }

    /// Whether it was moved since this transaction has peeked at it, by another consumer, or in a savepoint that was rolled back: then the peek
    /// has not shown all rows that come now, or others have them, too. What this transaction does itself is no such move.
    pub(super) fn was_moved_since(self, peeked: Peeked) -> bool {
        peeked.position > self.position() || peeked.position != self.position() && !self.was_moved_by_this()
    }

    /// Whether the last peek at it, of an earlier transaction of this session, can lack rows up to an ID that have come since: the horizons
    /// were lowered meanwhile. An error, if the peek of another session can. Inside the guard.
    pub(super) fn peek_can_lack(self, id: Sno) -> Result<bool, Error> {
        // SAFETY: a feed that was found.
        let feed = unsafe { self.hash() };
        let (peeked, lowering) = PEEK_LOWERINGS[feed as usize % PEEK_LOWERINGS.len()].get();
        if peeked != feed && was_of_future(id)? {
            return Err(self.peeked_elsewhere(id));
        }
        Ok(peeked == feed && goes_on_after(id, lowering)?.is_some())
    }
}
