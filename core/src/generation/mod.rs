//! Generating IDs: partitions, clocks, and the slot from which many callers take IDs at once.

#[cfg(target_has_atomic = "64")]
pub(crate) mod atomic;
#[cfg(feature = "std")]
pub(crate) mod by_host;
pub(crate) mod clock;
#[cfg(target_has_atomic = "64")]
pub(crate) mod generator;
#[cfg(target_has_atomic = "64")]
pub(crate) mod marks;
pub(crate) mod partition;
#[cfg(simulated)]
pub mod simulated;
#[cfg(target_has_atomic = "64")]
pub(crate) mod slot;
