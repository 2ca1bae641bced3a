//! Bounds for range scans and partitions, over both timelines and all metabytes.

use sno_core::Sno;

use crate::v1::{Timestamp, v1};

v1! {
    /// `sno_lower(timestamptz) → sno`: the smallest ID that was not made before.
    fn sno_lower(time: Timestamp) -> Sno {
        Sno::lower_bound(time.unix_micros())
    }
}

v1! {
    /// `sno_upper(timestamptz) → sno`: the largest ID that was not made after.
    fn sno_upper(time: Timestamp) -> Sno {
        Sno::upper_bound(time.unix_micros())
    }
}
