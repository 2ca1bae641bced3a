//! Sessions of a server, with the file of the marks on a disk in memory: what a start makes of it, what its writers
//! leave to each other, and when who waits for rows looks for them. Under loom also processes that start at the same
//! time, and one that waits beside one that writes, in the orders that loom tries (`dev/test-loom`).
#![cfg(feature = "marks")]

#[cfg(not(loom))]
mod lowering;
#[cfg(not(loom))]
mod marks;
mod server;
#[cfg(loom)]
mod threads;
#[cfg(not(loom))]
mod waits;

use sno_core::{Step, Tick, Watch, server::Session};

use server::Process;

/// A step of a wait without a margin: below which tick it looks.
fn step(
    session: &Session<'_, Tick, 1, Process<'_>>,
    watch: &mut Watch,
    held: impl FnOnce() -> Option<Tick>,
) -> Option<Tick> {
    match session.step(watch, held, || (None, false)).unwrap() {
        Step::Look(_, below) => Some(below),
        Step::Sleep(_) => None,
    }
}

/// A wait without a margin.
const WATCH: Watch = Watch::new(0);
