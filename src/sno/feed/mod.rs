//! Feeds: `sno_feed`, `sno_peek_feed` with `sno_advance_feed`, and the waits for them. The tables are in `sql/sno/feeds.sql`, the
//! declarations of these functions in `reading.sql`. [`lookup`] decides who may read a feed, [`manage`] who may drop it; the [ledger] has the ID up to which it was
//! read, its *position*.
//!
//! A feed returns each row once, if the calling transaction commits: its position is a row of a table, which the call updates in that
//! transaction. Each step of a call has its own view of the database, its locks, and what it writes:
//!
//! | step of `sno_feed` | sees | locks | writes |
//! |---|---|---|---|
//! | open the feed: read its position from the [ledger], find the [kind of horizon](horizon_kind) that counts | what the calling statement sees; catalogs as this session knows them | | |
//! | compute the [horizon], after the position was read | all transactions that have IDs below the horizon have ended: their rows are visible to a new snapshot, or gone | | the mark of the horizons, if it is lower |
//! | look up the [source]'s name and columns, plan its query | catalogs as of the horizon, or later | | |
//! | read a batch of [rows](rows) in the [range] between the position and the horizon into the result | what the calling statement sees, as for the position: a statement that sees a position also sees all that the consumer wrote which moved it there | the source, as each SELECT | |
//! | if a transaction has ended since the statement began: read the same rows once more, and cut the result before the first row that it lacks | all that is committed up to now, so all rows below the horizon | | |
//! | [move](read) the feed to the last row, or to the horizon if the batch is not full. If another transaction has moved it since it was opened, return nothing | all that is committed up to now | the feed's position, until the transaction ends; a call without rows waits for no lock | the position; in a call without rows only if the stored one is ten seconds old |
//!
//! Two consumers that call `sno_feed` at once take turns at the last step. The second call returns nothing, since its statement does not see
//! what the first consumer did with the rows. Two calls by one statement are an error.
//!
//! A peek, `sno_peek_feed`, does the same without the last step. In a transaction block or a function it locks the position instead; in a
//! SELECT that a client sends by itself it does not. A peek without rows stores the position as `sno_feed` does. A row that has
//! [failed](failures) is returned alone.
//!
//! An advance, `sno_advance_feed`, moves the feed. In the transaction of a peek, the feed must be where the peek found it, or where this
//! transaction has moved it. The lock of the peek does not ensure that: it only lets a second consumer wait instead of working in vain. With
//! autocommit, an advance does nothing if the horizons were lowered below its ID after the session's peek: rows that the peek has not returned
//! can have come before that ID. If the session has not peeked, and they were ever, it is refused.
//!
//! A feed whose position is in the future, since the clock was fast, goes back at its first call after the horizons were lowered. That call
//! returns nothing.
//!
//! [Creating and seeking](manage) read no rows: SQL refuses what cannot be read (`key_of`), and says where the feed begins (`position_of`), at most
//! below the first ID of an open transaction.
//!
//! A [wait](wait) ends its transaction and sleeps, without a snapshot or a lock. [`sno_core::Watch`] decides when to look, and for which IDs.
//! A look is a transaction of its own. It opens the feed and reads rows as a call does, but only the first one, and each query sees all that
//! is committed by then. It stores the position only if there are no rows and the stored one is ten seconds old.
//!
//! The session keeps the [plans](plans) of the queries. A file imports only from those before it here; a file can have methods of `Feed` that earlier ones call, as `errors` has.
//!
//! # Safety
//!
//! One rule holds for the unsafe functions of all files here, so their bodies don't repeat it in blocks:
//!
//! - PostgreSQL calls those in `functions!` with the arguments that `sql/` declares, and each callback with what was registered for it.
//! - A `Datum` has the type that the parameter or the column has which it comes from. It lives until `SPI_finish`.
//! - What reads or changes tables is called between `SPI_connect` and `SPI_finish`, unless it says otherwise.
//! - Nodes are read as what their tags say; what PostgreSQL keeps of relations and rows, while they are open or held.
//! - Errors of PostgreSQL, and of users' functions in indexes, pass through all frames, as [`raw`](crate::pg::raw) asks for: what
//!   can panic, or has something to drop, runs inside of [`guard`](crate::pg::errors::guard).

#![allow(unsafe_op_in_unsafe_fn, reason = "their bodies follow the rule above")]
#![allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`, which all functions here follow")]

pub(crate) mod catalogs;
mod changes;

mod plans;
mod query;

mod ddl;
pub(crate) mod drop;

mod scope;

mod horizon_kind;

mod newest;

mod ledger;

mod lookup;
mod peeked;

mod log;

mod failures;

mod manage;
mod source;

mod errors;
mod horizon;
mod range;
mod rows;

mod reads;
mod statement;

mod read;

mod look;

mod wait;
