//! Random IDs of the four schemes, and base clocks.

use proptest::prelude::*;
use sno_core::{
    FixedLength as _, TickType,
    compat::{Gid, SnowflakeSi, Uid60, UniqueId, gid, snowflake_si::BaseClock},
};

/// Mostly near the ends and around a value that matters; else anything below a power of two.
pub(crate) fn bits(count: u32) -> impl Strategy<Value = u64> {
    let max = u64::MAX >> (64 - count);
    prop_oneof![4 => 0..=max, 1 => Just(0), 1 => Just(max), 1 => (0..count).prop_map(|bit| 1 << bit)]
}

pub(crate) fn uid60() -> impl Strategy<Value = Uid60> {
    bits(60).prop_map(|number| Uid60::new(number).unwrap())
}

pub(crate) fn uniqueid() -> impl Strategy<Value = UniqueId> {
    bits(64).prop_map(UniqueId::new)
}

pub(crate) fn snowflake_si() -> impl Strategy<Value = SnowflakeSi> {
    bits(53).prop_map(|number| SnowflakeSi::new(number).unwrap())
}

pub(crate) fn gid() -> impl Strategy<Value = Gid> {
    (prop::sample::select(&gid::Prefix::ALL[..]), bits(48), 0x80..=0xff_u8, bits(64)).prop_map(
        |(prefix, millis, seventh, random)| {
            let time = gid::Millis::new(millis).unwrap();
            let mut bytes = Gid::from_fields(prefix, time, random).to_bytes();
            bytes[7] = seventh;
            Gid::from_bytes(bytes).unwrap()
        },
    )
}

/// Base clocks of all times that PostgreSQL and RFC 3339 share.
pub(crate) fn base() -> impl Strategy<Value = BaseClock> {
    (BaseClock::AFTER_UNIX_MILLIS + 1..253_402_300_800_000)
        .prop_map(|unix_millis| BaseClock::new(unix_millis).unwrap())
}
