//! gid: 16 bytes, shown as 24 characters.
//!
//! ```text
//!  8 bits     48                               8          64
//! ┌──────────┬────────────────────────────────┬──────────┬────────────────────┐
//! │  prefix  │ milliseconds since 1970        │  prefix  │  random            │
//! └──────────┴────────────────────────────────┴──────────┴────────────────────┘
//!  bytes 0    1 to 6                           7          8 to 15
//! ```
//!
//! The text is base58 (Bitcoin's alphabet) of the first seven bytes in 10 characters, `-`, and of the last
//! nine in 13. All prefixes are at least 0x80, so neither half ever needs fewer characters. IDs sort by prefix, then by
//! time, as bytes and as text.
//!
//! Newer software that generates such IDs sets byte 7 to 1 bit of the prefix and seven more random bits. These IDs are
//! accepted, and byte 7 stays as it is; those generated here repeat the prefix.
//!
//! There is no generator: IDs of one prefix and millisecond differ by their 64 random bits alone.

use core::str::FromStr;

use super::{Epoch, InvalidValue, bound, texts, time};
use crate::id::fixed_length::FixedLength;

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Characters before the hyphen.
const HEAD: usize = 10;

time!(
    /// Milliseconds since 1970, in 48 bits: up to the year 10889.
    Millis, "gid", 48 bits, 1000 per second
);

/// An ID: 16 bytes.
///
/// ```
/// use sno_core::{TickType as _, compat::{Gid, gid::{Millis, Prefix}}};
///
/// let id: Gid = "5rLWQQkJdm-2dVseX433Zwhy".parse()?;
/// assert_eq!(id, Gid::from_fields(Prefix::Volume, Millis::MIN, 0));
/// # Ok::<(), sno_core::compat::InvalidValue>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Gid([u8; 16]);

/// The kind of thing that an ID is for: byte 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Prefix {
    /// 0x80
    Volume = 0x80,
    /// 0xa0
    Log = 0xa0,
    /// 0xc0
    Segment = 0xc0,
}

impl Gid {
    /// The ID of these fields, with the prefix in byte 7.
    pub const fn from_fields(prefix: Prefix, time: Millis, random: u64) -> Self {
        Self::join(prefix, time, prefix as u8, random)
    }

    const fn join(prefix: Prefix, time: Millis, seventh: u8, random: u64) -> Self {
        let head = (prefix as u64) << 56 | time.0 << 8 | seventh as u64;
        Self(((head as u128) << 64 | random as u128).to_be_bytes())
    }

    /// The kind of thing that it is for.
    pub fn prefix(self) -> Prefix {
        Prefix::from_byte(self.0[0]).expect("no gid is generated without a prefix")
    }

    /// When it was generated.
    #[inline]
    pub const fn time(self) -> Millis {
        let [_, a, b, c, d, e, f, ..] = self.0;
        Millis(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The last nine bytes, from byte 7 on: the prefix, or 1 bit and seven random bits; then 64 random bits.
    pub const fn tail(self) -> [u8; 9] {
        let [_, _, _, _, _, _, _, tail @ ..] = self.0;
        tail
    }

    /// The smallest possible ID of a prefix and of the first millisecond at or after a Unix time in microseconds. A
    /// time out of range gives the smallest or the largest ID of the prefix.
    pub fn lower_bound(prefix: Prefix, unix_micros: i64) -> Self {
        Self::bound(prefix, bound(Epoch::UNIX.ceil(unix_micros), false))
    }

    /// The largest possible ID of a prefix and of the millisecond of a Unix time in microseconds. A time out of range
    /// gives the smallest or the largest ID of the prefix.
    pub fn upper_bound(prefix: Prefix, unix_micros: i64) -> Self {
        Self::bound(prefix, bound(Epoch::UNIX.floor(unix_micros), true))
    }

    fn bound(prefix: Prefix, (time, ones): (Millis, bool)) -> Self {
        let (seventh, random) = if ones { (0xff, u64::MAX) } else { (0x80, 0) };
        Self::join(prefix, time, seventh, random)
    }
}

impl FixedLength for Gid {
    const NAME: &'static str = "gid";
    type Text = [u8; 24];
    type Bytes = [u8; 16];
    type Error = InvalidValue;

    /// 24 characters, whose parts decode to 7 and 9 bytes.
    fn parse_bytes(text: &[u8]) -> Result<Self, InvalidValue> {
        let syntax = InvalidValue { expected: "a gid is 10 characters of base58, a hyphen, and 13 more" };
        if text.len() != 24 || text[HEAD] != b'-' {
            return Err(syntax);
        }
        let head = read_base58(&text[..HEAD]).ok_or(syntax)?;
        let tail = read_base58(&text[HEAD + 1..]).ok_or(syntax)?;
        if head >> 56 != 0 || tail >> 72 != 0 {
            return Err(InvalidValue { expected: "the parts of a gid stand for 7 and 9 bytes" });
        }
        Self::from_bytes((head << 72 | tail).to_be_bytes())
    }

    /// Byte 0 is a [`Prefix`], and byte 7 at least 0x80.
    fn from_bytes(bytes: [u8; 16]) -> Result<Self, InvalidValue> {
        if Prefix::from_byte(bytes[0]).is_none() {
            return Err(InvalidValue { expected: "the first byte of a gid is 0x80, 0xa0 or 0xc0" });
        }
        if bytes[7] < 0x80 {
            return Err(InvalidValue { expected: "byte 7 of a gid is at least 0x80" });
        }
        Ok(Self(bytes))
    }

    fn to_text(self) -> [u8; 24] {
        let number = u128::from_be_bytes(self.0);
        let mut text = [b'-'; 24];
        let tail = number & ((1 << 72) - 1);
        write_base58((number >> 72) as u64, &mut text[..HEAD]);
        write_base58((tail / TEN) as u64, &mut text[HEAD + 1..14]);
        write_base58((tail % TEN) as u64, &mut text[14..]);
        text
    }

    fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

texts!(Gid);

/// The value of each character of the alphabet; 255 for all other bytes.
const VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 58 {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// 58¹⁰, the base of the last ten characters: dividing by it first leaves numbers of 64 bits, which divide faster.
const TEN: u128 = 58_u128.pow(10);

fn write_base58(mut number: u64, text: &mut [u8]) {
    for letter in text.iter_mut().rev() {
        *letter = ALPHABET[(number % 58) as usize];
        number /= 58;
    }
}

/// At most 13 characters, so the number fits.
fn read_base58(text: &[u8]) -> Option<u128> {
    text.iter().try_fold(0, |number: u128, letter| {
        let value = VALUES[*letter as usize];
        (value < 58).then_some(number * 58 + u128::from(value))
    })
}

impl Prefix {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::Volume, Self::Log, Self::Segment];

    const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0x80 => Some(Self::Volume),
            0xa0 => Some(Self::Log),
            0xc0 => Some(Self::Segment),
            _ => None,
        }
    }

    /// `volume`, `log` or `segment`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::Log => "log",
            Self::Segment => "segment",
        }
    }
}

impl FromStr for Prefix {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let expected = "a prefix is \"volume\", \"log\" or \"segment\"";
        Self::ALL.into_iter().find(|prefix| prefix.name() == text).ok_or(InvalidValue { expected })
    }
}
