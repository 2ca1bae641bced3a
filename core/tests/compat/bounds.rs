//! The bounds of times.

use proptest::prelude::*;
use sno_core::{
    TickType,
    compat::{
        Epoch, Gid, SnowflakeSi, Uid60, UniqueId, uid60,
        uniqueid::{self, Form},
    },
};

use crate::ids::{base, bits, gid, snowflake_si, uid60};

/// Unix times in microseconds, far beyond any epoch.
fn times() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0..4_000_000_000_000_000_i64,
        1 => any::<i64>(),
        1 => Just(i64::MIN),
        1 => Just(i64::MAX)
    ]
}

proptest! {
    /// An ID is within the bounds of a time exactly if its time is.
    #[test]
    fn bounds_are_exact(id in uid60(), base in base(), si in snowflake_si(), at in times(), gid in gid()) {
        check_bounds(uid60::EPOCH, id.time(), at, id >= Uid60::lower_bound(at), id <= Uid60::upper_bound(at))?;
        let (lower, upper) = (SnowflakeSi::lower_bound(base, at), SnowflakeSi::upper_bound(base, at));
        check_bounds(base.epoch(), si.time(), at, si >= lower, si <= upper)?;
        let (lower, upper) = (Gid::lower_bound(gid.prefix(), at), Gid::upper_bound(gid.prefix(), at));
        check_bounds(Epoch::UNIX, gid.time(), at, gid >= lower, gid <= upper)?;
        prop_assert_eq!((lower.prefix(), upper.prefix()), (gid.prefix(), gid.prefix()));
    }

    #[test]
    fn bounds_of_time_sequential_uniqueids_are_exact(bits in bits(64), at in times()) {
        let any = UniqueId::new(bits);
        let id = UniqueId::from_fields(uniqueid::Fields { form: Form::TimeSequential, ..any.fields() }).unwrap();
        let (lower, upper) = (UniqueId::lower_bound(at), UniqueId::upper_bound(at));
        check_bounds(Epoch::UNIX, id.time(), at, id >= lower, id <= upper)?;
    }
}

/// Before the epoch everything is not before a time, and after it everything is not after it, except the
/// IDs that the saturated bounds are.
fn check_bounds<T: TickType>(
    epoch: Epoch,
    time: T,
    at: i64,
    not_before: bool,
    not_after: bool,
) -> Result<(), TestCaseError> {
    let start = epoch.unix_micros(time);
    if (epoch.unix_micros(T::MIN)..=epoch.unix_micros(T::MAX)).contains(&at) {
        prop_assert_eq!((not_before, not_after), (start >= at, start <= at));
    } else if at < epoch.unix_micros(T::MIN) {
        prop_assert!(not_before);
        prop_assert!(!not_after || time == T::MIN);
    } else {
        prop_assert!(not_after);
        prop_assert!(!not_before || time == T::MAX);
    }
    Ok(())
}
