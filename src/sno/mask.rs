//! Masked IDs: encrypted with a key that the caller passes.
//!
//! Each call expands its key, which is about 10 % of the call: no key is cached.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode as SqlState, pg_sys};
use sno_core::{Sno, mask::Key};

use crate::pg::{
    datum::NewVarlena,
    errors::{Error, sentence},
    fmgr::export,
};

export! { sno_mask, sno_unmask }

/// `sno_mask(sno, bytea, text) → text`
fn sno_mask(id: Sno, key: &[u8], context: &[u8]) -> Result<NewVarlena<[u8; 16]>, Error> {
    expand(key).map(|key| NewVarlena(key.mask(id, utf8(context))))
}

/// `sno_unmask(text, bytea, text) → sno`
fn sno_unmask(masked: &[u8], key: &[u8], context: &[u8]) -> Result<Sno, Error> {
    expand(key).and_then(|key| {
        key.unmask(masked, utf8(context)).map_err(|error| {
            Error::quoting(SqlState::ERRCODE_INVALID_TEXT_REPRESENTATION, "invalid masked sno:", masked)
                .detail(sentence(error))
        })
    })
}

fn expand(key: &[u8]) -> Result<Key, Error> {
    // The message has the length only: a message goes to the log.
    Key::new(key).map_err(|error| {
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, "invalid length of a key for masks")
            .detail(sentence(error))
    })
}

/// A text of the database in UTF-8, so that the same context is the same tweak in every database.
fn utf8(text: &[u8]) -> &[u8] {
    let length = text.len();
    // SAFETY: a text in the database's encoding. The result is that text, or another that ends with a zero byte.
    unsafe {
        let source = text.as_ptr().cast();
        let converted = pg_sys::pg_server_to_any(source, length as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted.cast_const() == source {
            return text;
        }
        CStr::from_ptr(converted).to_bytes()
    }
}
