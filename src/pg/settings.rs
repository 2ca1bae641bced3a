//! Settings that fail closed.
//!
//! If a setting has an invalid value when it is defined, PostgreSQL raises a WARNING and uses the default. Here the
//! default may be the number of another server, so this must not happen:
//!
//! * An invalid value in a command is an error of that command. An invalid value from elsewhere, such as a
//!   configuration file, is accepted, and makes every generation fail until it is corrected.
//! * Before the library is loaded, a setting is a *placeholder*, which anybody may set: with `SET` or `PGOPTIONS`, for
//!   a role or a database. While such a value is in force, the setting is not defined and generation fails; each call
//!   checks again. So PostgreSQL's own rules decide which value is in force after a `RESET` or a `ROLLBACK`, and
//!   parallel workers get the placeholder of their leader. A value that came with the connection stays for the session:
//!   it has replaced the server's value, which the session then can't know.
//! * Once a setting is defined, PostgreSQL refuses all values but the server's.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    marker::PhantomData,
    panic::AssertUnwindSafe,
    str::FromStr,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed},
};

use pgrx::{
    GucContext, GucFlags, GucRegistry, GucSetting, PgSqlErrorCode as SqlState, PgTryBuilder,
    pg_sys::{self, GucSource},
};

use crate::pg::{
    errors::{Error, sentence},
    versions::{SettingRecord, setting},
};

/// The library may be loaded during a parallel operation, by its leader or a worker. Without this flag PostgreSQL would
/// then drop the values of placeholders.
pub(crate) const IN_PARALLEL: GucFlags = GucFlags::from_bits_retain(pg_sys::GUC_ALLOW_IN_PARALLEL as i32);

/// The last of the sources that only the server has: the default, its files, its command line.
const LAST_SERVER_SOURCE: GucSource::Type = GucSource::PGC_S_ARGV;

/// The prefix of an extension's settings. Once all of them are defined it is reserved: there are no more placeholders.
pub(crate) struct Prefix {
    name: &'static CStr,
    undefined: AtomicUsize,
}

impl Prefix {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, undefined: AtomicUsize::new(0) }
    }

    /// Defines all settings with this prefix, when the library is loaded. Those that can't be defined yet are defined
    /// when they are needed: in a parallel worker all, since the values of its leader come later.
    pub(crate) fn load(&self, settings: &[&'static dyn Define]) {
        self.undefined.store(settings.len(), Relaxed);
        // SAFETY: reads a static of PostgreSQL's.
        if !unsafe { pg_sys::InitializingParallelWorker } {
            for setting in settings {
                let _ = setting.define();
            }
        }
    }
}

/// A setting that only the server may set, with a text that stands for a `T`.
pub(crate) struct Setting<T> {
    prefix: &'static Prefix,
    name: &'static CStr,
    text: GucSetting<Option<CString>>,
    short: &'static CStr,
    long: &'static CStr,
    /// What is generated with it: `sno`.
    id_name: &'static str,
    defined: AtomicBool,
    value: PhantomData<fn() -> T>,
}

impl<T: FromStr<Err: ToString>> Setting<T> {
    /// A setting with its name, its default and its description.
    pub(crate) const fn new(
        prefix: &'static Prefix,
        name: &'static CStr,
        default: &'static CStr,
        short: &'static CStr,
        long: &'static CStr,
        id_name: &'static str,
    ) -> Self {
        let (text, defined) = (GucSetting::<Option<CString>>::new(Some(default)), AtomicBool::new(false));
        Self { prefix, name, text, short, long, id_name, defined, value: PhantomData }
    }

    /// The value, or the error that generation fails with.
    pub(crate) fn get(&'static self) -> Result<T, Error> {
        self.define()?;
        let text = self.text.get().unwrap_or_default();
        text.to_string_lossy().parse().map_err(|error: T::Err| {
            Error::setting(&self.name.to_string_lossy(), text.to_bytes(), error, self.id_name)
        })
    }
}

/// A setting of any type.
pub(crate) trait Define: Sync {
    /// Defines it, once in each process, unless a value that is not the server's is in force.
    fn define(&'static self) -> Result<(), Error>;
}

impl<T: FromStr<Err: ToString>> Define for Setting<T> {
    fn define(&'static self) -> Result<(), Error> {
        if self.defined.load(Relaxed) {
            return Ok(());
        }
        let name = self.name.to_string_lossy();
        // SAFETY: ours and its placeholder are texts, and the record is read at once.
        if let Some(value) = unsafe { setting(self.name).and_then(|record| session_value(record)) } {
            return Err(Error::setting_not_honoured(&name, value.to_bytes()));
        }
        // SAFETY: as above.
        let source = || unsafe { setting(self.name) }.map(|record| record.reset_source);
        let before = source();
        DEFINING.store(true, Relaxed);
        // SAFETY: the hooks catch their panics.
        PgTryBuilder::new(AssertUnwindSafe(|| unsafe {
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
            )
        }))
        .finally(|| DEFINING.store(false, Relaxed))
        .execute();
        if before.is_some() && source() != before {
            // PostgreSQL has dropped the server's value.
            return Err(Error::new(
                SqlState::ERRCODE_OUT_OF_MEMORY,
                format!("out of memory for parameter \"{name}\""),
            ));
        }
        self.defined.store(true, Relaxed);
        if self.prefix.undefined.fetch_sub(1, Relaxed) == 1 {
            // SAFETY: a plain call, which copies the text.
            unsafe { pg_sys::MarkGUCPrefixReserved(self.prefix.name.as_ptr()) };
        }
        Ok(())
    }
}

/// The value in force, if the server has not set it.
///
/// # Safety
/// The record of a setting, whose texts are still there.
unsafe fn session_value(record: SettingRecord) -> Option<CString> {
    // SAFETY: texts, or null.
    let text = |text: *const c_char| (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_owned());
    let (value, reset) = (text(record.value), text(record.reset_value));
    if record.reset_source > LAST_SERVER_SOURCE {
        return Some(reset.unwrap_or_default());
    }
    // A session may set the same value as the server's.
    value.filter(|value| record.source > LAST_SERVER_SOURCE && reset.as_ref() != Some(value))
}

/// Whether a setting is being defined. Without preloading, this happens during a command.
static DEFINING: AtomicBool = AtomicBool::new(false);

/// Refuses an invalid value in a command, such as `ALTER SYSTEM`, where the user sees the error. At a start or a
/// reload, a refusal would leave another value in force.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check<T: FromStr<Err: ToString>>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: GucSource::Type,
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

/// How often a setting has got a value in this process.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A number that changes when a setting gets a value.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

unsafe extern "C-unwind" fn changed(_value: *const c_char, _extra: *mut c_void) {
    GENERATION.fetch_add(1, Relaxed);
}
