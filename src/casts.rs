//! Casts to and from other types. Those to and from `text` go by input and output, the one to
//! `timestamptz` is [`sno_time`](crate::fields).

use sno_core::Sno;
use sno_glue::{errors::Error, functions, io};

use crate::v1::{Uuid, v1};

functions! {
    /// `sno_to_bytea(sno) → bytea`: the ten bytes.
    sno_to_bytea: io::send::<Sno>;
    /// `sno_from_bytea(bytea) → sno`
    sno_from_bytea: io::from_bytea::<Sno>;
}

v1! {
    /// `sno_to_uuid(sno) → uuid`: the 16 characters as the 16 bytes, in the same order.
    fn sno_to_uuid(id: Sno) -> Uuid {
        Uuid(id.to_text())
    }
}

v1! {
    /// `sno_from_uuid(uuid) → sno`
    fn sno_from_uuid(uuid: Uuid) -> Sno {
        Sno::parse_bytes(&uuid.0).map_err(|error| {
            // 16 bytes they are, so it is one of them.
            let place = error.position().map_or(0, |position| position + 1);
            let detail = format!("Byte {place} is not the code of one of the characters 2-9 and a-x.");
            Error::uuid("sno", &uuid.0, detail)
        })
    }
}
