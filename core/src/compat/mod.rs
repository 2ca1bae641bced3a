//! Four other ID schemes, three of which use [`Slot`](crate::generation::slot::Slot) and convert to [`Sno`].
//!
//! ```text
//! snowflake_si  │ 40 ms since the site's base clock │ machine 0–12 │ index 13–1 │           53 bits
//! uid60         │ 32 s since 2018-03-01 │ worker 9 │ sequence 10 │ random 9 │                  60 bits
//! uniqueid      │ 42 ms since 1970 │ sequence 6 │ g 3 │ m 1 │ generator 8 │ cluster 4 │        64 bits
//! gid           │ prefix 8 │ 48 ms since 1970 │ prefix 8 │ random 64 │                        128 bits
//! ```
//!
//! The numbers are widths in bits; each module has its layout in full. These IDs have no tick-tock bit, so
//! [`TickType::TWO_SIDES`] is false: after a backward step of the clock, their generators wait until it has caught up.
//!
//! # Conversion to sno
//!
//! [`SnowflakeSi::to_sno`], [`Uid60::to_sno`] and [`UniqueId::to_sno`] lose nothing: the time becomes the tick, and the
//! other 15 to 28 bits become the low bits of partition and sequence. Different IDs of one scheme become different
//! `Sno`s, and IDs that sort by time keep their order. The caller gives a metabyte, which has to be one that no other
//! IDs have, since these can have any partition and sequence. A [`Gid`] does not fit: it has 64 random bits.

pub mod gid;
pub mod snowflake_si;
pub mod uid60;
pub mod uniqueid;

pub use gid::Gid;
pub use snowflake_si::SnowflakeSi;
pub use uid60::Uid60;
pub use uniqueid::UniqueId;

pub use crate::generation::partition::InvalidValue;
use crate::id::sno::{Fields, Sno};
pub use crate::id::tick::Epoch;
use crate::id::tick::{OutOfEpoch, Tick};
use crate::id::tick_type::TickType;

impl Epoch {
    /// The smallest number with the first tick at or after a time, and with `shift` bits below the tick.
    fn lower<T: TickType>(self, unix_micros: i64, shift: u32) -> u64 {
        number(bound(self.ceil::<T>(unix_micros), false), shift)
    }

    /// The largest number with the tick of a time, and with `shift` bits below the tick.
    fn upper<T: TickType>(self, unix_micros: i64, shift: u32) -> u64 {
        number(bound(self.floor::<T>(unix_micros), true), shift)
    }
}

/// A bound, as its tick and whether all bits below the tick are ones or zeros. A time out of range gives the first or
/// the last ID.
fn bound<T: TickType>(tick: Result<T, OutOfEpoch>, ones: bool) -> (T, bool) {
    match tick {
        Ok(tick) => (tick, ones),
        Err(OutOfEpoch::Before) => (T::MIN, false),
        Err(OutOfEpoch::After) => (T::MAX, true),
    }
}

fn number<T: TickType>((tick, low): (T, bool), shift: u32) -> u64 {
    tick.get() << shift | if low { ones(shift) } else { 0 }
}

const fn ones(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A field of a number, from bit `shift` on.
const fn field(value: u64, shift: u32, bits: u32) -> u64 {
    value >> shift & ones(bits)
}

/// The [`Sno`] of a time and of the bits below it. The milliseconds within the tick precede the `fine_bits` bits of
/// `rest`; together they fill up to 32 bits of partition and sequence.
fn to_sno(unix_micros: i64, fine_bits: u32, rest: u32, metabyte: u8) -> Result<Sno, OutOfEpoch> {
    let tick = Tick::floor(unix_micros)?;
    let fine = (unix_micros - tick.unix_micros()) as u32 / 1000;
    let rest = fine << fine_bits | rest;
    let (partition, sequence) = ((rest >> 16) as u16, rest as u16);
    Ok(Fields { tick, tick_tock: false, metabyte, partition, sequence }.into())
}

/// A number in the text of a setting. All settings have less than 16 bits, so a larger number is `u16::MAX`, which is
/// out of range.
fn setting_number(text: &str) -> Option<u16> {
    crate::generation::partition::number(text).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
}

/// Declares the ticks of a scheme.
macro_rules! time {
    ($(#[$attr:meta])* $name:ident, $scheme:literal, $bits:literal bits, $per_second:literal per second) => {
        $(#[$attr])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(u64);

        impl crate::id::tick_type::TickType for $name {
            const NAME: &'static str = $scheme;
            const BITS: u32 = $bits;
            const PER_SECOND: u64 = $per_second;
            const TWO_SIDES: bool = false;
            const MIN: Self = Self(0);
            const MAX: Self = Self((1 << $bits) - 1);

            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self(bits & Self::MAX.0)
            }

            #[inline]
            fn get(self) -> u64 {
                self.0
            }
        }

        /// No reader waits for its transactions.
        impl crate::horizon::databases::WithHorizons for $name {
            type Horizons = ();

            fn resume((): &(), _: Self) {}
        }
    };
}

/// Declares the texts of a type: those of [`FixedLength`](crate::id::fixed_length::FixedLength).
macro_rules! texts {
    ($type:ident) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(
                    str::from_utf8(&crate::id::fixed_length::FixedLength::to_text(*self))
                        .expect("texts are ASCII"),
                )
            }
        }

        impl core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), self)
            }
        }

        impl core::str::FromStr for $type {
            type Err = crate::compat::InvalidValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                crate::id::fixed_length::FixedLength::parse_bytes(text.as_bytes())
            }
        }
    };
}

use {texts, time};
