//! All 16 characters at a time, with what every aarch64 processor has: nothing to detect, and a caller can
//! inline it.

use core::arch::aarch64::*;

use super::{FIRST, GAP, parts, twenties};

/// The 16 characters of ten bytes.
#[inline]
#[allow(unsafe_code)]
pub(super) fn encode(bytes: [u8; 10]) -> [u8; 16] {
    // SAFETY: this module is there only where all code may use NEON.
    unsafe { write(bytes) }
}

/// The ten bytes of 16 characters, or the place of the first that is not in the alphabet.
#[inline]
#[allow(unsafe_code)]
pub(super) fn decode(text: [u8; 16]) -> Result<[u8; 10], usize> {
    // SAFETY: as above.
    unsafe { read(text) }
}

#[inline]
#[target_feature(enable = "neon")]
fn write(bytes: [u8; 10]) -> [u8; 16] {
    let (eight, two) = parts(&bytes);
    let bytes = vector(eight, two.into());
    // Two characters are ten bits, and lie in two neighbouring bytes: one 16-bit lane for each two.
    let pairs = vqtbl1q_u8(bytes, vector(0x0304_0203_0102_0001, 0x0809_0708_0607_0506));
    // They start 0, 2, 4, 6 bits below the top of their lanes. They are shifted there; then the first is
    // shifted to the lower byte and the second to the upper one.
    let places = vreinterpretq_s16_u64(vdupq_n_u64(0x0006_0004_0002_0000));
    let pairs = vshlq_u16(vreinterpretq_u16_u8(pairs), places);
    let second = vandq_u16(vshlq_n_u16::<2>(pairs), vdupq_n_u16(0x1f00));
    let values = vreinterpretq_u8_u16(vorrq_u16(vshrq_n_u16::<11>(pairs), second));
    let letters = vcgtq_u8(values, vdupq_n_u8(7));
    let gaps = vandq_u8(letters, vdupq_n_u8(GAP));
    let chars = vreinterpretq_u64_u8(vaddq_u8(vaddq_u8(values, vdupq_n_u8(FIRST)), gaps));
    let mut text = [0; 16];
    text[..8].copy_from_slice(&vgetq_lane_u64::<0>(chars).to_le_bytes());
    text[8..].copy_from_slice(&vgetq_lane_u64::<1>(chars).to_le_bytes());
    text
}

#[inline]
#[target_feature(enable = "neon")]
fn read(text: [u8; 16]) -> Result<[u8; 10], usize> {
    let (low, high) = text.split_at(8);
    let half = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("8 bytes"));
    let chars = vector(half(low), half(high));
    let letters = vcgtq_u8(chars, vdupq_n_u8(b'a' - 1));
    let values = vsubq_u8(vsubq_u8(chars, vdupq_n_u8(FIRST)), vandq_u8(letters, vdupq_n_u8(GAP)));
    // What is below its range wraps around, to beyond it.
    let last = vaddq_u8(vdupq_n_u8(7), vandq_u8(letters, vdupq_n_u8(31 - 7)));
    let wrong = vreinterpretq_u16_u8(vcgtq_u8(values, last));
    // Four bits for each character.
    let wrong = vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(wrong)));
    if wrong != 0 {
        return Err(wrong.trailing_zeros() as usize / 4);
    }
    // Twice as many bits in twice as wide lanes: 10, then 20, then 40.
    let fives = vreinterpretq_u16_u8(values);
    let tens = vandq_u16(vshlq_n_u16::<5>(fives), vdupq_n_u16(0x03e0));
    let tens = vreinterpretq_u32_u16(vorrq_u16(tens, vshrq_n_u16::<8>(fives)));
    let pairs = vandq_u32(vshlq_n_u32::<10>(tens), vdupq_n_u32(0xf_fc00));
    let pairs = vreinterpretq_u64_u32(vorrq_u32(pairs, vshrq_n_u32::<16>(tens)));
    Ok(twenties(vgetq_lane_u64::<0>(pairs), vgetq_lane_u64::<1>(pairs)))
}

/// Sixteen bytes, lowest first.
#[inline]
#[target_feature(enable = "neon")]
fn vector(low: u64, high: u64) -> uint8x16_t {
    vcombine_u8(vcreate_u8(low), vcreate_u8(high))
}
