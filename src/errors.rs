//! The errors that only `sno` has; what extensions have in common is [`sno_glue::errors`].

use pgrx::PgSqlErrorCode as State;
use sno_core::ParseError;
pub(crate) use sno_glue::errors::Error;

/// The times that a sno holds.
pub(crate) const SPAN: &str =
    "A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.";

/// A uuid whose bytes are not the characters of a sno.
pub(crate) fn uuid(bytes: &[u8; 16], error: ParseError) -> Error {
    let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    Error::new(State::ERRCODE_INVALID_TEXT_REPRESENTATION, format!("uuid does not hold a sno: \"{text}\""))
        .detail(format!(
            "Byte {} is not the code of one of the characters 2-9 and a-x.",
            error.position().map_or(0, |position| position + 1)
        ))
}
