//! uid60: the type. Its generator and its fields have rooms of their own.

mod fields;
pub(crate) mod generate;

use sno_core::kin::Uid60;
use sno_glue::{compare, functions, hash, io, sort};

functions! {
    /// `uid60_in(cstring) → uid60`
    uid60_in: io::input::<Uid60>;
    /// `uid60_out(uid60) → cstring`
    uid60_out: io::output::<Uid60>;
    /// `uid60_recv(internal) → uid60`
    uid60_recv: io::receive::<Uid60>;
    /// `uid60_send(uid60) → bytea`
    uid60_send: io::send::<Uid60>;
    /// `uid60 = uid60`
    uid60_eq: compare::eq::<Uid60>;
    /// `uid60 <> uid60`
    uid60_ne: compare::ne::<Uid60>;
    /// `uid60 < uid60`
    uid60_lt: compare::lt::<Uid60>;
    /// `uid60 <= uid60`
    uid60_le: compare::le::<Uid60>;
    /// `uid60 > uid60`
    uid60_gt: compare::gt::<Uid60>;
    /// `uid60 >= uid60`
    uid60_ge: compare::ge::<Uid60>;
    /// btree's three-way comparison.
    uid60_cmp: compare::cmp::<Uid60>;
    /// Transition function of `max(uid60)`.
    uid60_larger: compare::larger::<Uid60>;
    /// Transition function of `min(uid60)`.
    uid60_smaller: compare::smaller::<Uid60>;
    /// Sort support, by the datums.
    uid60_sortsupport: sort::unsigned;
    /// `uid60_hash(uid60) → integer`
    uid60_hash: hash::hash::<Uid60>;
    /// `uid60_hash_extended(uid60, bigint) → bigint`
    uid60_hash_extended: hash::hash_extended::<Uid60>;
    /// `uid60_to_bytea(uid60) → bytea`: the number as 8 bytes, big-endian.
    uid60_to_bytea: io::send::<Uid60>;
    /// `uid60_from_bytea(bytea) → uid60`
    uid60_from_bytea: io::from_bytea::<Uid60>;
}
