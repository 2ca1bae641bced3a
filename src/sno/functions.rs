//! The functions of the type, except those for its fields, for generation and for the planner.

use sno_core::Sno;

use crate::{
    fixed::{sort, type_functions},
    pg::{datum::Uuid, errors::Error, fmgr::pg_function},
};

type_functions!(Sno, "sno", sort::abbreviated::<Sno>);

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

    /// `sno_to_uuidv7(sno) → uuid`: a version 7 with the fields of the ID.
    fn sno_to_uuidv7(id: Sno) -> Uuid {
        Uuid(id.to_uuidv7())
    }

    /// `uuidv7_to_sno(uuid) → sno`
    fn uuidv7_to_sno(uuid: Uuid) -> Result<Sno, Error> {
        let detail = "It is not a result of sno_to_uuidv7.";
        Sno::from_uuidv7(uuid.0).ok_or_else(|| Error::uuid("sno", &uuid.0, detail))
    }

    /// `sno_brin_distance(sno, sno) → double precision`: the distance of two IDs, in ticks. `minmax_multi` merges the
    /// ranges that are closest to each other.
    fn sno_brin_distance(left: Sno, right: Sno) -> f64 {
        left.distance(right)
    }
}
