//! The text form: 16 characters of `23456789abcdefghijklmnopqrstuvwx`, five bits each, most significant
//! first.
//!
//! The alphabet is in ASCII order, so the order of the texts is the order of the bytes. Ten bytes are 80
//! bits, a multiple of five, so there is no padding, and every text of 16 such characters stands for
//! exactly one ID. Nothing else is accepted: no upper case, no look-alikes.
//!
//! Eight characters are converted at a time, as the lanes of a 64-bit word: without tables or branches on the data.

use core::fmt;

/// A value's character is `FIRST` plus the value, and for letters (8 to 31) plus `GAP`, the number of characters
/// between `9` and `a`.
const FIRST: u8 = b'2';
const GAP: u8 = b'a' - b'9' - 1;

/// The same byte in each of a word's eight lanes.
const fn splat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

const HIGH: u64 = splat(0x80);

/// The 40 bits of half an ID.
const BLOCK: u64 = (1 << 40) - 1;

/// The 16 characters of ten bytes.
#[inline]
pub(crate) const fn encode(bytes: [u8; 10]) -> [u8; 16] {
    // Two overlapping loads of eight bytes, since there are no loads of five.
    let [a, b, c, d, e, f, g, h, i, j] = bytes;
    let high = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 24;
    let low = u64::from_be_bytes([c, d, e, f, g, h, i, j]) & BLOCK;
    (((encode_block(high) as u128) << 64) | encode_block(low) as u128).to_be_bytes()
}

/// Eight characters for 40 bits.
#[inline]
const fn encode_block(x: u64) -> u64 {
    // Halve three times: 40 bits into two lanes of 20, four of 10, eight of 5.
    let x = (x & 0xf_ffff) | (x >> 20) << 32;
    let x = (x & 0x0000_03ff_0000_03ff) | (x & 0x000f_fc00_000f_fc00) << 6;
    let x = (x & 0x001f_001f_001f_001f) | (x & 0x03e0_03e0_03e0_03e0) << 3;
    // The addition sets the high bit of each lane whose value is 8 or more: those become letters.
    let letters = ((x + splat(0x80 - 8)) & HIGH) >> 7;
    x + splat(FIRST) + letters * GAP as u64
}

/// The ten bytes of 16 characters, or the position of the first that is not in the alphabet.
#[inline]
pub(crate) const fn decode(chars: [u8; 16]) -> Result<[u8; 10], usize> {
    let chars = u128::from_be_bytes(chars);
    let (high, low) = ((chars >> 64) as u64, chars as u64);
    let invalid = ((invalid(high) as u128) << 64) | invalid(low) as u128;
    if invalid != 0 {
        return Err(invalid.leading_zeros() as usize / 8);
    }
    let (high, low) = (decode_block(high), decode_block(low));
    let [a, b, c, d, e, f, g, h] = (high << 24 | low >> 16).to_be_bytes();
    let [i, j] = (low as u16).to_be_bytes();
    Ok([a, b, c, d, e, f, g, h, i, j])
}

/// 1 in each lane whose character is `@` or above, as all letters are.
#[inline]
const fn letters(chars: u64) -> u64 {
    (chars >> 6) & splat(1)
}

/// The high bit of every lane whose character is not in the alphabet.
#[inline]
const fn invalid(chars: u64) -> u64 {
    let letters = letters(chars);
    let ascii = chars & !HIGH;
    // No sum overflows its lane. The first has the high bit set from the first character of the range on (`2` or
    // `a`), the second after the last one (`9` or `x`).
    let reached = ascii + (splat(0x80 - b'2') - letters * (b'a' - b'2') as u64);
    let passed = ascii + (splat(0x7f - b'9') - letters * (b'x' - b'9') as u64);
    (!reached | passed | chars) & HIGH
}

/// The 40 bits of eight characters of the alphabet.
#[inline]
const fn decode_block(chars: u64) -> u64 {
    let x = chars - splat(FIRST) - letters(chars) * GAP as u64;
    let x = (x & 0x001f_001f_001f_001f) | (x & 0x1f00_1f00_1f00_1f00) >> 3;
    let x = (x & 0x0000_03ff_0000_03ff) | (x & 0x03ff_0000_03ff_0000) >> 6;
    (x & 0xf_ffff) | (x >> 32) << 20
}

/// The ten bytes of 16 characters.
///
/// # Errors
///
/// The length is not 16 bytes, or a character is not in the alphabet.
#[inline]
pub(crate) fn parse(text: &[u8]) -> Result<[u8; 10], ParseError> {
    let Some((chars, [])) = text.split_first_chunk::<16>() else {
        return Err(ParseError { length: text.len(), position: u8::MAX });
    };
    decode(*chars).map_err(ParseError::at)
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
    use super::*;

    const ALPHABET: &[u8; 32] = b"23456789abcdefghijklmnopqrstuvwx";

    #[test]
    fn every_value_at_every_place() {
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

    #[test]
    fn every_wrong_byte_at_every_place() {
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

    #[test]
    fn the_first_wrong_character_counts() {
        let error = parse(b"2222y222222222\xff2").unwrap_err();
        assert_eq!(error.position(), Some(4));
        assert_eq!(error.to_string(), "character 5 is not one of 2-9 and a-x");
    }

    #[test]
    fn every_wrong_length() {
        for length in (0..16).chain(17..64) {
            let error = parse(&[b'y'; 64][..length]).unwrap_err();
            assert_eq!(error.position(), None);
            assert_eq!(error.to_string(), format!("length is {length} bytes instead of 16"));
        }
    }
}
