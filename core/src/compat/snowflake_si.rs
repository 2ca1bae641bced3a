//! Snowflake-SI: 53 bits, so that the number is exact in JavaScript.
//!
//! ```text
//!  40 bits                              0–12       13–1
//! ┌────────────────────────────────────┬──────────┬───────────┐
//! │ milliseconds since the base clock  │ machine  │   index   │
//! └────────────────────────────────────┴──────────┴───────────┘
//! ```
//!
//! Each site chooses its base clock once, and how it divides the 13 low bits: 5 and 8 by default. Neither can
//! be seen in an ID. There is no text form but the decimal number.

use core::{fmt, str::FromStr};
use std::time::UNIX_EPOCH;

use super::{Epoch, InvalidId, SettingError, field, ones, time, to_sno};
use crate::{OutOfEpoch, SequenceRange, Sno};

/// Bits below the time.
const LOW: u32 = 13;

time!(
    /// Milliseconds since the base clock, in 40 bits: 34 years and 10 months.
    Millis, "snowflake_si", 40 bits, 1000 per second
);

/// An ID: a number of 53 bits.
///
/// ```
/// use sno_core::{Time as _, compat::{SnowflakeSi, snowflake_si::{Fields, Machine, Millis}}};
///
/// let machine: Machine = "12/4".parse()?;
/// let fields = Fields { time: Millis::from_bits(1000), machine: 12, index: 0 };
/// let id = SnowflakeSi::of_fields(fields, machine.bits()).unwrap();
/// assert_eq!(id.get(), 8_198_144);
/// assert_eq!(id.fields(4), fields);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct SnowflakeSi(u64);

/// What an ID is made of, for a site that divides its bits so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fields {
    /// When it was made.
    pub time: Millis,
    /// Who made it.
    pub machine: u16,
    /// Tells the IDs of one machine and millisecond apart.
    pub index: u16,
}

impl SnowflakeSi {
    /// The largest ID, 2⁵³ − 1: JavaScript's `Number.MAX_SAFE_INTEGER`.
    pub const MAX: Self = Self(ones(53));

    /// The ID of this number.
    ///
    /// # Errors
    ///
    /// More than 53 bits.
    pub const fn new(number: u64) -> Result<Self, InvalidId> {
        match number {
            0..=9_007_199_254_740_991 => Ok(Self(number)),
            _ => Err(InvalidId { expected: "a Snowflake-SI ID is between 0 and 9007199254740991" }),
        }
    }

    /// The ID of a claimed time and number: a [`Machine`]'s pool has the 13 low bits.
    #[inline]
    pub fn from_stamp(stamp: crate::Stamp<Millis>) -> Self {
        Self(stamp.tick.0 << LOW | stamp.sequence as u64)
    }

    /// The ID of these fields; `None` if one of them does not fit its bits.
    pub fn of_fields(fields: Fields, machine_bits: u8) -> Option<Self> {
        let Fields { time, machine, index } = fields;
        let index_bits = LOW - u32::from(machine_bits);
        let fits = machine >> machine_bits == 0 && index >> index_bits == 0;
        fits.then_some(Self(time.0 << LOW | (machine as u64) << index_bits | index as u64))
    }

    /// All fields at once, with so many bits for the machine, at most 12.
    pub fn fields(self, machine_bits: u8) -> Fields {
        let index_bits = LOW - u32::from(machine_bits);
        Fields {
            time: self.time(),
            machine: field(self.0, index_bits, machine_bits.into()) as u16,
            index: field(self.0, 0, index_bits) as u16,
        }
    }

    /// When the ID was made.
    #[inline]
    pub const fn time(self) -> Millis {
        Millis(self.0 >> LOW)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The smallest ID not made before a Unix time in microseconds, by a base clock. It saturates.
    pub fn lower_bound(base: BaseClock, unix_micros: i64) -> Self {
        Self(base.epoch().lower::<Millis>(unix_micros, LOW))
    }

    /// The largest ID not made after a Unix time in microseconds, by a base clock. It saturates.
    pub fn upper_bound(base: BaseClock, unix_micros: i64) -> Self {
        Self(base.epoch().upper::<Millis>(unix_micros, LOW))
    }

    /// The same ID as a [`Sno`]: injective for one base clock and metabyte, and in the same order. The two
    /// low bits of the milliseconds and the 13 others are its sequence; its partition is 0.
    ///
    /// # Errors
    ///
    /// A time that `Sno` does not hold.
    pub fn to_sno(self, base: BaseClock, metabyte: u8) -> Result<Sno, OutOfEpoch> {
        // To the millisecond, whatever the base clock is, so the fraction of a tick is whole milliseconds.
        to_sno(base.epoch().unix_micros(self.time()), LOW, field(self.0, 0, LOW) as u32, metabyte)
    }
}

/// The instant from which a site counts its milliseconds.
///
/// Written as in RFC 3339, in UTC: `2020-01-01T00:00:00Z`, with up to three digits of a second's fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseClock {
    unix_millis: i64,
}

impl BaseClock {
    /// Base clocks are after 2003-03-18 07:20:19.224 UTC: 40 bits from then on end where 31 bits of seconds do.
    pub const AFTER_UNIX_MILLIS: i64 = 1_047_972_019_224;
    /// Base clocks are before 10000-01-01, as RFC 3339 can write them.
    const BEFORE_UNIX_MILLIS: i64 = 253_402_300_800_000;

    /// A base clock of so many milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// Not after 2003-03-18 07:20:19.224 UTC, or not before the year 10000.
    pub const fn new(unix_millis: i64) -> Result<Self, SettingError> {
        if unix_millis > Self::AFTER_UNIX_MILLIS && unix_millis < Self::BEFORE_UNIX_MILLIS {
            Ok(Self { unix_millis })
        } else {
            Err(SettingError { expected: "a base clock is after 2003-03-18T07:20:19.224Z" })
        }
    }

    /// Milliseconds since 1970.
    pub const fn unix_millis(self) -> i64 {
        self.unix_millis
    }

    /// Where the ticks are counted from.
    #[inline]
    pub const fn epoch(self) -> Epoch {
        Epoch::at_unix_millis(self.unix_millis)
    }
}

impl FromStr for BaseClock {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        if text.is_empty() {
            return Err(SettingError { expected: "a site chooses its base clock before its first ID" });
        }
        let syntax = SettingError { expected: "expected a time in UTC, as in \"2020-01-01T00:00:00Z\"" };
        let time = humantime::parse_rfc3339(text).map_err(|_| syntax)?;
        // What is read is not before 1970.
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        if since.subsec_nanos() % 1_000_000 != 0 {
            return Err(SettingError { expected: "a base clock is exact to the millisecond, and no finer" });
        }
        Self::new(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Which machine this is, and how many of the 13 low bits say so.
///
/// Written `12/4`, or just `12`, since 5 bits are the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    number: u16,
    bits: u8,
}

impl Machine {
    /// The widest field for the machine, which leaves one bit for the index.
    pub const MAX_BITS: u8 = 12;

    /// A machine, in a field of so many bits.
    ///
    /// # Errors
    ///
    /// More than 12 bits, or a number that needs more of them than there are.
    pub const fn new(number: u16, bits: u8) -> Result<Self, SettingError> {
        if bits > Self::MAX_BITS {
            return Err(SettingError { expected: "a machine has 0 to 12 bits" });
        }
        if number >> bits != 0 {
            return Err(SettingError { expected: "the number of a machine has to fit its bits" });
        }
        Ok(Self { number, bits })
    }

    /// The machine's number.
    pub const fn number(self) -> u16 {
        self.number
    }

    /// The width of its field.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// What a generator on this machine puts into the 13 low bits: its own number, and any index. So
    /// whatever the settings are and become, one generator never makes a number of 13 bits twice in a
    /// millisecond.
    pub const fn pool(self) -> SequenceRange {
        let index_bits = LOW - self.bits as u32;
        let first = self.number << index_bits;
        SequenceRange::of_field(first, first | ones(index_bits) as u16)
    }
}

impl Default for Machine {
    /// `0/5`.
    fn default() -> Self {
        Self { number: 0, bits: 5 }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.bits)
    }
}

impl FromStr for Machine {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let (number, bits) = text.split_once('/').unwrap_or((text, "5"));
        let parse = |text| match crate::partition::number(text) {
            Some(number) => Ok(u16::try_from(number).unwrap_or(u16::MAX)),
            None => {
                Err(SettingError { expected: "expected a number, or a number and its bits, as in \"12/4\"" })
            }
        };
        let (number, bits) = (parse(number)?, parse(bits)?);
        Self::new(number, u8::try_from(bits).unwrap_or(u8::MAX))
    }
}
