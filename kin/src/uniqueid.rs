//! uniqueid: the type. Its generator and its fields have rooms of their own.

mod fields;
pub(crate) mod generate;

use sno_core::kin::UniqueId;
use sno_glue::{compare, functions, hash, io, sort};

functions! {
    /// `uniqueid_in(cstring) → uniqueid`
    uniqueid_in: io::input::<UniqueId>;
    /// `uniqueid_out(uniqueid) → cstring`
    uniqueid_out: io::output::<UniqueId>;
    /// `uniqueid_recv(internal) → uniqueid`
    uniqueid_recv: io::receive::<UniqueId>;
    /// `uniqueid_send(uniqueid) → bytea`
    uniqueid_send: io::send::<UniqueId>;
    /// `uniqueid = uniqueid`
    uniqueid_eq: compare::eq::<UniqueId>;
    /// `uniqueid <> uniqueid`
    uniqueid_ne: compare::ne::<UniqueId>;
    /// `uniqueid < uniqueid`
    uniqueid_lt: compare::lt::<UniqueId>;
    /// `uniqueid <= uniqueid`
    uniqueid_le: compare::le::<UniqueId>;
    /// `uniqueid > uniqueid`
    uniqueid_gt: compare::gt::<UniqueId>;
    /// `uniqueid >= uniqueid`
    uniqueid_ge: compare::ge::<UniqueId>;
    /// btree's three-way comparison.
    uniqueid_cmp: compare::cmp::<UniqueId>;
    /// Transition function of `max(uniqueid)`.
    uniqueid_larger: compare::larger::<UniqueId>;
    /// Transition function of `min(uniqueid)`.
    uniqueid_smaller: compare::smaller::<UniqueId>;
    /// Sort support, by the datums.
    uniqueid_sortsupport: sort::unsigned;
    /// `uniqueid_hash(uniqueid) → integer`
    uniqueid_hash: hash::hash::<UniqueId>;
    /// `uniqueid_hash_extended(uniqueid, bigint) → bigint`
    uniqueid_hash_extended: hash::hash_extended::<UniqueId>;
    /// `uniqueid_to_bytea(uniqueid) → bytea`: the 8 bytes.
    uniqueid_to_bytea: io::send::<UniqueId>;
    /// `uniqueid_from_bytea(bytea) → uniqueid`
    uniqueid_from_bytea: io::from_bytea::<UniqueId>;
}
