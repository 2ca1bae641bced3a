//! Feeds: `sno_feed`, `sno_peek_feed` with `sno_advance_feed`, and the waits for them. The tables are in `sql/sno/feeds.sql`; who may use
//! a feed, and where it is, is said in one place, the [ledger].
//!
//! A feed returns each row once, if the calling transaction commits: its position moves in that transaction, under the rows' own rules.
//! That rests on what each step sees, locks and stores:
//!
//! | step of `sno_feed` | sees | locks | stores |
//! |---|---|---|---|
//! | opening: the feed's position, in the [ledger], its [source], which [kind of horizon](horizon_kind) counts | what the calling statement sees; catalogs as this session knows them | | |
//! | the [horizon] | it is computed after the position was read. Below it every transaction has ended: its rows are visible to a new snapshot, or gone | | marks, if they are not as far |
//! | the source's name and columns, the plan | catalogs as they are with all rows below the horizon, or later | | |
//! | the [rows](rows) from the position to the horizon, a batch of them, into the result | what the calling statement sees, as for the position: so a position that the statement sees goes with all that its consumer wrote | the source, as each SELECT | |
//! | if a transaction has ended since: the same rows once more, up to the first that is not in the result, where the result is cut | all that is committed up to now, which is all below the horizon | | |
//! | [move](read) to the last row, or to the horizon if the batch is not full, unless the feed was moved meanwhile | all that is committed up to now | the feed's position, until the transaction ends; a call without rows waits for nobody | the position: with rows at once, without rows if it is ten seconds old |
//!
//! A peek does the same up to the move: in a transaction block or a function it locks the position instead, in a SELECT that a client sends
//! by itself it does nothing; without rows it stores the position, as a call of `sno_feed` does. An advance moves the feed. In the
//! transaction of a peek it demands that the feed is where that peek has found it, or where this transaction has moved it: the lock is
//! only there so that consumers wait instead of working in vain. With autocommit it does nothing if the horizons were lowered below the row
//! that is done since the session has peeked: others can have come before it. What [fails](failures) is peeked at alone.
//!
//! A feed that a fast clock has brought to the future goes back at its next call, once the horizons were lowered, and returns nothing then.
//!
//! So two consumers take turns, and the second returns nothing: its statement does not see what the first one did. If it was the same
//! transaction, that is an error.
//!
//! A [wait](wait) ends its transaction and sleeps, without a snapshot or a lock. [`sno_core::Watch`] says when to look, and where. A look
//! is a transaction of its own: the same opening and the same rows, but the first one is enough, each query sees all that is committed by
//! then, and it stores a position only if that is ten seconds old and there are no rows.
//!
//! Queries have [plans](plans) that are kept. A file imports only from those before it here.

pub(crate) mod catalogs;
mod columns;

mod plans;
mod query;

mod ddl;

mod scope;

mod horizon_kind;

mod newest;

mod ledger;
mod log;

mod manage;
mod source;

mod errors;
mod horizon;
mod rows;

mod failures;

mod reads;
mod statement;

mod read;
mod wait;
