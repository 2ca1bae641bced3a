//! The setting of all generators of a library.

use std::ffi::CStr;

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

/// In milliseconds.
static MAX_CLOCK_WAIT: GucSetting<i32> = GucSetting::<i32>::new(10_000);

/// The longest wait for a clock that went back, in microseconds.
pub fn max_clock_wait() -> u64 {
    MAX_CLOCK_WAIT.get() as u64 * 1000
}

/// Defines it, when the library is preloaded, by its name: two libraries can not define one setting.
pub fn define(name: &'static CStr) {
    GucRegistry::define_int_guc(
        name,
        c"Sets the longest wait of a call for a clock that is behind the last ID.",
        c"Zero makes it fail at once.",
        &MAX_CLOCK_WAIT,
        0,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
}
