//! The texts of IDs: they come back, and nothing else is read.

use proptest::prelude::*;
use sno_core::{
    FixedLength as _,
    compat::{Gid, SnowflakeSi, Uid60, UniqueId, snowflake_si::Machine},
};

use crate::ids::{gid, snowflake_si, uid60, uniqueid};

proptest! {
    #[test]
    fn uid60_texts_and_fields_come_back(id in uid60()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(Uid60::from_fields(id.fields()), Some(id));
    }

    #[test]
    fn uniqueid_texts_and_fields_come_back(id in uniqueid()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        prop_assert_eq!(UniqueId::from_fields(id.fields()), Some(id));
    }

    #[test]
    fn snowflake_si_fields_come_back(id in snowflake_si(), machine_bits in 0..=Machine::MAX_BITS) {
        prop_assert_eq!(SnowflakeSi::from_fields(id.fields(machine_bits), machine_bits), Some(id));
    }

    #[test]
    fn gid_texts_come_back_and_sort_as_the_ids_do(id in gid(), other in gid()) {
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(Gid::from_bytes(id.to_bytes()), Ok(id));
        prop_assert_eq!(id.cmp(&other), id.to_string().cmp(&other.to_string()));
        prop_assert_eq!(
            (id.prefix(), id.time(), id.tail()).cmp(&(other.prefix(), other.time(), other.tail())),
            id.cmp(&other)
        );
    }

    #[test]
    fn no_text_is_read_that_would_not_be_written(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
        if let Ok(id) = Uid60::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes[..]);
        }
        if let Ok(id) = UniqueId::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes.to_ascii_lowercase()[..]);
        }
        if let Ok(id) = Gid::parse_bytes(&bytes) {
            prop_assert_eq!(&id.to_text()[..], &bytes[..]);
        }
    }

    /// One wrong character at any place, of texts that are right otherwise.
    #[test]
    fn a_wrong_character_is_never_read(
        id in uid60(), other in uniqueid(), gid in gid(), place in 0..10_usize, byte in any::<u8>()
    ) {
        let mut text = id.to_text();
        text[place] = byte;
        let good = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        prop_assert_eq!(Uid60::parse_bytes(&text).is_ok(), good);
        let mut text = other.to_text();
        text[place] = byte;
        prop_assert_eq!(UniqueId::parse_bytes(&text).is_ok(), byte.is_ascii_hexdigit());
        let mut text = gid.to_text();
        text[place] = byte;
        if !byte.is_ascii_alphanumeric() || b"0OIl".contains(&byte) {
            prop_assert!(Gid::parse_bytes(&text).is_err());
        } else if let Ok(id) = Gid::parse_bytes(&text) {
            prop_assert_eq!(id.to_text(), text);
        }
    }
}

#[test]
fn a_snowflake_si_is_a_decimal_number() {
    let largest = "9007199254740991";
    assert_eq!(largest.parse(), Ok(SnowflakeSi::MAX));
    assert_eq!(SnowflakeSi::MAX.to_string(), largest);
    assert_eq!(format!("{:>4}", SnowflakeSi::new(7).unwrap()), "   7");
    for text in ["", "-1", "+1", "x", " 1", "9007199254740992", "99999999999999999999"] {
        assert!(text.parse::<SnowflakeSi>().is_err(), "{text:?}");
    }
}
