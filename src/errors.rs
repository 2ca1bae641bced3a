//! Every error that users see, with its SQLSTATE, and every line for the server's log: one constructor each.

use std::{borrow::Cow, ffi::CStr, io};

use pgrx::{
    PgLogLevel, PgSqlErrorCode as State,
    pg_sys::{self, panic::ErrorReport},
};
use sno_core::{OutOfEpoch, ParseError, Tick, record::Origin};

use crate::v1::Timestamp;

/// An error on its way to the user.
#[derive(Debug)]
pub(crate) struct Error {
    state: State,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Error {
    fn new(state: State, message: impl Into<String>) -> Self {
        Self { state, message: message.into(), detail: None, hint: None }
    }

    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Unwinds to the guard of the function that PostgreSQL called, which raises it as an `ERROR`.
    pub(crate) fn raise(self) -> ! {
        self.report(PgLogLevel::ERROR);
        unreachable!("an ERROR does not return")
    }

    /// Writes it to the server's log, and goes on.
    pub(crate) fn log(self) {
        self.report(PgLogLevel::LOG);
    }

    fn report(self, level: PgLogLevel) {
        let mut report = ErrorReport::new(self.state, self.message, "");
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        report.report(level);
    }

    /// Hands it to a caller that asked for soft errors, and raises it for all others.
    ///
    /// # Safety
    /// `context` is the call's context node, or null.
    #[cfg(not(feature = "pg15"))]
    pub(crate) unsafe fn save(self, context: *mut pg_sys::Node) {
        use std::ffi::{CString, c_char, c_int};

        unsafe extern "C-unwind" {
            fn errcode(sqlerrcode: c_int) -> c_int;
            fn errmsg_internal(format: *const c_char, ...) -> c_int;
            fn errdetail_internal(format: *const c_char, ...) -> c_int;
        }
        // SAFETY: a plain node tag is read.
        let soft = !context.is_null() && unsafe { (*context).type_ } == pg_sys::NodeTag::T_ErrorSaveContext;
        if !soft {
            self.raise();
        }
        let text = |text: String| CString::new(text).unwrap_or_default();
        let (message, detail) = (text(self.message), self.detail.map(text));
        // SAFETY: the calls that PostgreSQL's own macro makes; with a context for soft errors none of
        // them jumps, and the texts outlive them.
        unsafe {
            if pg_sys::errsave_start(context, std::ptr::null()) {
                errcode(self.state as c_int);
                errmsg_internal(c"%s".as_ptr(), message.as_ptr());
                if let Some(detail) = &detail {
                    errdetail_internal(c"%s".as_ptr(), detail.as_ptr());
                }
                pg_sys::errsave_finish(context, c"".as_ptr(), 0, c"".as_ptr());
            }
        }
    }

    /// Soft errors came with PostgreSQL 16.
    #[cfg(feature = "pg15")]
    pub(crate) unsafe fn save(self, _context: *mut pg_sys::Node) {
        self.raise();
    }

    pub(crate) fn syntax(text: &[u8], error: ParseError) -> Self {
        let text = printable(text);
        let detail = match error.position() {
            Some(position) => format!("Character {} is not one of 2-9 and a-x.", position + 1),
            None => "A sno is 16 characters, or \\x and 20 hexadecimal digits.".into(),
        };
        Self::new(
            State::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type sno: \"{text}\""),
        )
        .detail(detail)
    }

    pub(crate) fn hex_digits(text: &[u8]) -> Self {
        let text = printable(text);
        Self::new(
            State::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type sno: \"{text}\""),
        )
        .detail("After \\x a sno has 20 hexadecimal digits.")
    }

    pub(crate) fn uuid(bytes: &[u8; 16], error: ParseError) -> Self {
        let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
        for place in [20, 16, 12, 8] {
            text.insert(place, '-');
        }
        Self::new(State::ERRCODE_INVALID_TEXT_REPRESENTATION, format!("uuid does not hold a sno: \"{text}\""))
            .detail(format!(
                "Byte {} is not the code of one of the characters 2-9 and a-x.",
                error.position().map_or(0, |position| position + 1)
            ))
    }

    pub(crate) fn length(bytes: usize) -> Self {
        Self::new(
            State::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("invalid length of a binary sno: {bytes}"),
        )
        .detail("A sno is 10 bytes long.")
    }

    pub(crate) fn field(name: &str, value: i32, max: u16) -> Self {
        Self::new(State::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range: {value}"))
            .detail(format!("A {name} is between 0 and {max}."))
    }

    pub(crate) fn time(time: Timestamp) -> Self {
        // SAFETY: a static buffer of PostgreSQL's, copied at once.
        let text = unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(time.0)) }.to_string_lossy();
        Self::new(
            State::ERRCODE_DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range for type sno: \"{text}\""),
        )
        .detail("A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.")
    }

    pub(crate) fn setting(name: &str, value: &str, reason: impl ToString) -> Self {
        Self::new(
            State::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{name}\": \"{value}\""),
        )
        .detail(sentence(reason))
        .hint("No sno is generated until the setting is mended.")
    }

    pub(crate) fn setting_not_honoured(name: &str, value: &str) -> Self {
        Self::new(
            State::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("parameter \"{name}\" could not be set to \"{value}\""),
        )
        .detail("It belongs to the server, and was set for a session, a role or a database.")
        .hint("Set it in postgresql.conf or with ALTER SYSTEM, and connect anew.")
    }

    pub(crate) fn recovery() -> Self {
        Self::new(State::ERRCODE_READ_ONLY_SQL_TRANSACTION, "cannot execute sno_new() during recovery")
            .detail("A standby would generate the IDs of its primary.")
    }

    pub(crate) fn clock_outside_epoch(error: OutOfEpoch) -> Self {
        Self::new(
            State::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            match error {
                OutOfEpoch::Before => "system clock is before 2010",
                OutOfEpoch::After => "system clock is after 2079-09-07",
            },
        )
        .detail("A sno holds times from 2010-01-01 00:00:00 UTC to 2079-09-07 15:47:35.551999 UTC.")
        .hint("Set the server's clock.")
    }

    pub(crate) fn clock_went_back(until: Tick, micros: u64, max_micros: u64) -> Self {
        // SAFETY: as in `time`.
        let text =
            unsafe { CStr::from_ptr(pg_sys::timestamptz_to_str(Timestamp::from(until).0)) }.to_string_lossy();
        let [seconds, max] = [micros, max_micros].map(|micros| micros as f64 / 1e6);
        Self::new(
            State::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "system clock went back further than \"sno.max_clock_wait\" allows",
        )
        .detail(format!(
            "IDs were already generated up to {text}, which is {seconds:.3} s ahead of the clock; \
             \"sno.max_clock_wait\" is {max:.3} s."
        ))
        .hint("Set the server's clock, or wait. The view sno_generators shows the generators' times.")
    }

    pub(crate) fn shared_memory() -> Self {
        Self::new(State::ERRCODE_OUT_OF_MEMORY, "out of shared memory for the generators of sno")
            .hint("Add \"sno\" to \"shared_preload_libraries\" and restart the server.")
    }

    pub(crate) fn layout() -> Self {
        Self::new(
            State::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "shared memory of the generators was laid out by another version of sno",
        )
        .hint("Restart the server.")
    }

    pub(crate) fn marks_io(path: &str, doing: &str, error: &io::Error) -> Self {
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let state = if full { State::ERRCODE_DISK_FULL } else { State::ERRCODE_IO_ERROR };
        Self::new(state, format!("could not {doing} file \"{path}\": {error}"))
            .detail("Without it, IDs could repeat after a restart.")
    }

    pub(crate) fn marks_corrupted(path: &str) -> Self {
        Self::new(State::ERRCODE_DATA_CORRUPTED, format!("file \"{path}\" holds no whole record"))
            .detail("It says up to when IDs were generated before the server's last start.")
            .hint(
                "If the server's clock has not gone back since then, remove the file: generation starts \
                 from the present time.",
            )
    }
}

/// What the server's log is told, which no client sees: nothing has failed.
impl Error {
    fn notice(message: impl Into<String>) -> Self {
        Self::new(State::ERRCODE_SUCCESSFUL_COMPLETION, message)
    }

    pub(crate) fn clock_stepped_back(ticks: u64) -> Self {
        Self::notice(format!("system clock went back by {:.3} s", ticks as f64 / Tick::PER_SECOND as f64))
            .detail("The generators of sno go on in the other timeline.")
    }

    pub(crate) fn clock_went_back_while_down(ticks: u64) -> Self {
        Self::notice(format!(
            "system clock went back by {:.3} s or more while the server was down",
            ticks as f64 / Tick::PER_SECOND as f64
        ))
        .detail("The marks of sno are further ahead than a restart explains.")
    }

    pub(crate) fn copied(origin: &Origin, here: &Origin) -> Self {
        if origin.wal_timeline == here.wal_timeline {
            Self::notice("data directory was copied after its last sno was generated")
                .detail(format!(
                    "File \"sno.marks\" was written as file {} and is file {} here.",
                    origin.file, here.file
                ))
                .hint(TWINS)
        } else {
            Self::promoted(here.wal_timeline).detail(format!(
                "File \"sno.marks\" was written on WAL timeline {}, and the server is on timeline {}.",
                origin.wal_timeline, here.wal_timeline
            ))
        }
    }

    pub(crate) fn promoted(wal_timeline: u32) -> Self {
        Self::notice("server was promoted or restored after its last sno was generated")
            .detail(format!(
                "There was no file \"sno.marks\", and the server is on WAL timeline {wal_timeline}."
            ))
            .hint(TWINS)
    }
}

/// What a copy of a server needs.
const TWINS: &str = "If the server that it was made from still generates, give one of them another \
                     \"sno.partition_prefix\" now: both make the same IDs.";

/// A reason of the core's as a full sentence, which is what a DETAIL is.
pub(crate) fn sentence(reason: impl ToString) -> String {
    let mut text = reason.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text + "."
}

/// A user's text for a message. What is not ASCII stays if it is UTF-8 in a database of UTF-8; messages of
/// other encodings can't be made from here.
fn printable(text: &[u8]) -> Cow<'_, str> {
    // SAFETY: reads a number.
    let utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as i32;
    match str::from_utf8(text) {
        Ok(text) if utf8 || text.is_ascii() => text.into(),
        _ => text.iter().map(|&byte| if byte.is_ascii() { byte as char } else { '?' }).collect(),
    }
}
