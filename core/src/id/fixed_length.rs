//! What types of fixed length have in common.

use core::fmt::Display;

/// A type whose values have a text and a binary form of fixed length each. The binary form has the order of the values.
///
/// ```
/// use sno_core::{FixedLength, Sno};
///
/// fn bytes_of_text<T: FixedLength>(text: &str) -> Result<T::Bytes, T::Error> {
///     T::parse_bytes(text.as_bytes()).map(T::to_bytes)
/// }
///
/// assert_eq!(bytes_of_text::<Sno>("9q7k4op826n2g222"), Ok(*b"\x3e\x0b\x21\x5a\xe6\x01\x2a\x07\x00\x00"));
/// ```
pub trait FixedLength: Copy + Ord {
    /// The name of the type in SQL and in messages.
    const NAME: &'static str;
    /// The text form: ASCII.
    type Text: Copy + AsRef<[u8]>;
    /// The binary form, big-endian.
    type Bytes: Copy + AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;
    /// Why a text or bytes are not a value.
    type Error: Copy + Display;

    /// The value of a text, which need not be UTF-8.
    ///
    /// # Errors
    ///
    /// The text is not one that [`to_text`](Self::to_text) returns, or another spelling that the type allows.
    fn parse_bytes(text: &[u8]) -> Result<Self, Self::Error>;

    /// The value of its binary form.
    ///
    /// # Errors
    ///
    /// The bytes are not those of a value.
    fn from_bytes(bytes: Self::Bytes) -> Result<Self, Self::Error>;

    /// The text form.
    fn to_text(self) -> Self::Text;

    /// The binary form.
    fn to_bytes(self) -> Self::Bytes;
}
