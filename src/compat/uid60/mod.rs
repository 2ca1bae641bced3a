//! uid60: the type.

pub(crate) mod generate;

mod fields;

use sno_core::compat::{InvalidId, Uid60};

use crate::{
    fixed::{Fixed, compare, hash, io, sort},
    pg::{datum::by_value, fmgr::functions},
};

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

by_value! {
    Uid60: |datum| Uid60::from_bits(datum.value() as u64), |id| id.get().into();
}

impl Fixed for Uid60 {
    const NAME: &'static str = "uid60";
    type Text = [u8; 10];
    type Bytes = [u8; 8];
    type Error = InvalidId;

    fn parse(text: &[u8]) -> Result<Self, InvalidId> {
        Self::parse_bytes(text)
    }

    fn from_bytes(bytes: [u8; 8]) -> Result<Self, InvalidId> {
        Self::new(u64::from_be_bytes(bytes))
    }

    fn to_text(self) -> [u8; 10] {
        self.to_text()
    }

    fn to_bytes(self) -> [u8; 8] {
        self.get().to_be_bytes()
    }
}
