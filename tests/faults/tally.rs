//! What the suite did, all together; printed when the process ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use sno_tests::Ids;

struct Tally {
    began: Instant,
    ids: u64,
    proofs: u64,
    faults: BTreeMap<&'static str, u64>,
    notes: Vec<String>,
}

fn tally() -> &'static Mutex<Tally> {
    static TALLY: OnceLock<Mutex<Tally>> = OnceLock::new();
    TALLY.get_or_init(|| {
        // After the last test, whatever became of it.
        // SAFETY: the function only prints.
        unsafe { libc::atexit(print) };
        Mutex::new(Tally {
            began: Instant::now(),
            ids: 0,
            proofs: 0,
            faults: BTreeMap::new(),
            notes: Vec::new(),
        })
    })
}

/// Counts a fault.
pub(crate) fn fault(kind: &'static str) {
    *tally().lock().unwrap().faults.entry(kind).or_default() += 1;
}

/// Something measured that the summary is to show.
pub(crate) fn note(text: String) {
    tally().lock().unwrap().notes.push(text);
}

/// Proves that all of a server's IDs differ, and counts them.
#[track_caller]
pub(crate) fn prove(mut ids: Ids) {
    ids.assert_distinct();
    count(ids.len() as u64);
}

/// Counts IDs whose difference was proved otherwise.
pub(crate) fn count(ids: u64) {
    let mut tally = tally().lock().unwrap();
    tally.ids += ids;
    tally.proofs += 1;
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

extern "C" fn print() {
    let tally = tally().lock().unwrap_or_else(|e| e.into_inner());
    let took = tally.began.elapsed().as_secs();
    println!("Faults, in {}:{:02} minutes", took / 60, took % 60);
    println!(
        "  {:>13} IDs, distinct on each of {} servers or groups of servers",
        grouped(tally.ids),
        tally.proofs
    );
    for (kind, times) in &tally.faults {
        println!("  {:>13} {kind}", grouped(*times));
    }
    for note in &tally.notes {
        println!("  {note}");
    }
}
