//! Errors with a SQLSTATE, and one constructor for each error of arguments and settings.
//!
//! An error is returned as a `Result` to the outermost frame, where [`guard`] raises it. pgrx's `ErrorReport` is not used,
//! since its texts have to be UTF-8: a message may quote a user's text, which is in the database's encoding. All other
//! parts of messages are ASCII.

use std::{
    backtrace::Backtrace,
    borrow::Cow,
    env,
    ffi::{c_char, c_int},
    ptr,
};

use pgrx::{PgSqlErrorCode as SqlState, pg_sys};

use crate::pg::datum::Timestamp;

/// An error that has not been raised yet. The texts are in the database's encoding.
#[derive(Debug)]
pub(crate) struct Error {
    state: SqlState,
    message: Vec<u8>,
    detail: Option<String>,
    hint: Option<String>,
}

impl Error {
    /// With a SQLSTATE and a primary message.
    pub(crate) fn new(state: SqlState, message: impl Into<Vec<u8>>) -> Self {
        Self { state, message: message.into(), detail: None, hint: None }
    }

    /// With a message that ends with a user's text in quotes, or with its beginning: a copy of a very long text may fail, and
    /// Rust aborts then.
    pub(crate) fn quoting(state: SqlState, message: impl Into<Vec<u8>>, text: impl AsRef<[u8]>) -> Self {
        /// As in PostgreSQL's messages for COPY.
        const LONGEST: usize = 100;

        let text = text.as_ref();
        let (shown, rest) = match text.len() {
            ..=LONGEST => (text, ""),
            length => {
                let length = c_int::try_from(length).unwrap_or(c_int::MAX);
                // SAFETY: reads at most as many bytes as there are.
                let end = unsafe { pg_sys::pg_mbcliplen(text.as_ptr().cast(), length, LONGEST as c_int) };
                (&text[..end as usize], "...")
            }
        };
        Self::new(state, [message.into().as_slice(), b" \"", shown, rest.as_bytes(), b"\""].concat())
    }

    /// Adds the DETAIL, a sentence.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the HINT, a sentence.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Writes it to the server's log and to no client, without raising it.
    pub(crate) fn log(self) {
        let report = self.into_report();
        // SAFETY: nothing in the closure needs dropping; an error that PostgreSQL raises inside unwinds from here.
        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| report.send(pg_sys::LOG_SERVER_ONLY as c_int)) };
    }

    /// Copies it into PostgreSQL's memory.
    pub(crate) fn into_report(self) -> Report {
        // SAFETY: as many bytes are copied as there are, and as many written as are allocated.
        unsafe {
            let copy = |text: &[u8]| {
                let text = printable(text);
                pg_sys::pnstrdup(text.as_ptr().cast(), text.len()).cast_const()
            };
            let optional = |text: Option<String>| text.map_or(ptr::null(), |text| copy(text.as_bytes()));
            let report = pg_sys::palloc(size_of::<Texts>()).cast::<Texts>();
            report.write(Texts {
                state: self.state as c_int,
                message: copy(&self.message),
                detail: optional(self.detail),
                hint: optional(self.hint),
            });
            Report(report)
        }
    }
}

unsafe extern "C-unwind" {
    // pgrx's wrappers turn a `longjmp` into a panic; these are called where nothing may panic.
    fn errstart(level: c_int, domain: *const c_char) -> bool;
    fn errcode(state: c_int) -> c_int;
    fn errmsg_internal(format: *const c_char, ...) -> c_int;
    fn errdetail_internal(format: *const c_char, ...) -> c_int;
    fn errhint(format: *const c_char, ...) -> c_int;
    fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
    #[cfg(not(feature = "pg15"))]
    fn errsave_start(context: *mut pg_sys::Node, domain: *const c_char) -> bool;
    #[cfg(not(feature = "pg15"))]
    fn errsave_finish(context: *mut pg_sys::Node, file: *const c_char, line: c_int, function: *const c_char);
}

/// An error in PostgreSQL's memory. Nothing in it needs dropping, so PostgreSQL may raise it with `longjmp`.
#[derive(Clone, Copy)]
pub(crate) struct Report(*const Texts);

struct Texts {
    state: c_int,
    message: *const c_char,
    detail: *const c_char,
    hint: *const c_char,
}

impl Report {
    /// Raises it as an `ERROR`.
    ///
    /// # Safety
    /// Called in the outermost frame, or inside pgrx's `pg_guard_ffi_boundary`: it ends with a `longjmp`.
    pub(crate) unsafe fn raise(self) -> ! {
        // SAFETY: by the contract.
        unsafe { self.send(pg_sys::PGERROR as c_int) };
        unreachable!("an ERROR does not return")
    }

    /// Hands it to a caller that asked for soft errors, and raises it for all others.
    ///
    /// # Safety
    /// As for [`raise`](Self::raise); `context` is the call's context node, or null.
    #[cfg(not(feature = "pg15"))]
    pub(crate) unsafe fn save(self, context: *mut pg_sys::Node) {
        // SAFETY: the calls that PostgreSQL's own macro makes.
        unsafe {
            if errsave_start(context, ptr::null()) {
                self.fill_in();
                errsave_finish(context, ptr::null(), 0, ptr::null());
            }
        }
    }

    /// Raises it: soft errors came with PostgreSQL 16.
    ///
    /// # Safety
    /// As for [`raise`](Self::raise).
    #[cfg(feature = "pg15")]
    pub(crate) unsafe fn save(self, _context: *mut pg_sys::Node) {
        // SAFETY: by the contract.
        unsafe { self.raise() }
    }

    /// # Safety
    /// As for [`raise`](Self::raise).
    unsafe fn send(self, level: c_int) {
        // SAFETY: the calls that PostgreSQL's own macro makes.
        unsafe {
            if errstart(level, ptr::null()) {
                self.fill_in();
                errfinish(ptr::null(), 0, ptr::null());
            }
        }
    }

    /// # Safety
    /// Between the start of an error and its end.
    unsafe fn fill_in(self) {
        // SAFETY: PostgreSQL copies the texts, which end with a zero byte.
        unsafe {
            let Texts { state, message, detail, hint } = &*self.0;
            errcode(*state);
            errmsg_internal(c"%s".as_ptr(), *message);
            if !detail.is_null() {
                errdetail_internal(c"%s".as_ptr(), *detail);
            }
            if !hint.is_null() {
                errhint(c"%s".as_ptr(), *hint);
            }
        }
    }
}

/// Disables backtraces of this library's panics, even if the server's environment asks for them: pgrx would put them into
/// the DETAIL that a client sees. Called when the library is loaded.
pub(crate) fn disable_backtraces() {
    const VARIABLE: &str = "RUST_LIB_BACKTRACE";

    let before = env::var_os(VARIABLE);
    if before.is_none() && env::var_os("RUST_BACKTRACE").is_none() {
        // The standard library reads the variables now, and never again.
        let _ = Backtrace::capture();
        return;
    }
    // SAFETY: a server process has one thread when it loads a library, unless another library has started some. Only those
    // who ask for backtraces in the server's environment come here.
    unsafe { env::set_var(VARIABLE, "0") };
    let _ = Backtrace::capture();
    // SAFETY: as above. The value is restored for other libraries.
    unsafe {
        match before {
            Some(value) => env::set_var(VARIABLE, value),
            None => env::remove_var(VARIABLE),
        }
    }
}

/// Runs the body of a function that PostgreSQL calls, and raises an error or a panic as an `ERROR`.
///
/// # Safety
/// Called in the outermost frame, which has nothing to drop.
#[inline(always)]
pub(crate) unsafe fn guard<T: Copy>(work: impl FnOnce() -> Result<T, Error>) -> T {
    // SAFETY: by the contract; neither a value nor a report needs dropping.
    unsafe {
        match pgrx::pgrx_extern_c_guard(|| work().map_err(Error::into_report)) {
            Ok(value) => value,
            Err(report) => report.raise(),
        }
    }
}

impl Error {
    /// A text that is not a value of a type.
    pub(crate) fn syntax(name: &str, text: &[u8], detail: String) -> Self {
        let message = format!("invalid input syntax for type {name}:");
        Self::quoting(SqlState::ERRCODE_INVALID_TEXT_REPRESENTATION, message, text).detail(detail)
    }

    /// A binary value of a wrong length.
    pub(crate) fn length(name: &str, right: usize, wrong: usize) -> Self {
        Self::new(
            SqlState::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("invalid length of a binary {name}: {wrong}"),
        )
        .detail(format!("A {name} is {right} bytes long."))
    }

    /// A binary value of the right length that is not a value of a type.
    pub(crate) fn binary(name: &str, detail: String) -> Self {
        Self::new(SqlState::ERRCODE_INVALID_BINARY_REPRESENTATION, format!("invalid binary {name}"))
            .detail(detail)
    }

    /// A field of an ID that is out of range.
    pub(crate) fn field(name: &str, value: i32, max: u16) -> Self {
        Self::new(SqlState::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range: {value}"))
            .detail(format!(
                "{} {name} is between 0 and {max}.",
                if name.starts_with('i') { "An" } else { "A" }
            ))
    }

    /// A time that an ID of a type can't hold; `span` is a sentence with the times that it can hold.
    pub(crate) fn time(name: &str, time: Timestamp, span: &str) -> Self {
        let text = time.to_text();
        Self::new(
            SqlState::ERRCODE_DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range for type {name}: \"{text}\""),
        )
        .detail(span)
    }

    /// A uuid whose bytes are not an ID of a type.
    pub(crate) fn uuid(name: &str, bytes: &[u8; 16], detail: impl Into<String>) -> Self {
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

    /// An invalid value of a setting; `name` is what is generated: `sno`.
    pub(crate) fn setting(setting: &str, value: impl AsRef<[u8]>, reason: impl ToString, name: &str) -> Self {
        let message = format!("invalid value for parameter \"{setting}\":");
        Self::quoting(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message, value)
            .detail(sentence(reason))
            .hint(format!("No {name} is generated until the setting is corrected."))
    }

    /// A value that a session, a role or a database has set, where only the server may.
    pub(crate) fn setting_not_honoured(setting: &str, value: impl AsRef<[u8]>) -> Self {
        let message = format!("parameter \"{setting}\" could not be set to");
        Self::quoting(SqlState::ERRCODE_INVALID_PARAMETER_VALUE, message, value)
            .detail("It belongs to the server, and was set for a session, a role or a database.")
            .hint(
                "Use RESET, or connect without it. The server's own value is set in postgresql.conf or with ALTER \
                 SYSTEM.",
            )
    }
}

/// A message of `sno_core` as a full sentence, for a DETAIL.
pub(crate) fn sentence(reason: impl ToString) -> String {
    let mut text = reason.to_string();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text + "."
}

/// A text for a message: unchanged if it is valid in the database's encoding, otherwise with `?` for each byte that is not
/// ASCII. A value from a configuration file can be in another encoding.
fn printable(text: &[u8]) -> Cow<'_, [u8]> {
    // SAFETY: reads as many bytes as there are, and raises no error.
    if unsafe { pg_sys::pg_verifymbstr(text.as_ptr().cast(), text.len() as c_int, true) } {
        text.into()
    } else {
        text.iter().map(|&byte| if byte.is_ascii() { byte } else { b'?' }).collect()
    }
}
