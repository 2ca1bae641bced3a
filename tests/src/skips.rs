//! Tests that do not apply to this version of PostgreSQL or can't run on this machine, which the end of the run names.

use std::sync::{Mutex, Once};

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that the test that calls this does not apply to this version of PostgreSQL.
pub fn skip(why: &str) {
    static PRINT: Once = Once::new();
    // SAFETY: the function only prints.
    PRINT.call_once(|| unsafe {
        libc::atexit(print);
    });
    let thread = std::thread::current();
    SKIPPED.lock().unwrap().push(format!("{}: {why}", thread.name().unwrap_or("a test")));
}

/// Notes that this machine, or its user's rights, do not allow what the test that calls this needs. In continuous
/// integration the test fails.
#[track_caller]
pub fn skip_on_this_machine(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    skip(why);
}

extern "C" fn print() {
    let skipped = SKIPPED.lock().unwrap_or_else(|e| e.into_inner());
    println!("Skipped: {}", skipped.len());
    for test in skipped.iter() {
        println!("  {test}");
    }
}
