//! What a backend asks of its server.

use std::{
    ffi::{c_char, c_int},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use pgrx::{
    PgSqlErrorCode as SqlState,
    pg_sys::{self, Datum},
};

use crate::pg::errors::Error;

/// The name of the library that this code is part of: `sno`.
static LIBRARY: OnceLock<&str> = OnceLock::new();

/// Whether the library is in `shared_preload_libraries`.
static PRELOADED: AtomicBool = AtomicBool::new(false);

/// Whether the data directory was that of a standby when the library was preloaded.
static WAS_STANDBY: AtomicBool = AtomicBool::new(false);

/// Whether the library of this name, which is being loaded, is being preloaded: in the postmaster, before any other
/// process exists. If not, it never is, and neither its settings nor its shared memory exist on this server.
pub fn is_being_preloaded(library: &'static str) -> bool {
    LIBRARY.get_or_init(|| library);
    // SAFETY: reads a variable of this process.
    let is = unsafe { pg_sys::process_shared_preload_libraries_in_progress };
    PRELOADED.store(is, Relaxed);
    WAS_STANDBY.store(is && Path::new("standby.signal").exists(), Relaxed);
    is
}

/// The name of the library, which is also that of its extension and the prefix of its settings.
pub fn library() -> &'static str {
    LIBRARY.get().expect("a library that was loaded")
}

/// Whether the server started as a standby, whatever it is by now.
pub fn was_standby() -> bool {
    WAS_STANDBY.load(Relaxed)
}

/// Whether the server has preloaded the library.
pub fn is_preloaded() -> bool {
    PRELOADED.load(Relaxed)
}

/// Fails on a server that has not preloaded the library.
pub fn require_preload() -> Result<(), Error> {
    if is_preloaded() { Ok(()) } else { Err(not_preloaded()) }
}

/// The error of all that needs the library to be preloaded.
pub fn not_preloaded() -> Error {
    let library = library();
    Error::new(
        SqlState::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{library} must be loaded via \"shared_preload_libraries\""),
    )
    .detail(format!(
        "A server that does not preload {library} can store, compare and convert IDs, but not generate any."
    ))
    .hint(format!(
        "Add \"{library}\" to \"shared_preload_libraries\" in postgresql.conf, and restart the server."
    ))
}

/// The system identifier of the PostgreSQL cluster.
pub fn system_identifier() -> u64 {
    // SAFETY: reads a number that never changes.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// Whether the server is in recovery. Once it is not, it never is again.
pub fn is_in_recovery() -> bool {
    // SAFETY: reads the server's state.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Whether there is a database of this OID. In a transaction.
pub fn database_exists(database: u32) -> bool {
    let (cache, none) = (pg_sys::SysCacheIdentifier::DATABASEOID, Datum::null());
    // SAFETY: a look-up of a key, which has one column.
    unsafe { pg_sys::SearchSysCacheExists(cache as _, database.into(), none, none, none) }
}

/// The name of the machine or container when the server was started, if the library is preloaded: a list of hosts has one
/// value for all sessions, also if the machine is renamed meanwhile.
pub fn host_name() -> &'static [u8] {
    static NAME: OnceLock<Vec<u8>> = OnceLock::new();
    NAME.get_or_init(read_host_name)
}

fn read_host_name() -> Vec<u8> {
    let mut name = [0_u8; 256];
    unsafe extern "C" {
        // The function of POSIX, which `pg_sys` does not have.
        fn gethostname(name: *mut c_char, length: usize) -> c_int;
    }
    // SAFETY: no more bytes are written than these; the last one stays zero.
    unsafe { gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    name.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

/// This process's ID.
pub fn process_id() -> u32 {
    // SAFETY: set when the process started.
    unsafe { pg_sys::MyProcPid as u32 }
}

/// The time since the first call of this process, by a clock that is never set.
pub fn monotonic() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Cryptographically strong random bytes.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    // SAFETY: as many bytes are written as there are.
    if unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), N) } {
        Ok(bytes)
    } else {
        Err(Error::new(SqlState::ERRCODE_INTERNAL_ERROR, "could not generate random values"))
    }
}
