//! Errors with a SQLSTATE, and one constructor for each error of arguments and settings.
//!
//! An error is returned as a `Result` to the outermost frame, where [`guard`] raises it.

use std::{
    borrow::Cow,
    convert::Infallible,
    ffi::{CString, c_int},
    panic::panic_any,
};

use pgrx::{
    PgLogLevel, PgSqlErrorCode as SqlState,
    pg_sys::{self, panic::ErrorReport},
};

use crate::pg::{datum::Timestamp, versions::save_error};

/// An error that has not been raised yet.
#[derive(Debug)]
pub struct Error {
    state: SqlState,
    report: Box<ErrorReport>,
}

impl Error {
    /// With a SQLSTATE and a primary message. The log shows the caller's file and line.
    #[track_caller]
    pub fn new(state: SqlState, message: impl AsRef<str>) -> Self {
        let message = printable(message.as_ref().as_bytes()).into_owned();
        // In place of a function's name, the log shows whose file it is.
        Self { state, report: Box::new(ErrorReport::new(state, message, "sno")) }
    }

    /// With a message that ends with a user's text in quotes, or with its beginning: a copy of a very long text may
    /// fail, and Rust aborts then.
    #[track_caller]
    pub fn quoting(state: SqlState, message: &str, text: &[u8]) -> Self {
        /// As in PostgreSQL's messages for COPY.
        const LONGEST: usize = 100;

        let (shown, rest) = match text.len() {
            ..=LONGEST => (text, ""),
            length => {
                let length = c_int::try_from(length).unwrap_or(c_int::MAX);
                // SAFETY: reads at most as many bytes as there are.
                let end = unsafe { pg_sys::pg_mbcliplen(text.as_ptr().cast(), length, LONGEST as c_int) };
                (&text[..end as usize], "...")
            }
        };
        Self::new(state, format!("{message} \"{}{rest}\"", printable(shown)))
    }

    /// Adds the DETAIL, a sentence.
    pub fn detail(self, detail: impl AsRef<str>) -> Self {
        let detail = printable(detail.as_ref().as_bytes());
        Self { report: Box::new(self.report.set_detail(detail)), ..self }
    }

    /// Adds the HINT, a sentence.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { report: Box::new(self.report.set_hint(hint)), ..self }
    }

    /// Writes it to the server's log and to no client, without raising it.
    pub fn log(self) {
        self.report.report(PgLogLevel::LOG_SERVER_ONLY);
    }

    /// Tells the client, without raising it.
    pub fn notice(self) {
        self.report.report(PgLogLevel::NOTICE);
    }

    /// Warns the client, without raising it.
    pub fn warning(self) {
        self.report.report(PgLogLevel::WARNING);
    }

    /// Hands it to a caller that asked for soft errors, and returns it for all others.
    ///
    /// # Safety
    /// `context` is the context node of a call, or null.
    pub unsafe fn save(self, context: *mut pg_sys::Node) -> Result<(), Self> {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let message = text(self.report.message());
        let [detail, hint] = [self.report.detail(), self.report.hint()].map(|part| part.map(text));
        // SAFETY: the caller's context.
        let saved = unsafe { save_error(context, self.state, &message, detail.as_deref(), hint.as_deref()) };
        if saved { Ok(()) } else { Err(self) }
    }
}

/// Runs the body of a function that PostgreSQL calls, and raises an error or a panic as an `ERROR`.
///
/// # Safety
/// Called in the outermost frame, which has nothing to drop.
#[inline(always)]
pub unsafe fn guard<T: Copy>(work: impl FnOnce() -> Result<T, Error>) -> T {
    // SAFETY: the caller is the outermost frame, and neither it nor this one has anything to drop.
    unsafe { pgrx::pgrx_extern_c_guard(|| work().unwrap_or_else(|error| panic_any(*error.report))) }
}

/// Raises an error.
///
/// # Safety
/// As of [`guard`].
#[cold]
pub unsafe fn raise(error: impl FnOnce() -> Error) -> ! {
    // SAFETY: as promised by the caller.
    match unsafe { guard::<Infallible>(|| Err(error())) } {}
}

/// Reports an error as a `WARNING`.
///
/// # Safety
/// As of [`guard`].
pub unsafe fn warn(error: impl FnOnce() -> Error) {
    // SAFETY: as promised by the caller.
    unsafe {
        guard(|| {
            error().warning();
            Ok(())
        });
    }
}

impl Error {
    /// A text that is not a value of a type.
    pub fn syntax(name: &str, text: &[u8], detail: String) -> Self {
        let message = format!("invalid input syntax for type {name}:");
        Self::quoting(SqlState::ERRCODE_INVALID_TEXT_REPRESENTATION, &message, text).detail(detail)
    }

    /// A binary value of a wrong length.
    pub fn length(name: &str, right: usize, wrong: usize) -> Self {
        Self::new(
            SqlState::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("invalid length of a binary {name}: {wrong}"),
        )
        .detail(format!("A {name} is {right} bytes long."))
    }

    /// A binary value of the right length that is not a value of a type.
    pub fn binary(name: &str, detail: String) -> Self {
        Self::new(SqlState::ERRCODE_INVALID_BINARY_REPRESENTATION, format!("invalid binary {name}"))
            .detail(detail)
    }

    /// A time that an ID of a type can't hold; `span` is a sentence with the times that it can hold.
    pub fn time(name: &str, time: Timestamp, span: &str) -> Self {
        let text = time.to_text();
        Self::new(
            SqlState::ERRCODE_DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range for type {name}: \"{text}\""),
        )
        .detail(span)
    }

    /// A uuid whose bytes are not an ID of a type.
    pub fn uuid(name: &str, bytes: &[u8; 16], detail: impl AsRef<str>) -> Self {
        let mut text = format!("{:032x}", u128::from_be_bytes(*bytes));
        for place in [20, 16, 12, 8] {
            text.insert(place, '-');
        }
        Self::new(
            SqlState::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("uuid does not hold a {name}: \"{text}\""),
        )
        .detail(detail)
    }

    /// An invalid value of a setting.
    pub fn setting(setting: &str, value: &[u8], reason: impl ToString) -> Self {
        let message = format!("invalid value for parameter \"{setting}\":");
        Self::quoting(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, &message, value)
            .detail(sentence(reason))
            .hint("Correct it in the configuration of the server, and reload.")
    }
}

/// A field of an ID from an `integer`, or an error if it is not between 0 and `max`.
pub fn check_range(name: &str, value: i32, max: u16) -> Result<u16, Error> {
    u16::try_from(value).ok().filter(|field| *field <= max).ok_or_else(|| {
        let article = if name.starts_with('i') { "An" } else { "A" };
        Error::new(SqlState::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range: {value}"))
            .detail(format!("{article} {name} is between 0 and {max}."))
    })
}

/// A message of `sno_core` as a full sentence, for a DETAIL.
pub fn sentence(reason: impl ToString) -> String {
    let mut text = reason.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text + "."
}

/// A text for a message: as it is if it is ASCII, or in a UTF-8 database valid UTF-8. Of other texts each byte that is
/// not ASCII is shown as `\xNN`: a client could not read it, since the message is converted from the database's
/// encoding.
pub fn printable(text: &[u8]) -> Cow<'_, str> {
    // SAFETY: reads the encoding of the database.
    let is_utf8 = unsafe { pg_sys::GetDatabaseEncoding() } == pg_sys::pg_enc::PG_UTF8 as c_int;
    match str::from_utf8(text) {
        Ok(text) if is_utf8 || text.is_ascii() => text.into(),
        _ => text
            .iter()
            .map(
                |&byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\x{byte:02x}") },
            )
            .collect(),
    }
}
