//! What a backend asks of its server.

use pgrx::{PgSqlErrorCode as SqlState, pg_sys};

use crate::pg::errors::Error;

/// The system identifier of the PostgreSQL cluster.
pub(crate) fn system_identifier() -> u64 {
    // SAFETY: reads a number that never changes.
    unsafe { pg_sys::GetSystemIdentifier() }
}

/// Whether the server is in recovery. Once it is not, it never is again.
pub(crate) fn is_in_recovery() -> bool {
    // SAFETY: reads the server's state.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// This process's ID.
pub(crate) fn process_id() -> u32 {
    // SAFETY: set when the process started.
    unsafe { pg_sys::MyProcPid as u32 }
}

/// Cryptographically strong random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    // SAFETY: as many bytes are written as there are.
    if unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), N) } {
        Ok(bytes)
    } else {
        Err(Error::new(SqlState::ERRCODE_INTERNAL_ERROR, "could not generate random values"))
    }
}
