//! Masked IDs: encrypted with a key that the caller passes.
//!
//! The key is expanded anew in each call, which takes a tenth of it: no key is cached.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode as SqlState, pg_sys};
use sno_core::{Sno, mask::Key};

use crate::{
    fixed::io::Bytea,
    pg::{
        datum::Bytes,
        errors::{Error, sentence},
        fmgr::pg_function,
    },
};

pg_function! {
    /// `sno_mask(sno, bytea, text) → text`
    fn sno_mask(id: Sno, key: Bytes<'_>, context: Bytes<'_>) -> Bytea<[u8; 16]> {
        expand(key).map(|key| Bytea(key.mask(id, utf8(&context))))
    }
}

pg_function! {
    /// `sno_unmask(text, bytea, text) → sno`
    fn sno_unmask(masked: Bytes<'_>, key: Bytes<'_>, context: Bytes<'_>) -> Sno {
        expand(key).and_then(|key| {
            key.unmask(masked.0, utf8(&context)).map_err(|error| {
                Error::quoting(SqlState::ERRCODE_INVALID_TEXT_REPRESENTATION, "invalid masked sno:", masked.0)
                    .detail(sentence(error))
            })
        })
    }
}

fn expand(key: Bytes<'_>) -> Result<Key, Error> {
    // The message has the length only: a message goes to the log.
    Key::new(key.0).map_err(|error| {
        Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, "invalid length of a key for masks")
            .detail(sentence(error))
    })
}

/// A text of the database in UTF-8, so that the same context is the same tweak in every database.
fn utf8<'a>(text: &'a Bytes<'_>) -> &'a [u8] {
    let length = text.0.len();
    // SAFETY: a text in the database's encoding. The result is that text, or another that ends with a zero byte.
    unsafe {
        let source = text.0.as_ptr().cast();
        let converted = pg_sys::pg_server_to_any(source, length as i32, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted.cast_const() == source {
            return text.0;
        }
        CStr::from_ptr(converted).to_bytes()
    }
}
