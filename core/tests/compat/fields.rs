//! The fields of IDs, and which do not fit.

use proptest::prelude::*;
use sno_core::{
    TickType,
    compat::{
        SnowflakeSi, Uid60, UniqueId,
        snowflake_si::{self, Machine},
        uid60,
        uniqueid::{self, Cluster, Form, GeneratorBits},
    },
};

use crate::ids::snowflake_si;

proptest! {
    #[test]
    fn snowflake_si_fields_come_back(id in snowflake_si(), machine_bits in 0..=Machine::MAX_BITS) {
        prop_assert_eq!(SnowflakeSi::from_fields(id.fields(machine_bits), machine_bits), Some(id));
    }
}

#[test]
fn fields_that_do_not_fit() {
    let fields = snowflake_si::Fields { time: TickType::MIN, machine: 0, index: 0 };
    assert_eq!(SnowflakeSi::from_fields(snowflake_si::Fields { machine: 32, ..fields }, 5), None);
    assert!(SnowflakeSi::from_fields(fields, 12).is_some() && SnowflakeSi::from_fields(fields, 13).is_none());
    assert_eq!([15, 16].map(|number| Cluster::new(number).is_ok()), [true, false]);
    assert_eq!([5, 6, 11, 12].map(|bits| GeneratorBits::new(bits).is_ok()), [false, true, true, false]);
    assert_eq!(SnowflakeSi::from_fields(snowflake_si::Fields { index: 256, ..fields }, 5), None);
    assert!(
        SnowflakeSi::from_fields(snowflake_si::Fields { machine: 4095, index: 1, ..fields }, 12).is_some()
    );
    let fields = uid60::Fields { time: TickType::MIN, worker: 511, sequence: 1023, random: 511 };
    assert!(Uid60::from_fields(fields).is_some());
    assert_eq!(Uid60::from_fields(uid60::Fields { worker: 512, ..fields }), None);
    assert_eq!(Uid60::from_fields(uid60::Fields { sequence: 1024, ..fields }), None);
    assert_eq!(Uid60::from_fields(uid60::Fields { random: 512, ..fields }), None);
    let fields = uniqueid::Fields {
        time: TickType::MIN,
        sequence: 63,
        generator: 2047,
        cluster: 15,
        form: Form::TimeSequential,
    };
    assert!(UniqueId::from_fields(fields).is_some());
    assert_eq!(UniqueId::from_fields(uniqueid::Fields { sequence: 64, ..fields }), None);
    assert_eq!(UniqueId::from_fields(uniqueid::Fields { generator: 2048, ..fields }), None);
    assert_eq!(UniqueId::from_fields(uniqueid::Fields { cluster: 16, ..fields }), None);
}

#[test]
#[should_panic = "a machine has 0 to 12 bits"]
fn a_machine_of_13_bits_leaves_none_for_the_index() {
    let _ = SnowflakeSi::MAX.fields(13);
}
