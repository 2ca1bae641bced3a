//! Settings, and how they fail closed.
//!
//! PostgreSQL answers a bad value that it finds when the library is loaded with a WARNING and the
//! default. Here the default is another server's number, so this must not happen:
//!
//! * A text that means nothing is accepted all the same, unless a user's command offers it: then that
//!   command fails. Accepted, it makes every `sno_new` fail until it is mended.
//! * A value that may not be set where it was (`PGOPTIONS`, `ALTER ROLE`, `SET` before the library was
//!   loaded) is dropped by PostgreSQL. The setting then takes a text that says so, with the same effect.
//!   It is the setting's own value, so parallel workers get it too.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};
use sno_core::{Prefix, SequenceRange};

use crate::{
    errors::{Error, sentence},
    generate,
};

const PREFIX: &CStr = c"sno.partition_prefix";
const RANGE: &CStr = c"sno.sequence_range";
const MAX_WAIT: &CStr = c"sno.max_clock_wait";

static PREFIX_TEXT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c"0/8"));
static RANGE_TEXT: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c"0-65535"));
static MAX_WAIT_MS: GucSetting<i32> = GucSetting::<i32>::new(10_000);

/// The library may be loaded in the middle of a parallel operation, by its leader or a worker; without this
/// flag PostgreSQL would drop the values that are waiting for their definitions then.
const IN_PARALLEL: GucFlags = GucFlags::from_bits_retain(pg_sys::GUC_ALLOW_IN_PARALLEL as i32);

/// Stands before a value that PostgreSQL dropped; no value of ours starts like this.
const NOT_HONOURED: &str = "not honoured: ";

/// What the server's own two settings say.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) prefix: Prefix,
    pub(crate) range: SequenceRange,
}

impl Settings {
    pub(crate) fn current() -> Result<Self, Error> {
        Ok(Self { prefix: parse(PREFIX, &text(&PREFIX_TEXT))?, range: parse(RANGE, &text(&RANGE_TEXT))? })
    }
}

/// The longest wait for a clock that went back twice, in microseconds.
pub(crate) fn max_clock_wait() -> u64 {
    MAX_WAIT_MS.get().unsigned_abs() as u64 * 1000
}

fn text(setting: &GucSetting<Option<CString>>) -> String {
    setting.get().unwrap_or_default().to_string_lossy().into_owned()
}

fn parse<T: std::str::FromStr<Err: ToString>>(name: &CStr, text: &str) -> Result<T, Error> {
    let name = name.to_string_lossy();
    if let Some(value) = text.strip_prefix(NOT_HONOURED) {
        return Err(Error::setting_not_honoured(&name, value));
    }
    text.parse().map_err(|error: T::Err| Error::setting(&name, text, error))
}

/// Defines the settings; once in each process, when the library is loaded.
pub(crate) fn define() {
    define_text::<Prefix>(
        PREFIX,
        c"Sets the upper bits of every partition: this server's own number, and how many bits it takes.",
        c"Written 42/8; the bits are 8 to 16, and 8 if they are left out. Servers whose IDs meet need different prefixes.",
        &PREFIX_TEXT,
    );
    define_text::<SequenceRange>(
        RANGE,
        c"Sets the first and the last sequence number of a generator in each tick of 4 ms.",
        c"Written 0-65535, at least 4 numbers. Servers that share a prefix need ranges without overlap.",
        &RANGE_TEXT,
    );
    GucRegistry::define_int_guc(
        MAX_WAIT,
        c"Sets the longest time that sno_new() waits for a clock that went back twice.",
        c"Zero makes it fail at once.",
        &MAX_WAIT_MS,
        0,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS | IN_PARALLEL,
    );
    // SAFETY: a plain call with a static text.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"sno".as_ptr()) };
    LOADING.store(false, Relaxed);
}

fn define_text<T: std::str::FromStr<Err: ToString>>(
    name: &'static CStr,
    short: &'static CStr,
    long: &'static CStr,
    setting: &'static GucSetting<Option<CString>>,
) {
    // SAFETY: the hooks catch what panics in them. A value is copied before the definition frees it.
    unsafe {
        let wanted = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        let wanted = (!wanted.is_null()).then(|| CStr::from_ptr(wanted).to_owned());
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
        if let Some(wanted) = wanted.filter(|wanted| Some(wanted) != setting.get().as_ref()) {
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

/// Whether the library is being loaded, which happens inside a command when it is not preloaded.
static LOADING: AtomicBool = AtomicBool::new(true);

/// Refuses a bad value where a user sees the refusal: in a command such as `ALTER SYSTEM`. Elsewhere, at
/// a start or a reload, a refusal would leave another value in force.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check<T: std::str::FromStr<Err: ToString>>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a text; the detail's copy is its to free.
    unsafe {
        let command = !pg_sys::ActivePortal.is_null() && !LOADING.load(Relaxed);
        let text = CStr::from_ptr(*value).to_string_lossy();
        let Err(error) = text.parse::<T>() else { return true };
        if command {
            let detail = CString::new(sentence(error)).unwrap_or_default();
            pg_sys::GUC_check_errdetail_string = pg_sys::pstrdup(detail.as_ptr());
        }
        !command
    }
}

/// What a backend has made of the settings is out of date.
unsafe extern "C-unwind" fn assign(_value: *const c_char, _extra: *mut c_void) {
    generate::forget();
}
