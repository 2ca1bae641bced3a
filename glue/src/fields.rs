//! Arguments that become fields of an ID.

use crate::errors::Error;

/// The times that a sno holds.
pub const SNO_SPAN: &str =
    "A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.";

/// A field that came as an `integer`, since SQL has no smaller type without a sign.
pub fn field(name: &str, value: i32, max: u16) -> Result<u16, Error> {
    u16::try_from(value).ok().filter(|field| *field <= max).ok_or_else(|| Error::field(name, value, max))
}

/// A sno's metabyte.
pub fn metabyte(value: i32) -> Result<u8, Error> {
    field("metabyte", value, u8::MAX.into()).map(|byte| byte as u8)
}
