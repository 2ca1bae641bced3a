//! The errors of generators and their messages in the server's log.

use std::io;

use pgrx::PgSqlErrorCode as SqlState;
use sno_core::{
    OutOfEpoch, Prefix,
    record::Place,
    server::{self, Notice},
};

use crate::{
    generator::{max_clock_wait::max_clock_wait, scheme::Scheme},
    pg::{datum::Timestamp, errors::Error, server::library},
};

/// Generation on a standby.
pub fn recovery<S: Scheme>() -> Error {
    Error::new(
        SqlState::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        format!("cannot execute {} during recovery", S::FUNCTION),
    )
    .detail("A standby would generate the IDs of its primary.")
}

/// A system clock whose time no ID can hold.
pub fn clock_outside_epoch<S: Scheme>(error: OutOfEpoch) -> Error {
    let [start, end] = S::ENDS;
    Error::new(
        SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        match error {
            OutOfEpoch::Before => format!("system clock is before {start}"),
            OutOfEpoch::After => format!("system clock is after {end}"),
        },
    )
    .detail(S::SPAN)
    .hint(format!("Set {}.", S::CLOCK))
}

/// An error of the core's protocol.
pub fn generation<S: Scheme>(error: server::Error) -> Error {
    match error {
        server::Error::Io { doing, error } => {
            let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            let state = if full { SqlState::ERRCODE_DISK_FULL } else { SqlState::ERRCODE_IO_ERROR };
            Error::new(state, format!("could not {doing} file \"{}\": {error}", S::MARKS))
                .detail("Without it, IDs could repeat after a restart.")
        }
        server::Error::NoRecord => Error::new(
            SqlState::ERRCODE_DATA_CORRUPTED,
            format!("file \"{}\" holds no whole record", S::MARKS),
        )
        .detail("It says up to when IDs were generated before the server's last start.")
        .hint(
            "Find the latest ID of all databases. When the clock is past its time, move the file away: generation starts \
             from the present time.",
        ),
        server::Error::OutOfEpoch(error) => clock_outside_epoch::<S>(error),
        server::Error::ClockWentBack { until, micros, is_for_horizon } => {
            let text = Timestamp::from_unix_micros(until).to_text();
            let setting = format!("\"{}.max_clock_wait\"", library());
            let [seconds, max] = [micros, max_clock_wait()].map(|micros| micros as f64 / 1e6);
            Error::new(
                SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("system clock went back further than {setting} allows"),
            )
            .detail(format!(
                "The next ID has to be of {text} or later, which is {seconds:.3} s ahead of the clock; \
                 {setting} is {max:.3} s."
            ))
            .hint(went_back_hint::<S>(is_for_horizon))
        }
        server::Error::ClockStandsStill { micros } => Error::new(
            SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("system clock has stood still for {:.3} s", micros as f64 / 1e6),
        )
        .detail("All sequence numbers of the present tick are used up, and the next tick does not begin.")
        .hint(format!("Correct {}.", S::CLOCK)),
    }
}

/// What to do about a clock that went back: whether it was fast when readers were given a horizon, or when IDs were
/// generated.
fn went_back_hint<S: Scheme>(is_for_horizon: bool) -> String {
    let (clock, view) = (S::CLOCK, S::VIEW);
    if is_for_horizon {
        format!(
            "If {clock} is slow, set it forward. If it is right, and was fast before, a superuser can call sno_lower_horizon()."
        )
    } else {
        format!(
            "If {clock} is slow, set it forward. If it is right, wait. {view}() shows the generators' times."
        )
    }
}

// Lines for the server's log. No client sees them, and nothing has failed.

/// A notice of the core's protocol.
pub fn notice<S: Scheme>(scheme: S, notice: Notice<S::Tick>) -> Error {
    match notice {
        Notice::Copied { from, here, drawn } => copied::<S>(&from, &here, drawn),
        Notice::Created => log_line(format!("file \"{}\" was created", S::MARKS))
            .detail("Nothing is known of IDs that were generated before.")
            .hint(format!(
                "If this or another server has generated IDs with this \"{}\", see that its clock is past the last of \
                 them, and that no other server goes on.",
                S::SETTING
            )),
        // The clock is further behind the marks than it can be without a backward step.
        Notice::ClockWentBackWhileDown(micros) => log_line(format!(
            "system clock went back by {:.3} s or more while the server was down",
            micros as f64 / 1e6
        ))
        .detail(format!("The marks of {} are further ahead than a restart explains.", S::NAME)),
        Notice::NotRenewed(error) => generation::<S>(error),
        Notice::ClockSteppedBack { from, to } => {
            let micros = scheme.epoch().unix_micros(from) - scheme.epoch().unix_micros(to);
            log_line(format!("system clock went back by {:.3} s", micros as f64 / 1e6)).detail(format!(
                "The generators of {} switched to the other tick-tock side. No ID repeats.",
                S::NAME
            ))
        }
    }
}

#[track_caller]
fn log_line(message: impl AsRef<str>) -> Error {
    Error::new(SqlState::ERRCODE_SUCCESSFUL_COMPLETION, message)
}

/// A data directory that was copied, promoted or restored.
fn copied<S: Scheme>(from: &Place, here: &Place, drawn: Option<Prefix>) -> Error {
    let (message, detail) = if from.wal_timeline == here.wal_timeline {
        let number = |place: &Place| {
            format!("{} on device {} of host {:08x}", place.file, place.device, place.machine.host)
        };
        (
            format!("data directory was copied after its last {} was generated", S::NAME),
            format!(
                "File \"{}\" was written as file {}, and is file {} here.",
                S::MARKS,
                number(from),
                number(here)
            ),
        )
    } else {
        (
            format!("server was promoted or restored after its last {} was generated", S::NAME),
            format!(
                "File \"{}\" was written on WAL timeline {}, and the server is on timeline {}.",
                S::MARKS,
                from.wal_timeline,
                here.wal_timeline
            ),
        )
    };
    let detail = detail + S::READERS;
    match drawn {
        // The server cannot tell its original from a former primary with a number of its own that is primary again,
        // where nothing has to be done.
        None => log_line(message).detail(detail).hint(format!(
            "If another server still generates with this \"{}\", give one of the two another now: both generate the same \
             IDs.",
            S::SETTING
        )),
        Some(number) => {
            log_line(message).detail(format!("{detail} Its server number is {number} from now on."))
        }
    }
}
