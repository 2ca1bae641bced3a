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
//! 80 bits, big-endian, so that the order of the bytes is the order in time:
//!
//! ```text
//!  39 bits                   1        8          16           16
//! ┌─────────────────────────┬─┬────────────┬────────────┬────────────┐
//! │ tick: 4 ms since 2010   │t│  metabyte  │ partition  │  sequence  │
//! └─────────────────────────┴─┴────────────┴────────────┴────────────┘
//!                            └ tick-tock
//! ```
//!
//! * A *tick* is a span of 4 ms; ticks are counted from 2010-01-01 00:00:00 UTC.
//! * The *tick-tock* bit says which of two *sides* the ID is on. A generator switches to the other side when the clock
//!   steps back: there, the ticks that come again were not used yet.
//! * The *metabyte* is a byte for the application.
//! * The *partition* is the number of the generator.
//! * The *sequence* number is different for each ID of one tick, side and partition.
//!
//! # Which one should I use?
//!
//! * To read, write, compare or store IDs: [`Sno`], its [`Fields`] and [`Tick`].
//! * To generate IDs in one process: [`Generator`]. Give each process that can run at the same time a different
//!   [partition](Prefix::partition).
//! * To share a generator between processes: a [`Slot`] in shared memory, and its high-water [`Marks`] in a file, which
//!   keep IDs unique after a restart. This is how the PostgreSQL extension works.
//! * To sort many IDs: an [`Abbreviation`] of 64 bits.
//! * To generate and read IDs of other schemes, or to convert them to [`Sno`]: the module `compat`, behind the feature
//!   of that name.
//! * To show IDs without the time and the number of rows that they reveal: a `mask::Key`, behind the feature `mask`.
//!
//! # Features
//!
//! * `std` (default): [`SystemClock`], [`Generator::new`], and [`Generator::generate`], which sleeps
//!   when it has to wait.
//! * `serde`: [`Sno`] as text in human-readable formats, as 10 bytes in binary ones.
//! * `marks`: the module `server`, the protocol of the PostgreSQL extension, with a file of high-water marks.
//! * `compat`: four other ID schemes, and conversions from three of them to [`Sno`].
//! * `mask`: IDs encrypted as 16 other characters of the same alphabet.
//! * `postgres-types`: [`Sno`] as a parameter and a result of the drivers `postgres` and `tokio-postgres`: of the
//!   type `sno` and of `bytea` as ten bytes, of `text`, `varchar` and `char` as 16 characters.
//! * `sqlx`: [`Sno`] as a parameter and a result of `sqlx` on PostgreSQL, of the type `sno` alone.
//!
//! Without `std`, generators need a processor with atomic numbers of 64 bits. IDs need none.
//!
//! With `postgres-types` or `sqlx`, `Option<Sno>` is for NULL and `Vec<Sno>` for `sno[]`:
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
#![deny(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(all(feature = "compat", target_has_atomic = "64"))]
pub mod compat;
mod generation;
#[cfg(target_has_atomic = "64")]
mod horizon;
mod id;
mod interop;
#[cfg(all(feature = "marks", target_has_atomic = "64"))]
pub mod server;

#[cfg(feature = "std")]
pub use generation::by_host::{OfOneServer, value_for_host};
pub use generation::clock::Clock;
#[cfg(feature = "std")]
pub use generation::clock::SystemClock;
#[cfg(target_has_atomic = "64")]
pub use generation::generator::Generator;
#[cfg(target_has_atomic = "64")]
pub use generation::marks::Marks;
pub use generation::partition::{InvalidValue, Prefix, SequenceRange};
#[cfg(simulated)]
pub use generation::simulated;
#[cfg(target_has_atomic = "64")]
pub use generation::slot::{ClaimError, Slot, SlotState, Stamp};
#[cfg(target_has_atomic = "64")]
pub use horizon::databases::{DatabaseHorizon, Horizons, WithHorizons};
#[cfg(target_has_atomic = "64")]
pub use horizon::transaction::{Announcer, Transaction};
#[cfg(target_has_atomic = "64")]
pub use horizon::watch::{Readable, Step, Watch};
#[cfg(target_has_atomic = "64")]
pub use horizon::{Announcement, Horizon};
pub use id::abbreviation::{Abbreviation, DistinctCounter};
pub use id::base32::ParseError;
pub use id::fixed_length::FixedLength;
pub use id::sno::{Fields, Sno};
pub use id::tick::{Epoch, OutOfEpoch, Tick};
pub use id::tick_type::TickType;
#[cfg(feature = "mask")]
pub use interop::mask;
#[cfg(all(feature = "marks", target_has_atomic = "64"))]
pub use server::record;

/// The examples of the README, which need several features.
#[cfg(all(doctest, feature = "postgres-types", feature = "sqlx"))]
#[doc = include_str!("../README.md")]
struct Readme;
