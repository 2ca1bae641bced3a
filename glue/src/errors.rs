//! Every error that users see, with its SQLSTATE, and every line for the server's log: one constructor each.

use std::{borrow::Cow, io};

use pgrx::{
    PgLogLevel, PgSqlErrorCode as State,
    pg_sys::{self, panic::ErrorReport},
};
use sno_core::{OutOfEpoch, record::Origin};

use crate::{system::System, v1::Timestamp};

/// An error on its way to the user.
#[derive(Debug)]
pub struct Error {
    state: State,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Error {
    /// With a SQLSTATE and a primary message.
    pub fn new(state: State, message: impl Into<String>) -> Self {
        Self { state, message: message.into(), detail: None, hint: None }
    }

    /// Adds the DETAIL, a sentence.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the HINT, a sentence.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Unwinds to the guard of the function that PostgreSQL called, which raises it as an `ERROR`.
    pub fn raise(self) -> ! {
        self.report(PgLogLevel::ERROR);
        unreachable!("an ERROR does not return")
    }

    /// Writes it to the server's log, and goes on.
    pub fn log(self) {
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
    pub unsafe fn save(self, context: *mut pg_sys::Node) {
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

    /// Raises it: soft errors came with PostgreSQL 16.
    ///
    /// # Safety
    /// None is needed; the later versions have a contract.
    #[cfg(feature = "pg15")]
    pub unsafe fn save(self, _context: *mut pg_sys::Node) {
        self.raise();
    }

    /// A text that is no value of a type.
    pub fn syntax(name: &str, text: &[u8], detail: String) -> Self {
        let text = printable(text);
        Self::new(
            State::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {name}: \"{text}\""),
        )
        .detail(detail)
    }

    /// A binary value of a wrong length.
    pub fn length(name: &str, right: usize, wrong: usize) -> Self {
        Self::new(
            State::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("invalid length of a binary {name}: {wrong}"),
        )
        .detail(format!("A {name} is {right} bytes long."))
    }

    /// A binary value of the right length that is no value of a type.
    pub fn binary(name: &str, detail: String) -> Self {
        Self::new(State::ERRCODE_INVALID_BINARY_REPRESENTATION, format!("invalid binary {name}"))
            .detail(detail)
    }

    /// A part of an ID that does not fit its bits.
    pub fn field(name: &str, value: i32, max: u16) -> Self {
        Self::new(State::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range: {value}")).detail(
            format!("{} {name} is between 0 and {max}.", if name.starts_with('i') { "An" } else { "A" }),
        )
    }

    /// A time that an ID of a type can't hold; `span` is a sentence that says what it can.
    pub fn time(name: &str, time: Timestamp, span: &str) -> Self {
        let text = time.to_text();
        Self::new(
            State::ERRCODE_DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range for type {name}: \"{text}\""),
        )
        .detail(span)
    }

    /// A uuid whose bytes are not the ID of a type.
    pub fn uuid(name: &str, bytes: &[u8; 16], detail: impl Into<String>) -> Self {
        let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
        for place in [20, 16, 12, 8] {
            text.insert(place, '-');
        }
        Self::new(
            State::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("uuid does not hold a {name}: \"{text}\""),
        )
        .detail(detail)
    }

    /// A setting that makes no sense; `name` is of what is generated.
    pub fn setting(setting: &str, value: &str, reason: impl ToString, name: &str) -> Self {
        Self::new(
            State::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{setting}\": \"{value}\""),
        )
        .detail(sentence(reason))
        .hint(format!("No {name} is generated until the setting is corrected."))
    }

    /// A setting that PostgreSQL dropped, since it may not be set where it was.
    pub fn setting_not_honoured(setting: &str, value: &str) -> Self {
        Self::new(
            State::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("parameter \"{setting}\" could not be set to \"{value}\""),
        )
        .detail("It belongs to the server, and was set for a session, a role or a database.")
        .hint(
            "Use RESET, or connect without it. The server's own value is set in postgresql.conf or with ALTER \
             SYSTEM.",
        )
    }

    /// Generation on a standby.
    pub fn recovery<S: System>() -> Self {
        Self::new(
            State::ERRCODE_READ_ONLY_SQL_TRANSACTION,
            format!("cannot execute {} during recovery", S::FUNCTION),
        )
        .detail("A standby would generate the IDs of its primary.")
    }

    /// A system clock that reads what no ID can hold.
    pub fn clock_outside_epoch<S: System>(error: OutOfEpoch) -> Self {
        let [start, end] = S::ENDS;
        Self::new(
            State::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            match error {
                OutOfEpoch::Before => format!("system clock is before {start}"),
                OutOfEpoch::After => format!("system clock is after {end}"),
            },
        )
        .detail(S::SPAN)
        .hint("Set the server's clock.")
    }

    /// A system clock that has to be waited for, but not for so long.
    pub fn clock_went_back<S: System>(until: Timestamp, micros: u64, max_micros: u64) -> Self {
        let text = until.to_text();
        let [seconds, max] = [micros, max_micros].map(|micros| micros as f64 / 1e6);
        Self::new(
            State::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "system clock went back further than \"sno.max_clock_wait\" allows",
        )
        .detail(format!(
            "IDs were already generated up to {text}, which is {seconds:.3} s ahead of the clock; \
             \"sno.max_clock_wait\" is {max:.3} s."
        ))
        .hint(format!("Set the server's clock, or wait. The view {} shows the generators' times.", S::VIEW))
    }

    /// No room for the generators.
    pub fn shared_memory<S: System>() -> Self {
        Self::new(
            State::ERRCODE_OUT_OF_MEMORY,
            format!("out of shared memory for the generators of {}", S::NAME),
        )
        .hint(format!("Add \"{}\" to \"shared_preload_libraries\" and restart the server.", S::LIBRARY))
    }

    /// Memory of another version of the library.
    pub fn layout<S: System>() -> Self {
        Self::new(
            State::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("shared memory of the generators was laid out by another version of {}", S::LIBRARY),
        )
        .hint("Restart the server.")
    }

    /// A file of marks that can't be opened, locked, read or written.
    pub fn marks_io(path: &str, doing: &str, error: &io::Error) -> Self {
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let state = if full { State::ERRCODE_DISK_FULL } else { State::ERRCODE_IO_ERROR };
        Self::new(state, format!("could not {doing} file \"{path}\": {error}"))
            .detail("Without it, IDs could repeat after a restart.")
    }

    /// A file of marks without a whole record.
    pub fn marks_corrupted(path: &str) -> Self {
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

    /// A clock that went back, by so many microseconds, and was not waited for.
    pub fn clock_stepped_back<S: System>(micros: i64) -> Self {
        Self::notice(format!("system clock went back by {:.3} s", micros as f64 / 1e6))
            .detail(format!("The generators of {} go on in the other timeline.", S::NAME))
    }

    /// A clock that reads less than the marks allow for.
    pub fn clock_went_back_while_down<S: System>(micros: i64) -> Self {
        Self::notice(format!(
            "system clock went back by {:.3} s or more while the server was down",
            micros as f64 / 1e6
        ))
        .detail(format!("The marks of {} are further ahead than a restart explains.", S::NAME))
    }

    /// A data directory that was copied, promoted or restored.
    pub fn copied<S: System>(origin: &Origin, here: &Origin) -> Self {
        if origin.wal_timeline == here.wal_timeline {
            Self::notice(format!("data directory was copied after its last {} was generated", S::NAME))
                .detail(format!(
                    "File \"{}\" was written as file {} and is file {} here.",
                    S::MARKS,
                    origin.file,
                    here.file
                ))
                .hint(twins::<S>())
        } else {
            Self::promoted::<S>(here.wal_timeline).detail(format!(
                "File \"{}\" was written on WAL timeline {}, and the server is on timeline {}.",
                S::MARKS,
                origin.wal_timeline,
                here.wal_timeline
            ))
        }
    }

    /// A server that was promoted or restored, and has no marks.
    pub fn promoted<S: System>(wal_timeline: u32) -> Self {
        Self::notice(format!("server was promoted or restored after its last {} was generated", S::NAME))
            .detail(format!(
                "There was no file \"{}\", and the server is on WAL timeline {wal_timeline}.",
                S::MARKS
            ))
            .hint(twins::<S>())
    }
}

/// What a copy of a server needs.
fn twins<S: System>() -> String {
    format!(
        "If the server that it was made from still generates, give one of them another \
         \"{}\" now: both make the same IDs.",
        S::SETTING
    )
}

/// A reason of the core's as a full sentence, which is what a DETAIL is.
pub fn sentence(reason: impl ToString) -> String {
    let mut text = reason.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text + "."
}

/// A user's text for a message. What is not ASCII stays if it is UTF-8 in a database of UTF-8; messages of
/// other encodings can't be made from here.
pub fn printable(text: &[u8]) -> Cow<'_, str> {
    // SAFETY: reads a number.
    let utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as i32;
    match str::from_utf8(text) {
        Ok(text) if utf8 || text.is_ascii() => text.into(),
        _ => text.iter().map(|&byte| if byte.is_ascii() { byte as char } else { '?' }).collect(),
    }
}
