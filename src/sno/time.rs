//! Comparisons of an ID with a time: by what `sno_time` shows. Only the first ID counts as equal to all times before it,
//! and the last ID to all times after it.

use pgrx::pg_sys::{Datum, FunctionCallInfo};
use sno_core::Sno;

use crate::pg::{
    datum::{Returned as _, Timestamp},
    fmgr::{Args, export, functions},
    versions::{timestamptz_of_date, timestamptz_of_timestamp},
};

export! {
    sno_lower, sno_upper, sno_lt_time, sno_le_time, sno_ge_time, sno_gt_time, time_lt_sno, time_le_sno,
    time_ge_sno, time_gt_sno,
}

/// `sno_lower(timestamptz) → sno`: the smallest possible ID of the first tick at or after a time.
fn sno_lower(time: Timestamp) -> Sno {
    Sno::lower_bound(time.unix_micros())
}

/// `sno_upper(timestamptz) → sno`: the largest possible ID of the tick of a time.
fn sno_upper(time: Timestamp) -> Sno {
    Sno::upper_bound(time.unix_micros())
}

fn sno_lt_time(id: Sno, time: Timestamp) -> bool {
    id < sno_lower(time)
}

fn sno_le_time(id: Sno, time: Timestamp) -> bool {
    id <= sno_upper(time)
}

fn sno_ge_time(id: Sno, time: Timestamp) -> bool {
    id >= sno_lower(time)
}

fn sno_gt_time(id: Sno, time: Timestamp) -> bool {
    id > sno_upper(time)
}

fn time_lt_sno(time: Timestamp, id: Sno) -> bool {
    sno_gt_time(id, time)
}

fn time_le_sno(time: Timestamp, id: Sno) -> bool {
    sno_ge_time(id, time)
}

fn time_ge_sno(time: Timestamp, id: Sno) -> bool {
    sno_le_time(id, time)
}

fn time_gt_sno(time: Timestamp, id: Sno) -> bool {
    sno_lt_time(id, time)
}

functions! {
    /// `sno_first(timestamptz, boolean) → sno`
    sno_first: |call| bound(call, |time| time, Sno::first);
    /// `sno_first(timestamp, boolean) → sno`
    sno_first_timestamp: |call| bound(call, timestamptz_of_timestamp, Sno::first);
    /// `sno_first(date, boolean) → sno`
    sno_first_date: |call| bound(call, |date| timestamptz_of_date(date as i32), Sno::first);
    /// `sno_last(timestamptz, boolean) → sno`
    sno_last: |call| bound(call, |time| time, Sno::last);
    /// `sno_last(timestamp, boolean) → sno`
    sno_last_timestamp: |call| bound(call, timestamptz_of_timestamp, Sno::last);
    /// `sno_last(date, boolean) → sno`
    sno_last_date: |call| bound(call, |date| timestamptz_of_date(date as i32), Sno::last);
}

/// The first or the last ID that satisfies a comparison of its time with a time; null if there is none.
unsafe fn bound(
    fcinfo: FunctionCallInfo,
    timestamptz: fn(i64) -> i64,
    of: fn(i64, bool) -> Option<Sno>,
) -> Datum {
    // SAFETY: declared in SQL with a time by value and a boolean. This is the outermost frame.
    unsafe {
        let mut args = Args::new(fcinfo);
        let id = of(Timestamp(timestamptz(args.next())).unix_micros(), args.next());
        (*fcinfo).isnull = id.is_none();
        id.map_or(Datum::null(), |id| id.into_datum())
    }
}
