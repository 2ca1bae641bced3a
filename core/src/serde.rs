//! `Serialize` and `Deserialize`: the 16 characters in human-readable formats, the ten bytes in binary
//! ones.

use core::fmt;

use ::serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeTuple as _};

use crate::Sno;

impl Serialize for Sno {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        // As a tuple, since binary formats store no length with it, as they do with bytes.
        let mut tuple = serializer.serialize_tuple(10)?;
        for byte in self.as_bytes() {
            tuple.serialize_element(byte)?;
        }
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Sno {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Text)
        } else {
            <[u8; 10]>::deserialize(deserializer).map(Sno::from_bytes)
        }
    }
}

struct Text;

impl de::Visitor<'_> for Text {
    type Value = Sno;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sno of 16 characters")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Sno, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_test::{Configure as _, Readable, Token, assert_de_tokens_error, assert_tokens};

    use crate::Sno;

    const ID: Sno = Sno::literal("9q7k4op826n2g222");

    #[test]
    fn text_when_human_readable() {
        assert_tokens(&ID.readable(), &[Token::Str("9q7k4op826n2g222")]);
        let error = "character 16 is not one of 2-9 and a-x";
        assert_de_tokens_error::<Readable<Sno>>(&[Token::Str("222222222222222y")], error);
    }

    #[test]
    fn ten_bytes_otherwise() {
        let tuple = [Token::Tuple { len: 10 }].into_iter();
        let bytes = ID.to_bytes().map(Token::U8);
        let tokens: Vec<Token> = tuple.chain(bytes).chain([Token::TupleEnd]).collect();
        assert_tokens(&ID.compact(), &tokens);
    }
}
