//! Types of fixed length: what they have in common.

pub(crate) mod compare;
pub(crate) mod hash;
pub(crate) mod io;
pub(crate) mod sort;

use std::fmt::Display;

use crate::pg::{
    datum::{Argument, Returned},
    errors::Error,
};

/// A type of fixed length: its values as text and as bytes.
pub(crate) trait Fixed: Argument + Returned + Ord {
    /// What the type is called.
    const NAME: &'static str;

    /// The text form.
    type Text: Copy + AsRef<[u8]>;

    /// The binary form, which is also what is hashed.
    type Bytes: for<'a> TryFrom<&'a [u8]> + AsRef<[u8]> + Copy;

    /// What is wrong with a text or with bytes, as the core says it. Small, since it is on the way of every value.
    type Wrong: Display;

    /// The value of a text. Like [`from_bytes`](Self::from_bytes), it runs outside of the guard and may not panic.
    fn parse(text: &[u8]) -> Result<Self, Self::Wrong>;

    /// The value of a binary form of the right length.
    fn from_bytes(bytes: Self::Bytes) -> Result<Self, Self::Wrong>;

    /// The text form of a value.
    fn to_text(self) -> Self::Text;

    /// The binary form of a value.
    fn to_bytes(self) -> Self::Bytes;

    /// How long the binary form is.
    const LENGTH: usize = size_of::<Self::Bytes>();
}

/// A field of an ID that came as an `integer`, since SQL has no smaller type without a sign.
pub(crate) fn field(name: &str, value: i32, max: u16) -> Result<u16, Error> {
    u16::try_from(value).ok().filter(|field| *field <= max).ok_or_else(|| Error::field(name, value, max))
}
