//! Conversions to `Sno`, on the way into which nothing is lost.

use proptest::prelude::*;
use sno_core::{
    OutOfEpoch, Sno, TickType,
    compat::{SnowflakeSi, Uid60, UniqueId, uid60, uniqueid},
};

use crate::ids::{base, bits, snowflake_si, uid60};

/// The bits of an ID below its tick.
fn rest(id: Sno) -> u32 {
    u32::from(id.partition()) << 16 | u32::from(id.sequence())
}

proptest! {
    /// Different IDs become different `Sno`s: everything that makes up an ID can be read from its `Sno`.
    #[test]
    fn uid60_into_sno_loses_nothing(id in uid60(), other in uid60(), metabyte in any::<u8>()) {
        match id.to_sno(metabyte) {
            Ok(sno) => {
                prop_assert_eq!(sno.metabyte(), metabyte);
                prop_assert!(!sno.tick_tock());
                let time = uid60::EPOCH.floor::<uid60::Seconds>(sno.tick().unix_micros()).unwrap();
                prop_assert_eq!(Uid60::new(time.get() << 28 | u64::from(rest(sno))), Ok(id));
                if let Ok(second) = other.to_sno(metabyte) {
                    prop_assert_eq!(id.cmp(&other), sno.cmp(&second));
                }
            }
            // The epoch begins after sno's, and ends later.
            Err(error) => prop_assert!(error == OutOfEpoch::After && id.time().get() > 1_900_000_000),
        }
    }

    #[test]
    fn snowflake_si_into_sno_loses_nothing(
        id in snowflake_si(), other in snowflake_si(), base in base(), metabyte in any::<u8>()
    ) {
        let unix_millis = base.unix_millis() + id.time().get() as i64;
        let held = (1_262_304_000_000..=3_461_327_255_551).contains(&unix_millis);
        prop_assert_eq!(id.to_sno(base, metabyte).is_ok(), held);
        if let Ok(sno) = id.to_sno(base, metabyte) {
            prop_assert_eq!((sno.metabyte(), sno.tick_tock(), sno.partition()), (metabyte, false, 0));
            let millis = sno.tick().unix_micros() / 1000 + i64::from(rest(sno) >> 13) - base.unix_millis();
            let number = (millis as u64) << 13 | u64::from(rest(sno) & 0x1fff);
            prop_assert_eq!(SnowflakeSi::new(number), Ok(id));
            if let Ok(second) = other.to_sno(base, metabyte) {
                prop_assert_eq!(id.cmp(&other), sno.cmp(&second));
            }
        }
    }

    #[test]
    fn uniqueid_into_sno_loses_nothing(
        bits in bits(64), millis in 1_262_304_000_000..3_461_327_255_552_u64, metabyte in any::<u8>()
    ) {
        let any = UniqueId::new(bits);
        let time = uniqueid::Millis::new(millis).unwrap();
        let held = UniqueId::from_fields(uniqueid::Fields { time, ..any.fields() }).unwrap();
        prop_assert!(held.to_sno(metabyte).is_ok());
        for id in [any, held] {
            let Ok(sno) = id.to_sno(metabyte) else {
                let outside = id.time().get() < 1_262_304_000_000 || id.time().get() > 3_461_327_255_551;
                prop_assert!(outside);
                continue;
            };
            prop_assert_eq!((sno.metabyte(), sno.tick_tock()), (metabyte, false));
            let millis = sno.tick().unix_micros() as u64 / 1000 + u64::from(rest(sno) >> 22);
            let low = u64::from(rest(sno) & 0x3f_ffff);
            let spread = (millis.reverse_bits() >> 22) << 22 | low;
            let back = if low & 0x1000 == 0 { spread } else { millis << 22 | low };
            prop_assert_eq!(UniqueId::new(back), id);
        }
    }
}
