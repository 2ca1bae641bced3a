//! What keeps generators apart: the partition, made of a server's prefix and a process's ID, and the pool of sequence
//! numbers.

use core::{fmt, num::IntErrorKind, str::FromStr};

/// The upper bits of all partitions of one server: the server's number, and how many bits it takes.
///
/// ```text
///      bits (8 to 16)         16 − bits
/// ┌──────────────────────┬──────────────────┐
/// │        prefix        │ PID mod (2^k−1)  │    k = 16 − bits
/// └──────────────────────┴──────────────────┘
/// ```
///
/// Written `42/8`, or `42`, since 8 bits are the default. All ones in the lower part are the
/// [reserved](Prefix::reserved) partition, which no process has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    value: u16,
    bits: u8,
}

impl Prefix {
    /// A prefix of this value, in 8 to 16 bits.
    ///
    /// # Errors
    ///
    /// Fewer than 8 or more than 16 bits, or a value that does not fit them.
    pub const fn new(value: u16, bits: u8) -> Result<Self, InvalidValue> {
        Self::checked(value as u32, bits as u32)
    }

    const fn checked(value: u32, bits: u32) -> Result<Self, InvalidValue> {
        let expected = match bits {
            8 => "a prefix of 8 bits is at most 255",
            9 => "a prefix of 9 bits is at most 511",
            10 => "a prefix of 10 bits is at most 1023",
            11 => "a prefix of 11 bits is at most 2047",
            12 => "a prefix of 12 bits is at most 4095",
            13 => "a prefix of 13 bits is at most 8191",
            14 => "a prefix of 14 bits is at most 16383",
            15 => "a prefix of 15 bits is at most 32767",
            16 => "a prefix of 16 bits is at most 65535",
            _ => "a prefix has 8 to 16 bits",
        };
        if bits < 8 || bits > 16 || value >> bits != 0 {
            return Err(InvalidValue { expected });
        }
        Ok(Self { value: value as u16, bits: bits as u8 })
    }

    /// The error of a text that is not one number, or two with a slash between them.
    pub const SYNTAX: InvalidValue =
        InvalidValue { expected: "expected a number, or a number and its bits, as in \"42/8\"" };

    /// How many bits a number takes that a server draws for itself: as many as leave it a few generators, so that two
    /// servers seldom draw the same one.
    pub const DRAWN_BITS: u8 = 14;

    /// The prefix of 14 bits for a server that was given none, by random bits; another than the one that it had before,
    /// since that may be its original's.
    ///
    /// Any two servers have the same one once in 16,384 times, so it guards against accidents and guarantees nothing.
    ///
    /// ```
    /// use sno_core::Prefix;
    ///
    /// let number = Prefix::drawn(16_382, None);
    /// assert_eq!(number.to_string(), "16382/14");
    /// assert_ne!(Prefix::drawn(16_382, Some(number)), number);
    /// ```
    pub const fn drawn(random: u64, before: Option<Self>) -> Self {
        let count = 1 << Self::DRAWN_BITS;
        let value = match before {
            None => random % count,
            Some(before) => {
                let other = random % (count - 1);
                if other < before.value as u64 { other } else { other + 1 }
            }
        };
        Self { value: value as u16, bits: Self::DRAWN_BITS }
    }

    /// The server's number.
    pub const fn value(self) -> u16 {
        self.value
    }

    /// How many of the 16 bits of a partition it takes: 8 to 16.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The first partition under the prefix, and the largest value of the bits below it.
    const fn parts(self) -> (u16, u16) {
        let low = 16 - self.bits as u32;
        (((self.value as u32) << low) as u16, ((1u32 << low) - 1) as u16)
    }

    /// All partitions under the prefix, the reserved one included.
    pub const fn partitions(self) -> core::ops::RangeInclusive<u16> {
        let (first, ones) = self.parts();
        first..=(first | ones)
    }

    /// The partition of a process. There are 255 under a prefix of 8 bits, 15 under one of 12 bits and one under one of
    /// 16 bits, so processes can have the same. Those have to share a generator.
    pub const fn partition(self, process_id: u32) -> u16 {
        match self.parts() {
            (first, 0) => first,
            (first, ones) => first | (process_id % ones as u32) as u16,
        }
    }

    /// The partition with all ones under the prefix, which no process has, for IDs of given times. `None` under a
    /// prefix of 16 bits, whose only partition is the processes'.
    pub const fn reserved(self) -> Option<u16> {
        match self.parts() {
            (_, 0) => None,
            (first, ones) => Some(first | ones),
        }
    }
}

impl Default for Prefix {
    /// `0/8`.
    fn default() -> Self {
        Self { value: 0, bits: 8 }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.value, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (value, bits) = text.split_once('/').unwrap_or((text, "8"));
        let [value, bits] = [value, bits].map(number);
        let (Some(value), Some(bits)) = (value, bits) else { return Err(Self::SYNTAX) };
        Self::checked(value, bits)
    }
}

/// A decimal number of digits, with or without spaces around it; one above `u32::MAX` is `u32::MAX`.
pub(crate) fn number(text: &str) -> Option<u32> {
    let text = text.trim_matches(' ');
    if text.starts_with('+') {
        return None;
    }
    match text.parse() {
        Ok(number) => Some(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(u32::MAX),
        Err(_) => None,
    }
}

/// Why a text or a number is not a value of its type: the message says what is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidValue {
    pub(crate) expected: &'static str,
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }
}

impl core::error::Error for InvalidValue {}

/// The pool of sequence numbers that a generator draws from in each tick, both ends included.
///
/// Written `0-65535`. Servers with the same prefix need pools without a common number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SequenceRange {
    lower: u16,
    upper: u16,
}

impl SequenceRange {
    /// The smallest size of a pool: four IDs a tick are a thousand a second.
    pub const MIN_SIZE: u32 = 4;

    /// A pool from one number to another, both included.
    ///
    /// # Errors
    ///
    /// Fewer than four numbers.
    pub const fn new(lower: u16, upper: u16) -> Result<Self, InvalidValue> {
        if (upper as u32) < lower as u32 + Self::MIN_SIZE - 1 {
            return Err(InvalidValue { expected: "a pool has at least 4 sequence numbers" });
        }
        Ok(Self { lower, upper })
    }

    /// A pool of any size above zero, for the schemes in `compat`, whose fields have other widths.
    #[cfg(feature = "compat")]
    pub(crate) const fn from_bounds(lower: u16, upper: u16) -> Self {
        assert!(lower <= upper);
        Self { lower, upper }
    }

    /// The first number of every tick.
    #[inline]
    pub const fn lower(self) -> u16 {
        self.lower
    }

    /// The last number of every tick.
    #[inline]
    pub const fn upper(self) -> u16 {
        self.upper
    }

    /// The next number of the pool after a number that may be outside of it; `None` after the last.
    #[inline]
    #[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
    pub(crate) const fn after(self, number: u16) -> Option<u16> {
        let next = number as u32 + 1;
        let next = if next < self.lower as u32 { self.lower as u32 } else { next };
        if next <= self.upper as u32 { Some(next as u16) } else { None }
    }

    /// How many IDs a generator of this pool can hand out in one tick.
    pub const fn size(self) -> u32 {
        self.upper as u32 - self.lower as u32 + 1
    }
}

impl Default for SequenceRange {
    /// `0-65535`.
    fn default() -> Self {
        Self { lower: 0, upper: u16::MAX }
    }
}

impl fmt::Display for SequenceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lower, self.upper)
    }
}

impl FromStr for SequenceRange {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let bounds = text.split_once('-').and_then(|(lower, upper)| number(lower).zip(number(upper)));
        let expected = "expected the first and the last number, as in \"0-65535\"";
        let (lower, upper) = bounds.ok_or(InvalidValue { expected })?;
        let (Ok(lower), Ok(upper)) = (lower.try_into(), upper.try_into()) else {
            return Err(InvalidValue { expected: "a sequence number is at most 65535" });
        };
        Self::new(lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        let parse = |text: &str| text.parse::<Prefix>().map(|prefix| (prefix.value(), prefix.bits()));
        assert_eq!(parse("42"), Ok((42, 8)));
        assert_eq!(parse("42/8"), Ok((42, 8)));
        assert_eq!(parse(" 4095 / 12 "), Ok((4095, 12)));
        assert_eq!(parse("65535/16"), Ok((65535, 16)));
        assert_eq!(Prefix::default(), "0/8".parse().unwrap());
        assert_eq!("42".parse::<Prefix>().unwrap().to_string(), "42/8");
        let message = |text: &str| parse(text).unwrap_err().to_string();
        for bits in 8..=16 {
            let max = (1 << bits) - 1;
            assert_eq!(parse(&format!("{max}/{bits}")), Ok((max as u16, bits)));
            let expected = format!("a prefix of {bits} bits is at most {max}");
            assert_eq!(message(&format!("{}/{bits}", max + 1)), expected);
        }
        assert_eq!(message("256"), "a prefix of 8 bits is at most 255");
        assert_eq!(message("99999999999999999999/16"), "a prefix of 16 bits is at most 65535");
        for text in ["0/7", "0/17", "0/264", "0/99999999999999999999", "99999/17"] {
            assert_eq!(message(text), "a prefix has 8 to 16 bits");
        }
        for text in ["", "/", "/8", "x", "1/", "1/8/8", "-1", "+1", "1.0", "0x2a", "1 2", "٤٢"] {
            assert_eq!(
                message(text),
                "expected a number, or a number and its bits, as in \"42/8\"",
                "{text:?}"
            );
        }
    }

    #[test]
    fn partitions() {
        let prefix = |text: &str| text.parse::<Prefix>().unwrap();
        assert_eq!(prefix("42").partition(254), 42 * 256 + 254);
        assert_eq!(prefix("42").partition(255), 42 * 256);
        assert_eq!(prefix("42").reserved(), Some(42 * 256 + 255));
        assert_eq!(prefix("42/12").partition(14), 42 * 16 + 14);
        assert_eq!(prefix("42/12").partition(15), 42 * 16);
        assert_eq!(prefix("42/12").reserved(), Some(42 * 16 + 15));
        assert_eq!(prefix("42/15").partition(4_194_303), 84);
        assert_eq!(prefix("42/15").reserved(), Some(85));
        assert_eq!(prefix("42/16").partition(4_194_303), 42);
        assert_eq!(prefix("42/16").reserved(), None);
    }

    /// Each number is drawn as often as any other, but the one before it never.
    #[test]
    fn drawn_prefixes() {
        let values = |before: Option<u16>| {
            let before = before.map(|value| Prefix::new(value, Prefix::DRAWN_BITS).unwrap());
            let mut values: Vec<u16> = (0..16_384 - before.iter().len() as u64)
                .map(|random| Prefix::drawn(random, before).value())
                .collect();
            values.sort_unstable();
            values
        };
        assert!(values(None).into_iter().eq(0..16_384));
        for before in [0, 1, 8191, 16_383] {
            assert!(values(Some(before)).into_iter().eq((0..16_384).filter(|value| *value != before)));
        }
        assert_eq!(Prefix::drawn(u64::MAX, None).to_string(), "16383/14");
    }

    #[test]
    fn no_process_takes_the_reserved_partition() {
        for bits in 8..16 {
            let prefix = Prefix::new(1, bits).unwrap();
            assert!((0..100_000).all(|pid| Some(prefix.partition(pid)) != prefix.reserved()));
        }
    }

    #[test]
    fn sequence_ranges() {
        let parse = |text: &str| text.parse::<SequenceRange>().map(|range| (range.lower(), range.upper()));
        assert_eq!(parse("0-65535"), Ok((0, 65535)));
        assert_eq!(parse(" 8 - 11 "), Ok((8, 11)));
        assert_eq!(parse("65532-65535"), Ok((65532, 65535)));
        let message = |text: &str| parse(text).unwrap_err().to_string();
        for text in ["8-10", "10-8", "65535-65535"] {
            assert_eq!(message(text), "a pool has at least 4 sequence numbers", "{text:?}");
        }
        assert_eq!(message("0-65536"), "a sequence number is at most 65535");
        for text in ["", "-", "7", "1-", "-1", "-1-9", "1-2-3", "a-b", "1..9"] {
            assert_eq!(
                message(text),
                "expected the first and the last number, as in \"0-65535\"",
                "{text:?}"
            );
        }
        assert_eq!(SequenceRange::default().to_string(), "0-65535");
        assert_eq!(SequenceRange::default().size(), 65_536);
    }
}
