//! The reader's side: `sno_horizon`, and who holds the horizon back.

use std::slice;

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum},
};
use sno_core::{Announcement, DatabaseHorizon, Fields, Sno, Tick, server::record::LoweringNumber};

use crate::{
    generator::errors,
    pg::{
        datum::{Interval, Timestamp},
        errors::Error,
        fmgr::{Row, export},
        process::{Process, all_prepared, own_database},
        server::{is_in_recovery, is_preloaded},
        wait::point,
    },
    sno::{
        horizon::transaction,
        memory::{MEMORY, SnoScheme, session},
    },
};

export! { sno_horizon, sno_horizon_holders, sno_lower_horizons, sno_goes_on_after }

/// `sno_horizon(interval) → sno`: up to which ID nothing is missing and nothing will come. The statements that follow know the partitions
/// which the rows below it are in.
fn sno_horizon(margin: Interval) -> Result<Sno, Error> {
    let horizon = horizon(margin)?;
    // SAFETY: as whenever a lock is taken.
    unsafe { pg_sys::AcceptInvalidationMessages() };
    Ok(horizon)
}

/// The same, for a caller that accepts invalidation messages afterwards.
pub(crate) fn horizon(margin: Interval) -> Result<Sno, Error> {
    if is_in_recovery() {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot execute sno_horizon() during recovery",
        )
        .detail("Only the primary knows which transactions are open.")
        .hint("Connect to the primary."));
    }
    // SAFETY: reads a variable of this backend.
    if unsafe { pg_sys::XactIsoLevel } >= pg_sys::XACT_REPEATABLE_READ as i32 {
        return Err(Error::new(
            SqlState::ERRCODE_INVALID_TRANSACTION_STATE,
            "cannot execute sno_horizon() in isolation level REPEATABLE READ or SERIALIZABLE",
        )
        .detail("All statements of the transaction have one snapshot, which is older than the horizon.")
        .hint("Call it before the transaction begins."));
    }
    let margin = u64::try_from(margin.micros())
        .map_err(|_| Error::new(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, "margin must not be negative"))?;
    let session = session()?;
    let horizon = session.horizon_of(own_database()).map_err(errors::generation::<SnoScheme>)?;
    let database = Database::new(horizon)?;
    let open = || database.open().map(|(_, tick)| tick).min();
    let prepared = || {
        point(c"announcements loaded");
        database.prepared().ticks().min()
    };
    let tick = session
        .horizon(&database.horizon, margin.div_ceil(Tick::MICROS), open, prepared)
        .map_err(errors::generation::<SnoScheme>)?;
    Ok(first_id(tick))
}

/// `sno_lower_horizons() → (number, safe)`: lowers the horizons of all databases that are ahead of the clock. Returns the number of the last
/// lowering, and the time from which on no generator waits for the clock.
fn sno_lower_horizons() -> Result<Row<2>, Error> {
    let session = session()?;
    session.lower_horizons().map_err(errors::generation::<SnoScheme>)?;
    let number = session.shared().last_lowering().to_bigint();
    Ok([number.into(), Timestamp::from(session.shared().safe()).into()])
}

/// When the horizons were lowered last. Loaded before a horizon, and stored with the position of the feed that was read up to there. Where it
/// can't be known, there is no horizon either.
pub(crate) fn last_lowering() -> LoweringNumber {
    session().map_or(LoweringNumber::ZERO, |session| session.shared().last_lowering())
}

/// What [`last_lowering`] was first since the server was created, promoted, restored or copied.
pub(crate) fn begun() -> LoweringNumber {
    session().map_or(LoweringNumber::ZERO, |session| session.shared().begun())
}

/// `sno_goes_on_after(sno, bigint) → sno`: the ID after which a feed goes on that was read up to a position when the [`last_lowering`] was
/// this one. Most often that is the position.
fn sno_goes_on_after(position: Sno, lowering: i64) -> Result<Sno, Error> {
    let is_known = is_preloaded() && !is_in_recovery();
    let earlier =
        if is_known { goes_on_after(position, LoweringNumber::from_bigint(lowering))? } else { None };
    Ok(earlier.unwrap_or(position))
}

/// Asks for the horizon, so that no ID comes below it before the next lowering, and returns the [`last_lowering`] of before. Where there is no
/// horizon, the largest number, for which no lowering counts: a restore goes on without it.
pub(crate) fn give_horizon() -> LoweringNumber {
    let before = last_lowering();
    horizon(Interval::ZERO).map_or(LoweringNumber::MAX, |_| before)
}

/// The ID after which a feed goes on that was read up to an ID of the future, if the horizons were lowered since then.
pub(crate) fn goes_on_after(position: Sno, lowering: LoweringNumber) -> Result<Option<Sno>, Error> {
    let to = session()?.goes_back_from(position.tick(), lowering).map_err(errors::generation::<SnoScheme>)?;
    Ok(to.and_then(|tick| first_id(tick).predecessor()))
}

/// Whether rows may have come before an ID since somebody was shown it, at a time that is not known: it was of the future when the horizons
/// were lowered.
pub(crate) fn was_of_future(id: Sno) -> Result<bool, Error> {
    session()?.was_lowered_from(id.tick()).map_err(errors::generation::<SnoScheme>)
}

/// The smallest ID of a tick.
pub(crate) fn first_id(tick: Tick) -> Sno {
    Fields { tick, tick_tock: false, metabyte: 0, partition: 0, sequence: 0 }.into()
}

/// The database of this backend: its transactions that have IDs, and those of databases that share its horizon.
pub(crate) struct Database {
    horizon: DatabaseHorizon<'static>,
    announcements: &'static [Announcement],
}

impl Database {
    pub(crate) fn new(horizon: DatabaseHorizon<'static>) -> Result<Self, Error> {
        Ok(Self { horizon, announcements: MEMORY.per_process()? })
    }

    /// The processes with open transactions that have IDs, and since when.
    pub(crate) fn open(&self) -> impl Iterator<Item = (Process, Tick)> {
        Process::all().zip(self.announcements).filter_map(|(process, announcement)| {
            let tick = announcement.of(|| process.transaction())?;
            // Loaded after the announcement, whose process had its database before. If another process has the place by now,
            // the transaction has ended.
            self.horizon.counts(process.database()).then_some((process, tick))
        })
    }

    /// The transactions that are prepared, or about to be. If there are any, with or without IDs, this copies the lock table of
    /// the server, and meanwhile nobody can take a lock.
    pub(crate) fn prepared(&self) -> PreparedTransactions {
        let databases: Vec<_> = all_prepared().collect();
        let counts = |database| self.horizon.counts(database);
        let has_copied_locks = databases.iter().any(|(_, database)| counts(*database));
        // A transaction whose announcement has ended by now is listed with its database. One that is not listed, or not any
        // more, counts for all.
        let counts = |number| {
            databases.iter().find(|(other, _)| *other == number).is_none_or(|(_, database)| counts(*database))
        };
        let mut with_ids = Vec::new();
        if has_copied_locks {
            // SAFETY: PostgreSQL copies its locks into the memory context of the call, which can be a wait that copies them again
            // and again.
            unsafe {
                let data = pg_sys::GetLockStatusData();
                let locks = slice::from_raw_parts((*data).locks, (*data).nelements as usize);
                let locks = locks.iter().filter_map(|lock| transaction::from_tag(lock.locktag));
                with_ids.extend(locks.filter(|(number, _)| counts(*number)));
                pg_sys::pfree((*data).locks.cast());
                pg_sys::pfree(data.cast());
            }
        }
        PreparedTransactions { has_copied_locks, with_ids }
    }
}

/// Prepared transactions that hold the horizon of a database.
pub(crate) struct PreparedTransactions {
    /// Whether the lock table was copied to find them.
    pub(crate) has_copied_locks: bool,
    /// The numbers of those with IDs, and since when.
    with_ids: Vec<(u32, Tick)>,
}

impl PreparedTransactions {
    pub(crate) fn ticks(&self) -> impl Iterator<Item = Tick> {
        self.with_ids.iter().map(|(_, tick)| *tick)
    }
}

/// `sno_horizon_holders() → setof (pid, transaction, since)`: the transactions that hold the horizon of this
/// database back.
fn sno_horizon_holders() -> Result<Vec<Row<3>>, Error> {
    let row = |pid: Option<i32>, transaction: Option<u32>, tick| {
        [pid.into(), transaction.map(Datum::from).into(), Timestamp::from(tick).into()]
    };
    let database = Database::new(MEMORY.generators()?.horizons.find(own_database()))?;
    let processes = database.open().map(|(process, tick)| row(Some(process.id()), None, tick));
    let prepared = database.prepared().with_ids;
    let prepared = prepared.into_iter().map(|(transaction, tick)| row(None, Some(transaction), tick));
    Ok(processes.chain(prepared).collect())
}
