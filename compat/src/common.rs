//! What functions of several schemes share: arguments and errors.

use std::str::FromStr;

use pgrx::PgSqlErrorCode as SqlState;
use sno_core::{OutOfEpoch, Sno};

use crate::{
    pg::{
        datum::Timestamp,
        errors::{Error, sentence},
    },
    sno::{SPAN, metabyte},
};

/// A value of another type that is not an ID.
pub(crate) fn out_of_range(name: &str, value: i64, reason: impl ToString) -> Error {
    Error::new(SqlState::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range: {value}"))
        .detail(sentence(reason))
}

/// An invalid argument.
pub(crate) fn invalid_argument(name: &str, value: &[u8], reason: impl ToString) -> Error {
    Error::quoting(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, &format!("invalid {name}:"), value)
        .detail(sentence(reason))
}

/// The sno of an ID of another scheme, or an error if a sno can't hold its time.
pub(crate) fn into_sno(
    byte: i32,
    time: Timestamp,
    convert: impl FnOnce(u8) -> Result<Sno, OutOfEpoch>,
) -> Result<Sno, Error> {
    convert(metabyte(byte)?).map_err(|_| Error::time("sno", time, SPAN))
}

/// The value of an argument of type `text` that is an ASCII name; `what` is for the error.
pub(crate) fn named<T: FromStr<Err: ToString>>(what: &str, text: &[u8]) -> Result<T, Error> {
    let name = str::from_utf8(text).unwrap_or_default();
    name.parse().map_err(|error: T::Err| invalid_argument(what, text, error))
}
