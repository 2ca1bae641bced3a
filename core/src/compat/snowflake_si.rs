//! Snowflake-SI: 53 bits, which JavaScript's numbers hold exactly.
//!
//! ```text
//!  40 bits                              0–12       13–1
//! ┌────────────────────────────────────┬──────────┬───────────┐
//! │ milliseconds since the base clock  │ machine  │   index   │
//! └────────────────────────────────────┴──────────┴───────────┘
//! ```
//!
//! Each site chooses its base clock once, and how it divides the 13 low bits, 5 and 8 by default. An ID does not show
//! these. The text form is the decimal number.

use core::{fmt, ops::RangeInclusive, str::FromStr};
use std::time::UNIX_EPOCH;

use super::{Epoch, InvalidValue, field, ones, setting_number, time, to_sno};
use crate::generation::by_host::OfOneServer;
use crate::generation::partition::SequenceRange;
use crate::generation::slot::Stamp;
use crate::id::sno::Sno;
use crate::id::tick::OutOfEpoch;

/// Bits below the time.
const LOW: u32 = 13;

time!(
    /// Milliseconds since the base clock, in 40 bits: 34 years and 10 months.
    Millis, "snowflake_si", 40 bits, 1000 per second
);

/// An ID: a number of 53 bits.
///
/// ```
/// use sno_core::{TickType as _, compat::{SnowflakeSi, snowflake_si::{Fields, Machine, Millis}}};
///
/// let machine: Machine = "12/4".parse()?;
/// let fields = Fields { time: Millis::from_bits(1000), machine: 12, index: 0 };
/// let id = SnowflakeSi::from_fields(fields, machine.bits()).unwrap();
/// assert_eq!(id.get(), 8_198_144);
/// assert_eq!(id.fields(4), fields);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct SnowflakeSi(u64);

/// The fields of an ID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fields {
    /// When it was generated.
    pub time: Millis,
    /// The number of the machine that generated it.
    pub machine: u16,
    /// A number within machine and millisecond.
    pub index: u16,
}

impl SnowflakeSi {
    /// The largest ID, 2⁵³ − 1: JavaScript's `Number.MAX_SAFE_INTEGER`.
    pub const MAX: Self = Self(ones(53));

    /// The ID of this number.
    ///
    /// # Errors
    ///
    /// The number needs more than 53 bits.
    pub const fn new(number: u64) -> Result<Self, InvalidValue> {
        match number {
            0..=9_007_199_254_740_991 => Ok(Self(number)),
            _ => Err(InvalidValue { expected: "a Snowflake-SI ID is between 0 and 9007199254740991" }),
        }
    }

    /// The ID of a stamp that was claimed with a [`Machine::pool`], whose numbers are the 13 low bits.
    ///
    /// # Panics
    ///
    /// The sequence number of the stamp is above 8191.
    #[inline]
    pub fn from_stamp(stamp: Stamp<Millis>) -> Self {
        let (time, index) = (stamp.tick(), stamp.sequence());
        Self::from_fields(Fields { time, machine: 0, index }, 0).expect("a number of 13 bits")
    }

    /// The ID of these fields, where the machine has 0 to 12 bits; `None` if a field does not fit its bits, or the
    /// machine has more.
    pub fn from_fields(fields: Fields, machine_bits: u8) -> Option<Self> {
        let Fields { time, machine, index } = fields;
        if machine_bits > Machine::MAX_BITS {
            return None;
        }
        let index_bits = LOW - u32::from(machine_bits);
        let fits = machine >> machine_bits == 0 && index >> index_bits == 0;
        fits.then_some(Self(time.0 << LOW | (machine as u64) << index_bits | index as u64))
    }

    /// The fields, where the machine has this many bits: 0 to 12.
    ///
    /// # Panics
    ///
    /// More than 12 bits.
    pub fn fields(self, machine_bits: u8) -> Fields {
        assert!(machine_bits <= Machine::MAX_BITS, "a machine has 0 to 12 bits");
        let index_bits = LOW - u32::from(machine_bits);
        Fields {
            time: self.time(),
            machine: field(self.0, index_bits, machine_bits.into()) as u16,
            index: field(self.0, 0, index_bits) as u16,
        }
    }

    /// When the ID was generated.
    #[inline]
    pub const fn time(self) -> Millis {
        Millis(self.0 >> LOW)
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The smallest possible ID of the first millisecond at or after a Unix time in microseconds, by a base clock. A
    /// time out of range gives the smallest or the largest ID.
    pub fn lower_bound(base: BaseClock, unix_micros: i64) -> Self {
        Self(base.epoch().lower::<Millis>(unix_micros, LOW))
    }

    /// The largest possible ID of the millisecond of a Unix time in microseconds, by a base clock. A time out of range
    /// gives the smallest or the largest ID.
    pub fn upper_bound(base: BaseClock, unix_micros: i64) -> Self {
        Self(base.epoch().upper::<Millis>(unix_micros, LOW))
    }

    /// The ID as a [`Sno`]. With one base clock and metabyte, different IDs become different `Sno`s, in the same order.
    /// The milliseconds within the tick and the 13 low bits are the sequence; the partition is 0.
    ///
    /// # Errors
    ///
    /// The time is not one that a `Sno` holds: see [`Tick`](crate::id::tick::Tick).
    pub fn to_sno(self, base: BaseClock, metabyte: u8) -> Result<Sno, OutOfEpoch> {
        // Base clocks are whole milliseconds, so what is left of a tick is, too.
        to_sno(base.epoch().unix_micros(self.time()), LOW, field(self.0, 0, LOW) as u32, metabyte)
    }
}

impl fmt::Display for SnowflakeSi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SnowflakeSi {
    type Err = InvalidValue;

    /// A decimal number, without a sign.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let digits = !text.starts_with('+');
        // Whatever is not a number is out of range.
        text.parse().ok().filter(|_| digits).map_or(Self::new(u64::MAX), Self::new)
    }
}

/// The time from which a site counts its milliseconds.
///
/// Written as in RFC 3339, in UTC: `2020-01-01T00:00:00Z`, with up to three digits of a second's fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseClock {
    unix_millis: i64,
}

impl BaseClock {
    /// Base clocks are after this time, in milliseconds since 1970: 2003-03-18 07:20:19.224 UTC. 40 bits of
    /// milliseconds from then on end where 31 bits of seconds since 1970 do.
    pub const AFTER_UNIX_MILLIS: i64 = 1_047_972_019_224;
    /// Base clocks are before 10000-01-01, since RFC 3339 has years of four digits.
    const BEFORE_UNIX_MILLIS: i64 = 253_402_300_800_000;

    /// The base clock at this many milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// Not after 2003-03-18 07:20:19.224 UTC, or not before the year 10000.
    pub const fn new(unix_millis: i64) -> Result<Self, InvalidValue> {
        if unix_millis > Self::AFTER_UNIX_MILLIS && unix_millis < Self::BEFORE_UNIX_MILLIS {
            Ok(Self { unix_millis })
        } else {
            Err(InvalidValue { expected: "a base clock is after 2003-03-18T07:20:19.224Z" })
        }
    }

    /// Milliseconds since 1970.
    pub const fn unix_millis(self) -> i64 {
        self.unix_millis
    }

    /// The base clock as an epoch.
    #[inline]
    pub const fn epoch(self) -> Epoch {
        Epoch::at_unix_millis(self.unix_millis)
    }
}

impl FromStr for BaseClock {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text.is_empty() {
            return Err(InvalidValue { expected: "a site chooses its base clock before its first ID" });
        }
        let syntax = InvalidValue { expected: "expected a time in UTC, as in \"2020-01-01T00:00:00Z\"" };
        let time = humantime::parse_rfc3339(text).map_err(|_| syntax)?;
        // Times before 1970 were refused above.
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        if since.subsec_nanos() % 1_000_000 != 0 {
            return Err(InvalidValue { expected: "a base clock is exact to the millisecond, and no finer" });
        }
        Self::new(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The number of a machine, and how many of the 13 low bits it takes.
///
/// Written `12/4`, or `12`, since 5 bits are the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    number: u16,
    bits: u8,
}

impl Machine {
    /// The most bits of a machine, which leave one bit for the index.
    pub const MAX_BITS: u8 = 12;

    /// The machine of this number, in a field of 0 to 12 bits.
    ///
    /// # Errors
    ///
    /// More than 12 bits, or a number that does not fit them.
    pub const fn new(number: u16, bits: u8) -> Result<Self, InvalidValue> {
        if bits > Self::MAX_BITS {
            return Err(InvalidValue { expected: "a machine has 0 to 12 bits" });
        }
        if number >> bits != 0 {
            return Err(InvalidValue { expected: "the number of a machine has to fit its bits" });
        }
        Ok(Self { number, bits })
    }

    /// The machine's number.
    pub const fn number(self) -> u16 {
        self.number
    }

    /// The width of its field, 0 to 12 bits.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The values that a generator on this machine can give the 13 low bits: its number and any index. They are the
    /// sequence numbers of its slot, so they do not repeat within a millisecond even if the settings change.
    pub const fn pool(self) -> SequenceRange {
        let index_bits = LOW - self.bits as u32;
        let first = self.number << index_bits;
        SequenceRange::from_bounds(first, first | ones(index_bits) as u16)
    }
}

impl OfOneServer for Machine {
    fn numbers(&self) -> RangeInclusive<u16> {
        self.pool().lower()..=self.pool().upper()
    }
}

impl FromStr for Machine {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (number, bits) = text.split_once('/').unwrap_or((text, "5"));
        let syntax = InvalidValue { expected: "expected a number, or a number and its bits, as in \"12/4\"" };
        let parse = |text| setting_number(text).ok_or(syntax);
        let (number, bits) = (parse(number)?, parse(bits)?);
        Self::new(number, u8::try_from(bits).unwrap_or(u8::MAX))
    }
}
