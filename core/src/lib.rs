//! IDs of 10 bytes and 16 characters that sort by time, carry one byte of the application's own, and
//! never repeat.
//!
//! ```
//! use sno_core::Sno;
//!
//! let id: Sno = "9q7k4op826n2g222".parse()?;
//! assert_eq!(id.metabyte(), 1);
//! assert_eq!(id.partition(), 42 << 8 | 7);
//! assert_eq!(id.to_string(), "9q7k4op826n2g222");
//! # Ok::<(), sno_core::ParseError>(())
//! ```
//!
//! # Layout
//!
//! Two blocks of 40 bits, big-endian, so that the order of the bytes is the order in time:
//!
//! ```text
//!  39 bits                   1        8          16           16
//! ┌─────────────────────────┬─┬────────────┬────────────┬────────────┐
//! │ tick: 4 ms since 2010   │t│  metabyte  │ partition  │  sequence  │
//! └─────────────────────────┴─┴────────────┴────────────┴────────────┘
//!                            └ tick-tock: which of the two timelines
//! ```
//!
//! # Which one should I use?
//!
//! * To read, write, compare or store IDs: [`Sno`], its [`Fields`] and [`Tick`].
//! * To make IDs in one process: [`Generator`]. Give every process that can run at the same time a
//!   [partition](Prefix::partition) of its own.
//! * To share a generator between processes: a [`Slot`] in shared memory, and [`Marks`] for what has to
//!   outlive a restart. This is how the PostgreSQL extension works.
//! * To sort them by the million: an [`Abbreviation`] of 64 bits.
//! * To make and read IDs of other systems, or to come over from one: the module `compat`, behind the feature
//!   of that name.
//!
//! # Features
//!
//! * `std` (default): [`SystemClock`], [`TickClock`], and [`Generator::generate`], which waits when it has to.
//! * `serde`: [`Sno`] as text in human-readable formats, as 10 bytes in binary ones.
//! * `marks`: the [`record`] of the marks in a file.
//! * `compat`: four other systems of IDs, and the way from them into [`Sno`].
//! * `postgres-types`: [`Sno`] as a parameter and a result of the drivers `postgres` and `tokio-postgres`: of the
//!   type `sno` and of `bytea` as ten bytes, of `text`, `varchar` and `char` as 16 characters.
//! * `sqlx`: [`Sno`] as a parameter and a result of `sqlx` on PostgreSQL, of the type `sno` alone.
//!
//! With either, `Option<Sno>` is for NULL and `Vec<Sno>` for `sno[]`:
//!
#![cfg_attr(feature = "postgres-types", doc = "```no_run")]
#![cfg_attr(not(feature = "postgres-types"), doc = "```ignore")]
//! # fn main() -> Result<(), postgres::Error> {
//! # let mut client = postgres::Client::connect("", postgres::NoTls)?;
//! use sno_core::Sno;
//!
//! let id: Sno = client.query_one("INSERT INTO events DEFAULT VALUES RETURNING id", &[])?.get(0);
//! client.execute("UPDATE events SET seen = true WHERE id = $1", &[&id])?;
//! let all: Vec<Sno> = client.query_one("SELECT array_agg(id ORDER BY id) FROM events", &[])?.get(0);
//! # Ok(())
//! # }
//! ```
//!
#![cfg_attr(feature = "sqlx", doc = "```no_run")]
#![cfg_attr(not(feature = "sqlx"), doc = "```ignore")]
//! # async fn example(pool: sqlx::PgPool) -> Result<(), sqlx::Error> {
//! use sno_core::Sno;
//!
//! let id: Sno = sqlx::query_scalar("INSERT INTO events DEFAULT VALUES RETURNING id").fetch_one(&pool).await?;
//! sqlx::query("UPDATE events SET seen = true WHERE id = $1").bind(id).execute(&pool).await?;
//! let all: Vec<Sno> = sqlx::query_scalar("SELECT array_agg(id ORDER BY id) FROM events").fetch_one(&pool).await?;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![deny(missing_docs, unsafe_code)]

mod abbreviation;
mod base32;
mod clock;
#[cfg(feature = "compat")]
pub mod compat;
#[cfg(feature = "std")]
mod counter;
mod generator;
mod id;
mod partition;
#[cfg(feature = "postgres-types")]
mod postgres_types;
#[cfg(feature = "marks")]
pub mod record;
#[cfg(feature = "serde")]
mod serde;
mod slot;
#[cfg(feature = "sqlx")]
mod sqlx;
mod tick;
#[cfg(feature = "std")]
mod tick_clock;
mod time;

pub use abbreviation::{Abbreviation, Variety};
pub use base32::{ParseError, decode, encode};
pub use clock::Clock;
#[cfg(feature = "std")]
pub use clock::SystemClock;
pub use generator::Generator;
pub use id::{Fields, Sno};
pub use partition::{Prefix, PrefixError, SequenceRange, SequenceRangeError};
pub use slot::{Hold, Marks, Slot, SlotState, Stamp};
pub use tick::{OutOfEpoch, Tick};
#[cfg(feature = "std")]
pub use tick_clock::TickClock;
pub use time::Time;

/// The examples of the README, which are of several features.
#[cfg(all(doctest, feature = "postgres-types", feature = "sqlx"))]
#[doc = include_str!("../README.md")]
struct Readme;
