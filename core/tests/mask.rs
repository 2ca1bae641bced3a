//! Masks: NIST's samples of FF1, known answers of a second implementation, and what holds for all IDs.
#![cfg(all(feature = "mask", not(loom)))]

use std::collections::BTreeSet;

use aes::{Aes128, Aes192, Aes256};
use fpe::ff1::{FF1, FlexibleNumeralString};
use proptest::prelude::*;
use sno_core::{Sno, mask::Key};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|place| u8::from_str_radix(&hex[place..][..2], 16).unwrap()).collect()
}

/// The key of the samples: its first 16, 24 or 32 bytes.
const KEY: &str =
    "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A942B7E151628AED2A6ABF7158809CF4F3C";

/// The crate does what the standard says: the nine samples that NIST publishes for FF1.
#[test]
fn samples_of_the_standard() {
    let digits = "0123456789";
    let letters = "0123456789abcdefghi";
    for (radix, tweak, plain, answers) in [
        (10, "", digits, ["2433477484", "2830668132", "6657667009"]),
        (10, "39383736353433323130", digits, ["6124200773", "2496655549", "1001623463"]),
        (
            36,
            "3737373770717273373737",
            letters,
            ["a9tv40mll9kdu509eum", "xbj3kv35jrawxv32ysr", "xs8a0azh2avyalyzuwd"],
        ),
    ] {
        let numerals = |text: &str| -> Vec<u16> {
            text.chars().map(|digit| digit.to_digit(36).unwrap() as u16).collect()
        };
        let (key, tweak, plain) = (bytes(KEY), bytes(tweak), FlexibleNumeralString::from(numerals(plain)));
        let found = [
            FF1::<Aes128>::new(&key[..16], radix).unwrap().encrypt(&tweak, &plain),
            FF1::<Aes192>::new(&key[..24], radix).unwrap().encrypt(&tweak, &plain),
            FF1::<Aes256>::new(&key[..32], radix).unwrap().encrypt(&tweak, &plain),
        ];
        for (found, answer) in found.into_iter().zip(answers) {
            assert_eq!(Vec::from(found.unwrap()), numerals(answer), "{answer}");
        }
    }
}

/// A program in Python has made these, from the standard's algorithm and another library's AES.
#[test]
fn answers_of_another_implementation() {
    let mut count = 0;
    for line in include_str!("vectors/mask.tsv").lines().skip(1) {
        let [key, context, sno, masked] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("four columns");
        let key = Key::new(&bytes(key)).unwrap();
        let id: Sno = sno.parse().unwrap();
        assert_eq!(str::from_utf8(&key.mask(id, context.as_bytes())), Ok(masked), "{line}");
        assert_eq!(key.unmask(masked.as_bytes(), context.as_bytes()), Ok(id), "{line}");
        count += 1;
    }
    assert_eq!(count, 48);
}

proptest! {
    #[test]
    fn there_and_back(id: [u8; 10], key: [u8; 32], length in prop::sample::select(vec![16, 24, 32]), context: Vec<u8>) {
        let (id, key) = (Sno::from_bytes(id), Key::new(&key[..length]).unwrap());
        let masked = key.mask(id, &context);
        prop_assert_eq!(key.unmask(&masked, &context), Ok(id));
        // And the other way: every ID is the mask of one.
        let of_another = key.unmask(&id.to_text(), &context).unwrap();
        prop_assert_eq!(key.mask(of_another, &context), id.to_text());
    }
}

#[test]
fn masks_tell_no_order_and_no_time() {
    let key = Key::new(&[7; 16]).unwrap();
    let ids =
        (0..1000_u16).map(|n| sno_core::Fields { sequence: n, ..Sno::literal("9q7k4op826n2g222").fields() });
    let masks: Vec<[u8; 16]> = ids.map(|fields| key.mask(fields.into(), b"")).collect();
    let rising = masks.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((400..600).contains(&rising), "{rising} of 999");
    // The IDs have the first twelve characters in common.
    let starts: BTreeSet<&[u8]> = masks.iter().map(|mask| &mask[..4]).collect();
    assert!(starts.len() > 990, "{}", starts.len());
}

#[test]
fn keys_and_contexts_differ() {
    let id = Sno::literal("9q7k4op826n2g222");
    let mut masks = BTreeSet::new();
    for length in [16, 24, 32] {
        let key = Key::new(&vec![7; length]).unwrap();
        masks.extend(["", "a", "b", "\0"].map(|context| key.mask(id, context.as_bytes())));
    }
    assert_eq!(masks.len(), 12);
}

#[test]
fn other_lengths_are_no_keys_and_other_texts_no_masks() {
    for length in (0..100).filter(|length| ![16, 24, 32].contains(length)) {
        let error = Key::new(&vec![b'k'; length]).unwrap_err();
        assert_eq!(error.to_string(), format!("a key is 16, 24 or 32 bytes long, not {length}"));
    }
    let key = Key::new(b"sixteen bytes ok").unwrap();
    assert_eq!(key.unmask(b"9q7k4op826n2g22y", b"").unwrap_err().position(), Some(15));
    assert_eq!(key.unmask(b"9Q7K4OP826N2G222", b"").unwrap_err().position(), Some(1));
    assert_eq!(key.unmask(b"9q7k4op8", b"").unwrap_err().position(), None);
    assert_eq!(key.unmask(b"\\x3e0b215ae6012a070000", b"").unwrap_err().position(), None);
}

#[test]
fn a_key_is_not_shown() {
    assert_eq!(format!("{:?}", Key::new(b"sixteen bytes ok").unwrap()), "Key(AES-128)");
    assert_eq!(format!("{:?}", Key::new(&[7; 24]).unwrap()), "Key(AES-192)");
    assert_eq!(format!("{:?}", Key::new(&[7; 32]).unwrap()), "Key(AES-256)");
}
