//! The text form: 16 characters of `23456789abcdefghijklmnopqrstuvwx`, five bits each, most significant
//! first.
//!
//! The alphabet is in ASCII order, so the order of the texts is the order of the bytes. Ten bytes are 80
//! bits, a multiple of five, so there is no padding, and every text of 16 such characters stands for
//! exactly one ID. Nothing else is accepted: no upper case, no look-alikes.
//!
//! Neither implementation has tables or branches on the data. `sse2`, for x86-64, converts all 16 characters at once;
//! [`word`] converts eight at a time in plain integers, on every processor and in constants.

use core::fmt;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2;
// With SSE2, only constants and tests use some of this.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
pub(crate) mod word;

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use sse2 as implementation;
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
use word as implementation;

/// A value's character is `FIRST` plus the value, and for letters (8 to 31) plus `GAP`, the number of characters
/// between `9` and `a`.
const FIRST: u8 = b'2';
const GAP: u8 = b'a' - b'9' - 1;

/// The 16 characters of ten bytes.
#[inline]
pub(crate) fn encode(bytes: [u8; 10]) -> [u8; 16] {
    implementation::encode(bytes)
}

/// The ten bytes of 16 characters.
///
/// # Errors
///
/// The length is not 16 bytes, or a character is not in the alphabet.
#[inline]
pub(crate) fn decode(text: &[u8]) -> Result<[u8; 10], ParseError> {
    let Some((chars, [])) = text.split_first_chunk::<16>() else {
        return Err(ParseError { length: text.len(), position: u8::MAX });
    };
    implementation::decode(*chars).map_err(ParseError::at)
}

/// Why a text is not an ID.
///
/// ```
/// use sno_core::Sno;
///
/// assert_eq!(Sno::parse_bytes(b"xxxxyxxxxxxxxxxx").unwrap_err().position(), Some(4));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// Packed to the size of ten bytes, without alignment: so a `Result` of ten bytes or this error is moved as one block.
#[repr(C, packed)]
pub struct ParseError {
    length: usize,
    /// Position of the first invalid character, if the length is 16.
    position: u8,
}

impl ParseError {
    /// An invalid character at this position of 16 bytes.
    pub(crate) const fn at(position: usize) -> Self {
        Self { length: 16, position: position as u8 }
    }

    /// The position of the first character outside the alphabet, 0 to 15; `None` if the length of the text is not
    /// 16 bytes.
    pub const fn position(&self) -> Option<usize> {
        if self.length == 16 { Some(self.position as usize) } else { None }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position() {
            Some(position) => write!(f, "character {} is not one of 2-9 and a-x", position + 1),
            None => write!(f, "length is {} bytes instead of 16", { self.length }),
        }
    }
}

impl core::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALPHABET: &[u8; 32] = b"23456789abcdefghijklmnopqrstuvwx";

    type Functions = (fn([u8; 10]) -> [u8; 16], fn([u8; 16]) -> Result<[u8; 10], usize>);

    /// Both implementations; one and the same where there is no SSE2.
    const IMPLEMENTATIONS: [Functions; 2] =
        [(implementation::encode, implementation::decode), (word::encode, word::decode)];

    #[test]
    fn every_value_at_every_place() {
        for (encode, decode) in IMPLEMENTATIONS {
            for place in 0..16 {
                for (value, &letter) in ALPHABET.iter().enumerate() {
                    let mut text = *b"2222222222222222";
                    text[place] = letter;
                    let number = (value as u128) << (5 * (15 - place));
                    let bytes: [u8; 10] = number.to_be_bytes()[6..].try_into().unwrap();
                    assert_eq!(encode(bytes), text);
                    assert_eq!(decode(text), Ok(bytes));
                }
            }
        }
    }

    #[test]
    fn every_wrong_byte_at_every_place() {
        for (_, decode) in IMPLEMENTATIONS {
            for filler in [b'2', b'9', b'a', b'x'] {
                for place in 0..16 {
                    for byte in (0..=255).filter(|byte| !ALPHABET.contains(byte)) {
                        let mut text = [filler; 16];
                        text[place] = byte;
                        assert_eq!(decode(text), Err(place), "{byte:#x}");
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn both_implementations_agree(bytes: [u8; 10], mut text: [u8; 16], places: u16) {
            let [(encode, decode), (encode_too, decode_too)] = IMPLEMENTATIONS;
            prop_assert_eq!(encode(bytes), encode_too(bytes));
            prop_assert_eq!(decode(encode(bytes)), Ok(bytes));
            // Random bytes at some places only, or the first would nearly always be wrong.
            for (place, byte) in encode(bytes).into_iter().enumerate() {
                if places & 1 << place == 0 {
                    text[place] = byte;
                }
            }
            prop_assert_eq!(decode(text), decode_too(text));
        }
    }

    #[test]
    fn the_first_wrong_character_counts() {
        let error = decode(b"2222y222222222\xff2").unwrap_err();
        assert_eq!(error.position(), Some(4));
        assert_eq!(error.to_string(), "character 5 is not one of 2-9 and a-x");
    }

    #[test]
    fn every_wrong_length() {
        for length in (0..16).chain(17..64) {
            let error = decode(&[b'y'; 64][..length]).unwrap_err();
            assert_eq!(error.position(), None);
            assert_eq!(error.to_string(), format!("length is {length} bytes instead of 16"));
        }
    }
}
