//! Waits that a user can cancel and that `pg_stat_activity` shows.

use std::ffi::CStr;

use pgrx::{check_for_interrupts, pg_sys};

use crate::pg::{raw, versions::wait_event};

/// Shorter waits sleep to the microsecond, since a tick has only four milliseconds. Longer ones wait on the latch, to
/// the millisecond; a cancel request sets it.
const USE_LATCH_FROM_US: u64 = 10_000;

/// The longest wait, so that a clock that was set right is noticed soon.
const MAX_NAP_US: u64 = 1_000_000;

/// Waits for this many microseconds, but at most one second. A cancelled query ends here with an error. From PostgreSQL
/// 17 on `pg_stat_activity` shows the event, before that `Extension`.
pub(crate) fn nap(event: &'static CStr, micros: u64) {
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

/// As [`nap`], in milliseconds and without its limit, for callers that call PostgreSQL by [`raw`], without a guard against its
/// errors. A cancelled query ends here with an error.
///
/// # Safety
/// As for the functions of [`raw`].
#[allow(ffi_unwind_calls, reason = "by the rule of `pg::raw`")]
pub(crate) unsafe fn raw_nap(event: u32, millis: u64) {
    let wake = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: the backend's own latch; no frame has anything to drop.
    unsafe {
        raw::WaitLatch(pg_sys::MyLatch, wake as _, millis as _, event);
        raw::ResetLatch(pg_sys::MyLatch);
        raw::check_for_interrupts();
    }
}
