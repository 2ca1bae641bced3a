//! An ID as PostgreSQL passes it.

use std::ops::Deref;

use sno_core::FixedLength;

/// A value of a type of this extension: a type of this crate, since the core does not know of datums.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Id<T>(pub(crate) T);

impl<T> Deref for Id<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FixedLength> FixedLength for Id<T> {
    const NAME: &'static str = T::NAME;
    type Text = T::Text;
    type Bytes = T::Bytes;
    type Error = T::Error;

    #[inline(always)]
    fn parse_bytes(text: &[u8]) -> Result<Self, T::Error> {
        T::parse_bytes(text).map(Self)
    }

    #[inline(always)]
    fn from_bytes(bytes: T::Bytes) -> Result<Self, T::Error> {
        T::from_bytes(bytes).map(Self)
    }

    #[inline(always)]
    fn to_text(self) -> T::Text {
        self.0.to_text()
    }

    #[inline(always)]
    fn to_bytes(self) -> T::Bytes {
        self.0.to_bytes()
    }
}
