//! uniqueid: the type.

pub(crate) mod generate;

mod fields;

use sno_core::compat::{InvalidId, UniqueId};

use crate::{
    fixed::{Fixed, compare, hash, io, sort},
    pg::{datum::by_value, fmgr::functions},
};

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

by_value! {
    UniqueId: |datum| UniqueId::new(datum.value() as u64), |id| id.get().into();
}

impl Fixed for UniqueId {
    const NAME: &'static str = "uniqueid";
    type Text = [u8; 16];
    type Bytes = [u8; 8];
    type Error = InvalidId;

    fn parse(text: &[u8]) -> Result<Self, InvalidId> {
        Self::parse_bytes(text)
    }

    fn from_bytes(bytes: [u8; 8]) -> Result<Self, InvalidId> {
        Ok(Self::new(u64::from_be_bytes(bytes)))
    }

    fn to_text(self) -> [u8; 16] {
        self.to_text()
    }

    fn to_bytes(self) -> [u8; 8] {
        self.get().to_be_bytes()
    }
}
