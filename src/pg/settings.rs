//! Settings that fail closed.
//!
//! PostgreSQL answers a bad value that it finds when a setting is defined with a WARNING and the default.
//! Here the default is another server's number, so this must not happen:
//!
//! * A text that means nothing is accepted all the same, unless a user's command offers it: then that
//!   command fails. Accepted, it makes every generation fail until it is corrected.
//! * Before the library is loaded, a setting is a *placeholder*, which takes a value from anybody: from `SET`,
//!   `PGOPTIONS`, a role, a database. While such a value is in force, the setting is not defined, and
//!   generation fails; each call looks again. So PostgreSQL's own rules decide what is in force after a
//!   `RESET` or a `ROLLBACK`, and parallel workers get the placeholder of their leader. What came with the
//!   connection stays: it has replaced the server's own value, which the session then can't know.
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

/// The library may be loaded in the middle of a parallel operation, by its leader or a worker; without this
/// flag PostgreSQL would drop the values that are waiting for their definitions then.
pub(crate) const IN_PARALLEL: GucFlags = GucFlags::from_bits_retain(pg_sys::GUC_ALLOW_IN_PARALLEL as i32);

/// The last of the sources that are the server's own: the default, its files, its command line.
const SERVER: pg_sys::GucSource::Type = pg_sys::GucSource::PGC_S_ARGV;

/// A setting of the server's own, which is a text that means something.
pub(crate) struct Setting {
    name: &'static CStr,
    text: GucSetting<Option<CString>>,
    short: &'static CStr,
    long: &'static CStr,
    /// Of what is generated: `sno`.
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

    /// What the setting means, or why it means nothing.
    pub(crate) fn get<T: FromStr<Err: ToString>>(&'static self) -> Result<T, Error> {
        self.define::<T>()?;
        let (name, text) = (self.name.to_string_lossy(), self.text.get().unwrap_or_default());
        let meaning = text.to_string_lossy().parse();
        meaning.map_err(|error: T::Err| Error::setting(&name, text.to_bytes(), error, self.generates))
    }

    /// Defines it when the library is loaded; whether it could. A parallel worker can't know yet which values
    /// it gets from its leader.
    pub(crate) fn load<T: FromStr<Err: ToString>>(&'static self) -> bool {
        // SAFETY: a static of PostgreSQL's that is read.
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
        DEFINING.store(true, Relaxed);
        // SAFETY: the hooks catch what panics in them.
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
        DEFINING.store(false, Relaxed);
        // If PostgreSQL should have dropped the server's value, for lack of memory, the next definition fails.
        self.defined.store(State::of(self.name).source == before.source, Relaxed);
        Ok(())
    }
}

/// Ends the definitions, if all could be made: no other setting may have this prefix.
pub(crate) fn loaded(prefix: &CStr, defined: &[bool]) {
    if defined.iter().all(|&defined| defined) {
        // SAFETY: a plain call, which copies the text.
        unsafe { pg_sys::MarkGUCPrefixReserved(prefix.as_ptr()) };
    }
}

/// What PostgreSQL knows of a setting of ours, or of its placeholder.
struct State {
    /// Where the value comes from that counts unless a session has set another.
    source: pg_sys::GucSource::Type,
    /// The value in force, if it is not the server's.
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
                // A session may set the server's own value.
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

/// Whether a setting is being defined, which happens inside a command when the library is not preloaded.
static DEFINING: AtomicBool = AtomicBool::new(false);

/// Refuses a bad value where a user sees the refusal: in a command such as `ALTER SYSTEM`. Elsewhere, at
/// a start or a reload, a refusal would leave another value in force.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check<T: FromStr<Err: ToString>>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a text; the detail's copy is its to free.
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

/// The functions to call when a setting has a new value.
type Forget = [Option<fn()>; 2];

// SAFETY: for the functions of this file.
static FORGET: BackendLocal<Cell<Forget>> = unsafe { BackendLocal::new(Cell::new([None; 2])) };

/// Has a function called whenever a setting has a new value; for two of them.
pub(crate) fn on_change(forget: fn()) {
    let [first, _] = FORGET.get();
    FORGET.set([Some(forget), first]);
}

unsafe extern "C-unwind" fn changed(_value: *const c_char, _extra: *mut c_void) {
    for forget in FORGET.get().into_iter().flatten() {
        forget();
    }
}
