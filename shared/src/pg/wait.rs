//! Waits that a user can cancel and that `pg_stat_activity` shows.

use std::ffi::{CStr, c_int};

use pgrx::{check_for_interrupts, pg_sys};

use crate::pg::{datum::Timestamp, raw, versions::wait_event};

/// Shorter waits sleep to the microsecond, since a tick has only four milliseconds. Longer ones wait on the latch, to
/// the millisecond; a cancel request sets it.
const USE_LATCH_FROM_US: u64 = 10_000;

/// The longest wait, so that a clock that was set right is noticed soon.
const MAX_NAP_US: u64 = 1_000_000;

/// Waits for this many microseconds, but at most one second. A cancelled query ends here with an error. From PostgreSQL
/// 17 on `pg_stat_activity` shows the event, before that `Extension`.
pub fn nap(event: &'static CStr, micros: u64) {
    let info = wait_event(event);
    // SAFETY: the backend's own latch and its own wait event, which is reset after the wait. A signal ends the sleep.
    unsafe {
        if micros < USE_LATCH_FROM_US {
            *pg_sys::my_wait_event_info = info;
            pg_sys::pg_usleep(micros as _);
            *pg_sys::my_wait_event_info = 0;
        } else {
            let wake = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
            let millis = micros.min(MAX_NAP_US).div_ceil(1000);
            pg_sys::WaitLatch(pg_sys::MyLatch, wake as _, millis as _, info);
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
    }
    check_for_interrupts!();
}

/// As [`nap`], in milliseconds and without its limit, for callers that call PostgreSQL by [`raw`], without a guard
/// against its errors. A cancelled query ends here with an error.
///
/// # Safety
/// As for the functions of [`raw`].
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub unsafe fn raw_nap(event: u32, millis: u64) {
    let wake = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: the backend's own latch; no frame has anything to drop.
    unsafe {
        raw::WaitLatch(pg_sys::MyLatch, wake as _, millis as _, event);
        raw::ResetLatch(pg_sys::MyLatch);
        raw::check_for_interrupts();
    }
}

/// A time at which PostgreSQL cancels the statement, as by `statement_timeout`.
#[derive(Clone, Copy)]
pub struct Limit {
    /// Whether `statement_timeout` does not do so before.
    is_set: bool,
    /// When it does.
    others: Option<i64>,
}

impl Limit {
    /// `STATEMENT_TIMEOUT` in PostgreSQL's `utils/timeout.h`.
    const ID: c_int = 3;

    /// After so many microseconds, until [`end`](Self::end) or the end of the statement.
    ///
    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub unsafe fn after(micros: i64) -> Self {
        // SAFETY: a timeout of each backend.
        unsafe {
            let at = Timestamp::now().0.saturating_add(micros);
            let others = raw::get_timeout_active(Self::ID).then(|| raw::get_timeout_finish_time(Self::ID));
            let is_set = others.is_none_or(|others| at < others);
            if is_set {
                raw::enable_timeout_at(Self::ID, at);
            }
            Self { is_set, others }
        }
    }

    /// # Safety
    /// As for the functions of [`raw`].
    #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
    pub unsafe fn end(self) {
        // SAFETY: as above.
        unsafe {
            if self.is_set {
                raw::disable_timeout(Self::ID, false);
                if let Some(others) = self.others {
                    raw::enable_timeout_at(Self::ID, others);
                }
            }
        }
    }
}

/// A place where a test stops a process: it waits here while another session of the database has one of two advisory
/// locks: `hashtextextended(name, 0)`, or, for the n-th such place of a statement, `hashtextextended('point', pid *
/// 2^20 + n)`. It is in libraries with the feature `points` alone, which only tests have.
///
/// # Safety
/// As for the functions of [`raw`]: a process that is cancelled meanwhile ends here with an error.
#[inline(always)]
#[allow(unused_variables, reason = "without the feature")]
pub unsafe fn raw_point(name: &CStr) {
    #[cfg(feature = "points")]
    // SAFETY: as promised by the caller.
    unsafe {
        points::stop(name, |tag| {
            #[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
            raw::LockAcquire(tag, pg_sys::ShareLock as i32, true, false);
        });
    }
}

/// The same, where PostgreSQL's errors are guarded against.
#[inline(always)]
#[allow(unused_variables, reason = "without the feature")]
pub fn point(name: &CStr) {
    #[cfg(feature = "points")]
    points::stop(name, |tag| {
        // SAFETY: a lock of the session, which is released at once.
        unsafe { pg_sys::LockAcquire(tag, pg_sys::ShareLock as i32, true, false) };
    });
}

/// Makes each statement of a function in PL/pgSQL such a place, when the library is preloaded.
pub fn define_points() {
    #[cfg(feature = "points")]
    points::follow_plpgsql();
}

#[cfg(feature = "points")]
mod points {
    use std::{
        cell::Cell,
        ffi::{CStr, c_void},
    };

    use pgrx::pg_sys::{self, LOCKTAG};

    use crate::pg::{backend_local::BackendLocal, raw};

    /// The start of the present statement, and how many places it has come to.
    // SAFETY: for functions, which SQL calls.
    static COUNT: BackendLocal<Cell<(i64, u64)>> = unsafe { BackendLocal::new(Cell::new((0, 0))) };

    /// What PL/pgSQL calls, and after that what it offers: the fourth is called before each statement.
    // SAFETY: as above.
    static PLUGIN: BackendLocal<[Cell<usize>; 32]> =
        unsafe { BackendLocal::new([const { Cell::new(0) }; 32]) };

    pub(super) fn follow_plpgsql() {
        PLUGIN[3].set(statement as unsafe extern "C-unwind" fn(*mut c_void, *mut c_void) as usize);
        // SAFETY: PL/pgSQL looks for its plugin in the variable of this name.
        unsafe {
            pg_sys::find_rendezvous_variable(c"PLpgSQL_plugin".as_ptr())
                .write(PLUGIN.as_ptr().cast_mut().cast())
        };
    }

    unsafe extern "C-unwind" fn statement(_: *mut c_void, _: *mut c_void) {
        // SAFETY: PL/pgSQL's call, with nothing to drop.
        unsafe { super::raw_point(c"statement in PL/pgSQL") };
    }

    /// Acquires each of the locks by `acquire`, and releases it.
    #[allow(ffi_unwind_calls, reason = "a hash, which raises no error")]
    pub(super) fn stop(name: &CStr, acquire: impl Fn(&LOCKTAG)) {
        // SAFETY: variables of this backend; a lock of the session, as `pg_advisory_lock_shared` takes it.
        unsafe {
            let (statement, count) = COUNT.get();
            let present = pg_sys::GetCurrentStatementStartTimestamp();
            let count = if statement == present { count + 1 } else { 1 };
            COUNT.set((present, count));
            let nth = (pg_sys::MyProcPid as u64) << 20 | count;
            for (name, seed) in [(name, 0), (c"point", nth)] {
                let bytes = name.to_bytes();
                let key = raw::hash_bytes_extended(bytes.as_ptr(), bytes.len() as i32, seed);
                let tag = LOCKTAG {
                    locktag_field1: pg_sys::MyDatabaseId.to_u32(),
                    locktag_field2: (key >> 32) as u32,
                    locktag_field3: key as u32,
                    locktag_field4: 1,
                    locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
                    locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
                };
                acquire(&tag);
                pg_sys::LockRelease(&tag, pg_sys::ShareLock as i32, true);
            }
        }
    }
}
