//! Settings that fail closed.
//!
//! If a setting has an invalid value when it is defined, PostgreSQL raises a WARNING and uses the default. Here the default
//! may be the number of another server, so this must not happen:
//!
//! * An invalid value in a command is an error of that command. An invalid value from elsewhere, such as a configuration
//!   file, is accepted, and makes every generation fail until it is corrected.
//! * Before the library is loaded, a setting is a *placeholder*, which anybody may set: with `SET` or `PGOPTIONS`, for a
//!   role or a database. While such a value is in force, the setting is not defined and generation fails; each call
//!   checks again. So PostgreSQL's own rules decide which value is in force after a `RESET` or a `ROLLBACK`, and parallel
//!   workers get the placeholder of their leader. A value that came with the connection stays for the session: it has
//!   replaced the server's value, which the session then can't know.
//! * Once a setting is defined, PostgreSQL refuses all values but the server's.

use std::{
    cell::Cell,
    ffi::{CStr, CString, c_char, c_void},
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};

use crate::pg::{
    backend_local::BackendLocal,
    errors::{Error, sentence},
};

/// The library may be loaded during a parallel operation, by its leader or a worker. Without this flag PostgreSQL would
/// then drop the values of placeholders.
pub(crate) const IN_PARALLEL: GucFlags = GucFlags::from_bits_retain(pg_sys::GUC_ALLOW_IN_PARALLEL as i32);

/// The last of the sources that only the server has: the default, its files, its command line.
const SERVER: pg_sys::GucSource::Type = pg_sys::GucSource::PGC_S_ARGV;

/// A setting that only the server may set, with a text that is parsed.
pub(crate) struct Setting {
    name: &'static CStr,
    text: GucSetting<Option<CString>>,
    short: &'static CStr,
    long: &'static CStr,
    /// What is generated with it: `sno`.
    generates: &'static str,
    defined: AtomicBool,
}

impl Setting {
    /// A setting with its name, its default and its description.
    pub(crate) const fn new(
        name: &'static CStr,
        default: &'static CStr,
        short: &'static CStr,
        long: &'static CStr,
        generates: &'static str,
    ) -> Self {
        let text = GucSetting::<Option<CString>>::new(Some(default));
        Self { name, text, short, long, generates, defined: AtomicBool::new(false) }
    }

    /// The parsed value, or the error that generation fails with.
    pub(crate) fn get<T: FromStr<Err: ToString>>(&'static self) -> Result<T, Error> {
        self.define::<T>()?;
        let (name, text) = (self.name.to_string_lossy(), self.text.get().unwrap_or_default());
        let value = text.to_string_lossy().parse();
        value.map_err(|error: T::Err| Error::setting(&name, text.to_bytes(), error, self.generates))
    }

    /// Defines it when the library is loaded; returns whether that was possible. In a parallel worker it is not, since the
    /// values of its leader come later.
    pub(crate) fn load<T: FromStr<Err: ToString>>(&'static self) -> bool {
        // SAFETY: reads a static of PostgreSQL's.
        let worker = unsafe { pg_sys::InitializingParallelWorker };
        !worker && self.define::<T>().is_ok()
    }

    /// Defines it, once in each process, unless a value that is not the server's is in force.
    fn define<T: FromStr<Err: ToString>>(&'static self) -> Result<(), Error> {
        if self.defined.load(Relaxed) {
            return Ok(());
        }
        let before = State::of(self.name);
        if let Some(value) = before.foreign {
            return Err(Error::setting_not_honoured(&self.name.to_string_lossy(), value.to_bytes()));
        }
        let defining = Defining::begin();
        // SAFETY: the hooks catch their panics.
        unsafe {
            GucRegistry::define_string_guc_with_hooks(
                self.name,
                self.short,
                self.long,
                &self.text,
                GucContext::Sighup,
                IN_PARALLEL,
                Some(check::<T>),
                Some(changed),
                None,
            );
        }
        drop(defining);
        // If PostgreSQL has dropped the server's value, for lack of memory, the setting does not count as defined.
        self.defined.store(State::of(self.name).source == before.source, Relaxed);
        Ok(())
    }
}

/// Reserves the prefix, if all settings are defined: no placeholder may have it from now on.
pub(crate) fn reserve_prefix(prefix: &CStr, defined: &[bool]) {
    if defined.iter().all(|&defined| defined) {
        // SAFETY: a plain call, which copies the text.
        unsafe { pg_sys::MarkGUCPrefixReserved(prefix.as_ptr()) };
    }
}

/// The state of a setting of ours, or of its placeholder.
struct State {
    /// The source of the value that a `RESET` restores.
    source: pg_sys::GucSource::Type,
    /// The value in force, if it was not set by the server.
    foreign: Option<CString>,
}

impl State {
    fn of(name: &CStr) -> Self {
        // SAFETY: our settings are texts, as are all placeholders, and the record is read at once.
        unsafe {
            let Some(record) = record(name).cast::<pg_sys::config_string>().as_ref() else {
                return Self { source: pg_sys::GucSource::PGC_S_DEFAULT, foreign: None };
            };
            let text = |text: *const c_char| (!text.is_null()).then(|| CStr::from_ptr(text).to_owned());
            let (value, reset) = (text(*record.variable), text(record.reset_val));
            let source = record.gen_.reset_source;
            let foreign = if source > SERVER {
                Some(reset.unwrap_or_default())
            } else {
                // A session may set the same value as the server's.
                value.filter(|value| record.gen_.source > SERVER && reset.as_ref() != Some(value))
            };
            Self { source, foreign }
        }
    }
}

/// PostgreSQL's record of a setting, or null. Names are the same in lower and upper case.
unsafe fn record(name: &CStr) -> *mut pg_sys::config_generic {
    // SAFETY: as many records as PostgreSQL says, which don't change meanwhile.
    #[cfg(feature = "pg15")]
    unsafe {
        let count = pg_sys::GetNumConfigOptions() as usize;
        let records = std::slice::from_raw_parts(pg_sys::get_guc_variables(), count);
        let found = records
            .iter()
            .find(|record| CStr::from_ptr((***record).name).to_bytes().eq_ignore_ascii_case(name.to_bytes()));
        found.copied().unwrap_or_default()
    }
    // SAFETY: a plain call, which makes no placeholder and raises no error.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        pg_sys::find_option(name.as_ptr(), false, true, pg_sys::PGERROR as i32)
    }
}

/// Whether a setting is being defined. Without preloading, this happens during a command.
static DEFINING: AtomicBool = AtomicBool::new(false);

/// Resets [`DEFINING`] when it is dropped, so also if PostgreSQL raises an error meanwhile.
struct Defining;

impl Defining {
    fn begin() -> Self {
        DEFINING.store(true, Relaxed);
        Self
    }
}

impl Drop for Defining {
    fn drop(&mut self) {
        DEFINING.store(false, Relaxed);
    }
}

/// Refuses an invalid value in a command, such as `ALTER SYSTEM`, where the user sees the error. At a start or a reload, a
/// refusal would leave another value in force.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check<T: FromStr<Err: ToString>>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a text, and frees the copy of the detail.
    unsafe {
        let command = !pg_sys::ActivePortal.is_null() && !DEFINING.load(Relaxed);
        let text = CStr::from_ptr(*value).to_string_lossy();
        let Err(error) = text.parse::<T>() else { return true };
        if command {
            let detail = CString::new(sentence(error)).unwrap_or_default();
            pg_sys::GUC_check_errdetail_string = pg_sys::pstrdup(detail.as_ptr());
        }
        !command
    }
}

// SAFETY: for the functions of this file.
static ON_CHANGE: BackendLocal<Cell<fn()>> = unsafe { BackendLocal::new(Cell::new(|| ())) };

/// Sets the function that is called whenever a setting has a new value.
pub(crate) fn on_change(function: fn()) {
    ON_CHANGE.set(function);
}

unsafe extern "C-unwind" fn changed(_value: *const c_char, _extra: *mut c_void) {
    (ON_CHANGE.get())();
}
