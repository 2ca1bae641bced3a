//! What the suite did, all together; printed when the process ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, Once};

use sno_tests::Ids;

static COUNTS: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());

/// Counts a fault.
pub(crate) fn fault(kind: &'static str) {
    count(kind, 1);
}

/// Proves that all of a server's IDs differ, and counts them.
#[track_caller]
pub(crate) fn prove(mut ids: Ids) {
    ids.assert_distinct();
    count("IDs, distinct on each server", ids.len() as u64);
    count("servers", 1);
}

/// Counts so many of a kind.
pub(crate) fn count(kind: &'static str, times: u64) {
    static PRINT: Once = Once::new();
    // SAFETY: the function only prints.
    PRINT.call_once(|| unsafe {
        libc::atexit(print);
    });
    *COUNTS.lock().unwrap().entry(kind).or_default() += times;
}

extern "C" fn print() {
    for (kind, times) in COUNTS.lock().unwrap_or_else(|e| e.into_inner()).iter() {
        println!("{times:>13} {kind}");
    }
}
