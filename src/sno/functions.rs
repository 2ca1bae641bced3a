//! The functions of the type, except those for its fields, for generation and for the planner.

use sno_core::Sno;

use crate::{
    fixed::{compare, hash, io, sort},
    pg::{
        datum::Uuid,
        errors::Error,
        fmgr::{functions, pg_function},
    },
};

functions! {
    /// `sno_in(cstring) → sno`
    sno_in: io::input::<Sno>;
    /// `sno_out(sno) → cstring`
    sno_out: io::output::<Sno>;
    /// `sno_recv(internal) → sno`
    sno_recv: io::receive::<Sno>;
    /// `sno_send(sno) → bytea`
    sno_send: io::send::<Sno>;
    /// `sno = sno`
    sno_eq: compare::eq::<Sno>;
    /// `sno <> sno`
    sno_ne: compare::ne::<Sno>;
    /// `sno < sno`
    sno_lt: compare::lt::<Sno>;
    /// `sno <= sno`
    sno_le: compare::le::<Sno>;
    /// `sno > sno`
    sno_gt: compare::gt::<Sno>;
    /// `sno >= sno`
    sno_ge: compare::ge::<Sno>;
    /// btree's three-way comparison: negative, zero or positive.
    sno_cmp: compare::cmp::<Sno>;
    /// Transition function of `max(sno)`.
    sno_larger: compare::larger::<Sno>;
    /// Transition function of `min(sno)`.
    sno_smaller: compare::smaller::<Sno>;
    /// `sno_sortsupport(internal) → void`
    sno_sortsupport: sort::abbreviated::<Sno>;
    /// `sno_hash(sno) → integer`
    sno_hash: hash::hash::<Sno>;
    /// `sno_hash_extended(sno, bigint) → bigint`
    sno_hash_extended: hash::hash_extended::<Sno>;
    /// `sno_to_bytea(sno) → bytea`: the ten bytes.
    sno_to_bytea: io::send::<Sno>;
    /// `sno_from_bytea(bytea) → sno`
    sno_from_bytea: io::from_bytea::<Sno>;
}

pg_function! {
    /// `sno_to_uuid(sno) → uuid`: the 16 characters as the 16 bytes, in the same order.
    fn sno_to_uuid(id: Sno) -> Uuid {
        Uuid(id.to_text())
    }

    /// `sno_from_uuid(uuid) → sno`
    fn sno_from_uuid(uuid: Uuid) -> Result<Sno, Error> {
        Sno::parse_bytes(&uuid.0).map_err(|error| {
            // There are 16 bytes, so the error has a position.
            let place = error.position().map_or(0, |position| position + 1);
            let detail = format!("Byte {place} is not the code of one of the characters 2-9 and a-x.");
            Error::uuid("sno", &uuid.0, detail)
        })
    }

    /// `sno_brin_distance(sno, sno) → double precision`: the distance of two IDs, in ticks. `minmax_multi` merges the
    /// ranges that are closest to each other.
    fn sno_brin_distance(left: Sno, right: Sno) -> f64 {
        left.distance(right)
    }
}
