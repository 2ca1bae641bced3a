//! Types of fixed length, and which of the core's are such.

use std::fmt::{self, Display};

use sno_core::{ParseError, Sno};

use crate::v1::{Argument, Returned};

/// A type of fixed length: its values as text and as bytes.
pub trait Fixed: Argument + Returned + Ord {
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

impl Fixed for Sno {
    const NAME: &'static str = "sno";
    type Text = [u8; 16];
    type Bytes = [u8; 10];

    type Wrong = WrongSno;

    #[inline(always)]
    fn parse(text: &[u8]) -> Result<Self, WrongSno> {
        match Self::parse_bytes(text) {
            Ok(id) => Ok(id),
            Err(error) => parse_digits(text, error),
        }
    }

    #[inline(always)]
    fn from_bytes(bytes: [u8; 10]) -> Result<Self, WrongSno> {
        Ok(Self::from_bytes(bytes))
    }

    #[inline(always)]
    fn to_text(self) -> [u8; 16] {
        self.to_text()
    }

    #[inline(always)]
    fn to_bytes(self) -> [u8; 10] {
        self.to_bytes()
    }
}

/// The second form of a text that is not of the first.
#[cold]
fn parse_digits(text: &[u8], error: ParseError) -> Result<Sno, WrongSno> {
    match text.strip_prefix(b"\\x") {
        None => Err(WrongSno::Characters(error)),
        Some(digits) => Sno::parse_hex(digits).ok_or(WrongSno::Digits),
    }
}

/// Why a text is no sno.
pub enum WrongSno {
    /// It is not the 16 characters.
    Characters(ParseError),
    /// It starts as bytes do, which drivers may send, and goes on in another way.
    Digits,
}

impl Display for WrongSno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Characters(error) if error.position().is_some() => error.fmt(f),
            Self::Characters(_) => f.write_str("a sno is 16 characters, or \\x and 20 hexadecimal digits"),
            Self::Digits => f.write_str("after \\x a sno has 20 hexadecimal digits"),
        }
    }
}

#[cfg(feature = "kin")]
mod kin {
    use sno_core::kin::{Gid, InvalidId, Uid60, UniqueId};

    use super::Fixed;

    impl Fixed for Uid60 {
        const NAME: &'static str = "uid60";
        type Text = [u8; 10];
        type Bytes = [u8; 8];
        type Wrong = InvalidId;

        fn parse(text: &[u8]) -> Result<Self, InvalidId> {
            Self::parse_bytes(text)
        }

        fn from_bytes(bytes: [u8; 8]) -> Result<Self, InvalidId> {
            Self::new(u64::from_be_bytes(bytes))
        }

        fn to_text(self) -> [u8; 10] {
            self.to_text()
        }

        fn to_bytes(self) -> [u8; 8] {
            self.get().to_be_bytes()
        }
    }

    impl Fixed for UniqueId {
        const NAME: &'static str = "uniqueid";
        type Text = [u8; 16];
        type Bytes = [u8; 8];
        type Wrong = InvalidId;

        fn parse(text: &[u8]) -> Result<Self, InvalidId> {
            Self::parse_bytes(text)
        }

        fn from_bytes(bytes: [u8; 8]) -> Result<Self, InvalidId> {
            Ok(Self::new(u64::from_be_bytes(bytes)))
        }

        fn to_text(self) -> [u8; 16] {
            self.to_text()
        }

        fn to_bytes(self) -> [u8; 8] {
            self.get().to_be_bytes()
        }
    }

    impl Fixed for Gid {
        const NAME: &'static str = "gid";
        type Text = [u8; 24];
        type Bytes = [u8; 16];
        type Wrong = InvalidId;

        fn parse(text: &[u8]) -> Result<Self, InvalidId> {
            Self::parse_bytes(text)
        }

        fn from_bytes(bytes: [u8; 16]) -> Result<Self, InvalidId> {
            Self::from_bytes(bytes)
        }

        fn to_text(self) -> [u8; 24] {
            self.to_text()
        }

        fn to_bytes(self) -> [u8; 16] {
            self.to_bytes()
        }
    }
}
