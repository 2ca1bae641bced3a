//! The ID itself.

use core::{fmt, str};

use crate::id::base32;
use crate::id::base32::ParseError;
use crate::id::fixed_length::FixedLength;
use crate::id::tick::{OutOfEpoch, Tick};

/// An ID: ten bytes whose order is the order in time. Any ten bytes are an ID.
///
/// ```
/// use sno_core::{Fields, Sno, Tick};
///
/// let fields = Fields {
///     tick: Tick::floor(1_767_225_600_000_000)?, // 2026-01-01
///     tick_tock: false,
///     metabyte: 1,
///     partition: 42 << 8 | 7,
///     sequence: 0,
/// };
/// let id = Sno::from(fields);
/// assert_eq!(id.fields(), fields);
/// assert!(id < Sno::from(Fields { sequence: 1, ..fields }));
/// # Ok::<(), sno_core::OutOfEpoch>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Sno([u8; 10]);

/// The fields of an ID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fields {
    /// When the ID was generated, to 4 ms.
    pub tick: Tick,
    /// Which of two sides it is on; its generator switches to the other one when the clock steps back.
    pub tick_tock: bool,
    /// The application's own byte.
    pub metabyte: u8,
    /// The number of the generator.
    pub partition: u16,
    /// A number within tick, side and partition.
    pub sequence: u16,
}

impl From<Fields> for Sno {
    #[inline]
    fn from(fields: Fields) -> Self {
        let Fields { tick, tick_tock, metabyte, partition, sequence } = fields;
        let high = tick.get() << 25 | (tick_tock as u64) << 24 | (metabyte as u64) << 16 | partition as u64;
        Self::from_parts(high, sequence)
    }
}

impl From<Sno> for Fields {
    #[inline]
    fn from(id: Sno) -> Self {
        id.fields()
    }
}

impl Sno {
    /// The smallest ID: all bits zero.
    pub const MIN: Self = Self([0; 10]);
    /// The largest ID: all bits one.
    pub const MAX: Self = Self([0xff; 10]);

    /// The ID of the 8 bytes before the sequence number, and of this.
    #[inline]
    pub(crate) fn from_parts(high: u64, sequence: u16) -> Self {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&sequence.to_be_bytes());
        Self(bytes)
    }

    /// All fields at once.
    #[inline]
    pub const fn fields(self) -> Fields {
        Fields {
            tick: self.tick(),
            tick_tock: self.tick_tock(),
            metabyte: self.metabyte(),
            partition: self.partition(),
            sequence: self.sequence(),
        }
    }

    /// When the ID was generated, to 4 ms.
    #[inline]
    pub const fn tick(self) -> Tick {
        let [a, b, c, d, e, ..] = self.0;
        Tick::from_bits(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]) >> 1)
    }

    /// Which of the two sides the ID is on.
    #[inline]
    pub const fn tick_tock(self) -> bool {
        self.0[4] & 1 == 1
    }

    /// The application's own byte.
    #[inline]
    pub const fn metabyte(self) -> u8 {
        self.0[5]
    }

    /// The number of the generator.
    #[inline]
    pub const fn partition(self) -> u16 {
        u16::from_be_bytes([self.0[6], self.0[7]])
    }

    /// The number within tick, side and partition.
    #[inline]
    pub const fn sequence(self) -> u16 {
        u16::from_be_bytes([self.0[8], self.0[9]])
    }

    /// The same ID with another metabyte.
    #[inline]
    #[must_use]
    pub const fn with_metabyte(mut self, metabyte: u8) -> Self {
        self.0[5] = metabyte;
        self
    }

    /// The smallest possible ID of the first tick that starts at or after a Unix time in microseconds.
    ///
    /// A time before 2010 gives [`Sno::MIN`], a time after the start of the last tick [`Sno::MAX`].
    pub fn lower_bound(unix_micros: i64) -> Self {
        Self::first(unix_micros, false).unwrap_or(Self::MAX)
    }

    /// The largest possible ID of the tick that a Unix time in microseconds falls into.
    ///
    /// A time before 2010 gives [`Sno::MIN`], a time after the last tick [`Sno::MAX`].
    pub fn upper_bound(unix_micros: i64) -> Self {
        Self::last(unix_micros, false).unwrap_or(Self::MIN)
    }

    /// The smallest possible ID whose tick starts at or after a Unix time in microseconds, or only after it if this is
    /// `exclusive`; `None` if there is no such ID.
    pub fn first(unix_micros: i64, exclusive: bool) -> Option<Self> {
        match Tick::ceil(unix_micros.checked_add(exclusive.into())?) {
            Ok(tick) => Some(Fields { tick, ..Fields::default() }.into()),
            Err(OutOfEpoch::Before) => Some(Self::MIN),
            Err(OutOfEpoch::After) => None,
        }
    }

    /// The largest possible ID whose tick starts at or before a Unix time in microseconds, or only before it if this is
    /// `exclusive`; `None` if there is no such ID.
    pub fn last(unix_micros: i64, exclusive: bool) -> Option<Self> {
        match Tick::floor(unix_micros.checked_sub(exclusive.into())?) {
            Ok(tick) => {
                let rest =
                    Fields { tick_tock: true, metabyte: 0xff, partition: 0xffff, sequence: 0xffff, tick };
                Some(rest.into())
            }
            Err(OutOfEpoch::Before) => None,
            Err(OutOfEpoch::After) => Some(Self::MAX),
        }
    }

    /// The ID of ten bytes.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 10]) -> Self {
        Self(bytes)
    }

    /// The ten bytes.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 10] {
        self.0
    }

    /// The ten bytes, borrowed.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; 10] {
        &self.0
    }

    /// The ID of a text of 16 characters: [`FromStr`](str::FromStr) for text that is not known to be UTF-8.
    ///
    /// # Errors
    ///
    /// The length is not 16 bytes, or a byte is not one of `2` to `9` and `a` to `x`.
    #[inline]
    pub fn parse_bytes(text: &[u8]) -> Result<Self, ParseError> {
        base32::parse(text).map(Self)
    }

    /// The ID of 20 hexadecimal digits in upper or lower case, two for each of its ten bytes; `None` if the length or a
    /// digit is wrong.
    ///
    /// ```
    /// use sno_core::Sno;
    ///
    /// let id: Sno = "9q7k4op826n2g222".parse()?;
    /// assert_eq!(Sno::parse_hex(b"3E0B215AE6012A070000"), Some(id));
    /// # Ok::<(), sno_core::ParseError>(())
    /// ```
    pub fn parse_hex(digits: &[u8]) -> Option<Self> {
        let mut bytes = [0; 10];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| (digit as char).to_digit(16));
            *byte = (high? << 4 | low?) as u8;
        }
        Some(Self(bytes))
    }

    /// A UUID of version 7 with all fields of the ID, and in the order of the IDs:
    ///
    /// ```text
    ///  48 bits                  4    12                       2    29                    33
    /// ┌────────────────────────┬────┬────────────────────────┬────┬─────────────────────┬───────┐
    /// │ Unix milliseconds      │ 7  │ tick-tock, metabyte,   │ 10 │ partition's last 13 │ zeros │
    /// │ of the tick            │    │ partition's first 3    │    │ bits, sequence      │       │
    /// └────────────────────────┴────┴────────────────────────┴────┴─────────────────────┴───────┘
    /// ```
    #[inline]
    pub const fn to_uuidv7(self) -> [u8; 16] {
        let number = self.number();
        let millis = (self.tick().unix_micros() / 1000) as u128;
        let (high, low) = (number >> 29 & 0xfff, number & 0x1fff_ffff);
        (millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low << 33).to_be_bytes()
    }

    /// The ID of a UUID of [`to_uuidv7`](Self::to_uuidv7); `None` for any other UUID.
    ///
    /// ```
    /// use sno_core::Sno;
    ///
    /// let id = Sno::literal("9q7k4op826n2g222");
    /// assert_eq!(Sno::from_uuidv7(id.to_uuidv7()), Some(id));
    /// assert_eq!(Sno::from_uuidv7([0; 16]), None);
    /// ```
    pub fn from_uuidv7(uuid: [u8; 16]) -> Option<Self> {
        let number = u128::from_be_bytes(uuid);
        let tick = Tick::floor((number >> 80) as i64 * 1000).ok()?;
        let (high, low) = (number >> 64 & 0xfff, number >> 33 & 0x1fff_ffff);
        let id = Self::from_number((tick.get() as u128) << 41 | high << 29 | low);
        (id.to_uuidv7() == uuid).then_some(id)
    }

    /// An ID as a constant.
    ///
    /// ```
    /// use sno_core::Sno;
    ///
    /// const SYSTEM: Sno = Sno::literal("9q7k4op826n2g222");
    /// assert_eq!(SYSTEM.metabyte(), 1);
    /// ```
    ///
    /// # Panics
    ///
    /// If the text is not an ID. In a constant, this is an error at compile time.
    pub const fn literal(text: &str) -> Self {
        let Some((chars, [])) = text.as_bytes().split_first_chunk() else {
            panic!("length of a sno is not 16 bytes");
        };
        match base32::decode(*chars) {
            Ok(bytes) => Self(bytes),
            Err(_) => panic!("a character of a sno is not one of 2-9 and a-x"),
        }
    }

    /// The 16 characters, as ASCII.
    #[inline]
    pub fn to_text(self) -> [u8; 16] {
        base32::encode(self.0)
    }

    /// The ID of a value in PostgreSQL's binary format, or a message that says why it is none.
    #[cfg(any(feature = "postgres-types", feature = "sqlx"))]
    pub(crate) fn from_binary(bytes: &[u8]) -> Result<Self, std::string::String> {
        bytes
            .try_into()
            .map_err(|_| std::format!("length of a binary sno is {} bytes instead of 10", bytes.len()))
    }

    /// The next larger ID; `None` after [`Sno::MAX`].
    #[inline]
    pub const fn successor(self) -> Option<Self> {
        match self.number() {
            n if n == Self::MAX.number() => None,
            n => Some(Self::from_number(n + 1)),
        }
    }

    /// The next smaller ID; `None` before [`Sno::MIN`].
    #[inline]
    pub const fn predecessor(self) -> Option<Self> {
        match self.number() {
            0 => None,
            n => Some(Self::from_number(n - 1)),
        }
    }

    /// The difference of two IDs in ticks, not negative. The bits below the tick count as its fraction.
    #[inline]
    pub const fn distance(self, other: Self) -> f64 {
        const TICK: f64 = (1_u64 << (80 - Tick::BITS)) as f64;
        self.number().abs_diff(other.number()) as f64 / TICK
    }

    /// The ID as one number of 80 bits.
    #[inline]
    const fn number(self) -> u128 {
        let (high, low) = self.key();
        (high as u128) << 16 | low as u128
    }

    #[inline]
    const fn from_number(number: u128) -> Self {
        let [_, _, _, _, _, _, a, b, c, d, e, f, g, h, i, j] = number.to_be_bytes();
        Self([a, b, c, d, e, f, g, h, i, j])
    }

    /// The ID as two numbers that compare as it does: the first 8 bytes and the last 2.
    #[inline]
    pub(crate) const fn key(self) -> (u64, u16) {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]), self.sequence())
    }
}

impl PartialOrd for Sno {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of the bytes: by time, then tick-tock, metabyte, partition, sequence.
impl Ord for Sno {
    #[inline]
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        // Two loads and byte swaps for each side take a third of the time of a memcmp call.
        self.key().cmp(&other.key())
    }
}

impl FixedLength for Sno {
    const NAME: &'static str = "sno";
    type Text = [u8; 16];
    type Bytes = [u8; 10];
    type Error = ParseError;

    #[inline(always)]
    fn parse_bytes(text: &[u8]) -> Result<Self, ParseError> {
        Self::parse_bytes(text)
    }

    /// Never fails.
    #[inline(always)]
    fn from_bytes(bytes: [u8; 10]) -> Result<Self, ParseError> {
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn to_text(self) -> [u8; 16] {
        self.to_text()
    }

    #[inline(always)]
    fn to_bytes(self) -> [u8; 10] {
        self.0
    }
}

impl fmt::Display for Sno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.to_text()).expect("the alphabet is ASCII"))
    }
}

impl fmt::Debug for Sno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sno({self})")
    }
}

impl str::FromStr for Sno {
    type Err = ParseError;

    #[inline]
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse_bytes(text.as_bytes())
    }
}

impl From<[u8; 10]> for Sno {
    #[inline]
    fn from(bytes: [u8; 10]) -> Self {
        Self(bytes)
    }
}

impl From<Sno> for [u8; 10] {
    #[inline]
    fn from(id: Sno) -> Self {
        id.0
    }
}

impl TryFrom<&[u8]> for Sno {
    type Error = core::array::TryFromSliceError;

    /// Fails unless there are exactly ten bytes.
    #[inline]
    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        bytes.try_into().map(Self)
    }
}

impl AsRef<[u8]> for Sno {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
