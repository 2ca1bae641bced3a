//! The horizon: up to which ID nothing is missing and nothing will come.
//!
//! [`sno_core::Horizon`] has the protocol between transactions that take IDs and readers, and says why it is right. This
//! is what it takes from PostgreSQL:
//!
//! | event | who | does, in this order |
//! |---|---|---|
//! | the first `sno_new()` of a transaction | its process, which is no parallel worker | [announces](sno_core::Horizon::announce) a tick: stores it with the transaction's number in the process's announcement, passes a fence, loads the floor. It takes IDs from there on |
//! | the next ones | the same | nothing; if the clock stepped back before that tick, it announces once more |
//! | `XACT_EVENT_PRE_PREPARE` | the process | takes a lock that has [the tick from which on it has IDs](sno_core::Transaction::prepare) in its tag |
//! | `PREPARE TRANSACTION` | PostgreSQL | lists the transaction as prepared, and gives the lock to it |
//! | `XACT_EVENT_PREPARE` | the process | clears its announcement, and forgets the tick |
//! | `COMMIT` | PostgreSQL | makes the commit visible, then sends to all backends what it has changed in catalogs |
//! | release of locks after `XACT_EVENT_COMMIT`; `XACT_EVENT_ABORT` | the process | clears its announcement, and forgets the tick |
//! | release of locks | PostgreSQL | sets the process's transaction number to 0: the announcement has ended in any case |
//! | `COMMIT PREPARED` | PostgreSQL | makes the commit visible, sends what it has changed in catalogs, then releases the lock |
//! | [`sno_horizon()`](reader) | a reader | reads the clock; loads the announcements, then the locks, to raise the floor no further than to the least; passes a fence; loads the announcements, then the locks, again; writes marks to disk; accepts what was sent; returns the horizon |
//!
//! * **Announcements.** Each process has one, which counts only while it is in the transaction whose
//!   [number](crate::pg::process::Process::transaction) it has. Transactions also clear their announcements, but a reader does not depend
//!   on it.
//! * **Catalogs.** The rows of a transaction can be in a partition that it has attached, and a session that does not know of it does not
//!   read it. So the transaction holds the horizon until PostgreSQL has sent what it has changed, and the reader accepts that before its
//!   query is planned. Other transactions that insert into this partition wait for its locks.
//! * **Locks.** A prepared transaction has no process. PostgreSQL keeps its locks, over restarts too. A reader looks at the
//!   announcements first: a transaction whose announcement has ended by then has its lock. It looks at the locks only if a transaction is listed as
//!   prepared.
//! * **Databases.** Each has its [horizon](sno_core::Horizons), with its floor. A reader skips the announcements of processes in other
//!   databases, and the locks of transactions that are listed as prepared in other databases. A lock whose transaction is not
//!   listed, since it is about to be prepared or has just ended, counts for all.
//! * **Marks.** So that nothing comes below the horizon after a restart, the mark of the horizons on disk is not below it before it is
//!   returned. If the clock was fast, [`sno_lower_horizons`](reader) lowers the floors of all databases and this mark, and begins an
//!   era: the horizons that readers were given before hold no more. Nor do those that another server has given them, once this
//!   one [begins](sno_core::record::Lowerings::begun) in its place: its floors are at the clock then.

pub(crate) mod transaction;

pub(crate) mod reader;
