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
    use crate::Sno;

    const ID: Sno = Sno::from_bytes([0x4b, 0x9a, 0x1d, 3, 5, 1, 42, 7, 0, 9]);

    #[test]
    fn text_when_human_readable() {
        let json = serde_json::to_string(&ID).unwrap();
        assert_eq!(json, format!("\"{ID}\""));
        assert_eq!(serde_json::from_str::<Sno>(&json).unwrap(), ID);
        let error = serde_json::from_str::<Sno>("\"222222222222222y\"").unwrap_err();
        assert!(error.to_string().starts_with("character 16 is not one of 2-9 and a-x"), "{error}");
        assert!(serde_json::from_str::<Sno>("7").is_err());
    }

    #[test]
    fn ten_bytes_otherwise() {
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(ID, config).unwrap();
        assert_eq!(bytes, ID.to_bytes());
        let (back, _): (Sno, _) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
        assert_eq!(back, ID);
        assert!(bincode::serde::decode_from_slice::<Sno, _>(&bytes[..9], config).is_err());
    }
}
