//! What functions of several systems share: arguments, errors, random numbers, texts.

use std::str::FromStr;

use pgrx::{
    PgSqlErrorCode as State,
    pg_sys::{self, Datum},
};
use sno_core::{OutOfEpoch, Sno};

use crate::{
    pg::{
        datum::{Bytes, Timestamp},
        errors::{Error, sentence},
    },
    sno::fields,
};

/// A value of another type that is not an ID.
pub(crate) fn out_of_range(name: &str, value: i64, reason: impl ToString) -> Error {
    Error::new(State::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range: {value}"))
        .detail(sentence(reason))
}

/// An invalid argument.
pub(crate) fn invalid_argument(name: &str, value: impl AsRef<[u8]>, reason: impl ToString) -> Error {
    Error::quoting(State::ERRCODE_INVALID_PARAMETER_VALUE, format!("invalid {name}:"), value)
        .detail(sentence(reason))
}

/// The sno of an ID of another system, or an error if a sno can't hold its time.
pub(crate) fn into_sno(
    metabyte: i32,
    unix_micros: i64,
    convert: impl FnOnce(u8) -> Result<Sno, OutOfEpoch>,
) -> Result<Sno, Error> {
    convert(fields::metabyte(metabyte)?)
        .map_err(|_| Error::time("sno", Timestamp::from_unix_micros(unix_micros), fields::SPAN))
}

/// Cryptographically strong random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    // SAFETY: as many bytes are written as there are.
    if unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), N) } {
        Ok(bytes)
    } else {
        Err(Error::new(State::ERRCODE_INTERNAL_ERROR, "could not generate random values"))
    }
}

/// A `text` of these characters.
pub(crate) fn text(characters: &str) -> Datum {
    // SAFETY: PostgreSQL copies as many bytes as there are.
    unsafe { pg_sys::cstring_to_text_with_len(characters.as_ptr().cast(), characters.len() as i32).into() }
}

/// The value of an argument of type `text` that is an ASCII name; `what` is for the error.
pub(crate) fn named<T: FromStr<Err: ToString>>(what: &str, text: Bytes<'_>) -> Result<T, Error> {
    let name = str::from_utf8(text.0).unwrap_or_default();
    name.parse().map_err(|error: T::Err| invalid_argument(what, text.0, error))
}
