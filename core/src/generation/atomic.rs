//! The atomics that processes share. Loom's and the simulator's let others run at each access.

#[cfg(not(any(loom, simulated)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};

#[cfg(simulated)]
pub(crate) use crate::generation::simulated::{AtomicBool, AtomicU32, AtomicU64, fence};
