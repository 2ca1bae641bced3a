//! Any bytes as texts, numbers and bytes of the other schemes' IDs: a valid one is written as it was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sno_core::{
    FixedLength as _,
    compat::{
        Gid, SnowflakeSi, Uid60, UniqueId,
        snowflake_si::{BaseClock, Machine},
        uid60::Workers,
    },
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(id) = Uid60::parse_bytes(bytes) {
        assert_eq!(id.to_text(), bytes);
        assert_eq!(Uid60::from_fields(id.fields()), Some(id));
    }
    if let Ok(id) = UniqueId::parse_bytes(bytes) {
        assert_eq!(id.to_text()[..], bytes.to_ascii_lowercase());
        assert_eq!(UniqueId::from_fields(id.fields()), Some(id));
    }
    if let Ok(id) = Gid::parse_bytes(bytes) {
        assert_eq!(id.to_text(), bytes);
        assert_eq!(Gid::from_bytes(id.to_bytes()), Ok(id));
    }
    if let Ok(whole) = <[u8; 16]>::try_from(bytes)
        && let Ok(id) = Gid::from_bytes(whole)
    {
        assert_eq!(Gid::parse_bytes(&id.to_text()), Ok(id));
    }
    if let Some((number, rest)) = bytes.split_first_chunk::<8>() {
        let number = u64::from_be_bytes(*number);
        if let Ok(id) = Uid60::new(number) {
            assert_eq!(Uid60::parse_bytes(&id.to_text()), Ok(id));
        }
        let id = UniqueId::new(number);
        assert_eq!(UniqueId::parse_bytes(&id.to_text()), Ok(id));
        let bits = rest.first().map_or(5, |byte| byte % (Machine::MAX_BITS + 1));
        if let Ok(id) = SnowflakeSi::new(number) {
            assert_eq!(SnowflakeSi::from_fields(id.fields(bits), bits), Some(id));
        }
    }
    if let Ok(text) = str::from_utf8(bytes) {
        if let Ok(machine) = text.parse::<Machine>() {
            assert_eq!(Machine::new(machine.number(), machine.bits()), Ok(machine));
            assert!(machine.pool().upper() < 1 << 13);
        }
        if let Ok(workers) = text.parse::<Workers>() {
            assert_eq!(Workers::new(*workers.numbers().start(), *workers.numbers().end()), Ok(workers));
        }
        if let Ok(base) = text.parse::<BaseClock>() {
            assert_eq!(BaseClock::new(base.unix_millis()), Ok(base));
        }
    }
});
