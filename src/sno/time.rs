//! Comparisons of an ID with a time: with what `sno_time` shows, but for the first and the last ID, which count as earlier and
//! later than any time.

use sno_core::Sno;

use crate::pg::{datum::Timestamp, fmgr::pg_function};

fn lower(time: Timestamp) -> Sno {
    Sno::lower_bound(time.unix_micros())
}

fn upper(time: Timestamp) -> Sno {
    Sno::upper_bound(time.unix_micros())
}

pg_function! {
    /// `sno_lower(timestamptz) → sno`: the smallest possible ID of the first tick at or after a time.
    fn sno_lower(time: Timestamp) -> Sno {
        lower(time)
    }

    /// `sno_upper(timestamptz) → sno`: the largest possible ID of the tick of a time.
    fn sno_upper(time: Timestamp) -> Sno {
        upper(time)
    }
}

/// Declares the function of an operator, and the function of its commutator.
macro_rules! comparison {
    ($name:ident, $commutator:ident: $operator:tt $bound:ident) => {
        pg_function! {
            fn $name(id: Sno, time: Timestamp) -> bool {
                id $operator $bound(time)
            }

            fn $commutator(time: Timestamp, id: Sno) -> bool {
                id $operator $bound(time)
            }
        }
    };
}

comparison!(sno_lt_time, time_gt_sno: < lower);
comparison!(sno_le_time, time_ge_sno: <= upper);
comparison!(sno_ge_time, time_le_sno: >= lower);
comparison!(sno_gt_time, time_lt_sno: > upper);
