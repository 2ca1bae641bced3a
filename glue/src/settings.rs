//! Settings that fail closed.
//!
//! PostgreSQL answers a bad value that it finds when the library is loaded with a WARNING and the
//! default. Here the default is another server's number, so this must not happen:
//!
//! * A text that means nothing is accepted all the same, unless a user's command offers it: then that
//!   command fails. Accepted, it makes every generation fail until it is corrected.
//! * A value that may not be set where it was (`PGOPTIONS`, `ALTER ROLE`, `SET` before the library was
//!   loaded) is dropped by PostgreSQL, and with it the server's own, which it stands before. The setting then
//!   takes a text that says so, with the same effect. It is the setting's own value, so parallel workers get
//!   it too. That the value is the default is no excuse: the server's own may be another.

use std::{
    cell::RefCell,
    ffi::{CStr, CString, c_char, c_void},
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};

use crate::{
    errors::{Error, sentence},
    own::Own,
};

/// The library may be loaded in the middle of a parallel operation, by its leader or a worker; without this
/// flag PostgreSQL would drop the values that are waiting for their definitions then.
pub const IN_PARALLEL: GucFlags = GucFlags::from_bits_retain(pg_sys::GUC_ALLOW_IN_PARALLEL as i32);

/// Stands before a value that PostgreSQL dropped; no value of ours starts like this.
const NOT_HONOURED: &str = "not honoured: ";

/// A setting of the server's own, which is a text that means something.
pub struct Setting {
    name: &'static CStr,
    text: GucSetting<Option<CString>>,
    /// Of what is generated: `sno`.
    generates: &'static str,
}

/// What PostgreSQL calls when a setting has a new value.
pub type Assign = unsafe extern "C-unwind" fn(*const c_char, *mut c_void);

impl Setting {
    /// A setting with its name and default.
    pub const fn new(name: &'static CStr, default: &'static CStr, generates: &'static str) -> Self {
        Self { name, text: GucSetting::<Option<CString>>::new(Some(default)), generates }
    }

    /// What the setting means, or why it means nothing.
    pub fn get<T: FromStr<Err: ToString>>(&self) -> Result<T, Error> {
        let (name, text) = (self.name.to_string_lossy(), self.text.get().unwrap_or_default());
        if let Some(value) = text.to_bytes().strip_prefix(NOT_HONOURED.as_bytes()) {
            return Err(Error::setting_not_honoured(&name, value));
        }
        text.to_string_lossy()
            .parse()
            .map_err(|error: T::Err| Error::setting(&name, text.to_bytes(), error, self.generates))
    }

    /// Defines it; once in each process, when the library is loaded. `assign` is called when it changes.
    pub fn define<T: FromStr<Err: ToString>>(
        &'static self,
        short: &'static CStr,
        long: &'static CStr,
        assign: Assign,
    ) {
        let Self { name, text: setting, .. } = self;
        // SAFETY: the hooks catch what panics in them. A value is copied before the definition frees it.
        unsafe {
            let wanted = pg_sys::GetConfigOption(name.as_ptr(), true, false);
            let wanted = (!wanted.is_null()).then(|| CStr::from_ptr(wanted).to_owned());
            TAKEN.replace(None);
            GucRegistry::define_string_guc_with_hooks(
                name,
                short,
                long,
                setting,
                GucContext::Sighup,
                IN_PARALLEL,
                Some(check::<T>),
                Some(assign),
                None,
            );
            let taken = TAKEN.take();
            if let Some(wanted) = wanted.filter(|wanted| Some(wanted) != taken.as_ref()) {
                let refused = [NOT_HONOURED.as_bytes(), wanted.to_bytes()].concat();
                let refused = CString::new(refused).unwrap_or_default();
                // The strongest source, so that no later reload of the file covers it up.
                pg_sys::SetConfigOption(
                    name.as_ptr(),
                    refused.as_ptr(),
                    pg_sys::GucContext::PGC_SIGHUP,
                    pg_sys::GucSource::PGC_S_OVERRIDE,
                );
            }
        }
    }
}

/// Ends the definitions: no other setting may have this prefix.
pub fn defined(prefix: &CStr) {
    // SAFETY: a plain call, which copies the text.
    unsafe { pg_sys::MarkGUCPrefixReserved(prefix.as_ptr()) };
    LOADING.store(false, Relaxed);
}

/// Whether the library is being loaded, which happens inside a command when it is not preloaded.
static LOADING: AtomicBool = AtomicBool::new(true);

/// The last value that PostgreSQL took over when a setting was defined; not the default.
// SAFETY: for the definitions and the hook that they call.
static TAKEN: Own<RefCell<Option<CString>>> = unsafe { Own::new(RefCell::new(None)) };

/// Refuses a bad value where a user sees the refusal: in a command such as `ALTER SYSTEM`. Elsewhere, at
/// a start or a reload, a refusal would leave another value in force.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check<T: FromStr<Err: ToString>>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a text; the detail's copy is its to free.
    unsafe {
        let loading = LOADING.load(Relaxed);
        if loading && source > pg_sys::GucSource::PGC_S_DEFAULT {
            TAKEN.replace(Some(CStr::from_ptr(*value).to_owned()));
        }
        let command = !pg_sys::ActivePortal.is_null() && !loading;
        let text = CStr::from_ptr(*value).to_string_lossy();
        let Err(error) = text.parse::<T>() else { return true };
        if command {
            let detail = CString::new(sentence(error)).unwrap_or_default();
            pg_sys::GUC_check_errdetail_string = pg_sys::pstrdup(detail.as_ptr());
        }
        !command
    }
}

/// The longest wait for a clock that went back, in microseconds: the setting of `sno`, by its name.
pub fn max_clock_wait() -> u64 {
    /// Where `sno` is not loaded.
    const DEFAULT_MS: u64 = 10_000;

    // SAFETY: a number of PostgreSQL's, without a unit, read at once.
    let millis = unsafe {
        let text = pg_sys::GetConfigOption(c"sno.max_clock_wait".as_ptr(), true, false);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    millis.and_then(|text| text.parse::<u64>().ok()).unwrap_or(DEFAULT_MS) * 1000
}
