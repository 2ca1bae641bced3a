//! Tests that do not apply to this version of PostgreSQL, which the end of the run names.

use std::sync::{Mutex, Once};

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that the test that calls this does not apply to this version of PostgreSQL. There are no other reasons to skip a
/// test.
pub fn skip(why: &str) {
    static PRINT: Once = Once::new();
    // SAFETY: the function only prints.
    PRINT.call_once(|| unsafe {
        libc::atexit(print);
    });
    let thread = std::thread::current();
    SKIPPED.lock().unwrap().push(format!("{}: {why}", thread.name().unwrap_or("a test")));
}

extern "C" fn print() {
    let skipped = SKIPPED.lock().unwrap_or_else(|e| e.into_inner());
    println!("Skipped on this version of PostgreSQL: {}", skipped.len());
    for test in skipped.iter() {
        println!("  {test}");
    }
}
