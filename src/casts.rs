//! Casts to and from other types. Those to and from `text` go by input and output, the one to
//! `timestamptz` is [`sno_time`](crate::fields).

use pgrx::pg_sys;
use sno_core::Sno;

use crate::{errors::Error, io::bytea, v1::v1};

v1! {
    /// `sno_to_bytea(sno) → bytea`: the ten bytes.
    fn sno_to_bytea(id: Sno) -> pg_sys::Datum {
        bytea(id.as_ref())
    }
}

v1! {
    /// `sno_from_bytea(bytea) → sno`
    fn sno_from_bytea(bytes: pg_sys::Datum) -> Sno {
        // SAFETY: the argument is a bytea; its bytes stay where they are while they are copied.
        let bytes = unsafe {
            let varlena = pg_sys::pg_detoast_datum_packed(bytes.cast_mut_ptr());
            pgrx::varlena_to_byte_slice(varlena)
        };
        Sno::try_from(bytes).map_err(|_| Error::length(bytes.len()))
    }
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
        Sno::parse_bytes(&bytes).map_err(|error| Error::uuid(&bytes, error))
    }
}
