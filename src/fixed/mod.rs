//! Functions of all types of fixed length.

pub(crate) mod compare;
pub(crate) mod hash;
pub(crate) mod io;
pub(crate) mod sort;

use std::fmt::Display;

use crate::pg::datum::{Argument, Returned};

/// A type of fixed length: its values as text and as bytes.
pub(crate) trait Fixed: Argument + Returned + Ord {
    /// The name of the type.
    const NAME: &'static str;

    /// The text form.
    type Text: Copy + AsRef<[u8]>;

    /// The binary form, which is also what is hashed.
    type Bytes: for<'a> TryFrom<&'a [u8]> + AsRef<[u8]> + Copy;

    /// Why a text or bytes are not a value. It should be small, since [`parse`](Self::parse) returns it or the value.
    /// `Copy`, since nothing drops it when the error is raised.
    type Error: Display + Copy;

    /// The value of a text. It is called outside the guard and may not panic, and nor may [`from_bytes`](Self::from_bytes).
    fn parse(text: &[u8]) -> Result<Self, Self::Error>;

    /// What may have been meant by a text that is not a value, as a sentence for a HINT.
    fn hint(_text: &[u8]) -> Option<String> {
        None
    }

    /// The value of a binary form of the right length.
    fn from_bytes(bytes: Self::Bytes) -> Result<Self, Self::Error>;

    /// The text form of a value.
    fn to_text(self) -> Self::Text;

    /// The binary form of a value.
    fn to_bytes(self) -> Self::Bytes;

    /// The length of the binary form in bytes.
    const LENGTH: usize = size_of::<Self::Bytes>();
}
