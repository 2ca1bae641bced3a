//! `Serialize` and `Deserialize`: the 16 characters in human-readable formats, the ten bytes in binary ones.

use core::fmt;

use ::serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::id::sno::Sno;

impl Serialize for Sno {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            // Not as a tuple: MessagePack and CBOR write up to two bytes for each byte of one.
            serializer.serialize_bytes(self.as_bytes())
        }
    }
}

impl<'de> Deserialize<'de> for Sno {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(TextOrBytes)
        } else {
            deserializer.deserialize_bytes(TextOrBytes)
        }
    }
}

/// Either in any format: behind `#[serde(flatten)]` and in enums without an outer tag, binary formats look
/// human-readable.
struct TextOrBytes;

impl de::Visitor<'_> for TextOrBytes {
    type Value = Sno;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sno of 16 characters or 10 bytes")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Sno, E> {
        let bytes = bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))?;
        Ok(Sno::from_bytes(bytes))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Sno, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_test::{
        Compact, Configure as _, Readable, Token, assert_de_tokens, assert_de_tokens_error, assert_tokens,
    };

    use crate::id::sno::Sno;

    const ID: Sno = Sno::literal("9q7k4op826n2g222");
    const BYTES: [u8; 10] = ID.to_bytes();

    #[test]
    fn text_when_human_readable() {
        assert_tokens(&ID.readable(), &[Token::Str("9q7k4op826n2g222")]);
        let error = "character 16 is not one of 2-9 and a-x";
        assert_de_tokens_error::<Readable<Sno>>(&[Token::Str("222222222222222y")], error);
    }

    #[test]
    fn ten_bytes_otherwise() {
        assert_tokens(&ID.compact(), &[Token::BorrowedBytes(&BYTES)]);
        let error = "invalid length 9, expected a sno of 16 characters or 10 bytes";
        assert_de_tokens_error::<Compact<Sno>>(&[Token::BorrowedBytes(&BYTES[1..])], error);
    }

    /// As what serde has buffered for `#[serde(flatten)]` is read.
    #[test]
    fn bytes_in_a_readable_format() {
        assert_de_tokens(&ID.readable(), &[Token::Bytes(&BYTES)]);
    }
}
