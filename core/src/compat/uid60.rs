//! uid60: 60 bits, shown as 10 characters.
//!
//! ```text
//!  32 bits                        9          10           9
//! ┌──────────────────────────────┬──────────┬────────────┬──────────┐
//! │ seconds since 2018-03-01 UTC │  worker  │  sequence  │  random  │
//! └──────────────────────────────┴──────────┴────────────┴──────────┘
//! ```
//!
//! The text has six bits a character, most significant first, with the 32 bits of time in reverse order. So the numbers
//! sort by time and the texts do not.

use core::{
    array,
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use super::{Epoch, InvalidValue, field, ones, setting_number, texts, time, to_sno};
use crate::generation::by_host::OfOneServer;
use crate::generation::partition::SequenceRange;
use crate::generation::slot::Stamp;
use crate::id::fixed_length::FixedLength;
use crate::id::sno::Sno;
use crate::id::tick::OutOfEpoch;
use crate::id::tick_type::TickType;

/// 2018-03-01 00:00:00 UTC.
pub const EPOCH: Epoch = Epoch::at_unix_millis(1_519_862_400_000);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bits below the time.
const LOW: u32 = 28;

time!(
    /// Seconds since 2018-03-01 00:00:00 UTC, in 32 bits: up to 2154-04-07 06:28:15 UTC.
    Seconds, "uid60", 32 bits, 1 per second
);

/// An ID: a number of 60 bits.
///
/// ```
/// use sno_core::compat::Uid60;
///
/// let id: Uid60 = "AZI9gACAQD".parse()?;
/// assert_eq!(id.get(), 7_815_981_485_786_115);
/// assert_eq!((id.worker(), id.sequence(), id.random()), (1, 2, 3));
/// assert_eq!(id.to_string(), "AZI9gACAQD");
/// # Ok::<(), sno_core::compat::InvalidValue>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Uid60(u64);

/// The fields of an ID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fields {
    /// When it was generated.
    pub time: Seconds,
    /// The number of the worker that generated it, in 9 bits.
    pub worker: u16,
    /// A number within worker and second, in 10 bits.
    pub sequence: u16,
    /// 9 random bits.
    pub random: u16,
}

impl Uid60 {
    /// The largest ID: 60 bits of ones.
    pub const MAX: Self = Self(ones(60));
    /// The largest worker number.
    pub const MAX_WORKER: u16 = 511;
    /// The pool of a second: 1024 numbers.
    pub const POOL: SequenceRange = SequenceRange::from_bounds(0, 1023);

    /// The ID of this number.
    ///
    /// # Errors
    ///
    /// The number needs more than 60 bits.
    pub const fn new(number: u64) -> Result<Self, InvalidValue> {
        if number <= Self::MAX.0 {
            Ok(Self(number))
        } else {
            Err(InvalidValue { expected: "a uid60 is between 0 and 1152921504606846975" })
        }
    }

    /// The ID of the low 60 bits; the others are ignored.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::MAX.0)
    }

    /// The ID of these fields; `None` if one of them does not fit its bits.
    pub fn from_fields(fields: Fields) -> Option<Self> {
        let Fields { time, worker, sequence, random } = fields;
        let fits = worker < 1 << 9 && sequence < 1 << 10 && random < 1 << 9;
        fits.then_some(Self(time.0 << LOW | (worker as u64) << 19 | (sequence as u64) << 9 | random as u64))
    }

    /// The ID of a stamp that was claimed with [`Uid60::POOL`]. Of `random` the low nine bits are used.
    ///
    /// # Panics
    ///
    /// The sequence number of the stamp is above 1023, or the worker above 511.
    #[inline]
    pub fn from_stamp(stamp: Stamp<Seconds>, worker: u16, random: u16) -> Self {
        let (time, sequence) = (stamp.tick(), stamp.sequence());
        Self::from_fields(Fields { time, worker, sequence, random: random & 0x1ff }).expect("fields that fit")
    }

    /// All fields at once.
    pub const fn fields(self) -> Fields {
        Fields { time: self.time(), worker: self.worker(), sequence: self.sequence(), random: self.random() }
    }

    /// When the ID was generated.
    #[inline]
    pub const fn time(self) -> Seconds {
        Seconds(self.0 >> LOW)
    }

    /// Who generated it.
    pub const fn worker(self) -> u16 {
        field(self.0, 19, 9) as u16
    }

    /// The number within second and worker.
    pub const fn sequence(self) -> u16 {
        field(self.0, 9, 10) as u16
    }

    /// The random bits.
    pub const fn random(self) -> u16 {
        field(self.0, 0, 9) as u16
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The smallest possible ID of the first second at or after a Unix time in microseconds. A time out of range gives
    /// the smallest or the largest ID.
    pub fn lower_bound(unix_micros: i64) -> Self {
        Self(EPOCH.lower::<Seconds>(unix_micros, LOW))
    }

    /// The largest possible ID of the second of a Unix time in microseconds. A time out of range gives the smallest or
    /// the largest ID.
    pub fn upper_bound(unix_micros: i64) -> Self {
        Self(EPOCH.upper::<Seconds>(unix_micros, LOW))
    }

    /// The ID as a [`Sno`]. With one metabyte, different IDs become different `Sno`s, in the same order. The 28 bits
    /// below the time are the partition and the sequence.
    ///
    /// # Errors
    ///
    /// The time is not one that a `Sno` holds: see [`Tick`](crate::id::tick::Tick).
    pub fn to_sno(self, metabyte: u8) -> Result<Sno, OutOfEpoch> {
        to_sno(EPOCH.unix_micros(self.time()), LOW, field(self.0, 0, LOW) as u32, metabyte)
    }

    /// The number with the bits of its time in reverse order. It converts the number to the bits of the text, and back.
    const fn mirrored(number: u64) -> u64 {
        (((number >> LOW) as u32).reverse_bits() as u64) << LOW | field(number, 0, LOW)
    }
}

impl FixedLength for Uid60 {
    const NAME: &'static str = "uid60";
    type Text = [u8; 10];
    type Bytes = [u8; 8];
    type Error = InvalidValue;

    /// 10 characters of the alphabet.
    fn parse_bytes(text: &[u8]) -> Result<Self, InvalidValue> {
        let error = InvalidValue { expected: "a uid60 is 10 of the characters A-Z, a-z, 0-9, - and _" };
        let text: &[u8; 10] = text.try_into().map_err(|_| error)?;
        let bits = text.iter().try_fold(0, |bits, &letter| {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return Err(error),
            };
            Ok(bits << 6 | u64::from(value))
        })?;
        Ok(Self(Self::mirrored(bits)))
    }

    /// The number, which has at most 60 bits.
    fn from_bytes(bytes: [u8; 8]) -> Result<Self, InvalidValue> {
        Self::new(u64::from_be_bytes(bytes))
    }

    fn to_text(self) -> [u8; 10] {
        let bits = Self::mirrored(self.0);
        array::from_fn(|place| ALPHABET[field(bits, 54 - 6 * place as u32, 6) as usize])
    }

    fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

texts!(Uid60);

/// The worker numbers of one server, both ends included. Written `0-511`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workers {
    first: u16,
    last: u16,
}

impl Workers {
    /// The worker numbers from one to another, both included.
    ///
    /// # Errors
    ///
    /// `last` is above 511, or below `first`.
    pub const fn new(first: u16, last: u16) -> Result<Self, InvalidValue> {
        if last > Uid60::MAX_WORKER {
            return Err(InvalidValue { expected: "a worker is between 0 and 511" });
        }
        if first > last {
            return Err(InvalidValue { expected: "there is at least one worker" });
        }
        Ok(Self { first, last })
    }

    /// Leases the next worker number, for [`Lease::SECONDS`] from `now` on. Callers with the same counter get one
    /// number after another, and the first again after the last.
    pub fn lease(self, counter: &AtomicU64, now: Seconds) -> Lease {
        let count = u64::from(self.last - self.first) + 1;
        let number = counter.fetch_add(1, Relaxed) % count;
        Lease { worker: self.first + number as u16, since: now }
    }
}

impl OfOneServer for Workers {
    fn numbers(&self) -> core::ops::RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl FromStr for Workers {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let syntax = InvalidValue { expected: "expected the first and the last worker, as in \"0-511\"" };
        let (first, last) = text.split_once('-').ok_or(syntax)?;
        let number = |text| setting_number(text).ok_or(syntax);
        Self::new(number(first)?, number(last)?)
    }
}

/// A worker number for a limited time.
///
/// Several callers may hold the same number, at the end of a lease or if there are few numbers. IDs are unique all the
/// same if all holders of a number claim from the same [`Slot`](crate::generation::slot::Slot).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    worker: u16,
    since: Seconds,
}

impl Lease {
    /// The length of a lease, in seconds.
    pub const SECONDS: u64 = 3600;

    /// The worker number.
    #[inline]
    pub const fn worker(self) -> u16 {
        self.worker
    }

    /// Whether the lease is valid at this time: from its beginning to its end, which is excluded.
    #[inline]
    pub fn holds(self, now: Seconds) -> bool {
        (self.since..self.since.saturating_add(Self::SECONDS)).contains(&now)
    }
}
