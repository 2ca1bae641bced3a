//! Waits for a feed, without a snapshot, a lock, or a signal from writers: `sno_wait_feed` and `sno_wait_read`.
//!
//! Each ends the transaction before it sleeps, which only a procedure can, and this one only in C: PL/pgSQL takes a snapshot for each
//! expression. It sleeps outside of the guard: a query that is cancelled ends there as in a function of PostgreSQL's own.

use std::{ffi::CStr, time::Duration};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum, FunctionCallInfo, Oid},
};
use sno_core::{Sno, Step, Tick, Watch};

use crate::{
    generator::errors,
    pg::{
        datum::{Argument as _, Interval},
        errors::{Error, guard},
        fmgr::{IntoResult as _, functions, optional},
        process::own_database,
        server::{is_in_recovery, monotonic},
        spi,
        versions::wait_event,
        wait::raw_nap,
    },
    sno::{
        feed::{
            ledger::oid,
            look::{Look, has_read, look},
        },
        horizon::reader::{Database, first_id},
        memory::{SnoScheme, session},
    },
};

/// The name of these waits.
const EVENT: &CStr = c"SnoFeed";

/// The first and the longest pause between two looks at rows of several servers. A look in vain takes some milliseconds.
const SCOPE_PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(320)];

/// The longest pause before it looks again at a feed that fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The same of a wait for an ID that is read.
const READ_PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

functions! {
    /// Procedure `sno_wait_feed(feed text, timeout interval, INOUT ready boolean, source regclass)`
    sno_wait_feed: wait_feed;
    /// Procedure `sno_wait_read(feed text, id sno, timeout interval, INOUT read boolean, source regclass)`
    sno_wait_read: wait_read;
}

unsafe fn wait_feed(fcinfo: FunctionCallInfo) -> Datum {
    let [name, timeout, _, source] = optional(fcinfo);
    let source = source.map(oid);
    let mut wait = guard(|| Wait::begin(timeout, "timeout must not be null"));
    wait.end_transaction(fcinfo);
    loop {
        let Look { margin, is_of_scope, pause, .. } = look(name, source, wait.left(), None);
        wait.end_transaction(fcinfo);
        if let Some(pause) = pause {
            let left = wait.left();
            if left.is_zero() {
                return guard(|| [false.into()].into_result(fcinfo));
            }
            // Another consumer can pass the row meanwhile.
            wait.sleep(fcinfo, Duration::from_micros(pause).min(LONGEST_PAUSE).min(left));
        } else if is_of_scope {
            return wait.poll(fcinfo, SCOPE_PAUSES, |left| look(name, source, left, None).is_ready);
        } else if let Some(is_ready) = wait.watch(fcinfo, name, source, margin) {
            return guard(|| [is_ready.into()].into_result(fcinfo));
        }
    }
}

unsafe fn wait_read(fcinfo: FunctionCallInfo) -> Datum {
    let [name, id, timeout, _, source] = optional(fcinfo);
    let source = source.map(oid);
    let timeout = timeout.filter(|_| id.is_some());
    let mut wait = guard(|| Wait::begin(timeout, "ID and timeout must not be null"));
    let id = id.map_or(Sno::MIN, |id| Sno::from_datum(id));
    wait.end_transaction(fcinfo);
    wait.poll(fcinfo, READ_PAUSES, |_| has_read(name, source, id))
}

/// A call that waits.
#[derive(Clone, Copy)]
struct Wait {
    /// When it ends. This and the next two are times of a clock that is never set.
    until: Duration,
    /// When the present transaction began, and how old it may get: half of `transaction_timeout`, which PostgreSQL 17 has.
    began: Duration,
    longest: Duration,
    event: u32,
}

impl Wait {
    fn begin(timeout: Option<Datum>, message: &str) -> Result<Self, Error> {
        let Some(timeout) = timeout else {
            return Err(Error::new(SqlState::ERRCODE_NULL_VALUE_NOT_ALLOWED, message));
        };
        // SAFETY: an argument of this type.
        let micros = unsafe { Interval::from_datum(timeout) }.micros().max(0) as u64;
        let millis =
            setting(c"transaction_timeout").and_then(|value| value.parse().ok()).filter(|&ms| ms > 0);
        Ok(Self {
            until: monotonic().saturating_add(Duration::from_micros(micros)),
            began: monotonic(),
            longest: millis.map_or(Duration::MAX, |millis: u64| Duration::from_millis(millis) / 2),
            event: wait_event(EVENT),
        })
    }

    /// The time that is left.
    fn left(self) -> Duration {
        self.until.saturating_sub(monotonic())
    }

    /// Ends the transaction of a procedure that is called outside of transaction blocks and functions, and begins another one, without a
    /// snapshot.
    unsafe fn end_transaction(&mut self, fcinfo: FunctionCallInfo) {
        guard(|| end_transaction(fcinfo));
        self.began = monotonic();
    }

    /// Looks whenever a row can have come, and returns whether one is there when the time is up; nothing, if the next row has failed.
    unsafe fn watch(
        &mut self,
        fcinfo: FunctionCallInfo,
        name: Option<Datum>,
        source: Option<Oid>,
        margin: u64,
    ) -> Option<bool> {
        let mut watch = Watch::new(margin.div_ceil(Tick::MICROS));
        loop {
            let pause = match guard(|| step(&mut watch)) {
                Step::Sleep(pause) => pause,
                Step::Look(from, below) => {
                    let began = monotonic();
                    let look = look(name, source, self.left(), Some([first_id(from), first_id(below)]));
                    self.end_transaction(fcinfo);
                    if look.is_ready || look.pause.is_some() {
                        return look.is_ready.then_some(true);
                    }
                    watch.pause().max(monotonic().saturating_sub(began))
                }
            };
            let left = self.left();
            if left.is_zero() {
                return Some(false);
            }
            self.sleep(fcinfo, pause.min(left));
        }
    }

    /// Asks `is_so` again and again until it is true or the time is up; its last answer is the result of the call. Each pause is twice as long
    /// as the one before.
    unsafe fn poll(
        mut self,
        fcinfo: FunctionCallInfo,
        [first, longest]: [Duration; 2],
        is_so: impl Fn(Duration) -> bool,
    ) -> Datum {
        let mut pause = first;
        loop {
            let is_so = is_so(self.left());
            self.end_transaction(fcinfo);
            let left = self.left();
            if is_so || left.is_zero() {
                return guard(|| [is_so.into()].into_result(fcinfo));
            }
            self.sleep(fcinfo, pause.min(left));
            pause = (pause * 2).min(longest);
        }
    }

    /// Sleeps. Ends the transaction before, if it would get too old meanwhile.
    unsafe fn sleep(&mut self, fcinfo: FunctionCallInfo, pause: Duration) {
        let pause = pause.min(self.longest).max(Duration::from_millis(1));
        if monotonic() + pause > self.began.saturating_add(self.longest) {
            self.end_transaction(fcinfo);
        }
        raw_nap(self.event, pause.as_micros().div_ceil(1000) as u64);
    }
}

/// The value of a setting in its unit, if this server has it.
fn setting(name: &CStr) -> Option<String> {
    // SAFETY: PostgreSQL returns null or a text, which is copied.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

fn end_transaction(fcinfo: FunctionCallInfo) -> Result<(), Error> {
    // SAFETY: the context of a call by CALL; other calls have none, or that of another node.
    unsafe {
        let context = (*fcinfo).context.cast::<pg_sys::CallContext>();
        if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_CallContext || (*context).atomic {
            return Err(Error::new(
                SqlState::ERRCODE_ACTIVE_SQL_TRANSACTION,
                "cannot wait in a transaction block or a function",
            )
            .detail("The wait ends the transaction, so that it holds no snapshot and no lock.")
            .hint("Call it as a statement of its own, with autocommit."));
        }
        spi::checked("SPI_connect_ext", pg_sys::SPI_connect_ext(pg_sys::SPI_OPT_NONATOMIC as _))?;
        pg_sys::SPI_commit();
        spi::checked("SPI_finish", pg_sys::SPI_finish())
    }
}

/// What to do next.
fn step(watch: &mut Watch) -> Result<Step, Error> {
    if is_in_recovery() {
        return Err(Error::new(
            SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            "cannot execute sno_wait_feed() during recovery",
        ));
    }
    let session = session()?;
    let database = Database::new(session.shared().horizons.find(own_database()))?;
    let open = || database.open().map(|(_, tick)| tick).min();
    let prepared = || {
        let prepared = database.prepared();
        (prepared.ticks().min(), prepared.has_copied_locks)
    };
    session.step(watch, open, prepared).map_err(errors::generation::<SnoScheme>)
}
