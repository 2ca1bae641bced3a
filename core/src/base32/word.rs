//! Eight characters at a time, as the lanes of a 64-bit word.

use super::{FIRST, GAP};

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
