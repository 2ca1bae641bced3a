//! uniqueid: 8 bytes, shown as 16 hexadecimal digits.
//!
//! ```text
//!  42 bits                        6            3     1      8              4
//! ┌──────────────────────────────┬────────────┬─────┬──────┬──────────────┬───────────┐
//! │ milliseconds since 1970      │  sequence  │ g   │ form │  generator   │  cluster  │
//! └──────────────────────────────┴────────────┴─────┴──────┴──────────────┴───────────┘
//! ```
//!
//! The generator has 11 bits; the highest three of them (`g`) precede the bit for the form. The first version of the
//! system had generators of 6 bits, and the other 5 bits were 0.
//!
//! The form is 0 for *spread*: the 42 bits of time are in reverse order, which distributes IDs over the key space of a
//! distributed database. It is 1 for *time-sequential*: the time is stored as it is, and IDs sort by time. IDs of
//! different forms differ.

use core::{array, ops::RangeInclusive, str::FromStr};

use super::{Epoch, InvalidValue, field, setting_number, texts, time, to_sno};
use crate::generation::by_host::OfOneServer;
use crate::generation::partition::SequenceRange;
use crate::generation::slot::Stamp;
use crate::id::fixed_length::FixedLength;
use crate::id::sno::Sno;
use crate::id::tick::OutOfEpoch;

/// Bits below the time.
const LOW: u32 = 22;
/// The bit for the form.
const MODE: u64 = 0x1000;

time!(
    /// Milliseconds since 1970, in 42 bits: up to 2109-05-15 07:35:11.103 UTC.
    Millis, "uniqueid", 42 bits, 1000 per second
);

/// An ID: 8 bytes, big-endian.
///
/// ```
/// use sno_core::compat::{UniqueId, uniqueid::Form};
///
/// let id: UniqueId = "cb54ecf2840a0015".parse()?;
/// let fields = id.fields();
/// assert_eq!((fields.sequence, fields.generator, fields.cluster), (10, 1, 5));
/// assert_eq!(fields.form, Form::Spread);
/// # Ok::<(), sno_core::compat::InvalidValue>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct UniqueId(u64);

/// How the time is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Form {
    /// In reverse bit order: IDs are distributed over the key space.
    #[default]
    Spread,
    /// In its own order: IDs sort by time.
    TimeSequential,
}

/// The fields of an ID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fields {
    /// When it was generated.
    pub time: Millis,
    /// A number within generator and millisecond, in 6 bits.
    pub sequence: u16,
    /// The number of the generator that generated it, in 11 bits.
    pub generator: u16,
    /// The number of the cluster where it was generated, in 4 bits.
    pub cluster: u16,
    /// How the time is stored.
    pub form: Form,
}

impl UniqueId {
    /// The pool of a millisecond: 64 numbers.
    pub const POOL: SequenceRange = SequenceRange::from_bounds(0, 63);

    /// The ID of this number; every number is one.
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The ID of these fields; `None` if one of them does not fit its bits.
    pub fn from_fields(fields: Fields) -> Option<Self> {
        let Fields { time, sequence, generator, cluster, form } = fields;
        let fits = sequence < 1 << 6 && generator < 1 << 11 && cluster < 1 << 4;
        let low = (sequence as u64) << 16
            | field(generator.into(), 8, 3) << 13
            | field(generator.into(), 0, 8) << 4
            | cluster as u64;
        fits.then_some(match form {
            Form::Spread => Self(reversed(time.0) << LOW | low),
            Form::TimeSequential => Self(time.0 << LOW | low | MODE),
        })
    }

    /// The ID of a stamp that was claimed with [`UniqueId::POOL`].
    ///
    /// # Panics
    ///
    /// The sequence number of the stamp is above 63, or the generator above 2047.
    pub fn from_stamp(stamp: Stamp<Millis>, generator: u16, cluster: Cluster, form: Form) -> Self {
        let (time, sequence) = (stamp.tick(), stamp.sequence());
        let fields = Fields { time, sequence, generator, cluster: cluster.0, form };
        Self::from_fields(fields).expect("fields that fit")
    }

    /// All fields at once.
    pub const fn fields(self) -> Fields {
        Fields {
            time: self.time(),
            sequence: field(self.0, 16, 6) as u16,
            generator: (field(self.0, 13, 3) << 8 | field(self.0, 4, 8)) as u16,
            cluster: field(self.0, 0, 4) as u16,
            form: self.form(),
        }
    }

    /// When the ID was generated.
    #[inline]
    pub const fn time(self) -> Millis {
        let bits = self.0 >> LOW;
        match self.form() {
            Form::Spread => Millis(reversed(bits)),
            Form::TimeSequential => Millis(bits),
        }
    }

    /// How the time is stored.
    #[inline]
    pub const fn form(self) -> Form {
        if self.0 & MODE == 0 { Form::Spread } else { Form::TimeSequential }
    }

    /// The number, whose order is the order of IDs.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The smallest possible time-sequential ID of the first millisecond at or after a Unix time in microseconds. A
    /// time out of range gives the smallest or the largest one. For spread IDs there is no such bound.
    pub fn lower_bound(unix_micros: i64) -> Self {
        Self(Epoch::UNIX.lower::<Millis>(unix_micros, LOW) | MODE)
    }

    /// The largest possible time-sequential ID of the millisecond of a Unix time in microseconds. A time out of range
    /// gives the smallest or the largest one. For spread IDs there is no such bound.
    pub fn upper_bound(unix_micros: i64) -> Self {
        Self(Epoch::UNIX.upper::<Millis>(unix_micros, LOW) | MODE)
    }

    /// The ID as a [`Sno`]. With one metabyte, different IDs become different `Sno`s, in the order of their times. The
    /// milliseconds within the tick and the 22 bits below the time are the partition and the sequence.
    ///
    /// # Errors
    ///
    /// The time is not one that a `Sno` holds: see [`Tick`](crate::id::tick::Tick).
    pub fn to_sno(self, metabyte: u8) -> Result<Sno, OutOfEpoch> {
        to_sno(Epoch::UNIX.unix_micros(self.time()), LOW, field(self.0, 0, LOW) as u32, metabyte)
    }
}

impl FixedLength for UniqueId {
    const NAME: &'static str = "uniqueid";
    type Text = [u8; 16];
    type Bytes = [u8; 8];
    type Error = InvalidValue;

    /// 16 hexadecimal digits, in upper or lower case.
    fn parse_bytes(text: &[u8]) -> Result<Self, InvalidValue> {
        let error = InvalidValue { expected: "a uniqueid is 16 hexadecimal digits" };
        if text.len() != 16 {
            return Err(error);
        }
        text.iter()
            .try_fold(0, |number, &digit| Some(number << 4 | u64::from((digit as char).to_digit(16)?)))
            .map(Self)
            .ok_or(error)
    }

    /// Never fails.
    fn from_bytes(bytes: [u8; 8]) -> Result<Self, InvalidValue> {
        Ok(Self(u64::from_be_bytes(bytes)))
    }

    /// Lower case.
    fn to_text(self) -> [u8; 16] {
        array::from_fn(|place| b"0123456789abcdef"[field(self.0, 60 - 4 * place as u32, 4) as usize])
    }

    fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

texts!(UniqueId);

/// The 42 bits of a time in reverse order.
const fn reversed(bits: u64) -> u64 {
    bits.reverse_bits() >> LOW
}

impl Form {
    /// `spread` or `time_sequential`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::TimeSequential => "time_sequential",
        }
    }
}

impl FromStr for Form {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        [Self::Spread, Self::TimeSequential]
            .into_iter()
            .find(|form| form.name() == text)
            .ok_or(InvalidValue { expected: "a form is \"spread\" or \"time_sequential\"" })
    }
}

/// The number of a cluster, in 4 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cluster(u16);

impl Cluster {
    /// The cluster of this number.
    ///
    /// # Errors
    ///
    /// The number is over 15.
    pub const fn new(number: u16) -> Result<Self, InvalidValue> {
        if number <= 15 {
            Ok(Self(number))
        } else {
            Err(InvalidValue { expected: "a cluster is between 0 and 15" })
        }
    }

    /// The number, 0 to 15.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl OfOneServer for Cluster {
    fn numbers(&self) -> RangeInclusive<u16> {
        self.0..=self.0
    }
}

impl FromStr for Cluster {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        Self::new(setting_number(text).unwrap_or(u16::MAX))
    }
}

/// How many bits the numbers of generators have: 6 to 11.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GeneratorBits(u16);

impl GeneratorBits {
    /// Numbers of this width.
    ///
    /// # Errors
    ///
    /// Fewer than 6 or more than 11 bits.
    pub const fn new(bits: u16) -> Result<Self, InvalidValue> {
        if bits >= 6 && bits <= 11 {
            Ok(Self(bits))
        } else {
            Err(InvalidValue { expected: "a generator has 6 to 11 bits" })
        }
    }

    /// The width.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The generator of a process. With 6 bits there are 64, so processes can have the same, and then have to share it.
    pub const fn generator(self, process_id: u32) -> u16 {
        (process_id % (1 << self.0)) as u16
    }
}

impl FromStr for GeneratorBits {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        Self::new(setting_number(text).unwrap_or(u16::MAX))
    }
}
