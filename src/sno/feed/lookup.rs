//! Which feed a role means by a name, and by what right it may use that.

use std::ffi::CStr;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{Datum, Oid},
};

use crate::{
    pg::{
        errors::{Error, raise},
        raw,
        rights::owner_of,
    },
    sno::feed::{
        ledger::{Feed, is_same_name, null_argument, oid, role, shown},
        newest,
        query::{Sees, query},
    },
};

const OWNER_OF_EXTENSION: &CStr =
    c"SELECT e.extowner FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'sno'";

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

/// The right by which a role may use the feed of an owner, if any. `owner_of_extension` is given once no other right was found.
unsafe fn may_use(role: Oid, owner: Datum, source: Oid, owner_of_extension: Option<Oid>) -> Option<Right> {
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

/// Whether a role is a member of the owner of a feed, and not only a superuser.
unsafe fn is_member(role: Oid, owner: Datum) -> bool {
    !raw::superuser_arg(role)
        || raw::is_member_of_role_nosuper(role, raw::get_role_oid(owner.cast_mut_ptr(), true))
}

/// Whether the role may use the feed of an owner with a source.
/// The name is a `name`.
pub(super) unsafe fn is_usable(owner: Datum, source: Oid) -> bool {
    let role = raw::GetUserId();
    may_use(role, owner, source, None).is_some()
        || may_use(role, owner, source, Some(owner_of_extension())).is_some()
}

unsafe fn owner_of_extension() -> Oid {
    let rows = query(OWNER_OF_EXTENSION, [], Sees::Now);
    if rows.count > 0 { rows.row(0).value(1).map_or(Oid::INVALID, oid) } else { Oid::INVALID }
}

impl Meaning {
    /// What the calling role means by a name: of several feeds the one with the given source, then the one for which it has the best right.
    ///
    /// # Safety
    ///
    /// `name` is a text, and `owner` a name.
    pub(super) unsafe fn of(name: Datum, source: Option<Oid>, owner: Option<Datum>, sees: Sees) -> Self {
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
                        // A superuser who names a feed of its own means that one, whoever creates another one of this name.
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

    /// The feed, or the error that says why a role means none by the name.
    pub(super) unsafe fn one(self, name: Datum) -> Feed {
        match self {
            Self::One(feed) => feed,
            Self::Several(a, b) => raise(|| several(name, a, b)),
            Self::Others(owner) => raise(|| of_others(name, owner)),
            Self::None => raise(|| missing(name)),
        }
    }
}

impl Feed {
    /// The feed that the role means by a name, or the error that says why there is none.
    /// The name is a text.
    pub(super) unsafe fn find(name: Option<Datum>, source: Option<Oid>, sees: Sees) -> Self {
        let name = name.unwrap_or_else(|| raise(|| null_argument("name of a feed")));
        Meaning::of(name, source, None, sees).one(name)
    }

    /// As [`find`](Self::find), for a call that says which rows are done or have failed. If the role may use feeds of this name with
    /// different sources, the call must name the source.
    pub(super) unsafe fn find_of_rows(name: Option<Datum>, source: Option<Oid>) -> Self {
        let feed = Self::find(name, source, Sees::Now);
        if let (None, Some(other)) = (source, feed.other) {
            raise(|| several(feed.name, feed.owner, other));
        }
        feed
    }

    /// As [`find`](Self::find), for a call that reads rows of whatever source the feed has. A superuser, or the owner of the extension, may
    /// use the feeds of all roles, and would run functions of the role that has created a feed of this name: those in the expressions of a
    /// table's indexes, which the planner runs. So such a role must name the source, unless the feed or its source is its
    /// own, or the source is a superuser's.
    pub(super) unsafe fn find_to_read(name: Option<Datum>, source: Option<Oid>) -> Self {
        let feed = Self::find(name, source, Sees::Now);
        if source != Some(feed.source) && !feed.is_trusted() {
            raise(|| no_source_named(feed));
        }
        feed
    }

    /// Whether the role, to read it, calls no functions of others that it is no member of, or of superusers.
    pub(super) unsafe fn is_trusted(self) -> bool {
        let owner = owner_of(self.source);
        let is_one_of = |other| raw::is_member_of_role_nosuper(raw::GetUserId(), other);
        owner == Oid::INVALID
            || is_one_of(raw::get_role_oid(self.owner.cast_mut_ptr(), true))
            || is_one_of(owner)
            || raw::superuser_arg(owner)
    }
}

pub(super) fn missing(name: Datum) -> Error {
    Error::new(SqlState::ERRCODE_UNDEFINED_OBJECT, format!("feed \"{}\" does not exist", shown(name))).hint(
        "A dump of single tables or schemas lacks feeds: copy their positions, too. A new feed returns all rows, unless since says otherwise.",
    )
}

fn of_others(name: Datum, owner: Datum) -> Error {
    let message = format!("must be a member of role \"{}\" to use feed \"{}\"", role(owner), shown(name));
    Error::new(SqlState::ERRCODE_INSUFFICIENT_PRIVILEGE, message)
}

fn several(name: Datum, a: Datum, b: Datum) -> Error {
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
