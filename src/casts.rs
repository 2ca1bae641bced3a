//! Casts to and from other types. Those to and from `text` go by input and output, the one to
//! `timestamptz` is [`sno_time`](crate::fields).

use pgrx::pg_sys;
use sno_core::Sno;
use sno_glue::{errors::Error, functions, io};

use crate::v1::v1;

functions! {
    /// `sno_to_bytea(sno) → bytea`: the ten bytes.
    sno_to_bytea: io::send::<Sno>;
    /// `sno_from_bytea(bytea) → sno`
    sno_from_bytea: io::from_bytea::<Sno>;
}

v1! {
    /// `sno_to_uuid(sno) → uuid`: the 16 characters as the 16 bytes, in the same order.
    fn sno_to_uuid(id: Sno) -> pg_sys::Datum {
        // SAFETY: a uuid is 16 bytes by reference, and as many are allocated.
        unsafe {
            let uuid = pg_sys::palloc(16).cast::<[u8; 16]>();
            uuid.write(id.to_text());
            pg_sys::Datum::from(uuid)
        }
    }
}

v1! {
    /// `sno_from_uuid(uuid) → sno`
    fn sno_from_uuid(uuid: pg_sys::Datum) -> Sno {
        // SAFETY: a uuid is 16 bytes by reference.
        let bytes = unsafe { *uuid.cast_mut_ptr::<[u8; 16]>() };
        Sno::parse_bytes(&bytes).map_err(|error| {
            // 16 bytes they are, so it is one of them.
            let place = error.position().map_or(0, |position| position + 1);
            let detail = format!("Byte {place} is not the code of one of the characters 2-9 and a-x.");
            Error::uuid("sno", &bytes, detail)
        })
    }
}
