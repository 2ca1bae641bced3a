//! Types of fixed length, and which of the core's are such.

use sno_core::Sno;

use crate::v1::{Argument, Returned};

/// A type of fixed length: its values as text and as bytes.
pub trait Fixed: Argument + Returned + Ord {
    /// What the type is called.
    const NAME: &'static str;

    /// The text form.
    type Text: Copy + AsRef<[u8]>;

    /// The binary form, which is also what is hashed.
    type Bytes: for<'a> TryFrom<&'a [u8]> + AsRef<[u8]>;

    /// The value of a text, or a sentence that says what a text has to be. Like [`from_bytes`](Self::from_bytes), it
    /// runs outside of the guard and may not panic.
    fn parse(text: &[u8]) -> Result<Self, String>;

    /// The value of a binary form of the right length, or a sentence that says what it has to be.
    fn from_bytes(bytes: Self::Bytes) -> Result<Self, String>;

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

    /// 16 characters, or `\x` and 20 hexadecimal digits.
    #[inline(always)]
    fn parse(text: &[u8]) -> Result<Self, String> {
        match text.strip_prefix(b"\\x") {
            None => Self::parse_bytes(text).map_err(|error| match error.position() {
                Some(position) => format!("Character {} is not one of 2-9 and a-x.", position + 1),
                None => "A sno is 16 characters, or \\x and 20 hexadecimal digits.".into(),
            }),
            Some(digits) => {
                Self::parse_hex(digits).ok_or_else(|| "After \\x a sno has 20 hexadecimal digits.".into())
            }
        }
    }

    #[inline(always)]
    fn from_bytes(bytes: [u8; 10]) -> Result<Self, String> {
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

#[cfg(feature = "kin")]
mod kin {
    use sno_core::kin::{Gid, Uid60, UniqueId};

    use super::Fixed;
    use crate::errors::sentence;

    impl Fixed for Uid60 {
        const NAME: &'static str = "uid60";
        type Text = [u8; 10];
        type Bytes = [u8; 8];

        fn parse(text: &[u8]) -> Result<Self, String> {
            Self::parse_bytes(text).map_err(sentence)
        }

        fn from_bytes(bytes: [u8; 8]) -> Result<Self, String> {
            Self::new(u64::from_be_bytes(bytes)).map_err(sentence)
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

        fn parse(text: &[u8]) -> Result<Self, String> {
            Self::parse_bytes(text).map_err(sentence)
        }

        fn from_bytes(bytes: [u8; 8]) -> Result<Self, String> {
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

        fn parse(text: &[u8]) -> Result<Self, String> {
            Self::parse_bytes(text).map_err(sentence)
        }

        fn from_bytes(bytes: [u8; 16]) -> Result<Self, String> {
            Self::from_bytes(bytes).map_err(sentence)
        }

        fn to_text(self) -> [u8; 24] {
            self.to_text()
        }

        fn to_bytes(self) -> [u8; 16] {
            self.to_bytes()
        }
    }
}
