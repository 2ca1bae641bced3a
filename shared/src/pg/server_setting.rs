//! Settings that only the server may set, and that fail closed.
//!
//! If a setting has an invalid value when it is defined, PostgreSQL raises a WARNING and uses the default; a misspelt
//! one it ignores, and a line that was misspelt by a change counts as removed. Here the default may be the number of
//! another server, so none of this must happen. The library is preloaded, so settings are defined before the first
//! session:
//!
//! * `ALTER SYSTEM` would write what is of one server alone to its data directory, and so to its copies: an error of
//!   the command.
//! * An invalid value in a command is an error of that command. An invalid value in a configuration file is accepted,
//!   and makes every generation fail until it is corrected. PostgreSQL refuses values of sessions, roles and databases.
//! * What is of one server alone can be a list with a value for each host. A host that it does not name has none.
//! * A name that nobody has defined makes every generation fail, too. So prefixes are not reserved: PostgreSQL would
//!   drop such names, and nobody would know of them.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    marker::PhantomData,
    str::FromStr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use pgrx::{
    GucContext, GucFlags, GucRegistry, GucSetting, PgSqlErrorCode as SqlState,
    pg_sys::{self, CommandTag, GucSource},
};

use sno_core::{OfOneServer, value_for_host};

use crate::pg::{
    errors::{Error, sentence},
    server::{host_name, library, require_preload},
    versions::undefined_settings,
};

/// A setting that only the server may set, with a text that stands for a `T`.
pub struct Setting<T> {
    name: &'static CStr,
    text: GucSetting<Option<CString>>,
    short: &'static CStr,
    long: &'static CStr,
    is_of_one_server: bool,
    value: PhantomData<fn() -> T>,
}

impl<T: FromStr<Err: ToString>> Setting<T> {
    /// A setting with its name, its default and its description.
    pub const fn new(
        name: &'static CStr,
        default: &'static CStr,
        short: &'static CStr,
        long: &'static CStr,
    ) -> Self {
        Self {
            name,
            text: GucSetting::<Option<CString>>::new(Some(default)),
            short,
            long,
            is_of_one_server: false,
            value: PhantomData,
        }
    }

    /// The setting of one server, which `ALTER SYSTEM` does not take, since a copy of the server would have it, too.
    pub const fn of_one_server(mut self) -> Self {
        self.is_of_one_server = true;
        self
    }

    /// The value, or the error that generation fails with.
    pub fn get(&self) -> Result<T, Error> {
        require_preload()?;
        let text = self.text.get().unwrap_or_default();
        let invalid = |error: T::Err| Error::setting(&self.name.to_string_lossy(), text.to_bytes(), error);
        text.to_string_lossy().parse().map_err(invalid)
    }
}

/// A value of one server alone, which can be that of this host in a list.
pub struct OfThisHost<T>(pub T);

impl<T: OfOneServer> FromStr for OfThisHost<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        value_for_host(text, &String::from_utf8_lossy(host_name())).map(Self)
    }
}

/// A setting of any type.
pub trait Define: Sync {
    /// Defines it, when the library is preloaded.
    fn define(&'static self);
}

impl<T: FromStr<Err: ToString>> Define for Setting<T> {
    fn define(&'static self) {
        // All sessions of the server have it from here.
        host_name();
        // SAFETY: the hooks raise no error, and can't panic.
        unsafe {
            GucRegistry::define_string_guc_with_hooks(
                self.name,
                self.short,
                self.long,
                &self.text,
                GucContext::Sighup,
                GucFlags::default(),
                Some(if self.is_of_one_server { check::<T, true> } else { check::<T, false> }),
                Some(changed),
                None,
            );
        }
    }
}

/// Fails if a setting has a value that nobody has defined, and whose name begins as this one's does, with `sno.`
pub fn refuse_undefined(setting: &str) -> Result<(), Error> {
    let prefix = setting.split_inclusive('.').next().unwrap_or_default().as_bytes();
    let is_like_it = |name: &&CStr| {
        name.to_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    match undefined_settings().find(is_like_it) {
        None => Ok(()),
        Some(name) => Err(Error::new(
            SqlState::ERRCODE_UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{}\"", name.to_string_lossy()),
        )
        .detail(format!("It may be a misspelt setting of {}, so no ID is generated.", library()))
        .hint("Correct it in postgresql.conf, or RESET it where a session, role or database sets it.")),
    }
}

/// Refuses an invalid value in a command, such as `ALTER SYSTEM`, where the user sees the error. At a start or a
/// reload, a refusal would leave another value in force.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check<T: FromStr<Err: ToString>, const OF_ONE_SERVER: bool>(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes a text; the copies of the messages go with the memory context of the command.
    unsafe {
        if pg_sys::ActivePortal.is_null() {
            return true;
        }
        let copy = |text: &CStr| pg_sys::pstrdup(text.as_ptr());
        if let Err(error) = CStr::from_ptr(*value).to_string_lossy().parse::<T>() {
            let detail = CString::new(sentence(error)).unwrap_or_default();
            pg_sys::GUC_check_errdetail_string = copy(&detail);
            return false;
        }
        // Not where the view pg_file_settings asks about the value of a file, which counts.
        if OF_ONE_SERVER && (*pg_sys::ActivePortal).commandTag == CommandTag::CMDTAG_ALTER_SYSTEM {
            pg_sys::GUC_check_errcode(SqlState::ERRCODE_CANT_CHANGE_RUNTIME_PARAM as c_int);
            pg_sys::GUC_check_errmsg_string = copy(c"this parameter cannot be set by ALTER SYSTEM");
            pg_sys::GUC_check_errdetail_string =
                copy(c"It would be written to the data directory, and so to all copies of the server.");
            pg_sys::GUC_check_errhint_string =
                copy(c"Set it in a configuration file outside the data directory, and reload.");
            return false;
        }
        true
    }
}

/// How often a setting has got a value in this process.
static ASSIGNED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C-unwind" fn changed(_value: *const c_char, _extra: *mut c_void) {
    ASSIGNED.fetch_add(1, Relaxed);
}

/// When this process last read the configuration files.
#[inline(always)]
pub fn last_read() -> i64 {
    // SAFETY: reads a variable of this process.
    unsafe { pg_sys::PgReloadTime }
}

/// What differs if the settings may differ.
#[derive(Clone, Copy, PartialEq)]
pub struct State {
    /// [`last_read`], which differs if the names in the files do.
    pub read: i64,
    /// Files that are read again within one microsecond have the same [`last_read`], so assignments are counted, too.
    assigned: u32,
}

impl State {
    /// The present one.
    pub fn now() -> Self {
        Self { read: last_read(), assigned: ASSIGNED.load(Relaxed) }
    }
}
