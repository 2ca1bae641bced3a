//! The errors of generators and their messages in the server's log, with one constructor each.

use std::io;

use pgrx::PgSqlErrorCode as SqlState;
use sno_core::{
    OutOfEpoch,
    record::Origin,
    server::{self, Notice},
};

use crate::{
    generator::{scheme::Scheme, settings::max_clock_wait},
    pg::{
        datum::Timestamp,
        errors::{Error, sentence},
        versions::{NAMED_MEMORY_IS_DYNAMIC, NoMemory},
    },
};

/// Generation on a standby.
pub(crate) fn recovery<S: Scheme>() -> Error {
    Error::new(
        SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        format!("cannot execute {} during recovery", S::FUNCTION),
    )
    .detail("A standby would generate the IDs of its primary.")
}

/// A system clock whose time no ID can hold.
pub(crate) fn clock_outside_epoch<S: Scheme>(error: OutOfEpoch) -> Error {
    let [start, end] = S::ENDS;
    Error::new(
        SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        match error {
            OutOfEpoch::Before => format!("system clock is before {start}"),
            OutOfEpoch::After => format!("system clock is after {end}"),
        },
    )
    .detail(S::SPAN)
    .hint("Set the server's clock.")
}

/// A system clock that went back, and would have to be waited for longer than the setting allows.
fn clock_went_back<S: Scheme>(until: Timestamp, micros: u64, max_micros: u64) -> Error {
    let text = until.to_text();
    let [seconds, max] = [micros, max_micros].map(|micros| micros as f64 / 1e6);
    Error::new(
        SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "system clock went back further than \"sno.max_clock_wait\" allows",
    )
    .detail(format!(
        "The next ID has to be of {text} or later, which is {seconds:.3} s ahead of the clock; \
         \"sno.max_clock_wait\" is {max:.3} s."
    ))
    .hint(format!("Set the server's clock, or wait. The view {} shows the generators' times.", S::VIEW))
}

/// No room for the generators in shared memory.
pub(crate) fn shared_memory<S: Scheme>((state, reason): NoMemory) -> Error {
    let error = Error::new(state, format!("out of shared memory for the generators of {}", S::NAME));
    if NAMED_MEMORY_IS_DYNAMIC {
        error.detail(sentence(reason)).hint(
            "Make room for dynamic shared memory: in /dev/shm, if \"dynamic_shared_memory_type\" is \"posix\".",
        )
    } else {
        error.hint("Add \"sno\" to \"shared_preload_libraries\" and restart the server.")
    }
}

/// Shared memory of another version of the library.
pub(crate) fn layout<S: Scheme>() -> Error {
    Error::new(
        SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "shared memory of the generators of {} was laid out by another version of the library",
            S::NAME
        ),
    )
    .hint("Restart the server.")
}

/// A file of marks that can't be opened, locked, read or written; `doing` is the verb.
fn marks_io(path: &str, doing: &str, error: &io::Error) -> Error {
    let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let state = if full { SqlState::ERRCODE_DISK_FULL } else { SqlState::ERRCODE_IO_ERROR };
    Error::new(state, format!("could not {doing} file \"{path}\": {error}"))
        .detail("Without it, IDs could repeat after a restart.")
}

/// A file of marks without a valid record.
fn marks_corrupted(path: &str) -> Error {
    Error::new(SqlState::ERRCODE_DATA_CORRUPTED, format!("file \"{path}\" holds no whole record"))
        .detail("It says up to when IDs were generated before the server's last start.")
        .hint(
            "If the server's clock has not gone back since then, remove the file: generation starts \
             from the present time.",
        )
}

/// An error of the core's protocol.
pub(crate) fn generation<S: Scheme>(error: server::Error) -> Error {
    match error {
        server::Error::Io { doing, error } => marks_io(S::MARKS, doing, &error),
        server::Error::NoRecord => marks_corrupted(S::MARKS),
        server::Error::OutOfEpoch(error) => clock_outside_epoch::<S>(error),
        server::Error::ClockWentBack { until, micros } => {
            clock_went_back::<S>(Timestamp::from_unix_micros(until), micros, max_clock_wait())
        }
    }
}

// Lines for the server's log. No client sees them, and nothing has failed.

/// A notice of the core's protocol.
pub(crate) fn notice<S: Scheme>(scheme: S, notice: Notice<S::Tick>) -> Error {
    match notice {
        Notice::Copied { from, here } => copied::<S>(&from, &here),
        Notice::Promoted(wal_timeline) => promoted::<S>(wal_timeline),
        Notice::ClockWentBackWhileDown(micros) => clock_went_back_while_down::<S>(micros),
        Notice::NotRenewed(error) => generation::<S>(error),
        Notice::ClockSteppedBack { from, to } => {
            clock_stepped_back::<S>(scheme.epoch().unix_micros(from) - scheme.epoch().unix_micros(to))
        }
    }
}

#[track_caller]
fn log_line(message: impl AsRef<str>) -> Error {
    Error::new(SqlState::ERRCODE_SUCCESSFUL_COMPLETION, message)
}

/// A clock that stepped back by this many microseconds, when the generators switched to the other tick-tock side.
fn clock_stepped_back<S: Scheme>(micros: i64) -> Error {
    log_line(format!("system clock went back by {:.3} s", micros as f64 / 1e6))
        .detail(format!("The generators of {} switched to the other tick-tock side. No ID repeats.", S::NAME))
}

/// A clock that is further behind the marks, by this many microseconds, than it can be without a backward step.
fn clock_went_back_while_down<S: Scheme>(micros: i64) -> Error {
    log_line(format!(
        "system clock went back by {:.3} s or more while the server was down",
        micros as f64 / 1e6
    ))
    .detail(format!("The marks of {} are further ahead than a restart explains.", S::NAME))
}

/// A data directory that was copied, promoted or restored.
fn copied<S: Scheme>(origin: &Origin, here: &Origin) -> Error {
    if origin.wal_timeline == here.wal_timeline {
        log_line(format!("data directory was copied after its last {} was generated", S::NAME))
            .detail(format!(
                "File \"{}\" was written as file {} and is file {} here.",
                S::MARKS,
                origin.file,
                here.file
            ))
            .hint(duplicate_ids_hint::<S>())
    } else {
        promoted::<S>(here.wal_timeline).detail(format!(
            "File \"{}\" was written on WAL timeline {}, and the server is on timeline {}.",
            S::MARKS,
            origin.wal_timeline,
            here.wal_timeline
        ))
    }
}

/// A server that was promoted or restored, and has no file of marks.
fn promoted<S: Scheme>(wal_timeline: u32) -> Error {
    log_line(format!("server was promoted or restored after its last {} was generated", S::NAME))
        .detail(format!(
            "There was no file \"{}\", and the server is on WAL timeline {wal_timeline}.",
            S::MARKS
        ))
        .hint(duplicate_ids_hint::<S>())
}

/// The hint for a copy of a server, which may generate the same IDs as its original.
fn duplicate_ids_hint<S: Scheme>() -> String {
    format!(
        "If the original server still generates, give one of the two another \"{}\" now: both generate the same IDs.",
        S::SETTING
    )
}
