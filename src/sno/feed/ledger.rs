//! The ledger of feeds: which feed a role means by a name, by what right it may use that, and how far the feed was read.
//!
//! Only this file, [`failures`](super::failures), [`manage`](super::manage) and `sno_lower_horizon()` change
//! `sno_internal.feed_positions` and `sno_internal.feed_failures`. Of roles, only the one that restores a dump has a right to. Each
//! statement of [`as_owner`] runs as the owner of the tables, on nothing but these; whether it may run is decided before, by the rights of the
//! calling role.

use std::{
    cell::{Cell, RefCell},
    ffi::{CStr, c_char, c_int},
    mem,
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, ItemPointerData, NameData, Oid},
};
use sno_core::Sno;

use crate::{
    pg::{
        backend_local::BackendLocal,
        datum::{Argument as _, Timestamp},
        errors::{Error, guard},
        process::Process,
        raw,
        rights::{as_role, owner_of},
    },
    sno::{
        feed::{
            newest,
            query::{Row, Rows, Sees, query},
        },
        horizon::reader::{goes_on_after, lowered},
    },
};

const OWNER_OF_EXTENSION: &CStr =
    c"SELECT e.extowner FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'sno'";

// Statements on the version of a feed's row that was found: an index would lead to all of them.

/// Locks a feed, unless another transaction has locked it.
const LOCK_IF_FREE: &CStr = c"SELECT FROM sno_internal.feed_positions p
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 FOR NO KEY UPDATE SKIP LOCKED";

/// Locks a feed that is where it was found.
const LOCK: &CStr = c"SELECT FROM sno_internal.feed_positions p
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 AND p.moved OPERATOR(pg_catalog.=) $4
    AND (p.position OPERATOR(pg_catalog.=) $5 OR p.position IS NULL AND $5 IS NULL) FOR NO KEY UPDATE";

/// Moves a feed that is where it was found.
const MOVE: &CStr = c"UPDATE sno_internal.feed_positions p SET moved = $6, position = $7, lowered = $8,
    careful_until = CASE WHEN p.careful_until OPERATOR(pg_catalog.>) $7 THEN p.careful_until END
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 AND p.moved OPERATOR(pg_catalog.=) $4
    AND (p.position OPERATOR(pg_catalog.=) $5 OR p.position IS NULL AND $5 IS NULL)";

/// Notes the servers whose horizons a feed is below, if it is where it was found.
const NOTE_SERVERS: &CStr = c"UPDATE sno_internal.feed_positions p SET servers = $6
WHERE p.ctid OPERATOR(pg_catalog.=) $3 AND p.feed OPERATOR(pg_catalog.=) $1 AND p.owner OPERATOR(pg_catalog.=) $2 AND p.moved OPERATOR(pg_catalog.=) $4
    AND (p.position OPERATOR(pg_catalog.=) $5 OR p.position IS NULL AND $5 IS NULL)";

const FORGET_FAILURES: &CStr = c"DELETE FROM sno_internal.feed_failures f
WHERE f.feed OPERATOR(pg_catalog.=) $1 AND f.owner OPERATOR(pg_catalog.=) $2";

/// A source of which a restore has the name.
pub(super) const TO_REGCLASS: &CStr = c"SELECT pg_catalog.to_regclass($1)";

/// By what right a role may use a feed, the best one first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Right {
    /// The role has created the feed.
    Creator,
    /// The role is a member of the creator.
    MemberOfCreator,
    /// The role owns the feed's source, or the extension. A feed has the name of its creator, which no command changes: so after a restore
    /// with --no-owner, REASSIGN OWNED, or when the creator was renamed or dropped, somebody can still use it.
    OwnerOfSource,
}

/// A feed: a row of the table, whose values live until `SPI_finish`.
#[derive(Clone, Copy)]
pub(super) struct Feed {
    /// The name that was given.
    pub(super) name: Datum,
    pub(super) owner: Datum,
    /// Not valid, if a restore has not found it.
    pub(super) source: Oid,
    pub(super) source_name: Option<Datum>,
    pub(super) key: Datum,
    /// The number of the key's column, if the source has it.
    pub(super) key_number: Option<i16>,
    pub(super) margin: Option<Datum>,
    pub(super) position: Option<Datum>,
    /// The type of IDs.
    pub(super) id_type: Oid,
    /// When the position was stored.
    pub(super) moved: Datum,
    /// Up to which ID a peek returns its rows one by one, since one of them has failed.
    careful_until: Option<Datum>,
    /// The transaction that has stored this version of the row, and its place.
    writer: u32,
    place: ItemPointerData,
    /// What [`lowered`](crate::sno::horizon::reader::lowered) returned before its position was computed.
    pub(super) lowered: u64,
    /// What it returns now: before the feed was found.
    pub(super) lowered_now: u64,
    /// The servers whose horizons the position is below, as the scope of its rows has said.
    pub(super) servers: Option<Datum>,
    /// The owner of another feed of this name, with another source, which the role may use, too.
    other: Option<Datum>,
}

/// What a role means by a name.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    One(Feed),
    /// Several; two of them belong to these roles.
    Several(Datum, Datum),
    /// Only feeds that the calling role may not use; one belongs to this role.
    Others(Datum),
    None,
}

/// Executes a statement as the owner of the tables.
///
/// # Safety
/// After `SPI_connect`, and as for the functions of [`raw`]. A statement on the tables of the ledger, which calls nothing of a user's.
pub(super) unsafe fn as_owner<const N: usize>(
    text: &CStr,
    params: [(Oid, Option<Datum>); N],
    sees: Sees,
) -> Rows {
    // SAFETY: as promised by the caller.
    unsafe {
        let schema = raw::get_namespace_oid(c"sno_internal".as_ptr(), false);
        let table = raw::get_relname_relid(c"feed_positions".as_ptr(), schema);
        as_role(owner_of(table), || query(text, params, sees))
    }
}

/// The right by which a role may use the feed of an owner, if any. `owner_of_extension` is given once no other right was found.
unsafe fn may_use(role: Oid, owner: Datum, source: Oid, owner_of_extension: Option<Oid>) -> Option<Right> {
    // SAFETY: a name, and look-ups by it.
    unsafe {
        let owner = raw::get_role_oid(owner.cast_mut_ptr(), true);
        if owner == role {
            return Some(Right::Creator);
        }
        let is = |other: Oid| other != Oid::INVALID && raw::has_privs_of_role(role, other);
        if is(owner) {
            Some(Right::MemberOfCreator)
        } else if is(owner_of(source)) || owner_of_extension.is_some_and(is) {
            Some(Right::OwnerOfSource)
        } else {
            None
        }
    }
}

/// Whether a role is a member of the owner of a feed, and not only a superuser.
unsafe fn is_member(role: Oid, owner: Datum) -> bool {
    // SAFETY: a name, and look-ups by it.
    unsafe {
        !raw::superuser_arg(role)
            || raw::is_member_of_role_nosuper(role, raw::get_role_oid(owner.cast_mut_ptr(), true))
    }
}

/// Whether the role may use the feed of an owner with a source.
///
/// # Safety
/// As for [`Feed::find`]. A name.
pub(super) unsafe fn is_usable(owner: Datum, source: Oid) -> bool {
    // SAFETY: as promised by the caller.
    unsafe {
        let role = raw::GetUserId();
        may_use(role, owner, source, None).is_some()
            || may_use(role, owner, source, Some(owner_of_extension())).is_some()
    }
}

unsafe fn owner_of_extension() -> Oid {
    // SAFETY: as for `query`.
    unsafe {
        let rows = query(OWNER_OF_EXTENSION, [], Sees::Now);
        if rows.count > 0 { rows.row(0).value(1).map_or(Oid::INVALID, oid) } else { Oid::INVALID }
    }
}

/// An OID, as an argument or a column.
pub(super) fn oid(datum: Datum) -> Oid {
    Oid::from(datum.value() as u32)
}

unsafe fn is_same_name(a: Datum, b: Datum) -> bool {
    // SAFETY: two names.
    unsafe { (*a.cast_mut_ptr::<NameData>()).data == (*b.cast_mut_ptr::<NameData>()).data }
}

/// A text that PostgreSQL has allocated.
pub(super) unsafe fn text(text: *const c_char) -> String {
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(text).to_string_lossy().into_owned() }
}

impl Meaning {
    /// What the calling role means by a name: of several feeds the one with the given source, then the one for which it has the best right.
    ///
    /// # Safety
    /// After `SPI_connect`, and as for the functions of [`raw`]. A text and a name.
    pub(super) unsafe fn of(name: Datum, source: Option<Oid>, owner: Option<Datum>, sees: Sees) -> Self {
        // SAFETY: as promised by the caller.
        unsafe {
            let role = raw::GetUserId();
            let mut extension = None;
            let rows = newest::rows(name, sees);
            loop {
                let (mut best, mut found) = (None, Self::None);
                for row in rows.clone() {
                    let feed = Feed::of(name, row);
                    if owner.is_some_and(|owner| !is_same_name(owner, feed.owner)) {
                        continue;
                    }
                    let Some(right) = may_use(role, feed.owner, feed.source, extension) else {
                        if best.is_none() {
                            found = Self::Others(feed.owner);
                        }
                        continue;
                    };
                    let rank = (source.is_some_and(|source| source != feed.source), right);
                    if best.is_none_or(|best| rank < best) {
                        (best, found) = (Some(rank), Self::One(feed));
                    } else if best == Some(rank)
                        && let Self::One(other) = found
                    {
                        found = Self::Several(other.owner, feed.owner);
                    }
                }
                if let (Some((_, right)), Self::One(feed)) = (best, &mut found) {
                    let mut others = rows.clone().map(|row| Feed::of(name, row));
                    let other = others.find(|other| {
                        other.source != feed.source
                            && may_use(role, other.owner, other.source, extension).is_some()
                            // What a superuser's own feed is called means that feed, whoever creates another one of the name.
                            && (right != Right::Creator || is_member(role, other.owner))
                    });
                    feed.other = other.map(|other| other.owner);
                }
                if !matches!(found, Self::Others(_)) || extension.is_some() {
                    return found;
                }
                extension = Some(owner_of_extension());
            }
        }
    }
}

impl Feed {
    unsafe fn of(name: Datum, row: Row) -> Self {
        // SAFETY: the columns of the table.
        unsafe {
            let value = |column: c_int| row.value(column).unwrap_or(Datum::null());
            let source_name = row.value(4);
            let by_name =
                || as_owner(TO_REGCLASS, [(pg_sys::TEXTOID, source_name)], Sees::Now).row(0).value(1);
            Self {
                name,
                owner: value(newest::OWNER.into()),
                source: row.value(1).or_else(by_name).map_or(Oid::INVALID, oid),
                source_name,
                key: value(5),
                margin: row.value(6),
                position: row.value(7),
                id_type: row.type_of(7),
                moved: value(8),
                careful_until: row.value(9),
                writer: value(pg_sys::MinTransactionIdAttributeNumber).value() as u32,
                place: row.place(),
                lowered: value(10).value() as u64,
                // Before its horizon is read. Where it can't be known, nothing is read or stored.
                lowered_now: lowered().unwrap_or(0),
                servers: row.value(12),
                other: None,
                key_number: row.value(11).map(|number| number.value() as i16),
            }
        }
    }

    /// The feed that the role means by a name, or the error that says why there is none.
    ///
    /// # Safety
    /// After `SPI_connect`, and as for the functions of [`raw`]. The name is a text.
    pub(super) unsafe fn find(name: Option<Datum>, source: Option<Oid>, sees: Sees) -> Self {
        // SAFETY: as promised by the caller.
        unsafe {
            let name = name.unwrap_or_else(|| guard(|| Err(null_argument("name of a feed"))));
            match Meaning::of(name, source, None, sees) {
                Meaning::One(feed) => feed,
                Meaning::Several(a, b) => guard(|| Err(several(name, a, b))),
                Meaning::Others(owner) => guard(|| Err(of_others(name, owner))),
                Meaning::None => guard(|| Err(missing(name))),
            }
        }
    }

    /// As [`find`](Self::find), for a call that says which rows are done or have failed. If the role may use feeds of this name with
    /// different sources, the call must name the source.
    ///
    /// # Safety
    /// As for [`Feed::find`].
    pub(super) unsafe fn find_of_rows(name: Option<Datum>, source: Option<Oid>) -> Self {
        // SAFETY: as promised by the caller.
        let feed = unsafe { Self::find(name, source, Sees::Now) };
        if let (None, Some(other)) = (source, feed.other) {
            // SAFETY: no frame has anything to drop.
            unsafe { guard(|| -> Result<(), Error> { Err(several(feed.name, feed.owner, other)) }) };
        }
        feed
    }

    /// As [`find`](Self::find), for a call that reads rows of whatever source the feed has. A superuser, or the owner of the extension, may
    /// use the feeds of all roles, and would run functions of the role that has created a feed of this name: a view's, or those in the
    /// expressions of a table's indexes, which the planner runs. So such a role must name the source, unless the feed or its source is its
    /// own, or the source is a superuser's.
    ///
    /// # Safety
    /// As for [`Feed::find`].
    pub(super) unsafe fn find_to_read(name: Option<Datum>, source: Option<Oid>) -> Self {
        // SAFETY: as promised by the caller.
        unsafe {
            let feed = Self::find(name, source, Sees::Now);
            let owner = owner_of(feed.source);
            let is_one_of = |other| raw::is_member_of_role_nosuper(raw::GetUserId(), other);
            if source.is_none()
                && owner != Oid::INVALID
                && !is_one_of(raw::get_role_oid(feed.owner.cast_mut_ptr(), true))
                && !is_one_of(owner)
                && !raw::superuser_arg(owner)
            {
                guard(|| -> Result<(), Error> { Err(no_source_named(feed)) });
            }
            feed
        }
    }

    pub(super) fn position(self) -> Option<Sno> {
        // SAFETY: an ID.
        self.position.map(|position| unsafe { Sno::from_datum(position) })
    }

    /// Up to which ID a peek returns its rows one by one.
    pub(super) fn careful_until(self) -> Option<Sno> {
        // SAFETY: an ID.
        self.careful_until.map(|id| unsafe { Sno::from_datum(id) }).filter(|&id| Some(id) > self.position())
    }

    /// Whether this transaction, or one of its subtransactions, has moved it to where it is.
    pub(super) fn was_moved_by_this(self) -> bool {
        // SAFETY: looks at this transaction.
        unsafe { raw::TransactionIdIsCurrentTransactionId(self.writer) }
    }

    /// The key of its row.
    pub(super) fn names(self) -> [(Oid, Option<Datum>); 2] {
        [(pg_sys::TEXTOID, Some(self.name)), (pg_sys::NAMEOID, Some(self.owner))]
    }

    /// Where it was found: the place of its row, when it had come there, and its position.
    fn found(&mut self) -> [(Oid, Option<Datum>); 3] {
        let place = Datum::from(&raw mut self.place);
        let moved = (pg_sys::TIMESTAMPTZOID, Some(self.moved));
        [(pg_sys::TIDOID, Some(place)), moved, (self.id_type, self.position)]
    }

    /// Executes a statement on its row, and returns whether that was as it was found, but for what does not move it.
    unsafe fn execute<const N: usize>(&mut self, text: &CStr, params: [(Oid, Option<Datum>); N]) -> bool {
        // SAFETY: as for `lock`. One of the parameters points to the place.
        unsafe {
            as_owner(text, params, Sees::Now).count > 0
                || self.has_other_version() && as_owner(text, params, Sees::Now).count > 0
        }
    }

    /// Whether its row has another version by now, and takes the place of that.
    unsafe fn has_other_version(&mut self) -> bool {
        // SAFETY: as for `lock`. The columns of the table.
        unsafe {
            let is_it = |row: &Row| {
                row.value(newest::OWNER.into()).is_some_and(|owner| is_same_name(owner, self.owner))
            };
            let Some(row) = newest::rows(self.name, Sees::Now).find(is_it) else { return false };
            let before = mem::replace(&mut self.place, row.place());
            raw::ItemPointerCompare(&raw const before, &raw const self.place) != 0
        }
    }

    /// Locks it until the transaction ends, and returns whether it is still where it was found.
    ///
    /// # Safety
    /// After `SPI_connect`, and as for the functions of [`raw`].
    pub(super) unsafe fn lock(mut self) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            let ([name, owner], [place, moved, position]) = (self.names(), self.found());
            self.execute(LOCK, [name, owner, place, moved, position])
        }
    }

    /// Locks it if no other transaction has locked it, and returns whether it did; also if the feed was moved since it was found.
    ///
    /// # Safety
    /// As for [`Feed::lock`].
    pub(super) unsafe fn lock_if_free(mut self) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            let ([name, owner], [place, ..]) = (self.names(), self.found());
            self.execute(LOCK_IF_FREE, [name, owner, place])
        }
    }

    /// Moves it forward from where it was found, and returns whether it was still there.
    ///
    /// # Safety
    /// As for [`Feed::lock`].
    pub(super) unsafe fn go_on_to(self, last: Sno) -> bool {
        // SAFETY: as promised by the caller.
        unsafe { self.go_to(last, self.position().is_none_or(|position| position <= last)) }
    }

    /// The same for a feed that goes back, since the horizons were lowered.
    ///
    /// # Safety
    /// As for [`Feed::lock`].
    pub(super) unsafe fn go_back_to(self, last: Sno) -> bool {
        // SAFETY: as promised by the caller.
        unsafe { self.go_to(last, self.position().is_none_or(|position| position >= last)) }
    }

    /// # Safety
    /// As for [`Feed::lock`].
    unsafe fn go_to(mut self, mut last: Sno, is_right_way: bool) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            if !is_right_way {
                guard(|| -> Result<(), Error> { Err(astray(self.name, last)) });
            }
            // The time is another one than before, so that LOCK and MOVE notice a feed that was moved away and back.
            let (now, before) = (Timestamp::now().0, self.moved.value() as i64);
            let now = if now == before { now + 1 } else { now };
            let ([name, owner], [place, moved, position]) = (self.names(), self.found());
            let now = (pg_sys::TIMESTAMPTZOID, Some(Datum::from(now)));
            let to = (self.id_type, Some((&raw mut last).into()));
            let lowered = (pg_sys::INT8OID, Some(Datum::from(self.lowered_now as i64)));
            let is_moved = self.execute(MOVE, [name, owner, place, moved, position, now, to, lowered]);
            if is_moved && self.careful_until().is_some_and(|until| until <= last) {
                self.forget_failures();
            }
            is_moved
        }
    }

    /// Notes the servers whose horizons it is below, and returns whether it is still where it was found. If another transaction has locked it,
    /// which may move it, that is not waited for.
    ///
    /// # Safety
    /// As for [`Feed::lock`]. A text.
    pub(super) unsafe fn note_servers(mut self, servers: Datum) -> bool {
        // SAFETY: as promised by the caller.
        unsafe {
            let ([name, owner], [place, moved, position]) = (self.names(), self.found());
            let params = [name, owner, place, moved, position, (pg_sys::TEXTOID, Some(servers))];
            self.lock_if_free() && self.execute(NOTE_SERVERS, params)
        }
    }

    /// # Safety
    /// As for [`Feed::lock`].
    pub(super) unsafe fn forget_failures(self) {
        // SAFETY: as promised by the caller.
        unsafe { as_owner(FORGET_FAILURES, self.names(), Sees::Now) };
    }
}

/// What a transaction has peeked at.
#[derive(Clone, Copy)]
pub(super) struct Peeked {
    /// A hash of the feed's name and owner.
    feed: u64,
    /// The position of the feed then.
    pub(super) position: Option<Sno>,
    /// Up to which ID it was given all rows.
    pub(super) shown: Option<Sno>,
    /// What [`lowered`](crate::sno::horizon::reader::lowered) had returned before that.
    pub(super) lowered: u64,
}

/// What the present transaction has peeked at, and the number of the transaction.
// SAFETY: for functions, which SQL calls.
static PEEKED: BackendLocal<(Cell<u32>, RefCell<Vec<Peeked>>)> =
    unsafe { BackendLocal::new((Cell::new(0), RefCell::new(Vec::new()))) };

/// What [`lowered`](crate::sno::horizon::reader::lowered) had returned when this session last peeked at a feed, with a [hash](Feed::hash)
/// of the feed. Of two feeds with one place in the table, the later one replaces the other.
// SAFETY: as above.
static PEEK_LOWERED: BackendLocal<[Cell<(u64, u64)>; 32]> =
    unsafe { BackendLocal::new([const { Cell::new((0, 0)) }; 32]) };

impl Feed {
    /// # Safety
    /// A text and a name.
    pub(super) unsafe fn hash(self) -> u64 {
        // SAFETY: as promised by the caller. Neither raises an error.
        unsafe {
            let name = <&[u8]>::from_datum(self.name);
            let owner = self.owner.cast_mut_ptr::<u8>();
            let seed = raw::hash_bytes_extended(owner, size_of::<NameData>() as c_int, 0);
            raw::hash_bytes_extended(name.as_ptr(), name.len() as c_int, seed)
        }
    }

    /// Remembers that this transaction has peeked at it.
    ///
    /// # Safety
    /// A feed that was found.
    pub(super) unsafe fn remember(self, shown: Option<Sno>) {
        // SAFETY: as promised by the caller.
        let feed = unsafe { self.hash() };
        PEEK_LOWERED[feed as usize % PEEK_LOWERED.len()].set((feed, self.lowered_now));
        let (transaction, peeked) = &*PEEKED;
        let mut peeked = peeked.borrow_mut();
        let present = Process::own().transaction();
        let is_of_this = transaction.replace(present) == present;
        peeked.retain(|_| is_of_this);
        // A smaller batch, of a second peek, takes nothing away from the first.
        let before = peeked.iter().find(|peeked| peeked.feed == feed).copied();
        peeked.retain(|peeked| peeked.feed != feed);
        let shown = before.map_or(shown, |before| shown.max(before.shown));
        let lowered = before.map_or(self.lowered_now, |before| self.lowered_now.min(before.lowered));
        peeked.push(Peeked { feed, position: self.position(), shown, lowered });
    }

    /// What this transaction has peeked at last, if it has.
    ///
    /// # Safety
    /// A feed that was found.
    pub(super) unsafe fn peeked(self) -> Option<Peeked> {
        // SAFETY: as promised by the caller.
        let feed = unsafe { self.hash() };
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
    /// were lowered meanwhile. Inside the guard.
    pub(super) fn peek_can_lack(self, id: Sno) -> Result<bool, Error> {
        // SAFETY: a feed that was found.
        let feed = unsafe { self.hash() };
        let (peeked, lowered) = PEEK_LOWERED[feed as usize % PEEK_LOWERED.len()].get();
        let is_known = self.margin.is_some() && peeked == feed;
        Ok(is_known && goes_on_after(id, lowered)?.is_some())
    }
}

/// A feed's name. Inside the guard, as all of these.
pub(super) fn shown(name: Datum) -> String {
    // SAFETY: a text.
    unsafe { text(pg_sys::text_to_cstring(name.cast_mut_ptr())) }
}

fn role(name: Datum) -> String {
    // SAFETY: a name.
    unsafe { text(name.cast_mut_ptr()) }
}

pub(super) fn null_argument(what: &str) -> Error {
    Error::new(SqlState::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{what} must not be null"))
}

pub(super) fn missing(name: Datum) -> Error {
    Error::new(SqlState::ERRCODE_UNDEFINED_OBJECT, format!("feed \"{}\" does not exist", shown(name))).hint(
        "A dump of single tables or schemas lacks feeds: copy their positions, too. A new feed returns all rows, unless since says otherwise.",
    )
}

pub(super) fn of_others(name: Datum, owner: Datum) -> Error {
    let message = format!("must be a member of role \"{}\" to use feed \"{}\"", role(owner), shown(name));
    Error::new(SqlState::ERRCODE_INSUFFICIENT_PRIVILEGE, message)
}

pub(super) fn several(name: Datum, a: Datum, b: Datum) -> Error {
    let (a, b) = (role(a), role(b));
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    Error::new(SqlState::ERRCODE_AMBIGUOUS_ALIAS, format!("several roles have a feed \"{}\"", shown(name)))
        .detail(format!("Role \"{a}\" has one, and role \"{b}\" has one."))
        .hint(
            "Use SET ROLE, or the argument source, to select one, or drop one by sno_drop_feed(feed, owner).",
        )
}

fn no_source_named(feed: Feed) -> Error {
    let (name, owner) = (shown(feed.name), role(feed.owner));
    let message = format!("source of feed \"{name}\" of role \"{owner}\" must be named");
    Error::new(SqlState::ERRCODE_INSUFFICIENT_PRIVILEGE, message)
        .detail("Reading it can call functions of its owner.")
        .hint("Use the argument source, or SET ROLE.")
}

/// A mistake of this library.
fn astray(name: Datum, last: Sno) -> Error {
    let message = format!("feed \"{}\" would go to \"{last}\"", shown(name));
    Error::new(SqlState::ERRCODE_INTERNAL_ERROR, message)
}
